import Concurrency
import JobQueue
import Measuring

/// A plain connection to the benchmark's database, on its own thread.
actor BenchSession {
    private let thread = EventLoop(name: "bench-sql")
    private let url: String
    private var session: AdminSession?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    init(_ url: String) { self.url = url }

    deinit { thread.stop() }

    /// Runs `sql`; returns the first column of the first row, nil without rows.
    @discardableResult
    func execute(_ sql: String) throws -> String? {
        if session == nil {
            let opened = try AdminSession(url)
            // Not the name of the queue's connections, whose end the benchmark waits for.
            try opened.execute("SET application_name = 'larder-lab bench'")
            session = consume opened
        }
        guard let open = session.take() else { return nil }
        do {
            let answer = try open.execute(sql)
            session = consume open
            return answer
        } catch {
            session = consume open
            throw error
        }
    }

    func number(_ sql: String) throws -> Double {
        guard let number = try execute(sql).flatMap(Double.init) else { throw MeasuringError("no number: \(sql)") }
        return number
    }

    /// The time until the complete result has arrived.
    func milliseconds(_ sql: String) throws -> Double {
        let start = ContinuousClock.now
        try execute(sql)
        return (ContinuousClock.now - start) / .milliseconds(1)
    }

    /// In bytes.
    func writtenWAL() throws -> Double { try number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')") }

    func close() { session = nil }
}
