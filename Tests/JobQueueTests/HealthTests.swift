import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct HealthTests {
    /// The kinds of findings, each once; each has a hint.
    private func found(_ fixture: QueueFixture) async throws -> Set<String> {
        let findings = try await fixture.queue.reports.health()
        for finding in findings { #expect(!finding.hint.isEmpty, "\(finding.what)") }
        return Set(findings.map(\.what))
    }

    @Test func `a new database is healthy, and so is one with work`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        #expect(try await found(fixture).isEmpty)
        try await fixture.enqueue(["http://a/1"])
        _ = try await fixture.startWorker()
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await found(fixture).isEmpty)
    }

    @Test func `a database that no worker has used yet has no late maintenance`() async throws {
        let fixture = try await QueueFixture.make()
        let late = try await fixture.queue.reports.gauges().filter { $0.metric == "maintenance_late" }
        #expect(late.allSatisfy { $0.value < 3_600 }, "\(late)")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.queue.reports.gauges().contains { $0.metric == "maintenance_late" })
    }

    @Test func `work without a worker and late maintenance are found, and gone once a worker is there`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1"])
        #expect(try await found(fixture) == ["jobs are ready and no worker is live", "maintenance is late"])
        _ = try await fixture.startWorker()
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await found(fixture).isEmpty)
        try await fixture.sql("UPDATE larder_data.worker SET heartbeat_at = now() - interval '1 min'")
        try await fixture.sql("UPDATE larder_data.maintenance SET next_at = now() - interval '11 h'")
        let findings = try await fixture.queue.reports.health()
        #expect(
            findings.map(\.what) == [
                "jobs are ready and no worker is live", "maintenance is late", "workers were lost",
            ])
        #expect(
            findings.first { $0.what == "maintenance is late" }?.detail.hasPrefix(
                "running the jobs of lost workers again (") == true)
        try await fixture.sql("UPDATE larder_data.queue SET paused_at = now()")
        #expect(try await found(fixture) == ["maintenance is late", "a queue is paused", "workers were lost"])
    }

    @Test func `ready jobs that live workers do not claim are found, with the queue's name`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        let worker = try await fixture.startWorker()
        let what = "jobs are ready and no worker claims them"
        #expect(try await !found(fixture).contains(what), "the jobs are new")
        try await fixture.sql("UPDATE larder_data.job SET created_at = created_at - interval '1000 s'")
        // The counts that a producer moves say nothing about workers.
        try await fixture.queue.workers.maintain(force: true)
        let finding = try #require(try await fixture.queue.reports.health().first { $0.what == what })
        #expect(finding.severity == .warning)
        #expect(finding.detail.hasPrefix("queue default, for 1"))
        let job = try await worker.claim(upTo: 1)[0]
        #expect(try await !found(fixture).contains(what), "a job runs")
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.sql("UPDATE larder_data.batch_total SET worked_at = worked_at + interval '1000 s'")
        #expect(try await !found(fixture).contains(what), "a job has just ended")
        try await fixture.sql("UPDATE larder_data.batch_total SET worked_at = worked_at - interval '2000 s'")
        #expect(try await found(fixture).contains(what))
    }

    @Test func `workers of other queues do not make a queue look served`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.sql("SELECT larder.queue_set('images')")
        try await fixture.sql("SELECT FROM larder.enqueue('http://a/1', queue => 'images')")
        func start(_ queue: String?) async throws {
            _ = try await fixture.queue.workers.start(
                WorkerDescription(name: "w", host: "test", processID: 1, version: "1", slots: 1, queue: queue))
        }
        let live = "SELECT queue, live_workers FROM larder.queue ORDER BY queue"
        try await start("default")
        #expect(try await fixture.sql(live) == [["default", "1"], ["images", "0"]])
        let finding = try #require(
            try await fixture.queue.reports.health().first { $0.what == "jobs are ready and no worker is live" })
        #expect(finding.detail.hasPrefix("queue images, for "))
        #expect(finding.hint == "start a worker of this queue: larder work --queue images")
        try await start("images")
        try await start(nil)
        #expect(try await fixture.sql(live) == [["default", "2"], ["images", "2"]])
        #expect(try await !found(fixture).contains("jobs are ready and no worker is live"))
        let queues = "SELECT queue FROM larder.worker ORDER BY queue"
        #expect(try await fixture.sql(queues) == [["default"], ["images"], [nil]])
        let gauge = "SELECT value FROM larder.gauges_v1() WHERE metric = 'workers'"
        #expect(try await fixture.value(gauge) == "3")
    }

    @Test func `a task that fails comes first, with its error`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.sql("UPDATE larder_data.queue SET paused_at = now()")
        try await fixture.sql(
            "CREATE OR REPLACE FUNCTION larder_data.maintenance_purge() RETURNS int LANGUAGE sql AS 'SELECT 1 / 0'")
        #expect(try await fixture.maintenanceFailure() == "22012")
        let findings = try await fixture.queue.reports.health()
        try #require(findings.map(\.severity) == [.error, .info])
        #expect(findings[0].what == "maintenance task fails")
        #expect(findings[0].detail.contains("purge"))
        #expect(findings[0].detail.contains("22012"))
    }

    @Test func `a session that blocks vacuum is named`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.sql("UPDATE larder_data.settings SET held_after = '0 s'")
        let holder = fixture.otherConnection()
        _ = try await holder.rows("SET application_name = 'the holder'")
        _ = try await holder.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        let pid = try #require(try await holder.rows("SELECT pg_backend_pid()::text").first?[0])
        let finding = try #require(
            try await fixture.queue.reports.health().first { $0.detail.contains("the holder") })
        #expect(finding.what == "a transaction holds vacuum back")
        #expect(finding.severity == .warning)
        #expect(finding.detail.contains("pid \(pid),"))
        #expect(finding.detail.contains("idle in transaction"))
        _ = try await holder.rows("COMMIT")
        #expect(!(try await fixture.queue.reports.health().contains { $0.detail.contains("the holder") }))
    }

    @Test func `a login that cannot see other sessions gets a finding`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        let reader = fixture.otherConnection()
        _ = try await reader.rows("SET ROLE larder_reader")
        let rows = try await reader.rows("SELECT severity, what FROM larder.health")
        #expect(rows == [["info", "transactions of other sessions are not visible"]])
    }

    @Test func `dead rows in a hot table, and autovacuum switched off for one`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.sql("ALTER TABLE larder_data.ready SET (autovacuum_enabled = off)")
        let crowd = fixture.otherConnection()
        _ = try await crowd.rows("INSERT INTO larder_data.ready SELECT i, i, 14, 1 FROM generate_series(1, 50001) AS i")
        _ = try await crowd.rows("DELETE FROM larder_data.ready")
        _ = try await crowd.rows("SELECT pg_stat_force_next_flush()")
        let findings = try await fixture.queue.reports.health()
        #expect(findings.map(\.what) == ["autovacuum is off", "dead rows pile up"])
        #expect(findings.last?.detail == "50001 in ready")
    }

    @Test func `days of history are missing ahead, or still there`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.sql(
            """
            DO $$ DECLARE part regclass; BEGIN
                FOR part IN SELECT inhrelid::regclass FROM pg_inherits WHERE inhparent = 'larder_data.job_attempt'::regclass
                    AND right(inhrelid::regclass::text, 8) > to_char(now() AT TIME ZONE 'UTC' + interval '1 day', 'YYYYMMDD')
                LOOP EXECUTE 'DROP TABLE ' || part; END LOOP;
            END $$
            """)
        let short = try await fixture.queue.reports.health()
        #expect(short.map(\.what) == ["too few partitions ahead"])
        #expect(short.first?.detail.hasPrefix("job_attempt has days from ") == true)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await found(fixture).isEmpty)
        try await fixture.addDay("job_history", daysAgo: 40)
        #expect(try await found(fixture) == ["history is kept too long"])
    }

    @Test func `a worker's own fault is shown until it is over, or the worker has stopped`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        let worker = try await fixture.startWorker("sick")
        try await worker.report(fault: "the disk is full")
        try await worker.report(fault: "no interface has a route")
        let findings = try await fixture.queue.reports.health()
        #expect(findings.map(\.what) == ["a worker has a fault of its own"])
        #expect(findings.first?.detail.hasPrefix("sick on test, since ") == true)
        #expect(findings.first?.detail.hasSuffix(": no interface has a route") == true)
        try await worker.report(fault: nil)
        #expect(try await found(fixture).isEmpty)
        try await worker.report(fault: "the disk is full")
        try await worker.stop()
        #expect(try await found(fixture).isEmpty)
        try await fixture.startWorker("healthy").report(fault: nil)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.worker_fault") == "0")
    }

    @Test func `a fault that is reported behind a completion leaves it durable`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = fixture.otherConnection()
        for (before, setting) in [("pg_current_xact_id()", "on"), ("1", "off")] {
            _ = try await worker.rows("BEGIN")
            _ = try await worker.rows("SET LOCAL synchronous_commit = on")
            _ = try await worker.rows("SELECT \(before)::text, larder.worker_fault_v1(1, 'no disk')")
            #expect(try await worker.rows("SHOW synchronous_commit") == [[setting]])
            _ = try await worker.rows("ROLLBACK")
        }
        await worker.close()
    }

    @Test func `suspended jobs, counts that fail or wait, no vacuum and a large blocklist`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.sql("INSERT INTO larder_data.suspended (job_id, reason) VALUES (1, 'crashed'), (2, 'paused')")
        let suspended = try await fixture.queue.reports.health()
        try #require(suspended.map(\.what) == ["jobs have crashed"])
        #expect(suspended[0].detail.hasPrefix("1,"))
        try await fixture.sql("DELETE FROM larder_data.suspended")
        let entries = """
            INSERT INTO larder_data.batch_delta (batch_id, failed, code, domain)
            SELECT 1, 1, 1, 'x' FROM generate_series
            """
        try await fixture.sql(entries + "(1, 100000)")
        #expect(try await found(fixture).isEmpty)
        try await fixture.sql(entries + "(1, 1)")
        #expect(try await found(fixture) == ["progress is slow"])
        try await fixture.sql("TRUNCATE larder_data.batch_delta")
        try await fixture.sql("INSERT INTO larder_data.batch_fault (batch_id, error) VALUES (7, '22003: out of range')")
        let fault = try #require(try await fixture.queue.reports.health().first)
        #expect(fault.what == "the counts of a batch cannot be added up")
        #expect(fault.detail.hasPrefix("batch 7, "))
        try await fixture.sql("DELETE FROM larder_data.batch_fault")
        try await fixture.sql("UPDATE pg_class SET reltuples = 2000000 WHERE oid = 'larder_data.blocklist'::regclass")
        #expect(try await found(fixture) == ["the blocklist is large"])
        try await fixture.sql("UPDATE pg_class SET reltuples = 0 WHERE oid = 'larder_data.blocklist'::regclass")
        _ = try await fixture.startWorker()
        try await fixture.sql("UPDATE larder_data.worker SET started_at = now() - interval '6 min'")
        #expect(try await found(fixture) == ["no worker runs vacuum"])
        try await fixture.queue.workers.maintain(.owner)
        #expect(try await found(fixture).isEmpty)
    }
}

extension QueueFixture {
    /// A day of a history table as it was made so many days ago; its name.
    @discardableResult
    func addDay(_ parent: String, daysAgo: Int) async throws -> String {
        let name =
            try await value(
                "SELECT '\(parent)_' || to_char(now() AT TIME ZONE 'UTC' - \(daysAgo) * interval '1 day', 'YYYYMMDD')")
            ?? ""
        try await sql(
            """
            DO $$ DECLARE day date := (now() AT TIME ZONE 'UTC')::date - \(daysAgo); BEGIN
                EXECUTE format('CREATE TABLE larder_data.%I PARTITION OF larder_data.\(parent) FOR VALUES FROM (%L) TO (%L)',
                    '\(name)', day || ' 00:00+00', day + 1 || ' 00:00+00');
            END $$
            """)
        return name
    }
}
