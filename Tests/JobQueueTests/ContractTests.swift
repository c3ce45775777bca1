import Testing

@testable import JobQueue

/// Names, ids and errors that SQL callers rely on.
@Suite(.timeLimit(.minutes(5)))
struct ContractTests {
    @Test func `one job is cancelled and retried by the argument named job`() async throws {
        let fixture = try await QueueFixture.make()
        let job = try #require(try await fixture.enqueue(["http://a/1"])[0].job)
        #expect(try await fixture.value("SELECT larder.retry(job => \(job))") == "\(job)")
        #expect(try await fixture.value("SELECT larder.cancel(job => \(job))") == "cancelled")
    }

    @Test(arguments: [
        "larder.enqueue('http://a/1', max_attempts => 100000)", "larder.enqueue('http://a/1', max_attempts => 0)",
        "larder.enqueue('http://a/1', priority => 100000)", "larder.batch_open(priority => 100000)",
        "larder.enqueue('http://a/1', retry_base => '-1000 years')",
        "larder.batch_reprioritize_portion('batch', 100000)",
        "larder.batch_reprioritize_portion('batch', NULL)", "larder.queue_set('q', low_priority_every => 100000)",
    ])
    func `an argument out of range is refused as such`(call: String) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/0"])
        await #expect { try await fixture.sql("SELECT \(call)") } throws: { ($0 as? QueueError)?.sqlState == "22023" }
    }

    @Test func `a worker's cache is shown by the id that the worker gave`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.startWorker("without")
        _ = try await fixture.queue.workers.start(
            WorkerDescription(name: "with", host: "test", processID: 1, version: "test", slots: 8, cacheID: "c0ffee"))
        #expect(
            try await fixture.sql("SELECT name, cache_id FROM larder.worker ORDER BY name")
                == [["with", "c0ffee"], ["without", nil]])
    }

    @Test func `a retry does not lower the present minute's throughput`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        _ = try await worker.complete(jobs.map { Outcome($0.held, .failed(.notAnImage)) })
        try await fixture.queue.workers.maintain(force: true)
        // As if that had been long ago.
        try await fixture.sql("UPDATE larder_data.throughput SET at = at - interval '1 hour'")
        #expect(try await fixture.queue.producer.retryFailed(of: .name("batch")) == 2)
        let lowest = "SELECT min(least(failed, finished, items_per_second)) FROM larder.throughput"
        #expect(try await fixture.value(lowest).flatMap { Double($0) } == 0)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value(lowest).flatMap { Double($0) } == 0)
    }

    @Test func `health reports a batch that was not sealed, after a day without new URLs`() async throws {
        let fixture = try await QueueFixture.make()
        let found = "SELECT detail FROM larder.health WHERE what = 'a batch is not sealed'"
        func age() async throws {
            try await fixture.sql("UPDATE larder_data.batch SET created_at = created_at - interval '25 h'")
            try await fixture.sql("UPDATE larder_data.batch_total SET folded_at = folded_at - interval '25 h'")
        }
        try await fixture.enqueue(["http://a/1"], batch: "killed")
        try await fixture.enqueue(["http://a/2"], batch: "at work")
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value(found) == nil)
        try await age()
        let detail = try #require(try await fixture.value(found))
        #expect(detail.hasPrefix(#"1, for example "killed""#))
        // A new URL ends the finding at once, whether its counts are folded or not.
        try await fixture.enqueue(["nothing"], batch: "killed")
        #expect(try await fixture.value(found) == nil)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value(found) == nil)
        try await age()
        #expect(try await fixture.value(found) != nil)
        try await fixture.queue.producer.seal(.name("killed"))
        #expect(try await fixture.value(found) == nil)
    }
}
