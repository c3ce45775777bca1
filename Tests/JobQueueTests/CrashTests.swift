import Concurrency
import EmbeddedPostgres
import Foundation
import Glibc
import TestSupport
import Testing

@testable import JobQueue

/// A server that is ended without a word (`pg_ctl stop -m immediate`) and started again.
@Suite(.timeLimit(.minutes(5)))
struct CrashTests {
    /// A private server with Postgres' own durability, as far as a crash of its processes goes.
    private struct Server {
        let home: ClusterHome
        let cluster: EmbeddedCluster
        let url: String

        init() async throws {
            home = try ClusterHome()
            cluster = EmbeddedCluster(home.configuration("crashing", disposable: true))
            url = try await cluster.start()
            let setting = PostgresJobQueue(PostgresJobQueue.Configuration(databaseURL: url))
            // A commit counts when it is in the log; what commits without waiting stays in memory for long.
            for line in ["synchronous_commit = on", "wal_writer_delay = '10s'", "full_page_writes = on"] {
                _ = try await setting.connection.rows("ALTER SYSTEM SET \(line)")
            }
            await setting.close()
            try await Migrator(PostgresJobQueue.Configuration(databaseURL: url)).migrate()
            try await cluster.stop()
            _ = try await cluster.start()
        }

        func configuration(maxWait: Duration) -> PostgresJobQueue.Configuration {
            var configuration = PostgresJobQueue.Configuration(databaseURL: url)
            configuration.maxWait = maxWait
            return configuration
        }

        /// Ends it at once and brings it up again.
        func crash() async throws {
            guard case .running(let process) = try await cluster.status().state, process > 1 else {
                throw QueueError(.unreachable, "the server does not run")
            }
            kill(process, SIGQUIT)
            try #require(await reached { kill(process, 0) != 0 })
            _ = try await cluster.start()
        }
    }

    @Test func `a claim that a crash forgot is refused, and its job is given out again`() async throws {
        let server = try await Server()
        let queue = PostgresJobQueue(server.configuration(maxWait: .seconds(100)))
        _ = try await queue.producer.enqueue(EnqueueRequest(urls: (0..<4).map { "http://a/\($0)" }, batch: "batch"))
        let description = WorkerDescription(name: "w", host: "test", processID: 1, version: "1", slots: 4)
        let worker = try await queue.workers.start(description)
        let done = try await worker.claim(upTo: 2)
        #expect(
            try await worker.complete(done.map { Outcome($0.held, .succeeded) }).allSatisfy {
                $0.decision == .succeeded
            })
        // Of itself the log is written every ten seconds, which could be just now. It ends with its server.
        let writer = "SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'"
        let found = try await queue.connection.rows(writer)
        let process = try #require(found.first?.first.flatMap { $0.flatMap { Int32($0) } })
        try #require(kill(process, SIGSTOP) == 0)
        let forgotten = try await worker.claim(upTo: 2)
        #expect(forgotten.count == 2)
        try await server.crash()
        #expect(try await queue.reports.check().isEmpty)
        // Reported completions are recorded; later claims are lost.
        #expect(
            try await worker.complete(done.map { Outcome($0.held, .succeeded) }).allSatisfy {
                $0.decision == .succeeded
            })
        #expect(
            try await worker.complete(forgotten.map { Outcome($0.held, .succeeded) }).map(\.decision) == [
                .stale, .stale,
            ])
        let next = try await queue.workers.start(description)
        let again = try await next.claim(upTo: 4)
        #expect(Set(again.map(\.id)) == Set(forgotten.map(\.id)))
        #expect(
            try await next.complete(again.map { Outcome($0.held, .succeeded) }).allSatisfy { $0.decision == .succeeded }
        )
        let progress = try await queue.reports.progress(of: .name("batch"))
        #expect(progress.total == 4)
        #expect(progress.succeeded == 4)
        #expect(try await queue.reports.check().isEmpty)
        await queue.close()
        try await server.cluster.stop()
    }

    @Test func `three crashes under load lose no job that was accepted and end none twice`() async throws {
        let server = try await Server()
        let accepted = Locked<Set<Int64>>([])
        let reported = Locked<[Int64]>([])
        let enqueuersLeft = Locked(2)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<2 {
                group.addTask {
                    let queue = PostgresJobQueue(server.configuration(maxWait: .seconds(100)))
                    for round in 0..<30 {
                        let urls = (0..<25).map { "http://host\(index)/\(round)/\($0)" }
                        do throws(QueueError) {
                            let answers = try await queue.producer.enqueue(EnqueueRequest(urls: urls, batch: "batch"))
                            accepted.withLock { $0.formUnion(answers.compactMap(\.job)) }
                        } catch {
                            // The answer was lost: the call may have been executed or not.
                            #expect(error.code == .connectionLost, "\(error)")
                        }
                    }
                    enqueuersLeft.withLock { $0 -= 1 }
                    await queue.close()
                }
            }
            for index in 0..<4 {
                group.addTask { try await Self.work(server, index, reported) { enqueuersLeft.withLock { $0 == 0 } } }
            }
            group.addTask {
                for milestone in [150, 450, 900] {
                    let isDue = await reached {
                        reported.withLock { $0.count } >= milestone || enqueuersLeft.withLock { $0 == 0 }
                    }
                    try #require(isDue)
                    try await server.crash()
                }
            }
            try await group.waitForAll()
        }
        let queue = PostgresJobQueue(server.configuration(maxWait: .seconds(100)))
        #expect(try await queue.reports.check().isEmpty)
        let rows = try await queue.connection.rows(
            "SELECT job_id FROM larder_data.job_history WHERE outcome = 'succeeded'")
        let recorded = rows.compactMap { $0[0].flatMap { Int64($0) } }
        #expect(Set(recorded).count == recorded.count)
        #expect(accepted.withLock { $0.isSubset(of: recorded) })
        #expect(reported.withLock { Set($0).count == $0.count && Set($0).isSubset(of: recorded) })
        let progress = try await queue.reports.progress(of: .name("batch"))
        #expect(progress.open == 0)
        #expect(progress.total == recorded.count)
        #expect(progress.succeeded == recorded.count)
        await queue.close()
        try await server.cluster.stop()
    }

    private static func work(
        _ server: Server, _ index: Int, _ reported: Locked<[Int64]>, isLast: @Sendable () -> Bool
    ) async throws {
        let queue = PostgresJobQueue(server.configuration(maxWait: .seconds(100)))
        func start() async throws(QueueError) -> WorkerSession {
            try await queue.workers.start(
                WorkerDescription(name: "w\(index)", host: "test", processID: 1, version: "1", slots: 10))
        }
        var worker = try await start()
        while true {
            let jobs: [Job]
            do throws(QueueError) { jobs = try await worker.claim(upTo: 10) } catch {
                // A recovery that took longer than the lease; or the crash forgot a heartbeat.
                guard error.code == .workerLost else { throw error }
                worker = try await start()
                continue
            }
            _ = try? await worker.heartbeat()
            _ = try? await queue.workers.maintain(force: jobs.isEmpty)
            if jobs.isEmpty {
                if isLast(), try await queue.reports.remaining().isDrained { return await queue.close() }
                await Task.yield()
                continue
            }
            let completed = try await worker.completeAll(jobs.map { Outcome($0.held, .succeeded) })
            reported.withLock { reported in
                reported += completed.filter { $0.decision == .succeeded }.map(\.claim.job)
            }
        }
    }
}
