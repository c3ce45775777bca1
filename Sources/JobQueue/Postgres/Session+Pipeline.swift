private import CPostgres

/// A statement and what goes with it.
struct Statement: Sendable {
    let sql: String
    let parameters: [Parameter]
}

/// The answers to two statements that went together.
struct RowsPair: ~Copyable {
    let first: Rows
    let second: Rows
}

extension Session {
    /// Runs two statements in one round trip and one transaction: what the second one throws undoes the first.
    ///
    /// libpq's pipeline mode: the server takes all that stands before a Sync for one transaction, and answers when it is
    /// committed. A pooler in transaction mode lends one server session for it. Not to be called within a transaction.
    mutating func query(
        _ first: Statement, then second: Statement, timeout: Duration
    ) throws(QueueError) -> RowsPair {
        let encoded = (Parameters(first.parameters), Parameters(second.parameters))
        do throws(QueueError) {
            // Kept by a trip of its own, once in a session's life: a refusal is then found out without the pair.
            let names = (
                try prepared(first.sql, encoded.0, timeout: timeout),
                try prepared(second.sql, encoded.1, timeout: timeout)
            )
            return try pipeline(
                (names.0 ?? first.sql, encoded.0, names.0 != nil), (names.1 ?? second.sql, encoded.1, names.1 != nil),
                timeout: timeout)
        } catch {
            guard statements.isRefused(error) else { throw error }
            return try pipeline((first.sql, encoded.0, false), (second.sql, encoded.1, false), timeout: timeout)
        }
    }

    /// The name under which the server keeps a statement from its second time on; nil before.
    private mutating func prepared(
        _ sql: String, _ encoded: Parameters, timeout: Duration
    ) throws(QueueError) -> String? {
        switch statements.plan(for: sql) {
        case .plain: return nil
        case .prepared(let name): return name
        case .prepare(let name):
            try prepare(sql, encoded, as: name, timeout: timeout)
            return name
        }
    }

    private typealias Sent = (statement: String, encoded: Parameters, isPrepared: Bool)

    private func pipeline(_ first: Sent, _ second: Sent, timeout: Duration) throws(QueueError) -> RowsPair {
        let deadline = ContinuousClock.now + timeout
        guard PQenterPipelineMode(connection) == 1 else { throw lost() }
        // Where answers are still missing it stays in the mode, is not idle, and is given up.
        defer { PQexitPipelineMode(connection) }
        try dispatch(first.statement, first.encoded, prepared: first.isPrepared)
        try dispatch(second.statement, second.encoded, prepared: second.isPrepared)
        guard PQpipelineSync(connection) == 1 else { throw lost() }
        try flush(until: deadline)
        let answers = RowsPair(first: try answer(until: deadline), second: try answer(until: deadline))
        try commit(until: deadline)
        // Behind an error comes only that the rest was passed over.
        if let error = answers.first.error ?? answers.second.error { throw error }
        return answers
    }

    /// Reads what the Sync brought: nothing, or why the transaction could not be committed.
    private func commit(until deadline: ContinuousClock.Instant) throws(QueueError) {
        var refusal: QueueError?
        // An error, the end of its answer, and the Sync's own.
        for _ in 0..<3 {
            guard let rows = try result(until: deadline) else { continue }
            if !rows.isSync {
                refusal = rows.error
            } else if let refusal {
                throw refusal
            } else {
                return
            }
        }
        throw lost()
    }
}
