import EmbeddedPostgres
import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct OutageTests {
    @Test
    func `a database that goes away and comes back costs a worker only time; heartbeats and enqueues say so at once`()
        async throws
    {
        let directory = try TemporaryDirectory(open: true)
        var site = EmbeddedCluster.Configuration(home: directory.path)
        site.disposable = true
        let cluster = EmbeddedCluster(site)
        var configuration = PostgresJobQueue.Configuration(databaseURL: try await cluster.start())
        try await Migrator(configuration).migrate()
        // No heartbeat arrives while the server is down.
        try AdminSession(configuration.databaseURL).execute("UPDATE larder_data.settings SET lease_ms = 3600000")
        let hurried = PostgresJobQueue(configuration)
        configuration.maxWait = .seconds(100)
        let queue = PostgresJobQueue(configuration)
        _ = try await hurried.producer.enqueue(EnqueueRequest(urls: ["http://a/1"]))
        let worker = try await queue.workers.start(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "1", slots: 1))
        try await cluster.stop()
        await #expect { try await worker.heartbeat() } throws: { ($0 as? QueueError)?.code == .unreachable }
        await #expect { _ = try await hurried.producer.enqueue(EnqueueRequest(urls: ["http://a/2"])) } throws: {
            ($0 as? QueueError)?.code == .unreachable
        }
        async let claimed = worker.claim(upTo: 1)
        _ = try await cluster.start()
        let job = try #require(try await claimed.first)
        #expect(try await worker.complete([Outcome(job.held, .succeeded)]).map(\.decision) == [.succeeded])
        #expect(try await queue.reports.check().isEmpty)
        await queue.close()
        await hurried.close()
        try await cluster.stop()
    }

    @Test func `seven restarts in a row cost no job an attempt or a rescue, and its worker completes it`() async throws
    {
        let directory = try TemporaryDirectory(open: true)
        var site = EmbeddedCluster.Configuration(home: directory.path)
        site.disposable = true
        let cluster = EmbeddedCluster(site)
        var configuration = PostgresJobQueue.Configuration(databaseURL: try await cluster.start())
        try await Migrator(configuration).migrate()
        configuration.maxWait = .seconds(100)
        let queue = PostgresJobQueue(configuration)
        let owner = Connection(configuration, name: "test-owner")
        _ = try await owner.rows("UPDATE larder_data.settings SET lease_ms = 3600000")
        _ = try await queue.producer.enqueue(
            EnqueueRequest(urls: ["http://a/1", "http://a/2", "http://a/3"], batch: "batch"))
        let worker = try await queue.workers.start(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "1", slots: 3))
        let jobs = try await worker.claim(upTo: 3)
        for _ in 0..<7 {
            try await cluster.stop()
            _ = try await cluster.start()
            // As if the server had been down for two hours.
            await owner.close()
            _ = try await owner.rows("UPDATE larder_data.worker SET heartbeat_at = now() - interval '2 h'")
            _ = try await owner.rows("UPDATE larder_data.running SET claimed_at = claimed_at - interval '2 h'")
            _ = try await owner.rows(
                "UPDATE larder_data.maintenance SET next_at = now() - interval '2 h' WHERE task = 'rescue'")
            try await queue.workers.maintain(force: true)
            #expect(try await worker.heartbeat().leaseExpired == false)
        }
        let results = try await worker.complete(jobs.map { Outcome($0.held, .succeeded) })
        #expect(results.map(\.decision) == [.succeeded, .succeeded, .succeeded])
        let counts = try await owner.rows("SELECT max(attempt), max(rescues) FROM larder_data.job_history")
        #expect(counts == [["1", "0"]])
        #expect(try await queue.reports.check().isEmpty)
        await owner.close()
        await queue.close()
        try await cluster.stop()
    }

    @Test func `the id of a worker is random, so that a standby that lacks it does not assign it again`() async throws {
        let fixture = try await QueueFixture.make()
        var ids: [Int64] = []
        for _ in 0..<20 { ids.append(try await fixture.startWorker().id) }
        #expect(Set(ids).count == 20)
        #expect(ids.sorted() != ids)
        #expect(ids.allSatisfy { (0..<(1 << 52)).contains($0) })
    }

    /// As if no call had reached the database for so long.
    private func outage(seconds: Int, in fixture: QueueFixture) async throws {
        for (table, columns) in [("worker", ["heartbeat_at"]), ("maintenance", ["next_at", "was_due_at"])] {
            let set = columns.map { "\($0) = \($0) - interval '\(seconds) s'" }.joined(separator: ", ")
            try await fixture.sql("UPDATE larder_data.\(table) SET \(set)")
        }
    }

    @Test(arguments: [true, false])
    func `an outage that the server does not notice costs no job a rescue`(heartbeatIsFirst: Bool) async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        for _ in 0..<6 {
            try await fixture.queue.workers.maintain(force: true)
            try await outage(seconds: 60, in: fixture)
            if heartbeatIsFirst { #expect(try await worker.heartbeat().leaseExpired == false) }
            try await fixture.queue.workers.maintain(force: true)
            #expect(try await worker.heartbeat().leaseExpired == false)
        }
        #expect(try await worker.complete([Outcome(job.held, .succeeded)]).map(\.decision) == [.succeeded])
        #expect(try await fixture.value("SELECT max(attempt) + max(rescues) FROM larder_data.job_history") == "1")
        try await fixture.expectSound()
    }

    @Test func `an outage extends no lease that had ended before it, and another one by its length`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        let first = try await fixture.startWorker("first")
        #expect(try await first.claim(upTo: 1).count == 1)
        try await fixture.queue.workers.maintain(force: true)
        // The server of the tests may have started within the last 15 s.
        try await fixture.sql("UPDATE larder_data.worker SET heartbeat_at = now() - interval '16 s', lease_ms = 1")
        try await outage(seconds: 60, in: fixture)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.running") == "0")
        let second = try await fixture.startWorker("second")
        #expect(try await second.claim(upTo: 1).count == 1)
        try await fixture.queue.workers.maintain(force: true)
        try await outage(seconds: 60, in: fixture)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.running") == "1")
        try await fixture.sql("UPDATE larder_data.worker SET lease_ms = 1 WHERE id = \(second.id)")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.running") == "0")
        #expect(try await second.heartbeat().leaseExpired)
        try await fixture.expectSound()
    }

    @Test(arguments: [true, false])
    func `a job whose completion was lost runs again while its worker lives, one that it holds does not`(isHeld: Bool)
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 1).count == 1)
        let heartbeat = """
            SELECT lease_expired FROM larder.heartbeat_v1(
                \(worker.id), (SELECT claim_no + \(isHeld ? 0 : 1) FROM larder_data.running))
            """
        #expect(try await fixture.value(heartbeat) == "f")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.running") == (isHeld ? "1" : "0"))
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == (isHeld ? "0" : "1"))
    }

    @Test func `waiting for a database ends with the task`() async throws {
        var configuration = PostgresJobQueue.Configuration(databaseURL: "postgresql://127.0.0.1:1/larder")
        configuration.maxWait = .seconds(3_600)
        let queue = PostgresJobQueue(configuration)
        await withTaskGroup(of: QueueError.Code?.self) { group in
            group.addTask {
                do throws(QueueError) {
                    try await queue.checkReady()
                    return nil
                } catch { return error.code }
            }
            group.cancelAll()
            for await code in group { #expect(code == .cancelled) }
        }
    }

    @Test func `only what certainly had no effect is repeated when repeating could do harm`() {
        let now = ContinuousClock.now
        let retrying = BackOff(maxWait: .seconds(10), now: now)
        let immediate = BackOff(maxWait: .zero, now: now)
        let unreachable = QueueError(.unreachable, "")
        let lost = QueueError(.connectionLost, "")
        let deadlock = QueueError(.refused, "", sqlState: "40P01")
        let syntax = QueueError(.refused, "", sqlState: "42601")
        #expect(retrying.allows(unreachable, .onlyUndone, now: now))
        #expect(!immediate.allows(unreachable, .harmless, now: now))
        #expect(retrying.allows(lost, .harmless, now: now))
        #expect(!retrying.allows(lost, .onlyUndone, now: now))
        #expect(immediate.allows(lost, .harmless, now: now))
        #expect(immediate.allows(deadlock, .onlyUndone, now: now))
        #expect(!retrying.allows(syntax, .harmless, now: now))
        #expect(!retrying.allows(unreachable, .harmless, now: now + .seconds(10)))
    }
}
