import TestSupport
import Testing

@testable import JobQueue

/// Findings of an outside review of the schema: no caller waits for another one's transaction, cost does not grow with
/// what is over, and nothing is forgotten.
@Suite(.timeLimit(.minutes(5)))
struct ReviewTests {
    @Test func `the first default enqueue of a day stalls no other one, with another URL`() async throws {
        let fixture = try await QueueFixture.make()
        // The day before ended without maintenance, which opens them ahead.
        try await fixture.sql("UPDATE larder_data.batch SET name = name || ' before' WHERE daily IS NOT NULL")
        let first = fixture.otherConnection()
        _ = try await first.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await first.rows("SELECT FROM larder.enqueue('http://a/1')")
        try await fixture.sql("SET statement_timeout = '60 s'")
        #expect(try await fixture.answers(of: "enqueue('http://b/2')") == ["inserted"])
        _ = try await first.rows("COMMIT")
        await first.close()
        #expect(try await fixture.sql("SELECT total FROM larder.progress WHERE total > 0") == [["1"], ["1"]])
        try await fixture.expectServing()
    }

    @Test func `the default batches of tomorrow are there ahead in queues that use them`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT larder.queue_set('second')")
        for queue in ["default", "second"] {
            try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', queue => '\(queue)')")
        }
        try await fixture.sql("SELECT FROM larder.maintain(true)")
        let open = """
            SELECT count(*) FROM larder_data.batch
            WHERE daily - (now() AT TIME ZONE 'UTC')::date IN (0, 1) AND sealed_at IS NULL
            """
        #expect(try await fixture.value(open) == "4")
    }

    @Test func `another producer of a new batch's name is told who holds it`() async throws {
        let fixture = try await QueueFixture.make()
        let first = fixture.otherConnection()
        _ = try await first.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await first.rows("SELECT FROM larder.enqueue('http://a/1', batch => 'new')")
        #expect(try await fixture.refusal(of: "SELECT larder.enqueue('http://b/1', batch => 'new')") == "LA010")
        #expect(try await fixture.answers(of: "enqueue('http://b/1', batch => 'other')") == ["inserted"])
        _ = try await first.rows("COMMIT")
        await first.close()
        #expect(try await fixture.answers(of: "enqueue('http://b/2', batch => 'new')") == ["inserted"])
    }

    @Test func `the tables of history are there for a month without a worker`() async throws {
        let fixture = try await QueueFixture.make()
        for table in ["job_history", "job_attempt"] {
            let last =
                "to_regclass('larder_data.\(table)_' || to_char(now() AT TIME ZONE 'UTC' + interval '34 days', 'YYYYMMDD'))"
            #expect(try await fixture.value("SELECT \(last)") != nil, "\(table)")
        }
    }

    @Test func `a completion reads as much with 2,000 cancelled batches as with one`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql(
            "SELECT FROM larder.enqueue_many(ARRAY(SELECT 'http://h/' || i FROM generate_series(1, 192) AS i), batch => 'b')"
        )
        let worker = try await fixture.workerBySQL()
        var pages: [Int] = []
        for (claim, cancelled) in [(1, 1), (2, 0), (3, 1_999)] {
            let jobs = try await fixture.claimBySQL(worker, claim, upTo: 64)
            try await fixture.sql(
                """
                INSERT INTO larder_data.batch (name, queue_id, sealed_at, cancelled_at)
                SELECT 'cancelled ' || i, 1, now(), now() FROM generate_series(\(claim), \(claim + cancelled) - 1) AS i
                """)
            try await fixture.sql("BEGIN ISOLATION LEVEL READ COMMITTED")
            let before = try await fixture.pagesRead()
            #expect(try await fixture.completeBySQL(worker, claim, jobs).count == 64)
            pages.append(try await fixture.pagesRead() - before)
            try await fixture.sql("COMMIT")
        }
        #expect(pages[2] < pages[1] + 200, "\(pages)")
    }

    @Test func `a batch that joined a job, and one that was answered fresh, list its files`() async throws {
        let fixture = try await QueueFixture.make()
        for batch in ["v1", "v2"] {
            try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => '\(batch)')")
        }
        let worker = try #require(
            try await fixture.value("SELECT worker_id FROM larder.worker_start_v1('w', 'h', 1, 'v', 8, 'cache')"))
        let jobs = try await fixture.claimBySQL(worker, 1)
        let stored = #""result": "succeeded", "stored": [{"path": "p", "key": "k"}]"#
        #expect(try await fixture.completeBySQL(worker, 1, jobs, stored) == ["succeeded"])
        let fresh = "enqueue('http://h/1', batch => 'v3', fresh_for => '1 h', cache_id => 'cache')"
        #expect(try await fixture.answers(of: fresh) == ["fresh"])
        try await fixture.expectServing()
        let files = "SELECT batch, path, job_id FROM larder.stored_file ORDER BY batch"
        #expect(try await fixture.sql(files) == ["v1", "v2", "v3"].map { [$0, "p", jobs[0]] })
    }

    @Test func `waiting without a timeout sleeps, and ends with its client`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'b')")
        try await fixture.sql(
            "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET client_min_messages = error', current_database()); END $$"
        )
        let sessions = """
            SELECT count(*) FROM pg_stat_activity
            WHERE query LIKE 'CALL larder.wait\\_batch%' AND datname = current_database()
            """
        // Its client goes away without a word to the server, which runs the call.
        do {
            let waiter = try Session(DatabaseURL(fixture.database.directURL), timeout: .seconds(60))
            try waiter.dispatch("CALL larder.wait_batch('b', NULL)", Parameters([]), prepared: false)
            try waiter.flush(until: .now + .seconds(60))
            #expect(try await reached { try await fixture.value(sessions + " AND wait_event = 'PgSleep'") == "1" })
        }
        #expect(try await reached { try await fixture.value(sessions) == "0" })
    }

    @Test func `every claim finds the first jobs, also after maintenance of the empty queue`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.workerBySQL()
        for claim in 1...4 {
            try await fixture.sql("SELECT FROM larder.maintain(true)")
            try await fixture.sql("SELECT FROM larder.enqueue('http://h/\(claim)', batch => 'b')")
            let jobs = try await fixture.claimBySQL(worker, claim)
            #expect(try await fixture.completeBySQL(worker, claim, jobs) == ["succeeded"])
        }
    }

    @Test func `a failure that was retried 5,000 times leads to its last job`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'b')")
        try await fixture.sql(
            """
            INSERT INTO larder_data.job_history (created_at, job_id, batch_id, options, pipeline_id, origin_id, items,
                outcome, priority, attempt, rescues, url, retried_as)
            SELECT now(), j.id + i, j.batch_id, 0, j.pipeline_id, j.origin_id, 1, 'failed', 4, 1, 0, j.url,
                CASE WHEN i < 5000 THEN j.id + i + 1 ELSE j.id END
            FROM larder_data.job j, generate_series(1, 5000) AS i
            """)
        let last = try await fixture.value("SELECT id FROM larder_data.job")
        #expect(try await fixture.value("SELECT larder.retry(id + 1) FROM larder_data.job") == last)
    }

    @Test func `origins, ad-hoc pipelines and caches that nothing has used for long are purged`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql(
            "SELECT larder.pipeline_set(name, '{\"variants\": []}') FROM unnest('{0123456789abcdef,card}'::text[]) AS name"
        )
        try await fixture.sql("SELECT larder.worker_start_v1('w', 'h', 1, 'v', 8, 'cache')")
        // A batch that is opened by an enqueue keeps its pipeline.
        try await fixture.sql("SELECT larder.batch_open('b')")
        try await fixture.sql("SELECT FROM larder.enqueue('nothing', batch => 'b', pipeline => '0123456789abcdef')")
        for url in ["http://gone/1", "http://limited/1"] {
            try await fixture.sql("SELECT larder.cancel((SELECT job_id FROM larder.enqueue('\(url)', batch => 'b')))")
        }
        try await fixture.sql("SELECT larder.origin_limit('http://limited', 1)")
        for table in ["origin", "cache", "pipeline"] {
            try await fixture.sql("UPDATE larder_data.\(table) SET used_on = used_on - 100")
        }
        try await fixture.sql("UPDATE larder_data.worker SET heartbeat_at = now() - interval '2 days'")
        for _ in 1...2 {
            try await fixture.sql("SELECT larder_data.run_task('purge')")
            try await fixture.sql("UPDATE larder_data.pipeline SET retired_on = retired_on - 3")
        }
        let left = """
            SELECT (SELECT string_agg(name, ' ') FROM larder_data.origin), (SELECT count(*) FROM larder_data.cache),
                (SELECT string_agg(name, ' ' ORDER BY name) FROM larder_data.pipeline)
            """
        let rows = try await fixture.sql(left)
        #expect(rows == [["http://limited:80", "0", "card original"]])
        #expect(try await fixture.answers(of: "enqueue('http://gone/1', batch => 'b')") == ["inserted"])
        try await fixture.expectServing()
    }

    @Test(arguments: ["job_status(%)", "cancel(%)", "retry(%)"])
    func `a call for one running job reads as much among 3,000 as alone`(call: String) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'b')")
        let worker = try await fixture.workerBySQL()
        let job = try #require(try await fixture.claimBySQL(worker, 1).first)
        let statement = "SELECT * FROM larder." + call.replacing("%", with: job)
        let few = try await fixture.pages(readBy: statement)
        try await fixture.sql(
            "SELECT FROM larder.enqueue_many(ARRAY(SELECT 'http://h/x' || i FROM generate_series(1, 3000) AS i), batch => 'b')"
        )
        for claim in 2...4 { #expect(try await fixture.claimBySQL(worker, claim, upTo: 1_000).count == 1_000) }
        let many = try await fixture.pages(readBy: statement)
        #expect(many < few + 30, "\(few) and \(many) pages")
    }
}
