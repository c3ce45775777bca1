import ImageModel
import Testing

@testable import JobQueue

/// What the dashboard shows of a batch: parts of it, which cost the same for any number of its records.
@Suite(.timeLimit(.minutes(5)))
struct SampleTests {
    /// Records of a batch as completions leave them, `numbers` of them from `first` on; each `every`th succeeded.
    private func record(
        _ numbers: Int, from first: Int, in batch: Int64, every: Int, endedBefore age: String = "0 s",
        _ fixture: QueueFixture
    ) async throws {
        try await fixture.sql("INSERT INTO larder_data.origin (name) VALUES ('http://a:80') ON CONFLICT DO NOTHING")
        try await fixture.sql(
            """
            INSERT INTO larder_data.job_history (finished_at, created_at, job_id, batch_id, options, pipeline_id, origin_id,
                items, outcome, priority, attempt, rescues, url, wait_ms, fetch_ms, domain, code, stored)
            SELECT now() - interval '\(age)', now(), i, $1, 0, 1, o.id, 1, 
                CASE WHEN i % \(every) = 0 THEN 'succeeded' ELSE 'failed' END::larder_data.outcome, 4, 1,
                0, 'http://a/' || i, 1, i % 100, CASE WHEN i % \(every) <> 0 THEN 'd' END,
                CASE WHEN i % \(every) <> 0 THEN 7 END, CASE WHEN i % \(every) = 0 THEN json_build_array(
                    json_build_object('key', 'k' || i, 'path', 'p', 'bytes', 100, 'origin', 'downloaded'),
                    json_build_object('name', 'small', 'key', 's' || i, 'path', 'q', 'bytes', 10, 'origin', 'transcoded')) END
            FROM larder_data.origin o, generate_series(\(first), \(first + numbers - 1)) AS i WHERE o.name = 'http://a:80'
            """, [.integer(batch)])
    }

    @Test func `a sample of all jobs has the figures of the statistics`() async throws {
        let fixture = try await QueueFixture.make()
        let batch = try await fixture.queue.producer.openBatch(name: "b")
        try await record(40, from: 1, in: batch, every: 4, fixture)
        try await fixture.enqueue(["nonsense"], batch: "b")
        try await fixture.sql("UPDATE larder_data.job_history SET retried_as = 9 WHERE job_id = 1")
        let sample = try await fixture.queue.reports.sample(of: batch, jobs: 1_000, files: 1_000)
        let all = try await fixture.queue.reports.statistics(of: [batch])
        #expect(sample.records == 40)
        #expect(sample.slotMilliseconds == all.slotMilliseconds)
        #expect(sample.timeline.map { [$0.slot, $0.succeeded, $0.skipped] } == [[0, 10, 29]])
        #expect(all.timeline.map { [$0.slot, $0.succeeded, $0.skipped] } == [[0, 10, 29]])
        #expect(sample.stages.map { [$0.p50, $0.p95, $0.p99] } == all.stages.map { [$0.p50, $0.p95, $0.p99] })
        let stages = ["wait", "dns", "connection_wait", "fetch", "transcoder_wait", "transcode", "store"]
        #expect(sample.stages.map(\.stage) == stages)
        #expect(sample.stages.map(\.p50) == [1, nil, nil, 20, nil, nil, nil])
        #expect(sample.originCount == 1)
        #expect(sample.origins.map { [$0.items, $0.failed, $0.bytesIn, $0.fetchMs] } == [[39, 29, 0, 21]])
        #expect(sample.slowest.map(\.url) == all.slowest.map(\.url))
        #expect(sample.slowest.first?.fetch == 40)
        #expect(sample.causes.map { [$0.code, $0.items, $0.origins] }.first == [7, 29, 1])
        #expect(sample.causes.map(\.code) == all.causes.map(\.code))
        #expect(sample.causes.count == 2)
        #expect(sample.causes.map(\.examples) == all.causes.map(\.examples))
        for variants in [sample.variants, all.variants] {
            #expect(variants.map { [$0.files, $0.made, $0.bytes, $0.originals] } == [[10, 10, 100, 1_000]])
        }
        let part = try await fixture.queue.reports.sample(of: batch, jobs: 8, files: 4)
        #expect(part.records == 8)
        #expect(part.timeline.map { [$0.slot, $0.succeeded, $0.skipped] } == [[0, 2, 6]])
        #expect(part.variants.map(\.files) == [1])
        let empty = try await fixture.queue.reports.sample(of: 99, jobs: 8, files: 4)
        #expect(empty.records == 0)
        #expect(empty.stages.isEmpty)
        #expect(empty.causes.isEmpty)
        #expect(empty.slotMilliseconds == 100)
    }

    @Test func `pages of images have each job with one once, with empty pages where none has one`() async throws {
        let fixture = try await QueueFixture.make()
        let batch = try await fixture.queue.producer.openBatch(name: "b")
        try await record(3_500, from: 1, in: batch, every: 3_400, fixture)
        try await record(5, from: 5_000, in: batch, every: 1, fixture)
        var (jobs, sizes): ([Int64], [Int]) = ([], [])
        var next: Int64? = .max
        while let before = next {
            let page = try await fixture.queue.reports.images(of: batch, before: before, limit: 3)
            #expect(page.images.count <= 6)
            sizes.append(page.images.count)
            jobs += page.images.filter { $0.variant == nil }.map(\.job)
            next = page.next
        }
        #expect(jobs == [5_004, 5_003, 5_002, 5_001, 5_000, 3_400])
        #expect(sizes == [6, 6, 0, 0, 0, 0], "the third job of the second page is behind a hundred that failed")
        #expect(try await fixture.queue.reports.images(of: 99, limit: 3).next == nil)
    }

