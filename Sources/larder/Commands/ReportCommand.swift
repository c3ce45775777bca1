import ImageModel
import JobQueue

extension Command {
    static let report = Command(
        words: ["report"], operands: "BATCH",
        summary: "Print the report of a batch",
        discussion: """
            BATCH is a name or a number. The report is text, one JSON object with the first 1,000 failures (--json is
            --format json), or a standalone HTML page that shows the images of the cache. Failures that were discarded are
            counted, not listed. --files lists the completed jobs instead: text as lines of tab-separated URL, cache key
            and path in the cache; JSON as one object per job.
            """,
        examples: ["larder report spring", "larder report spring --format html > report.html"],
        options: [
            Option("format", .value("FORMAT"), "text (default), json or html"),
            Quiet.report,
            Option("files", "list URL, key and path of every stored file"),
            Settings.databaseOption, Settings.cacheOption,
        ]
    ) { arguments in
        let name = try arguments.operand("BATCH", of: "report")
        let format = try format(of: arguments)
        let settings = try Settings(arguments)
        let queue = try await settings.openQueue()
        let report = try await queue.report(on: try await queue.batch(called: name))
        let isWell = report.progress.isOver && report.progress.open == 0 && report.progress.skipped == 0
        if arguments.flag(Quiet.name), isWell { return .done }
        switch (format, arguments.flag("files")) {
        case ("html", _):
            try await writePage(report, queue, cacheRoot: settings.cacheRoot)
        case ("json", true):
            for try await record in BatchRecords(of: report.progress.id, in: queue) {
                try Console.json(JobLine(record))
            }
        case (_, true):
            for try await record in BatchRecords(of: report.progress.id, in: queue) {
                for file in record.stored {
                    guard let path = file.path else { continue }
                    Console.line("\(ShownURL.text(record.url))\t\(file.key)\t\(path)")
                }
            }
        case ("json", false):
            try Console.json(report.json)
        default:
            Console.write(TextReport.text(report))
        }
        return .done
    }

    /// `--format`, or JSON for `--json`. An option has precedence over a variable.
    private static func format(of arguments: Arguments) throws(CommandError) -> String {
        let json = arguments.flag("json")
        guard let format = try arguments.choice("format", of: ["text", "json", "html"]) else {
            return json ? "json" : "text"
        }
        guard json, format != "json" else { return format }
        guard arguments.isGiven("json") != arguments.isGiven("format") else {
            throw .usage("report: --json and --format \(format) exclude each other")
        }
        return arguments.isGiven("json") ? "json" : format
    }

    private static func writePage(
        _ report: BatchReport, _ queue: PostgresJobQueue, cacheRoot: String
    ) async throws {
        let page = HTMLReport(cacheRoot: cacheRoot)
        Console.write(page.head(report))
        Console.write(page.failures(report.failures, of: report.progress.failed - report.discarded))
        // Browsers get slow with more images on a page.
        let limit = 500
        var shown = 0
        for try await record in BatchRecords(of: report.progress.id, in: queue) {
            let figure = page.figure(record)
            if figure.isEmpty { continue }
            Console.write(shown == 0 ? HTMLReport.galleryStart + figure : figure)
            shown += 1
            if shown == limit { break }
        }
        Console.write(page.tail(shown: shown, isCut: shown == limit))
    }
}
