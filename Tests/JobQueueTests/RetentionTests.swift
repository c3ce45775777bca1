import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct RetentionTests {
    private func exists(_ table: String, in fixture: QueueFixture) async throws -> Bool {
        try await fixture.value("SELECT to_regclass('larder_data.\(table)') IS NOT NULL") == "t"
    }

    @Test func `history past its retention is deleted day by day, and then its batches`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "nothing"])
        try await fixture.queue.producer.seal(.name("batch"))
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
        try await fixture.queue.workers.maintain(force: true)
        // All of it 40 days ago.
        var days: [String] = []
        for parent in ["job_history", "job_attempt"] {
            days.append(try await fixture.addDay(parent, daysAgo: 41))
            days.append(try await fixture.addDay(parent, daysAgo: 40))
        }
        let young = try await fixture.addDay("job_history", daysAgo: 29)
        try await fixture.sql("UPDATE larder_data.job_history SET finished_at = finished_at - interval '40 days'")
        try await fixture.sql(
            "UPDATE larder_data.batch SET created_at = created_at - interval '40 days', finished_at = finished_at - interval '40 days'"
        )
        try await fixture.sql(
            """
            INSERT INTO larder_data.batch_detail SELECT id, 1, 7, 'x' FROM larder_data.batch
            """)
        try await fixture.sql("UPDATE larder_data.throughput SET at = at - interval '31 days'")

        try await fixture.queue.workers.maintain(force: true)
        #expect(
            try await fixture.value(
                "SELECT next_at < now() + interval '1 min' FROM larder.maintenance WHERE task = 'retention'") == "t")
        // One day of one table at a time, the oldest first.
        func left() async throws -> Int {
            var count = 0
            for day in days where try await exists(day, in: fixture) { count += 1 }
            return count
        }
        #expect(try await left() == 3)
        #expect(!(try await exists(days[2], in: fixture)))
        for count in [2, 1, 0] {
            try await fixture.queue.workers.maintain(force: true)
            #expect(try await left() == count)
        }
        // Records and batch are gone, whichever task came first.
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch_total") == "0")
        await #expect { try await fixture.queue.reports.progress(of: .name("batch")) } throws: {
            ($0 as? QueueError)?.code == .unknownBatch
        }
        #expect(try await exists(young, in: fixture))
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.throughput") == "0")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch_detail WHERE domain = 'x'") == "0")
        #expect(try await fixture.value("SELECT count(*) FROM larder.record") == "0")
        try await fixture.queue.workers.maintain(force: true)
        #expect(
            try await fixture.value(
                "SELECT next_at > now() + interval '1 min' FROM larder.maintenance WHERE task = 'retention'") == "t")
        try await fixture.expectSound()
    }

    @Test func `a day that is being read stays, blocks nothing else, and is dropped by a later run`() async throws {
        let fixture = try await QueueFixture.make()
        let held = try await fixture.addDay("job_history", daysAgo: 41)
        let free = try await fixture.addDay("job_attempt", daysAgo: 40)
        let reader = fixture.otherConnection()
        _ = try await reader.rows("BEGIN")
        _ = try await reader.rows("SELECT count(*) FROM larder_data.\(held)")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await exists(held, in: fixture))
        #expect(!(try await exists(free, in: fixture)))
        // While a DROP waits for the reader, and others behind it.
        try await fixture.enqueue((0..<500).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        let dropping = fixture.otherConnection()
        let waiting = """
            SELECT count(*) FROM pg_locks WHERE NOT granted AND mode = 'AccessExclusiveLock'
                AND relation = 'larder_data.\(held)'::regclass
            """
        var worked = 0
        while worked == 0 {
            async let dropped = dropping.rows("SELECT larder_data.run_task('retention')")
            for _ in 0..<100 where worked == 0 {
                guard try await fixture.value(waiting) == "1" else { continue }
                let job = try #require(try await worker.claim(upTo: 1).first)
                let stillWaits = try await fixture.value(waiting) == "1"
                #expect(try await worker.complete([Outcome(job.held, .succeeded)]).map(\.decision) == [.succeeded])
                if stillWaits { worked += 1 }
            }
            #expect(try await dropped == [["0"]])
        }
        await dropping.close()
        #expect(try await exists(held, in: fixture))
        _ = try await reader.rows("COMMIT")
        try await fixture.queue.workers.maintain(force: true)
        #expect(!(try await exists(held, in: fixture)))
    }

    /// The code that a statement fails with.
    private func sqlState(of statement: String, in fixture: QueueFixture) async -> String? {
        do throws(QueueError) {
            _ = try await fixture.otherConnection().rows(statement)
            return nil
        } catch { return error.sqlState }
    }

    @Test func `the owner detaches days concurrently, and finalizes an interrupted detach`() async throws {
        let fixture = try await QueueFixture.make()
        var days: [String] = []
        for (parent, age) in [("job_history", 42), ("job_attempt", 41), ("job_history", 41)] {
            days.append(try await fixture.addDay(parent, daysAgo: age))
        }
        let reader = fixture.otherConnection()
        _ = try await reader.rows("BEGIN")
        _ = try await reader.rows("SELECT count(*) FROM larder_data.job_history")
        // The reader holds the table, so the detach starts and cannot end until it is cancelled.
        let pending = "SELECT count(*) FROM pg_inherits WHERE inhdetachpending"
        async let broken = sqlState(
            of: "ALTER TABLE larder_data.job_history DETACH PARTITION larder_data.\(days[0]) CONCURRENTLY", in: fixture)
        try #require(await reached { try await fixture.value(pending) == "1" })
        try await fixture.sql(
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'ALTER TABLE%'"
        )
        #expect(await broken == "57014")
        _ = try await reader.rows("COMMIT")
        #expect(try await fixture.value(pending) == "1")
        try await fixture.queue.workers.maintain(.owner)
        for day in days.prefix(2) { #expect(!(try await exists(day, in: fixture)), "\(day)") }
        #expect(try await exists(days[2], in: fixture))
        // Not due again so soon.
        #expect(try await fixture.queue.workers.maintain(.owner) == 0)
        try await fixture.sql("UPDATE larder_data.maintenance SET next_at = now() WHERE task = 'vacuum'")
        #expect(try await fixture.queue.workers.maintain(.owner) == 1)
        #expect(!(try await exists(days[2], in: fixture)))
        try await fixture.expectSound()
    }

    @Test func `a detached day is dropped`() async throws {
        let fixture = try await QueueFixture.make()
        let day = try await fixture.addDay("job_attempt", daysAgo: 40)
        try await fixture.sql("ALTER TABLE larder_data.job_attempt DETACH PARTITION larder_data.\(day)")
        #expect(try await fixture.queue.workers.maintain(.owner) == 1)
        #expect(!(try await exists(day, in: fixture)))
    }

    @Test func `the owner vacuums a table with many dead rows`() async throws {
        let fixture = try await QueueFixture.make()
        // Autovacuum could come first.
        try await fixture.sql("ALTER TABLE larder_data.ready SET (autovacuum_enabled = off)")
        let crowd = fixture.otherConnection()
        _ = try await crowd.rows("INSERT INTO larder_data.ready SELECT i, i, 14, 1 FROM generate_series(1, 20001) AS i")
        _ = try await crowd.rows("DELETE FROM larder_data.ready")
        _ = try await crowd.rows("SELECT pg_stat_force_next_flush()")
        #expect(try await fixture.queue.workers.maintain(.owner) == 1)
        #expect(
            try await fixture.sql(
                "SELECT relname, last_vacuum IS NOT NULL FROM pg_stat_all_tables WHERE schemaname = 'larder_data' AND vacuum_count > 0"
            )
                == [["ready", "t"]])
    }

    @Test func `a login that is not the owner does nothing, without an error`() async throws {
        let fixture = try await QueueFixture.make()
        let day = try await fixture.addDay("job_attempt", daysAgo: 40)
        let login = try await fixture.login("larder_worker")
        #expect(try await login.workers.maintain(.owner) == 0)
        #expect(try await exists(day, in: fixture))
        #expect(
            try await fixture.value("SELECT isfinite(next_at) FROM larder_data.maintenance WHERE task = 'vacuum'")
                == "f")
    }

    @Test func `only tables named after a parent and a day are dropped`() async throws {
        let fixture = try await QueueFixture.make()
        let others = ["job_history_2020010", "job_history_20200101_old", "batch_20200101"]
        for name in others { try await fixture.sql("CREATE TABLE larder_data.\(name) (x int)") }
        #expect(try await fixture.queue.workers.maintain(.owner) == 0)
        try await fixture.queue.workers.maintain(force: true)
        for name in others { #expect(try await exists(name, in: fixture), "\(name)") }
    }
}
