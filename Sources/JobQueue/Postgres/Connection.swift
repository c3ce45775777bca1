internal import Concurrency

/// Calls of one kind, one after another, on an own thread or one of `Configuration.threads`. Each uses a pooled
/// session, opened on demand and reopened after it breaks.
///
/// Each call tries once; `PostgresJobQueue.ask` repeats it. A cancelled task's call ends as `CallCancellation` says.
actor Connection {
    private let executor: any SerialExecutor
    /// The thread for these calls; nil if they use the configuration's threads.
    private let thread: EventLoop?
    private let configuration: PostgresJobQueue.Configuration
    private let cutOff: CallDeadline
    private let pool: SessionPool
    private let kind: CallKind
    /// Orders calls that may be cancelled, since a call cannot leave an actor's own queue. Other calls precede them.
    private let turns = AsyncSemaphore(1)
    private nonisolated let counted = Locked(StatementCounts())

    nonisolated var counts: StatementCounts { counted.withLock { $0 } }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - pool: the sessions; by default a pool of its own.
    init(
        _ configuration: PostgresJobQueue.Configuration, name: String, cutOff: CallDeadline = CallDeadline(),
        pool: SessionPool? = nil, kind: CallKind = .other
    ) {
        self.configuration = configuration
        self.cutOff = cutOff
        self.pool = pool ?? SessionPool(limit: 1, patience: configuration.sessionWait)
        self.kind = kind
        if let threads = configuration.threads {
            thread = nil
            executor = PooledExecutor(threads)
        } else {
            let thread = EventLoop(name: name)
            self.thread = thread
            executor = thread
        }
    }

    deinit { thread?.stop() }

    /// Runs one statement in turn and reads its answer on this thread.
    ///
    /// - Parameter isReadCommitted: runs it in a READ COMMITTED transaction; false uses the session's level.
    ///
    /// Throws `.unreachable` if nothing was sent; `.connectionLost`, `.timeout` or `.interrupted` if it may have taken
    /// effect; `.cancelled` if it was not sent or changes nothing.
    nonisolated func call<Value: Sendable>(
        _ sql: String, _ parameters: [Parameter], cancellation: CallCancellation, isReadCommitted: Bool,
        read: @Sendable (borrowing Rows) throws(QueueError) -> Value
    ) async throws(QueueError) -> Value {
        guard cancellation != .never else {
            return try await query(sql, parameters, isReadCommitted: isReadCommitted, read: read)
        }
        guard await turns.acquire() else { throw CallCancellation.error }
        defer { turns.release() }
        let end = CallDeadline(within: cutOff)
        let result = await withTaskCancellationHandler { () async -> Result<Value, QueueError> in
            do throws(QueueError) {
                return .success(
                    try await query(
                        sql, parameters, isReadCommitted: isReadCommitted, end: end,
                        isInterruptible: cancellation == .anyTime, read: read))
            } catch {
                return .failure(error)
            }
        } onCancel: {
            end.set(.now)
            pool.wake()
        }
        do throws(QueueError) {
            return try result.get()
        } catch {
            let isCutOff = error.code == .unreachable || error.code == .timeout && cancellation == .anyTime
            throw isCutOff && end.isOwnReached ? CallCancellation.error : error
        }
    }

    /// Runs one statement ahead of the calls that wait for their turn.
    ///
    /// - Parameters:
    ///   - end: ends the call while nothing is sent.
    ///   - isInterruptible: `end` also ends the statement.
    func query<Value: Sendable>(
        _ sql: String, _ parameters: [Parameter], isReadCommitted: Bool = false, end: CallDeadline? = nil,
        isInterruptible: Bool = false, read: @Sendable (borrowing Rows) throws(QueueError) -> Value
    ) throws(QueueError) -> Value {
        let timeout = configuration.statementTimeout
        let start = ContinuousClock.now
        do throws(QueueError) {
            let value = try withSession(end, isInterruptible: isInterruptible) { session throws(QueueError) in
                guard isReadCommitted else { return try read(session.query(sql, parameters, timeout: timeout)) }
                return try read(session.queryReadCommitted(sql, parameters, timeout: timeout))
            }
            count(since: start, failed: 0)
            return value
        } catch {
            // Nothing was sent.
            if error.code != .cancelled { count(since: start, failed: 1) }
            throw error
        }
    }

    private func count(since start: ContinuousClock.Instant, failed: Int) {
        counted.withLock { counts in
            counts.sent += 1
            counts.failed += failed
            counts.time += .now - start
        }
    }

    /// Runs `body` on a session without other callers' statements in between. Blocks this thread.
    func withSession<Value: Sendable>(
        _ end: CallDeadline? = nil, isInterruptible: Bool = false,
        _ body: @Sendable (inout Session) throws(QueueError) -> Value
    ) throws(QueueError) -> Value {
        let end = end ?? cutOff
        let entry = try take(end)
        guard end === cutOff || !end.isOwnReached else {
            pool.give(entry)
            throw CallCancellation.error
        }
        entry.session.cutOff = isInterruptible ? end : cutOff
        do throws(QueueError) {
            let value = try body(&entry.session)
            pool.give(entry)
            return value
        } catch {
            // Close the session if its connection is broken, a statement is unfinished or a transaction is open. Also
            // if the server refuses writes: after a failover the same URL may lead to another server.
            let isReusable = !error.leavesStatement && entry.session.isIdle
            if isReusable && error.sqlState != SQLState.readOnlyTransaction.rawValue {
                pool.give(entry)
            } else {
                pool.drop(entry)
            }
            throw error
        }
    }

    /// How long to wait for an open session before trying to open one.
    private static let openWait = Duration.seconds(3)

    /// An open session, else a new one. A login at its connection limit waits for an open session.
    ///
    /// It retries opening one meanwhile: the other session may be stuck, and the server reachable again.
    private func take(_ end: CallDeadline) throws(QueueError) -> SessionPool.Entry {
        let limit = ContinuousClock.now + configuration.statementTimeout
        while true {
            while let entry = try pool.take(kind, end) {
                if entry.session.isAlive() { return entry }
                pool.drop(entry)
            }
            do throws(QueueError) {
                return pool.opened(try open(end), kind)
            } catch {
                pool.failed(kind)
                guard error.code == .unreachable, .now < limit, !end.isReached else { throw error }
                switch pool.takeOpen(kind, within: Self.openWait) {
                case .taken(let entry):
                    if entry.session.isAlive() { return entry }
                    pool.drop(entry)
                case .inUse: break
                case .none: throw error
                }
            }
        }
    }

    /// A new session. Its statements end within two seconds of the client's process; a server that cannot check for
    /// that refuses the setting.
    private func open(_ end: CallDeadline) throws(QueueError) -> Session {
        let timeout = configuration.connectTimeout
        var session = try Session(DatabaseURL(configuration.databaseURL), timeout: timeout, cutOff: end)
        do throws(QueueError) {
            try session.readDefaultLevel(timeout: timeout)
            try session.run(script: "SET client_connection_check_interval = '2s'", timeout: timeout)
        } catch {
            // No statement was sent, so the caller may repeat its call. A pooler without a server ends the session with
            // a coded error.
            guard error.sqlState != nil, session.isAlive() else { throw QueueError(.unreachable, error.message) }
        }
        return session
    }

    /// Closes unused sessions; the next call opens a new one.
    func close() { pool.closeIdle() }
}

/// Statements sent by a queue, each one round trip.
package struct StatementCounts: Sendable, Equatable {
    package var sent = 0
    /// Refused by the server or lost with the connection, including sessions that could not be opened.
    package var failed = 0
    /// Total time between sending and the answer.
    package var time = Duration.zero
}
