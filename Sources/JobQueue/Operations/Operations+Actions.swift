extension PostgresJobQueue.Operations {
    /// Records a change that an operator is about to make through the dashboard; returns its number.
    ///
    /// - Parameters:
    ///   - actor: the user that a proxy names; nil where the login of the database is all that is known.
    ///   - verb: what is done, such as `batches/pause`.
    ///   - target: the name or number of what is changed.
    /// - Throws: `.refused` to a login that is not a `larder_admin`.
    package func beginAction(actor: String?, verb: String, target: String) async throws(QueueError) -> Int64 {
        try await database.ask(
            "SELECT larder.action_begin($1, $2, $3)", [.text(actor), .text(verb), .text(target)]
        ) { rows throws(QueueError) in rows.integer(0, 0) ?? 0 }
    }

    /// Records that a change failed.
    package func failAction(_ action: Int64, _ error: String) async throws(QueueError) {
        try await database.ask("SELECT larder.action_failed($1, $2)", [.integer(action), .text(error)]) {
            _ throws(QueueError) in
        }
    }
}
