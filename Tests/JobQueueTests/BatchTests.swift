import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct BatchTests {
    @Test func `a batch is finished once it is sealed and nothing is open, and only then`() async throws {
        let fixture = try await QueueFixture.make()
        let id = try await fixture.queue.producer.openBatch(name: "batch", priority: 7)
        #expect(try await fixture.queue.producer.openBatch(name: "batch") == id)
        try await fixture.enqueue(["http://a/1", "http://a/1", "nothing"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 9).first)
        #expect(job.priority == 7)
        func state() async throws -> BatchProgress.State {
            try await fixture.queue.workers.maintain(force: true)
            return try await fixture.queue.reports.progress(of: .id(id)).state
        }
        #expect(try await state() == .open)
        try await fixture.queue.producer.seal(.id(id))
        #expect(try await state() == .sealed)
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        #expect(try await state() == .finished)
        let finished = try await fixture.value("SELECT finished_at IS NOT NULL FROM larder_data.batch")
        #expect(finished == "t")
        let progress = try await fixture.queue.reports.progress(of: .id(id))
        #expect(progress.total == 3)
        #expect(progress.finished == 3)
        #expect(progress.skipped == 1)
        #expect(progress.percent == 100)
        await #expect { try await fixture.enqueue(["http://a/9"], batch: "\(id)") } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        try await fixture.expectSound()
    }

    @Test func `an empty sealed batch is finished with nothing in it`() async throws {
        let fixture = try await QueueFixture.make()
        let id = try await fixture.queue.producer.openBatch(name: nil)
        #expect(try await fixture.queue.producer.openBatch(name: nil) != id)
        try await fixture.enqueue([], batch: "other")
        try await fixture.queue.producer.seal(.id(id))
        let progress = try await fixture.queue.reports.progress(of: .id(id))
        #expect(progress.state == .finished)
        #expect(progress.total == 0)
        #expect(progress.percent == 100)
        await #expect { try await fixture.queue.reports.progress(of: .name("none")) } throws: {
            ($0 as? QueueError)?.code == .unknownBatch
        }
    }

    @Test
    func `sealing does not wait for a transaction that still adds, and the batch is not finished before its end`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        let id = try await fixture.queue.producer.openBatch(name: "batch")
        let adder = fixture.otherConnection()
        _ = try await adder.rows("BEGIN")
        _ = try await adder.rows("SELECT * FROM larder.enqueue('http://a/1', batch => 'batch')")
        try await fixture.queue.producer.seal(.id(id))
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT finished_at IS NULL FROM larder_data.batch") == "t")
        _ = try await adder.rows("COMMIT")
        try await fixture.queue.workers.maintain(force: true)
        let progress = try await fixture.queue.reports.progress(of: .id(id))
        #expect(progress.total == 1)
        #expect(progress.open == 1)
        #expect(progress.state == .sealed)
        try await fixture.expectSound()
    }

    @Test func `progress is the same before, while and after the ledger is folded`() async throws {
        let fixture = try await QueueFixture.make()
        for _ in 0..<5 { try await fixture.enqueue(["http://a/1", "nothing"]) }
        let folder = fixture.otherConnection()
        func total() async throws -> [Int] {
            let progress = try await fixture.queue.reports.progress(of: .name("batch"))
            return [progress.total, progress.open, progress.failed, progress.joined]
        }
        #expect(try await total() == [10, 5, 5, 4])
        _ = try await folder.rows("BEGIN")
        #expect(try await folder.rows("SELECT larder_data.run_task('counts')") == [["10"]])
        #expect(try await total() == [10, 5, 5, 4])
        _ = try await folder.rows("COMMIT")
        #expect(try await total() == [10, 5, 5, 4])
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch_delta") == "0")
        try await fixture.expectSound()
    }

    @Test func `a batch ended when its last item did, before maintenance has run and after`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2"], batch: "done")
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        _ = try await worker.complete(jobs.map { Outcome($0.held, .succeeded) })
        try await fixture.enqueue(["http://a/3"], batch: "cancelled")
        for batch in ["done", "cancelled"] { try await fixture.queue.producer.seal(.name(batch)) }
        try await fixture.queue.producer.cancel(.name("cancelled"))
        let ends = """
            SELECT batch, finished_at, seconds, rate FROM larder.progress
            WHERE finished_at BETWEEN created_at AND now() - interval '1 h' ORDER BY batch
            """
        // As if all of it had been an hour and a half ago.
        for column in ["batch.created_at", "batch.sealed_at", "batch.cancelled_at", "batch_delta.at"] {
            let (table, name) = (column.split(separator: ".")[0], column.split(separator: ".")[1])
            try await fixture.sql("UPDATE larder_data.\(table) SET \(name) = \(name) - interval '90 min'")
        }
        let before = try await fixture.sql(ends)
        #expect(before.map { $0[0] } == ["cancelled", "done"])
        for _ in 0..<2 { try await fixture.queue.workers.maintain(force: true) }
        #expect(try await fixture.value("SELECT count(finished_at) FROM larder_data.batch") == "2")
        #expect(try await fixture.sql(ends) == before)
        #expect(try await fixture.sql("SELECT FROM larder_data.batch_delta").isEmpty)
        try await fixture.expectSound()
    }

    @Test func `remaining jobs are counted as ready, running and scheduled, of one batch and of all`() async throws {
        let fixture = try await QueueFixture.make()
        let one = try await fixture.queue.producer.openBatch(name: "one")
        let two = try await fixture.queue.producer.openBatch(name: "two")
        #expect(try await fixture.queue.reports.remaining().isDrained)
        try await fixture.enqueue(["http://a/1"], batch: "one")
        try await fixture.enqueue(["http://a/2"], batch: "two") { $0.start = .after(.seconds(1_000)) }
        var left = try await fixture.queue.reports.remaining(of: one)
        #expect(left.hasReady)
        #expect(!left.hasRunning)
        #expect(left.nextDue == nil)
        left = try await fixture.queue.reports.remaining(of: two)
        #expect(!left.hasReady)
        #expect(!left.hasRunning)
        #expect(left.nextDue.map { $0 > .seconds(500) } == true)
        let worker = try await fixture.startWorker()
        _ = try await worker.claim(upTo: 9)
        left = try await fixture.queue.reports.remaining()
        #expect(!left.hasReady)
        #expect(left.hasRunning)
        #expect(left.nextDue != nil)
        #expect(!left.isDrained)
        // A follower's jobs are its own as well.
        try await fixture.enqueue(["http://a/1"], batch: "two")
        #expect(try await fixture.queue.reports.remaining(of: two).hasRunning)
    }

    @Test func `a queue's remaining jobs exclude other queues, and none is ready while it is paused`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("INSERT INTO larder_data.queue (name) VALUES ('slow')")
        try await fixture.sql("SELECT larder.enqueue('http://a/1', batch => 'batch', queue => 'slow')")
        #expect(try await fixture.queue.reports.remaining().isDrained)
        #expect(try await fixture.queue.reports.remaining(queue: "slow").hasReady)
        let batch = try await fixture.queue.reports.progress(of: .name("batch")).id
        #expect(try await fixture.queue.reports.remaining(of: batch).hasReady)
        try await fixture.sql("UPDATE larder_data.queue SET paused_at = now() WHERE name = 'slow'")
        #expect(try await fixture.queue.reports.remaining(queue: "slow").isDrained)
        #expect(try await fixture.queue.reports.remaining(of: batch).isDrained)
        try await fixture.sql("UPDATE larder_data.queue SET paused_at = NULL WHERE name = 'slow'")
        _ = try await fixture.startWorker().claim(upTo: 1, from: "slow")
        #expect(try await fixture.queue.reports.remaining(queue: "slow").hasRunning)
        #expect(try await fixture.queue.reports.remaining().isDrained)
        await #expect { try await fixture.queue.reports.remaining(queue: "none") } throws: {
            ($0 as? QueueError)?.code == .unknownQueue
        }
    }

    @Test func `a queue that slept past its partitions makes them itself`() async throws {
        let fixture = try await QueueFixture.make()
        let parts = try await fixture.sql(
            "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'larder_data.job_history'::regclass")
        #expect(parts.count == 37)
        for part in parts {
            try await fixture.sql("DROP TABLE \(part[0] ?? "")")
        }
        try await fixture.enqueue(["http://a/1", "nothing"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        #expect(try await worker.complete([Outcome(job.held, .succeeded)]).map(\.decision) == [.succeeded])
        try await fixture.expectSound()
    }
}
