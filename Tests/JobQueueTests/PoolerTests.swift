import TestSupport
import Testing

@testable import JobQueue

/// A pooler in transaction mode gives no session of one's own. The whole suite runs through one as well.
@Suite(.timeLimit(.minutes(5)))
struct PoolerTests {
    /// A server session that another client occupies, so that the next transaction gets a different one.
    private func occupy(_ connection: Connection) async throws -> String? {
        _ = try await connection.rows("BEGIN")
        return try await connection.rows("SELECT pg_backend_pid()").first?.first ?? nil
    }

    @Test func `statements that another server session keeps are sent with their text, and none is kept again`()
        async throws
    {
        let fixture = try await QueueFixture.makePooled()
        let caller = fixture.otherConnection()
        let other = fixture.otherConnection()
        let kept = "SELECT pg_backend_pid(), count(*) FROM pg_prepared_statements WHERE name LIKE 'larder%'"
        func ask() async throws -> (process: String?, statements: String?) {
            let row = try await caller.rows(kept).first
            return (row?[0], row?[1])
        }
        let first = try await ask()
        // Kept from the second time on.
        #expect(try await ask().statements == "1")
        #expect(try await ask().statements == "1")
        // The session that keeps it goes to another client.
        #expect(try await occupy(other) == first.process)
        for _ in 0..<4 {
            let next = try await ask()
            #expect(next.process != first.process)
            #expect(next.statements == "0")
        }
        _ = try await other.rows("ROLLBACK")
    }

    @Test func `a statement kept elsewhere does not break a transaction`() async throws {
        let fixture = try await QueueFixture.makePooled()
        let caller = fixture.otherConnection()
        let other = fixture.otherConnection()
        for _ in 0..<3 { _ = try await caller.rows("SELECT count(*) FROM larder_data.job") }
        _ = try await occupy(other)
        _ = try await caller.rows("BEGIN")
        #expect(try await caller.rows("SELECT count(*) FROM larder_data.job") == [["0"]])
        _ = try await caller.rows("COMMIT")
        _ = try await other.rows("ROLLBACK")
    }

    @Test func `a database is migrated through a pooler, by several at once`() async throws {
        let database = try await TemporaryDatabase.make()
        let url = try await database.pooledURL
        try await withThrowingTaskGroup(of: Int.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    try await Migrator(PostgresJobQueue.Configuration(databaseURL: url)).migrate().count
                }
            }
            let applied = try await group.reduce(0, +)
            #expect(applied == Migration.all.count)
        }
        try await PostgresJobQueue(PostgresJobQueue.Configuration(databaseURL: url)).checkReady()
    }

    @Test func `workers and enqueuers share a few server sessions`() async throws {
        let fixture = try await QueueFixture.makePooled()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<6 {
                group.addTask {
                    let queue = PostgresJobQueue(fixture.configuration)
                    for round in 0..<5 {
                        let urls = (0..<10).map { "http://host\(index)/\(round)/\($0)" }
                        _ = try await queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "batch"))
                    }
                    let worker = try await queue.workers.start(
                        WorkerDescription(name: "w", host: "test", processID: 1, version: "1", slots: 10))
                    var done = 0
                    while true {
                        let jobs = try await worker.claim(upTo: 7)
                        if jobs.isEmpty {
                            if try await fixture.value("SELECT count(*) FROM larder_data.ready") == "0" { return done }
                            // A job that was enqueued earlier and committed later may lie below the claim cursor.
                            try await queue.workers.maintain(force: true)
                        }
                        done += try await worker.complete(jobs.map { Outcome($0.held, .succeeded) })
                            .filter { $0.decision == .succeeded }.count
                        _ = try await worker.heartbeat()
                        try await queue.workers.maintain()
                    }
                }
            }
            let done = try await group.reduce(0, +)
            #expect(done == 300)
        }
        try await fixture.expectSound()
        let sessions = try await fixture.value(
            "SELECT count(*) <= 12 FROM pg_stat_activity WHERE datname = current_database()")
        #expect(sessions == "t")
    }

    @Test func `a call that the pooler refuses because it has no server was not sent`() async throws {
        let fixture = try await QueueFixture.makePooled()
        let name = try await fixture.makeLogin()
        let url = fixture.url(fixture.configuration.databaseURL, as: name)
        let queue = PostgresJobQueue(PostgresJobQueue.Configuration(databaseURL: url))
        func ask() async throws(QueueError) { _ = try await queue.ask("SELECT 1") { _ throws(QueueError) in } }
        try await ask()
        try await fixture.sql("ALTER ROLE \(name) CONNECTION LIMIT 0")
        try await fixture.sql("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '\(name)'")
        // This one was sent, on the session that is open.
        await #expect(throws: QueueError.self) { try await ask() }
        let error = await #expect(throws: QueueError.self) { try await ask() }
        #expect(error?.code == .unreachable, "\(String(describing: error))")
        await queue.close()
    }
}
