import CommandLine
import Dashboard
import JobQueue
import Lists
import Reports
import Terminal

extension BlockableURL {
    /// The operands of `command`, at least one. They need not be URLs, so that any entry can be removed.
    static func operands(of arguments: Arguments, _ command: String) throws(CommandError) -> [String] {
        let urls = try arguments.operands("URL", of: command)
        for url in urls where !(1...limit).contains(url.utf8.count) {
            throw .usage("\(command): a URL has 1 to \(limit) bytes, not \(url.utf8.count)")
        }
        return urls
    }
}

/// Duration and reason of a command's blocks.
struct BlockRequest {
    private let duration: Duration
    private let reason: String?

    init(_ arguments: Arguments) throws(CommandError) {
        duration = try arguments.duration("for") ?? .seconds(86_400)
        guard duration > .zero else { throw .usage("--for: the duration must be greater than 0") }
        reason = try arguments.value("reason")
    }

    @discardableResult
    func add(_ urls: [String], to queue: PostgresJobQueue) async throws -> Int {
        try await queue.operations.block(urls, for: duration, reason: reason)
    }

    /// Blocks the URLs of a file, one per line, and prints the number.
    ///
    /// - Returns: `.failed` if a line was refused.
    func add(from path: String, _ arguments: Arguments) async throws -> ExitCode {
        var lines = try LineReader(path, hasComments: true)
        let name = path == "-" ? "standard input" : path
        let queue = try await Settings(arguments).openQueue()
        var blocked = 0
        var refused = 0
        var chunk: [String] = []
        while true {
            let line = try await lines.next()
            if let line, let url = String(validating: line, as: UTF8.self), BlockableURL.isURL(url) {
                chunk.append(url)
            } else if let line {
                refused += 1
                let start = ShownURL.masked(String(decoding: line.prefix(60), as: UTF8.self))
                let reason = line.count > BlockableURL.limit ? "longer than 8192 bytes" : "not an http or https URL"
                Console.note("larder: \(name), line \(lines.number): \(reason): \(LogValue.oneLine(start))")
            }
            if line == nil || chunk.count == PostgresJobQueue.Operations.maxBlockedURLs {
                blocked += try await add(chunk, to: queue)
                chunk = []
            }
            if line == nil { break }
        }
        try Console.show(
            ["blocked": blocked, "refused": refused], arguments,
            "\(blocked.counted("URL")) blocked" + (refused > 0 ? ", \(refused.counted("line")) refused" : ""))
        return refused == 0 ? .done : .failed
    }
}
