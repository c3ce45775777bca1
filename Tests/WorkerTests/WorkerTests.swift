import Concurrency
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher
@testable import Worker

/// The worker on a real queue, with a loader of the test's own.
@Suite(.timeLimit(.minutes(5)))
struct WorkerTests {
    private let database: TemporaryDatabase
    private let queue: PostgresJobQueue

    init() async throws {
        database = try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(.init(databaseURL: url)).migrate()
        }
        queue = PostgresJobQueue(.init(databaseURL: database.url))
    }

    /// Does what the test says for a URL.
    private struct TestLoader: Loader {
        let body: @Sendable (String) async throws(LoadError) -> LoadReport

        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport { try await body(request.url) }
    }

    private func enqueue(_ count: Int, _ path: String) async throws {
        let urls = (0..<count).map { "https://host.example/\(path)/\($0).jpg" }
        _ = try await queue.enqueue(EnqueueRequest(urls: urls, batch: path))
    }

    private func worker(
        slots: Int, _ end: PrefetchWorker.End, observe: @escaping @Sendable (WorkerEvent) -> Void = { _ in },
        _ body: @escaping @Sendable (String) async throws(LoadError) -> LoadReport
    ) -> PrefetchWorker {
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(name: "test", host: "test", processID: 1, version: "test", slots: slots))
        configuration.end = end
        return PrefetchWorker(
            queue: queue, loader: TestLoader(body: body), configuration: configuration, observe: observe)
    }

    @Test func `every job is told once, after it was committed, and no more run than there are slots`() async throws {
        try await enqueue(700, "good")
        try await enqueue(300, "bad")
        let running = Locked((now: 0, most: 0))
        let told = Locked<[String: Int]>([:])
        let observe: @Sendable (WorkerEvent) -> Void = { event in
            guard case .completed(let report) = event else { return }
            told.withLock { $0[report.job.url, default: 0] += 1 }
        }
        let summary = try await worker(slots: 40, .drained, observe: observe) { url throws(LoadError) in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            running.withLock { $0.now -= 1 }
            if url.contains("/bad/") {
                throw LoadError(stage: .fetch, domain: "LarderErrorDomain", code: 101, message: "not allowed")
            }
            return LoadReport()
        }.run(until: ShutdownRequest())
        #expect(summary.succeeded == 700 && summary.failed == 300 && summary.retried == 0)
        #expect(summary.left == .nothing)
        #expect(told.withLock { $0.count } == 1_000)
        #expect(told.withLock { $0.values.allSatisfy { $0 == 1 } })
        #expect(running.withLock { $0.most } <= 40)
        #expect(try await queue.progress(of: .name("good")).succeeded == 700)
        #expect(try await queue.progress(of: .name("bad")).failed == 300)
        #expect(try await queue.check().isEmpty)
    }

    @Test func `who works for one batch touches no other's jobs, does those it has joined, and ends with it`()
        async throws
    {
        try await queue.setQueue("other")
        try await enqueue(5, "foreign")
        let shared = EnqueueRequest(urls: ["https://host.example/shared.jpg"], batch: "elsewhere")
        var elsewhere = shared
        elsewhere.queue = "other"
        _ = try await queue.enqueue(elsewhere)
        try await enqueue(40, "mine")
        var joining = shared
        joining.batch = "mine"
        _ = try await queue.enqueue(joining)
        try await queue.seal(.name("mine"))
        let batch = try await queue.progress(of: .name("mine")).id
        let summary = try await worker(slots: 8, .batchFinished(batch)) { url throws(LoadError) in
            if url.contains("/foreign/") {
                throw LoadError(stage: .fetch, domain: "LarderErrorDomain", code: 101, message: "")
            }
            return LoadReport()
        }.run(until: ShutdownRequest())
        #expect(summary.succeeded == 41 && summary.failed == 0 && summary.left == .nothing)
        #expect(try await queue.progress(of: .name("elsewhere")).succeeded == 1)
        let foreign = try await queue.progress(of: .name("foreign"))
        #expect(foreign.open == 5 && foreign.retries == 0)
        #expect(try await queue.check().isEmpty)
    }

    @Test func `a load that is cut off while its worker goes on comes back at once, no attempt used`() async throws {
        try await enqueue(20, "cut")
        let seen = Locked<[String: Int]>([:])
        let told = Locked(0)
        let observe: @Sendable (WorkerEvent) -> Void = { event in
            if case .completed = event { told.withLock { $0 += 1 } }
        }
        let summary = try await worker(slots: 5, .drained, observe: observe) { url throws(LoadError) in
            let count = seen.withLock { seen in
                seen[url, default: 0] += 1
                return seen[url] ?? 0
            }
            // As when somebody cancels the manager's loads, or a lease was gone for a moment.
            if count < 3 { throw .cancelled }
            return LoadReport()
        }.run(until: ShutdownRequest())
        #expect(summary.succeeded == 20 && summary.failed == 0 && summary.retried == 0)
        #expect(seen.withLock { $0.values.allSatisfy { $0 == 3 } })
        // Of what was given back nothing is told.
        #expect(told.withLock { $0 } == 20)
        let progress = try await queue.progress(of: .name("cut"))
        #expect(progress.succeeded == 20 && progress.retries == 0)
        #expect(try await queue.check().isEmpty)
    }

    @Test func `a worker whose task is cancelled ends at once and gives back what it held, no attempt used`()
        async throws
    {
        try await enqueue(8, "held")
        let begun = AsyncEvent()
        let started = Locked(0)
        let worker = worker(slots: 4, .stopped) { _ throws(LoadError) in
            let count = started.withLock { started in
                started += 1
                return started
            }
            if count == 4 { begun.signal() }
            // Until the task is cancelled.
            await AsyncEvent().wait()
            throw .cancelled
        }
        let task = Task { try await worker.run(until: ShutdownRequest()) }
        await begun.wait()
        task.cancel()
        let summary = try await task.value
        #expect(summary.succeeded == 0 && summary.failed == 0 && summary.retried == 0)
        #expect(started.withLock { $0 } == 4)
        let left = try await queue.remaining()
        #expect(left.hasReady && !left.hasRunning)
        let again = try await self.worker(slots: 8, .drained) { _ throws(LoadError) in LoadReport() }
            .run(until: ShutdownRequest())
        #expect(again.succeeded == 8)
        #expect(try await queue.progress(of: .name("held")).retries == 0)
        #expect(try await queue.check().isEmpty)
    }

    @Test func `a worker whose task was cancelled before it began claims nothing`() async throws {
        try await enqueue(3, "never")
        let ran = Locked(0)
        let worker = worker(slots: 4, .drained) { _ throws(LoadError) in
            ran.withLock { $0 += 1 }
            return LoadReport()
        }
        let gate = AsyncEvent()
        let task = Task {
            await gate.wait()
            return try await worker.run(until: ShutdownRequest())
        }
        task.cancel()
        // A registration that is refused for the cancellation, or a run that ends at once: nothing is claimed by either.
        _ = await task.result
        #expect(ran.withLock { $0 } == 0)
        #expect(try await queue.progress(of: .name("never")).open == 3)
    }

    @Test func `a pipeline is read once, however many jobs ask for it at once`() async throws {
        let version = try await queue.setPipeline(name: "p", spec: #"{"name":"p","variants":[]}"#)
        let reads = Locked(0)
        let cache = PipelineCache { [queue] id throws(QueueError) in
            reads.withLock { $0 += 1 }
            return try await queue.pipeline(id: id)
        }
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<100 { group.addTask { try? await cache.pipeline(version.id).get().name } }
            for try await name in group { #expect(name == "p") }
        }
        #expect(reads.withLock { $0 } == 1)
    }

    @Test func `a batch that is cancelled in flight ends its loads, and its worker goes on with the others`()
        async throws
    {
        try await enqueue(6, "unwanted")
        try await enqueue(2, "wanted")
        let begun = AsyncEvent()
        let running = Locked(0)
        let cutOff = Locked(0)
        let stop = ShutdownRequest()
        let observe: @Sendable (WorkerEvent) -> Void = { event in
            guard case .completed(let report) = event, report.job.url.contains("/wanted/1.") else { return }
            stop.request(.finish)
        }
        let worker = worker(slots: 8, .stopped, observe: observe) { url throws(LoadError) in
            let isLast = running.withLock { running in
                running += 1
                return running == 8
            }
            if isLast { begun.signal() }
            if url.contains("/wanted/0.") { return LoadReport() }
            // Until the task is cancelled, or the others were.
            if url.contains("/wanted/1.") {
                _ = await reached { cutOff.withLock { $0 } == 6 }
                return LoadReport()
            }
            await AsyncEvent().wait()
            cutOff.withLock { $0 += 1 }
            throw .cancelled
        }
        async let summary = worker.run(until: stop)
        await begun.wait()
        try await queue.cancel(.name("unwanted"))
        #expect(try await summary.succeeded == 2)
        #expect(cutOff.withLock { $0 } == 6)
        #expect(try await queue.progress(of: .name("unwanted")).cancelled == 6)
        #expect(try await queue.check().isEmpty)
    }

    @Test func `who is stopped at once commits what ended, and gives the rest back`() async throws {
        try await enqueue(5, "stuck")
        try await enqueue(20, "quick")
        let stop = ShutdownRequest()
        let ended = Locked(0)
        let observe: @Sendable (WorkerEvent) -> Void = { event in
            guard case .completed = event else { return }
            let count = ended.withLock { ended in
                ended += 1
                return ended
            }
            if count == 20 { stop.request(.cancel) }
        }
        let summary = try await worker(slots: 25, .stopped, observe: observe) { url throws(LoadError) in
            guard url.contains("/stuck/") else { return LoadReport() }
            // Until the task is cancelled.
            await AsyncEvent().wait()
            throw .cancelled
        }.run(until: stop)
        #expect(summary.succeeded == 20 && summary.failed == 0)
        #expect(try await queue.progress(of: .name("quick")).open == 0)
        let left = try await queue.remaining()
        #expect(left.hasReady && !left.hasRunning)
        let next = worker(slots: 25, .drained) { _ throws(LoadError) in LoadReport() }
        let again = try await next.run(until: ShutdownRequest())
        #expect(again.succeeded == 5)
        #expect(try await queue.check().isEmpty)
    }
}
