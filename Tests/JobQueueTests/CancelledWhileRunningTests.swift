import Testing

@testable import JobQueue

/// Jobs that were cancelled while they ran and then released or rescued.
@Suite(.timeLimit(.minutes(5)))
struct CancelledWhileRunningTests {
    private func kill(_ worker: WorkerSession, in fixture: QueueFixture) async throws {
        try await fixture.sql(
            "UPDATE larder_data.worker SET heartbeat_at = now() - interval '16 s', lease_ms = 1 WHERE id = $1",
            [.integer(worker.id)])
    }

    /// Two batches that want one job, which runs and is cancelled.
    private func cancelled(_ fixture: QueueFixture) async throws -> (WorkerSession, Job) {
        try await fixture.enqueue(["http://a/1"], batch: "first")
        try await fixture.enqueue(["http://a/1"], batch: "second")
        for batch in ["first", "second"] { try await fixture.queue.producer.seal(.name(batch)) }
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        #expect(try await fixture.queue.producer.cancel(job: job.id) == .requested)
        return (worker, job)
    }

    private func expectCompleted(_ fixture: QueueFixture, _ job: Job) async throws {
        #expect(try await fixture.queue.reports.status(ofJob: job.id).outcome == .cancelled)
        for batch in ["first", "second"] {
            let progress = try await fixture.queue.reports.progress(of: .name(batch))
            #expect(progress.cancelled == 1)
            #expect(progress.open == 0)
        }
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder.progress WHERE finished_at IS NULL") == "0")
        try await fixture.expectSound()
    }

    @Test func `released, it does not run again, and the next maintenance completes it`() async throws {
        let fixture = try await QueueFixture.make()
        let (worker, job) = try await cancelled(fixture)
        try await worker.release([job.held])
        #expect(try await fixture.startWorker("next").claim(upTo: 9).isEmpty)
        await #expect { try await fixture.queue.producer.retry(job: job.id) } throws: {
            ($0 as? QueueError)?.code == .unknownJob
        }
        try await fixture.expectSound()
        try await fixture.queue.workers.maintain(force: true)
        try await expectCompleted(fixture, job)
    }

    @Test func `after its worker stopped it does not run again`() async throws {
        let fixture = try await QueueFixture.make()
        let (worker, job) = try await cancelled(fixture)
        try await worker.stop()
        #expect(try await fixture.startWorker("next").claim(upTo: 9).isEmpty)
        try await fixture.queue.workers.maintain(force: true)
        try await expectCompleted(fixture, job)
    }

    @Test func `after its worker died it does not run again, and is not suspended as crashed`() async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        let (worker, job) = try await cancelled(fixture)
        try await fixture.sql("UPDATE larder_data.job SET rescues = 4")
        try await kill(worker, in: fixture)
        try await fixture.queue.workers.maintain(.urgent, force: true)
        #expect(try await fixture.startWorker("next").claim(upTo: 9).isEmpty)
        try await fixture.queue.workers.maintain(force: true)
        try await expectCompleted(fixture, job)
    }

    @Test func `released and joined before maintenance, it runs for every batch`() async throws {
        let fixture = try await QueueFixture.make()
        let (worker, job) = try await cancelled(fixture)
        try await worker.release([job.held])
        #expect(try await fixture.enqueue(["http://a/1"], batch: "third").map(\.kind) == [.joined])
        try await fixture.queue.workers.maintain(force: true)
        let again = try #require(try await worker.claim(upTo: 9).first)
        #expect(again.id == job.id)
        #expect(try await worker.heartbeat().cancelled.isEmpty)
        #expect(try await worker.complete([Outcome(again.held, .succeeded)]).map(\.decision) == [.succeeded])
        try await fixture.expectSound()
    }

    @Test func `cancelled once more while it waits for maintenance, it is over at once`() async throws {
        let fixture = try await QueueFixture.make()
        let (worker, job) = try await cancelled(fixture)
        try await worker.release([job.held])
        #expect(try await fixture.queue.producer.cancel(job: job.id) == .cancelled)
        try await expectCompleted(fixture, job)
    }

    @Test func `a batch cancelled meanwhile leaves it to be ended for the other one`() async throws {
        let fixture = try await QueueFixture.make()
        let (worker, job) = try await cancelled(fixture)
        try await worker.release([job.held])
        #expect(try await fixture.queue.producer.cancel(.name("first")) == 1)
        try await fixture.queue.workers.maintain(force: true)
        try await expectCompleted(fixture, job)
    }

    @Test func `a crashed job that is retried is no longer cancelled`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        let id = try #require(try await fixture.value("SELECT id FROM larder_data.job").flatMap { Int64($0) })
        // As a database that had it before the cancel was seen left it.
        try await fixture.sql("DELETE FROM larder_data.ready")
        try await fixture.sql(
            "INSERT INTO larder_data.suspended (job_id, reason) VALUES ($1, 'crashed')", [.integer(id)])
        try await fixture.sql("UPDATE larder_data.job SET cancelled_at = now(), rescues = 5")
        #expect(try await fixture.queue.producer.retry(job: id) == id)
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        #expect(try await worker.heartbeat().cancelled.isEmpty)
        #expect(try await worker.complete([.unavailable(job.held)]).map(\.decision.name) == ["retried"])
        try await fixture.expectSound()
    }
}
