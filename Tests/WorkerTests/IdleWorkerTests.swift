import Concurrency
import Prefetcher
import TestSupport
import Testing

@testable import JobQueue
@testable import Worker

/// What workers without jobs send to the database, and that they do what is due nevertheless.
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

    /// Statements sent while each of these workers made so many idle claims.
    private func statements(of workers: [PrefetchWorker], during rounds: Int) async -> (sent: Int, claims: Int) {
        let before = workers.map { (sent: $0.queue.statements.sent, rounds: $0.due.rounds) }
        _ = await reached { zip(workers, before).allSatisfy { $0.due.rounds >= $1.rounds + rounds } }
        let sent = zip(workers, before).map { $0.queue.statements.sent - $1.sent }.reduce(0, +)
        return (sent, zip(workers, before).map { $0.due.rounds - $1.rounds }.reduce(0, +))
    }

    /// What these workers sent in each of ten windows of four claims; empty when in one of them they sent nothing but
    /// their claims. On a machine that stands still for seconds the services make their calls, so one is enough. A claim
    /// of each worker may be under way at either end.
    private func excess(of workers: [PrefetchWorker]) async -> [String] {
        var seen: [String] = []
        for _ in 0..<10 {
            let (sent, claims) = await statements(of: workers, during: 4)
            if claims >= 4 * workers.count, sent <= claims + workers.count { return [] }
            seen.append("\(sent) statements in \(claims) claims")
        }
        return seen
    }

    @Test(arguments: [1, 3])
    func `idle workers send nothing but their claims`(count: Int) async throws {
        let workers = (1...count).map { worker("worker \($0)") }
        try await running(workers) {
            try #require(await reached { workers.allSatisfy { $0.due.rounds > 0 } })
            #expect(await excess(of: workers) == [])
        }
    }

    @Test func `the claims of an idle worker extend its lease`() async throws {
        let worker = worker("worker")
        let other = queue()
        try await running([worker]) {
            try #require(await reached { worker.due.rounds > 0 })
            let heartbeats = worker.queue.heartbeats
            // A heartbeat of the worker itself, on a machine that stands still, does not count.
            let isExtended = try await reached {
                let (sent, first) = (heartbeats.counts.sent, try await other.workers().first?.heartbeatAt)
                let hasChanged = try await reached { try await other.workers().first?.heartbeatAt != first }
                return hasChanged && heartbeats.counts.sent == sent
            }
            #expect(isExtended)
            #expect(try await other.workers().count == 1)
        }
    }

    @Test func `an idle worker claims what is enqueued, runs a schedule and ends what is sealed`() async throws {
        let worker = worker("worker")
        let other = queue()
        try await running([worker]) {
            try #require(await reached { worker.due.rounds > 1 })
            _ = try await other.enqueue(EnqueueRequest(urls: ["http://a.example/1"], batch: "new"))
            try await other.seal(.name("new"))
            #expect(try await reached { try await other.progress(of: .name("new")).state == .finished })
            let rounds = worker.due.rounds
            try #require(await reached { worker.due.rounds > rounds })
            _ = try await other.setSchedule(
                "nightly", cron: "@yearly", timeZone: "UTC", query: nil,
                request: EnqueueRequest(urls: ["http://a.example/2"]))
            try await other.runSchedule("nightly")
            #expect(
                try await reached {
                    let runs = try await other.progress(limit: 9, isDetailed: false)
                    return runs.contains { $0.name == "nightly" && $0.state == .finished && $0.succeeded == 1 }
                })
        }
        #expect(try await other.check().isEmpty)
    }

    @Test func `an idle worker runs the jobs of a worker whose lease has ended`() async throws {
        let worker = worker("worker")
        let other = queue()
        _ = try await other.enqueue(EnqueueRequest(urls: ["http://a.example/1"], batch: "lost"))
        let dead = try await other.startWorker(
            WorkerDescription(name: "dead", host: "test", processID: 2, version: "test", slots: 1))
        #expect(try await dead.claim(upTo: 1).count == 1)
        try await running([worker]) {
            try #require(await reached { worker.due.rounds > 1 })
            try await other.ask(
                "UPDATE larder_data.worker SET heartbeat_at = now() - interval '1 h', lease_ms = 1 WHERE id = $1",
                [.integer(dead.id)]
            ) { _ throws(QueueError) in }
            #expect(try await reached { try await other.progress(of: .name("lost")).succeeded == 1 })
        }
        #expect(try await other.check().isEmpty)
    }

    @Test func `a drain that waits for a job sends nothing but its claims, and ends after it`() async throws {
        let other = queue()
        _ = try await other.enqueue(EnqueueRequest(urls: ["http://a.example/1"], batch: "held"))
        try await other.ask("UPDATE larder_data.settings SET lease_ms = 3600000") { _ throws(QueueError) in }
        let holder = try await other.startWorker(
            WorkerDescription(name: "holder", host: "test", processID: 2, version: "test", slots: 1))
        let job = try #require(try await holder.claim(upTo: 1).first)
        let worker = worker("drain", .drained)
        async let summary = worker.run(until: ShutdownRequest())
        try #require(await reached { worker.due.rounds > 0 })
        #expect(await excess(of: [worker]) == [])
        _ = try await holder.complete([Outcome(job.held, .succeeded)])
        #expect(try await summary.left == .nothing)
    }

    // MARK: - The calls of services

    @Test func `a call is made when it is due, and at its interval when the worker is not idle`() async {
        let due = DueCalls()
        await due.wait(for: .routine, after: .zero)
        due.answered([.routine], isIdle: true)
        await due.wait(for: .routine, after: .seconds(3_600))
        async let waiting: Void = due.wait(for: .urgent, after: .seconds(3_600))
        due.endIdle()
        await waiting
        #expect(due.rounds == 1)
    }

    @Test func `a call that no answer names waits for as long as answers hold, unless it is to be repeated`() async {
        let due = DueCalls(lifetime: .seconds(3_600))
        let hasReturned = Locked(false)
        due.answered([], isIdle: false)
        async let waiting: Void = {
            await due.wait(for: .routine, after: .milliseconds(1))
            hasReturned.withLock { $0 = true }
        }()
        for _ in 0..<20 { await due.wait(for: .origins, after: .milliseconds(1), alsoUnnamed: true) }
        #expect(!hasReturned.withLock { $0 })
        due.answered([.routine], isIdle: false)
        await waiting
    }

    @Test func `without jobs a worker's calls go on at their intervals until a claim is answered`() async {
        let due = DueCalls(lifetime: .seconds(3_600))
        due.answered([], isIdle: false)
        due.heartbeatsPause()
        await due.wait(for: .owner, after: .milliseconds(1))
        due.answered([], isIdle: true)
        due.heartbeatsPause()
        async let waiting: Void = due.wait(for: .owner, after: .milliseconds(1), alsoUnnamed: true)
        due.answered([.owner], isIdle: true)
        await waiting
    }

    @Test func `a worker asks for the calls for which its services wait`() async {
        let due = DueCalls(lifetime: .seconds(3_600))
        #expect(due.awaited(among: [.urgent, .end]) == [.end])
        due.answered([], isIdle: true)
        async let waiting: Void = due.wait(for: .urgent, after: .zero)
        #expect(await reached { due.awaited(among: [.urgent, .routine]) == [.urgent] })
        due.answered([.urgent], isIdle: true)
        await waiting
        #expect(due.awaited(among: [.urgent, .routine]).isEmpty)
    }

    @Test func `a worker is to claim at once after maintenance only while it is idle, and once`() {
        let due = DueCalls()
        due.foundJobs()
        #expect(!due.takeMustClaim())
        due.answered([], isIdle: true)
        due.foundJobs()
        #expect(due.takeMustClaim())
        #expect(!due.takeMustClaim())
    }
}
