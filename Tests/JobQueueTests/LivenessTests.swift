import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct LivenessTests {
    private func kill(_ worker: WorkerSession, in fixture: QueueFixture) async throws {
        try await fixture.sql(
            "UPDATE larder_data.worker SET heartbeat_at = now() - interval '16 s', lease_ms = 1 WHERE id = $1",
            [.integer(worker.id)])
    }

    @Test func `one worker drains a queue into a cache on a host, until it stops or its lease ends`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        func start(_ host: String, _ process: Int, _ cache: String?) async throws -> WorkerSession {
            try await fixture.queue.workers.start(
                WorkerDescription(
                    name: "w", host: host, processID: process, version: "test", slots: 1, cacheID: cache))
        }
        let first = try await start("a", 1, "cache")
        #expect(try await first.startDrain(of: "default") == nil)
        #expect(try await first.startDrain(of: "default") == nil, "may be repeated")
        let second = try await start("a", 2, "cache")
        #expect(try await second.startDrain(of: "default")?.processID == 1)
        for (host, process, cache) in [("b", 1, "cache"), ("a", 5, "other"), ("a", 6, nil)] {
            #expect(try await start(host, process, cache).startDrain(of: "default") == nil, "\(host) \(cache ?? "")")
        }
        await #expect { try await second.startDrain(of: "none") } throws: {
            ($0 as? QueueError)?.code == .unknownQueue
        }
        // The same process after a lost lease.
        let again = try await start("a", 1, "cache")
        #expect(try await again.startDrain(of: "default") == nil)
        try await again.stop()
        #expect(try await second.startDrain(of: "default") == nil, "the first has stopped")
        let third = try await start("a", 4, "cache")
        #expect(try await third.startDrain(of: "default")?.processID == 2)
        try await kill(second, in: fixture)
        #expect(try await third.startDrain(of: "default") == nil, "the lease of the second has ended")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.drain") == "4", "no row of an ended worker")
    }

    @Test
    func `a dead worker's jobs run again without costing an attempt, and its late outcome is refused`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        let dead = try await fixture.startWorker("dead")
        let held = try await dead.claim(upTo: 1)
        let live = try await fixture.startWorker("live")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await live.claim(upTo: 10).map(\.url) == ["http://a/2"])
        try await kill(dead, in: fixture)
        #expect(try await fixture.value("SELECT state FROM larder.worker WHERE name = 'dead'") == "lost")
        try await fixture.queue.workers.maintain(force: true)
        let job = try #require(try await live.claim(upTo: 10).first)
        #expect(job.id == held[0].id)
        #expect(job.attempt == 1)
        #expect(try await dead.complete([Outcome(held[0].held, .succeeded)]).map(\.decision) == [.stale])
        await #expect { try await dead.claim(upTo: 1) } throws: { ($0 as? QueueError)?.code == .workerLost }
        // It is still running: its heartbeat reports the lost lease, and it starts anew.
        #expect(try await dead.heartbeat().leaseExpired)
        #expect(try await dead.heartbeat().leaseExpired)
        await #expect { try await dead.claim(upTo: 1) } throws: { ($0 as? QueueError)?.code == .workerLost }
        #expect(try await fixture.startWorker("dead").claim(upTo: 1).isEmpty)
        #expect(try await live.complete([Outcome(job.held, .succeeded)]).map(\.decision) == [.succeeded])
        let rescues = try await fixture.value("SELECT rescues FROM larder_data.job_history")
        #expect(rescues == "1")
        try await fixture.expectSound()
    }

    @Test
    func `a worker that heartbeats in time keeps its jobs; a heartbeat that comes too late saves none`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        try await fixture.sql("UPDATE larder_data.worker SET heartbeat_at = now() - interval '8 s'")
        let response = try await worker.heartbeat()
        #expect(!response.leaseExpired)
        #expect(response.lease == .seconds(15))
        #expect(response.cancelled.isEmpty)
        #expect(try await fixture.value("SELECT now() - heartbeat_at < '8 s' FROM larder_data.worker") == "t")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.queue.reports.remaining().hasRunning)
        try await kill(worker, in: fixture)
        #expect(try await worker.heartbeat().leaseExpired)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.startWorker().claim(upTo: 1).map(\.id) == [job.id])
        await #expect { try await fixture.sql("UPDATE larder_data.settings SET lease_ms = 9999") } throws: {
            ($0 as? QueueError)?.sqlState == "23514"
        }
    }

    @Test func `the error of a failed maintenance task is thrown and recorded, and the other tasks run`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        try await fixture.queue.producer.seal(.name("batch"))
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 1)
        _ = try await worker.complete([Outcome(jobs[0].held, .succeeded)])
        _ = try await worker.claim(upTo: 1)
        try await kill(worker, in: fixture)
        let body = "() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1 / 0; END $$"
        for task in ["promote", "counts"] {
            try await fixture.sql("CREATE OR REPLACE FUNCTION larder_data.maintenance_\(task)\(body)")
        }
        await #expect { try await fixture.queue.workers.maintain(force: true) } throws: {
            ($0 as? QueueError)?.sqlState == "22012"
        }
        let failed = try await fixture.sql(
            "SELECT task, last_error, now() - failed_at < '1 min' FROM larder.maintenance WHERE failed_at IS NOT NULL")
        #expect(
            failed == [["promote", "22012: division by zero", "t"], ["counts", "22012: division by zero", "t"]])
        let next = try await fixture.startWorker()
        let rescued = try #require(try await next.claim(upTo: 1).first)
        _ = try await next.complete([Outcome(rescued.held, .succeeded)])
        await #expect(throws: QueueError.self) { try await fixture.queue.workers.maintain(force: true) }
        #expect(try await fixture.value("SELECT finished_at IS NOT NULL FROM larder_data.batch") == "t")
        for task in ["promote", "counts"] {
            try await fixture.sql(
                "CREATE OR REPLACE FUNCTION larder_data.maintenance_\(task)() RETURNS int LANGUAGE sql AS 'SELECT 0'")
        }
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder.maintenance WHERE last_error IS NOT NULL") == "0")
    }

    @Test
    func `heartbeats go on while maintenance is stuck behind a lock, and the other tasks are done`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1"]) { $0.start = .after(.seconds(3_600)) }
        try await fixture.sql("UPDATE larder_data.scheduled SET run_at = now()")
        let worker = try await fixture.startWorker()
        // For longer than the 2 s of every queue, so that a busy machine sees it wait.
        try await fixture.sql("ALTER FUNCTION larder.maintain(boolean, text) SET lock_timeout = '8s'")
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        _ = try await holder.rows("LOCK TABLE larder_data.blocklist IN ACCESS EXCLUSIVE MODE")
        async let stuck = fixture.maintenanceFailure()
        try await fixture.waitUntilSomebodyWaits()
        #expect(try await worker.heartbeat().leaseExpired == false)
        #expect(try await stuck == "55P03")
        _ = try await holder.rows("ROLLBACK")
        #expect(try await worker.claim(upTo: 1).count == 1)
        #expect(try await fixture.value("SELECT task FROM larder.maintenance WHERE failed_at IS NOT NULL") == "purge")
    }

    @Test func `a job whose worker is lost five times is suspended, and its batch stays open`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1"])
        try await fixture.queue.producer.seal(.name("batch"))
        for _ in 1...5 {
            let worker = try await fixture.startWorker()
            #expect(try await worker.claim(upTo: 1).count == 1)
            try await kill(worker, in: fixture)
            try await fixture.queue.workers.maintain(force: true)
            try await fixture.expectSound()
        }
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 1).isEmpty)
        let batch = try await fixture.queue.reports.progress(of: .name("batch"))
        let remaining = try await fixture.queue.reports.remaining(of: batch.id)
        #expect(remaining.hasSuspended)
        #expect(remaining.isDrained)
        #expect(batch.open == 1)
        #expect(batch.state == .sealed)
        try await fixture.expectSound()
    }

    @Test func `a job that an operator cancelled is named by the next heartbeat, and not tried again`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        try await fixture.sql("UPDATE larder_data.job SET cancelled_at = now() WHERE id = $1", [.integer(jobs[1].id)])
        #expect(try await worker.heartbeat().cancelled == [jobs[1].held])
        #expect(try await worker.complete([.unavailable(jobs[1].held)]).map(\.decision) == [.cancelled])
    }

    @Test func `a session that the server ends costs a claim, a complete and a heartbeat nothing`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue((0..<10).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        func breakAll() async throws {
            try await fixture.sql(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        }
        let first = try await worker.claim(upTo: 3)
        _ = try await worker.heartbeat()
        try await breakAll()
        let second = try await worker.claim(upTo: 3)
        #expect(first.count == 3)
        #expect(second.count == 3)
        #expect(Set(first.map(\.id)).isDisjoint(with: second.map(\.id)))
        try await breakAll()
        _ = try await worker.heartbeat()
        let completed = try await worker.complete((first + second).map { Outcome($0.held, .succeeded) })
        #expect(completed.allSatisfy { $0.decision == .succeeded })
        try await breakAll()
        // Found broken before anything was sent: an enqueue succeeds as well.
        #expect(try await fixture.enqueue(["http://b/1"]).map(\.kind) == [.inserted])
        try await fixture.expectSound()
    }

    // Without a pooler between: pgbouncer gives every refusal the code of a broken protocol, 08P01, which may pass.
    @Test func `a login or a database that the server refuses is final and comes with its code`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        func failure(_ word: String, _ other: String) async throws -> QueueError? {
            var configuration = fixture.configuration
            configuration.databaseURL = fixture.database.directURL.replacing(word, with: other)
            configuration.maxWait = .seconds(3_600)
            do {
                try await PostgresJobQueue(configuration).checkReady()
                return nil
            } catch { return error }
        }
        let name = try #require(try await fixture.value("SELECT current_database()"))
        let role = try #require(try await fixture.value("SELECT current_user"))
        let database = try await failure("/\(name)", "/nowhere")
        #expect(database?.code == .loginRefused)
        #expect(database?.sqlState == "3D000")
        #expect(database?.isTransient == false)
        let login = try await failure("user=\(role)", "user=nobody_of_that_name")
        #expect(login?.code == .loginRefused)
        #expect(login?.sqlState?.hasPrefix("28") == true)
        #expect(login?.isTransient == false)
    }

    @Test func `a connection's failure is final only when every attempt ended with a code that says so`() {
        let socket = "connection to server on socket \"/s/.s.PGSQL.5432\" failed:"
        #expect(ConnectRefusal.judge("\(socket) FATAL:  28P01\n") == .final(sqlState: "28P01"))
        #expect(ConnectRefusal.judge("\(socket) FATAL:  28000\n\(socket) FATAL:  3D000\n") == .final(sqlState: "3D000"))
        #expect(ConnectRefusal.judge("\(socket) FATAL:  53300\n") == .passing)
        #expect(ConnectRefusal.judge("\(socket) FATAL:  57P03\n") == .passing)
        #expect(ConnectRefusal.judge("\(socket) FATAL:  28000\n\(socket) Connection refused\n") == .passing)
        #expect(ConnectRefusal.judge("") == .passing)
    }

    @Test func `an unreachable database is one line that names the place and never the password`() async throws {
        func failure(_ url: String) async -> QueueError? {
            do {
                try await PostgresJobQueue(PostgresJobQueue.Configuration(databaseURL: url)).checkReady()
                return nil
            } catch { return error }
        }
        let socket = await failure("postgresql://me:s3cret@/larder?host=/nonexistent&port=6543")
        #expect(socket?.code == .unreachable)
        #expect(socket?.message.contains("/nonexistent/.s.PGSQL.6543") == true)
        let tcp = await failure("postgresql://me:s3cret@127.0.0.1:1/larder")
        #expect(tcp?.code == .unreachable)
        #expect(tcp?.message.contains("127.0.0.1:1") == true)
        let bad = await failure("postgresql://me:s3cret@[broken/larder")
        #expect(bad?.code == .badDatabaseURL)
        #expect(await failure("larder")?.code == .badDatabaseURL)
        for error in [socket, tcp, bad] {
            #expect(error?.description.contains("s3cret") == false)
            #expect(error?.message.contains("\n") == false)
        }
    }
}
