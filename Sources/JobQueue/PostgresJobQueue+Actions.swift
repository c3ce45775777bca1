extension PostgresJobQueue {
    /// Records a change that an operator is about to make through the dashboard; returns its number.
    ///
    /// - Parameters:
    ///   - actor: the user that a proxy names; nil where the login of the database is all that is known.
    ///   - verb: what is done, such as `batches/pause`.
    ///   - target: the name or number of what is changed.
    /// - Throws: `.refused` to a login that is not a `larder_admin`.
    public func beginAction(actor: String?, verb: String, target: String) async throws(QueueError) -> Int64 {
        try await ask(
            "SELECT larder.action_begin($1, $2, $3)", [.text(actor), .text(verb), .text(target)]
        ) { rows throws(QueueError) in rows.integer(0, 0) ?? 0 }
    }

    /// Records that a change failed.
    public func failAction(_ action: Int64, _ error: String) async throws(QueueError) {
        try await ask("SELECT larder.action_failed($1, $2)", [.integer(action), .text(error)]) {
            _ throws(QueueError) in
        }
    }

    /// The newest changes, newest first.
    public func actions(limit: Int = 200) async throws(QueueError) -> [OperatorAction] {
        try await ask(
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
public struct OperatorAction: Sendable {
    /// When: ISO 8601 in UTC, by the clock of the database.
    public let at: String
    /// The login of the database.
    public let login: String
    /// The user that a proxy named.
    public let actor: String?
    /// What was done, such as `batches/pause`.
    public let verb: String
    /// The name or number of what was changed.
    public let target: String?
    /// Why it failed; nil when it did not.
    public let error: String?
}
