import Concurrency
import TestSupport
import Testing

@testable import JobQueue

/// A login that may open fewer connections than a worker uses.
///
/// Behind a pooler the limit counts the pooler's sessions. A call that is ended leaves one that still counts, so the
/// server may refuse the pooler the next one, and pgbouncer then refuses all calls of the login for 15 s.
@Suite(.enabled(if: !TemporaryDatabase.isPooled, "the pooler meets the limit"), .timeLimit(.minutes(5)))
struct ConnectionLimitTests {
    @Test(arguments: [1, 3])
    func `a worker of a login with a connection limit keeps its lease and does its work`(limit: Int) async throws {
        let fixture = try await QueueFixture.make()
        let queue = try await fixture.login("larder_worker", "CONNECTION LIMIT \(limit)")
        let urls = (0..<20).map { "http://a/\($0)" }
        try await fixture.enqueue(urls)
        let worker = try await queue.workers.start(
            WorkerDescription(name: "limited", host: "test", processID: 1, version: "test", slots: 20))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for kind in [MaintenanceKind.urgent, .routine] {
                group.addTask { for _ in 0..<10 { try await queue.workers.maintain(kind, force: true) } }
            }
            group.addTask {
                for _ in 0..<10 {
                    let reply = try await worker.heartbeat()
                    #expect(!reply.leaseExpired)
                }
            }
            group.addTask {
                var done = 0
                while done < urls.count {
                    let jobs = try await worker.claim(upTo: 5)
                    done += try await worker.complete(jobs.map { Outcome($0.held, .succeeded) }).count
                }
            }
            try await group.waitForAll()
        }
        try await worker.stop()
        await queue.close()
        try await fixture.expectSound()
    }

    @Test func `a heartbeat ends maintenance that holds the only connection of a login`() async throws {
        let fixture = try await QueueFixture.make(lease: .seconds(3_600))
        let queue = try await fixture.login("larder_worker", "CONNECTION LIMIT 1")
        let worker = try await queue.workers.start(
            WorkerDescription(name: "limited", host: "test", processID: 1, version: "test", slots: 1))
        let ended = Locked(false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                await #expect(throws: QueueError.self) {
                    try await queue.connection(for: .schedule).rows("SELECT pg_sleep(600)")
                }
                ended.withLock { $0 = true }
            }
            let sleeping =
                "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_sleep(600)' AND state = 'active'"
            try #require(
                try await reached { try await fixture.value(sleeping + " AND datname = current_database()") == "1" })
            #expect(await reached { (try? await worker.heartbeat())?.leaseExpired == false })
            #expect(ended.withLock { $0 })
            try await group.waitForAll()
        }
        await queue.close()
    }
}
