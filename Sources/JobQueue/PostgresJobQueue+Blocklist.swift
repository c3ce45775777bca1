private import Concurrency
public import ImageModel

/// A URL on the blocklist, SDWebImage's failed URLs.
public struct BlockedURL: Sendable {
    /// Where the next page begins: pass it to `blocklist(after:limit:)`.
    public let cursor: BlocklistCursor
    /// The URL as given.
    public let url: String
    /// Until when: ISO 8601 in UTC, by the database's clock.
    public let until: String
    /// How often it was blocked after a failure; 0 when only by an operator.
    public let failures: Int
    /// Why.
    public let error: FailureReason
    /// The HTTP status of the failure.
    public let httpStatus: Int?
}

/// A position in the blocklist, which is in the order of the URLs' digests.
public struct BlocklistCursor: Sendable, Equatable {
    let hash: String
    /// Before the first URL.
    public static let start = BlocklistCursor(hash: "")
}

extension PostgresJobQueue {
    /// The limit of URLs that one call blocks.
    public static let maxBlockedURLs = 10_000

    /// One page of the URLs that are blocked now.
    public func blocklist(
        after cursor: BlocklistCursor = .start, limit: Int = 1_000
    ) async throws(QueueError) -> [BlockedURL] {
        try await ask(
            """
            SELECT encode(url_hash, 'hex'), url, to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), fails, domain, code,
                message, http_status
            FROM larder.blocklist_page(decode($1, 'hex'), $2::int)
            """, [.text(cursor.hash), .integer(Int64(limit))]
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                BlockedURL(
                    cursor: BlocklistCursor(hash: rows.text(row, 0) ?? ""), url: rows.text(row, 1) ?? "",
                    until: rows.text(row, 2) ?? "", failures: Int(rows.integer(row, 3) ?? 0),
                    error: rows.failure(row, domainAt: 4) ?? FailureReason(domain: "", code: 0, message: ""),
                    httpStatus: rows.integer(row, 7).map(Int.init))
            }
        }
    }

    /// Blocks up to 10,000 URLs, for 24 h by default; a block that lasts longer keeps its end. Running jobs continue.
    ///
    /// - Parameter reason: the message in the view; at most 2,000 characters are kept.
    /// - Returns: how many URLs, duplicates counted once.
    ///
    /// Throws `.invalidArgument` for an empty URL, one of more than 8192 bytes, too many, and a time that is not
    /// positive.
    @discardableResult
    public func block(
        _ urls: [String], for time: Duration = .seconds(86_400), reason: String? = nil
    ) async throws(QueueError) -> Int {
        guard urls.count <= Self.maxBlockedURLs else {
            throw QueueError(.invalidArgument, "at most \(Self.maxBlockedURLs) URLs a call, not \(urls.count)")
        }
        return try await ask(
            "SELECT larder.block_many($1, $2::float8 * interval '1 ms', $3)",
            [.texts(urls), .integer(time.milliseconds), .text(reason)]
        ) { rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0) }
    }

    /// Removes a URL and its failures from the blocklist. Returns whether it was blocked.
    @discardableResult
    public func unblock(_ url: String) async throws(QueueError) -> Bool {
        try await ask("SELECT larder.unblock_url($1)", [.text(url)]) { rows throws(QueueError) in
            rows.flag(0, 0) ?? false
        }
    }

    /// Empties the blocklist in several transactions. Returns how many URLs were blocked.
    @discardableResult
    public func unblockAll() async throws(QueueError) -> Int {
        var removed = 0
        while true {
            let (portion, isLast) = try await ask("SELECT unblocked, is_last FROM larder.unblock_all()") {
                rows throws(QueueError) in (Int(rows.integer(0, 0) ?? 0), rows.flag(0, 1) ?? true)
            }
            removed += portion
            if isLast { return removed }
        }
    }
}
