import Foundation
import TestSupport
import Testing

/// The database connections of `larder work`.
@Suite(.timeLimit(.minutes(10)))
struct WorkConnectionTests {
    @Test(arguments: [(isPooled: false, listens: false), (true, false), (false, true)])
    func `a worker keeps two connections after it has worked, and one more for its probes`(
        isPooled: Bool, listens: Bool
    ) async throws {
        let scene = try await Scene()
        let list = try (0..<40).map { try scene.serve("plain.jpg", at: "/\($0).jpg") }.joined(separator: "\n")
        #expect(try await scene.larder("enqueue", "--from", "-", input: list.utf8).code == 0)
        var command = scene.larder(["work", "--slots", "4"] + (listens ? ["--listen", "127.0.0.1:0"] : []))
        let url = isPooled ? try await scene.database.pooledURL : scene.database.url
        command.environment["LARDER_DATABASE_URL"] = url + "&application_name=counted"
        let worker = try command.start()
        #expect(try await reached { try await scene.sql("SELECT count(*) FROM larder_data.job_history") == "40" })
        // Every kind of its calls has been made: the rarest is the call for schedules.
        let registered = "SELECT extract(epoch FROM now() - started_at) > 6 FROM larder.worker WHERE state = 'live'"
        #expect(try await reached { try await scene.sql(registered) == "t" })
        #expect(
            try await reached {
                let count = try await scene.sql(
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'counted'
                    """)
                return (listens ? ["3"] : ["1", "2"]).contains(count)
            })
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
    }

    @Test func `a worker whose login may open three connections does its work`() async throws {
        let scene = try await Scene()
        let list = try (0..<40).map { try scene.serve("plain.jpg", at: "/\($0).jpg") }.joined(separator: "\n")
        #expect(try await scene.larder("enqueue", "--from", "-", input: list.utf8).code == 0)
        let login = "larder_test_" + String(UInt64.random(in: 0 ... .max), radix: 36)
        _ = try await scene.sql(
            "CREATE ROLE \(login) LOGIN PASSWORD '\(login)' CONNECTION LIMIT 3 IN ROLE larder_worker")
        var command = scene.larder(["work", "--slots", "4", "--drain"])
        command.environment["LARDER_DATABASE_URL"] = scene.database.url + "&user=\(login)&password=\(login)"
        let outcome = try await command.run()
        #expect(outcome.code == 0, "\(outcome.errorText)")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job_history WHERE outcome = 'succeeded'") == "40")
        #expect(try await scene.faults().isEmpty)
    }
}
