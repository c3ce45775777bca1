import Concurrency
import Prefetcher
import TestSupport
import Testing

@testable import JobQueue
@testable import Worker

/// Calls of workers without jobs: few, and due tasks still run.
@Suite(.timeLimit(.minutes(5)))
struct IdleWorkerTests {
    private let database: TemporaryDatabase

    init() async throws {
        database = try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(.init(databaseURL: url)).migrate()
        }
    }

    private struct EmptyLoader: Loader {
        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport { LoadReport() }
    }

    private func queue() -> PostgresJobQueue { PostgresJobQueue(.init(databaseURL: database.url)) }

    /// A worker with a queue of its own, which counts its statements.
    private func worker(_ name: String, _ end: PrefetchWorker.End = .stopped) -> PrefetchWorker {
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(name: name, host: "test", processID: 1, version: "test", slots: 4))
        configuration.end = end
        return PrefetchWorker(queue: queue(), loader: EmptyLoader(), configuration: configuration)
    }

    /// Runs workers while `body` runs.
    private func running(_ workers: [PrefetchWorker], _ body: () async throws -> Void) async throws {
        let shutdown = ShutdownRequest()
        let tasks = workers.map { worker in Task { try await worker.run(until: shutdown) } }
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        shutdown.request(.cancel)
        for task in tasks { _ = try await task.value }
        try result.get()
    }

    /// Waits until a worker has sent so many more heartbeats; what it sent meanwhile.
    private func sent(by worker: PrefetchWorker, during beats: Int) async -> (beats: Int, claims: Int, all: Int) {
        func now() -> (beats: Int, claims: Int, all: Int) {
            guard let queue = worker.queue.database else { return (0, 0, 0) }
            return (queue.heartbeats.counts.sent, queue.claims.counts.sent, queue.statements.sent)
        }
        let before = now()
        _ = await reached { now().beats >= before.beats + beats }
        let after = now()
        return (after.beats - before.beats, after.claims - before.claims, after.all - before.all)
    }

    /// Waits until a worker claims so rarely that it is idle.
    private func waitUntilIdle(_ worker: PrefetchWorker) async throws {
        let claims = try #require(worker.queue.database).claims
        let sent = claims.counts.sent
        try #require(await reached { claims.counts.sent > sent + WorkerState.idleAfter })
    }

    @Test(arguments: [1, 3])
    func `idle workers send as many heartbeats as claims, and maintenance no more often`(count: Int) async throws {
        let workers = (1...count).map { worker("worker \($0)") }
        try await running(workers) {
            for worker in workers { try await waitUntilIdle(worker) }
            // On a machine that stands still one of them may come late, so one window is enough.
            var seen: [String] = []
            for _ in 0..<10 {
                let (beats, claims, all) = await sent(by: workers[0], during: 8)
                // After each heartbeat: urgent, routine, a schedule; now and then the owner's.
                if abs(claims - beats) <= 2, all - beats - claims <= 4 * beats { return }
                seen.append("\(all) statements, \(claims) claims in \(beats) heartbeats")
            }
            #expect(seen == [])
        }
    }

    @Test func `an idle worker claims enqueued jobs, runs a schedule and finishes sealed batches`() async throws {
        let worker = worker("worker")
        let other = queue()
        try await running([worker]) {
            try await waitUntilIdle(worker)
            _ = try await other.producer.enqueue(EnqueueRequest(urls: ["http://a.example/1"], batch: "new"))
            try await other.producer.seal(.name("new"))
            #expect(try await reached { try await other.reports.progress(of: .name("new")).state == .finished })
            _ = try await other.operations.setSchedule(
                "nightly", cron: "@yearly", timeZone: "UTC", query: nil,
                request: EnqueueRequest(urls: ["http://a.example/2"]))
            try await other.operations.runSchedule("nightly")
            #expect(
                try await reached {
                    let runs = try await other.reports.progress(limit: 9, isDetailed: false)
                    return runs.contains { $0.name == "nightly" && $0.state == .finished && $0.succeeded == 1 }
                })
        }
        #expect(try await other.reports.check().isEmpty)
    }

    @Test func `an idle worker runs the jobs of a worker whose lease has ended`() async throws {
        let worker = worker("worker")
        let other = queue()
        _ = try await other.producer.enqueue(EnqueueRequest(urls: ["http://a.example/1"], batch: "lost"))
        let dead = try await other.workers.start(
            WorkerDescription(name: "dead", host: "test", processID: 2, version: "test", slots: 1))
        #expect(try await dead.claim(upTo: 1).count == 1)
        try await running([worker]) {
            try await waitUntilIdle(worker)
            try await other.ask(
                "UPDATE larder_data.worker SET heartbeat_at = now() - interval '1 h', lease_ms = 1 WHERE id = $1",
                [.integer(dead.id)]
            ) { _ throws(QueueError) in }
            #expect(try await reached { try await other.reports.progress(of: .name("lost")).succeeded == 1 })
        }
        #expect(try await other.reports.check().isEmpty)
    }

    @Test func `a drain waits for a job of another worker, and ends after it`() async throws {
        let other = queue()
        _ = try await other.producer.enqueue(EnqueueRequest(urls: ["http://a.example/1"], batch: "held"))
        try await other.ask("UPDATE larder_data.settings SET lease_ms = 3600000") { _ throws(QueueError) in }
        let holder = try await other.workers.start(
            WorkerDescription(name: "holder", host: "test", processID: 2, version: "test", slots: 1))
        let job = try #require(try await holder.claim(upTo: 1).first)
        let worker = worker("drain", .drained)
        async let summary = worker.run(until: ShutdownRequest())
        try await waitUntilIdle(worker)
        _ = try await holder.complete([Outcome(job.held, .succeeded)])
        #expect(try await summary.left == .nothing)
    }
}
