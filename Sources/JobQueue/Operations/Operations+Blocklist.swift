private import Concurrency

extension PostgresJobQueue.Operations {
    /// The limit of URLs that one call blocks.
    package static let maxBlockedURLs = 10_000

    /// Blocks up to 10,000 URLs, for 24 h by default; a block that lasts longer keeps its end. Running jobs continue.
    ///
    /// - Parameter reason: the message in the view; at most 2,000 characters are kept.
    /// - Returns: how many URLs, duplicates counted once.
    ///
    /// Throws `.invalidArgument` for an empty URL, one of more than 8192 bytes, too many, and a time that is not
    /// positive.
    @discardableResult
    package func block(
        _ urls: [String], for time: Duration = .seconds(86_400), reason: String? = nil
    ) async throws(QueueError) -> Int {
        guard urls.count <= Self.maxBlockedURLs else {
            throw QueueError(.invalidArgument, "at most \(Self.maxBlockedURLs) URLs a call, not \(urls.count)")
        }
        return try await database.ask(
            "SELECT larder.block_many($1, $2::float8 * interval '1 ms', $3)",
            [.texts(urls), .integer(time.milliseconds), .text(reason)]
        ) { rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0) }
    }

    /// Removes a URL and its failures from the blocklist. Returns whether it was blocked.
    @discardableResult
    package func unblock(_ url: String) async throws(QueueError) -> Bool {
        try await database.ask("SELECT larder.unblock_url($1)", [.text(url)]) { rows throws(QueueError) in
            rows.flag(0, 0) ?? false
        }
    }

    /// Empties the blocklist in several transactions. Returns how many URLs were blocked.
    @discardableResult
    package func unblockAll() async throws(QueueError) -> Int {
        var removed = 0
        while true {
            let (portion, isLast) = try await database.ask("SELECT unblocked, is_last FROM larder.unblock_portion()") {
                rows throws(QueueError) in (Int(rows.integer(0, 0) ?? 0), rows.flag(0, 1) ?? true)
            }
            removed += portion
            if isLast { return removed }
        }
    }
}
