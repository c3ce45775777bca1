import CommandLine
import Concurrency
import Glibc
import ImageModel
import JobQueue
import Lists
import Monitoring
import Prefetcher
import Reports
import Terminal
import Worker

extension Command {
    static let run = Command(
        words: ["run"], operands: "[URL]...",
        summary: "Prefetch URLs in one step: enqueue, work until all are done, print the report",
        discussion: """
            Only jobs of these URLs run; a job that another batch also needs is completed for both. --json prints a
            line per job as it ends, with paths relative to the cache root, and the report as the last line. The exit
            code is 1 when an item failed, with --exit-code also when a file is over its variant's budget. Without
            --json and --quiet the last lines say where the images are.
            """,
        examples: [
            "larder run https://example.com/a.jpg https://example.com/b.png",
            "larder run --from urls.txt --variant card=800x800:webp,q=75 --variant thumb=200x200,crop",
        ],
        options: EnqueueOptions.options(priority: 1) + [
            Option(
                "max-runtime", .value("DURATION"), "stop claiming after this time; the exit code is 3 when work is left"
            ),
            Quiet.run, ReportSource.exitCodeOption,
            Option("migrate", "also migrate the database given by --database"),
            TraceparentOption.option,
            Option("log-format", .value("FORMAT"), "the format of --verbose: text (default) or json"),
        ] + WorkerSetup.options
    ) { arguments in
        let json = arguments.flag("json")
        let isQuiet = arguments.flag(Quiet.name)
        let log = try EventLog(arguments, least: .debug)
        let options = try EnqueueOptions(arguments)
        try Limits.checkNames(of: options.template.context, arguments)
        let stop = ShutdownRequest()
        await Signals.deliver(to: stop)
        let bad = BadLines(json: json)
        var source = try await URLSource(arguments, command: "run", bad: bad, until: stop)
        let settings = try Settings(arguments)
        let setup = try await WorkerSetup(arguments, cacheRoot: settings.cacheRoot)
        try setup.requireTranscoder()
        var configuration = setup.configuration
        let queue = try await settings.openQueue(
            starting: true, migrate: arguments.flag("migrate"), maxWait: WorkerSetup.maxWait)

        // Fail before enqueueing anything if the login may not work.
        _ = try await queue.workers.originHolds()
        // Items that fail here have no job and print their line now. Priority 1 puts the jobs ahead of the queue's
        // default of 4, because the command waits for them.
        var stream = EnqueueStream(queue: queue, options: options, bad: bad)
        let batch = try await stream.all(from: &source, priority: 1) { item, answer, _ in
            guard let error = answer.error else { return }
            if json {
                try Console.json(JobLine(url: item.url, outcome: "failed", files: [], error: error))
            } else {
                Console.note("larder: \(item.place)\(PrintableText.text(FailureLine.text(item.url, error)))")
            }
        }

        do {
            configuration.end = .batchFinished(batch)
            let restart = EmbeddedServerRestart(settings)
            if let restart { configuration.services.append(restart) }
            let printed = Locked<Set<Int64>>([])
            let verbose = arguments.flag("verbose")
            let hint = WorkerHint(arguments)
            let ending = RunEnding()
            let endpoint = setup.endpoint(isServed: false)
            if let endpoint {
                endpoint.connected(queue, probes: queue)
                configuration.services.append(endpoint)
            }
            let summary = try await finally(setup.shutdown) {
                try await Printer.printing { printer in
                    var configuration = configuration
                    configuration.services.append(
                        TelemetryService(setup.tracer, endpoint) {
                            if verbose { log.write(collector: $0, to: printer) }
                        })
                    let worker = PrefetchWorker(queue: queue, loader: setup.manager, configuration: configuration) {
                        event in
                        let trace = setup.tracer.observe(event)
                        endpoint?.observe(event, trace)
                        restart?.observe(event)
                        hint.observe(event)
                        ending.observe(event)
                        if verbose { log.write(event, trace: trace?.id, to: printer) }
                        if !verbose, !isQuiet, let note = waitingNote(event) { printer.note(note) }
                        guard case .completed(let report) = event, let line = JobLine(report) else { return }
                        if json {
                            // A line that the printer refuses is printed at the end, from the database.
                            guard let text = try? JSONLine.text(line), printer.result(text) else { return }
                            printed.withLock { _ = $0.insert(report.job.id) }
                        } else if !verbose, !isQuiet, let failure = report.failure {
                            printer.note("larder: \(FailureLine.text(report.job.url, failure))")
                        }
                    }
                    let isShown = !json && !verbose && !isQuiet && Console.isTerminal(STDERR_FILENO)
                    let watch =
                        isShown
                        ? ProgressWatch(
                            queue: queue, draw: printer.progress,
                            stages: { LoadStageName.text(setup.manager.inFlight) },
                            glance: { await QueueGlance.of(options.template.queue, in: queue) }) : nil
                    return try await showing(watch, of: batch) {
                        let summary = try await worker.run(until: stop)
                        if let lost = await setup.tracer.flush(endpoint), !isQuiet { printer.note("larder: \(lost)") }
                        if stop.urgency == .none { await setup.finishBatches(of: queue) }
                        return summary
                    }
                }
            }
            Signals.release()
            if stop.urgency != .none { _ = try? await queue.workers.maintain(force: true) }
            if json { try await printOthers(of: batch, in: queue, except: printed.withLock { $0 }) }

            let report = try await queue.reports.summary(of: .id(batch))
            if report.progress.open > 0 {
                try await noteLeft(
                    report.progress.open, of: batch, named: options.template.batch ?? "\(batch)", stop, in: queue, hint)
            }
            if hint.isNeeded, report.progress.skipped > 0 {
                Console.note(
                    "larder: images failed for the settings of this run; this makes them: \(hint.again(batch).line)")
            }
            if let differing = hint.differing {
                Console.note("larder: \(differing); this makes them again: \(hint.remake.line)")
            }
            // Another worker may have completed the jobs left at the time limit.
            var ended = summary
            ended.left = report.progress.open > 0 ? .work : .nothing
            let someFailed = report.progress.skipped > 0 || report.progress.open > 0 || bad.count > 0
            if json {
                try Console.json(report.json)
            } else if !isQuiet || someFailed {
                Console.write(TextReport.text(report))
                if !isQuiet {
                    Console.write(ending.text(report.progress, in: try CachePlace(arguments).title, arguments))
                }
            }
            let code = ExitCode(ended, someFailed: someFailed)
            return code == .done
                ? try await ReportSource(report, in: queue, nil, thumbnails: 0).exitCode(arguments) : code
        } catch {
            let name = options.template.batch ?? "\(batch)"
            throw CommandError(error).adding(
                "batch \(name) has open items; this continues with them: \(WorkerHint(arguments).work.line)")
        }
    }

