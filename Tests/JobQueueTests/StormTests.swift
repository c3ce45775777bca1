import Concurrency
import Testing

@testable import JobQueue

/// All callers at once.
@Suite(.timeLimit(.minutes(5)))
struct StormTests {
    /// The state that the callers of one storm share.
    private struct Storm: Sendable {
        let fixture: QueueFixture
        let submitted = Locked(0)
        /// How often the end of a job was reported to a worker.
        let ended = Locked<[Int64: Int]>([:])
        let enqueuersLeft = Locked(8)
        let isOver = Locked(false)
        /// Unexpected errors.
        let surprises = Locked<[String]>([])

        func note(_ error: QueueError, allowed: [QueueError.Code]) {
            if !allowed.contains(error.code) { surprises.withLock { $0.append("\(error)") } }
        }
    }

    /// Every moment that `check()` looks at is one snapshot of a live system, so it must be clean at each of them.
    @Test(arguments: [false, true])
    func `eight workers, eight enqueuers and an operator lose nothing, do nothing twice and never deadlock`(
        isBroken: Bool
    ) async throws {
        let storm = Storm(fixture: try await QueueFixture.make())
        try await storm.fixture.lookForDeadlocksLate()
        try await storm.fixture.sql("UPDATE larder_data.settings SET rescue_limit = 1000, retry_base_ms = 0")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask { await Self.enqueue(storm, seed: UInt64(index)) }
                group.addTask { try await Self.work(storm, seed: UInt64(100 + index)) }
            }
            group.addTask { try await Self.operate(storm, isBroken: isBroken) }
            try await group.waitForAll()
        }
        let fixture = storm.fixture
        #expect(storm.surprises.withLock { $0 } == [])
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.expectSound()
        // The end of each job was reported to one worker at most: to none that died after the commit.
        let records = try await fixture.sql("SELECT job_id FROM larder_data.job_history").compactMap { $0[0] }
        #expect(Set(records).count == records.count)
        #expect(storm.ended.withLock { $0.values.allSatisfy { $0 == 1 } })
        let all = try await fixture.queue.reports.progress(limit: 1_000)
        let total = all.reduce(0) { $0 + $1.total }
        let submitted = storm.submitted.withLock { $0 }
        // An enqueue whose answer was lost may count.
        #expect(isBroken ? total >= submitted : total == submitted)
        #expect(all.allSatisfy { $0.open == 0 && $0.total == $0.finished })
        #expect(all.contains { $0.joined > 0 })
        #expect(all.contains { $0.cancelled > 0 })
        #expect(all.contains { $0.retries > 0 })
        let deadlocks = try await fixture.value(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
        #expect(deadlocks == "0")
    }

    private static func enqueue(_ storm: Storm, seed: UInt64) async {
        let queue = PostgresJobQueue(storm.fixture.patientConfiguration)
        var random = SeededGenerator(seed: seed)
        for round in 0..<16 {
            var request = EnqueueRequest(
                urls: (0..<25).map { _ in
                    let number = Int.random(in: 0..<60, using: &random)
                    return "http://host\(number % 4)/\(round / 4)/\(number)"
                }, batch: Int.random(in: 0..<4, using: &random) == 0 ? "doomed \(round / 4)" : "batch \(round % 3)")
            request.priority = Int.random(in: 0...9, using: &random)
            request.options = Int.random(in: 0..<3, using: &random) == 0 ? 1 : 0
            do throws(QueueError) {
                let answers = try await queue.producer.enqueue(request)
                storm.submitted.withLock { $0 += answers.count }
            } catch {
                // Broken from outside in mid statement, or its batch was cancelled.
                storm.note(error, allowed: [.connectionLost, .batchClosed])
            }
        }
        storm.enqueuersLeft.withLock { $0 -= 1 }
        await queue.close()
    }

    /// Cancels, pauses, retries and moves while enqueuers are at work; then lets everything go on.
    private static func operate(_ storm: Storm, isBroken: Bool) async throws {
        let queue = PostgresJobQueue(storm.fixture.patientConfiguration)
        var random = SeededGenerator(seed: 7)
        var round = 0
        func some(_ condition: String) async throws -> Int64? {
            try await queue.ask("SELECT \(condition)") { rows throws(QueueError) in rows.integer(0, 0) }
        }
        repeat {
            round += 1
            let batch = BatchReference.name("batch \(Int.random(in: 0..<3, using: &random))")
            let job = try await some("max(id) - \(Int.random(in: 0..<40, using: &random)) FROM larder_data.job") ?? 1
            let (number, priority) = (round, Int.random(in: 0...9, using: &random))
            await Self.patiently(storm) { () throws(QueueError) in
                switch number % 8 {
                case 0: try await queue.producer.cancel(job: job)
                case 1: try await queue.producer.pause(batch)
                case 2: try await queue.producer.retryFailed(of: batch)
                case 3: try await queue.producer.reprioritize(batch, to: priority)
                case 4: try await queue.producer.resume(batch)
                case 5: try await queue.producer.retry(job: job)
                case 6: if number % 3 == 0 { try await queue.producer.cancel(.name("doomed \(number / 24 % 4)")) }
                default: try await queue.producer.cancel(job: job - 1)
                }
            }
            if round % 16 == 0 {
                let broken = try await queue.reports.check()
                if !broken.isEmpty { storm.surprises.withLock { $0.append("\(broken)") } }
            }
            if isBroken && round % 5 == 0 {
                // Patiently: a pooler may give it a session that is about to end.
                _ = try await queue.ask(
                    """
                    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                    WHERE datname = current_database() AND pid <> pg_backend_pid() AND random() < 0.2
                    """
                ) { _ throws(QueueError) in }
            }
        } while storm.enqueuersLeft.withLock { $0 > 0 } || round < 60
        for index in 0..<3 { try await queue.producer.resume(.name("batch \(index)")) }
        storm.isOver.withLock { $0 = true }
        await queue.close()
    }

    /// Repeats a verb that met a row which others held for as long as it waits, as the hint of that error says. No row is
    /// held three times in a row.
    private static func patiently(_ storm: Storm, _ verb: () async throws(QueueError) -> Void) async {
        for attempt in 1...3 {
            do throws(QueueError) { return try await verb() } catch {
                guard error.code != .locked || attempt == 3 else { continue }
                return storm.note(error, allowed: [.unknownBatch, .unknownJob, .batchClosed])
            }
        }
    }

    /// A worker that now and then dies, gives back, or sends outcomes twice, until the queue is empty.
    private static func work(_ storm: Storm, seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        let queue = PostgresJobQueue(storm.fixture.patientConfiguration)
        func start() async throws -> WorkerSession {
            try await queue.workers.start(
                WorkerDescription(name: "w\(seed)", host: "test", processID: 1, version: "1", slots: 10))
        }
        var worker = try await start()
        while true {
            let jobs = try await worker.claim(upTo: Int.random(in: 1...10, using: &random))
            if jobs.isEmpty {
                let isLast = storm.isOver.withLock { $0 }
                // The session may break, or another worker may hold the lock of a task.
                _ = try? await queue.workers.maintain(force: true)
                if isLast, try await queue.reports.remaining().isDrained { return await queue.close() }
                await Task.yield()
                continue
            }
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                _ = try await queue.ask(
                    "UPDATE larder_data.worker SET heartbeat_at = now() - interval '2 h', lease_ms = 1 WHERE id = $1",
                    [.integer(worker.id)]
                ) { _ throws(QueueError) in }
                worker = try await start()
            case 1: try await worker.release(jobs.map(\.held))
            default:
                let outcomes = jobs.map { job in
                    switch Int.random(in: 0..<10, using: &random) {
                    case 0, 1: Outcome.unavailable(job.held)
                    case 2: Outcome(job.held, .failed(.notAnImage))
                    default: Outcome(job.held, .succeeded)
                    }
                }
                let completed = try await worker.completeAll(outcomes)
                if Int.random(in: 0..<10, using: &random) == 0 { _ = try await worker.complete(outcomes) }
                storm.ended.withLock { ended in
                    for completion in completed {
                        switch completion.decision {
                        case .succeeded, .failed, .cancelled: ended[completion.claim.job, default: 0] += 1
                        case .retried, .stale, .busy: break
                        }
                    }
                }
            }
        }
    }
}
