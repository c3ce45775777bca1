import Concurrency
import TestSupport
import Testing

@testable import JobQueue

/// How many sessions the calls of one worker use.
@Suite(.timeLimit(.minutes(5)))
struct SessionTests {
    /// The statements of a worker, again and again until `urls` are completed.
    private func work(_ queue: PostgresJobQueue, _ urls: Int) async throws {
        let worker = try await queue.startWorker(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "test", slots: 20))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for kind in MaintenanceKind.allCases {
                group.addTask { for _ in 0..<10 { try await queue.maintain(kind, force: true) } }
            }
            group.addTask {
                for _ in 0..<20 {
                    let reply = try await worker.heartbeat()
                    #expect(!reply.leaseExpired)
                    _ = try await queue.originHolds()
                }
            }
            group.addTask {
                var done = 0
                while done < urls {
                    let jobs = try await worker.claim(upTo: 5)
                    done += try await worker.complete(jobs.map { Outcome($0.held, .succeeded) }).count
                }
            }
            try await group.waitForAll()
        }
        try await worker.stop()
    }

    @Test(arguments: [false, true])
    func `all calls of a worker share two sessions while none takes long`(isPooled: Bool) async throws {
        let fixture = isPooled ? try await QueueFixture.makePooled() : try await QueueFixture.make()
        var configuration = fixture.configuration
        configuration.databaseURL += "&application_name=counted"
        // However long statements take on a busy machine.
        configuration.sessionWait = .seconds(3_600)
        let queue = PostgresJobQueue(configuration)
        try await fixture.enqueue((0..<100).map { "http://a/\($0)" })
        let isDone = Locked(false)
        let most = try await withThrowingTaskGroup(of: Int.self) { group in
            group.addTask {
                var most = 0
                while !isDone.withLock({ $0 }) {
                    most = max(most, queue.sessions.count)
                    let count = try await fixture.value(
                        """
                        SELECT count(*) FROM pg_stat_activity
                        WHERE datname = current_database() AND application_name = 'counted'
                        """)
                    // A pooler gives its own sessions to several clients.
                    if !isPooled && !TemporaryDatabase.isPooled { most = max(most, Int(count ?? "") ?? 0) }
                }
                return most
            }
            defer { isDone.withLock { $0 = true } }
            try await work(queue, 100)
            isDone.withLock { $0 = true }
            return try await group.next() ?? 0
        }
        #expect(most == 2 && queue.sessions.count == 2)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job_history") == "100")
        await queue.close()
        #expect(queue.sessions.count == 0)
        try await fixture.expectSound()
    }

    @Test
    func `heartbeats and rescue go on beside two stuck statements, in sessions that are then closed`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("CREATE TABLE gate ()")
        let queue = PostgresJobQueue(fixture.configuration)
        let worker = try await queue.startWorker(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "test", slots: 2))
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        _ = try await holder.rows("LOCK TABLE gate IN ACCESS EXCLUSIVE MODE")
        async let first = queue.claims.rows("SELECT count(*) FROM gate")
        async let second = queue.connection.rows("SELECT count(*) FROM gate")
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        try #require(await reached { try await fixture.value(waiting) == "2" })
        for _ in 0..<3 {
            #expect(try await worker.heartbeat().leaseExpired == false)
            try await queue.maintain(.urgent, force: true)
        }
        #expect(queue.sessions.count > 2)
        _ = try await holder.rows("ROLLBACK")
        #expect(try await first == [["0"]])
        #expect(try await second == [["0"]])
        #expect(
            try await reached {
                _ = try await worker.heartbeat()
                return queue.sessions.count == 2
            })
        await queue.close()
    }

    @Test func `a wait for a session that another call uses ends, so that the caller tries to open one`() async throws {
        let fixture = try await QueueFixture.make()
        let pool = SessionPool(kept: 1)
        try #require(pool.take(maxWait: nil) === nil, "the caller is to open it")
        let url = try DatabaseURL(fixture.configuration.databaseURL)
        let stuck = pool.opened(try Session(url, timeout: .seconds(60), cutOff: CallDeadline()))
        func found() -> String {
            switch pool.takeOpen(within: .milliseconds(1)) {
            case .taken(let entry): entry === stuck ? "taken" : "another"
            case .inUse: "in use"
            case .none: "none"
            }
        }
        #expect(found() == "in use")
        pool.give(stuck)
        #expect(found() == "taken")
        pool.drop()
        #expect(found() == "none")
    }

    @Test func `a session that is not in use goes to the call that waits longest`() async throws {
        let fixture = try await QueueFixture.make()
        let pool = SessionPool(kept: 1)
        func connection() -> Connection { Connection(fixture.configuration, name: "test", pool: pool) }
        let processes = try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<4 {
                let caller = connection()
                group.addTask { try await caller.rows("SELECT pg_backend_pid() FROM pg_sleep(0)").first?.first ?? nil }
            }
            return try await group.reduce(into: Set<String?>()) { $0.insert($1) }
        }
        #expect(processes.count == (TemporaryDatabase.isPooled ? processes.count : 1) && pool.count == 1)
    }
}
