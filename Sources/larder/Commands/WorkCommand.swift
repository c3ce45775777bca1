import JobQueue
import Prefetcher
import Worker

extension Command {
    static let work = Command(
        words: ["work"], operands: "",
        summary: "Work on the queue",
        discussion: """
            Without --drain until stopped. SIGTERM or SIGINT ends claiming: what runs is finished within --grace, the
            rest goes back with its attempt refunded; a second signal gives up what runs at once. A drain does not wait
            for what an operator holds, paused queues and batches and suspended jobs, but tells it on standard error. The
            exit code is 1 when a job failed here, 4 when only work due later than 30 s from now is left.
            """,
        examples: ["larder work", "larder work --drain --max-runtime 50m --log-format json"],
        options: [
            Option("queue", .value("NAME"), "the queue to work on, default 'default'"),
            Option("drain", "end when nothing is left that is due within 30 s"),
            Option(
                "max-runtime", .value("DURATION"), "claim for so long at most; the exit code is 3 when work is left"),
            Option("log-format", .value("FORMAT"), "text (default) or json"),
        ] + WorkExpiry.options + WorkerSetup.options
    ) { arguments in
        let log = try EventLog(arguments)
        let stop = ShutdownRequest()
        await Signals.deliver(to: stop)
        let settings = try Settings(arguments)
        let expiry = try WorkExpiry(arguments, cacheRoot: settings.cacheRoot)
        let setup = try WorkerSetup(arguments, cacheRoot: settings.cacheRoot)
        var configuration = setup.configuration
        if arguments.flag("drain") { configuration.end = .drained }
        configuration.queue = try arguments.value("queue") ?? configuration.queue

        let queue = try await settings.openQueue(maxWait: WorkerSetup.maxWait)
        let summary = try await Printer.printing { printer in
            let worker = PrefetchWorker(queue: queue, loader: setup.manager, configuration: configuration) { event in
                log.write(event, to: printer)
            }
            return try await expiry.during(log, printer, until: stop) { try await worker.run(until: stop) }
        }
        await setup.shutdown()
        Signals.release()
        var left = "\(summary.left)"
        if configuration.end == .drained, stop.urgency == .none {
            let held = try await HeldWork(of: configuration.queue, in: queue)
            for line in held.lines { Console.note("larder: \(line)") }
            if summary.left != .nothing {
                for line in try await HeldOriginLine.all(in: queue) { Console.note("larder: \(line)") }
            }
            if !held.isEmpty, summary.left == .nothing { left = "held" }
        }
        if arguments.flag("json") {
            try Console.json(WorkLine(summary, left: left))
        } else {
            Console.line("\(summary.succeeded) succeeded, \(summary.failed) failed, \(summary.retried) tried again")
        }
        return ExitCode(summary, someFailed: summary.failed > 0)
    }
}

/// What a worker did, as `work --json` prints it.
private struct WorkLine: Encodable {
    let succeeded: Int
    let failed: Int
    let retried: Int
    /// `nothing`, `later`, `work`, or `held`: nothing but what an operator holds.
    let left: String

    init(_ summary: PrefetchWorker.Summary, left: String) {
        succeeded = summary.succeeded
        failed = summary.failed
        retried = summary.retried
        self.left = left
    }
}
