import Downloader
import JobQueue
import Prefetcher

/// What can stand on the blocklist.
enum BlockableURL {
    /// In bytes.
    static let longest = 8192

    /// Whether an enqueue would take it.
    static func isURL(_ text: String) -> Bool { text.utf8.count <= longest && (try? SourceURL(text)) != nil }

    /// The operands of `command`, at least one. They need not be URLs: what is on the list can be taken from it.
    static func operands(of arguments: Arguments, _ command: String) throws(CommandError) -> [String] {
        let urls = try arguments.operands()
        guard !urls.isEmpty else { throw .usage("\(command): which URLs?") }
        for url in urls where !(1...longest).contains(url.utf8.count) {
            throw .usage("\(command): a URL has 1 to \(longest) bytes, not \(url.utf8.count)")
        }
        return urls
    }
}

/// For how long and why `blocklist add` and `import` block.
struct BlockTerms {
    let time: Duration
    let reason: String?

    init(_ arguments: Arguments) throws(CommandError) {
        time = try arguments.duration("for") ?? .seconds(86_400)
        guard time > .zero else { throw .usage("--for: a block lasts for some time") }
        reason = try arguments.value("reason")
    }

    @discardableResult
    func add(_ urls: [String], to queue: PostgresJobQueue) async throws -> Int {
        try await queue.block(urls, for: time, reason: reason)
    }
}
