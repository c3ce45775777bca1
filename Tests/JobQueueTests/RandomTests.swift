import Executors
import Testing

@testable import JobQueue

@Suite("Random lives", .timeLimit(.minutes(5)))
struct RandomTests {
    /// Settles again, and settles what is no longer held, are part of it; what the queue answers and counts must be what
    /// the model says, and `check()` stays clean.
    @Test(
        "thousands of random steps do exactly what a plain model of the queue does", arguments: [UInt64(1), 20_261_121])
    func model(seed: UInt64) async throws {
        let fixture = try await QueueFixture.make()
        var random = SeededGenerator(seed: seed)
        var model = QueueModel()
        _ = try await fixture.queue.setPipeline(name: "card", spec: "{}")
        var workers: [WorkerSession] = []
        for index in 0..<3 { workers.append(try await fixture.startWorker("w\(index)")) }
        for step in 0..<2_000 {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<25:
                let batch = "batch \(Int.random(in: 0..<4, using: &random))"
                let pipeline = Bool.random(using: &random) ? "card" : "original"
                let urls = (0..<Int.random(in: 1...6, using: &random)).map { _ in
                    let number = Int.random(in: 0..<60, using: &random)
                    return number == 0 ? "nothing" : "http://host\(number % 5)/\(step / 400)/\(number)"
                }
                let attempts = Int.random(in: 1...3, using: &random)
                let late = Int.random(in: 0..<5, using: &random) == 0
                let priority = Int.random(in: 0...9, using: &random)
                let answers = try await fixture.enqueue(urls, batch: batch) {
                    $0.pipeline = pipeline
                    $0.maxAttempts = attempts
                    $0.priority = priority
                    $0.retryBase = .zero
                    $0.start = late ? .after(.seconds(1_000)) : .now
                }
                for (url, answer) in zip(urls, answers) {
                    let expected = model.enqueue(
                        QueueModel.Key(url: url, pipeline: pipeline), batch: batch, job: answer.job,
                        maxAttempts: attempts)
                    #expect(answer.kind == expected, "step \(step), \(url)")
                }
            case 25..<50:
                let index = Int.random(in: 0..<3, using: &random)
                let jobs = try await workers[index].claim(upTo: Int.random(in: 1...8, using: &random))
                for job in jobs {
                    #expect(model.jobs[job.id]?.attempt == job.attempt - 1, "step \(step)")
                    model.claims.append(QueueModel.HeldClaim(worker: index, claim: job.held))
                }
            case 50..<85:
                guard let last = model.claims.indices.last else { continue }
                let index = Int.random(in: max(0, last - 30)...last, using: &random)
                guard let end = QueueModel.End.allCases.randomElement(using: &random) else { continue }
                let held = model.claims[index]
                guard held.recorded != "forgotten" else { continue }
                let outcome =
                    switch end {
                    case .succeeded: Outcome(held.claim, .succeeded)
                    case .cancelled: Outcome(held.claim, .cancelled)
                    case .unavailable: Outcome.unavailable(held.claim)
                    case .notAnImage: Outcome(held.claim, .failed(.notAnImage))
                    }
                let settled = try await workers[held.worker].settle([outcome])
                #expect(settled[0].decision.name == model.settle(at: index, end), "step \(step)")
            case 85..<90:
                guard let index = model.claims.indices.randomElement(using: &random) else { continue }
                let held = model.claims[index]
                try await workers[held.worker].release([held.claim])
                if held.isHeld { model.claims[index].isHeld = false }
            case 90..<92:
                let index = Int.random(in: 0..<3, using: &random)
                if Bool.random(using: &random) {
                    try await workers[index].stop()
                } else {
                    try await fixture.sql(
                        "UPDATE larder_data.worker SET beat_at = now() - interval '1 h' WHERE id = $1",
                        [.integer(workers[index].id)])
                    // The model has no parked jobs: five losses in a row are a test of their own.
                    try await fixture.sql("UPDATE larder_data.job SET rescues = 0")
                }
                try await fixture.queue.tick(force: true)
                model.lose(worker: index)
                // What the lost one still says is said by nobody: its claims go with its number.
                model.claims.removeAll { $0.worker == index }
                workers[index] = try await fixture.startWorker("w\(index) at \(step)")
            case 92..<96:
                try await fixture.sql("UPDATE larder_data.delayed SET run_at = now()")
                try await fixture.queue.tick(force: true)
            default:
                for worker in workers { _ = try await worker.beat() }
                try await fixture.queue.tick(force: true)
            }
            if step % 50 == 0 { try await compare(fixture, model, step) }
        }
        try await compare(fixture, model, 2_000)
    }

    private func compare(_ fixture: QueueFixture, _ model: QueueModel, _ step: Int) async throws {
        try await fixture.expectSound()
        for progress in try await fixture.queue.progress() {
            let counts = QueueModel.Counts(
                total: progress.total, succeeded: progress.succeeded, failed: progress.failed,
                cancelled: progress.cancelled)
            #expect(counts == model.counts[progress.name ?? ""], "step \(step), \(progress.name ?? "")")
            #expect(progress.total == progress.open + progress.finished)
        }
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job") == String(model.jobs.count))
    }

    /// Every moment that `check()` looks at is one snapshot of a live system, so it must be clean at each of them.
    @Test("workers, enqueuers, deaths and broken sessions all at once lose nothing and do nothing twice")
    func storm() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("UPDATE larder_data.meta SET most_rescues = 1000")
        let submitted = Locked(0)
        let ended = Locked<[Int64: Int]>([:])
        let enqueuersLeft = Locked(3)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<3 {
                group.addTask {
                    let queue = PostgresJobQueue(fixture.patientConfiguration)
                    var random = SeededGenerator(seed: UInt64(index))
                    for round in 0..<40 {
                        var request = EnqueueRequest(
                            urls: (0..<25).map { _ in
                                "http://host\(Int.random(in: 0..<4, using: &random))/\(round / 8)/\(Int.random(in: 0..<40, using: &random))"
                            }, batch: "batch \(round % 3)")
                        request.retryBase = .zero
                        request.priority = Int.random(in: 0...9, using: &random)
                        // A session broken from outside in mid statement: unknown, so an item may count that we did not.
                        do throws(QueueError) {
                            let answers = try await queue.enqueue(request)
                            submitted.withLock { $0 += answers.count }
                        } catch {
                            #expect(error.code == .connectionLost)
                        }
                    }
                    enqueuersLeft.withLock { $0 -= 1 }
                }
            }
            for index in 0..<4 {
                group.addTask {
                    try await Self.work(fixture, seed: UInt64(100 + index), ended: ended) {
                        enqueuersLeft.withLock { $0 == 0 }
                    }
                }
            }
            group.addTask {
                while enqueuersLeft.withLock({ $0 > 0 }) {
                    try await fixture.expectSound()
                    try await fixture.sql(
                        """
                        SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.2
                        """)
                    _ = try? await fixture.queue.tick(force: true)
                }
            }
            try await group.waitForAll()
        }
        try await fixture.expectSound()
        // Each job's end was told to one worker at most: whoever died after the commit never heard of it.
        let records = try await fixture.sql("SELECT job_id FROM larder_data.job_history").compactMap { $0[0] }
        #expect(Set(records).count == records.count)
        #expect(ended.withLock { $0.values.allSatisfy { $0 == 1 } })
        let all = try await fixture.queue.progress()
        let total = all.reduce(0) { $0 + $1.total }
        #expect(total >= submitted.withLock { $0 } && all.allSatisfy { $0.open == 0 })
    }

    /// A worker that now and then dies, gives back, or sends outcomes twice, until the queue is empty.
    private static func work(
        _ fixture: QueueFixture, seed: UInt64, ended: Locked<[Int64: Int]>, until done: @Sendable () -> Bool
    ) async throws {
        var random = SeededGenerator(seed: seed)
        let queue = PostgresJobQueue(fixture.patientConfiguration)
        func start() async throws -> WorkerSession {
            try await queue.startWorker(
                WorkerDescription(name: "w\(seed)", host: "test", processID: 1, version: "1", slots: 10))
        }
        var worker = try await start()
        while true {
            let jobs = try await worker.claim(upTo: Int.random(in: 1...10, using: &random))
            if jobs.isEmpty {
                try await fixture.sql("UPDATE larder_data.delayed SET run_at = now()")
                try await queue.tick(force: true)
                if done(), try await queue.remaining().isDrained { return }
                await Task.yield()
                continue
            }
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                try await fixture.sql(
                    "UPDATE larder_data.worker SET beat_at = now() - interval '1 h' WHERE id = $1",
                    [.integer(worker.id)])
                worker = try await start()
            case 1: try await worker.release(jobs.map(\.held))
            default:
                let outcomes = jobs.map { job in
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0: Outcome.unavailable(job.held)
                    case 1: Outcome(job.held, .failed(.notAnImage))
                    default: Outcome(job.held, .succeeded)
                    }
                }
                let settled = try await worker.settleAll(outcomes)
                if Int.random(in: 0..<10, using: &random) == 0 { _ = try await worker.settle(outcomes) }
                ended.withLock { ended in
                    for settlement in settled {
                        switch settlement.decision {
                        case .succeeded, .failed, .cancelled: ended[settlement.claim.job, default: 0] += 1
                        case .retried, .stale, .busy: break
                        }
                    }
                }
            }
        }
    }
}
