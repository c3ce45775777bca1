import Foundation
import JobQueue
import Measuring

/// A queue with a million jobs in it, and what is slow in many queues then: claims, claims behind dead rows, progress.
struct CrowdedQueue: Sendable {
    /// What `measure` gives.
    static let figures = [
        Figure("claim_p99_million", "ms"), Figure("claim_p99_dead_rows", "ms"), Figure("progress_million", "ms"),
        Figure("status_10000", "ms"),
    ]

    private let server: BenchServer
    private let worker: BenchWorker
    private let session: BenchSession
    private let jobs: Int

    /// Jobs of one claim, as many as a busy worker asks for.
    private static let width = 100
    /// Claims in a round: enough for a p99, few enough to take a fifth of the jobs at most in five rounds.
    private var claims: Int { max(5, min(200, jobs / 5_000)) }

    init(_ server: BenchServer, jobs: Int) {
        self.server = server
        self.jobs = jobs
        worker = BenchWorker(databaseURL: server.url)
        session = server.session()
    }

    /// Enqueues the jobs, 10,000 a call, into one batch.
    func fill() async throws {
        for start in stride(from: 0, to: jobs, by: EnqueueRequest.mostURLs) {
            let end = min(jobs, start + EnqueueRequest.mostURLs)
            try await session.ask(
                """
                SELECT count(*) FROM larder.enqueue_many((
                    SELECT array_agg('https://host-' || i % 50 || '.example/crowd/pictures/' || i || '.jpg' ORDER BY i)
                    FROM generate_series(\(start), \(end - 1)) AS i), batch => 'crowd')
                """)
        }
        try await runMaintenance()
    }

    /// The values of the rounds. The dead rows come last, and stay. `note` is told how far it is.
    func measure(rounds: Int, _ note: @Sendable (String) -> Void) async throws -> [[String: Double]] {
        var all: [[String: Double]] = []
        note("claiming among them")
        for _ in 0..<rounds {
            let hand = try await worker.start(slots: Self.width)
            all.append(["claim_p99_million": try await claimLatency(in: hand)])
            // What was claimed goes back to its place.
            try await hand.stop()
            all.append(["progress_million": try await progressLatency()])
        }
        note("opening \(Double(batches).short) batches")
        try await openBatches()
        for _ in 0..<rounds { all.append(["status_10000": try await statusLatency()]) }

        note("claiming \(Double(jobs / 2).short) jobs while an old snapshot keeps their dead rows")
        let holder = try await holdSnapshot()
        let hand = try await worker.start(slots: EnqueueRequest.mostURLs)
        try await killHead(in: hand)
        for _ in 0..<rounds {
            try await runMaintenance()
            _ = try await hand.heartbeat()
            all.append(["claim_p99_dead_rows": try await claimLatency(in: hand)])
        }
        await holder.close()
        return all
    }

    /// Maintenance as workers do it, but for as long as it takes: all of it at once, on a machine that may be busy.
    private func runMaintenance() async throws {
        let faults = "SELECT string_agg(task || ': ' || error, '; ') FROM larder.maintain(true)"
        if let fault = try await session.ask(faults) { throw MeasuringError("maintenance: \(fault)") }
    }

    /// The p99 of claims, in ms.
    private func claimLatency(in hand: WorkerSession) async throws -> Double {
        var latencies: [Double] = []
        for _ in 0..<claims {
            let start = ContinuousClock.now
            let claimed = try await hand.claim(upTo: Self.width)
            latencies.append((ContinuousClock.now - start) / .milliseconds(1))
            guard claimed.count == Self.width else { throw MeasuringError("a claim brought \(claimed.count) jobs") }
        }
        return latencies.quantile(0.99)
    }

    /// The median time of asking for the batch's progress, in ms.
    private func progressLatency() async throws -> Double {
        let batch = Int(try await session.number("SELECT batch_id FROM larder.progress WHERE batch = 'crowd'"))
        var latencies: [Double] = []
        for _ in 0..<25 {
            latencies.append(try await session.milliseconds("SELECT * FROM larder.progress WHERE batch_id = \(batch)"))
        }
        return latencies.median
    }

    /// The median time of asking where all the batches stand, in ms.
    private func statusLatency() async throws -> Double {
        var latencies: [Double] = []
        for _ in 0..<5 {
            let start = ContinuousClock.now
            let batches = try await worker.queue.progress(limit: batches, isDetailed: false)
            latencies.append((ContinuousClock.now - start) / .milliseconds(1))
            guard batches.count == self.batches else {
                throw MeasuringError("\(batches.count) batches have a progress")
            }
        }
        return latencies.median
    }

    private var batches: Int { min(10_000, jobs / 5) }

    /// As many batches as the status is asked of, each with a job and its totals folded.
    private func openBatches() async throws {
        // By the thousand: one statement for all might take longer than a statement may.
        for first in stride(from: 1, through: batches, by: 1_000) {
            try await session.ask(
                """
                DO $$ BEGIN
                    FOR i IN \(first)..\(min(batches, first + 999)) LOOP
                        PERFORM larder.enqueue('https://host.example/status/' || i, batch => 'status-' || i, run_at => now() + interval '1 day');
                    END LOOP;
                END $$
                """)
        }
        try await runMaintenance()
    }

    /// A session that sees the queue as it is now for as long as it lives: no dead row can be cleared away meanwhile.
    private func holdSnapshot() async throws -> BenchSession {
        let holder = server.session()
        try await holder.ask("BEGIN ISOLATION LEVEL REPEATABLE READ")
        _ = try await holder.number("SELECT count(*) FROM pg_class")
        return holder
    }

    /// Claims the older half of the jobs and keeps them, so that their rows at the head of the queue are dead.
    private func killHead(in hand: WorkerSession) async throws {
        var left = jobs / 2
        var calls = 0
        var beaten = ContinuousClock.now
        while left > 0 {
            if calls % 20 == 0 { try await runMaintenance() }
            // A heartbeat looks through what the worker holds, which is far more here than any worker's slots.
            if ContinuousClock.now - beaten > .seconds(4) {
                _ = try await hand.heartbeat()
                beaten = .now
            }
            calls += 1
            left -= try await hand.claim(upTo: min(left, 1_000)).count
        }
    }
}
