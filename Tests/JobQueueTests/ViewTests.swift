import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct ViewTests {
    /// 100 jobs of 32 to 45 ms, one error in each of six codes, code 6 most often; one half folded, the other not.
    private func detail(_ fixture: QueueFixture, batch: Int64) async throws {
        let half = """
            WITH durations AS (INSERT INTO larder_data.batch_delta (batch_id, jobs, duration_class) VALUES ($1, 50, 10))
            INSERT INTO larder_data.batch_delta (batch_id, total, failed, code, domain)
            SELECT $1, c, c, c, 'LarderErrorDomain' FROM generate_series(1, 6) AS c
            """
        try await fixture.sql(half, [.integer(batch)])
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.sql(half, [.integer(batch)])
    }

    @Test func `quantiles and errors add up what is folded and what is not`() async throws {
        let fixture = try await QueueFixture.make()
        let batch = try await fixture.queue.producer.openBatch(name: "batch")
        let before = try await fixture.queue.reports.progress(of: .id(batch))
        #expect(before.p50 == nil)
        #expect(before.p95 == nil)
        #expect(before.topErrors.isEmpty)
        #expect(before.eta == nil)
        try await detail(fixture, batch: batch)
        let progress = try await fixture.queue.reports.progress(of: .id(batch))
        // 2^(10.5/2) and 2^(10.95/2).
        #expect(progress.p50 == 38.1)
        #expect(progress.p95 == 44.5)
        #expect(progress.topErrors.map(\.code) == [6, 5, 4, 3, 2])
        #expect(progress.topErrors.map(\.items) == [12, 10, 8, 6, 4])
        // A faster tenth moves the median within its class only; a slower one takes the 95 %.
        try await fixture.sql(
            "INSERT INTO larder_data.batch_delta (batch_id, jobs, duration_class) VALUES ($1, 10, 0), ($1, 10, 20)",
            [.integer(batch)])
        let shifted = try await fixture.queue.reports.progress(of: .id(batch))
        #expect(shifted.p50 == 38.1)
        #expect(try #require(shifted.p95) > 1_024)
    }

    @Test func `the rate forgets: what was done a while ago gives no time left`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<100).map { "http://a/\($0)" })
        try await fixture.queue.workers.maintain(force: true)
        func rate(_ change: String) async throws -> BatchProgress {
            try await fixture.sql("UPDATE larder_data.batch SET created_at = now() - interval '1 day'")
            try await fixture.sql("UPDATE larder_data.batch_total SET \(change)")
            return try await fixture.queue.reports.progress(of: .name("batch"))
        }
        // As if folded a moment ahead, so that a slow machine changes nothing.
        let moving = try await rate("rate = 10, folded_at = now() + interval '1 h'")
        #expect(moving.rate == 10)
        #expect(moving.eta == .seconds(10))
        let still = try await rate("rate = 10, folded_at = now() - interval '1 h'")
        #expect(still.rate == 0)
        #expect(still.eta == nil)
        // Thirty finished and not yet folded, over an hour.
        try await fixture.sql(
            "INSERT INTO larder_data.batch_delta (batch_id, succeeded) SELECT id, 36 FROM larder_data.batch")
        #expect(try await fixture.queue.reports.progress(of: .name("batch")).rate == 0.01)
        try await fixture.sql("UPDATE larder_data.batch SET paused_at = now()")
        #expect(try await fixture.queue.reports.progress(of: .name("batch")).eta == nil)
    }

    @Test func `the rate counts the items that jobs completed, and none that ended at enqueue or were cancelled`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.block(["http://a/blocked"])
        try await fixture.enqueue(["", "nothing", "http://a/blocked", "http://a/1", "http://a/2"])
        func rate() async throws -> String? { try await fixture.value("SELECT rate > 0 FROM larder.progress") }
        func folded() async throws -> String? {
            try await fixture.value("SELECT rate > 0 FROM larder_data.batch_total")
        }
        #expect(try await rate() == "f")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await folded() == "f")
        try await fixture.enqueue(["", "nothing"])
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await folded() == "f")
        let progress = try await fixture.queue.reports.progress(of: .name("batch"))
        #expect(progress.finished == 5)
        #expect(progress.open == 2)
        #expect(progress.rate == 0)
        #expect(progress.eta == nil)
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        #expect(try await rate() == "t")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await folded() == "t")
    }

    @Test func `the views queue, worker and running show ready jobs, workers and the jobs they hold`() async throws {
        let fixture = try await QueueFixture.make()
        let queue = "SELECT has_ready, oldest_ready IS NULL, open_items, live_workers FROM larder.queue"
        #expect(try await fixture.sql(queue) == [["f", "t", "0", "0"]])
        try await fixture.enqueue(["http://a/1", "http://a/2", "http://a/2"])
        let worker = try await fixture.startWorker("one")
        _ = try await fixture.startWorker("two").stop()
        #expect(try await fixture.sql(queue) == [["t", "f", "3", "1"]])
        let old = "UPDATE larder_data.job SET created_at = now() - interval '1 h' WHERE url = 'http://a/2'"
        try await fixture.sql(old)
        #expect(try await fixture.value("SELECT oldest_ready < '1 h' FROM larder.queue") == "t")
        let job = try #require(try await worker.claim(upTo: 1).first)
        #expect(try await fixture.value("SELECT oldest_ready >= '1 h' FROM larder.queue") == "t")
        let running = try await fixture.sql(
            "SELECT url, batch, worker_name, attempt, running_for >= '0 s' FROM larder.running")
        #expect(running == [[job.url, "batch", "one", "1", "t"]])
        for jobs in [try await fixture.queue.reports.runningJobs(), try await fixture.queue.reports.workersJobs()] {
            #expect(jobs.map(\.job) == [job.id])
            #expect(jobs.map(\.batch) == [1])
            #expect(jobs.map(\.batchName) == ["batch"])
        }
        #expect(
            try await fixture.sql("SELECT name, state, running FROM larder.worker ORDER BY name")
                == [["one", "live", "1"], ["two", "stopped", "0"]])
    }

    @Test func `the name of a running job's batch is looked up, however many batches there are`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        #expect(try await fixture.startWorker().claim(upTo: 1).count == 1)
        let question = "SELECT batch FROM larder.running"
        let few = try await fixture.pages(readBy: question)
        try await fixture.sql(
            """
            INSERT INTO larder_data.batch (name, queue_id)
            SELECT 'b' || i, (SELECT min(q.id) FROM larder_data.queue q) FROM generate_series(1, 20000) AS i
            """)
        try await fixture.sql("ANALYZE larder_data.batch")
        let many = try await fixture.pages(readBy: question)
        #expect(many <= few + 5, "\(few) pages with no other batch, \(many) with 20,000, which have 200")
    }

    @Test func `failed lists failures, but neither retried nor discarded ones`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2", "http://a/3", "nothing"])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 9)
        _ = try await worker.complete(jobs.map { Outcome($0.held, .failed(.notAnImage)) })
        let failed = "SELECT url, kind, code, attempts FROM larder.failed ORDER BY url"
        #expect(try await fixture.sql(failed).map { $0[0] } == ["http://a/1", "http://a/2", "http://a/3", "nothing"])
        try await fixture.sql("UPDATE larder_data.job_history SET retried_as = 99 WHERE url = 'http://a/1'")
        try await fixture.sql("UPDATE larder_data.job_history SET discarded_at = now() WHERE url = 'http://a/2'")
        #expect(
            try await fixture.sql(failed) == [["http://a/3", "job", "1001", "1"], ["nothing", "item", "1000", "0"]])
        let report = try await fixture.queue.reports.summary(of: .name("batch"))
        #expect(report.failures.map(\.url) == ["nothing", "http://a/3"])
        #expect(report.errors.map(\.items) == [1, 1])
        #expect(report.discarded == 1)
    }

    @Test func `throughput counts the present minute before it is folded, and the same after`() async throws {
        let fixture = try await QueueFixture.make()
        func sums() async throws -> [[String?]] {
            try await fixture.sql(
                "SELECT sum(enqueued), sum(finished), sum(failed), sum(bytes_in), bool_and(items_per_second > 0) FROM larder.throughput"
            )
        }
        try await fixture.enqueue(["http://a/1", "http://a/2", "nothing"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        var outcome = Outcome(job.held, .succeeded)
        outcome.bytesIn = 5_000
        _ = try await worker.complete([outcome])
        let expected = [["3", "2", "1", "5000", "t"]]
        #expect(try await sums() == expected)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await sums() == expected)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch_delta") == "0")
    }

    @Test func `the newest version of each pipeline is marked`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.producer.setPipeline(name: "p", spec: #"{"variants":[]}"#)
        _ = try await fixture.queue.producer.setPipeline(name: "p", spec: #"{"variants":[],"a":-0.0}"#)
        let rows = try await fixture.sql(
            "SELECT version, newest, spec FROM larder.pipeline WHERE name = 'p' ORDER BY version")
        #expect(rows == [["1", "f", #"{"variants":[]}"#], ["2", "t", #"{"variants":[],"a":-0.0}"#]])
        #expect(try await fixture.queue.reports.pipelines().map(\.name) == ["original", "p"])
        await #expect { try await fixture.queue.reports.pipeline(named: "q") } throws: {
            ($0 as? QueueError)?.code == .unknownPipeline
        }
    }

    /// The plan of a statement, as one text.
    private func plan(_ fixture: QueueFixture, _ statement: String) async throws -> String {
        try await fixture.sql("EXPLAIN " + statement).compactMap { $0[0] }.joined(separator: "\n")
    }

    @Test func `counts of ten thousand batches come from one pass, one batch's counts from its own entries`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.sql(
            "INSERT INTO larder_data.batch (name, queue_id) SELECT 'b' || i, 1 FROM generate_series(1, 10000) AS i")
        let entries = "INSERT INTO larder_data.batch_delta (batch_id, total) SELECT i, 1 FROM generate_series"
        try await fixture.sql(entries + "(1, 10000) AS i")
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.sql(entries + "(1, 30) AS i")
        let all = "SELECT batch_id, state, total, open, finished, skipped, percent FROM larder.progress"
        // With statistics of nothing, and with good ones.
        for _ in 0..<2 {
            let text = try await plan(fixture, all)
            #expect(!text.contains("Nested Loop"), "\(text)")
            #expect(!text.contains("SubPlan"), "\(text)")
            try await fixture.sql("ANALYZE")
        }
        try await fixture.sql(entries + "(1, 20000) AS i")
        for condition in ["batch_id = 77", "batch_id = (SELECT id FROM larder_data.batch WHERE name = 'b77')"] {
            let text = try await plan(fixture, all + " WHERE " + condition)
            #expect(text.contains("batch_delta_batch"), "\(text)")
            #expect(!text.contains("Seq Scan on batch"), "\(text)")
        }
        #expect(try await fixture.value("SELECT open_items FROM larder.queue") == "20030")
    }

    @Test func `percents and times computed by the program equal the view's`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker(slots: 10)
        for (name, total, done) in [("third", 3, 1), ("thirds", 3, 2), ("eighth", 8, 1), ("all", 1, 1)] {
            try await fixture.enqueue((0..<total).map { "http://\(name)/\($0)" }, batch: name)
            try await fixture.queue.producer.seal(.name(name))
            let jobs = try await worker.claim(upTo: total)
            _ = try await worker.complete(jobs.prefix(done).map { Outcome($0.held, .succeeded) })
        }
        try await fixture.queue.workers.maintain(force: true)
        let view = try await fixture.sql(
            #"""
            SELECT batch, percent::float8, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
                to_char(finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), open, finished, skipped
            FROM larder.progress ORDER BY batch_id DESC
            """#)
        for isDetailed in [true, false] {
            let batches = try await fixture.queue.reports.progress(isDetailed: isDetailed)
            let read = batches.map {
                [
                    $0.name, "\($0.percent)", $0.openedAt, $0.finishedAt, "\($0.open)", "\($0.finished)",
                    "\($0.skipped)",
                ]
            }
            #expect(read.map { $0[1] } == ["100.0", "12.5", "66.7", "33.3"])
            #expect(
                read.map { $0.enumerated().filter { $0.offset != 1 }.map(\.element) }
                    == view.map { $0.enumerated().filter { $0.offset != 1 }.map(\.element) })
            #expect(read.map { $0[1].flatMap(Double.init) } == view.map { $0[1].flatMap(Double.init) })
            #expect(batches[0].finishedAt != nil)
        }
    }

    @Test(arguments: [
        (0, "1970-01-01T00:00:00.000Z"), (1_769_862_896_789_999, "2026-01-31T12:34:56.789Z"),
        (-1, "1969-12-31T23:59:59.999Z"), (951_782_400_050_000, "2000-02-29T00:00:00.050Z"),
    ])
    func `a time has the format of the database`(microseconds: Int, text: String) {
        #expect(UTCTime(microseconds: Int64(microseconds)).iso8601 == text)
    }
}
