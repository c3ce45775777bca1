import Concurrency
import TestSupport
import Testing

@testable import JobQueue

/// How many sessions the calls of one worker use.
@Suite(.timeLimit(.minutes(5)))
struct SessionTests {
    /// The statements of a worker, again and again until `urls` are completed.
    private func work(_ queue: PostgresJobQueue, _ urls: Int) async throws {
        let worker = try await queue.workers.start(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "test", slots: 20))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for kind in MaintenanceKind.allCases {
                group.addTask { for _ in 0..<10 { try await queue.workers.maintain(kind, force: true) } }
            }
            group.addTask {
                for _ in 0..<20 {
                    let reply = try await worker.heartbeat()
                    #expect(!reply.leaseExpired)
                    _ = try await queue.workers.originHolds()
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
    func `all calls of a worker share two sessions`(isPooled: Bool) async throws {
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
        #expect(most == 2)
        #expect(queue.sessions.count == 2)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job_history") == "100")
        await queue.close()
        #expect(queue.sessions.count == 0)
        try await fixture.expectSound()
    }

    /// A queue with a worker, and a table that another transaction has locked.
    private struct Gate {
        let fixture: QueueFixture
        let queue: PostgresJobQueue
        let worker: WorkerSession
        private let holder: Connection

        init(patience: Duration) async throws {
            fixture = try await QueueFixture.make()
            var configuration = fixture.configuration
            configuration.sessionWait = patience
            queue = PostgresJobQueue(configuration)
            worker = try await queue.workers.start(
                WorkerDescription(name: "w", host: "test", processID: 1, version: "test", slots: 2))
            try await fixture.sql("CREATE TABLE gate ()")
            holder = fixture.otherConnection()
            _ = try await holder.rows("BEGIN")
            _ = try await holder.rows("LOCK TABLE gate IN ACCESS EXCLUSIVE MODE")
        }

        /// A statement that waits until the table is unlocked.
        func pass(_ connection: Connection) async -> Result<[[String?]], QueueError> {
            do throws(QueueError) {
                return .success(try await connection.rows("SELECT count(*) FROM gate"))
            } catch {
                return .failure(error)
            }
        }

        /// Runs a schedule that is due; the kind of its failure.
        func runSchedule() async -> QueueError.Code? {
            do throws(QueueError) {
                _ = try await queue.workers.maintain(.schedule)
                return nil
            } catch {
                return error.code
            }
        }

        func open() async throws { _ = try await holder.rows("ROLLBACK") }

        func waitUntilStuck(_ count: Int) async throws {
            let waiting =
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
            try #require(await reached { try await fixture.value(waiting) == "\(count)" })
        }
    }

    @Test func `a heartbeat ends a stuck claim, and a program's call that is stuck as well goes on`() async throws {
        let gate = try await Gate(patience: .milliseconds(100))
        async let call = gate.pass(gate.queue.connection)
        async let claim = gate.pass(gate.queue.claims)
        try await gate.waitUntilStuck(2)
        for _ in 0..<3 {
            #expect(try await gate.worker.heartbeat().leaseExpired == false)
            try await gate.queue.workers.maintain(.urgent, force: true)
            #expect(gate.queue.sessions.count == 2)
        }
        let ended = await claim
        #expect(throws: QueueError.self) { try ended.get() }
        try await gate.open()
        #expect(try await call.get() == [["0"]])
        await gate.queue.close()
    }

    @Test func `a claim ends stuck maintenance, and a program's call that is stuck as well goes on`() async throws {
        let gate = try await Gate(patience: .milliseconds(100))
        async let call = gate.pass(gate.queue.connection)
        async let vacuum = gate.pass(gate.queue.connection(for: .owner))
        try await gate.waitUntilStuck(2)
        #expect(try await gate.worker.claim(upTo: 1).isEmpty)
        let ended = await vacuum
        #expect(throws: QueueError.self) { try ended.get() }
        try await gate.open()
        #expect(try await call.get() == [["0"]])
        await gate.queue.close()
    }

    // A pooler lets the statement take effect.
    @Test(.enabled(if: !TemporaryDatabase.isPooled))
    func `a schedule that a claim ended is due as before, and has no error`() async throws {
        let gate = try await Gate(patience: .milliseconds(100))
        // The query is tried when the schedule is set.
        try await gate.fixture.sql("CREATE TABLE public.pauses (seconds int)")
        try await gate.fixture.sql("GRANT SELECT ON public.pauses TO PUBLIC")
        _ = try await gate.queue.operations.setSchedule(
            "slow", cron: "@hourly", timeZone: "UTC",
            query: "SELECT 'http://a/1' FROM public.pauses, pg_sleep(seconds)",
            request: EnqueueRequest(urls: []))
        try await gate.fixture.sql("INSERT INTO public.pauses VALUES (600)")
        try await gate.fixture.sql("UPDATE larder_data.schedule SET next_at = clock_timestamp() - interval '1 s'")
        let due = "SELECT next_at::text FROM larder_data.schedule"
        let before = try await gate.fixture.value(due)
        async let call = gate.pass(gate.queue.connection)
        async let run = gate.runSchedule()
        let running = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'active' AND query LIKE '%run_schedule_v1%'
              AND pid <> pg_backend_pid()
            """
        try await gate.waitUntilStuck(1)
        try #require(try await reached { try await gate.fixture.value(running) == "1" })
        #expect(try await gate.worker.claim(upTo: 1).isEmpty)
        #expect(await run == .interrupted)
        #expect(try await reached { try await gate.fixture.value(running) == "0" })
        #expect(try await gate.fixture.value(due) == before)
        let schedule = try #require(try await gate.fixture.queue.reports.schedules().first)
        #expect(schedule.lastError == nil)
        #expect(schedule.lastBatch == nil)
        try await gate.open()
        #expect(try await call.get() == [["0"]])
        await gate.queue.close()
    }

    @Test func `maintenance that takes long leaves one session to the other calls, which leave it alone`() async throws
    {
        let gate = try await Gate(patience: .seconds(3_600))
        async let first = gate.pass(gate.queue.connection(for: .routine))
        try await gate.waitUntilStuck(1)
        // Waits for the first one, not for a session.
        async let second = gate.pass(gate.queue.connection(for: .schedule))
        for _ in 0..<3 {
            #expect(try await gate.worker.heartbeat().leaseExpired == false)
            #expect(try await gate.worker.claim(upTo: 1).isEmpty)
            try await gate.queue.workers.maintain(.urgent, force: true)
            _ = try await gate.queue.workers.originHolds()
        }
        try await gate.waitUntilStuck(1)
        try await gate.open()
        #expect(try await first.get() == [["0"]])
        #expect(try await second.get() == [["0"]])
        #expect(gate.queue.sessions.count == 2)
        await gate.queue.close()
    }

    @Test func `a wait for a session that another call uses ends, so that the caller tries to open one`() async throws {
        let fixture = try await QueueFixture.make()
        let pool = SessionPool(limit: 1, patience: .seconds(60))
        try #require(try pool.take(.other) === nil, "the caller is to open it")
        let url = try DatabaseURL(fixture.configuration.databaseURL)
        let stuck = pool.opened(try Session(url, timeout: .seconds(60)), .other)
        func found() -> String {
            switch pool.takeOpen(.other, within: .milliseconds(1)) {
            case .taken(let entry): entry === stuck ? "taken" : "another"
            case .inUse: "in use"
            case .none: "none"
            }
        }
        #expect(found() == "in use")
        pool.give(stuck)
        #expect(found() == "taken")
        pool.drop(stuck)
        #expect(found() == "none")
    }

    @Test func `a statement that changes nothing ends on the server when its task is cancelled`() async throws {
        let fixture = try await QueueFixture.make()
        let statement = "SELECT pg_sleep(3600)"
        let call = Task {
            await #expect(throws: QueueError.self) {
                try await fixture.queue.read(statement) { _ throws(QueueError) in }
            }
        }
        let running = """
            SELECT count(*) FROM pg_stat_activity
            WHERE datname = current_database() AND state = 'active' AND query = '\(statement)'
            """
        try #require(try await reached { try await fixture.value(running) == "1" })
        call.cancel()
        #expect(await call.value?.code == .cancelled)
        #expect(try await reached { try await fixture.value(running) == "0" })
        #expect(try await fixture.queue.reports.check().isEmpty)
    }

    @Test func `a session that is not in use goes to the call that waits longest`() async throws {
        let fixture = try await QueueFixture.make()
        let pool = SessionPool(limit: 1, patience: .seconds(60))
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
