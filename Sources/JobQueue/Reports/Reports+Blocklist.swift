package import ImageModel

/// A URL on the blocklist, SDWebImage's failed URLs.
package struct BlockedURL: Sendable {
    /// Where the next page begins: pass it to `blocklist(after:limit:)`.
    package let cursor: BlocklistCursor
    /// The URL as given.
    package let url: String
    /// Until when: ISO 8601 in UTC, by the database's clock.
    package let until: String
    /// How often it was blocked after a failure; 0 when only by an operator.
    package let failures: Int
    /// Why.
    package let error: FailureReason
    /// The HTTP status of the failure.
    package let httpStatus: Int?
}

/// A position in the blocklist, which is in the order of the URLs' digests.
package struct BlocklistCursor: Sendable, Equatable {
    let hash: String
    /// Before the first URL.
    package static let start = BlocklistCursor(hash: "")
}

extension PostgresJobQueue.Reports {
    /// One page of the URLs that are blocked now.
    package func blocklist(
        after cursor: BlocklistCursor = .start, limit: Int = 1_000
    ) async throws(QueueError) -> [BlockedURL] {
        try await database.read(
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
}
