import Glibc
import JobQueue
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
        let records = "FROM larder_data.job_history WHERE outcome = 'succeeded' AND attempt = 1 AND rescues = 0"
        #expect(try await scene.sql("SELECT count(*) \(records)") == "6")
        let recent = "BETWEEN now() - interval '1 h' AND now()"
        #expect(try await scene.sql("SELECT count(*) \(records) AND finished_at \(recent)") == "6")
        // One row: a worker that loses its lease starts a second one. Maintenance may mark the row once it has stopped.
        let workers = "SELECT array_agg(started_at \(recent) AND heartbeat_at \(recent)) FROM larder_data.worker"
        #expect(try await scene.sql(workers) == "{t}")
        #expect(try await scene.faults() == [])
    }

    @Test(
        .enabled(if: SilentDatabaseTests.clockLibrary != nil && NginxServer.program != nil, "needs libfaketime, nginx"))
    func `a worker whose clock is past the dates of the only certificate fails no job, and names the clock`()
        async throws
    {
        let scene = try await Scene()
        // Its certificate is valid for two days.
        let server = try NginxServer(tls: true)
        let profiles = scene.directory.file("profiles.json")
        try scene.directory.write(
            #"{"cdn": {"origins": ["\#(server.url(""))"], "authorities": "\#(server.certificate ?? "")"}}"#.utf8,
            to: "profiles.json")
        var request = EnqueueRequest(urls: (0..<20).map { server.url("/\($0).jpg") }, batch: "b")
        request.context = #"{"credentials": "cdn"}"#
        _ = try await scene.queue.producer.enqueue(request)
        var work = scene.larder(["work", "--credentials", profiles])
        work.environment["LARDER_ALLOW_PORT"] = "\(server.port)"
        work.environment["LD_PRELOAD"] = SilentDatabaseTests.clockLibrary
        work.environment["FAKETIME"] = "+10d"
        work.environment["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
        let worker = try work.start()
        #expect(
            await worker.reaches { _ in
                scene.holds("EXISTS (SELECT FROM larder.health WHERE detail LIKE '%clock is 86____ s ahead of%')")
            }, "\(String(decoding: worker.errorsSoFar, as: UTF8.self))")
        worker.signal(SIGTERM)
        #expect(await worker.outcome().code == 0)
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.job WHERE attempt = 0") == "20")
        #expect(try await scene.sql("SELECT count(*) FROM larder_data.blocklist") == "0")
        #expect(try await scene.faults() == [])
    }
}
