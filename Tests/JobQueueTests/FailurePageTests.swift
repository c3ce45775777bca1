import ImageModel
import Testing

@testable import JobQueue

/// Failures of all batches, and what the dashboard shows of the queues.
@Suite(.timeLimit(.minutes(5)))
struct FailurePageTests {
    /// Two batches: five and one jobs that failed, and one item of the first that is no URL.
    private func failed() async throws -> (QueueFixture, WorkerSession) {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        for (batch, urls) in [("one", (1...5).map { "http://a/Red\($0)" } + ["nonsense"]), ("two", ["http://b/blue"])] {
            try await fixture.enqueue(urls, batch: batch)
            for job in try await worker.claim(upTo: 9) {
                _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
            }
        }
        return (fixture, worker)
    }

    private func all(
        _ fixture: QueueFixture, _ filter: FailureFilter = FailureFilter(), limit: Int = 2
    ) async throws -> [String] {
        var urls: [String] = []
        var position: FailurePage.Position? = .start
        while let after = position {
            let page = try await fixture.queue.reports.failures(matching: filter, after: after, limit: limit)
            #expect(page.failures.count <= limit)
            urls += page.failures.map(\.url)
            position = page.next
        }
        return urls
    }

    @Test func `pages have each failure once, the newest first, and a filter those that match`() async throws {
        let (fixture, _) = try await failed()
        let urls = try await all(fixture)
        #expect(urls.first == "http://b/blue")
        #expect(urls.count == 7)
        #expect(Set(urls).count == 7)
        let one = try await fixture.queue.reports.progress(of: .name("one")).id
        #expect(try await Set(all(fixture, FailureFilter(batch: one))) == Set(urls.dropFirst()))
        #expect(try await all(fixture, FailureFilter(origin: "b")) == ["http://b/blue"])
        #expect(try await all(fixture, FailureFilter(text: "rED")).count == 5)
        let error = FailureCode(domain: FailureCode.Domain.webImage, code: 1001)
        #expect(try await all(fixture, FailureFilter(error: error)).count == 6)
        #expect(try await all(fixture, FailureFilter(batch: one, text: "blue")).isEmpty)
        for wrong in ["", "1", "1.x", "1.2.3"] { #expect(FailurePage.Position(text: wrong) == nil) }
        let position = FailurePage.Position(time: 1, number: -2)
        #expect(FailurePage.Position(text: position.text) == position)
    }

    @Test func `a failure is discarded alone, and only a failure`() async throws {
        let (fixture, worker) = try await failed()
        let found = try await fixture.queue.reports.failures(matching: FailureFilter(text: "blue"), limit: 9).failures
        let job = try #require(found.first?.job)
        let two = try await fixture.queue.reports.progress(of: .name("two")).id
        #expect(try await fixture.queue.reports.hasFailures(two))
        #expect(try await fixture.queue.producer.discard(job: job) == 1)
        #expect(try await fixture.queue.producer.discard(job: job) == 0)
        #expect(try await !fixture.queue.reports.hasFailures(two))
        #expect(try await fixture.queue.reports.errors(of: [two]).map(\.items) == [1], "it still counts")
        #expect(try await fixture.queue.producer.retryFailed(of: .id(two)) == 0)
        try await fixture.enqueue(["http://c/1"], batch: "three")
        let good = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(good.held, .succeeded)])
        for wrong in [good.id, 99_999] {
            await #expect { try await fixture.queue.producer.discard(job: wrong) } throws: {
                ($0 as? QueueError)?.code == .unknownJob
            }
        }
        try await fixture.expectSound()
    }

    @Test func `the depth in the past is the present one less what changed, retries included`() async throws {
        let (fixture, _) = try await failed()
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.sql("UPDATE larder_data.throughput SET at = at - interval '10 min'")
        try await fixture.enqueue(["http://d/1", "http://d/2"], batch: "four")
        #expect(try await fixture.queue.producer.retryAllFailed(of: .name("one")) == 5)
        for isFolded in [false, true] {
            if isFolded { try await fixture.sql("SELECT larder_data.run_task('counts')") }
            let slots = try await fixture.queue.reports.history(minutes: 60, slot: 1)
            #expect(slots.count == 60)
            #expect(slots.map(\.open).max() == 7)
            #expect(slots.last?.open == 7)
            #expect(slots.dropLast(3).allSatisfy { $0.open == 0 }, "\(slots.map(\.open))")
            #expect(slots.reduce(0) { $0 + $1.failed } == 7)
            #expect(slots.reduce(0) { $0 + $1.enqueued } == 9)
        }
        let overview = try await fixture.queue.reports.overview()
        #expect(overview.open == 7)
        #expect(overview.failedInDay == 7)
        #expect(overview.liveWorkers == 1)
        let origins = try await fixture.queue.reports.originActivity()
        #expect(origins.map(\.failed) == [5, 1])
        #expect(origins.first?.error?.code == 1001)
    }
}
