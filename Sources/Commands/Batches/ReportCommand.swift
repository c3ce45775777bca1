import CommandLine
import Glibc
import ImageModel
import JobQueue
import ObjectStore
import Reports
import Terminal
import Transcoder

extension Command {
    static let report = Command(
        words: ["report"], also: ["show": ""], operands: "[BATCH]",
        summary: "Print the report of a batch, or of the batches of the last hours or days",
        discussion: """
            BATCH is a name or a number; --since 24h takes all batches that were opened in that time instead. The report is
            text, JSON with statistics and the first 1,000 failures (--json is --format json; with --since a line per batch
            and one of all), CSV with a line per stored file or failure, or HTML:
            one file with charts and small pictures that needs no other file. Failures that were discarded
            are counted, not listed. --files lists the completed jobs instead: text as lines of tab-separated URL, variant
            (or original), format, cache key and absolute path, without passwords and signatures; JSON as one object per
            job, with exact keys.
            --mail writes a message with the text and the HTML file, of at most 5 MB, for sendmail -t.
            """,
        examples: [
            "larder report spring", "larder report spring --format html -o spring.html",
            "larder report --since 24h --mail ops@example.com",
        ],
        options: [
            Option("format", .value("FORMAT"), "text (default), json, html or csv"),
            Option("output", short: "o", .value("FILE"), "write FILE, by default standard output"),
            Option("since", .value("DURATION"), "report on all batches opened since then"),
            Option("thumbnails", .value("N"), "the most small pictures in HTML, 0 to 5000, default 1000"),
            Option("mail", .value("ADDRESS"), "write a MIME message to this address"),
            Quiet.report,
            ReportSource.exitCodeOption,
            Option("files", "list URL, variant, format, key and absolute path of every stored file"),
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
        if arguments.flag(Quiet.name), source.isWell { return try await source.exitCode(arguments) }
        let output = try ReportOutput(try arguments.value("output"))
        if let address {
            try output.write(try await ReportMail(address: address, source: source).text)
        } else if listsFiles {
            try await writeFiles(source, format, output, below: try Settings(arguments).cacheRoot)
        } else {
            switch format {
            case .text: try await writeText(source, output)
            case .json: try await writeJSON(source, output)
            case .html: try await source.writePage { try output.write($0) }
            case .csv:
                try output.write(ReportCSV.header)
                try await source.forEachRecord { report, record in
                    try output.write(ReportCSV.lines(record, of: report.progress))
                    return true
                }
            }
        }
        try output.keep()
        return try await source.exitCode(arguments)
    }

    private static func writeText(_ source: ReportSource, _ output: ReportOutput) async throws {
        let findings = try await source.findings()
        var text = source.reports.map { TextReport.text($0, source.reports.count == 1 ? findings : nil) }
            .joined(separator: "\n")
        if source.reports.count != 1 {
            let counts = ReportCounts(source.reports)
            let made = findings?.statistics.variants.reduce(0) { $0 + $1.bytes } ?? 0
            let sentence = counts.sentence(
                each: findings?.statistics.variantsEach, variantBytes: made, elapsed: nil)
            text = "\(source.title): \(sentence)\n\(findings?.text ?? "")\n\(text)"
        }
        try output.write(text)
    }

    /// One line per batch; with `--since` followed by a total line.
    private static func writeJSON(_ source: ReportSource, _ output: ReportOutput) async throws {
        let findings = try await source.findings()
        for report in source.reports {
            var object = report.json
            if source.isOfOneBatch { object["statistics"] = findings?.json(of: report.progress.displayName) }
            try output.write(try JSONLine.text(object) + "\n")
        }
        guard !source.isOfOneBatch else { return }
        var all = ReportCounts(source.reports).json
        all["batches"] = source.reports.map(\.progress.id)
        all["statistics"] = findings?.json(of: nil)
        try output.write(try JSONLine.text(all) + "\n")
    }

    private static func writeFiles(
        _ source: ReportSource, _ format: ReportFormat, _ output: ReportOutput, below root: String
    ) async throws {
        var isFirst = !BucketAddress.isBucket(root)
        try await source.forEachRecord { _, record in
            if isFirst, let path = record.stored.compactMap(\.path).first {
                isFirst = false
                if access("\(root)/\(path)", F_OK) != 0 {
                    Console.note("larder: \(root) lacks the files; --cache selects the cache that the workers filled")
                }
            }
            if format == .json {
                try output.write(try JSONLine.text(JobLine(record, below: root)) + "\n")
            } else {
                for file in record.stored {
                    guard let path = file.path else { continue }
                    let kind = "\(file.name ?? "original")\t\(file.format ?? "unknown")"
                    let line =
                        "\(ShownURL.masked(record.url))\t\(kind)\t\(ShownURL.masked(file.key))\t\(root)/\(path)\n"
                    try output.write(output.isConsole ? PrintableText.lines(line) : line)
                }
            }
            return true
        }
    }
}

extension ReportSource {
    static let exitCodeOption = Option(
        "exit-code", "exit code 1 if an image failed, or a file is over its variant's budget")

