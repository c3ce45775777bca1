internal import Concurrency

/// Sends pages of metrics to a collector. A page that is not accepted is not sent again: the next one includes it.
package final class MetricsExporter: Sendable {
    /// Requests that failed so far.
    package var failures: Int { failed.withLock { $0 } }

    private let client: OTLPClient
    private let resource: TelemetryResource
    private let interval: Duration
    /// When counting began, since 1970.
    private let start = WallClock().now
    private let failed = Locked(0)

    /// - Parameter interval: between two pages, `60 s`.
    package init(_ client: OTLPClient, of resource: TelemetryResource, interval: Duration = .seconds(60)) {
        (self.client, self.resource, self.interval) = (client, resource, interval)
    }

    /// Sends a page at each interval, until the task is cancelled.
    ///
    /// - Parameter report: called with the reason when requests begin to fail, and with nil when they succeed again.
    package func run(_ page: @Sendable () -> MetricsPage, _ report: @Sendable (String?) -> Void) async {
        var isFailing = false
        while true {
            try? await Task.sleep(for: interval)
            if Task.isCancelled { return }
            let failure = await send(page())
            if Task.isCancelled { return }
            if (failure != nil) != isFailing {
                isFailing.toggle()
                report(failure)
            }
        }
    }

    /// Sends one page within a time; the result is why it was not accepted, nil when it was.
    package func send(_ page: MetricsPage, within limit: Duration = .seconds(3_600)) async -> String? {
        let body = OTLP.metrics(page, of: resource, from: start, at: WallClock().now)
        let reason: String
        switch await client.post(body, within: limit) {
        case .accepted: return nil
        case .refused(let text): reason = text
        case .unavailable(let text, _): reason = text
        }
        failed.withLock { $0 += 1 }
        return reason
    }
}
