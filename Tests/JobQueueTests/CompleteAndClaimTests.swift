import Concurrency
import TestSupport
import Testing

@testable import JobQueue

@Suite("A complete that claims as well", .timeLimit(.minutes(5)))
struct CompleteAndClaimTests {
    /// A worker that holds the first of these URLs' jobs.
    private func scene(_ count: Int, held: Int) async throws -> (QueueFixture, WorkerSession, [Job]) {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<count).map { "http://host/\($0)" })
        let worker = try await fixture.startWorker()
        return (fixture, worker, try await worker.claim(upTo: held))
    }

    @Test func `is one transaction, and one that waits for the disk`() async throws {
        let (fixture, worker, jobs) = try await scene(40, held: 2)
        var held = jobs
        // Sent with their texts first, then kept by the server.
        for round in 0..<5 {
            let turnover = try await worker.complete(held.map { Outcome($0.held, .succeeded) }, claimingUpTo: 2)
            #expect(turnover.completions.map(\.decision) == [.succeeded, .succeeded])
            let completed = held
            held = try #require(turnover.jobs)
            #expect(held.map(\.url) == (0..<2).map { "http://host/\(2 * round + 2 + $0)" })
            let times = try await fixture.value(
                """
                SELECT count(DISTINCT t) FROM (
                    SELECT claimed_at AS t FROM larder_data.running
                    UNION ALL SELECT finished_at FROM larder_data.job_history WHERE job_id = ANY ($1)) AS x
                """, [.integers(completed.map(\.id))])
            #expect(times == "1")
        }
        try await fixture.expectSound()

        let connection = fixture.otherConnection()
        let waits = "SELECT current_setting('synchronous_commit')"
        let claim = "SELECT count(*) FROM larder.claim_v1(\(worker.id), $1, 1)"
        _ = try await connection.rows("BEGIN")
        _ = try await connection.rows("SET LOCAL synchronous_commit = on")
        _ = try await connection.rows(claim, [.integer(1_000)])
        #expect(try await connection.rows(waits) == [["off"]])
        _ = try await connection.rows("ROLLBACK")
        _ = try await connection.rows("BEGIN")
        _ = try await connection.rows("SET LOCAL synchronous_commit = on")
        _ = try await connection.rows(
            "SELECT decision FROM larder.complete_v1($1, $2, $3, '{succeeded}')",
            [.integer(worker.id), .integers([held[0].id]), .integers([held[0].claim])])
        #expect(try await connection.rows(claim, [.integer(1_001)]) == [["1"]])
        #expect(try await connection.rows(waits) == [["on"]])
        _ = try await connection.rows("ROLLBACK")
    }

    @Test func `tells of each outcome whether its claim was held`() async throws {
        let (fixture, worker, jobs) = try await scene(5, held: 3)
        try await worker.release([jobs[1].held])
        let outcomes = [
            Outcome(jobs[0].held, .succeeded), Outcome(jobs[1].held, .succeeded), .unavailable(jobs[2].held),
        ]
        let turnover = try await worker.complete(outcomes, claimingUpTo: 3)
        #expect(turnover.completions.map(\.claim) == jobs.map(\.held))
        #expect(turnover.completions.map(\.decision.name) == ["succeeded", "stale", "retried"])
        #expect(turnover.jobs?.map(\.url) == [jobs[1].url, "http://host/3", "http://host/4"])
        try await fixture.expectSound()
    }

    @Test func `answers busy what somebody joins, and claims all the same`() async throws {
        let (fixture, worker, jobs) = try await scene(3, held: 2)
        let joiner = fixture.otherConnection()
        _ = try await joiner.rows("BEGIN")
        _ = try await joiner.rows("SELECT larder.enqueue($1, batch => 'other')", [.text(jobs[0].url)])
        let turnover = try await worker.complete(jobs.map { Outcome($0.held, .succeeded) }, claimingUpTo: 2)
        #expect(turnover.completions.map(\.decision) == [.busy, .succeeded])
        #expect(turnover.jobs?.count == 1)
        _ = try await joiner.rows("COMMIT")
        let rest = [jobs[0]] + (turnover.jobs ?? [])
        _ = try await worker.settleAll(rest.map { Outcome($0.held, .succeeded) })
        #expect(try await fixture.queue.progress(of: .name("other")).succeeded == 1)
        try await fixture.expectSound()
    }

    @Test func `whose claim is refused completes without it, and the next claim brings what is ready`() async throws {
        let (fixture, worker, jobs) = try await scene(3, held: 1)
        let turnover = try await worker.complete(
            [Outcome(jobs[0].held, .succeeded)], claimingUpTo: 1, from: "no such queue")
        #expect(turnover.completions.map(\.decision) == [.succeeded])
        #expect(turnover.jobs == nil)
        #expect(try await worker.claim(upTo: 2).count == 2)
        try await fixture.expectSound()
    }

    @Test func `that is refused has claimed nothing`() async throws {
        let (fixture, worker, jobs) = try await scene(3, held: 1)
        let twice = [Outcome(jobs[0].held, .succeeded), Outcome(jobs[0].held, .succeeded)]
        await #expect { _ = try await worker.complete(twice, claimingUpTo: 1) } throws: {
            ($0 as? QueueError)?.code == .invalidArgument
        }
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.running") == "1")
        let turnover = try await worker.complete([Outcome(jobs[0].held, .succeeded)], claimingUpTo: 1)
        // The number of the claim that was undone is asked for by a claim of its own.
        #expect(turnover.completions.map(\.decision) == [.succeeded] && turnover.jobs == nil)
        #expect(try await worker.claim(upTo: 2).count == 2)
        try await fixture.expectSound()
    }

    @Test func `whose answer was lost is answered again: the complete as it was, the claim by the next one`()
        async throws
    {
        let (fixture, worker, jobs) = try await scene(4, held: 2)
        let outcomes = jobs.map { Outcome($0.held, .succeeded) }
        let lost = try #require(try await worker.complete(outcomes, claimingUpTo: 2).jobs)
        worker.claims.withLock { $0.unanswered.append(lost[0].claim) }
        let turnover = try await worker.complete(outcomes, claimingUpTo: 2)
        #expect(turnover.completions.map(\.decision) == [.succeeded, .succeeded] && turnover.jobs == nil)
        let again = try await worker.claim(upTo: 1)
        #expect(again.map(\.held) == lost.map(\.held))
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job_history") == "2")
        try await fixture.expectSound()
    }

    @Test func `of a batch claims what the batch wants`() async throws {
        let (fixture, worker, jobs) = try await scene(1, held: 1)
        try await fixture.enqueue(["http://host/other"], batch: "other")
        try await fixture.enqueue(["http://host/next"])
        let batch = try #require(jobs.first?.batch)
        let turnover = try await worker.complete([Outcome(jobs[0].held, .succeeded)], claimingUpTo: 2, ofBatch: batch)
        #expect(turnover.jobs?.map(\.url) == ["http://host/next"])
        try await fixture.expectSound()
    }

    @Test func `goes through a pooler that gives each transaction another session`() async throws {
        let fixture = try await QueueFixture.makePooled()
        try await fixture.enqueue((0..<12).map { "http://host/\($0)" })
        let worker = try await fixture.startWorker()
        let other = fixture.otherConnection()
        var held = try await worker.claim(upTo: 1)
        for round in 0..<10 {
            // The session that keeps the statements by now goes to somebody else, and another comes.
            if round == 4 { _ = try await other.rows("BEGIN") }
            let turnover = try await worker.complete(held.map { Outcome($0.held, .succeeded) }, claimingUpTo: 1)
            #expect(turnover.completions.map(\.decision) == [.succeeded])
            held = try #require(turnover.jobs)
            #expect(held.count == 1)
        }
        _ = try await other.rows("ROLLBACK")
        try await fixture.expectSound()
    }
}
