import CommandLine
import Concurrency
import DiskCache
import Glibc
import HTTPServer
import JobQueue
import Monitoring
import ObjectStore
import Prefetcher
import Terminal
import Worker

extension Command {
    static let work = Command(
        words: ["work"], operands: "",
        summary: "Work on the queue",
        discussion: """
            Runs until it is stopped, or with --drain until the queue is empty. SIGTERM or SIGINT ends claiming: running jobs
            may finish within --grace, and the others return to the queue with their attempt refunded. A second signal
            cancels the running jobs at once. A drain does not wait for paused queues and batches and suspended jobs, but
            reports them on standard error. The exit code is 1 when a job failed in this worker, and 4 when the only work
            left is due later than 30 s from now.
            A second drain of the queue into the same cache on the same machine does nothing, says so and ends with exit
            code 0, so that a cron job that takes longer than its interval does not run twice. Drains on other machines
            share the work, as do those with --parallel.
            SIGHUP reads the configuration files again: credential profiles and the log level change at once, other settings
            with a restart.
            """,
        examples: ["larder work", "larder work --drain --max-runtime 50m --log-format json"],
        options: [
            Option("queue", .value("NAME"), "the queue to work on, default 'default'"),
            Option("drain", "end when nothing is left that is due within 30 s"),
            Option("parallel", "with --drain, work also while another drain of this machine and cache runs"),
            Quiet.work,
            Option(
                "max-runtime", .value("DURATION"), "stop claiming after this time; the exit code is 3 when work is left"
            ),
            EventLog.formatOption, EventLog.levelOption,
            WorkerEndpoint.option,
        ] + ExpiryOptions.work + WorkerSetup.options
    ) { arguments in
        let log = try EventLog(arguments)
        let stop = ShutdownRequest()
        await Signals.deliver(to: stop, hangUpStops: false)
        let settings = try Settings(arguments)
        let expiry = try ExpiryOptions.policy(arguments, age: nil)
        if BucketAddress.isBucket(settings.cacheRoot), expiry.maxAge != nil || expiry.maxSize > 0 {
            throw CommandError.usage(
                "--max-age and --max-size: objects of \(settings.cacheRoot) expire by a life-cycle rule of the bucket; "
                    + "--s3-local-size and --s3-local-age limit the directory in front of it")
        }
        let address = try WorkerEndpoint.address(arguments)
        let setup = try await WorkerSetup(arguments, cacheRoot: settings.cacheRoot)
        var configuration = setup.configuration
        if arguments.flag("drain") {
            try setup.requireTranscoder()
            configuration.end = .drained
        }
        configuration.yields = !arguments.flag("parallel")
        let isQuiet = arguments.flag(Quiet.name)
        configuration.queue = try arguments.value("queue") ?? configuration.queue
        if expiry.maxAge != nil || expiry.maxSize > 0 { configuration.expiry = (setup.cache, expiry) }

        let manager = ServiceManager(configuration.claimClock)
        manager?.report("READY=1\nSTATUS=connecting to the database")
        if let manager { configuration.services.append(manager) }
        let reload = Locked(ConfigurationReload(arguments, setup.downloader, log))
        Signals.onHangUp { log.say("configuration", .info, reload.withLock { $0.run() }) }
        // Before connecting to the database: probes are answered during its outage.
        let endpoint = setup.endpoint(isServed: address != nil)
        if let endpoint { configuration.services.append(endpoint) }
        var server: HTTPEndpoint?
        if let endpoint, let address {
            let opened = try await HTTPEndpoint(address) { $1.send(endpoint.answer($0)) }
            log.say("listening", .info, "listening on port \(opened.port)", [("port", Int(opened.port))])
            server = opened
        }
        let wait = DatabaseWait(stop: stop, includesMigration: address != nil) { error, isFirst in
            endpoint?.connecting(error)
            if isFirst { log.say("waiting", .warning, "\(error.message); waiting for it") }
        }
        let isEndless = configuration.end == .stopped
        func openQueue() async throws -> PostgresJobQueue {
            try await settings.openQueue(
                starting: true, maxWait: WorkerSetup.maxWait, waiting: isEndless ? wait : nil)
        }
        let name = configuration.queue
        let hint = WorkerHint(arguments)
        func result(of summary: PrefetchWorker.Summary) -> WorkResult {
            WorkResult(
                summary: summary, queue: name, log: log, json: arguments.flag("json"), isQuiet: isQuiet, hint: hint)
        }
        let queue: PostgresJobQueue
        do {
            queue = if let manager { try await manager.whileRunning(openQueue) } else { try await openQueue() }
            endpoint?.connected(queue, probes: PostgresJobQueue(.init(databaseURL: try await settings.database())))
        } catch {
            guard isEndless, stop.urgency != .none else { throw error }
            // Nothing was claimed yet, so nothing failed.
            await server?.close()
            await setup.shutdown()
            return try await result(of: .init()).show(heldIn: nil)
        }
        let restart = EmbeddedServerRestart(settings)
        if let restart { configuration.services.append(restart) }
        let summary = try await finally(setup.shutdown) {
            try await Printer.printing { printer in
                var configuration = configuration
                let isShown = !isQuiet && !arguments.flag("json") && Console.isTerminal(STDERR_FILENO)
                let progress =
                    isShown
                    ? WorkProgress(
                        stages: { LoadStageName.text(setup.manager.inFlight) },
                        glance: { await QueueGlance.of(name, in: queue) }, isDrain: configuration.end == .drained) : nil
                if let progress { configuration.services.append(progress) }
                configuration.services.append(
                    TranscoderNotice(transcoders: setup.transcoders) { level, missing in
                        endpoint?.observe(level, missing)
                        if !isQuiet { log.write(level, missing, to: printer) }
                    } fail: {
                        endpoint?.observe($0)
                    })
                configuration.services.append(
                    TelemetryService(setup.tracer, endpoint) { if !isQuiet { log.write(collector: $0, to: printer) } })
                let worker = PrefetchWorker(queue: queue, loader: setup.manager, configuration: configuration) {
                    event in
                    let trace = setup.tracer.observe(event)
                    restart?.observe(event)
                    hint.observe(event)
                    endpoint?.observe(event, trace)
                    manager?.observe(event)
                    progress?.observe(event)
                    if !isQuiet { log.write(event, trace: trace?.id, to: printer) }
                }
                let summary = try await DrainOverlap.run(worker, until: stop)
                if let lost = await setup.tracer.flush(endpoint), !isQuiet { log.say("export", .warning, lost) }
                if configuration.end == .drained, stop.urgency == .none { await setup.finishBatches(of: queue) }
                return summary
            }
        }
        await server?.close()
        Signals.release()
        // The time limit also requests a shutdown.
        let isDrained = configuration.end == .drained && (stop.urgency == .none || summary.timeIsUp)
        return try await result(of: summary).show(heldIn: isDrained ? queue : nil)
    }
}

extension Signals {
    /// Turns signals and a closed standard output into requests to end; until it returns they end the program.
    ///
    /// - Parameter hangUpStops: whether SIGHUP is one of the signals.
    static func deliver(to stop: ShutdownRequest, hangUpStops: Bool = true) async {
        await deliver(hangUpStops: hangUpStops, onUnread: { stop.request(.finish) }, onSignal: stop.requestNext)
    }
}
