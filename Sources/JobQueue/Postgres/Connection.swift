internal import Concurrency

/// Calls of one kind, one after another, on a thread of their own or on one of `Configuration.threads`. Each uses a
/// session of a pool, which is opened when needed and again after it broke.
///
/// Each call tries once; `PostgresJobQueue.ask` repeats it.
actor Connection {
    private let executor: any SerialExecutor
    /// The thread that only these calls use; nil where they use those of the configuration.
    private let thread: EventLoop?
    private let configuration: PostgresJobQueue.Configuration
    private let cutOff: CallDeadline
    private let pool: SessionPool
    private let kind: CallKind
    private nonisolated let counted = Locked(StatementCounts())

    /// The statements of `query` so far.
    nonisolated var counts: StatementCounts { counted.withLock { $0 } }

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - pool: the sessions, by default one of its own.
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

    /// Runs one statement and reads its answer on this thread.
    ///
    /// - Parameter isReadCommitted: as a transaction under READ COMMITTED; false, the default, is the session's level.
    ///
    /// Throws `.unreachable` when nothing was sent, `.connectionLost`, `.timeout` or `.interrupted` when it may have
    /// taken effect.
    func query<Value: Sendable>(
        _ sql: String, _ parameters: [Parameter], isReadCommitted: Bool = false,
        read: @Sendable (borrowing Rows) throws(QueueError) -> Value
    ) throws(QueueError) -> Value {
        let timeout = configuration.statementTimeout
        let start = ContinuousClock.now
        do throws(QueueError) {
            let value = try withSession { session throws(QueueError) in
                guard isReadCommitted else { return try read(session.query(sql, parameters, timeout: timeout)) }
                return try read(session.queryReadCommitted(sql, parameters, timeout: timeout))
            }
            count(since: start, failed: 0)
            return value
        } catch {
            count(since: start, failed: 1)
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

    /// Runs `body` on a session without statements of other callers in between. `body` blocks this thread.
    func withSession<Value: Sendable>(
        _ body: @Sendable (inout Session) throws(QueueError) -> Value
    ) throws(QueueError) -> Value {
        let entry = try take()
        do throws(QueueError) {
            let value = try body(&entry.session)
            pool.give(entry)
            return value
        } catch {
            // A session is closed when its connection is broken, a statement is unfinished or a transaction is open. It
            // is also closed when the server refuses writes: after a failover the same URL may lead to another server.
            let isReusable = !error.leavesStatement && entry.session.isIdle
            if isReusable && error.sqlState != SQLState.readOnlyTransaction.rawValue {
                pool.give(entry)
            } else {
                pool.drop(entry)
            }
            throw error
        }
    }

    /// How long a call waits for a session that is open before it tries to open one again.
    private static let openWait = Duration.seconds(3)

    /// A session that is open, else a new one. A login that may not open another waits for one that is open.
    ///
    /// It tries to open one again meanwhile: the other session may be stuck, and the server reachable since.
    private func take() throws(QueueError) -> SessionPool.Entry {
        let end = ContinuousClock.now + configuration.statementTimeout
        while true {
            while let entry = pool.take(kind) {
                if entry.session.isAlive() { return entry }
                pool.drop(entry)
            }
            do throws(QueueError) {
                return pool.opened(try open(), kind)
            } catch {
                pool.failed(kind)
                guard error.code == .unreachable, .now < end else { throw error }
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

    /// A new session. Its statements end within two seconds of the client's process; a server that cannot check that
    /// refuses the setting.
    private func open() throws(QueueError) -> Session {
        let timeout = configuration.connectTimeout
        var session = try Session(DatabaseURL(configuration.databaseURL), timeout: timeout, cutOff: cutOff)
        do throws(QueueError) {
            try session.readDefaultLevel(timeout: timeout)
            try session.run(script: "SET client_connection_check_interval = '2s'", timeout: timeout)
        } catch {
            // No statement was sent, so the caller may repeat its call.
            guard error.sqlState != nil else { throw QueueError(.unreachable, error.message) }
        }
        return session
    }

    /// Closes the sessions of the pool that are not in use; the next call opens another one.
    func close() { pool.closeIdle() }
}
