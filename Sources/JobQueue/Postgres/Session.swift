private import CPostgres
private import Concurrency
import Glibc

/// One connection to Postgres; owns the `PGconn`. All calls block, for a bounded time.
struct Session: ~Copyable {
    let connection: OpaquePointer
    var statements = PreparedStatements()
    /// Whether transactions are READ COMMITTED by default, see `readDefaultLevel`.
    var isReadCommitted = true
    /// Ends the current statement for a call that needs the session, see `SessionPool`.
    let interruption = CallDeadline()
    /// Ends the current statement with its call, or with all calls of the queue.
    var cutOff: CallDeadline

    /// Connects. Throws `.unreachable`, naming host and port, or `.loginRefused` if the server refuses user, password
    /// or database.
    ///
    /// - Parameters:
    ///   - timeout: limit for each host in the URL.
    ///   - cutOff: ends each call early, including this one.
    init(_ url: DatabaseURL, timeout: Duration, cutOff: CallDeadline = CallDeadline()) throws(QueueError) {
        let settings =
            [("client_encoding", "UTF8"), ("fallback_application_name", "larder")] + Self.lossSettings(timeout)
            + [("dbname", url.text)]
        guard let attempt = ConnectAttempt(settings) else {
            throw QueueError(.unreachable, "no memory for a connection")
        }
        let limit = attempt.limit ?? timeout
        switch attempt.finish(within: limit, cutOff) {
        case .connected: break
        case .timedOut:
            let place = Session.connectFailure(attempt.connection).place
            throw QueueError(.unreachable, "cannot reach the database at \(place): no answer within \(limit)")
        case .refused:
            let (place, reason) = Session.connectFailure(attempt.connection)
            switch ConnectRefusal.find(settings, limit: Self.refusalLimit, cutOff) {
            case .passing: throw QueueError(.unreachable, "cannot reach the database at \(place): \(reason)")
            case .final(let state):
                throw QueueError(
                    .loginRefused, "the database at \(place) refuses the connection: \(reason)", sqlState: state)
            }
        }
        let connection = attempt.take()
        larder_postgres_silence(connection)
        PQsetnonblocking(connection, 1)
        self.connection = connection
        self.cutOff = cutOff
    }

    deinit { PQfinish(connection) }

    /// Timeouts for hosts that no longer answer. The URL may override them.
    ///
    /// `tcp_user_timeout`, at most 4 s, ends a connection whose data are not acknowledged. It also ends a connection
    /// attempt before the host's time limit, so that libpq tries the next host. `keepalives_idle` detects the loss of a
    /// host that acknowledged a statement but has not answered.
    private static func lossSettings(_ timeout: Duration) -> [(String, String)] {
        let limit = min(.seconds(4), timeout * 4 / 5)
        return [
            ("tcp_user_timeout", "\(limit.milliseconds)"), ("keepalives_idle", "5"), ("keepalives_interval", "2"),
            ("keepalives_count", "3"),
        ]
    }

    /// Time limit of the second attempt, which reads the SQLSTATE.
    private static let refusalLimit = Duration.seconds(2)

    /// The address and libpq's message.
    private static func connectFailure(_ connection: OpaquePointer) -> (place: String, reason: String) {
        let host = PQhost(connection).map { String(cString: $0) } ?? ""
        let port = PQport(connection).map { String(cString: $0) } ?? ""
        let place = host.hasPrefix("/") ? "\(host)/.s.PGSQL.\(port)" : "\(host.isEmpty ? "localhost" : host):\(port)"
        // The first line names the cause; the others are hints.
        let lines = String(cString: PQerrorMessage(connection)).split(separator: "\n")
        return (place, lines.first.map(String.init) ?? "no reason given")
    }

