import JobQueue

extension Command {
    static let report = Command(
        words: ["report"], operands: "BATCH",
        summary: "The report of a batch, by name or number",
        discussion: """
            --files lists everything that ended, with URL, cache key and path: text as lines of tab-separated URL, key
            and path; JSON as one object per job, failures with their error.
            """,
        options: [
            Option("format", .value("FORMAT"), "text (default), json or html"),
            Option("files", "list URL, key and path of everything stored"),
            Settings.databaseOption, Settings.cacheOption,
        ]
    ) { arguments in
        let operands = try arguments.operands()
        guard operands.count == 1 else { throw CommandError.usage("report: which BATCH?") }
        let format = try arguments.value("format") ?? (arguments.flag("json") ? "json" : "text")
        guard ["text", "json", "html"].contains(format) else {
            throw CommandError.usage("--format: '\(format)' is none of text, json, html")
        }
        let settings = try Settings(arguments)
        let queue = try await settings.openQueue()
        let report = try await queue.report(on: try await queue.batch(called: operands[0]))
        switch (format, arguments.flag("files")) {
        case ("html", _):
            try await writePage(report, queue, cacheRoot: settings.cacheRoot)
        case ("json", true):
            try await eachRecord(of: report.progress.id, in: queue) { try Console.json(JobLine($0)) }
        case (_, true):
            try await eachRecord(of: report.progress.id, in: queue) { record in
                for file in record.stored {
                    guard let path = file.path else { continue }
                    Console.line("\(ShownURL.text(record.url))\t\(file.key)\t\(path)")
                }
            }
        case ("json", false):
            try Console.json(ReportJSON(report.progress, failures: report.failures))
        default:
            Console.write(TextReport.text(report))
        }
        return .done
    }

    /// Goes through a batch's records a page at a time.
    private static func eachRecord(
        of batch: Int64, in queue: PostgresJobQueue, _ body: (StoredRecord) throws -> Void
    ) async throws {
        var cursor = Cursor.start
        while true {
            let page = try await queue.records(of: batch, after: cursor)
            for record in page { try body(record) }
            guard let last = page.last else { return }
            cursor = last.cursor
        }
    }

    private static func writePage(
        _ report: BatchReport, _ queue: PostgresJobQueue, cacheRoot: String
    ) async throws {
        let page = HTMLReport(cacheRoot: cacheRoot)
        let progress = report.progress
        Console.write(
            page.head(title: "Batch \(progress.name ?? "\(progress.id)")", numbers: TextReport.numbers(progress)))
        Console.write(
            page.failures(
                report.failures.map {
                    (ShownURL.text($0.url), "\($0.error.domain) \($0.error.code)", $0.error.message, $0.attempts)
                }))
        // The smallest file of each job is its thumbnail; more than this many make no page anybody opens.
        let most = 500
        var shown = 0
        Console.write(page.galleryStart(shown: min(most, progress.succeeded), of: progress.succeeded))
        var cursor = Cursor.start
        pages: while true {
            let records = try await queue.records(of: progress.id, after: cursor)
            for record in records {
                let files = record.stored.filter { $0.path != nil }
                let smallest = files.min { ($0.bytes ?? .max) < ($1.bytes ?? .max) }
                guard let path = smallest?.path else { continue }
                Console.write(page.picture(path: path, url: ShownURL.text(record.url)))
                shown += 1
                if shown == most { break pages }
            }
            guard let last = records.last else { break }
            cursor = last.cursor
        }
        Console.write(page.tail)
    }
}
