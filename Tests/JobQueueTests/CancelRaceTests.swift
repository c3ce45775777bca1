import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct CancelRaceTests {
    private func counts(_ fixture: QueueFixture) async throws -> [Int] {
        let progress = try await fixture.queue.reports.progress(of: .name("batch"))
        return [progress.total, progress.open, progress.succeeded, progress.failed, progress.cancelled]
    }

    @Test func `an item whose completion is in progress counts as it ends, and never as cancelled before`() async throws
    {
        let fixture = try await QueueFixture.make()
        // For longer than on every queue, so that a busy machine sees it wait.
        try await fixture.sql("ALTER FUNCTION larder_data.lock_running(bigint) SET lock_timeout = '60s'")
        try await fixture.lookForDeadlocksLate()
        try await fixture.enqueue(["http://a/1", "http://a/2", "http://a/3"])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        let completer = fixture.otherConnection()
        _ = try await completer.rows("BEGIN")
        _ = try await completer.rows(
            "SELECT larder.complete_v1(\(worker.id), '[\(jobs[0].held.succeeded())]')")
        async let open = fixture.queue.producer.cancel(.name("batch"))
        try await fixture.waitUntilSomebodyWaits()
        // Asked over another connection: the queue's own one waits.
        #expect(try await fixture.value("SELECT open FROM larder.progress") == "3")
        _ = try await completer.rows("COMMIT")
        #expect(try await open == 2)
        #expect(try await counts(fixture) == [3, 0, 1, 0, 2])
        #expect(try await worker.completeAll([Outcome(jobs[1].held, .succeeded)]).map(\.decision) == [.succeeded])
        #expect(try await counts(fixture) == [3, 0, 1, 0, 2])
        try await fixture.expectSound()
    }

    @Test func `an open transaction that joins a running job does not delay a cancel, and its batch gets the result`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        let joiner = fixture.otherConnection()
        // A serializable one would leave the URL to maintenance.
        _ = try await joiner.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await joiner.rows("SELECT larder.enqueue('http://a/1', batch => 'other')")
        #expect(try await fixture.queue.producer.cancel(.name("batch")) == 1)
        #expect(try await counts(fixture) == [1, 0, 0, 0, 1])
        _ = try await joiner.rows("COMMIT")
        #expect(try await worker.completeAll([Outcome(job.held, .succeeded)]).map(\.decision) == [.succeeded])
        #expect(try await counts(fixture) == [1, 0, 0, 0, 1])
        #expect(try await fixture.queue.reports.progress(of: .name("other")).succeeded == 1)
        try await fixture.expectSound()
    }
}
