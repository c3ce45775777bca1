import CommandLine
import JobQueue
import Reports
import Terminal
import Worker

extension Command {
    static let lookup = Command(
        words: ["lookup"], operands: "[URL]...",
        summary: "Print what became of URLs: state, stored files with key and path, and time",
        discussion: """
            A URL is looked up with one pipeline, in the database alone; no cache is read. The state is ready, scheduled,
            running, suspended, completed with its outcome, or unknown. The files are of its last completed job. A URL
            that is given twice is printed once.
            """,
        examples: [
            "larder lookup https://example.com/a.jpg --pipeline card", "larder lookup --from urls.txt --json",
        ],
        options: URLSource.options + [
            Option("pipeline", .value("NAME"), "the pipeline, in any version; default 'original'"),
            Settings.databaseOption,
        ] + ObjectStoreOptions.server
    ) { arguments in
        let bad = BadLines(json: arguments.flag("json"))
        let pipeline = try arguments.value("pipeline") ?? "original"
        var source = try await URLSource(arguments, command: "lookup", bad: bad, until: ShutdownRequest())
        let queue = try await Settings(arguments).openQueue()
        var seen: Set<String> = []
        repeat {
            while true {
                let items = try await source.next(EnqueueRequest.maxURLs)
                if items.isEmpty { break }
                let urls = items.map(\.url).filter { seen.insert($0).inserted }
                for found in try await queue.reports.lookup(urls, pipeline: pipeline) {
                    try Console.show(found.json, arguments, URLStatusLine.text(found))
                }
            }
        } while try await source.advance()
        return bad.count == 0 ? .done : .failed
    }

    static let jobSet = Command(
        words: ["job", "set"], operands: "JOB",
        summary: "Change the priority or the time of one job that is not complete",
        discussion: """
            JOB is the number of the job, as enqueue and status print it. --at applies to a ready or scheduled job: it does
            not run before then, and a time that has passed makes it ready. The change is for every batch that has the job.
            """,
        examples: ["larder job set 17 --priority 0", "larder job set 17 --at 2026-12-24T06:00:00Z"],
        options: [
            Option("priority", .value("P"), "0 first to 9 last"),
            Option("at", .value("TIME"), "start at this time (2026-11-21T18:00:00Z) or after a delay (+10m)"),
            Settings.databaseOption,
        ]
    ) { arguments in
        let job = try ControlTarget.jobNumber(arguments.operand("JOB", of: "job set"), label: "job set")
        // The variables are for what is enqueued.
        guard arguments.isGiven("priority") || arguments.isGiven("at") else {
            throw CommandError.usage("job set: --priority or --at is required")
        }
        let priority = arguments.isGiven("priority") ? try arguments.number("priority", in: 0...9) : nil
        let at = arguments.isGiven("at") ? try arguments.value("at") : nil
        let start = try at.map { (text) throws(CommandError) in try EnqueueOptions.start(text, of: "at") }
        let state = try await Settings(arguments).openQueue().producer.change(
            job: job, priority: priority, start: start)
        let isIgnored = start != nil && state != .ready && state != .scheduled
        try Console.show(
            ["job": job, "state": state.rawValue], arguments,
            "job \(job): \(state.rawValue)\(isIgnored ? "; its time does not change" : "")")
        return .done
    }
}

/// The lines of `lookup`.
enum URLStatusLine {
    /// The URL with its state, and a line per file.
    static func text(_ status: URLStatus) -> String {
        let state = (status.state?.rawValue ?? "unknown") + (status.outcome.map { " (\($0.rawValue))" } ?? "")
        let url = PrintableText.text(FailureLine.cut(ShownURL.masked(status.url)))
        let head = [url, state, status.finishedAt].compactMap { $0 }.joined(separator: "\t")
        let files = status.files.map { file in
            "  \(file.variant ?? "original")\t\(PrintableText.text(file.path))"
                + "\t\(PrintableText.text(ShownURL.masked(file.key ?? "")))"
        }
        return ([head] + files).joined(separator: "\n")
    }
}
