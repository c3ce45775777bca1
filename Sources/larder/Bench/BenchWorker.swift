import Concurrency
import ImageModel
import JobQueue
import Measuring
import Prefetcher
import Worker

/// What a worker does to the queue, without the work: by hand, a batch at a time, and as `larder work` does it.
struct BenchWorker: Sendable {
    let queue: PostgresJobQueue

    /// The slots of the worker whose jobs do nothing.
    static let slots = 1_000

    /// A worker on a migrated database.
    init(databaseURL url: String) {
        var configuration = PostgresJobQueue.Configuration(databaseURL: url)
        // A check of a million jobs takes its time, and on a busy machine more.
        configuration.statementTimeout = .seconds(600)
        queue = PostgresJobQueue(configuration)
    }

    /// Registers a worker.
    func start(slots: Int) async throws -> WorkerSession { try await queue.startWorker(Self.description(slots)) }

    /// Claims `jobs` and completes them as succeeded, `width` at a time.
    func work(_ jobs: Int, width: Int, in session: WorkerSession) async throws {
        var held: [Job] = []
        for _ in 0..<jobs / width { held = try await step(held, width, in: session) }
        try await finish(held, in: session)
    }

    /// Enqueues fresh URLs of fifty hosts in one call; `series` sets them apart from others.
    func enqueue(_ numbers: Range<Int>, _ series: String) async throws {
        let urls = numbers.map { Self.url($0, series) }
        let answers = try await queue.enqueue(EnqueueRequest(urls: urls, batch: series))
        guard answers.allSatisfy({ $0.kind == .inserted }) else { throw MeasuringError("new URLs were not inserted") }
    }

    /// The URL of this number in a series.
    static func url(_ number: Int, _ series: String) -> String {
        "https://host-\(number % 50).example/\(series)/pictures/\(number).jpg"
    }

    /// Jobs a second when up to `most` are claimed and completed, `width` at a time, and how many were; two seconds at most.
    func rate(width: Int, most: Int) async throws -> (rate: Double, completed: Int) {
        // As a worker's settler does.
        try await withTaskExecutorPreference(queue.completingExecutor) {
            try await settleRate(width: width, most: most)
        }
    }

    private func settleRate(width: Int, most: Int) async throws -> (rate: Double, completed: Int) {
        let session = try await start(slots: width)
        var completed = 0
        var held = try await step([], width, in: session)
        let rate = try await ContinuousClock().rate(of: width, most: most, within: .seconds(2)) {
            held = try await step(held, width, in: session)
            completed += width
        }
        try await finish(held, in: session)
        try await session.stop()
        return (rate, completed + held.count)
    }

    /// Jobs a second when a worker with everything about it drains the queue, and its jobs do nothing.
    ///
    /// From the start of the worker to its last commit: not until it has found out that nothing is left.
    func drainRate(expecting jobs: Int, slots: Int = BenchWorker.slots) async throws -> Double {
        var configuration = PrefetchWorker.Configuration(Self.description(slots))
        configuration.end = .drained
        let last = Locked(ContinuousClock.now)
        let worker = PrefetchWorker(queue: queue, loader: NoLoader(), configuration: configuration) { event in
            if case .completed = event { last.withLock { $0 = .now } }
        }
        let start = ContinuousClock.now
        let summary = try await worker.run(until: ShutdownRequest())
        guard summary.succeeded == jobs, summary.failed + summary.retried == 0 else {
            throw MeasuringError("of \(jobs) jobs that do nothing \(summary.succeeded) succeeded")
        }
        return Double(jobs) / (last.withLock { $0 } - start).seconds
    }

    /// Completes what is held and claims the next.
    private func step(_ held: [Job], _ width: Int, in session: WorkerSession) async throws -> [Job] {
        try Self.check(try await session.complete(held.map(Self.outcome)))
        let jobs = try await session.claim(upTo: width)
        guard jobs.count == width else { throw MeasuringError("\(jobs.count) jobs claimed instead of \(width)") }
        return jobs
    }

    private func finish(_ held: [Job], in session: WorkerSession) async throws {
        try Self.check(try await session.complete(held.map(Self.outcome)))
    }

    private static func check(_ completions: [CompletionResult]) throws {
        guard completions.allSatisfy({ $0.decision == .succeeded }) else {
            throw MeasuringError("a claimed job was not completed as succeeded")
        }
    }

    /// A success that stored its original, as the simplest real job does.
    private static func outcome(_ job: Job) -> Outcome {
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

    private static func description(_ slots: Int) -> WorkerDescription {
        WorkerDescription(name: "bench", host: "bench", processID: 1, version: Larder.version, slots: slots)
    }
}

/// Loads nothing and says so.
private struct NoLoader: Loader {
    func load(_ request: LoadRequest) async throws(LoadError) -> LoadReport { LoadReport() }
}
