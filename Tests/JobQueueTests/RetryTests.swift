import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct RetryTests {
    /// A batch and a second one that follows it, all of whose items have failed, sealed and finished.
    private func failedBatches() async throws -> (QueueFixture, WorkerSession, [Int64]) {
        let fixture = try await QueueFixture.make()
        let answers = try await fixture.enqueue(
            ["http://a/1", "http://a/1", "http://a/2", "nothing"], batch: "first"
        ) {
            $0.priority = 2
            $0.context = #"{"a":1}"#
            $0.options = 128
        }
        try await fixture.enqueue(["http://a/1"], batch: "second")
        let worker = try await fixture.startWorker()
        for job in try await worker.claim(upTo: 9) {
            _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
        }
        for batch in ["first", "second"] { try await fixture.queue.producer.seal(.name(batch)) }
        try await fixture.queue.workers.maintain(force: true)
        return (fixture, worker, answers.compactMap(\.job))
    }

    private func counts(_ fixture: QueueFixture, _ batch: String) async throws -> [Int] {
        let progress = try await fixture.queue.reports.progress(of: .name(batch))
        return [progress.total, progress.open, progress.succeeded, progress.failed, progress.blocked]
    }

    @Test func `failed items are open again with jobs like the first, and the batch finishes anew`() async throws {
        let (fixture, worker, _) = try await failedBatches()
        #expect(try await fixture.queue.reports.progress(of: .name("first")).state == .finished)
        #expect(try await fixture.queue.producer.retryFailed(of: .name("first")) == 3)
        #expect(try await fixture.queue.producer.retryFailed(of: .name("first")) == 0)
        // An invalid URL stays a failure.
        #expect(try await counts(fixture, "first") == [4, 3, 0, 1, 0])
        #expect(try await fixture.queue.reports.progress(of: .name("first")).state == .sealed)
        try await fixture.expectSound()
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.queue.reports.progress(of: .name("first")).state == .sealed)
        let jobs = try await worker.claim(upTo: 9)
        #expect(jobs.map(\.url).sorted() == ["http://a/1", "http://a/2"])
        #expect(
            jobs.allSatisfy { $0.priority == 2 && $0.options == 129 && $0.context == #"{"a":1}"# && $0.attempt == 1 })
        // The second batch's failure rides on the live job.
        #expect(try await fixture.queue.producer.retryFailed(of: .name("second")) == 1)
        #expect(try await counts(fixture, "second") == [1, 1, 0, 0, 0])
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job") == "2")
        try await fixture.expectSound()
        _ = try await worker.complete(jobs.map { Outcome($0.held, .succeeded) })
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await counts(fixture, "first") == [4, 0, 3, 1, 0])
        #expect(try await counts(fixture, "second") == [1, 0, 1, 0, 0])
        #expect(try await fixture.value("SELECT count(*) FROM larder.progress WHERE finished_at IS NULL") == "0")
        let first = try await fixture.queue.reports.progress(of: .name("first")).id
        #expect(try await fixture.queue.reports.failures(of: first).map(\.url) == ["nothing"])
        #expect(try await fixture.queue.reports.records(of: first).count == 3)
        #expect(try await fixture.value("SELECT count(*) FROM larder.failed") == "1")
        try await fixture.expectSound()
    }

    @Test func `a follower's failure becomes a job of its own when the first one is not retried`() async throws {
        let (fixture, worker, _) = try await failedBatches()
        #expect(try await fixture.queue.producer.retryFailed(of: .name("second")) == 1)
        let jobs = try await worker.claim(upTo: 9)
        let second = try await fixture.queue.reports.progress(of: .name("second")).id
        try #require(jobs.count == 1)
        #expect(jobs[0].batch == second)
        #expect(jobs[0].url == "http://a/1")
        #expect(jobs[0].priority == 2)
        #expect(try await counts(fixture, "first") == [4, 0, 0, 4, 0])
        try await fixture.expectSound()
    }

    @Test func `blocked items are retried past the blocklist, duplicates on one job`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.block(["http://a/1"])
        let kinds = try await fixture.enqueue(["http://a/1", "http://a/1", "http://a/2"]).map(\.kind)
        #expect(kinds == [.blocked, .blocked, .inserted])
        #expect(try await fixture.queue.producer.retryFailed(of: .name("batch")) == 2)
        #expect(try await counts(fixture, "batch") == [3, 3, 0, 0, 0])
        let jobs = try await fixture.startWorker().claim(upTo: 9)
        #expect(jobs.map(\.url).sorted() == ["http://a/1", "http://a/2"])
        #expect(try await fixture.value("SELECT items FROM larder_data.job WHERE url = 'http://a/1'") == "2")
        try await fixture.expectSound()
    }

    @Test func `a retry keeps how often a job is tried, and takes its error from the batch's`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.block(["http://a/3"])
        try await fixture.enqueue(["http://a/1", "http://a/2"]) {
            $0.maxAttempts = 2
            $0.retryBase = .milliseconds(77)
        }
        try await fixture.enqueue(["http://a/3"])
        let worker = try await fixture.startWorker()
        var jobs = try await worker.claim(upTo: 9)
        _ = try await worker.complete(jobs.map { Outcome($0.held, .failed(.notAnImage)) })
        func errors() async throws -> [String] {
            try await fixture.queue.reports.progress(of: .name("batch")).topErrors.map { "\($0.code) \($0.items)" }
        }
        #expect(try await errors() == ["1001 2", "1003 1"])
        _ = try await fixture.queue.producer.retry(job: jobs[0].id)
        #expect(try await errors() == ["1001 1", "1003 1"])
        #expect(try await fixture.queue.producer.retryFailed(of: .name("batch")) == 2)
        #expect(try await errors() == [])
        let kept =
            "SELECT string_agg(max_attempts || ' ' || coalesce(retry_base_ms, -1), ',' ORDER BY url) FROM larder_data.job"
        #expect(try await fixture.value(kept) == "2 77,2 77,4 -1")
        jobs = try await worker.claim(upTo: 9)
        #expect(jobs.count == 3)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await errors() == [])
        try await fixture.expectSound()
    }

    @Test func `discarded failures still count and are neither listed nor retried`() async throws {
        let (fixture, _, jobs) = try await failedBatches()
        #expect(try await fixture.queue.producer.discardFailed(of: .name("first")) == 4)
        #expect(try await fixture.queue.producer.discardFailed(of: .name("first")) == 0)
        #expect(try await fixture.queue.producer.retryFailed(of: .name("first")) == 0)
        #expect(try await counts(fixture, "first") == [4, 0, 0, 4, 0])
        #expect(try await fixture.value("SELECT count(*) FROM larder.failed") == "1")
        await #expect { try await fixture.queue.producer.retry(job: jobs[0]) } throws: {
            ($0 as? QueueError)?.code == .unknownJob
        }
        try await fixture.expectSound()
    }

    @Test(arguments: ["retry", "cancel", "discard", "job_status", "job_change"])
    func `the number of an item is no job`(function: String) async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: ["ftp://host/"], batch: "a"))
        let number = try #require(try await fixture.value("SELECT number FROM larder.record WHERE kind = 'item'"))
        await #expect {
            try await fixture.sql("SELECT larder.\(function)(\(number)) AS x")
        } throws: {
            ($0 as? QueueError)?.code == .unknownJob
        }
        try await fixture.expectSound()
    }

    @Test func `nothing of a cancelled batch is retried`() async throws {
        let (fixture, worker, jobs) = try await failedBatches()
        try await fixture.sql("UPDATE larder_data.batch SET sealed_at = NULL, finished_at = NULL")
        try await fixture.enqueue(["http://a/9"], batch: "first")
        try await fixture.queue.producer.cancel(.name("first"))
        await #expect { try await fixture.queue.producer.retryFailed(of: .name("first")) } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        await #expect { try await fixture.queue.producer.retry(job: jobs[0]) } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        #expect(try await worker.claim(upTo: 9).isEmpty)
        try await fixture.expectSound()
    }

    @Test func `one failed job runs again under a new number, which its old one leads to`() async throws {
        let (fixture, worker, jobs) = try await failedBatches()
        let again = try await fixture.queue.producer.retry(job: jobs[0])
        #expect(!jobs.contains(again))
        #expect(try await fixture.queue.producer.retry(job: jobs[0]) == again)
        #expect(try await fixture.queue.reports.status(ofJob: jobs[0]).retriedAs == again)
        #expect(try await counts(fixture, "first") == [4, 2, 0, 2, 0])
        let job = try #require(try await worker.claim(upTo: 9).first)
        #expect(job.id == again)
        #expect(try await fixture.queue.producer.retry(job: again) == again)
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        await #expect { try await fixture.queue.producer.retry(job: again) } throws: {
            ($0 as? QueueError)?.code == .unknownJob && "\($0)".contains("\(again) succeeded")
        }
        await #expect { try await fixture.queue.producer.retry(job: again + 100) } throws: {
            ($0 as? QueueError)?.code == .unknownJob
        }
        try await fixture.expectSound()
    }

    @Test func `a scheduled job is ready at once, and one lost too often is ready again`() async throws {
        let fixture = try await QueueFixture.make()
        let scheduled = try #require(
            try await fixture.enqueue(["http://a/1"]) { $0.start = .after(.seconds(1000)) }[0].job)
        let lost = try #require(try await fixture.enqueue(["http://a/2"])[0].job)
        try await fixture.sql("DELETE FROM larder_data.ready")
        try await fixture.sql("UPDATE larder_data.job SET rescues = 5 WHERE id = $1", [.integer(lost)])
        try await fixture.sql(
            "INSERT INTO larder_data.suspended (job_id, reason) VALUES ($1, 'crashed')", [.integer(lost)])
        #expect(try await fixture.queue.reports.status(ofJob: scheduled).state == .scheduled)
        #expect(try await fixture.queue.reports.status(ofJob: lost).reason == .crashed)
        for job in [scheduled, lost] { #expect(try await fixture.queue.producer.retry(job: job) == job) }
        #expect(try await fixture.queue.reports.status(ofJob: lost).rescues == 0)
        #expect(try await fixture.queue.reports.status(ofJob: scheduled).state == .ready)
        #expect(try await fixture.startWorker().claim(upTo: 9).map(\.id) == [scheduled, lost])
        try await fixture.expectSound()
    }

    @Test func `the status of a job and its attempts`() async throws {
        let fixture = try await QueueFixture.make()
        let id = try #require(try await fixture.enqueue(["http://a/1", "http://a/1"])[0].job)
        var status = try await fixture.queue.reports.status(ofJob: id)
        #expect(status.state == .ready)
        #expect(status.url == "http://a/1")
        #expect(status.batchName == "batch")
        #expect(status.pipeline == "original")
        #expect(status.pipelineVersion == 1)
        #expect(status.priority == 4)
        #expect(status.items == 2)
        #expect(status.attempt == 0)
        #expect(status.maxAttempts == 4)
        let worker = try await fixture.startWorker()
        var job = try #require(try await worker.claim(upTo: 1).first)
        status = try await fixture.queue.reports.status(ofJob: id)
        #expect(status.state == .running)
        #expect(status.worker == worker.id)
        #expect(status.attempt == 1)
        _ = try await worker.complete([.unavailable(job.held, retryAfter: .seconds(600))])
        status = try await fixture.queue.reports.status(ofJob: id)
        #expect(status.state == .scheduled)
        #expect(status.error == .unavailable)
        #expect(status.due != nil)
        #expect(status.attempt == 1)
        try await fixture.queue.producer.retry(job: id)
        job = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
        status = try await fixture.queue.reports.status(ofJob: id)
        #expect(status.outcome == .failed)
        #expect(status.error == .notAnImage)
        #expect(status.finishedAt != nil)
        #expect(status.attempt == 2)
        let attempts = try await fixture.queue.reports.attempts(ofJob: id)
        try #require(attempts.count == 2)
        #expect(attempts.map(\.number) == [1, 2])
        #expect(attempts.map(\.outcome) == ["retried", "failed"])
        #expect(attempts[0].error == .unavailable)
        #expect(attempts[0].httpStatus == 503)
        #expect(attempts[0].delay != nil)
        #expect(attempts[1].error == .notAnImage)
        #expect(attempts[1].worker == worker.id)
        await #expect { try await fixture.queue.reports.status(ofJob: id + 1) } throws: {
            ($0 as? QueueError)?.code == .unknownJob
        }
        try await fixture.expectSound()
    }
}
