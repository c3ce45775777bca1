package import CommandLine
import Concurrency
import Dashboard
import Glibc
package import HTTPServer
package import ImageModel
package import JobQueue
package import Prefetcher
package import Telemetry
package import Terminal
package import Transcoder
package import Worker

/// A worker's `/metrics`, `/livez` and `/readyz`.
///
/// A scrape never waits: it reads counters and the database's latest answer, which a service fetches every five
/// seconds.
package final class WorkerEndpoint: WorkerService {
    package static let option = Option(
        "listen", .value("ADDRESS"),
        "serve /metrics, /livez and /readyz over HTTP: HOST:PORT, :PORT for all addresses, or PORT for loopback only")

    private static let interval = Duration.seconds(5)

    private struct State {
        /// The worker's queue; nil until the database was reached.
        var queue: PostgresJobQueue?
        /// Reads the gauges on its own session, so that neither waits for the other's statement.
        var probes: PostgresJobQueue?
        var metrics = WorkerMetrics()
        var gauges: [QueueGauge] = []
        var health = WorkerHealth(lastAnswer: .now)
    }

    /// The address of `--listen`; nil without one.
    package static func address(_ arguments: Arguments) throws(CommandError) -> ListenAddress? {
        guard let text = try arguments.value("listen") else { return nil }
        guard let address = ListenAddress(text) else {
            throw .usage("\(arguments.label("listen")): '\(text)' is not HOST:PORT, :PORT or PORT")
        }
        return address
    }

    private let transcoders: TranscoderPool
    private let manager: ImageManager
    private let slots: Int
    private let claimClock: ClaimClock
    private let tracer: JobTracer
    private let state = Locked(State())

    package init(
        _ configuration: PrefetchWorker.Configuration, _ manager: ImageManager, _ transcoders: TranscoderPool,
        _ tracer: JobTracer
    ) {
        (self.manager, self.transcoders, self.tracer) = (manager, transcoders, tracer)
        slots = configuration.description.slots
        claimClock = configuration.claimClock
        state.withLock { $0.health.sandboxIsRequired = transcoders.sandboxPolicy == .required }
    }

    /// The database has not been reached yet.
    package func connecting(_ error: QueueError) { state.withLock { $0.health.databaseError = error } }

    package func connected(_ queue: PostgresJobQueue, probes: PostgresJobQueue) {
        state.withLock { state in
            (state.queue, state.probes) = (queue, probes)
            state.health.isConnected = true
            state.health.databaseError = nil
            state.health.lastAnswer = .now
        }
    }

    /// The transcoders' sandbox level and missing output formats.
    package func observe(_ sandbox: SandboxLevel, _ missing: [ImageFormat]) {
        state.withLock { ($0.health.sandbox, $0.health.missingEncoders) = (sandbox, missing.map(\.name).sorted()) }
    }

    /// Why no transcoder can be started; nil once one has.
    package func observe(_ error: TranscodeError?) { state.withLock { $0.health.transcoderFault = error?.message } }

    /// Counts an event. Does not block.
    ///
    /// - Parameter trace: of the event's attempt, whose durations become exemplars if it is recorded.
    package func observe(_ event: WorkerEvent, _ trace: JobTracer.Trace?) {
        state.withLock { state in
            state.metrics.add(event, in: trace?.span)
            switch event {
            case .started: state.health.isRegistered = true
            case .localFault(let fault): state.health.localFault = fault?.message
            case .stopping: state.health.isStopping = true
            default: break
            }
        }
    }

    package func run() async {
        guard let queue = state.withLock({ $0.probes }) else { return }
        while !Task.isCancelled {
            do throws(QueueError) {
                let gauges = try await queue.reports.gauges()
                state.withLock {
                    $0.gauges = gauges
                    $0.health.databaseError = nil
                    $0.health.lastAnswer = .now
                }
            } catch {
                state.withLock { $0.health.databaseError = error }
            }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Does not block.
    package func answer(_ request: HTTPRequest) -> HTTPAnswer {
        guard request.isReading else { return .wrongMethod }
        return switch request.path {
        case "/metrics": metrics().answer(to: request)
        case "/livez": Self.probe("alive", health.reasonsNotAlive(at: .now), health)
        case "/readyz": Self.probe("ready", health.reasonsNotReady(at: .now), health)
        default: .notFound
        }
    }

    private var health: WorkerHealth {
        var health = state.withLock { $0.health }
        health.lastRound = claimClock.lastRound
        return health
    }

    private static func probe(_ name: String, _ reasons: [String], _ health: WorkerHealth) -> HTTPAnswer {
        let object: JSONObject = [
            name: reasons.isEmpty, "reasons": reasons, "sandbox": health.sandbox?.rawValue,
            "missingEncoders": health.missingEncoders,
        ]
        let text = (try? JSONLine.text(object)) ?? "{}"
        return HTTPAnswer(
            status: reasons.isEmpty ? 200 : 503, type: "application/json", body: Array((text + "\n").utf8))
    }

    /// All families at this moment. Does not block.
    package func metrics() -> MetricsPage {
        var page = MetricsPage()
        page.add(
            "larder_build_info", .gauge, "The version of the program.", [([("version", Larder.version)], 1)])
        let (gauges, queue) = state.withLock { state in
            state.metrics.write(to: &page)
            return (state.gauges, state.queue)
        }
        let health = health
        let isUp = health.isConnected && health.databaseError == nil
        writeResources(to: &page)
        writeExports(to: &page)
        if let queue { writeStatements(queue.statements, to: &page) }
        if let sandbox = health.sandbox {
            page.add(
                "larder_sandbox_info", .gauge, "What the kernel denies the transcoders.",
                [([("level", sandbox.rawValue)], 1)])
        }
        if let lastRound = health.lastRound {
            page.add(
                "larder_claim_loop_age_seconds", .gauge, "Time since the last iteration of the claim loop.",
                lastRound.duration(to: .now) / .seconds(1))
        }
        page.add("larder_database_up", .gauge, "1 if the last query of the database succeeded.", isUp ? 1 : 0)
        QueueMetrics(gauges).write(to: &page)
        ProcessMetrics().write(to: &page)
        return page
    }

    /// Slots, loads and child processes.
    private func writeResources(to page: inout MetricsPage) {
        page.add("larder_slots", .gauge, "Jobs that this worker may hold at once.", Double(slots))
        page.add("larder_transcoders", .gauge, "Child processes that may transcode at once.", Double(transcoders.count))
        page.add(
            "larder_transcoders_working", .gauge, "Child processes that transcode now.",
            Double(transcoders.workingCount))
        let inFlight = manager.inFlight
        page.add(
            "larder_loads_in_flight", .gauge,
            "Jobs in a stage now, those that wait for a transfer or a child included.",
            LoadStageName.all.map { ([("stage", $0.name)], Double(inFlight[$0.stage] ?? 0)) })
        let children = transcoders.counts
        page.add(
            "larder_transcoders_started_total", .counter, "Child processes that were started.",
            Double(children.started))
        page.add(
            "larder_transcoders_lost_total", .counter, "Child processes that died, hung or exceeded a limit.",
            Double(children.lost))
        page.add(
            "larder_transcoders_cpu_seconds_total", .counter, "Processor time of images in child processes.",
            children.processorTime / .seconds(1))
        page.add(
            "larder_codecs_cpu_seconds_total", .counter, "Processor time of decoding, drawing and encoding.",
            children.codecTime / .seconds(1))
    }

    private func writeExports(to page: inout MetricsPage) {
        let spans = tracer.spans?.counts ?? SpanExporter.Counts()
        page.add(
            "larder_spans_total", .counter, "Spans for the collector, by what became of them.",
            [([("outcome", "dropped")], Double(spans.dropped)), ([("outcome", "sent")], Double(spans.sent))])
        page.add(
            "larder_collector_errors_total", .counter, "Requests to the collector that failed.",
            Double(spans.failures + (tracer.metrics?.failures ?? 0)))
    }

    private func writeStatements(_ statements: StatementCounts, to page: inout MetricsPage) {
        page.add(
            "larder_database_statements_total", .counter, "Statements sent to the database, each one round trip.",
            Double(statements.sent))
        page.add(
            "larder_database_statement_errors_total", .counter, "Statements that failed.", Double(statements.failed))
        page.add(
            "larder_database_statement_seconds_total", .counter, "Time that statements took.",
            statements.time / .seconds(1))
    }
}

/// A load stage's name in metrics and progress lines.
package struct LoadStageName {
    let stage: LoadError.Stage
    let name: String

    /// In job order.
    static let all = [
        LoadStageName(stage: .lookUp, name: "look_up"), LoadStageName(stage: .fetch, name: "fetch"),
        LoadStageName(stage: .transcode, name: "transcode"), LoadStageName(stage: .store, name: "store"),
    ]

    /// `3 fetch, 2 transcode`; nil without loads.
    package static func text(_ inFlight: [LoadError.Stage: Int]) -> String? {
        let parts = all.compactMap { name in inFlight[name.stage].map { "\($0) \(name.name)" } }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }
}
