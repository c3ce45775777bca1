import JobQueue
package import Telemetry
import Terminal
package import Worker

/// Makes attempts' spans from a worker's events and passes them to the exporter.
package struct JobTracer: Sendable {
    /// An attempt's position in a trace.
    package struct Trace: Sendable, Equatable {
        /// The trace of the enqueue, else of the attempt: 32 hexadecimal digits.
        package let id: String
        /// The attempt's span; nil if it is not recorded.
        package let span: TraceContext?
    }

    /// Nil without export of spans.
    package let spans: SpanExporter?
    /// Nil without export of metrics.
    package let metrics: MetricsExporter?
    let sampler: Sampler

    /// Time for the last requests when a worker ends.
    private static let lastRequests = Duration.seconds(2)

    /// The trace of the event's job; nil without one. Does not block.
    package func observe(_ event: WorkerEvent) -> Trace? {
        guard case .completed(let report) = event else { return nil }
        let producer = report.job.traceparent.flatMap(TraceContext.init(traceparent:))
        guard let exporter = spans,
            let spans = AttemptSpans(report, producer: producer, sampler: sampler, clock: WallClock())
        else { return producer.map { Trace(id: $0.traceID, span: nil) } }
        exporter.add(spans.all)
        return Trace(id: (producer ?? spans.context).traceID, span: spans.context)
    }

    /// Sends the last spans and metrics, for at most two seconds. The result says what the collector did not accept; nil
    /// when it has accepted everything.
    package func flush(_ endpoint: WorkerEndpoint?) async -> String? {
        async let lastMetrics: String? =
            if let metrics, let endpoint { await metrics.send(endpoint.metrics(), within: Self.lastRequests) } else {
                nil
            }
        let lastSpans = await spans?.flush(within: Self.lastRequests)
        let reason = [lastSpans, await lastMetrics].compactMap(\.self).first
        let counts = spans?.counts ?? SpanExporter.Counts()
        guard counts.dropped > 0 || reason != nil else { return nil }
        let total = (counts.sent + counts.dropped).counted("span")
        let missing = counts.dropped > 0 ? "\(counts.dropped) of \(total)" : "the last metrics"
        return "the collector has not accepted \(missing)\(reason.map { ": \($0)" } ?? "")"
    }
}

/// Sends spans and metrics while a worker runs.
package struct TelemetryService: WorkerService {
    private let tracer: JobTracer
    private let endpoint: WorkerEndpoint?
    /// Called with the reason when requests begin to fail, and with nil when they succeed again; must not block.
    private let report: @Sendable (String?) -> Void

    package init(_ tracer: JobTracer, _ endpoint: WorkerEndpoint?, report: @escaping @Sendable (String?) -> Void) {
        (self.tracer, self.endpoint, self.report) = (tracer, endpoint, report)
    }

    package func run() async {
        async let spans: Void? = tracer.spans?.run(report)
        if let endpoint { await tracer.metrics?.run(endpoint.metrics, report) }
        await spans
    }
}
