package import ImageModel

extension PostgresJobQueue {
    /// Reads batches, jobs and the state of the queues.
    public var reports: Reports { Reports(database: self) }

    /// The calls that change nothing; a login needs the role `larder_reader`, and for its own batches and jobs
    /// `larder_producer`. Each ends with its task.
    public struct Reports: Sendable {
        let database: PostgresJobQueue
    }
}

extension PostgresJobQueue.Reports {
    /// A time as ISO 8601 in UTC, whatever the session's settings.
    static func iso(_ column: String) -> String {
        "to_char(\(column) AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS\"Z\"')"
    }

    /// The newest changes, newest first.
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

/// A change that was asked for through the dashboard.
package struct OperatorAction: Sendable {
    /// When: ISO 8601 in UTC, by the clock of the database.
    package let at: String
    /// The login of the database.
    package let login: String
    /// The user that a proxy named.
    package let actor: String?
    /// What was done, such as `batches/pause`.
    package let verb: String
    /// The name or number of what was changed.
    package let target: String?
    /// Why it failed; nil when it did not.
    package let error: String?
}

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
