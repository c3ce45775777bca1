import CommandLine
import DiskCache
import JobQueue
import Lists
import Reports
import Terminal
import Worker

extension Command {
    static let enqueue = Command(
        words: ["enqueue"], operands: "[URL]...",
        summary: "Put URLs in the queue",
        discussion: """
            The answer for each URL is inserted, joined (the item was added to a live job for the URL), fresh, blocked or
            invalid; --json prints a line per URL. A blocked or invalid URL is a failed item, and the exit code is then 1.
            The batch takes no URLs after the end, so that it can finish, unless --open is given. When 'enqueue --from FILE
            --batch NAME' is interrupted, the same command continues after the last URL that was enqueued; a first signal
            ends the list after the lines that were read.
            A batch with open items to which a list was enqueued, such as last night's after a time limit, refuses URLs. With
            --next-run its name means a new run, which works meanwhile: for lists that are enqueued by the clock.
            A list is a URL a line, or CSV, TSV or JSON lines with url and any of priority, pipeline, at, name and meta,
            in columns that a header names. meta is a JSON object of at most 4,096 bytes for records and reports, name
            becomes its field. Empty lines and lines that begin with # are skipped. A line that cannot be read is
            reported with file and line number, and is no item; the exit code is then 1.
            """,
        examples: [
            "larder enqueue https://example.com/a.jpg --batch spring",
            "larder enqueue --from urls.txt --batch nightly --fresh-for 1d",
            "larder enqueue --from urls.txt --batch nightly --next-run --ignore-bad",
            "larder enqueue --from products.csv --dry-run", "larder enqueue --schedule nightly",
        ],
        options: EnqueueOptions.options(priority: 4) + [
            Option("at", .value("TIME"), "start at this time (2026-11-21T18:00:00Z) or after a delay (+10m)"),
            Option("open", "leave the batch open for more URLs"),
            Option(
                "next-run",
                "open the next run of the name also when its batch has open items and otherwise refuses URLs"
            ),
            Option(
                "ignore-bad",
                "exit code 0 also when URLs are blocked or invalid or lines cannot be read; they are reported"),
            Quiet.enqueue,
            Option("schedule", .value("NAME"), "run a schedule now in place of URLs: a worker enqueues it within 5 s"),
            Option("dry-run", "print what would be answered for each URL, and change nothing"),
            Option(
                "fresh-for", .value("DURATION"),
                "answer 'fresh' for URLs stored in the cache within this time; default: never"),
            Option(
                "cache", .value("DIR"),
                "the cache for --fresh-for and --from-cache, not created; default: the only cache that workers fill"),
            CachedOriginals.option, TraceparentOption.option,
            Settings.databaseOption,
        ] + NamingOption.options + ObjectStoreOptions.options
    ) { arguments in
        let json = arguments.flag("json")
        if arguments.isGiven("schedule") { return try await runSchedule(arguments) }
        var options = try EnqueueOptions(arguments)
        options.opensNextRun = arguments.flag("next-run")
        options.template.freshFor = try arguments.duration("fresh-for")
        if options.template.freshFor != nil, let root = try arguments.value("cache") {
            options.template.cacheID = try await CachePlace.id(arguments, of: root)
            if options.template.cacheID == nil {
                Console.note("larder: --cache: there is no cache in \(root) yet, so nothing is fresh")
                options.template.freshFor = nil
            }
        }
        let cached = try arguments.value(CachedOriginals.option.name)
        let bad = BadLines(json: json)
        let stop = ShutdownRequest()
        await Signals.deliver(to: stop)
        let isDryRun = arguments.flag("dry-run")
        var source =
            cached == nil
            ? try await URLSource(arguments, command: "enqueue", bad: bad, until: stop) : URLSource()
        let queue = try await Settings(arguments).openQueue(starting: !isDryRun)
        if let cached {
            // Open no batch if there is nothing to enqueue.
            guard let found = try await CachedOriginals.source(cached, arguments, options, queue) else { return .done }
            source = found
        }
        var totals: [String: Int] = [:]
        let name = options.template.batch
        func show(_ item: ListItem, _ answer: EnqueueAnswer, _ batch: Int64?) throws {
            totals[answer.kind.rawValue, default: 0] += 1
            if json {
                let line: JSONObject = [
                    "url": ShownURL.text(item.url), "batch": name ?? batch.map(String.init), "batchID": batch,
                    "answer": answer.kind.rawValue, "job": answer.job, "error": answer.error,
                ]
                try Console.json(line)
            } else if let error = answer.error {
                Console.note("larder: \(item.place)\(PrintableText.text(FailureLine.text(item.url, error)))")
            } else if isDryRun {
                let url = PrintableText.text(FailureLine.cut(ShownURL.masked(item.url)))
                Console.line("\(answer.kind.rawValue)\t\(url)")
            }
        }
        var stream = EnqueueStream(queue: queue, options: options, bad: bad)
        try await stream.countDiffering()
        var title = "dry run"
        if isDryRun {
            try await stream.rehearse(&source, answered: show)
        } else {
            let batch = try await stream.all(from: &source, leavingOpen: arguments.flag("open"), answered: show)
            title = "batch \(BatchProgress.title(name, batch))"
        }
        if let text = StoredRecipes.text(stream.differing) {
            Console.note("larder: \(text); the same larder enqueue with --remake makes them again")
        }
        let isGood = totals["blocked"] == nil && totals["invalid"] == nil && bad.count == 0
        if !json, !isGood || isDryRun || !arguments.flag(Quiet.name) {
            let parts = totals.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            Console.line(
                "\(title): \(totals.values.reduce(0, +).counted("URL"))"
                    + (parts.isEmpty ? "" : ": " + parts.joined(separator: ", "))
                    + (bad.count > 0 ? "; \(bad.count.counted("bad line"))" : ""))
        }
        return isGood || arguments.flag("ignore-bad") ? .done : .failed
    }

    /// Makes the schedule of `--schedule` due now.
    private static func runSchedule(_ arguments: Arguments) async throws -> ExitCode {
        let others = arguments.given.map(\.name).filter { !["schedule", "database", "json", "config"].contains($0) }
        guard others.isEmpty, arguments.operandBytes.isEmpty else {
            throw CommandError.usage("enqueue: --schedule excludes \(others.first.map { "--\($0)" } ?? "URLs")")
        }
        let name = try arguments.value("schedule") ?? ""
        try await Settings(arguments).openQueue().operations.runSchedule(name)
        let line: JSONObject = ["schedule": name, "due": true]
        try Console.show(line, arguments, "schedule \(PrintableText.text(name)): due now")
        return .done
    }
}
