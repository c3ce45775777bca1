import Concurrency
import Downloader
import ImageModel
import JobQueue
import Prefetcher
import Reports
import Telemetry
import Worker

/// The spans of one attempt: the attempt, its parts, and one in the trace of each joined item.
struct AttemptSpans {
    let context: TraceContext
    private(set) var all: [Span] = []

    /// Nil if neither the job's trace nor a joined item's is recorded.
    ///
    /// The first attempt is a child of the producer's span. A later one begins a linked trace, because its producer may
    /// be long gone.
    ///
    /// - Parameter clock: taken after the database answered the result.
    init?(_ report: AttemptReport, producer: TraceContext?, sampler: Sampler, clock: WallClock) {
        let job = report.job
        let joined = report.joined.compactMap(TraceContext.init(traceparent:)).filter { $0 != producer }
        let recorded = joined.filter { sampler.records($0) }
        let parent: TraceContext?
        if let producer, sampler.records(producer) {
            parent = producer
        } else if let other = recorded.first {
            parent = other
        } else {
            parent = nil
        }
        if let parent, job.attempt == 1 {
            context = parent.child()
        } else {
            let root = TraceContext.root(isSampled: true)
            guard parent != nil || producer == nil && sampler.records(root.trace) else { return nil }
            context = root
        }
        let isChild = parent.map { $0.trace == context.trace } ?? false
        // The queue time is the first attempt's wait; later ones wait for their back-off.
        let start = report.claimedAt - (job.attempt == 1 ? job.queued : .zero)
        var attempt = Span(
            "job", context, parent: isChild ? parent?.span : nil, start: clock.time(of: start),
            end: clock.time(of: report.committedAt))
        attempt.kind = .consumer
        attempt.attributes = Self.attributes(report)
        attempt.links = (isChild ? [] : [producer].compactMap(\.self)) + recorded.filter { $0 != parent || !isChild }
        attempt.error = report.failure?.message
        all.append(attempt)
        add("wait", from: start, to: report.startedAt, clock)
        var stage = context
        for step in report.load.steps ?? [] {
            let span = self.span(step, in: stage, clock)
            if case .stage = step.part { stage = span.context }
            all.append(span)
        }
        add("complete", from: report.endedAt, to: report.committedAt, clock)
        if report.decision.isFinal {
            for item in recorded where item != parent || !isChild {
                var span = Span(
                    "joined job", item.child(), parent: item.span, start: attempt.start, end: attempt.end)
                span.attributes = [("larder.job", .integer(Int(job.id)))]
                span.links = [context]
                span.error = attempt.error
                all.append(span)
            }
        }
    }

    private static func attributes(_ report: AttemptReport) -> Span.Attributes {
        let job = report.job, load = report.load
        var attributes: Span.Attributes = [
            ("messaging.system", .text("larder")), ("messaging.operation.type", .text("process")),
            ("larder.job", .integer(Int(job.id))), ("larder.batch", .integer(Int(job.batch))),
            ("larder.attempt", .integer(job.attempt)), ("larder.decision", .text(EventLog.word(report.decision))),
            ("url.full", .text(shown(job.url))),
            ("larder.bytes_in", .integer(load.bytesIn)), ("larder.bytes_out", .integer(load.bytesOut)),
            ("larder.variants", .integer(load.made)), ("larder.cached", .flag(load.downloads == 0)),
        ]
        if let status = load.httpStatus { attributes.append(("http.response.status_code", .integer(status))) }
        if let failure = report.failure {
            attributes.append(("error.type", .text("\(failure.domain) \(failure.code)")))
        }
        return attributes
    }

    private mutating func add(
        _ name: String, from start: ContinuousClock.Instant, to end: ContinuousClock.Instant, _ clock: WallClock
    ) {
        all.append(
            Span(name, context.child(), parent: context.span, start: clock.time(of: start), end: clock.time(of: end)))
    }

    /// A stage of the load below the attempt, or a part of the stage.
    private func span(_ step: LoadStep, in stage: TraceContext, _ clock: WallClock) -> Span {
        func span(_ name: String, below parent: TraceContext) -> Span {
            Span(
                name, context.child(), parent: parent.span, start: clock.time(of: step.start),
                end: clock.time(of: step.end))
        }
        switch step.part {
        case .stage(let stage): return span(Self.name(stage), below: context)
        case .decode: return span("decode", below: stage)
        case .variant(let name, let error):
            var span = span("variant", below: stage)
            span.attributes = [("larder.variant", .text(name))]
            span.error = error.map { "error \($0)" }
            return span
        case .hop(let hop):
            var span = span("GET", below: stage)
            span.kind = .client
            span.attributes = Self.attributes(hop)
            if hop.status == nil { span.error = "no accepted response" }
            return span
        }
    }

    private static func attributes(_ hop: FetchHop) -> Span.Attributes {
        var attributes: Span.Attributes = [
            ("http.request.method", .text("GET")), ("url.full", .text(shown(hop.url.description))),
            ("server.address", .text(hop.url.origin.host)), ("server.port", .integer(Int(hop.url.origin.port))),
            ("larder.queued_ms", .integer(Int(hop.timings.queued.milliseconds))),
            ("larder.connect_ms", .integer(Int(hop.timings.connect.milliseconds))),
            ("larder.first_byte_ms", .integer(Int(hop.timings.firstByte.milliseconds))),
        ]
        if let status = hop.status { attributes.append(("http.response.status_code", .integer(status))) }
        return attributes
    }

    /// A URL without userinfo and query, at most 1,000 characters.
    private static func shown(_ url: String) -> String { String(LoggedURL.text(url).prefix(1_000)) }

    private static func name(_ stage: LoadError.Stage) -> String {
        switch stage {
        case .lookUp: "look up"
        case .fetch: "fetch"
        case .transcode: "transcode"
        case .store: "commit"
        }
    }
}

extension Decision {
    /// Whether the job has ended.
    fileprivate var isFinal: Bool {
        switch self {
        case .succeeded, .failed, .cancelled: true
        case .retried, .stale, .busy: false
        }
    }
}