    /// False if the server has closed the connection; checked before a statement is sent.
    ///
    /// An idle session receives only notices, and a last message before the server closes the connection.
    func isAlive() -> Bool {
        var descriptor = pollfd(fd: socketDescriptor, events: Int16(POLLIN), revents: 0)
        while poll(&descriptor, 1, 0) > 0 {
            guard PQconsumeInput(connection) == 1, PQisBusy(connection) == 0 else { return false }
        }
        return PQstatus(connection) == CONNECTION_OK
    }

    var socketDescriptor: Int32 { PQsocket(connection) }

    var isIdle: Bool { PQtransactionStatus(connection) == PQTRANS_IDLE }

    /// Runs one statement with parameters. The server prepares it at the second use.
    ///
    /// Within a transaction the text is sent: behind a pooler the name may not exist on the server session, and the
    /// error would abort the transaction.
    mutating func query(_ sql: String, _ parameters: [Parameter], timeout: Duration) throws(QueueError) -> Rows {
        let encoded = Parameters(parameters)
        let plan = isIdle ? statements.plan(for: sql) : .plain
        do throws(QueueError) {
            switch plan {
            case .plain: return try send(sql, encoded, prepared: false, timeout: timeout)
            case .prepared(let name): return try send(name, encoded, prepared: true, timeout: timeout)
            case .prepare(let name):
                try prepare(sql, encoded, as: name, timeout: timeout)
                return try send(name, encoded, prepared: true, timeout: timeout)
            }
        } catch {
            guard plan != .plain, statements.isRefused(error) else { throw error }
            return try send(sql, encoded, prepared: false, timeout: timeout)
        }
    }

    /// Prepares a statement (`PQsendPrepare`).
    mutating func prepare(
        _ sql: String, _ encoded: Parameters, as name: String, timeout: Duration
    ) throws(QueueError) {
        let types = encoded.fields.map(\.type)
        guard PQsendPrepare(connection, name, sql, Int32(types.count), types) == 1 else { throw lost() }
        _ = try finish(timeout: timeout)
        statements.keeps(sql, as: name)
    }

    private func send(
        _ statement: String, _ encoded: Parameters, prepared: Bool, timeout: Duration
    ) throws(QueueError) -> Rows {
        try dispatch(statement, encoded, prepared: prepared)
        return try finish(timeout: timeout)
    }

    /// Sends a statement by text or name (`PQsendQueryParams`, `PQsendQueryPrepared`).
    func dispatch(_ statement: String, _ encoded: Parameters, prepared: Bool) throws(QueueError) {
        let count = Int32(encoded.fields.count)
        let sent = encoded.bytes.withUnsafeBytes { buffer in
            // An empty value needs an address too: a null pointer means NULL.
            withUnsafePointer(to: CChar(0)) { empty in
                let values = encoded.fields.map { field in
                    field.offset.map { offset in
                        buffer.baseAddress.map { ($0 + offset).assumingMemoryBound(to: CChar.self) } ?? empty
                    }
                }
                let lengths = encoded.fields.map { Int32($0.length) }
                let formats = [Int32](repeating: 1, count: encoded.fields.count)
                return prepared
                    ? PQsendQueryPrepared(connection, statement, count, values, lengths, formats, 0)
                    : PQsendQueryParams(
                        connection, statement, count, encoded.fields.map(\.type), values, lengths, formats, 0)
            }
        }
        guard sent == 1 else { throw lost() }
    }

    /// Runs several statements without parameters as one simple query (`PQsendQuery`) and returns the last result.
    @discardableResult
    func run(script: String, timeout: Duration) throws(QueueError) -> Rows {
        guard PQsendQuery(connection, script) == 1 else { throw lost() }
        return try finish(timeout: timeout)
    }

    func lost() -> QueueError {
        QueueError(.connectionLost, String(cString: PQerrorMessage(connection)).firstLine)
    }

    /// Flushes, then reads the answer.
    private func finish(timeout: Duration) throws(QueueError) -> Rows {
        let deadline = ContinuousClock.now + timeout
        try flush(until: deadline)
        let rows = try answer(until: deadline)
        if let error = rows.error { throw error }
        return rows
    }

