import Concurrency
import DiskCache
import ImageModel
import JobQueue
import TestSupport
import Testing
import Transcoder

@testable import Prefetcher
@testable import Worker

/// A worker on a real queue with a test loader.
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

    /// Runs the test's closure for each URL.
    private struct TestLoader: Loader {
        let body: @Sendable (String) async throws(LoadError) -> LoadReport

        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport { try await body(request.url) }
    }

    /// Has every image but those below `/new/`, and counts the loads.
    private struct CachingLoader: CacheLoader {
        let loads = Locked<[String: Int]>([:])

        private static var hit: LoadReport {
            var report = LoadReport()
            report.stored = [StoredFile(key: "k", bytes: 1, origin: .cached)]
            return report
        }

        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport {
            loads.withLock { $0[request.url, default: 0] += 1 }
            return Self.hit
        }

        func cached(_ requests: [LoadRequest]) async -> [LoadReport?] {
            requests.map { $0.url.contains("/new/") ? nil : Self.hit }
        }
    }

    private func enqueue(_ count: Int, _ path: String) async throws {
        let urls = (0..<count).map { "https://host.example/\(path)/\($0).jpg" }
        _ = try await queue.producer.enqueue(EnqueueRequest(urls: urls, batch: path))
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

    @Test func `every job is reported once, after its commit, and at most as many run as there are slots`() async throws
    {
        try await enqueue(700, "good")
        try await enqueue(300, "bad")
        let running = Locked((now: 0, most: 0))
        let reported = Locked<[String: Int]>([:])
        let observe: @Sendable (WorkerEvent) -> Void = { event in
            guard case .completed(let report) = event else { return }
            reported.withLock { $0[report.job.url, default: 0] += 1 }
        }
        let summary = try await worker(slots: 40, .drained, observe: observe) { url throws(LoadError) in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            running.withLock { $0.now -= 1 }
            if url.contains("/bad/") {
                throw LoadError(.fetch, .addressRefused, "not allowed")
            }
            return LoadReport()
        }.run(until: ShutdownRequest())
        #expect(summary.succeeded == 700)
        #expect(summary.failed == 300)
        #expect(summary.retried == 0)
        #expect(summary.left == .nothing)
        #expect(reported.withLock { $0.count } == 1_000)
        #expect(reported.withLock { $0.values.allSatisfy { $0 == 1 } })
        #expect(running.withLock { $0.most } <= 40)
        #expect(try await queue.reports.progress(of: .name("good")).succeeded == 700)
        #expect(try await queue.reports.progress(of: .name("bad")).failed == 300)
        #expect(try await queue.reports.check().isEmpty)
    }

    @Test func `after a round of cached jobs the cache answers the next ones together, and each other one is loaded`()
        async throws
    {
        try await enqueue(100, "old")
        try await enqueue(20, "new")
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(name: "test", host: "test", processID: 1, version: "test", slots: 4))
        configuration.end = .drained
        let loader = CachingLoader()
        let reported = Locked<[String: Int]>([:])
        let worker = PrefetchWorker(queue: queue, loader: loader, configuration: configuration) { event in
            guard case .completed(let report) = event else { return }
            reported.withLock { $0[report.job.url, default: 0] += 1 }
        }
        let summary = try await worker.run(until: ShutdownRequest())
        #expect(summary.succeeded == 120)
        #expect(reported.withLock { $0.count } == 120)
        #expect(reported.withLock { $0.values.allSatisfy { $0 == 1 } })
        let loads = loader.loads.withLock { $0 }
        #expect(loads.keys.count { $0.contains("/new/") } == 20)
        #expect((1..<100).contains(loads.keys.count { $0.contains("/old/") }))
    }

    @Test func `a worker of one batch runs its own and its joined jobs only, and ends with the batch`()
        async throws
    {
        try await queue.operations.setQueue("other")
        try await enqueue(5, "foreign")
        let shared = EnqueueRequest(urls: ["https://host.example/shared.jpg"], batch: "elsewhere")
        var elsewhere = shared
        elsewhere.queue = "other"
        _ = try await queue.producer.enqueue(elsewhere)
        try await enqueue(40, "mine")
        var joining = shared
        joining.batch = "mine"
        _ = try await queue.producer.enqueue(joining)
        try await queue.producer.seal(.name("mine"))
        let batch = try await queue.reports.progress(of: .name("mine")).id
        let summary = try await worker(slots: 8, .batchFinished(batch)) { url throws(LoadError) in
            if url.contains("/foreign/") {
                throw LoadError(.fetch, .addressRefused, "")
            }
            return LoadReport()
        }.run(until: ShutdownRequest())
        #expect(summary.succeeded == 41)
        #expect(summary.failed == 0)
        #expect(summary.left == .nothing)
        #expect(try await queue.reports.progress(of: .name("elsewhere")).succeeded == 1)
        let foreign = try await queue.reports.progress(of: .name("foreign"))
        #expect(foreign.open == 5)
        #expect(foreign.retries == 0)
        #expect(try await queue.reports.check().isEmpty)
    }

    @Test func `a load that is cut off while its worker continues is released with its attempt refunded`() async throws
    {
        try await enqueue(20, "cut")
        let seen = Locked<[String: Int]>([:])
        let reported = Locked(0)
        let observe: @Sendable (WorkerEvent) -> Void = { event in
            if case .completed = event { reported.withLock { $0 += 1 } }
        }
        let summary = try await worker(slots: 5, .drained, observe: observe) { url throws(LoadError) in
            let count = seen.withLock { seen in
                seen[url, default: 0] += 1
                return seen[url] ?? 0
            }
            // As when the manager's loads are cancelled, or the lease was lost for a moment.
            if count < 3 { throw .cancelled }
            return LoadReport()
        }.run(until: ShutdownRequest())
        #expect(summary.succeeded == 20)
        #expect(summary.failed == 0)
        #expect(summary.retried == 0)
        #expect(seen.withLock { $0.values.allSatisfy { $0 == 3 } })
        // Released jobs are not reported.
        #expect(reported.withLock { $0 } == 20)
        let progress = try await queue.reports.progress(of: .name("cut"))
        #expect(progress.succeeded == 20)
        #expect(progress.retries == 0)
        #expect(try await queue.reports.check().isEmpty)
    }

    @Test func `a worker whose task is cancelled ends at once and releases its jobs with their attempts refunded`()
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
            // Waits until the task is cancelled.
            await AsyncEvent().wait()
            throw .cancelled
        }
        let task = Task { try await worker.run(until: ShutdownRequest()) }
        await begun.wait()
        task.cancel()
        let summary = try await task.value
        #expect(summary.succeeded == 0)
        #expect(summary.failed == 0)
        #expect(summary.retried == 0)
        #expect(started.withLock { $0 } == 4)
        let left = try await queue.reports.remaining()
        #expect(left.hasReady)
        #expect(!left.hasRunning)
        let again = try await self.worker(slots: 8, .drained) { _ throws(LoadError) in LoadReport() }
            .run(until: ShutdownRequest())
        #expect(again.succeeded == 8)
        #expect(try await queue.reports.progress(of: .name("held")).retries == 0)
        #expect(try await queue.reports.check().isEmpty)
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
        // The registration fails because of the cancellation, or the run ends before its first claim.
        _ = await task.result
        #expect(ran.withLock { $0 } == 0)
        #expect(try await queue.reports.progress(of: .name("never")).open == 3)
    }

    @Test func `a pipeline is read once for many simultaneous jobs`() async throws {
        let version = try await queue.producer.setPipeline(name: "p", spec: #"{"name":"p","variants":[]}"#)
        let reads = Locked(0)
        let cache = PipelineCache { [queue] id throws(QueueError) in
            reads.withLock { $0 += 1 }
            return try await queue.workers.pipeline(id: id)
        }
        try await withThrowingTaskGroup(of: String?.self) { group in
            for _ in 0..<100 { group.addTask { try? await cache.pipeline(version.id).get().name } }
            for try await name in group { #expect(name == "p") }
        }
        #expect(reads.withLock { $0 } == 1)
    }

    @Test func `cancelling a batch cancels its loads, and its worker continues with the other batches`()
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
            // Ends after the loads of the other batch.
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
        try await queue.producer.cancel(.name("unwanted"))
        #expect(try await summary.succeeded == 2)
        #expect(cutOff.withLock { $0 } == 6)
        #expect(try await queue.reports.progress(of: .name("unwanted")).cancelled == 6)
        #expect(try await queue.reports.check().isEmpty)
    }

    @Test func `an urgent shutdown commits ended attempts and releases the others`() async throws {
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
            // Waits until the task is cancelled.
            await AsyncEvent().wait()
            throw .cancelled
        }.run(until: stop)
        #expect(summary.succeeded == 20)
        #expect(summary.failed == 0)
        #expect(try await queue.reports.progress(of: .name("quick")).open == 0)
        let left = try await queue.reports.remaining()
        #expect(left.hasReady)
        #expect(!left.hasRunning)
        let next = worker(slots: 25, .drained) { _ throws(LoadError) in LoadReport() }
        let again = try await next.run(until: ShutdownRequest())
        #expect(again.succeeded == 5)
        #expect(try await queue.reports.check().isEmpty)
    }

    @Test func `the expiry service deletes expired files when the worker ends, and not after an urgent shutdown`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let store = try DirectoryStore(opening: directory.path)
        for urgency in [ShutdownRequest.Urgency.cancel, .finish] {
            try store.store([1, 2, 3], as: CacheKey("old"))
            let later = ExpiryPolicy(maxAge: .zero, sparing: .zero)
            let expired = Locked<[Int]>([])
            var configuration = PrefetchWorker.Configuration(
                WorkerDescription(name: "test", host: "test", processID: 1, version: "test", slots: 1))
            configuration.expiry = (store, later)
            let worker = PrefetchWorker(
                queue: queue, loader: TestLoader { _ throws(LoadError) in LoadReport() }, configuration: configuration
            ) { event in
                if case .expired(let report) = event { expired.withLock { $0.append(report.expiredByAge.files) } }
            }
            let stop = ShutdownRequest()
            stop.request(urgency)
            _ = try await worker.run(until: stop)
            #expect(expired.withLock { $0 } == (urgency == .finish ? [1] : []))
            #expect(try store.contains(CacheKey("old")) == (urgency == .cancel))
        }
    }
}
