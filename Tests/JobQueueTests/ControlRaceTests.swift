import Concurrency
import TestSupport
import Testing

@testable import JobQueue

/// All control functions at once, while others enqueue and work: nothing is lost, done twice or blocked.
@Suite(.timeLimit(.minutes(5)))
struct ControlRaceTests {
    private static let batches = 6

    private struct Dice: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ (state >> 29)
        }
    }

    /// An error is accepted when another caller may have made the call impossible meanwhile.
    private func allowing(_ codes: Set<QueueError.Code>, _ body: () async throws(QueueError) -> Void) async throws {
        do throws(QueueError) { try await body() } catch { guard codes.contains(error.code) else { throw error } }
    }

    private func operate(_ queue: PostgresJobQueue, seed: UInt64, steps: Int) async throws {
        var dice = Dice(state: seed)
        for _ in 0..<steps {
            let batch = BatchReference.name("b\(Int.random(in: 0..<Self.batches, using: &dice))")
            let job = Int64.random(in: 1...200, using: &dice)
            let number = Int.random(in: 0...9, using: &dice)
            try await allowing([.batchClosed, .unknownBatch, .unknownJob]) { () async throws(QueueError) in
                switch number {
                case 0: if job < 30 { try await queue.producer.cancel(batch) }
                case 1: try await queue.producer.pause(batch)
                case 2, 3: try await queue.producer.resume(batch)
                case 4: try await queue.producer.retryFailed(of: batch)
                case 5: try await queue.producer.reprioritize(batch, to: Int(job % 10))
                case 6: try await queue.producer.cancel(job: job)
                case 7: try await queue.producer.retry(job: job)
                case 8: if job < 20 { try await queue.producer.discardFailed(of: batch) }
                default: try await queue.workers.maintain(force: true)
                }
            }
        }
    }

    private func add(_ queue: PostgresJobQueue, seed: UInt64, steps: Int) async throws {
        var dice = Dice(state: seed)
        for _ in 0..<steps {
            var request = EnqueueRequest(
                urls: (0..<8).map { _ in "http://h/\(Int.random(in: 0..<40, using: &dice))" },
                batch: "b\(Int.random(in: 0..<Self.batches, using: &dice))")
            request.priority = Int.random(in: 0...9, using: &dice)
            request.retryBase = .zero
            let filled = request
            try await allowing([.batchClosed]) { () async throws(QueueError) in
                _ = try await queue.producer.enqueue(filled)
            }
        }
    }

    private func work(_ queue: PostgresJobQueue, seed: UInt64, steps: Int) async throws {
        var dice = Dice(state: seed)
        let worker = try await queue.workers.start(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "test", slots: 8))
        for _ in 0..<steps {
            let jobs = try await worker.claim(upTo: 4)
            let cancelled = Set(try await worker.heartbeat().cancelled)
            if Int.random(in: 0..<6, using: &dice) == 0 {
                try await worker.release(jobs.map(\.held))
                continue
            }
            let outcomes = jobs.map { job in
                if cancelled.contains(job.held) { return Outcome(job.held, .cancelled) }
                switch Int.random(in: 0..<4, using: &dice) {
                case 0: return Outcome(job.held, .failed(.notAnImage))
                case 1: return .unavailable(job.held)
                default: return Outcome(job.held, .succeeded)
                }
            }
            if !outcomes.isEmpty { _ = try await worker.completeAll(outcomes) }
        }
        try await worker.stop()
    }

    @Test(arguments: [1, 2] as [UInt64])
    func `operators, enqueuers and workers at once leave the queue sound`(seed: UInt64) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.lookForDeadlocksLate()
        let queues = (0..<6).map { _ in PostgresJobQueue(fixture.patientConfiguration) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<2 {
                let seed = seed * 100 + UInt64(index)
                group.addTask { try await operate(queues[index], seed: seed, steps: 80) }
                group.addTask { try await add(queues[2 + index], seed: seed + 10, steps: 60) }
                group.addTask { try await work(queues[4 + index], seed: seed + 20, steps: 80) }
            }
            while try await group.next() != nil { try await fixture.expectSound() }
        }
        #expect(
            try await fixture.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == "0")
        // And everything can still be brought to its end.
        for index in 0..<Self.batches {
            try await allowing([.batchClosed, .unknownBatch]) { () async throws(QueueError) in
                try await fixture.queue.producer.resume(.name("b\(index)"))
            }
            try await allowing([.unknownBatch]) { () async throws(QueueError) in
                try await fixture.queue.producer.seal(.name("b\(index)"))
            }
        }
        let worker = try await fixture.startWorker()
        while try await fixture.value("SELECT EXISTS (SELECT FROM larder_data.job)") == "t" {
            try Task.checkCancellation()
            try await fixture.queue.workers.maintain(force: true)
            let jobs = try await worker.claim(upTo: 100)
            if !jobs.isEmpty { _ = try await worker.completeAll(jobs.map { Outcome($0.held, .succeeded) }) }
        }
        try await fixture.queue.workers.maintain(force: true)
        #expect(
            try await fixture.value("SELECT count(*) FROM larder.progress WHERE finished_at IS NULL OR open > 0") == "0"
        )
        try await fixture.expectSound()
        for queue in queues { await queue.close() }
    }

    @Test func `no call of an operator waits for producers of short transactions that join live jobs`() async throws {
        let fixture = try await QueueFixture.make()
        let urls = (0..<2_000).map { "http://h\($0 % 7)/\($0)" }
        try await fixture.enqueue(urls, batch: "live")
        let isOver = Locked(false)
        let operating = fixture.otherConnection()
        // The producers do not stop before the calls have ended. So a call that has to wait for a time without
        // producers waits for ever, and the server ends it, as one that lacks only a processor does not for long.
        /// The limit is for the transaction only: a pooler shares the session. Above READ COMMITTED a call would not
        /// wait either, but fail as long as the producers go on.
        func call(_ function: String) async throws {
            for statement in [
                "BEGIN ISOLATION LEVEL READ COMMITTED", "SET LOCAL statement_timeout = '60s'",
                "SET LOCAL lock_timeout = '60s'", "SELECT larder.\(function)", "COMMIT",
            ] {
                _ = try await operating.rows(statement)
            }
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<(TemporaryDatabase.isPooled ? 4 : 8) {
                group.addTask {
                    let producer = fixture.otherConnection()
                    while !isOver.withLock({ $0 }) {
                        do {
                            _ = try await producer.repeating(
                                "SELECT count(*) FROM larder.enqueue_many($1, batch => 'b')", [.texts(urls)])
                        } catch let error as QueueError where error.code == .batchClosed {
                            // Sealed and not finished yet: its next run begins when it is.
                            await Task.yield()
                        }
                    }
                    await producer.close()
                }
            }
            group.addTask {
                defer { isOver.withLock { $0 = true } }
                for _ in 1...4 {
                    // The next run.
                    try #require(
                        await reached { (try? await fixture.queue.reports.progress(of: .name("b")).state) == .open })
                    for function in [
                        "batch_pause('b')", "batch_pause('live')", "batch_resume('b')", "batch_resume('live')",
                        "batch_retry_portion('b')", "batch_seal('b')", "batch_cancel('b')",
                    ] {
                        try await call(function)
                    }
                }
                try await call("batch_cancel('live')")
            }
            try await group.waitForAll()
        }
        await operating.close()
        try await fixture.expectSound()
    }
}