    /// The exit code that `--exit-code` asks for; names the variants whose files are over their budget.
    func exitCode(_ arguments: Arguments) async throws -> ExitCode {
        guard arguments.flag(Self.exitCodeOption.name) else { return .done }
        guard let missed = try await findings()?.missedBudgets else {
            throw CommandError.larder(.other, "--exit-code needs a login with the role larder_reader")
        }
        for line in missed { Console.note("larder: \(line)") }
        return isWell && missed.isEmpty ? .done : .failed
    }

    /// Reads the counts of BATCH, or of the batches that were opened within `--since`.
    init(_ arguments: Arguments) async throws {
        let thumbnails = try arguments.number("thumbnails", in: 0...5_000) ?? Self.thumbnails
        let since = try arguments.value("since")
        let age = try arguments.duration("since")
        guard try age == nil || arguments.operands().isEmpty else {
            throw CommandError.usage("report: BATCH and --since exclude each other")
        }
        let name = age == nil ? try arguments.operand("BATCH or --since", of: "report") : ""
        let place = try CachePlace(ifPresent: arguments)
        let queue = try await Settings(arguments).openQueue()
        var reports: [BatchReport] = []
        if let age {
            for batch in try await queue.reports.batches(openedWithin: age) {
                reports.append(try await queue.reports.summary(of: .id(batch)))
            }
        } else {
            reports.append(try await queue.reports.summary(of: try await queue.batch(called: name)))
        }
        self.init(reports, in: queue, place, thumbnails: thumbnails, since: since)
    }
}

extension ReportFormat {
    /// `--format`, or JSON for `--json`. Options precede variables.
    init(_ arguments: Arguments) throws(CommandError) {
        let json = arguments.flag("json")
        let given = try arguments.choice("format", of: Self.allCases.map(\.rawValue)).flatMap(Self.init(rawValue:))
        guard let given else {
            self = json ? .json : .text
            return
        }
        guard json, given != .json else {
            self = given
            return
        }
        guard arguments.isGiven("json") != arguments.isGiven("format") else {
            throw .usage("report: --json and --format \(given.rawValue) exclude each other")
        }
        self = arguments.isGiven("json") ? .json : given
    }
}

/// A report's destination: a file that appears only when complete, or standard output.
final class ReportOutput {
    private let file: OutputFile?
    /// Buffers text, so that lines are written in blocks.
    private var waiting = ""

    private static let portion = 1 << 16

    /// - Parameter path: nil for standard output, which is written immediately.
    init(_ path: String?) throws(CommandError) {
        file = try path.map { path throws(CommandError) in try OutputFile(path) }
    }

    /// Whether a terminal may read it, so that text must not move the cursor.
    var isConsole: Bool { file == nil }

    func write(_ text: String) throws(CommandError) {
        waiting += text
        if waiting.utf8.count >= Self.portion { try flush() }
    }

    /// Writes the rest and renames the file.
    func keep() throws(CommandError) {
        try flush()
        try file?.keep()
    }

    private func flush() throws(CommandError) {
        if let file { try file.write(Array(waiting.utf8)) } else { Console.write(waiting) }
        waiting = ""
    }
}
