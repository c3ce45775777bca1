import CommandLine
import JobQueue
import Lists
import Reports
import Terminal
import Worker

/// States and files of URLs, for `status URL`.
enum URLStatusReport {
    static let options =
        URLSource.options + [
            Option("pipeline", .value("NAME"), "the pipeline of the URLs, in any version; default 'original'")
        ] + ObjectStoreOptions.server

    /// Whether a command line names URLs instead of a batch.
    static func isWanted(_ arguments: Arguments) throws(CommandError) -> Bool {
        if ["from", "pipeline"].contains(where: arguments.isGiven) { return true }
        return arguments.operandBytes.contains { String(decoding: $0, as: UTF8.self).contains("://") }
    }

    /// Prints one line per distinct URL.
    ///
    /// - Returns: `.failed` if a list line could not be read.
    static func show(_ arguments: Arguments) async throws -> ExitCode {
        let bad = BadLines(json: arguments.flag("json"))
        let pipeline = try arguments.value("pipeline") ?? "original"
        var source = try await URLSource(arguments, command: "status", bad: bad, until: ShutdownRequest())
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
}

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
