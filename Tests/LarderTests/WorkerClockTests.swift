import TestSupport
import Testing

/// Workers whose wall clock differs from the database's.
@Suite(.timeLimit(.minutes(5)))
struct WorkerClockTests {
    @Test(.enabled(if: SilentDatabaseTests.clockLibrary != nil, "needs libfaketime"), arguments: ["+1d", "-1d"])
    func `a worker whose clock is wrong keeps its lease, and the recorded times are the database's`(step: String)
        async throws
    {
        let scene = try await Scene()
        let urls = try (0..<6).map { try scene.serve("plain.jpg", at: "/\($0).jpg") }
        _ = try await scene.larder(["enqueue", "--batch", "b"] + urls).run()
        var work = scene.larder(["work", "--drain"])
        work.environment["LD_PRELOAD"] = SilentDatabaseTests.clockLibrary
        work.environment["FAKETIME"] = step
        work.environment["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
        let outcome = try await work.run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        let records = "FROM larder_data.job_history WHERE outcome = 1 AND attempt = 1 AND rescues = 0"
        #expect(try await scene.sql("SELECT count(*) \(records)") == "6")
        let recent = "BETWEEN now() - interval '1 h' AND now()"
        #expect(try await scene.sql("SELECT count(*) \(records) AND finished_at \(recent)") == "6")
        let workers = "SELECT count(*) FROM larder_data.worker WHERE rescued_at IS NULL"
        #expect(try await scene.sql("\(workers) AND started_at \(recent) AND heartbeat_at \(recent)") == "1")
        #expect(try await scene.faults() == [])
    }
}
