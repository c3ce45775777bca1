import TestSupport
import Testing

@testable import JobQueue

/// The longest time for which a worker may hold a job.
@Suite(.timeLimit(.minutes(5)))
struct DeadlineTests {
    /// Two jobs of a worker, the first of them claimed so long ago.
    private func claimed(_ age: String, _ fixture: QueueFixture) async throws -> (WorkerSession, [Job]) {
        try await fixture.queue.operations.setQueue("default", jobTimeout: .seconds(1))
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        let slow = try await fixture.startWorker("slow")
        let jobs = try await slow.claim(upTo: 2)
        try await fixture.sql(
            """
            UPDATE larder_data.running SET claimed_at = now() - CASE job_id WHEN \(jobs[0].id) THEN interval '\(age)'
                ELSE interval '-1 min' END
            """)
        return (slow, jobs)
    }

    @Test
    func `a worker that holds a job for longer than its queue allows is told to stop it, and loses it a lease later`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        #expect(try await fixture.value("SELECT job_timeout FROM larder.queue") == "00:10:00")
        let (slow, jobs) = try await claimed("5 s", fixture)
        let heartbeat = try await slow.heartbeat()
        #expect(!heartbeat.leaseExpired)
        #expect(heartbeat.cancelled == [jobs[0].held])
        try await fixture.queue.workers.maintain(force: true)
        let other = try await fixture.startWorker("other")
        #expect(try await other.claim(upTo: 2).isEmpty, "the slow worker may still publish")
        // Maintenance takes a heartbeat of the future for one of this moment.
        try await fixture.sql(
            """
            UPDATE larder_data.worker SET lease_ms = 1000, heartbeat_at = now() + interval '1 min' WHERE id = \(slow.id)
            """)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await other.claim(upTo: 2).map(\.id) == [jobs[0].id])
        #expect(
            try await slow.complete(jobs.map { Outcome($0.held, .succeeded) }).map(\.decision) == [.stale, .succeeded])
        #expect(try await fixture.sql("SELECT rescues, attempt FROM larder_data.job") == [["1", "0"]])
        await #expect {
            try await fixture.queue.operations.setQueue("default", jobTimeout: .milliseconds(999))
        } throws: {
            ($0 as? QueueError)?.code == .invalidArgument
        }
        try await fixture.expectSound()
    }

    @Test func `a job that was stopped for its time is ready again and counts as rescued, up to the limit`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        let (slow, jobs) = try await claimed("5 s", fixture)
        let answer = try await slow.complete(jobs.map { Outcome($0.held, .cancelled) })
        #expect(answer.map(\.decision) == [.retried(after: .zero), .cancelled])
        #expect(try await fixture.sql("SELECT rescues, attempt FROM larder_data.job") == [["1", "0"]])
        // The answer was lost.
        let repeated = try await slow.complete(jobs.map { Outcome($0.held, .cancelled) })
        #expect(repeated.map(\.decision) == answer.map(\.decision))
        #expect(try await fixture.sql("SELECT rescues, attempt FROM larder_data.job") == [["1", "0"]])
        try await fixture.sql("UPDATE larder_data.job SET rescues = 4")
        let job = try #require(try await slow.claim(upTo: 1).first)
        try await fixture.sql("UPDATE larder_data.running SET claimed_at = now() - interval '5 s'")
        _ = try await slow.complete([Outcome(job.held, .cancelled)])
        #expect(try await fixture.sql("SELECT reason FROM larder_data.suspended") == [["crashed"]])
        try await fixture.expectSound()
    }

    @Test(arguments: ["a day", "the deletion of its batch"])
    func `a result that is repeated after a day, or when its batch is deleted, is stale and changes nothing`(
        after: String
    ) async throws {
        let fixture = try await QueueFixture.make()
        let (slow, jobs) = try await claimed("5 s", fixture)
        let outcomes = jobs.map { Outcome($0.held, .cancelled) }
        let first = try await slow.complete(outcomes).map(\.decision)
        #expect(first == [.retried(after: .zero), .cancelled])
        #expect(try await slow.complete(outcomes).map(\.decision) == first)
        if after == "a day" {
            for (table, time) in [("job_attempt", "at"), ("job_history", "finished_at")] {
                _ = try await fixture.addDay(table, daysAgo: 2)
                try await fixture.sql("UPDATE larder_data.\(table) SET \(time) = \(time) - interval '2 days'")
            }
        } else {
            let again = try #require(try await slow.claim(upTo: 1).first)
            _ = try await slow.complete([Outcome(again.held, .succeeded)])
            try await fixture.queue.producer.seal(.name("batch"))
            try await fixture.queue.workers.maintain(force: true)
            try await fixture.queue.operations.delete(.name("batch"))
            try await fixture.queue.workers.maintain(force: true)
            #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch") == "0")
        }
        #expect(try await slow.complete(outcomes).map(\.decision) == [.stale, .stale])
        let live = after == "a day" ? "1" : "0"
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job") == live)
        try await fixture.expectSound()
    }
}
