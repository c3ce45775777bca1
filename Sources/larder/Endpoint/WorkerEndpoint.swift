import Concurrency
import Glibc
import JobQueue
import Prefetcher
import Transcoder
import Worker

/// `/metrics`, `/livez` and `/readyz` of a worker.
///
/// A scrape reads counters and the last answer of the database, which a service asks for every five seconds: it waits
/// for nothing.
final class WorkerEndpoint: WorkerService {
    static let option = Option(
        "listen", .value("ADDRESS"),
        "serve /metrics, /livez and /readyz over HTTP: HOST:PORT, :PORT for all addresses, or PORT for loopback only")

    private static let interval = Duration.seconds(5)
    /// Without an answer of the database for this long the worker is not ready.
    private static let longestSilence = Duration.seconds(15)
    /// Without a round of the service for this long the process hangs.
    private static let longestPause = Duration.seconds(60)

    private struct State {
        var metrics = WorkerMetrics()
        var gauges: [QueueGauge] = []
        var databaseError: String?
        var lastAnswer = ContinuousClock.now
        var lastRound = ContinuousClock.now
    }

    /// The address of `--listen`; nil without one.
    static func address(_ arguments: Arguments) throws(CommandError) -> ListenAddress? {
        guard let text = try arguments.value("listen") else { return nil }
        guard let address = ListenAddress(text) else {
            throw .usage("\(arguments.label("listen")): '\(text)' is not HOST:PORT, :PORT or PORT")
        }
        return address
    }

    private let queue: PostgresJobQueue
    private let transcoders: TranscoderPool
    private let manager: ImageManager
    private let slots: Int
    private let state = Locked(State())

    init(queue: PostgresJobQueue, setup: WorkerSetup) {
        self.queue = queue
        transcoders = setup.transcoders
        manager = setup.manager
        slots = setup.configuration.description.slots
    }

    /// Counts an event. Does not block.
    func observe(_ event: WorkerEvent) { state.withLock { $0.metrics.add(event) } }

    func run() async {
        while !Task.isCancelled {
            state.withLock { $0.lastRound = .now }
            do throws(QueueError) {
                let gauges = try await queue.gauges()
                state.withLock {
                    $0.gauges = gauges
                    $0.databaseError = nil
                    $0.lastAnswer = .now
                }
            } catch {
                state.withLock { $0.databaseError = error.description }
            }
            try? await Task.sleep(for: Self.interval)
        }
    }

    /// Does not block.
    func answer(_ request: HTTPRequest) -> HTTPAnswer {
        guard request.isReading else { return .wrongMethod }
        return switch request.path {
        case "/metrics": HTTPAnswer(type: MetricsText.type, body: Array(metrics().utf8))
        case "/livez": Self.probe(hangs())
        case "/readyz": Self.probe(hangs() + reasons())
        default: .notFound
        }
    }

    private static func probe(_ reasons: [String]) -> HTTPAnswer {
        let object: JSONObject = ["ready": reasons.isEmpty, "reasons": reasons]
        let text = (try? JSONLine.text(object)) ?? "{}"
        return HTTPAnswer(
            status: reasons.isEmpty ? 200 : 503, type: "application/json", body: Array((text + "\n").utf8))
    }

    private func hangs() -> [String] {
        let round = state.withLock { $0.lastRound }
        return round.duration(to: .now) > Self.longestPause ? ["the process hangs"] : []
    }

    private func reasons() -> [String] {
        state.withLock { state in
            var reasons: [String] = []
            if state.metrics.worker == nil { reasons.append("not registered with the database") }
            if state.lastAnswer.duration(to: .now) > Self.longestSilence || state.databaseError != nil {
                reasons.append("database: \(state.databaseError ?? "no answer")")
            }
            if let fault = state.metrics.localFault { reasons.append("local fault: \(fault)") }
            if state.metrics.isStopping { reasons.append("stopping") }
            return reasons
        }
    }

    private func metrics() -> String {
        var page = MetricsText()
        page.add(
            "larder_build_info", .gauge, "The version of the program.", [([("version", Larder.version)], 1)])
        let (gauges, isUp) = state.withLock { state in
            state.metrics.write(to: &page)
            return (state.gauges, state.databaseError == nil)
        }
        writeResources(to: &page)
        page.add("larder_database_up", .gauge, "1 if the last query of the database succeeded.", isUp ? 1 : 0)
        QueueMetrics(gauges).write(to: &page)
        ProcessMetrics().write(to: &page)
        return page.text
    }

    /// Slots, loads, child processes and statements of this worker.
    private func writeResources(to page: inout MetricsText) {
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
        let statements = queue.statements
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
