import Concurrency
import Foundation
import Glibc
import TestSupport
import Testing

@testable import JobQueue

/// Faults of a database as its callers see them, except the loss of committed data.
@Suite(.timeLimit(.minutes(5)))
struct DatabaseFaultTests {
    /// A statement of the queue that waits for a lock on a table after it has changed rows.
    enum Verb: String, CaseIterable {
        case enqueue, claim, complete, release, heartbeat, cancel, retry

        /// Where it waits.
        var table: String {
            switch self {
            case .enqueue, .cancel: "larder_data.batch_delta"
            case .claim, .complete, .release: "larder_data.running"
            case .heartbeat: "larder_data.settings"
            case .retry: "larder_data.job_item"
            }
        }
    }

    @Test(arguments: Verb.allCases)
    func `a statement whose session is killed in mid work is done once, or not at all`(verb: Verb) async throws {
        let fixture = try await QueueFixture.make()
        let queue = PostgresJobQueue(fixture.patientConfiguration)
        try await fixture.enqueue(["http://a/1", "http://a/2", "http://a/3"])
        let worker = try await queue.workers.start(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "1", slots: 3))
        let jobs = try await worker.claim(upTo: 2)
        _ = try await worker.complete([Outcome(jobs[0].held, .failed(.notAnImage))])
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        _ = try await holder.rows("LOCK TABLE \(verb.table) IN ACCESS EXCLUSIVE MODE")
        async let answer = Self.act(verb, queue, worker, jobs[1].held)
        var killed = "0"
        while killed == "0" {
            try await fixture.waitUntilSomebodyWaits()
            killed =
                try await fixture.value(
                    """
                    SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
                    WHERE datname = current_database() AND wait_event_type = 'Lock'
                    """) ?? "0"
        }
        _ = try await holder.rows("ROLLBACK")
        #expect(try await answer == (verb == .enqueue ? "connectionLost" : "done"))
        try await fixture.expectSound()
        let state = try await fixture.value(
            """
            SELECT concat_ws(' ', (SELECT count(*) FROM larder_data.ready), (SELECT count(*) FROM larder_data.running),
                (SELECT count(*) FROM larder_data.job_history h WHERE NOT larder_data.is_item(h.job_id)),
                (SELECT total || ' ' || open || ' ' || failed FROM larder.progress))
            """)
        // Ready, running, records; total, open and failed items.
        let expected =
            switch verb {
            case .enqueue, .heartbeat: "1 1 1 3 2 1"
            case .claim: "0 2 1 3 2 1"
            case .complete: "1 0 2 3 1 1"
            case .release: "2 0 1 3 2 1"
            case .cancel: "0 1 2 3 0 1"
            case .retry: "2 1 1 3 3 0"
            }
        #expect(state == expected)
        await queue.close()
    }

    private static func act(
        _ verb: Verb, _ queue: PostgresJobQueue, _ worker: WorkerSession, _ held: Claim
    ) async throws -> String {
        do throws(QueueError) {
            switch verb {
            case .enqueue: _ = try await queue.producer.enqueue(EnqueueRequest(urls: ["http://a/4"], batch: "batch"))
            case .claim: _ = try await worker.claim(upTo: 1)
            case .complete:
                var completed = try await worker.complete([Outcome(held, .succeeded)])
                while completed[0].decision == .busy {
                    completed = try await worker.complete([Outcome(held, .succeeded)])
                }
            case .release: try await worker.release([held])
            case .heartbeat: _ = try await worker.heartbeat()
            case .cancel: try await queue.producer.cancel(.name("batch"))
            case .retry: try await queue.producer.retryFailed(of: .name("batch"))
            }
            return "done"
        } catch { return "\(error.code)" }
    }

    @Test func `an old snapshot's 50,000 dead rows cost claims no reads`() async throws {
        let fixture = try await QueueFixture.make()
        for part in 0..<5 {
            try await fixture.enqueue((0..<10_000).map { "http://a/\(part)/\($0)" })
        }
        try await fixture.enqueue((0..<30).map { "http://live/\($0)" })
        let reader = fixture.otherConnection()
        _ = try await reader.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await reader.rows("SELECT count(*) FROM larder_data.ready")
        try await fixture.sql(
            """
            WITH gone AS (
                DELETE FROM larder_data.ready r WHERE r.job_id IN (SELECT j.id FROM larder_data.job j WHERE j.url LIKE 'http://a/%') RETURNING r.job_id
            ) INSERT INTO larder_data.scheduled (run_at, job_id) SELECT now() + interval '1 day', g.job_id FROM gone g
            """)
        try await fixture.expectSound()
        let worker = try await fixture.startWorker()
        // One session, past any pooler, whose counts are read.
        let session = Connection(.init(databaseURL: fixture.database.directURL), name: "test-claims")
        // Of the table and its indexes alone: the session reads its catalogs again whenever the server asks for it.
        let fetched = """
            SELECT sum(pg_stat_get_xact_blocks_fetched(f.oid)) FROM (
                SELECT 'larder_data.ready'::regclass AS oid UNION ALL
                SELECT i.indexrelid FROM pg_index i WHERE i.indrelid = 'larder_data.ready'::regclass) AS f
            """
        /// The pages of `ready` that a claim reads, and the jobs it gets.
        func claim(_ number: Int) async throws -> (pages: Int, jobs: Int) {
            func count() async throws -> Int { Int(try await session.rows(fetched).first?[0] ?? "") ?? -1 }
            _ = try await session.rows("BEGIN")
            let before = try await count()
            let jobs = try await session.rows("SELECT FROM larder.claim_v1(\(worker.id), \(number), 10)").count
            let after = try await count()
            _ = try await session.rows("COMMIT")
            return (after - before, jobs)
        }
        // Without a cursor a claim reads all of them.
        let blind = try await claim(1)
        #expect(blind.jobs == 10, "\(blind)")
        #expect(blind.pages > 300, "\(blind)")
        try await fixture.queue.workers.maintain(.urgent, force: true)
        // This machine may stand still.
        try await fixture.sql("UPDATE larder_data.claim_cursor SET valid_until = 'infinity'")
        let seeing = try await claim(2)
        #expect(seeing.jobs == 10, "\(seeing), not \(blind)")
        #expect((1..<blind.pages / 3).contains(seeing.pages), "\(seeing), not \(blind)")
        // Cursors hide nothing: what is left comes at once, also what was released.
        let held = try await fixture.sql("SELECT job_id, claim_no FROM larder_data.running WHERE claim_no = 1")
        try await worker.release(
            held.compactMap { row in
                guard let job = row[0].flatMap({ Int64($0) }) else { return nil }
                return Claim(job: job, number: 1)
            })
        #expect(try await claim(3).jobs == 10)
        #expect(try await claim(4).jobs == 10)
        #expect(try await claim(5).jobs == 0)
        _ = try await reader.rows("ROLLBACK")
    }

    @Test(arguments: ["repeatable read", "serializable"])
    func `under another default isolation level all is done once`(level: String) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.alterDatabase("default_transaction_isolation", level)
        try await fixture.endSessions()
        #expect(try await fixture.value("SHOW transaction_isolation") == level)
        let calling = fixture.patientConfiguration
        let observer = fixture.otherConnection()
        let waiting = """
            SELECT (SELECT count(*) FROM larder_data.ready) + (SELECT count(*) FROM larder_data.job_item)
            """
        try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<4 {
                group.addTask {
                    let queue = PostgresJobQueue(calling)
                    for round in 0..<5 {
                        let urls = (0..<20).map { "http://host/\(round)/\($0)" }
                        _ = try await queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "batch \(index)"))
                    }
                    let worker = try await queue.workers.start(
                        WorkerDescription(name: "w", host: "test", processID: 1, version: "1", slots: 10))
                    var ended = 0
                    while true {
                        let jobs = try await worker.claim(upTo: 5)
                        if jobs.isEmpty {
                            if try await observer.repeating(waiting) == [["0"]] { return ended }
                            // A job that was committed late may lie below the floor, and what joined waits for
                            // maintenance.
                            try await queue.workers.maintain(force: true)
                        }
                        ended += try await worker.completeAll(jobs.map { Outcome($0.held, .succeeded) })
                            .filter { $0.decision == .succeeded }.count
                        try await queue.workers.maintain(force: false)
                    }
                }
            }
            let ended = try await group.reduce(0, +)
            let records = "SELECT count(*) FROM larder_data.job_history WHERE NOT larder_data.is_item(job_id)"
            #expect(try await fixture.value(records) == "\(ended)")
        }
        let progress = try await fixture.queue.reports.progress()
        #expect(progress.count == 4)
        #expect(progress.allSatisfy { $0.total == 100 && $0.succeeded == 100 })
        try await fixture.expectSound()
    }

    @Test func `a server that takes no writes for a while costs only time`() async throws {
        let fixture = try await QueueFixture.make()
        let queue = PostgresJobQueue(fixture.patientConfiguration)
        let worker = try await queue.workers.start(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "1", slots: 1))
        try await fixture.alterDatabase("default_transaction_read_only", "on")
        try await fixture.endSessions()
        await #expect { _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: ["http://a/1"])) } throws: {
            ($0 as? QueueError)?.sqlState == "25006" && ($0 as? QueueError)?.isTransient == true
        }
        // Nothing was done, so even an enqueue may wait and be sent again.
        async let enqueued = queue.producer.enqueue(EnqueueRequest(urls: ["http://a/1"], batch: "batch"))
        async let claimed = worker.claim(upTo: 1)
        let refusals = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        func refused() async throws -> Int { try await fixture.value(refusals).flatMap { Int($0) } ?? 0 }
        let before = try await refused()
        try #require(await reached { try await refused() >= before + 4 })
        // Sessions remember the default they began with: only a new one finds the server that writes.
        try await fixture.sql("BEGIN READ WRITE")
        try await fixture.sql(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = off', current_database()); END $$"
        )
        try await fixture.sql("COMMIT")
        // A pooler keeps its sessions when its clients go.
        if TemporaryDatabase.isPooled { try await fixture.endSessions() }
        #expect(try await enqueued.map(\.kind) == [.inserted])
        var jobs = try await claimed
        while jobs.isEmpty { jobs = try await worker.claim(upTo: 1) }
        #expect(try await worker.complete([Outcome(jobs[0].held, .succeeded)]).map(\.decision) == [.succeeded])
        try await fixture.expectSound()
        await queue.close()
    }

    /// Drops the partitions, as if none had been created for weeks.
    private func sleepForWeeks(_ fixture: QueueFixture) async throws {
        try await fixture.sql(
            """
            DO $$ DECLARE part regclass; BEGIN
                FOR part IN SELECT i.inhrelid::regclass FROM pg_inherits i
                    WHERE i.inhparent IN ('larder_data.job_history'::regclass, 'larder_data.job_attempt'::regclass)
                LOOP EXECUTE format('DROP TABLE %s', part); END LOOP;
            END $$
            """)
        let left = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'larder_data.job_history'::regclass"
        #expect(try await fixture.value(left) == "0")
    }

    @Test func `a producer that stays open keeps no worker from creating the day's partitions`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        try await sleepForWeeks(fixture)
        let holder = fixture.otherConnection()
        for statement in ["BEGIN", "SELECT FROM larder.enqueue('http://a/2', batch => 'open')"] {
            _ = try await holder.rows(statement)
        }
        #expect(try await worker.complete([Outcome(job.held, .succeeded)]).map(\.decision) == [.succeeded])
        _ = try await holder.rows("COMMIT")
        await holder.close()
        try await fixture.expectSound()
    }

    @Test func `a transaction that creates the day's partitions and stays open is named`() async throws {
        let fixture = try await QueueFixture.make()
        try await sleepForWeeks(fixture)
        let holder = fixture.otherConnection()
        // An invalid URL ends at once, and its record needs the day's partition.
        for statement in ["BEGIN", "SELECT FROM larder.enqueue('nothing', batch => 'open')"] {
            _ = try await holder.rows(statement)
        }
        await #expect { _ = try await fixture.startWorker() } throws: {
            let error = $0 as? QueueError
            return error?.code == .locked
                && error?.message.contains("the table of today's records is locked by") == true
        }
        _ = try await holder.rows("COMMIT")
        await holder.close()
        _ = try await fixture.startWorker()
        try await fixture.expectSound()
    }

    @Test func `at midnight the first call creates the day's partitions`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        func sleepForWeeks() async throws { try await self.sleepForWeeks(fixture) }
        try await sleepForWeeks()
        #expect(try await worker.complete([.unavailable(jobs[0].held)]).first?.decision.name == "retried")
        try await sleepForWeeks()
        #expect(try await worker.complete([Outcome(jobs[1].held, .succeeded)]).map(\.decision) == [.succeeded])
        try await fixture.expectSound()
        try await sleepForWeeks()
        #expect(try await fixture.enqueue(["nothing"], batch: "next").map(\.kind) == [.invalid])
        try await sleepForWeeks()
        _ = try await fixture.queue.producer.cancel(.name("next"))
        #expect(try await fixture.enqueue(["http://a/3"], batch: "third").map(\.kind) == [.inserted])
        #expect(try await fixture.queue.producer.cancel(.name("third")) == 1)
        let today =
            "SELECT to_regclass('larder_data.job_history_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NOT NULL"
        #expect(try await fixture.value(today) == "t")
    }
}
