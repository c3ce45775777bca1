import JobQueue
import Prefetcher

extension Command {
    static let work = Command(
        words: ["work"], operands: "",
        summary: "Work on the queue",
        discussion: """
            Without --drain until stopped. SIGTERM or SIGINT ends claiming: what runs is finished within --grace, the
            rest goes back with its attempt refunded; a second signal gives up what runs at once.
            """,
        options: [
            Option("queue", .value("NAME"), "the queue to work on, default 'default'"),
            Option("drain", "end when nothing is left that is due within 30 s"),
            Option("max-runtime", .value("TIME"), "claim for so long at most"),
            Option("log-format", .value("FORMAT"), "text (default) or json"),
        ] + WorkerSetup.options
    ) { arguments in
        let log = try EventLog(arguments)
        let stop = StopSignal()
        await Signals.deliver(to: stop)
        let settings = try Settings(arguments)
        let setup = try WorkerSetup(arguments, cacheRoot: settings.cacheRoot)
        var configuration = setup.configuration
        if arguments.flag("drain") { configuration.end = .drained }
        configuration.queue = try arguments.value("queue") ?? configuration.queue

        let queue = try await settings.openQueue(patience: WorkerSetup.patience)
        let summary = try await Printer.printing { printer in
            try await PrefetchWorker(queue: queue, loader: setup.manager, configuration: configuration) { event in
                log.tell(event, by: printer)
            }.run(until: stop)
        }
        await setup.shutdown()
        Signals.release()
        if arguments.flag("json") {
            try Console.json(WorkLine(summary))
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
    let left: String

    init(_ summary: PrefetchWorker.Summary) {
        succeeded = summary.succeeded
        failed = summary.failed
        retried = summary.retried
        left = "\(summary.left)"
    }
}
