package import ImageModel

extension PostgresJobQueue {
    /// Reads batches, jobs and the state of the queues.
    public var reports: Reports { Reports(database: self) }

    /// Calls that change nothing. The login needs the role `larder_reader`, or `larder_producer` for its own batches
    /// and jobs. Each call ends with its task.
    public struct Reports: Sendable {
        let database: PostgresJobQueue
    }
}

extension PostgresJobQueue.Reports {
    /// ISO 8601 in UTC, whatever the session's settings.
    static func iso(_ column: String) -> String {
        "to_char(\(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
    }

    /// Newest first.
    package func actions(limit: Int = 200) async throws(QueueError) -> [OperatorAction] {
        try await database.read(
            """
            SELECT (date_part('epoch', at) * 1e6::float8)::bigint, login, actor, verb, target, error
            FROM larder.action ORDER BY action DESC LIMIT $1
            """, [.integer(Int64(limit))]
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                OperatorAction(
                    at: UTCTime(microseconds: rows.integer(row, 0) ?? 0).iso8601, login: rows.text(row, 1) ?? "",
                    actor: rows.text(row, 2), verb: rows.text(row, 3) ?? "", target: rows.text(row, 4),
                    error: rows.text(row, 5))
            }
        }
    }
}

/// A change requested through the dashboard.
package struct OperatorAction: Sendable {
    /// ISO 8601 in UTC, by the database's clock.
    package let at: String
    package let login: String
    /// The user named by a proxy.
    package let actor: String?
    /// The action, such as `batches/pause`.
    package let verb: String
    /// The name or number of the changed object.
    package let target: String?
    /// Why it failed; nil if it did not.
    package let error: String?
}

/// A URL on the blocklist, SDWebImage's failed URLs.
package struct BlockedURL: Sendable {
    /// Start of the next page, for `blocklist(after:limit:)`.
    package let cursor: BlocklistCursor
    package let url: String
    /// End of the block: ISO 8601 in UTC, by the database's clock.
    package let until: String
    /// Blocks after a failure; 0 if only an operator blocked it.
    package let failures: Int
    package let error: FailureReason
    package let httpStatus: Int?
}

/// A position in the blocklist, which is ordered by URL digest.
package struct BlocklistCursor: Sendable, Equatable {
    let hash: String
    package static let start = BlocklistCursor(hash: "")
}

extension PostgresJobQueue.Reports {
    /// One page of the URLs blocked now.
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
