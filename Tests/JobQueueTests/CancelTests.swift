import ImageModel
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct CancelTests {
    /// The counts of a batch: total, open, succeeded, failed, cancelled.
    private func counts(_ fixture: QueueFixture, _ batch: String = "batch") async throws -> [Int] {
        let progress = try await fixture.queue.reports.progress(of: .name(batch))
        #expect(progress.total == progress.open + progress.finished)
        return [progress.total, progress.open, progress.succeeded, progress.failed, progress.cancelled]
    }

    private func jobs(_ fixture: QueueFixture) async throws -> Int {
        Int(try await fixture.value("SELECT count(*) FROM larder_data.job") ?? "") ?? -1
    }

    @Test func `a cancelled batch has no open item, accepts no URLs and finishes, whatever the states of its jobs`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/1", "http://a/2", "nothing"])
        try await fixture.enqueue(["http://a/3"]) { $0.start = .after(.seconds(1000)) }
        try await fixture.enqueue(["http://a/4"])
        try await fixture.sql(
            """
            WITH gone AS (DELETE FROM larder_data.ready r USING larder_data.job j WHERE j.id = r.job_id AND j.url = 'http://a/4' RETURNING job_id)
            INSERT INTO larder_data.suspended (job_id, reason) SELECT job_id, 'crashed' FROM gone
            """)
        try await fixture.expectSound()
        #expect(try await fixture.queue.producer.cancel(.name("batch")) == 5)
        #expect(try await counts(fixture) == [6, 0, 0, 1, 5])
        #expect(try await jobs(fixture) == 0)
        try await fixture.expectSound()
        #expect(try await fixture.queue.producer.cancel(.name("batch")) == 0)
        let id = try await fixture.queue.reports.progress(of: .name("batch")).id
        await #expect { try await fixture.enqueue(["http://a/5"], batch: "\(id)") } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT finished_at IS NOT NULL FROM larder.progress") == "t")
        #expect(try await counts(fixture) == [6, 0, 0, 1, 5])
        let records = try await fixture.queue.reports.records(
            of: try await fixture.queue.reports.progress(of: .name("batch")).id)
        #expect(records.filter { $0.outcome == .cancelled }.reduce(0) { $0 + $1.items } == 5)
        #expect(records.allSatisfy { $0.outcome != .cancelled || $0.error?.code == 2002 })
        try await fixture.expectSound()
    }

    @Test func `a finished batch cannot be cancelled`() async throws {
        let fixture = try await QueueFixture.make()
        let id = try await fixture.queue.producer.openBatch(name: "batch")
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        try await fixture.queue.producer.seal(.id(id))
        // Before maintenance has marked it, and after.
        #expect(try await fixture.queue.producer.cancel(.id(id)) == 0)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.queue.producer.cancel(.id(id)) == 0)
        #expect(try await fixture.queue.reports.progress(of: .id(id)).state == .finished)
        #expect(try await counts(fixture) == [1, 0, 1, 0, 0])
        await #expect { try await fixture.queue.producer.cancel(.id(id + 1)) } throws: {
            ($0 as? QueueError)?.code == .unknownBatch
        }
        await #expect { try await fixture.queue.producer.cancel(.name("none")) } throws: {
            ($0 as? QueueError)?.code == .unknownBatch
        }
        try await fixture.expectSound()
    }

    @Test func `a job that another batch joined continues for that batch alone`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/1"], batch: "first")
        try await fixture.enqueue(["http://a/1"], batch: "second")
        #expect(try await fixture.queue.producer.cancel(.name("first")) == 2)
        #expect(try await counts(fixture, "first") == [2, 0, 0, 0, 2])
        #expect(try await counts(fixture, "second") == [1, 1, 0, 0, 0])
        try await fixture.expectSound()
        try await fixture.queue.workers.maintain(force: true)
        #expect(
            try await fixture.value("SELECT finished_at IS NOT NULL FROM larder.progress WHERE batch = 'first'") == "t")
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 9).first)
        #expect(try await worker.heartbeat().cancelled.isEmpty)
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        #expect(try await counts(fixture, "first") == [2, 0, 0, 0, 2])
        #expect(try await counts(fixture, "second") == [1, 0, 1, 0, 0])
        try await fixture.expectSound()
    }

    @Test func `a batch that follows a job leaves it to the first, and the last one to go ends it`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"], batch: "first")
        try await fixture.enqueue(["http://a/1", "http://a/1"], batch: "second")
        #expect(try await fixture.queue.producer.cancel(.name("second")) == 2)
        #expect(try await counts(fixture, "first") == [1, 1, 0, 0, 0])
        #expect(try await counts(fixture, "second") == [2, 0, 0, 0, 2])
        #expect(try await jobs(fixture) == 1)
        try await fixture.expectSound()
        // A third joins, the first goes, then the third.
        try await fixture.enqueue(["http://a/1"], batch: "third")
        #expect(try await fixture.queue.producer.cancel(.name("first")) == 1)
        #expect(try await jobs(fixture) == 1)
        #expect(try await fixture.queue.producer.cancel(.name("third")) == 1)
        #expect(try await jobs(fixture) == 0)
        for batch in ["first", "third"] { #expect(try await counts(fixture, batch) == [1, 0, 0, 0, 1]) }
        try await fixture.queue.workers.maintain(force: true)
        #expect(
            try await fixture.value("SELECT count(*) FROM larder.progress WHERE finished_at IS NULL AND batch <> 'x'")
                == "0")
        try await fixture.expectSound()
    }

    @Test func `the heartbeat reports a cancelled running job, and its result does not count`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/1"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        #expect(try await fixture.queue.producer.cancel(.name("batch")) == 2)
        #expect(try await counts(fixture) == [2, 0, 0, 0, 2])
        #expect(try await worker.heartbeat().cancelled == [job.held])
        try await fixture.expectSound()
        #expect(try await worker.complete([Outcome(job.held, .cancelled)]).map(\.decision) == [.cancelled])
        #expect(try await counts(fixture) == [2, 0, 0, 0, 2])
        #expect(try await jobs(fixture) == 0)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT finished_at IS NOT NULL FROM larder.progress") == "t")
        try await fixture.expectSound()
    }

    @Test func `maintenance ends a job that is released after its batch was cancelled`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        try await fixture.queue.producer.cancel(.name("batch"))
        try await worker.release([job.held])
        try await fixture.expectSound()
        // The next claim suspends it.
        #expect(try await worker.claim(upTo: 1).isEmpty)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await jobs(fixture) == 0)
        #expect(try await counts(fixture) == [1, 0, 0, 0, 1])
        try await fixture.expectSound()
    }

    @Test func `a batch too large for one sweep is cancelled at once and cleared by maintenance`() async throws {
        let fixture = try await QueueFixture.make()
        for part in 0..<2 {
            try await fixture.enqueue((0..<7_000).map { "http://h\($0 % 9)/\(part)-\($0)" })
        }
        #expect(try await fixture.queue.producer.cancel(.name("batch")) == 14_000)
        #expect(try await counts(fixture) == [14_000, 0, 0, 0, 14_000])
        #expect(try await jobs(fixture) == 13_000)
        try await fixture.expectSound()
        // Jobs that are not swept yet are not handed out either.
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 100).isEmpty)
        try await fixture.expectSound()
        while try await jobs(fixture) > 0 { try await fixture.queue.workers.maintain(force: true) }
        #expect(try await counts(fixture) == [14_000, 0, 0, 0, 14_000])
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT finished_at IS NOT NULL FROM larder.progress") == "t")
        try await fixture.expectSound()
    }

    @Test func `a cancelled job that an open transaction joined is made again for its batch`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"], batch: "first")
        let joiner = fixture.otherConnection()
        _ = try await joiner.rows("BEGIN")
        _ = try await joiner.rows("SELECT * FROM larder.enqueue('http://a/1', batch => 'second')")
        #expect(try await fixture.queue.producer.cancel(.name("first")) == 1)
        #expect(try await counts(fixture, "first") == [1, 0, 0, 0, 1])
        try await fixture.expectSound()
        _ = try await joiner.rows("COMMIT")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await counts(fixture, "second") == [1, 1, 0, 0, 0])
        #expect(try await fixture.value("SELECT sum(items) FROM larder_data.job_item") == "1")
        #expect(try await fixture.startWorker().claim(upTo: 2).map(\.url) == ["http://a/1"])
        try await fixture.expectSound()
    }

    @Test func `one job is cancelled for all batches that want it`() async throws {
        let fixture = try await QueueFixture.make()
        let job = try #require(try await fixture.enqueue(["http://a/1", "http://a/1"], batch: "first")[0].job)
        try await fixture.enqueue(["http://a/1"], batch: "second")
        #expect(try await fixture.queue.producer.cancel(job: job) == .cancelled)
        #expect(try await counts(fixture, "first") == [2, 0, 0, 0, 2])
        #expect(try await counts(fixture, "second") == [1, 0, 0, 0, 1])
        #expect(try await fixture.queue.producer.cancel(job: job) == .completed)
        #expect(try await fixture.queue.reports.status(ofJob: job).outcome == .cancelled)
        await #expect { try await fixture.queue.producer.cancel(job: job + 100) } throws: {
            ($0 as? QueueError)?.code == .unknownJob
        }
        try await fixture.expectSound()
    }

    @Test func `the heartbeat reports one cancelled job, and its items finish when it completes`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"], batch: "first")
        try await fixture.enqueue(["http://a/1"], batch: "second")
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        #expect(try await fixture.queue.producer.cancel(job: job.id) == .requested)
        #expect(try await counts(fixture, "first") == [1, 1, 0, 0, 0])
        #expect(try await worker.heartbeat().cancelled == [job.held])
        let status = try await fixture.queue.reports.status(ofJob: job.id)
        #expect(status.state == .running)
        #expect(status.cancelledAt != nil)
        #expect(try await worker.complete([.unavailable(job.held)]).map(\.decision) == [.cancelled])
        for batch in ["first", "second"] { #expect(try await counts(fixture, batch) == [1, 0, 0, 0, 1]) }
        try await fixture.expectSound()
    }
}
