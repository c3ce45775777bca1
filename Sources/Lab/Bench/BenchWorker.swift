import Concurrency
import ImageModel
import JobQueue
import Measuring
import Prefetcher
import Terminal
import Worker

/// A worker's queue calls without its work: single calls with batches of a given size, and a worker whose jobs do
/// nothing.
struct BenchWorker: Sendable {
    let queue: PostgresJobQueue

    /// Slots of the worker whose jobs do nothing.
    static let slots = 1_000

    init(databaseURL url: String) {
        var configuration = PostgresJobQueue.Configuration(databaseURL: url)
        // `check` of a million jobs takes minutes on a busy machine.
        configuration.statementTimeout = .seconds(600)
        queue = PostgresJobQueue(configuration)
    }

    func start(slots: Int) async throws -> WorkerSession { try await queue.workers.start(Self.description(slots)) }

    /// Enqueues new URLs of fifty hosts in one call, into the batch `series`.
    func enqueue(_ numbers: Range<Int>, _ series: String) async throws {
        let urls = numbers.map { Self.url($0, series) }
        let answers = try await queue.producer.enqueue(EnqueueRequest(urls: urls, batch: series))
        guard answers.allSatisfy({ $0.kind == .inserted }) else { throw MeasuringError("new URLs were not inserted") }
    }

    static func url(_ number: Int, _ series: String) -> String {
        "https://host-\(number % 50).example/\(series)/images/\(number).jpg"
    }

    func work(_ jobs: Int, width: Int, in session: WorkerSession) async throws {
        for _ in 0..<jobs / width { try await step(width, in: session) }
    }

    /// Jobs per second of claiming and completing at most `limit` jobs, `width` at a time, for about two seconds.
    func rate(width: Int, limit: Int) async throws -> (rate: Double, completed: Int) {
        let session = try await start(slots: width)
        var completed = 0
        let rate = try await ContinuousClock().rate(of: width, limit: limit, within: .seconds(2)) {
            try await step(width, in: session)
            completed += width
        }
        try await session.stop()
        return (rate, completed)
    }

    /// Jobs per second of a worker whose jobs do nothing, from its start to its last completion.
    func drainRate(expecting jobs: Int) async throws -> Double {
        var configuration = PrefetchWorker.Configuration(Self.description(Self.slots))
        configuration.end = .drained
        let last = Locked(ContinuousClock.now)
        let worker = PrefetchWorker(queue: queue, loader: NoLoader(), configuration: configuration) { event in
            if case .completed = event { last.withLock { $0 = .now } }
        }
        let start = ContinuousClock.now
        let summary = try await worker.run(until: ShutdownRequest())
        guard summary.succeeded == jobs, summary.failed + summary.retried == 0 else {
            throw MeasuringError("\(summary.succeeded) of \(jobs) jobs succeeded")
        }
        return Double(jobs) / (last.withLock { $0 } - start).seconds
    }

    private func step(_ width: Int, in session: WorkerSession) async throws {
        let jobs = try await session.claim(upTo: width)
        guard jobs.count == width else { throw MeasuringError("\(jobs.count) jobs claimed instead of \(width)") }
        let results = try await session.complete(jobs.map(Self.outcome))
        guard results.allSatisfy({ $0.decision == .succeeded }) else {
            throw MeasuringError("a claimed job was not completed as succeeded")
        }
    }

    /// A success with a stored original, the minimum of a real job.
    static func outcome(_ job: Job) -> Outcome {
        var outcome = Outcome(job.held, .succeeded)
        outcome.httpStatus = 200
        outcome.bytesIn = 100_000
        outcome.bytesOut = 100_000
        outcome.downloads = 1
        outcome.fetching = .milliseconds(50)
        outcome.stored = [
            StoredFile(
                key: job.url, path: "default/0123456789abcdef0123456789abcdef.jpg", bytes: 100_000, origin: .downloaded)
        ]
        return outcome
    }

    static func description(_ slots: Int) -> WorkerDescription {
        WorkerDescription(
            name: "bench", host: "bench", processID: 1, version: Larder.version, slots: slots, cacheID: "bench")
    }
}

private struct NoLoader: Loader {
    func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport { LoadReport() }
}
