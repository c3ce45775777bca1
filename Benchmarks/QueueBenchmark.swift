import JobQueue

extension Benchmark {
    /// One client each, over the same socket; the peer is the bare shape of the same work in the same rounds.
    static let queue = Benchmark(
        name: "queue", question: "How near does the queue come to what bare tables allow?"
    ) { options in
        let scratch = try Scratch()
        let database = try await BenchmarkDatabase(on: options.database, scratch: scratch)
        do {
            let findings = try await measureQueue(at: database.url, rounds: options.rounds)
            try await database.remove()
            return findings
        } catch {
            try? await database.remove()
            throw error
        }
    }
}

private func measureQueue(at url: String, rounds count: Int) async throws -> Benchmark.Findings {
    let configuration = PostgresJobQueue.Configuration(databaseURL: url)
    try await Migrator(configuration).migrate()
    let bare = try BareTables(url)
    let larder = try await QueueClient(configuration)
    let clock = ContinuousClock()

    // Statistics for both sides, of tables as full as they will be.
    try await larder.fill(10_000)
    try bare.fill(40_000)
    _ = try bare.text("ANALYZE")

    var steps: [Rounds.Step] = [
        { ["t1": try await clock.rate(of: 1, most: 5_000) { try bare.insert(1) }] },
        { ["enqueue_many": try await clock.rate(of: 10_000, most: 30_000) { try await larder.enqueue() }] },
        { ["bare_insert_1000": try await clock.rate(of: 1_000, most: 100_000) { try bare.insert(1_000) }] },
        {
            try await larder.fill(2_000)
            let start = try bare.writtenWAL()
            try await larder.enqueue()
            let middle = try bare.writtenWAL()
            for _ in 0..<20 { try await larder.work(100) }
            return ["wal_per_job": (middle - start) / 10_000 + (try bare.writtenWAL() - middle) / 2_000]
        },
        {
            try bare.fill(2_000)
            let start = try bare.writtenWAL()
            for _ in 0..<10 { try bare.insert(1_000) }
            let middle = try bare.writtenWAL()
            for _ in 0..<20 { try bare.move(100) }
            return ["bare_wal": (middle - start) / 10_000 + (try bare.writtenWAL() - middle) / 2_000]
        },
    ]
    for width in [1, 100, 500] {
        steps.append {
            try await larder.fill(10_000)
            return ["settle_\(width)": try await clock.rate(of: width, most: 10_000) { try await larder.work(width) }]
        }
        steps.append {
            try bare.fill(40_000)
            return ["bare_move_\(width)": try await clock.rate(of: width, most: 40_000) { try bare.move(width) }]
        }
    }
    let rounds = try await Rounds(count, steps)

    // Speed without the right result is none.
    let recorded = try bare.number("SELECT count(*) FROM larder_data.job_history WHERE outcome = 1")
    guard Int(recorded) == larder.settled else {
        throw BenchmarkError("\(larder.settled) jobs were settled and \(Int(recorded)) recorded")
    }
    let version = try bare.text("SHOW server_version")
    try await larder.stop()
    return Benchmark.Findings(
        measurements: try rounds.measurements(
            [Figure("t1", "rows/s"), Figure("enqueue_many", "jobs/s", against: "bare_insert_1000")]
                + [1, 100, 500].map { Figure("settle_\($0)", "jobs/s", against: "bare_move_\($0)") }
                + [Figure("wal_per_job", "bytes", against: "bare_wal"), Figure("bare_insert_1000", "rows/s")]
                + [1, 100, 500].map { Figure("bare_move_\($0)", "rows/s") }
                + [Figure("bare_wal", "bytes")]),
        input: "one client; 10,000 URLs a call; settle_N is claim and settle of N jobs with one stored file each",
        facts: ["postgres": version.split(separator: " ").first.map(String.init) ?? version])
}

/// What a worker and a client do to the queue, without the work.
private final class QueueClient {
    private let queue: PostgresJobQueue
    private let worker: WorkerSession
    private var enqueued = 0
    private(set) var settled = 0

    init(_ configuration: PostgresJobQueue.Configuration) async throws {
        queue = PostgresJobQueue(configuration)
        worker = try await queue.startWorker(
            WorkerDescription(name: "bench", host: "bench", processID: 1, version: "bench", slots: 500))
    }

    /// Enqueues 10,000 new URLs of fifty hosts in one call.
    func enqueue() async throws {
        let first = enqueued + 1
        enqueued += EnqueueRequest.mostURLs
        let urls = (first...enqueued).map { "https://host-\($0 % 50).example/pictures/\($0).jpg" }
        let answers = try await queue.enqueue(EnqueueRequest(urls: urls, batch: "bench"))
        guard answers.allSatisfy({ $0.kind == .inserted }) else { throw BenchmarkError("new URLs were not inserted") }
    }

    /// Sees to it that `jobs` can be claimed, under a fresh lease.
    func fill(_ jobs: Int) async throws {
        while enqueued - settled < jobs { try await enqueue() }
        _ = try await worker.beat()
    }

    /// Claims and settles so many jobs, in two transactions.
    func work(_ width: Int) async throws {
        let jobs = try await worker.claim(upTo: width)
        guard jobs.count == width else { throw BenchmarkError("\(jobs.count) jobs claimed instead of \(width)") }
        settled += try await worker.settle(jobs.map(outcome)).count
    }

    func stop() async throws {
        try await worker.stop()
        await queue.close()
    }

    /// A success that stored its original, as the simplest real job does.
    private func outcome(_ job: Job) -> Outcome {
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
}
