extension PostgresJobQueue.Reports {
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
