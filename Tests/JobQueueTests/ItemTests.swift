import TestSupport
import Testing

@testable import JobQueue

/// Items that wait for a job which another call enqueued.
@Suite(.timeLimit(.minutes(5)))
struct ItemTests {
    private let again = "on_running => 'again'"

    private func outcomes(_ fixture: QueueFixture) async throws -> [[String?]] {
        try await fixture.sql(
            """
            SELECT batch, state, succeeded, failed, cancelled, open FROM larder.progress WHERE batch IN ('a', 'b', 'c')
            ORDER BY batch
            """)
    }

    @Test func `items of a running job that is cancelled end with it`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'a')")
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'b')")
        let worker = try await fixture.workerBySQL()
        let jobs = try await fixture.claimBySQL(worker, 1)
        #expect(try await fixture.value("SELECT larder.cancel(\(jobs[0]))") == "requested")
        #expect(try await fixture.completeBySQL(worker, 1, jobs, #""result": "cancelled""#) == ["cancelled"])
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job_item") == "0")
        try await fixture.sql("SELECT larder.batch_seal('a'), larder.batch_seal('b')")
        try await fixture.expectServing()
        let over = ["finished", "0", "0", "1", "0"]
        #expect(try await outcomes(fixture) == [["a"] + over, ["b"] + over])
    }

    @Test func `an item that comes while its job ends as cancelled gets a new job`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'a')")
        let producer = fixture.otherConnection()
        _ = try await producer.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await producer.rows("SELECT FROM larder.enqueue('http://h/1', batch => 'b')")
        try await fixture.sql("SELECT larder.cancel(id) FROM larder_data.job")
        _ = try await producer.rows("COMMIT")
        await producer.close()
        try await fixture.expectServing()
        let worker = try await fixture.workerBySQL()
        let jobs = try await fixture.claimBySQL(worker, 1)
        #expect(try await fixture.completeBySQL(worker, 1, jobs) == ["succeeded"])
        try await fixture.expectServing()
        #expect(
            try await outcomes(fixture) == [["a", "open", "0", "0", "1", "0"], ["b", "open", "1", "0", "0", "0"]])
    }

    @Test func `a URL that is enqueued again while it runs is loaded again, at its time`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'a')")
        let worker = try await fixture.workerBySQL()
        let jobs = try await fixture.claimBySQL(worker, 1)
        let later = "at => now() + interval '1 h'"
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'b', \(again), \(later))")
        #expect(try await fixture.completeBySQL(worker, 1, jobs) == ["succeeded"])
        try await fixture.expectServing()
        let waiting = "SELECT batch, state, due > now() + interval '59 min' FROM larder.waiting"
        #expect(try await fixture.sql(waiting) == [["b", "scheduled", "t"]])
        // One that is wanted at once brings it forward.
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'c')")
        for _ in 1...2 { try await fixture.sql("SELECT FROM larder.maintain(true)") }
        let second = try await fixture.claimBySQL(worker, 2)
        #expect(second != jobs)
        #expect(try await fixture.completeBySQL(worker, 2, second) == ["succeeded"])
        try await fixture.expectServing()
        let once = ["open", "1", "0", "0", "0"]
        #expect(try await outcomes(fixture) == [["a"] + once, ["b"] + once, ["c"] + once])
    }

    @Test func `an item with not_after ends no job that has none`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('http://h/1', batch => 'a')")
        try await fixture.sql(
            "SELECT FROM larder.enqueue('http://h/1', batch => 'b', priority => 0, not_after => now() - interval '1 s')"
        )
        try await fixture.expectServing()
        #expect(try await fixture.sql("SELECT priority, not_after IS NULL FROM larder_data.job") == [["0", "t"]])
        #expect(try await fixture.claimBySQL(try await fixture.workerBySQL(), 1).count == 1)
    }

    @Test func `items past their not_after end as cancelled without a run`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql(
            """
            SELECT FROM larder.enqueue_many('{http://h/1,http://h/2}', batch => 'a', at => now() + interval '1 h',
                not_after => now() - interval '1 s')
            """)
        try await fixture.sql("SELECT larder.batch_seal('a')")
        try await fixture.expectServing()
        #expect(try await outcomes(fixture) == [["a", "finished", "0", "0", "2", "0"]])
    }

    @Test func `a claim of a batch that has a job several times takes it once`() async throws {
        let fixture = try await QueueFixture.make()
        for _ in 1...3 {
            try await fixture.sql("SELECT FROM larder.enqueue_many('{http://h/1,http://h/2,http://h/3}', batch => 'a')")
        }
        try await fixture.sql("SELECT larder.origin_limit('http://h', 1)")
        let worker = try await fixture.workerBySQL()
        let claim = "SELECT job_id FROM larder.claim_v1(\(worker), 1, 10, only_batch => 'a')"
        #expect(try await fixture.sql(claim).count == 1)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.scheduled") == "2")
        try await fixture.sql("SELECT larder.batch_pause('a')")
        try await fixture.sql("SELECT larder.origin_limit('http://h')")
        try await fixture.expectServing()
    }
}
