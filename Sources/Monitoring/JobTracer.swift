import JobQueue
package import Telemetry
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

    /// Nil without export.
    package let exporter: SpanExporter?
    let sampler: Sampler

    /// Time for the last spans when a worker ends.
    private static let lastSpans = Duration.seconds(2)

    /// The trace of the event's job; nil without one. Does not block.
    package func observe(_ event: WorkerEvent) -> Trace? {
        guard case .completed(let report) = event else { return nil }
        let producer = report.job.traceparent.flatMap(TraceContext.init(traceparent:))
        guard let exporter,
            let spans = AttemptSpans(report, producer: producer, sampler: sampler, clock: WallClock())
        else { return producer.map { Trace(id: $0.traceID, span: nil) } }
        exporter.add(spans.all)
        return Trace(id: (producer ?? spans.context).traceID, span: spans.context)
    }

    /// Sends the last spans, for at most two seconds.
    package func flush() async { await exporter?.flush(within: Self.lastSpans) }
}

/// Sends spans while a worker runs.
package struct TelemetryService: WorkerService {
    private let exporter: SpanExporter
    /// Called with the reason when the collector fails, and with nil when it works again; must not block.
    private let report: @Sendable (String?) -> Void

    package init(exporter: SpanExporter, report: @escaping @Sendable (String?) -> Void) {
        (self.exporter, self.report) = (exporter, report)
    }

    package func run() async { await exporter.run(report) }
}
