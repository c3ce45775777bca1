import FoundationEssentials
import JobQueue
import Measuring

/// Latencies in a queue of a million jobs: claims, claims behind dead rows, progress.
struct CrowdedQueue: Sendable {
    static let figures = [
        Figure("claim_p99_million", "ms"), Figure("claim_p99_dead_rows", "ms"), Figure("progress_million", "ms"),
    ]

    private let worker: BenchWorker
    private let server: BenchServer
    private let session: BenchSession
    private let jobs: Int

    private static let width = 100
    /// Claims per round: enough for a p99, few enough that five rounds take at most a fifth of the jobs.
    private var claims: Int { max(5, min(200, jobs / 5_000)) }

    init(_ server: BenchServer, jobs: Int) {
        self.server = server
        self.jobs = jobs
        worker = BenchWorker(databaseURL: server.url)
        session = server.session()
    }

    /// The rounds' values. The dead rows come last because they stay.
    func measure(rounds: Int, _ note: @Sendable (String) -> Void) async throws -> [[String: Double]] {
        note("filling the queue with \(Double(jobs).short) jobs")
        try await fill()
        var all: [[String: Double]] = []
        for _ in 0..<rounds {
            let registration = try await worker.start(slots: Self.width)
            all.append(["claim_p99_million": try await claimLatency(in: registration)])
            // The claimed jobs return to their place.
            try await registration.stop()
            all.append(["progress_million": try await progressLatency()])
        }
        note("claiming \(Double(jobs / 2).short) jobs while an old snapshot keeps their dead rows")
        let holder = server.session()
        try await holder.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await holder.number("SELECT count(*) FROM pg_class")
        let registration = try await worker.start(slots: EnqueueRequest.maxURLs)
        try await claimHalf(in: registration)
        for _ in 0..<rounds {
            try await maintain()
            _ = try await registration.heartbeat()
            all.append(["claim_p99_dead_rows": try await claimLatency(in: registration)])
        }
        await holder.close()
        return all
    }

    /// Enqueues the jobs into one batch.
    private func fill() async throws {
        for start in stride(from: 0, to: jobs, by: EnqueueRequest.maxURLs) {
            let end = min(jobs, start + EnqueueRequest.maxURLs)
            try await session.execute(
                """
                SELECT count(*) FROM larder.enqueue_many((
                    SELECT array_agg('https://host-' || i % 50 || '.example/crowd/images/' || i || '.jpg' ORDER BY i)
                    FROM generate_series(\(start), \(end - 1)) AS i), batch => 'crowd')
                """)
        }
        try await maintain()
    }

    /// All maintenance that workers do over time.
    private func maintain() async throws {
        let errors = "SELECT string_agg(task || ': ' || error, '; ') FROM larder.maintain(true)"
        if let error = try await session.execute(errors) { throw MeasuringError("maintenance: \(error)") }
    }

    private func claimLatency(in registration: WorkerSession) async throws -> Double {
        var latencies: [Double] = []
        for _ in 0..<claims {
            let start = ContinuousClock.now
            let claimed = try await registration.claim(upTo: Self.width)
            latencies.append((ContinuousClock.now - start) / .milliseconds(1))
            guard claimed.count == Self.width else { throw MeasuringError("a claim returned \(claimed.count) jobs") }
        }
        return latencies.quantile(0.99)
    }

    private func progressLatency() async throws -> Double {
        let batch = Int(try await session.number("SELECT batch_id FROM larder.progress WHERE batch = 'crowd'"))
        var latencies: [Double] = []
        for _ in 0..<25 {
            latencies.append(try await session.milliseconds("SELECT * FROM larder.progress WHERE batch_id = \(batch)"))
        }
        return latencies.median
    }

    /// Claims the older half of the jobs, so that the queue's head consists of dead rows.
    private func claimHalf(in registration: WorkerSession) async throws {
        var left = jobs / 2
        var calls = 0
        var lastHeartbeat = ContinuousClock.now
        while left > 0 {
            if calls % 20 == 0 { try await maintain() }
            // Far less often than a worker, because a heartbeat reads all held jobs, here up to 500,000.
            if ContinuousClock.now - lastHeartbeat > .seconds(4) {
                _ = try await registration.heartbeat()
                lastHeartbeat = .now
            }
            calls += 1
            left -= try await registration.claim(upTo: min(left, 1_000)).count
        }
    }
}