    /// Sends pending output (`PQflush`).
    func flush(until deadline: ContinuousClock.Instant) throws(QueueError) {
        var unsent = PQflush(connection)
        while unsent == 1 {
            try wait(for: Int16(POLLIN | POLLOUT), until: deadline)
            guard PQconsumeInput(connection) == 1 else { throw lost() }
            unsent = PQflush(connection)
        }
        guard unsent == 0 else { throw lost() }
    }

    /// Reads the complete answer to one statement. Returns the last error, else the last result.
    func answer(until deadline: ContinuousClock.Instant) throws(QueueError) -> Rows {
        var last: Rows?
        while let rows = try result(until: deadline) {
            if last?.isError != true { last = consume rows }
        }
        guard let rows = last.take(), PQstatus(connection) == CONNECTION_OK else { throw lost() }
        return rows
    }

    /// The next result; nil at the end (`PQgetResult`).
    func result(until deadline: ContinuousClock.Instant) throws(QueueError) -> Rows? {
        while PQisBusy(connection) == 1 {
            try wait(for: Int16(POLLIN), until: deadline)
            guard PQconsumeInput(connection) == 1 else { throw lost() }
        }
        guard let result = PQgetResult(connection) else { return nil }
        return Rows(owning: result)
    }

    /// Waits for the socket. At the deadline or cut-off it asks the server to stop and throws `.timeout`; at an
    /// interruption it throws `.interrupted`.
    private func wait(for events: Int16, until deadline: ContinuousClock.Instant) throws(QueueError) {
        while true {
            // Poll at least once: a suspended process may find its answer there.
            let left = interruption.deadline(cutOff.deadline(deadline)) - ContinuousClock.now
            var descriptor = pollfd(fd: socketDescriptor, events: events, revents: 0)
            let time = min(left, CallDeadline.interval)
            let code = poll(&descriptor, 1, left > .zero ? Int32(clamping: time.milliseconds + 1) : 0)
            if code > 0 { return }
            if code < 0 && errno != EINTR { throw lost() }
            guard left <= .zero else { continue }
            // Send no cancel request: its error could be recorded as the statement's own. The owner closes the
            // connection; the server then ends the statement within two seconds, or the statement takes effect.
            guard !interruption.isReached else {
                throw QueueError(.interrupted, "interrupted: a more urgent call needed this database connection")
            }
            CancelRequests.send(for: connection)
            throw QueueError(.timeout, "the database took longer than allowed to answer")
        }
    }
}

/// The isolation level of a session's transactions.
///
/// The queue needs READ COMMITTED, whatever the default of database, role or server: at higher levels, workers that
/// claim or complete at once would fail again and again. Session settings stay unchanged, because behind a pooler other
/// programs share the session.
extension Session {
    mutating func readDefaultLevel(timeout: Duration) throws(QueueError) {
        isReadCommitted = try run(script: "SHOW transaction_isolation", timeout: timeout).text(0, 0) == "read committed"
    }

    /// Runs one statement in a READ COMMITTED transaction, as `query` does.
    ///
    /// If that is not the default level, it is sent between BEGIN and COMMIT: two more round trips. Within the caller's
    /// transaction it runs at that transaction's level.
    mutating func queryReadCommitted(
        _ sql: String, _ parameters: [Parameter], timeout: Duration
    ) throws(QueueError) -> Rows {
        guard !isReadCommitted && isIdle else { return try query(sql, parameters, timeout: timeout) }
        try run(script: "BEGIN ISOLATION LEVEL READ COMMITTED", timeout: timeout)
        let rows: Rows
        do throws(QueueError) {
            rows = try query(sql, parameters, timeout: timeout)
        } catch {
            // The owner closes sessions with a broken or unfinished statement.
            if !error.leavesStatement { _ = try? run(script: "ROLLBACK", timeout: timeout) }
            throw error
        }
        try run(script: "COMMIT", timeout: timeout)
        return rows
    }
}
