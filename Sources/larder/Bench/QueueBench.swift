import Foundation
import JobQueue
import Measuring

/// The measurements of `larder bench queue`: rounds in which the queue and the bare tables take turns.
///
/// A round enqueues its jobs through the program itself, completes some of them by hand, 1, 100 and 500 at a time, and lets
/// a worker drain the rest, whose jobs do nothing. Beside each stands the bare shape by pgbench, before it in one
/// round and after it in the next, so that what drifts on the machine drifts for both.
actor QueueBench {
    /// Jobs of a round; of the warm-up a tenth.
    private var jobs: Int
    private let fullJobs: Int
    private let rounds: Int
    private let server: BenchServer
    private let bare: BareQueue
    private let worker: BenchWorker
    private let session: BenchSession
    private var isBareFirst = false
    private var enqueued = 0
    private var completed = 0

    /// When no further round begins: what follows them still has its time within ten minutes.
    private static let patience = Duration.seconds(300)

    /// Wide enough for the bare shape to be measured well and for a new session's plans not to count, and for a slow disk
    /// to be bearable.
    private var sample: (ones: Int, hundreds: Int, fiveHundreds: Int) {
        (min(2_000, jobs / 8), min(50_000, jobs / 8), min(75_000, jobs / 4))
    }

    init(_ server: BenchServer, jobs: Int, rounds: Int) {
        self.server = server
        self.jobs = max(2_000, jobs / 10)
        fullJobs = jobs
        self.rounds = rounds
        bare = BareQueue(server)
        worker = BenchWorker(databaseURL: server.url)
        session = server.session()
    }

    /// Measures; `note` is told how far it is.
    func run(_ note: @Sendable (String) -> Void) async throws -> [MeasuredFigure] {
        var values = Rounds()
        let deadline = ContinuousClock.now + Self.patience
        for number in 0...rounds {
            let start = ContinuousClock.now
            guard number <= 1 || start < deadline else {
                note("no more rounds: this machine is slow, or busy")
                break
            }
            if number == 1 { jobs = fullJobs }
            let round = try await round(number)
            // The first one warms both sides up.
            if number > 0 { values.add(round) }
            let ratio = (round["noop_end_to_end"] ?? 0) / (round["bare_settle_100"] ?? .infinity)
            note(
                "\(number == 0 ? "warm-up" : "round \(number)"): \(Int((ContinuousClock.now - start).seconds)) s, "
                    + "\(round["noop_end_to_end"]?.short ?? "") no-op jobs a second, \(ratio.short) × bare")
        }
        try await proveCounts()
        // Ten rounds' jobs at most, so that a small measurement is a quick one, too.
        let crowded = min(1_000_000, fullJobs * 10)
        note("filling the queue with \(Double(crowded).short) jobs")
        let crowd = CrowdedQueue(server, jobs: crowded)
        try await crowd.fill()
        for series in try await crowd.measure(rounds: rounds, note) { values.add(series) }
        note("checking the queue")
        try await proveSound()

        return try values.measurements(
            [
                Figure("t1", "jobs/s"), Figure("enqueue_cli", "jobs/s", against: "bare_insert_1000"),
                Figure("settle_1", "jobs/s", against: "bare_settle_1"),
                Figure("settle_100", "jobs/s", against: "bare_settle_100"),
                Figure("settle_500", "jobs/s", against: "bare_settle_500"),
                Figure("noop_end_to_end", "jobs/s", against: "bare_settle_100"),
                Figure("wal_per_job", "bytes", against: "bare_wal_per_job"), Figure("commits_per_job", "commits"),
            ] + CrowdedQueue.figures + [
                Figure("bare_insert_1000", "jobs/s"), Figure("bare_settle_1", "jobs/s"),
                Figure("bare_settle_100", "jobs/s"), Figure("bare_settle_500", "jobs/s"),
                Figure("bare_wal_per_job", "bytes"), Figure("wal_after_checkpoint", "bytes"),
            ])
    }

    private func round(_ number: Int) async throws -> [String: Double] {
        isBareFirst = number % 2 == 1
        try await session.ask("CHECKPOINT")
        let list = try writeList(number)
        let (jobs, sample) = (jobs, sample)
        var values: [String: Double] = [:]
        values["t1"] = try await bare.insertRate(sample.ones, width: 1)
        try await pair(&values, "enqueue_cli", "bare_insert_1000") {
            try await self.enqueue(list, batch: "round-\(number)")
        } and: {
            try await self.bare.insertRate(jobs)
        }
        for (width, rows) in [(1, sample.ones), (100, sample.hundreds), (500, sample.fiveHundreds)] {
            try await pair(&values, "settle_\(width)", "bare_settle_\(width)") {
                try await self.complete(width: width, most: rows)
            } and: {
                try await self.bare.settleRate(rows, width: width)
            }
        }
        values["noop_end_to_end"] = try await drain()
        values.merge(try await accounts("\(number)")) { $1 }
        values["bare_wal_per_job"] = try await bare.walPerRow(10_000)
        // The first change of a page after a checkpoint writes it whole: the most that a job can cost.
        try await session.ask("CHECKPOINT")
        values["wal_after_checkpoint"] = try await accounts("\(number)-after")["wal_per_job"]
        return values
    }

    /// Takes both samples, in this round's order.
    private func pair(
        _ values: inout [String: Double], _ name: String, _ bareName: String, _ larder: () async throws -> Double,
        and bare: () async throws -> Double
    ) async throws {
        if isBareFirst { values[bareName] = try await bare() }
        values[name] = try await larder()
        if !isBareFirst { values[bareName] = try await bare() }
    }

    // MARK: The samples

    /// By the wall time of the whole process: its start, reading the list and the last commit included.
    private func enqueue(_ list: String, batch: String) async throws -> Double {
        let seconds = try await server.larder(["enqueue", "--from", list, "--batch", batch])
        enqueued += jobs
        return Double(jobs) / seconds
    }

    private func complete(width: Int, most: Int) async throws -> Double {
        let (rate, count) = try await worker.rate(width: width, most: most)
        completed += count
        return rate
    }

    private func drain() async throws -> Double {
        let left = enqueued - completed
        let rate = try await worker.drainRate(expecting: left)
        completed += left
        return rate
    }

    /// WAL and commits of 10,000 jobs: enqueued in one call, claimed and completed by the hundred, all on one connection.
    private func accounts(_ number: String) async throws -> [String: Double] {
        let count = EnqueueRequest.mostURLs
        let commits = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        // A connection's commits are counted for certain only when it has ended.
        await worker.queue.close()
        let commitsBefore = try await session.number(commits)
        let before = try await session.writtenWAL()
        try await worker.enqueue(0..<count, "accounts-\(number)")
        let hand = try await worker.start(slots: 100)
        try await worker.work(count, width: 100, in: hand)
        let after = try await session.writtenWAL()
        try await hand.stop()
        enqueued += count
        completed += count
        await worker.queue.close()
        while try await session.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'larder'") > 0 {
            try await Task.sleep(for: .milliseconds(100))
        }
        return [
            "wal_per_job": (after - before) / Double(count),
            "commits_per_job": (try await session.number(commits) - commitsBefore) / Double(count),
        ]
    }

    // MARK: Right or worthless

    /// Speed without the right result is none.
    private func proveCounts() async throws {
        let recorded = try await session.number("SELECT sum(succeeded) FROM larder.progress")
        let twice = try await session.number("SELECT count(*) - count(DISTINCT job_id) FROM larder_data.job_history")
        guard Int(recorded) == completed, completed == enqueued, twice == 0 else {
            throw MeasuringError(
                "\(enqueued) jobs enqueued, \(completed) completed, \(Int(recorded)) recorded, \(Int(twice)) twice")
        }
    }

    private func proveSound() async throws {
        guard let broken = try await worker.queue.check().first else { return }
        throw MeasuringError("the queue is not sound: \(broken.invariant): \(broken.detail)")
    }

    /// A list of fresh URLs of fifty hosts, a file of this run.
    private func writeList(_ number: Int) throws -> String {
        let path = server.file("urls-\(number)")
        let lines = (0..<jobs).map { BenchWorker.url($0, "round-\(number)") + "\n" }
        try Data(lines.joined().utf8).write(to: URL(filePath: path))
        return path
    }
}
