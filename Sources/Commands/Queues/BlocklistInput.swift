import CommandLine
import Dashboard
import JobQueue
import Terminal

extension BlockableURL {
    /// The operands of `command`, at least one. They can be other texts than URLs, so that any entry can be removed.
    static func operands(of arguments: Arguments, _ command: String) throws(CommandError) -> [String] {
        let urls = try arguments.operands("URL", of: command)
        for url in urls where !(1...limit).contains(url.utf8.count) {
            throw .usage("\(command): a URL has 1 to \(limit) bytes, not \(url.utf8.count)")
        }
        return urls
    }
}

/// The duration and the reason of the blocks that a command adds.
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
}