    @Test func `the pages read for a batch do not grow with the batch`() async throws {
        let fixture = try await QueueFixture.make()
        let (small, large) = (
            try await fixture.queue.producer.openBatch(name: "small"),
            try await fixture.queue.producer.openBatch(name: "large")
        )
        try await record(100, from: 1, in: small, every: 200, fixture)
        try await record(20_000, from: 1_000, in: large, every: 40_000, fixture)
        try await fixture.sql("ANALYZE larder_data.job_history")
        for question in [
            "larder.batch_jobs($, 100)", "larder.batch_jobs($, 100, 1000000)", "larder.newest_failures($, 100)",
            "larder.record WHERE batch_id = $ AND kind = 'job' AND number > 0 AND outcome = 'failed' ORDER BY number LIMIT 100",
            "larder.record WHERE batch_id = $ AND kind = 'job' AND items > 0 ORDER BY number DESC LIMIT 100",
        ] {
            // Without origins, which are looked up or joined as the planner likes.
            let pages = [small, large].map { "SELECT url FROM " + question.replacing("$", with: "\($0)") }
            let (few, many) = (
                try await fixture.pages(readBy: pages[0]), try await fixture.pages(readBy: pages[1])
            )
            // Of each later day, which is empty, two pages of an index.
            #expect(many <= few + 100, "\(question): \(few) pages of 100 records, \(many) of 20,000")
        }
    }

    @Test func `the origins of the last hour are looked for among a limited number of jobs`() async throws {
        let fixture = try await QueueFixture.make()
        try await record(20_000, from: 1_000, in: 1, every: 2, endedBefore: "2 h", fixture)
        let question = "SELECT * FROM larder.recent_jobs(200)"
        #expect(try await fixture.sql(question).isEmpty)
        #expect(try await fixture.pages(readBy: question) < 100, "20,000 records have more than 300")
        try await record(30, from: 900, in: 1, every: 2, fixture)
        #expect(try await fixture.queue.reports.originActivity(limit: 20_100).map(\.jobs) == [30])
    }

    @Test func `details of many batches equal the view's`() async throws {
        let fixture = try await QueueFixture.make()
        for batch in 1...6 {
            _ = try await fixture.queue.producer.openBatch(name: "b\(batch)")
            try await fixture.sql(
                """
                INSERT INTO larder_data.batch_delta (batch_id, total, jobs, duration_class)
                SELECT \(batch), 1, 1 + (i * 7 + \(batch)) % 5, i FROM generate_series(1, 4 * (\(batch) - 1)) AS i
                """)
            try await fixture.sql(
                """
                INSERT INTO larder_data.batch_delta (batch_id, total, failed, code, domain)
                SELECT \(batch), i % 4, i % 4, i, 'd' || i % 3 FROM generate_series(1, 3 * (\(batch) - 1)) AS i
                """)
        }
        for isFolded in [false, true, false] {
            if isFolded { try await fixture.queue.workers.maintain(force: true) }
            let view = try await fixture.sql(
                "SELECT batch_id, p50_ms, p95_ms, top_errors::text FROM larder.progress ORDER BY batch_id DESC")
            let rows = try await fixture.sql(
                """
                SELECT batch_id, p50_ms, p95_ms, top_errors::text
                FROM larder.progress_details('{6,5,4,3,2,1}') ORDER BY batch_id DESC
                """)
            #expect(rows == view)
            try #require(rows.count == 6)
            try #require(rows[0][1] != nil)
            #expect(rows[5][1] == nil)
            let listed = try await fixture.queue.reports.progress(limit: 4)
            #expect(listed.map(\.p95) == view.prefix(4).map { $0[2].flatMap(Double.init) })
            #expect(listed.first?.topErrors.count == 5)
            #expect(listed.map(\.id) == [6, 5, 4, 3])
            // New entries in addition to folded ones.
            try await fixture.sql(
                "INSERT INTO larder_data.batch_delta (batch_id, jobs, duration_class) VALUES (6, 40, 3), (2, 1, 30)")
            try await fixture.sql(
                "INSERT INTO larder_data.batch_delta (batch_id, total, failed, code, domain) VALUES (6, 9, 9, 1, 'd1')")
        }
    }

    @Test func `open items equal the ledger's, without cancelled and finished batches`() async throws {
        let fixture = try await QueueFixture.make()
        let open = "SELECT (SELECT sum(open) FROM larder.progress), (SELECT sum(open_items) FROM larder.queue)"
        for batch in ["one", "two", "three"] {
            try await fixture.enqueue((1...4).map { "http://\(batch)/\($0)" }, batch: batch)
        }
        #expect(try await fixture.sql(open) == [["12", "12"]])
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.sql(open) == [["12", "12"]])
        try await fixture.enqueue(["http://one/5"], batch: "one")
        _ = try await fixture.queue.producer.cancel(.name("two"))
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 9)
        _ = try await worker.complete(jobs.map { Outcome($0.held, .succeeded) })
        try await fixture.queue.producer.seal(.name("three"))
        for _ in 0..<2 {
            #expect(try await fixture.sql(open) == [["\(9 - jobs.count)", "\(9 - jobs.count)"]])
            try await fixture.queue.workers.maintain(force: true)
        }
    }
}
