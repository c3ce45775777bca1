import TestSupport
import Testing

@testable import JobQueue

/// Which heartbeats answer that maintenance is due, and when the next one is.
@Suite(.timeLimit(.minutes(5)))
struct MaintenanceDueTests {
    /// A queue with these workers.
    private func fixture(workers: Int) async throws -> (QueueFixture, [WorkerSession]) {
        let fixture = try await QueueFixture.make(lease: .seconds(3_600))
        var sessions: [WorkerSession] = []
        for number in 1...workers { sessions.append(try await fixture.startWorker("worker \(number)")) }
        return (fixture, sessions)
    }

    @Test func `of several heartbeats one answers that maintenance is due, and later one again`() async throws {
        let (fixture, workers) = try await fixture(workers: 3)
        // On a machine that stands still a second one may be due, so one round is enough.
        for _ in 0..<2 {
            #expect(
                try await reached {
                    var answers: [Bool] = []
                    for worker in workers { answers.append(try await worker.heartbeat().isMaintenanceDue) }
                    return answers.count { $0 } == 1
                })
        }
        try await fixture.expectSound()
    }

    @Test func `an expired lease leaves maintenance to others`() async throws {
        let (fixture, workers) = try await fixture(workers: 2)
        try await fixture.sql(
            "UPDATE larder_data.worker SET rescued_at = clock_timestamp() WHERE id = $1", [.integer(workers[0].id)])
        let reply = try await workers[0].heartbeat()
        #expect(reply.leaseExpired)
        #expect(!reply.isMaintenanceDue)
        #expect(try await reached { try await workers[1].heartbeat().isMaintenanceDue })
    }

    @Test func `a transaction that stays open does not delay other workers' maintenance`() async throws {
        let (fixture, workers) = try await fixture(workers: 2)
        let other = fixture.otherConnection()
        _ = try await other.rows("BEGIN")
        _ = try await other.rows("SELECT larder.heartbeat_v1(\(workers[1].id))")
        for _ in 0..<2 { #expect(try await reached { try await workers[0].heartbeat().isMaintenanceDue }) }
        _ = try await other.rows("ROLLBACK")
    }

    @Test(arguments: [(1, 750), (499, 750), (500, 1_000), (750, 1_250), (1_000, 1_500), (1_000_000, 1_500)])
    func `the more workers a fleet has, the fewer heartbeats each sends`(workers: Int, milliseconds: Int) async throws {
        let (fixture, sessions) = try await fixture(workers: 1)
        try await fixture.sql("UPDATE larder_data.settings SET heartbeat_ms = larder_data.heartbeat_pause(\(workers))")
        #expect(try await sessions[0].heartbeat().pause == .milliseconds(milliseconds))
    }

    @Test func `maintenance sets the pause for the workers that may hold jobs`() async throws {
        let (fixture, sessions) = try await fixture(workers: 2)
        try await fixture.sql(
            """
            CREATE OR REPLACE FUNCTION larder_data.heartbeat_pause(workers bigint) RETURNS int
            LANGUAGE sql IMMUTABLE RETURN 1000 + workers
            """)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await sessions[0].heartbeat().pause == .milliseconds(1_002))
        try await sessions[0].stop()
        // One call ends the worker, the next one counts.
        for _ in 0..<2 { try await fixture.queue.workers.maintain(force: true) }
        #expect(try await sessions[1].heartbeat().pause == .milliseconds(1_001))
    }
}
