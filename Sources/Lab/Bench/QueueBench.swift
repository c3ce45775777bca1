import Concurrency
import FoundationEssentials
import JobQueue
import Measuring

actor QueueBench {
    private let jobs: Int
    private let rounds: Int
    private let server: BenchServer
    private let bare: BareQueue
    private let worker: BenchWorker
    private let session: BenchSession
    private var isBareFirst = false
    private var enqueued = 0
    private var completed = 0

    /// No round starts later, so that the whole run ends within ten minutes.
    private static let lastRoundStart = Duration.seconds(300)

    init(_ server: BenchServer, jobs: Int, rounds: Int) {
        self.server = server
        self.jobs = jobs
        self.rounds = rounds
        bare = BareQueue(server)
        worker = BenchWorker(databaseURL: server.url)
        session = server.session()
    }

    func run(_ note: @Sendable (String) -> Void) async throws -> [MeasuredFigure] {
        var values = Rounds()
        let start = ContinuousClock.now
        // Round 0 is a tenth of the size and is not counted.
        for number in 0...rounds {
            let roundStart = ContinuousClock.now
            guard number <= 1 || roundStart - start < Self.lastRoundStart else {
                note("further rounds are skipped: this machine is slow or busy")
                break
            }
            let round = try await round(number, jobs: number == 0 ? max(2_000, jobs / 10) : jobs)
            if number > 0 { values.add(round) }
            note(
                "round \(number): \(Int((ContinuousClock.now - roundStart).seconds)) s, "
                    + "\(round["noop_end_to_end"]?.short ?? "") jobs per second end to end")
        }
        try await checkCounts()
        let crowd = CrowdedQueue(server, jobs: min(1_000_000, jobs * 10))
        for series in try await crowd.measure(rounds: rounds, note) { values.add(series) }
        if let violation = try await worker.queue.reports.check().first {
            throw MeasuringError("the queue is not sound: \(violation.invariant): \(violation.detail)")
        }
        return try values.measurements(
            [
                Figure("t1", "jobs/s"), Figure("enqueue_cli", "jobs/s", against: "bare_insert_1000"),
                Figure("complete_1", "jobs/s", against: "bare_complete_1"),
                Figure("complete_100", "jobs/s", against: "bare_complete_100"),
                Figure("complete_500", "jobs/s", against: "bare_complete_500"),
                Figure("noop_end_to_end", "jobs/s", against: "bare_complete_100"),
                Figure("wal_per_job", "bytes", against: "bare_wal_per_job"), Figure("commits_per_job", "commits"),
            ] + CrowdedQueue.figures + [
                Figure("bare_insert_1000", "jobs/s"), Figure("bare_complete_1", "jobs/s"),
                Figure("bare_complete_100", "jobs/s"), Figure("bare_complete_500", "jobs/s"),
                Figure("bare_wal_per_job", "bytes"),
            ])
    }

    private func round(_ number: Int, jobs: Int) async throws -> [String: Double] {
        // Needs a superuser or pg_checkpoint; without it the rounds only differ more.
        _ = try? await session.execute("CHECKPOINT")
        let batch = "round-\(number)"
        let list = server.file(batch)
        let lines = (0..<jobs).map { BenchWorker.url($0, batch) + "\n" }
        try Data(lines.joined().utf8).write(to: URL(filePath: list))

        // Large enough that the plans of a new session do not count, small enough for a slow disk.
        let widths = [(1, min(2_000, jobs / 8)), (100, min(50_000, jobs / 8)), (500, min(75_000, jobs / 4))]
        var values = ["t1": try await bare.insertRate(widths[0].1, width: 1)]
        isBareFirst = number % 2 == 1
        try await pair(&values, "enqueue_cli", "bare_insert_1000") {
            // The wall time of the whole process: its start, reading the list and the last commit included.
            Double(jobs) / (try await self.server.larder(["enqueue", "--from", list, "--batch", batch]))
        } and: {
            try await self.bare.insertRate(jobs)
        }
        enqueued += jobs
        for (width, rows) in widths {
            try await pair(&values, "complete_\(width)", "bare_complete_\(width)") {
                try await self.complete(width: width, limit: rows)
            } and: {
                try await self.bare.completeRate(rows, width: width)
            }
        }
        values["noop_end_to_end"] = try await worker.drainRate(expecting: enqueued - completed)
        completed = enqueued
        values.merge(try await costs("costs-\(number)")) { $1 }
        values["bare_wal_per_job"] = try await bare.walPerRow(10_000)
        return values
    }

    /// Takes both samples in this round's order.
    private func pair(
        _ values: inout [String: Double], _ name: String, _ bareName: String, _ larder: () async throws -> Double,
        and bare: () async throws -> Double
    ) async throws {
        if isBareFirst { values[bareName] = try await bare() }
        values[name] = try await larder()
        if !isBareFirst { values[bareName] = try await bare() }
    }

    private func complete(width: Int, limit: Int) async throws -> Double {
        let (rate, count) = try await worker.rate(width: width, limit: limit)
        completed += count
        return rate
    }

    /// WAL and commits per job of 10,000 jobs: enqueued in one call, claimed and completed 100 at a time.
    private func costs(_ batch: String) async throws -> [String: Double] {
        let count = EnqueueRequest.maxURLs
        let commits = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        // The server counts a connection's commits reliably only after the connection has ended.
        await worker.queue.close()
        let commitsBefore = try await session.number(commits)
        let walBefore = try await session.writtenWAL()
        try await worker.enqueue(0..<count, batch)
        let registration = try await worker.start(slots: 100)
        try await worker.work(count, width: 100, in: registration)
        let wal = try await session.writtenWAL() - walBefore
        try await registration.stop()
        enqueued += count
        completed += count
        await worker.queue.close()
        while try await session.number("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'larder'") > 0 {
            try await Task.sleep(for: .milliseconds(100))
        }
        return [
            "wal_per_job": wal / Double(count),
            "commits_per_job": (try await session.number(commits) - commitsBefore) / Double(count),
        ]
    }

    private func checkCounts() async throws {
        let recorded = try await session.number("SELECT sum(succeeded) FROM larder.progress")
        let twice = try await session.number("SELECT count(*) - count(DISTINCT job_id) FROM larder_data.job_history")
        guard Int(recorded) == completed, completed == enqueued, twice == 0 else {
            throw MeasuringError(
                "\(enqueued) jobs enqueued, \(completed) completed, \(Int(recorded)) recorded, \(Int(twice)) twice")
        }
    }
}
