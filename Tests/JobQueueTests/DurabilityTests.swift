import TestSupport
import Testing

@testable import JobQueue

/// A completion is on disk before it is answered, whatever else its transaction calls.
@Suite(.timeLimit(.minutes(5)))
struct DurabilityTests {
    private static let neighbours = [
        "larder.heartbeat_v1($, 1)", "larder.worker_fault_v1($, 'no memory')", "larder.claim_v1($, 2, 1)",
        "larder.origin_report_v1('{http://a:80}', '{retry-after}', '{1000}', worker => $)",
        "larder.origin_holds_v1()", "larder.worker_stop_v1($)",
    ]

    /// The setting at the end of a transaction of these calls; `complete` completes the only job. Of a session that
    /// waits for the disk, which the server of the tests does not. `silence`: since the last heartbeat; by default it is
    /// recent, however slow the test.
    private func setting(of calls: [String], after silence: String = "-1 min") async throws -> String? {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('http://a/1', batch => 'b')")
        let worker = try await fixture.workerBySQL()
        let jobs = try await fixture.claimBySQL(worker, 1)
        try await fixture.sql("UPDATE larder_data.worker SET heartbeat_at = clock_timestamp() - interval '\(silence)'")
        try await fixture.sql("BEGIN ISOLATION LEVEL READ COMMITTED")
        try await fixture.sql("SET LOCAL synchronous_commit = on")
        for call in calls {
            if call == "complete" {
                #expect(try await fixture.completeBySQL(worker, 1, jobs) == ["succeeded"])
            } else {
                try await fixture.sql("SELECT \(call.replacing("$", with: worker))")
            }
        }
        let setting = try await fixture.value("SHOW synchronous_commit")
        try await fixture.sql("COMMIT")
        try await fixture.expectServing()
        return setting
    }

    @Test(arguments: neighbours.dropLast())
    func `no call before a completion makes its commit skip the disk`(call: String) async throws {
        #expect(try await setting(of: [call, "complete"]) == "on")
    }

    @Test(arguments: neighbours)
    func `no call after a completion makes its commit skip the disk`(call: String) async throws {
        #expect(try await setting(of: ["complete", call]) == "on")
        #expect(try await setting(of: [call, "complete", call].suffix(call.contains("stop") ? 2 : 3)) == "on")
    }

    @Test(arguments: [neighbours[0], neighbours[2], neighbours[5]])
    func `a call alone does not wait for the disk`(call: String) async throws {
        #expect(try await setting(of: [call]) == "off")
    }

    @Test func `a late heartbeat waits for the disk`() async throws {
        #expect(try await setting(of: [Self.neighbours[0]], after: "5 s") == "on")
    }
}
