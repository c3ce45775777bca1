import TestSupport
import Testing

@testable import JobQueue

/// The longest time for which a worker may hold a job.
@Suite(.timeLimit(.minutes(5)))
struct DeadlineTests {
    @Test func `a worker that holds a job for longer than its queue allows loses it, however well it heartbeats`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        #expect(try await fixture.value("SELECT job_timeout FROM larder.queue") == "00:10:00")
        try await fixture.queue.setQueue("default", jobTimeout: .seconds(1))
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        let slow = try await fixture.startWorker("slow")
        let jobs = try await slow.claim(upTo: 2)
        try await fixture.sql(
            "UPDATE larder_data.running SET claimed_at = now() - interval '2 s' WHERE job_id = \(jobs[0].id)")
        // The server has been up for longer than that.
        try #require(
            await reached { try await fixture.value("SELECT larder_data.up_since() < now() - interval '1 s'") == "t" })
        #expect(try await slow.heartbeat().leaseExpired == false)
        try await fixture.sql("UPDATE larder_data.running SET claimed_at = now() WHERE job_id = \(jobs[1].id)")
        try await fixture.queue.maintain(force: true)
        let other = try await fixture.startWorker("other")
        #expect(try await other.claim(upTo: 2).map(\.id) == [jobs[0].id])
        #expect(
            try await slow.complete(jobs.map { Outcome($0.held, .succeeded) }).map(\.decision) == [.stale, .succeeded])
        #expect(try await fixture.sql("SELECT rescues, attempt FROM larder_data.job") == [["1", "0"]])
        await #expect { try await fixture.queue.setQueue("default", jobTimeout: .milliseconds(999)) } throws: {
            ($0 as? QueueError)?.code == .invalidArgument
        }
        try await fixture.expectSound()
    }
}
