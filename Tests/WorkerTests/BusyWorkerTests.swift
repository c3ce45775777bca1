import Concurrency
import Prefetcher
import TestSupport
import Testing

@testable import JobQueue
@testable import Worker

/// Calls of workers that hold jobs: few, and due tasks still run.
@Suite(.timeLimit(.minutes(5)))
struct BusyWorkerTests {
    private let database: TemporaryDatabase
    /// Until it is signalled, no load ends.
    private let end = AsyncEvent()

    init() async throws {
        database = try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(.init(databaseURL: url)).migrate()
        }
    }

    private struct SlowLoader: Loader {
        let end: AsyncEvent
        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
            await end.wait()
            return LoadReport()
        }
    }

    @discardableResult
    private func execute(_ sql: String) throws -> String? { try AdminSession(database.url).execute(sql) }

    /// Runs a worker with one slot, which holds a job.
    private func running(_ body: (PrefetchWorker) async throws -> Void) async throws {
        let queue = PostgresJobQueue(.init(databaseURL: database.url))
        _ = try await queue.producer.enqueue(EnqueueRequest(urls: ["http://a.example/1"], batch: "batch"))
        // A busy machine may stand still for as long as a lease.
        try execute("UPDATE larder_data.settings SET lease_ms = 3600000")
        let worker = PrefetchWorker(
            queue: queue, loader: SlowLoader(end: end),
            configuration: .init(
                WorkerDescription(name: "busy", host: "test", processID: 1, version: "test", slots: 1)))
        let shutdown = ShutdownRequest()
        let task = Task { try await worker.run(until: shutdown) }
        let result: Result<Void, any Error>
        do {
            try #require(await reached { try execute("SELECT count(*) FROM larder_data.running") == "1" })
            result = .success(try await body(worker))
        } catch {
            result = .failure(error)
        }
        shutdown.request(.cancel)
        end.signal()
        _ = try await task.value
        try result.get()
    }

    @Test func `a worker that holds jobs also runs the jobs of a worker whose lease has ended`() async throws {
        let other = PostgresJobQueue(.init(databaseURL: database.url))
        let dead = try await other.workers.start(
            WorkerDescription(name: "dead", host: "test", processID: 2, version: "test", slots: 1))
        try await running { worker in
            _ = try await other.producer.enqueue(EnqueueRequest(urls: ["http://a.example/2"], batch: "lost"))
            try #require(await reached { try await dead.claim(upTo: 1).count == 1 })
            try execute(
                """
                UPDATE larder_data.worker SET heartbeat_at = now() - interval '1 h', lease_ms = 1 WHERE id = \(dead.id)
                """)
            #expect(
                try await reached {
                    try execute("SELECT count(*) FROM larder_data.running WHERE worker_id = \(dead.id)") == "0"
                })
        }
        #expect(try await other.reports.check().isEmpty)
    }

    @Test func `heartbeats come often enough for lost jobs to run within lease + 2 s`() throws {
        // Just before the lease ended another worker was answered, and ran the task. No long call uses the session.
        let period = try #require(
            try execute("SELECT extract(epoch FROM every) FROM larder_data.task WHERE task = 'rescue'")
                .flatMap(Double.init))
        let pause = try #require(
            try execute("SELECT max(larder_data.heartbeat_pause(n)) FROM generate_series(1, 2000) n").flatMap(
                Double.init))
        let spread = HeartbeatService.spread.upperBound
        #expect(period + pause / 1_000 * spread < 2)
        #expect(.milliseconds(pause) * spread < MaintenanceKind.urgent.longestPause)
    }
}
