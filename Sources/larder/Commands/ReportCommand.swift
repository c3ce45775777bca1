import ImageModel
import JobQueue
import Transcoder

extension Command {
    static let report = Command(
        words: ["report"], operands: "[BATCH]",
        summary: "Print the report of a batch, or of the batches of the last hours or days",
        discussion: """
            BATCH is a name or a number; --since 24h takes all batches that were opened in that time instead. The report is
            text, JSON with the first 1,000 failures (--json is --format json), CSV with a line per stored file or failure,
            JUnit's XML with a test case per image, or HTML: one file with charts and small pictures that needs no other
            file. Failures that were discarded are counted, not listed. --files lists the completed jobs instead: text as
            lines of tab-separated URL, cache key and path in the cache; JSON as one object per job. --mail writes a message
            with the text and the HTML file for sendmail -t.
            """,
        examples: [
            "larder report spring", "larder report spring --format html -o spring.html",
            "larder report --since 24h --mail ops@example.com",
        ],
        options: [
            Option("format", .value("FORMAT"), "text (default), json, html, csv or junit"),
            Option("output", short: "o", .value("FILE"), "write FILE, by default standard output"),
            Option("since", .value("DURATION"), "report on all batches opened since then"),
            Option("thumbnails", .value("N"), "the most small pictures in HTML, 0 to 5000, default 1000"),
            Option("mail", .value("ADDRESS"), "write a MIME message to this address"),
            Quiet.report,
            Option("files", "list URL, key and path of every stored file"),
            Settings.databaseOption,
        ] + CachePlace.options
    ) { arguments in
        let format = try ReportFormat(arguments)
        let address = try arguments.value("mail").map(ReportMail.checked)
        let listsFiles = arguments.flag("files")
        guard !listsFiles || format == .text || format == .json else {
            throw CommandError.usage("report: --files is for the formats text and json")
        }
        guard address == nil || format == .text && !listsFiles else {
            throw CommandError.usage("report: --mail has the text and the HTML file; no --format, --json and --files")
        }
        let source = try await ReportSource(arguments)
        if arguments.flag(Quiet.name), source.isWell { return .done }
        let output = try ReportOutput(try arguments.value("output"))
        if let address {
            try output.write(try ReportMail(address: address, page: try await source.page()).text())
        } else {
            switch format {
            case .text where listsFiles, .json where listsFiles: try await writeFiles(source, format, output)
            case .text: try writeText(source, output)
            case .json: for report in source.reports { try output.write(try JSONLine.text(report.json) + "\n") }
            case .html: try output.write(try await source.page().text())
            case .csv:
                try output.write(ReportCSV.header)
                try await source.forEachRecord { report, record in
                    try output.write(ReportCSV.lines(record, of: report.progress))
                    return true
                }
            case .junit: try await writeJUnit(source, output)
            }
        }
        try output.keep()
        return .done
    }

    private static func writeText(_ source: ReportSource, _ output: ReportOutput) throws {
        var text = source.reports.map(TextReport.text).joined(separator: "\n")
        if source.reports.count != 1 { text = "\(source.title): \(ReportCounts(source.reports).sentence)\n\n" + text }
        try output.write(text)
    }

    private static func writeFiles(_ source: ReportSource, _ format: ReportFormat, _ output: ReportOutput) async throws
    {
        try await source.forEachRecord { _, record in
            if format == .json {
                try output.write(try JSONLine.text(JobLine(record)) + "\n")
            } else {
                for file in record.stored {
                    guard let path = file.path else { continue }
                    let line = "\(ShownURL.text(record.url))\t\(file.key)\t\(path)\n"
                    try output.write(output.isConsole ? PrintableText.lines(line) : line)
                }
            }
            return true
        }
    }

    private static func writeJUnit(_ source: ReportSource, _ output: ReportOutput) async throws {
        try output.write(ReportJUnit.start)
        for report in source.reports {
            try output.write(ReportJUnit.suiteStart(report.progress))
            for try await record in BatchRecords(of: report.progress.id, in: source.queue) {
                try output.write(ReportJUnit.testCase(record, of: report.progress))
            }
            try output.write(ReportJUnit.suiteEnd)
        }
        try output.write(ReportJUnit.end)
    }
}
