import TestSupport
import Testing

@testable import JobQueue

/// What a heartbeat answers as due.
@Suite(.timeLimit(.minutes(5)))
struct DueCallTests {
    private static let all = Set(DueCall.allCases)

    /// A queue with these workers, in which it is time to look for everything, and not again for an hour.
    private func fixture(workers: Int) async throws -> (QueueFixture, [WorkerSession]) {
        let fixture = try await QueueFixture.make(lease: .seconds(3_600))
        var sessions: [WorkerSession] = []
        for number in 1...workers { sessions.append(try await fixture.startWorker("worker \(number)")) }
        try await fixture.sql("UPDATE larder_data.task SET every = '1 h' WHERE kind = 'look'")
        try await fixture.sql("UPDATE larder_data.maintenance SET next_at = '-infinity'")
        return (fixture, sessions)
    }

    @Test func `of several heartbeats one answers that a call is due`() async throws {
        let (fixture, workers) = try await fixture(workers: 3)
        #expect(try await workers[0].heartbeat(handling: [.urgent, .end]).due == [.urgent])
        #expect(try await workers[1].heartbeat(handling: Self.all).due == Self.all.subtracting([.urgent, .end]))
        #expect(try await workers[2].heartbeat(handling: Self.all).due == [])
        try await fixture.expectSound()
    }

    @Test func `a heartbeat that asks for nothing leaves all calls to others`() async throws {
        let (fixture, workers) = try await fixture(workers: 1)
        #expect(try await workers[0].heartbeat().due == [])
        #expect(try await workers[0].heartbeat(handling: Self.all).due == Self.all.subtracting([.end]))
        try await fixture.expectSound()
    }

    @Test func `each heartbeat answers that origins are to be read while one is held`() async throws {
        let (fixture, workers) = try await fixture(workers: 2)
        #expect(try await workers[0].heartbeat(handling: [.origins]).due == [.origins], "ended holds are deleted")
        #expect(try await workers[0].heartbeat(handling: [.origins]).due == [])
        try await fixture.queue.holdOrigin("http://a", for: .seconds(3_600))
        for worker in workers + workers {
            #expect(try await worker.heartbeat(handling: Self.all).due.contains(.origins))
            #expect(try await worker.heartbeat(handling: [.routine]).due == [])
        }
    }

    @Test func `an expired lease makes no call due, and leaves it to others`() async throws {
        let (fixture, workers) = try await fixture(workers: 2)
        try await fixture.sql(
            "UPDATE larder_data.worker SET rescued_at = clock_timestamp() WHERE id = $1", [.integer(workers[0].id)])
        let reply = try await workers[0].heartbeat(handling: Self.all)
        #expect(reply.leaseExpired && reply.due.isEmpty)
        #expect(try await workers[1].heartbeat(handling: [.urgent]).due == [.urgent])
    }

    @Test(arguments: [(1, 750), (499, 750), (500, 1_000), (750, 1_250), (1_000, 1_500), (1_000_000, 1_500)])
    func `the more workers a fleet has, the fewer heartbeats each sends`(workers: Int, milliseconds: Int) async throws {
        let (fixture, sessions) = try await fixture(workers: 1)
        try await fixture.sql("UPDATE larder_data.server SET heartbeat_ms = larder_data.heartbeat_pause(\(workers))")
        #expect(try await sessions[0].heartbeat().pause == .milliseconds(milliseconds))
    }

    @Test func `maintenance sets the pause for the workers that may hold jobs`() async throws {
        let (fixture, sessions) = try await fixture(workers: 2)
        try await fixture.sql(
            """
            CREATE OR REPLACE FUNCTION larder_data.heartbeat_pause(workers bigint) RETURNS int
            LANGUAGE sql IMMUTABLE RETURN 1000 + workers
            """)
        let due = "SELECT larder_data.has_routine_work('workers')"
        #expect(try await fixture.value(due) == "t")
        try await fixture.queue.maintain(force: true)
        #expect(try await sessions[0].heartbeat().pause == .milliseconds(1_002))
        #expect(try await fixture.value(due) == "f")
        try await sessions[0].stop()
        // One call ends the worker, the next one counts.
        for _ in 0..<2 { try await fixture.queue.maintain(force: true) }
        #expect(try await sessions[1].heartbeat().pause == .milliseconds(1_001))
    }

    @Test(arguments: ["'nonsense'", "'urgent', NULL"])
    func `an unknown kind of work is refused`(kinds: String) async throws {
        let (fixture, workers) = try await fixture(workers: 1)
        await #expect {
            try await fixture.sql(
                "SELECT larder.heartbeat_v1(\(workers[0].id), handles => ARRAY[\(kinds)]::text[])")
        } throws: {
            ($0 as? QueueError)?.sqlState == "22023"
        }
    }

    @Test func `a transaction that stays open keeps no call from others for longer than a second`() async throws {
        let (fixture, workers) = try await fixture(workers: 2)
        let other = fixture.otherConnection()
        _ = try await other.rows("BEGIN")
        _ = try await other.rows("SELECT larder.heartbeat_v1(\(workers[1].id), handles => '{urgent}')")
        for _ in 0..<2 {
            #expect(try await workers[0].heartbeat(handling: [.urgent]).due == [.urgent], "a second late, and locked")
        }
        _ = try await other.rows("ROLLBACK")
        #expect(try await workers[0].heartbeat(handling: [.urgent]).due == [.urgent])
        #expect(try await workers[0].heartbeat(handling: [.urgent]).due == [])
    }

    @Test func `a heartbeat does not wait for a locked table of the tasks`() async throws {
        let (fixture, workers) = try await fixture(workers: 1)
        let other = fixture.otherConnection()
        _ = try await other.rows("BEGIN")
        _ = try await other.rows("LOCK TABLE larder_data.maintenance IN ACCESS EXCLUSIVE MODE")
        let reply = try await workers[0].heartbeat(handling: Self.all)
        #expect(reply.due.isEmpty && !reply.leaseExpired)
        _ = try await other.rows("ROLLBACK")
        #expect(try await workers[0].heartbeat(handling: [.urgent]).due == [.urgent])
    }
}
