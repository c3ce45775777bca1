internal import Concurrency

/// Sends spans to a collector. Adding never waits: spans that the collector does not accept in time are dropped and
/// counted.
package final class SpanExporter: Sendable {
    /// How spans are batched and retried.
    package struct Settings: Sendable, Equatable {
        /// Limits of the waiting spans and of one request.
        package var limits = SpanBuffer.Limits()
        /// How long spans wait for a full request, `5 s`.
        package var delay = Duration.seconds(5)
        /// Pauses between the tries of one request, `1 s`, `2 s`, `4 s` and `8 s`; a collector may ask for up to 30 s.
        package var pauses: [Duration] = [.seconds(1), .seconds(2), .seconds(4), .seconds(8)]

        package init() {}
    }

    /// Counts of spans so far.
    package struct Counts: Sendable, Equatable {
        /// Accepted by the collector.
        package var sent = 0
        /// Dropped for lack of room, or not accepted.
        package var dropped = 0
        /// Failed requests, including retries.
        package var failures = 0

        package init() {}
    }

    private struct State {
        var buffer: SpanBuffer
        /// The request being sent; the next one follows after its end.
        var sending: [Span] = []
        var counts = Counts()
    }

    private static let longestPause = Duration.seconds(30)

    private let client: OTLPClient
    private let resource: TelemetryResource
    private let settings: Settings
    private let state: Locked<State>
    private let wake = AsyncEvent()

    package init(_ client: OTLPClient, of resource: TelemetryResource, settings: Settings = Settings()) {
        (self.client, self.resource, self.settings) = (client, resource, settings)
        state = Locked(State(buffer: SpanBuffer(settings.limits)))
    }

    package var counts: Counts {
        state.withLock { state in
            var counts = state.counts
            counts.dropped += state.buffer.dropped
            return counts
        }
    }

    /// Adds one attempt's spans. Does not block.
    package func add(_ spans: [Span]) {
        let isFull = state.withLock { state in
            state.buffer.add(spans)
            return state.buffer.hasBatch
        }
        if isFull { wake.signal() }
    }

    /// Sends added spans until the task is cancelled.
    ///
    /// - Parameter report: called with the reason when requests begin to fail, and with nil when they succeed again.
    package func run(_ report: @Sendable (String?) -> Void) async {
        var isFailing = false
        while !Task.isCancelled {
            if !state.withLock({ $0.buffer.hasBatch }) { _ = await wake.wait(atMost: settings.delay) }
            while !Task.isCancelled, let batch = nextBatch() {
                let failure = await deliver(batch)
                if Task.isCancelled || (failure != nil) == isFailing { continue }
                isFailing.toggle()
                report(failure)
            }
        }
    }

    /// Sends the rest within a time limit; at the first failure, the result, the remaining spans are dropped. Called
    /// after `run` has returned.
    package func flush(within limit: Duration) async -> String? {
        let end = ContinuousClock.now + limit
        var failure: String?
        while let batch = nextBatch() {
            let left = end - .now
            if failure == nil, left <= .zero { failure = "it is too slow" }
            guard failure == nil else {
                settle(sent: 0)
                continue
            }
            switch await client.post(OTLP.traces(batch, of: resource), within: left) {
            case .accepted(let rejected): settle(sent: batch.count - rejected)
            case .refused(let reason), .unavailable(let reason, _):
                state.withLock { $0.counts.failures += 1 }
                failure = reason
                settle(sent: 0)
            }
        }
        return failure
    }

    /// The interrupted batch, else the next one; nil if nothing waits.
    private func nextBatch() -> [Span]? {
        state.withLock { state in
            if state.sending.isEmpty { state.sending = state.buffer.takeBatch() }
            return state.sending.isEmpty ? nil : state.sending
        }
    }

    /// Counts the current batch, of which the collector accepted `sent` spans.
    private func settle(sent: Int) {
        state.withLock { state in
            let sent = max(0, sent)
            state.counts.sent += sent
            state.counts.dropped += state.sending.count - sent
            state.sending = []
        }
    }

    /// Why the batch was dropped; nil if it was accepted, or if the task was cancelled and the batch stays.
    private func deliver(_ batch: [Span]) async -> String? {
        let body = OTLP.traces(batch, of: resource)
        var pauses = settings.pauses[...]
        while true {
            let answer = await client.post(body)
            if case .accepted(let rejected) = answer {
                settle(sent: batch.count - rejected)
                return nil
            }
            if Task.isCancelled { return nil }
            state.withLock { $0.counts.failures += 1 }
            switch answer {
            case .accepted: return nil
            case .refused(let reason):
                settle(sent: 0)
                return reason
            case .unavailable(let reason, let delay):
                guard let pause = pauses.popFirst() else {
                    settle(sent: 0)
                    return reason
                }
                try? await Task.sleep(for: max(pause, min(delay ?? .zero, Self.longestPause)))
                if Task.isCancelled { return nil }
            }
        }
    }
}
