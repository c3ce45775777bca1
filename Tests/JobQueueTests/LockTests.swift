import Glibc
import ImageModel
import TestSupport
import Testing

@testable import JobQueue

/// Locks that a transaction of another session holds while it is open.
@Suite(.timeLimit(.minutes(5)))
struct LockTests {
    @Test func `each call of an operator names the session that holds its lock`() async throws {
        let fixture = try await QueueFixture.make()
        let queue = fixture.queue
        try await fixture.enqueue(["http://a/failed"], batch: "failed")
        let worker = try await fixture.startWorker()
        let failed = try #require(try await worker.claim(upTo: 1).first)
        let reason = FailureReason(domain: "NSURLErrorDomain", code: -1002, message: "no")
        _ = try await worker.complete([Outcome(failed.held, .failed(reason))])
        try await fixture.enqueue(["http://a/lost"], batch: "b")
        let lost = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(lost.held, .failed(reason))])
        let job = try #require(try await fixture.enqueue(["http://a/0"], batch: "b")[0].job)
        try await queue.operations.block(["http://a/blocked"])
        try await fixture.sql("SELECT larder.schedule_set('s', '@daily', urls => ARRAY['http://a/s'])")
        try await fixture.sql("SELECT larder.origin_hold('http://b/', '1 h')")

        let holder = fixture.otherConnection()
        let pid = try #require(try await holder.rows("SELECT pg_backend_pid()").first?.first ?? nil)
        for statement in [
            "BEGIN", "SELECT larder.batch_pause('b')", "SELECT larder.cancel(\(job))",
            "SELECT larder.queue_pause('default')", "SELECT larder.block_url('http://a/blocked', '2 days')",
            "SELECT larder.origin_hold('http://b/', '2 h')",
            "SELECT FROM larder.pipeline_set('p', '{\"variants\": []}')",
            "SELECT FROM larder.enqueue('http://a/failed', batch => 'again', options => 1)",
            "SELECT larder.schedule_pause('s')",
        ] {
            _ = try await holder.rows(statement)
        }
        let calls = [
            "batch_seal('b')", "batch_pause('b')", "batch_resume('b')", "batch_cancel('b')", "batch_delete('b')",
            "batch_discard_portion('b')", "batch_reprioritize_portion('b', 1)", "batch_retry_portion('b')",
            "batch_retry_portion('failed')", "cancel(\(job))", "retry(\(job))", "retry(\(failed.id))",
            "discard(\(lost.id))",
            "queue_pause('default')", "queue_resume('default')", "queue_set('default', lifo => true)",
            "queue_limit('default', 1)",
            "block_url('http://a/blocked')", "unblock_url('http://a/blocked')", "unblock_portion()",
            "origin_hold('http://b/', '1 s')", "origin_clear('http://b/')", "origin_clear()",
            "pipeline_set('p', '{\"variants\": [{}]}')", "schedule_set('s', '@hourly', urls => ARRAY['http://a/s'])",
            "schedule_pause('s')", "schedule_resume('s')", "schedule_run('s')", "schedule_remove('s')",
            "batch_on_finished('b', 'http://hook/')",
        ]
        await withTaskGroup(of: Void.self) { group in
            for call in calls {
                group.addTask {
                    let operating = fixture.otherConnection()
                    await #expect("\(call)") { _ = try await operating.rows("SELECT FROM larder.\(call)") } throws: {
                        let error = $0 as? QueueError
                        return error?.code == .locked
                            && error?.message.contains(" is locked by pid \(pid), application ") == true
                    }
                    await operating.close()
                }
            }
        }
        await holder.close()
        try await fixture.expectSound()
    }

    @Test(arguments: ["COMMIT", "ROLLBACK"])
    func `a resume that stays open keeps no item from joining its jobs, and none of them waits after it`(end: String)
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"], batch: "a")
        try await fixture.queue.producer.pause(.name("a"))
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 1).isEmpty)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.suspended") == "1")
        let holder = fixture.otherConnection()
        // A serializable one would fail at its commit: the enqueue reads the batch's state.
        for statement in ["BEGIN ISOLATION LEVEL READ COMMITTED", "SELECT larder.batch_resume('a')"] {
            _ = try await holder.rows(statement)
        }
        try await fixture.enqueue(["http://a/1"], batch: "b")
        #expect(try await fixture.value("SELECT count(*) FROM larder.maintain(true) WHERE error IS NOT NULL") == "0")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job_item WHERE is_new") == "0")
        _ = try await holder.rows(end)
        await holder.close()
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await worker.claim(upTo: 1).map(\.url) == ["http://a/1"])
        try await fixture.expectSound()
    }

    // Of serializable transactions that overlap like this Postgres lets only one commit.
    @Test(arguments: ["read committed", "repeatable read"])
    func `enqueues that overlap take no multixact`(level: String) async throws {
        let fixture = try await QueueFixture.make()
        let urls = (1...20).map { "http://a/\($0)" }
        try await fixture.enqueue(urls, batch: "b")
        let worker = try await fixture.startWorker()
        // 4 transactions have a row lock each of the batch, the others a spare one. A pooler has fewer sessions.
        let producers = (0..<(TemporaryDatabase.isPooled ? 8 : 20)).map { _ in fixture.otherConnection() }
        for producer in producers {
            _ = try await producer.rows("BEGIN ISOLATION LEVEL \(level)")
            _ = try await producer.rows("SELECT larder.batch_open('b', notify => true)")
            for _ in 1...2 {
                _ = try await producer.rows("SELECT FROM larder.enqueue_many($1, batch => 'b')", [.texts(urls)])
            }
        }
        try await fixture.queue.producer.seal(.name("b"))
        for (index, job) in try await worker.claim(upTo: 8).enumerated() {
            let outcome = index < 4 ? Outcome(job.held, .succeeded) : .unavailable(job.held, retryAfter: .seconds(0))
            _ = try await worker.complete([outcome])
        }
        for producer in producers {
            _ = try await producer.rows("COMMIT")
            await producer.close()
        }
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.queue.reports.progress(of: .name("b")).total == 20 + producers.count * 40)
        // HEAP_XMAX_IS_MULTI of all rows, those that are deleted included, except those that maintenance itself locks.
        try await fixture.sql("CREATE EXTENSION pageinspect")
        let locked = try await fixture.sql(
            """
            SELECT c.relname, count(*) FROM pg_class c
            CROSS JOIN LATERAL generate_series(0, pg_relation_size(c.oid) / 8192 - 1) AS page (number)
            CROSS JOIN LATERAL heap_page_items(get_raw_page(c.oid::regclass::text, page.number::int)) AS item
            WHERE c.relnamespace = 'larder_data'::regnamespace AND c.relkind = 'r' AND item.t_infomask & 4096 <> 0
                AND c.relname <> 'maintenance'
            GROUP BY c.relname
            """)
        #expect(locked.isEmpty)
        try await fixture.expectSound()
    }

    @Test func `a worker's report of an origin does not wait for a producer that has just inserted the origin`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        let producer = fixture.otherConnection()
        // A serializable one would fail at its commit: the report reads the origins.
        _ = try await producer.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await producer.rows("SELECT FROM larder.enqueue('http://new.example/1', batch => 'b')")
        try await fixture.sql("SET statement_timeout = '20s'")
        let report = """
            SELECT larder.origin_report_v1(ARRAY['http://new.example:80', 'http://known.example:80'],
                ARRAY['retry-after', 'retry-after'], ARRAY[60000, 60000])
            """
        let held = "SELECT o.name FROM larder_data.origin_hold h JOIN larder_data.origin o ON o.id = h.origin_id"
        #expect(try await fixture.value(report) == "1")
        #expect(try await fixture.sql(held) == [["http://known.example:80"]])
        _ = try await producer.rows("COMMIT")
        await producer.close()
        #expect(try await fixture.value(report) == "2")
    }

    @Test func `the server ends the statement of a client that has died`() async throws {
        let fixture = try await QueueFixture.make()
        // As Connection sets it for each session.
        let interval = try #require(try await fixture.value("SHOW client_connection_check_interval"))
        #expect(interval == "2s")
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        _ = try await holder.rows("SELECT FROM larder.enqueue('http://a/same', batch => 'b')")
        // It waits for the other transaction's key, which no timeout limits.
        let client = try RunningCommand(
            "/usr/bin/psql", ["-X", "-q", fixture.database.directURL], environment: ["PGAPPNAME": "victim"],
            input: Array(
                """
                SET client_connection_check_interval = '\(interval)';
                SELECT FROM larder.enqueue('http://a/same', batch => 'c');
                """.utf8))
        func sessions(_ condition: String) async throws -> String? {
            try await fixture.value(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'victim' AND \(condition)")
        }
        try #require(try await reached { try await sessions("wait_event_type = 'Lock'") == "1" })
        client.signal(SIGKILL)
        #expect(await client.outcome().signal == SIGKILL)
        #expect(try await reached { try await sessions("true") == "0" })
        // The transaction that it waited for is still open.
        _ = try await holder.rows("COMMIT")
        await holder.close()
        #expect(try await fixture.value("SELECT string_agg(batch, ' ') FROM larder.progress") == "b")
        try await fixture.expectSound()
    }

    @Test func `a job that comes back while an open transaction retries another one is claimed`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/0", "http://a/1"], batch: "b") { $0.retryBase = .seconds(3_600) }
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        _ = try await worker.complete([.unavailable(jobs[0].held)])
        try await fixture.queue.workers.maintain(force: true)
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        #expect(try await holder.rows("SELECT larder.retry(\(jobs[0].id))") == [["\(jobs[0].id)"]])

        try await worker.release([jobs[1].held])
        var claimed: [Job] = []
        for _ in 1...3 {
            try await fixture.queue.workers.maintain(force: true)
            claimed += try await worker.claim(upTo: 2)
        }
        #expect(claimed.map(\.id) == [jobs[1].id])
        _ = try await holder.rows("COMMIT")
        await holder.close()
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await worker.claim(upTo: 2).map(\.id) == [jobs[0].id])
        try await fixture.expectSound()
    }

    @Test(arguments: ["repeatable read", "serializable"])
    func `two producers of the same URLs above READ COMMITTED repeat what fails, and nothing is counted twice`(
        level: String
    ) async throws {
        let fixture = try await QueueFixture.make()
        let producers = [fixture.otherConnection(), fixture.otherConnection()]
        for producer in producers {
            _ = try await producer.rows("SET default_transaction_isolation = '\(level)'")
        }
        let rounds = 20
        for round in 0..<rounds {
            let urls = (0..<50).map { "http://host\($0 % 5)/\(round)/\($0)" }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (index, producer) in producers.enumerated() {
                    group.addTask {
                        while true {
                            do {
                                _ = try await producer.rows(
                                    "SELECT FROM larder.enqueue_many($1, batch => 'b\(index)')", [.texts(urls)])
                                return
                            } catch let error as QueueError where error.sqlState == "40001" {}
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        try await fixture.expectSound()
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.expectSound()
        // One live job for each URL, and an item in each batch.
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job") == "\(rounds * 50)")
        #expect(try await fixture.queue.reports.progress().map(\.open) == [rounds * 50, rounds * 50])
        for producer in producers { await producer.close() }
    }

    @Test(arguments: ["repeatable read", "serializable"])
    func `a transaction that sees a batch as open that is finished adds nothing to it`(level: String) async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.sql("SELECT larder.batch_open('b')")
        let producer = fixture.otherConnection()
        _ = try await producer.rows("BEGIN ISOLATION LEVEL \(level)")
        #expect(try await producer.rows("SELECT state FROM larder.progress") == [["open"]])
        try await fixture.queue.producer.seal(.name("b"))
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.queue.reports.progress(of: .name("b")).state == .finished)
        let error = await #expect(throws: QueueError.self) {
            try await producer.rows("SELECT FROM larder.enqueue('http://a/0', batch => 'b')")
        }
        #expect(error?.sqlState == "40001")
        await producer.close()
        try await fixture.expectSound()
    }

    @Test func `a transaction that does not see a live job of its URL is told to repeat`() async throws {
        let fixture = try await QueueFixture.make()
        let producer = fixture.otherConnection()
        _ = try await producer.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await producer.rows("SELECT larder.batch_open('second')")
        try await fixture.enqueue(["http://a/1"], batch: "first")
        let enqueue = "SELECT answer FROM larder.enqueue_many('{http://a/1,http://a/2}', batch => 'second')"
        let error = await #expect(throws: QueueError.self) { try await producer.rows(enqueue) }
        #expect(error?.sqlState == "40001")
        _ = try await producer.rows("ROLLBACK")
        #expect(try await producer.rows(enqueue) == [["joined"], ["inserted"]])
        await producer.close()
        try await fixture.expectSound()
    }
}
