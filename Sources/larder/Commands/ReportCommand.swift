import ImageModel
import JobQueue

extension Command {
    static let report = Command(
        words: ["report"], operands: "BATCH",
        summary: "The report of a batch, by name or number",
        discussion: """
            Text, one JSON object with the first 1,000 failures (--json is --format json), or a standalone HTML page whose
            pictures are read from the cache. --files lists what ended instead: text as lines of tab-separated URL, cache
            key and path below the cache root; JSON as one object per job, failures with their error.
            """,
        examples: ["larder report spring", "larder report spring --format html > report.html"],
        options: [
            Option("format", .value("FORMAT"), "text (default), json or html"),
            Option("files", "list URL, key and path of everything stored"),
            Settings.databaseOption, Settings.cacheOption,
        ]
    ) { arguments in
        let operands = try arguments.operands()
        guard operands.count == 1 else { throw CommandError.usage("report: which BATCH?") }
        let format = try format(of: arguments)
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

    /// `--format`, or JSON for `--json`. A word counts more than a variable.
    private static func format(of arguments: Arguments) throws(CommandError) -> String {
        let json = arguments.flag("json")
        guard let format = try arguments.value("format") else { return json ? "json" : "text" }
        guard ["text", "json", "html"].contains(format) else {
            throw .usage("--format: '\(format)' is none of text, json, html")
        }
        guard json, format != "json" else { return format }
        guard arguments.isGiven("json") != arguments.isGiven("format") else {
            throw .usage("report: --json and --format \(format) exclude each other")
        }
        return arguments.isGiven("json") ? "json" : format
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
        Console.write(page.head(report))
        Console.write(page.failures(report.failures, of: report.progress.failed))
        // More than this many pictures make no page anybody opens.
        let most = 500
        var shown = 0
        var cursor = Cursor.start
        pages: while true {
            let records = try await queue.records(of: report.progress.id, after: cursor)
            for figure in records.lazy.map(page.figure) where !figure.isEmpty {
                Console.write(shown == 0 ? HTMLReport.galleryStart + figure : figure)
                shown += 1
                if shown == most { break pages }
            }
            guard let last = records.last else { break }
            cursor = last.cursor
        }
        Console.write(page.tail(shown: shown, isCut: shown == most))
    }
}