    /// Reports a fault of this machine, without which the command would seem to hang.
    private static func waitingNote(_ event: WorkerEvent) -> String? {
        switch event {
        case .localFault(let fault?): "larder: waiting, this machine has a fault: \(fault.message)"
        case .profileFault(let fault): "larder: postponed for a minute, \(fault.reason.message)"
        default: nil
        }
    }

    /// Reports the remaining work and the command that continues it.
    private static func noteLeft(
        _ open: Int, of batch: Int64, named name: String, _ stop: ShutdownRequest, in queue: PostgresJobQueue,
        _ hint: WorkerHint
    ) async throws {
        let items = open.counted("item")
        let left = try await queue.reports.remaining(of: batch)
        let held =
            "'larder resume' resumes a paused batch or queue, 'larder retry --job N' a job that was suspended as "
            + "crashed"
        if left.isDrained {
            Console.note("larder: \(items) left, held: \(held)")
        } else {
            Console.note(
                "larder: \(stop.urgency == .none ? "" : "stopped, ")\(items) left; this continues: \(hint.work.line)")
            Console.note("larder: this cancels what is left: \(hint.cancel(name).line)")
            if left.hasSuspended { Console.note("larder: some of them are held: \(held)") }
        }
        for line in try await HeldOriginLine.all(in: queue) { Console.note("larder: \(line)") }
    }

    /// Runs `body` and shows progress meanwhile.
    private static func showing<Value: Sendable>(
        _ watch: ProgressWatch?, of batch: Int64, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { group in
            group.addTask { try await body() }
            if let watch {
                group.addTask {
                    try? await watch.follow(.id(batch))
                    return nil
                }
            }
            while let value = try await group.next() {
                if let value {
                    group.cancelAll()
                    return value
                }
            }
            throw CancellationError()
        }
    }

    /// Prints jobs that another worker ended, that were joined, or whose lines the printer refused.
    private static func printOthers(
        of batch: Int64, in queue: PostgresJobQueue, except printed: Set<Int64>
    ) async throws {
        for try await record in BatchRecords(of: batch, in: queue) {
            // Items without a job were printed when enqueued.
            guard let job = record.job, !printed.contains(job) else { continue }
            try Console.json(JobLine(record))
        }
    }
}

extension JobLine {
    /// A job's last attempt; nil if the job is not complete.
    init?(_ report: AttemptReport) {
        let outcome: String
        var error: FailureReason?
        switch report.decision {
        case .succeeded: outcome = "succeeded"
        case .failed(let reason): (outcome, error) = ("failed", reason)
        case .cancelled: outcome = "cancelled"
        case .retried, .stale, .busy: return nil
        }
        self.init(url: report.job.url, outcome: outcome, files: report.load.stored, error: error)
    }
}
