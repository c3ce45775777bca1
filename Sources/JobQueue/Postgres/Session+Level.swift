/// The isolation level of a session's transactions.
///
/// The queue's calls run under READ COMMITTED whatever the default of the database, the role or the server is: above it
/// two workers that claim or complete at once would fail again and again. No setting of the session is changed, because
/// behind a pooler the session also belongs to other programs.
extension Session {
    /// Reads the default level of the session's transactions.
    mutating func readDefaultLevel(timeout: Duration) throws(QueueError) {
        isReadCommitted = try run(script: "SHOW transaction_isolation", timeout: timeout).text(0, 0) == "read committed"
    }

    /// Runs one statement as a transaction under READ COMMITTED, as `query` does.
    ///
    /// Where that is not the default, the statement is sent between BEGIN and COMMIT: two more round trips. Within a
    /// transaction of the caller it runs at the level of that one.
    mutating func queryReadCommitted(
        _ sql: String, _ parameters: [Parameter], timeout: Duration
    ) throws(QueueError) -> Rows {
        guard !isReadCommitted && isIdle else { return try query(sql, parameters, timeout: timeout) }
        try run(script: "BEGIN ISOLATION LEVEL READ COMMITTED", timeout: timeout)
        let rows: Rows
        do throws(QueueError) {
            rows = try query(sql, parameters, timeout: timeout)
        } catch {
            // The session of a broken or unfinished statement is closed by its owner.
            if !error.leavesStatement { _ = try? run(script: "ROLLBACK", timeout: timeout) }
            throw error
        }
        try run(script: "COMMIT", timeout: timeout)
        return rows
    }
}
