import Concurrency
import ImageModel
import TestSupport
import Testing

@testable import JobQueue
@testable import Prefetcher
@testable import Worker

/// The worker's loop on a queue in process: claims, attempts, results, heartbeats and ends.
@Suite(.timeLimit(.minutes(1)))
struct WorkerLoopTests {
    private struct TestLoader: Loader {
        let body: @Sendable (String) async throws(LoadError) -> LoadReport

        func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport { try await body(request.url) }
    }

    private func worker(
        _ queue: QueueInMemory, slots: Int = 2, _ end: PrefetchWorker.End = .drained,
        observe: @escaping @Sendable (WorkerEvent) -> Void = { _ in },
        _ body: @escaping @Sendable (String) async throws(LoadError) -> LoadReport
    ) -> PrefetchWorker {
        var configuration = PrefetchWorker.Configuration(
            WorkerDescription(name: "test", host: "test", processID: 1, version: "test", slots: slots))
        configuration.end = end
        return PrefetchWorker(
            queue: queue, loader: TestLoader(body: body), configuration: configuration, observe: observe)
    }

    /// Waits until it is cancelled, as a load does whose origin is silent.
    private static func hang(_ begun: AsyncEvent) async throws(LoadError) -> LoadReport {
        begun.signal()
        await AsyncEvent().wait()
        throw .cancelled
    }

    @Test func `a worker completes each job once, with at most as many loads at once as slots`() async throws {
        let queue = QueueInMemory(jobs: 30)
        let running = Locked((now: 0, most: 0))
        let summary = try await worker(queue, slots: 4) { url throws(LoadError) in
            running.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await Task.yield()
            running.withLock { $0.now -= 1 }
            if url.hasSuffix("/7") { throw LoadError(.fetch, .addressRefused, "not allowed") }
            return LoadReport()
        }.run(until: ShutdownRequest())
        #expect(summary.succeeded == 29)
        #expect(summary.failed == 1)
        #expect(summary.left == .nothing)
        let state = queue.state.withLock { $0 }
        #expect(state.outcomes.map(\.claim.job).sorted() == (1...30).map { Int64($0) })
        #expect(running.withLock { $0.most } <= 4)
        #expect(state.stopped == [1])
    }

    @Test func `a job that a heartbeat names as cancelled ends and is completed as cancelled`() async throws {
        let queue = QueueInMemory(jobs: 1)
        queue.state.withLock { $0.cancelled = [1] }
        _ = try await worker(queue) { _ throws(LoadError) in try await Self.hang(AsyncEvent()) }
            .run(until: ShutdownRequest())
        #expect(queue.state.withLock { $0.outcomes.map(\.result) } == [.cancelled])
    }

    @Test func `a worker whose lease has expired registers again and runs its job again`() async throws {
        let queue = QueueInMemory(jobs: 1)
        let tries = Locked(0)
        let lost = Locked(0)
        let observe: @Sendable (WorkerEvent) -> Void = { if case .leaseLost = $0 { lost.withLock { $0 += 1 } } }
        let summary = try await worker(queue, observe: observe) { _ throws(LoadError) in
            let isFirst = tries.withLock { tries in
                tries += 1
                return tries == 1
            }
            if isFirst {
                queue.state.withLock { _ = $0.expired.insert(1) }
                return try await Self.hang(AsyncEvent())
            }
            return LoadReport()
        }.run(until: ShutdownRequest())
        #expect(lost.withLock { $0 } == 1)
        #expect(tries.withLock { $0 } == 2)
        #expect(summary.succeeded == 1)
        #expect(queue.state.withLock { $0.registered } == 2)
        #expect(queue.state.withLock { $0.outcomes.count } == 1)
    }

    @Test func `a claim that fails for a moment is repeated, and the database reported as back`() async throws {
        let queue = QueueInMemory(jobs: 3)
        queue.state.withLock { $0.claimErrors = [QueueError(.unreachable, "gone")] }
        let seen = Locked<[String]>([])
        let observe: @Sendable (WorkerEvent) -> Void = { event in
            switch event {
            case .queueUnavailable(let error): seen.withLock { $0.append("\(error.code)") }
            case .queueAvailable: seen.withLock { $0.append("available") }
            default: break
            }
        }
        let summary = try await worker(queue, observe: observe) { _ throws(LoadError) in LoadReport() }
            .run(until: ShutdownRequest())
        #expect(summary.succeeded == 3)
        #expect(seen.withLock { $0 } == ["unreachable", "available"])
    }

    @Test func `a final error ends the worker and stops its registration`() async throws {
        let queue = QueueInMemory(jobs: 3)
        queue.state.withLock { $0.claimErrors = [QueueError(.unknownQueue, "no such queue")] }
        let worker = worker(queue) { _ throws(LoadError) in LoadReport() }
        await #expect(throws: QueueError.self) { try await worker.run(until: ShutdownRequest()) }
        #expect(queue.state.withLock { $0.stopped } == [1])
        #expect(queue.state.withLock { $0.outcomes.isEmpty })
    }

    @Test func `an urgent shutdown ends a running load, whose job is released without a result`() async throws {
        let queue = QueueInMemory(jobs: 1)
        let (begun, shutdown) = (AsyncEvent(), ShutdownRequest())
        let worker = worker(queue, .stopped) { _ throws(LoadError) in try await Self.hang(begun) }
        async let summary = worker.run(until: shutdown)
        await begun.wait()
        shutdown.request(.cancel)
        #expect(try await summary.succeeded == 0)
        let state = queue.state.withLock { $0 }
        #expect(state.outcomes.isEmpty)
        #expect(state.ready.map(\.id) == [1])
    }

    @Test func `a shutdown lets running loads end and claims nothing more`() async throws {
        let queue = QueueInMemory(jobs: 5)
        let (begun, goOn, shutdown) = (AsyncEvent(), AsyncEvent(), ShutdownRequest())
        let worker = worker(queue, slots: 1, .stopped) { _ throws(LoadError) in
            begun.signal()
            await goOn.wait()
            return LoadReport()
        }
        async let summary = worker.run(until: shutdown)
        await begun.wait()
        shutdown.request(.finish)
        goOn.signal()
        #expect(try await summary.succeeded == 1)
        #expect(queue.state.withLock { $0.ready.count } == 4)
    }

    @Test func `a worker of a batch ends when the batch has no open item`() async throws {
        let queue = QueueInMemory(jobs: 6)
        let summary = try await worker(queue, .batchFinished(1)) { _ throws(LoadError) in LoadReport() }
            .run(until: ShutdownRequest())
        #expect(summary.succeeded == 6)
        #expect(summary.left == .nothing)
    }
}
