import Concurrency
import TestSupport
import Testing

@testable import JobQueue

/// The limits of a queue over all workers.
@Suite(.timeLimit(.minutes(5)))
struct QueueLimitTests {
    /// How many jobs are with a worker, and the most that ever were.
    private struct InFlight: Sendable {
        var now = 0
        var most = 0
        mutating func add(_ count: Int) {
            now += count
            most = max(most, now)
        }
    }

    private func running(_ fixture: QueueFixture) async throws -> String? {
        try await fixture.value("SELECT running FROM larder.queue WHERE queue = 'default'")
    }

    /// Moves the bucket of the default queue as if so much time had passed.
    private func pass(_ time: String, in fixture: QueueFixture) async throws {
        try await fixture.sql("UPDATE larder_data.claim_limit SET updated_at = updated_at - interval '\(time)'")
    }

    @Test func `eight workers that claim at the same moment never run more jobs than max_running`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.limitQueue("default", maxRunning: 5, maxRate: nil)
        try await fixture.enqueue((0..<120).map { "http://host\($0 % 5)/\($0)" })
        let calling = fixture.patientConfiguration
        let inFlight = Locked(InFlight())
        let left = Locked(120)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<8 {
                group.addTask {
                    let queue = PostgresJobQueue(calling)
                    let worker = try await queue.workers.start(
                        WorkerDescription(name: "w\(index)", host: "test", processID: 1, version: "1", slots: 7))
                    while left.withLock({ $0 > 0 }) {
                        try Task.checkCancellation()
                        let jobs = try await worker.claim(upTo: 1 + index % 4)
                        inFlight.withLock { $0.add(jobs.count) }
                        guard let last = jobs.last else { continue }
                        // Some come back, so that a place is freed in two ways.
                        let released = index % 3 == 0 && jobs.count > 1 ? [last.held] : []
                        inFlight.withLock { $0.add(-jobs.count) }
                        try await worker.release(released)
                        let done = try await worker.completeAll(
                            jobs.filter { !released.contains($0.held) }.map { Outcome($0.held, .succeeded) })
                        left.withLock { $0 -= done.filter { $0.decision == .succeeded }.count }
                    }
                    await queue.close()
                }
            }
            group.addTask {
                // What is committed, at many moments.
                let queue = PostgresJobQueue(calling)
                while left.withLock({ $0 > 0 }) {
                    let running = try await queue.reports.queues().first?.running ?? 0
                    #expect(running <= 5)
                }
                await queue.close()
            }
            try await group.waitForAll()
        }
        #expect((1...5).contains(inFlight.withLock { $0.most }))
        try await fixture.expectSound()
    }

    @Test func `whatever ends a job frees its place`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.limitQueue("default", maxRunning: 1, maxRate: nil)
        try await fixture.enqueue((0..<20).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        func claimed() async throws -> Job {
            let jobs = try await worker.claim(upTo: 5)
            #expect(jobs.count == 1)
            #expect(try await worker.claim(upTo: 5).isEmpty)
            return try #require(jobs.first)
        }
        _ = try await worker.complete([Outcome(try await claimed().held, .succeeded)])
        _ = try await worker.complete([Outcome(try await claimed().held, .failed(.notAnImage))])
        _ = try await worker.complete([.unavailable(try await claimed().held, retryAfter: .seconds(60))])
        try await worker.release([try await claimed().held])
        try await worker.snooze([(claim: try await claimed().held, delay: .seconds(60))])
        let cancelled = try await claimed()
        #expect(try await fixture.queue.producer.cancel(job: cancelled.id) == .requested)
        #expect(try await worker.claim(upTo: 5).isEmpty)
        _ = try await worker.complete([Outcome(cancelled.held, .cancelled)])
        // A worker that stops, one whose lease ends, and one that holds the job for too long.
        let stopped = try await fixture.startWorker("stopped")
        #expect(try await stopped.claim(upTo: 5).count == 1)
        try await stopped.stop()
        let lost = try await fixture.startWorker("lost")
        #expect(try await lost.claim(upTo: 5).count == 1)
        try await fixture.sql("UPDATE larder_data.worker SET stopped_at = now() WHERE name = 'lost'")
        #expect(try await worker.claim(upTo: 5).isEmpty)
        try await fixture.queue.workers.maintain(.urgent, force: true)
        _ = try await claimed()
        try await fixture.expectSound()
    }

    @Test func `jobs that run when a limit is set or lowered count, and none is claimed until enough of them end`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<20).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 4)
        try await fixture.queue.operations.limitQueue("default", maxRunning: 5, maxRate: nil)
        #expect(try await worker.claim(upTo: 9).count == 1)
        try await fixture.queue.operations.limitQueue("default", maxRunning: 2, maxRate: nil)
        for job in jobs.prefix(3) {
            #expect(try await worker.claim(upTo: 9).isEmpty)
            _ = try await worker.complete([Outcome(job.held, .succeeded)])
        }
        #expect(try await running(fixture) == "2")
        #expect(try await worker.claim(upTo: 9).isEmpty)
        _ = try await worker.complete([Outcome(jobs[3].held, .succeeded)])
        #expect(try await worker.claim(upTo: 9).count == 1)
        try await fixture.queue.operations.limitQueue("default", maxRunning: nil, maxRate: nil)
        #expect(try await worker.claim(upTo: 9).count == 9)
        try await fixture.expectSound()
    }

    @Test func `a claim that is sent again finds its jobs at the limit, and takes none twice`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.limitQueue("default", maxRunning: 3, maxRate: 0.001)
        try await fixture.enqueue((0..<9).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        let claim = "SELECT job_id FROM larder.claim_v1($1, 1, 3, again => $2 = 1)"
        let first = try await fixture.sql(claim, [.integer(worker.id), .integer(0)])
        #expect(first.count == 1)
        #expect(try await fixture.sql(claim, [.integer(worker.id), .integer(1)]) == first)
        #expect(try await running(fixture) == "1")
    }

    @Test func `max_rate gives one job a second's share, and keeps at most a second's worth`() async throws {
        let fixture = try await QueueFixture.make()
        // So slow that the time that the test takes does not count.
        try await fixture.queue.operations.limitQueue("default", maxRunning: nil, maxRate: 0.001)
        try await fixture.enqueue((0..<300).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 9).count == 1)
        #expect(try await worker.claim(upTo: 9).isEmpty)
        try await pass("900 s", in: fixture)
        #expect(try await worker.claim(upTo: 9).isEmpty)
        try await pass("100 s", in: fixture)
        #expect(try await worker.claim(upTo: 9).count == 1)
        try await pass("1 day", in: fixture)
        #expect(try await worker.claim(upTo: 9).count == 1, "no more than one is kept")
        #expect(try await worker.claim(upTo: 9).isEmpty)
        try await fixture.queue.operations.limitQueue("default", maxRunning: nil, maxRate: 20)
        try await pass("1 day", in: fixture)
        #expect(try await worker.claim(upTo: 100).count == 20)
        // The lower of both limits counts.
        try await fixture.queue.operations.limitQueue("default", maxRunning: 25, maxRate: 20)
        try await pass("1 day", in: fixture)
        #expect(try await worker.claim(upTo: 100).count == 2)
        try await fixture.queue.operations.limitQueue("default", maxRunning: nil, maxRate: nil)
        #expect(try await worker.claim(upTo: 100).count == 100)
        try await fixture.expectSound()
    }

    @Test func `many claims at once take no more than max_rate`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.limitQueue("default", maxRunning: nil, maxRate: 10)
        try await fixture.enqueue((0..<2_000).map { "http://a/\($0)" })
        let clock = "SELECT extract(epoch FROM clock_timestamp())"
        let start = try #require(try await fixture.value(clock).flatMap { Double($0) })
        let taken = try await withThrowingTaskGroup(of: Int.self) { group in
            for index in 0..<8 {
                group.addTask {
                    let queue = PostgresJobQueue(fixture.patientConfiguration)
                    let worker = try await queue.workers.start(
                        WorkerDescription(name: "w\(index)", host: "test", processID: 1, version: "1", slots: 9))
                    var taken = 0
                    for _ in 0..<25 { taken += try await worker.claim(upTo: 9).count }
                    await queue.close()
                    return taken
                }
            }
            return try await group.reduce(0, +)
        }
        let end = try #require(try await fixture.value(clock).flatMap { Double($0) })
        #expect(taken >= 10)
        #expect(Double(taken) <= 10 + (end - start) * 10)
        try await fixture.expectSound()
    }

    @Test func `after the database's clock was set back the rate goes on`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.limitQueue("default", maxRunning: nil, maxRate: 0.001)
        try await fixture.enqueue(["http://a/1", "http://a/2", "http://a/3"])
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 9).count == 1)
        try await fixture.sql("UPDATE larder_data.claim_limit SET updated_at = now() + interval '1 day'")
        #expect(try await worker.claim(upTo: 9).count == 1)
        #expect(try await worker.claim(upTo: 9).isEmpty)
        #expect(try await fixture.value("SELECT updated_at <= now() FROM larder_data.claim_limit") == "t")
    }

    @Test func `a queue at its limit holds up no other queue, and claims of a batch count in each queue`() async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.setQueue("slow")
        try await fixture.queue.operations.limitQueue("slow", maxRunning: 2, maxRate: nil)
        try await fixture.enqueue((0..<6).map { "http://slow/\($0)" }, batch: "slow") { $0.queue = "slow" }
        // The jobs that it joined come first by their ids.
        try await fixture.enqueue((0..<6).map { "http://slow/\($0)" } + ["http://a/1", "http://a/2"], batch: "mine")
        let mine = try await fixture.queue.reports.progress(of: .name("mine")).id
        let slow = try await fixture.queue.reports.progress(of: .name("slow")).id
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 1, from: "slow").count == 1)
        let first = try await worker.claim(upTo: 3, ofBatch: mine)
        #expect(first.map(\.url).sorted() == ["http://a/1", "http://a/2", "http://slow/1"])
        #expect(try await worker.claim(upTo: 5, ofBatch: slow).isEmpty)
        #expect(try await worker.claim(upTo: 5, ofBatch: mine).isEmpty)
        #expect(try await worker.claim(upTo: 5, from: "slow").isEmpty)
        #expect(try await fixture.queue.reports.remaining(of: slow).isDrained == false)
        #expect(try await fixture.queue.reports.remaining(queue: "slow").hasReady)
        _ = try await worker.complete(first.map { Outcome($0.held, .succeeded) })
        #expect(try await worker.claim(upTo: 5, ofBatch: slow).count == 1)
        // The batch's own queue has a limit as well.
        try await fixture.queue.operations.limitQueue("default", maxRunning: 1, maxRate: nil)
        try await fixture.queue.operations.limitQueue("slow", maxRunning: 3, maxRate: nil)
        try await fixture.enqueue(["http://a/3", "http://a/4"], batch: "mine")
        #expect(
            try await worker.claim(upTo: 9, ofBatch: mine).map(\.url).sorted() == ["http://a/3", "http://slow/3"])
        try await fixture.expectSound()
    }

    @Test func `a claim whose transaction stays open delays claims of that queue only, and no operator's delays any`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.setQueue("other")
        for queue in ["default", "other"] {
            try await fixture.queue.operations.limitQueue(queue, maxRunning: 5, maxRate: nil)
            try await fixture.enqueue((0..<3).map { "http://\(queue)/\($0)" }, batch: queue) { $0.queue = queue }
        }
        let worker = try await fixture.startWorker()
        let idle = try await fixture.startWorker("idle")
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        #expect(try await holder.rows("SELECT job_id FROM larder.claim_v1($1, 1, 1)", [.integer(idle.id)]).count == 1)
        #expect(try await worker.claim(upTo: 5).isEmpty)
        #expect(try await worker.claim(upTo: 5, from: "other").count == 3)
        _ = try await holder.rows("ROLLBACK")
        _ = try await holder.rows("BEGIN")
        _ = try await holder.rows("SELECT larder.queue_limit('default', 1)")
        _ = try await holder.rows("SELECT larder.queue_pause('default')")
        #expect(try await worker.claim(upTo: 5).count == 3)
        await holder.close()
        try await fixture.expectSound()
    }

    @Test func `the view and health say which limit is reached, and a queue at it is not one without workers`()
        async throws
    {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1", "http://a/2", "http://a/3"])
        let worker = try await fixture.startWorker()
        try await fixture.queue.workers.maintain(force: true)
        func state() async throws -> [[String?]] {
            try await fixture.sql("SELECT running, max_running, max_rate, limit_reached FROM larder.queue")
        }
        func found() async throws -> [String] {
            try await fixture.queue.reports.health().map { "\($0.what): \($0.detail)" }
        }
        try await fixture.queue.operations.limitQueue("default", maxRunning: 1, maxRate: 0.5)
        #expect(try await state() == [["0", "1", "0.5", nil]])
        #expect(try await found() == [])
        #expect(try await worker.claim(upTo: 5).count == 1)
        #expect(try await state() == [["1", "1", "0.5", "max_running"]])
        #expect(
            try await found() == ["a queue is at its limit: queue default, 1 jobs run, max_running is 1"])
        try await fixture.queue.operations.limitQueue("default", maxRunning: nil, maxRate: 0.001)
        #expect(try await state() == [["1", nil, "0.001", "max_rate"]])
        #expect(
            try await found() == ["a queue is at its limit: queue default, max_rate is 0.001 jobs per second"])
        let queue = try #require(try await fixture.queue.reports.queues().first)
        #expect(queue.name == "default")
        #expect(queue.running == 1)
        #expect(queue.hasReady)
        #expect(!queue.isPaused)
        #expect(queue.maxRunning == nil)
        #expect(queue.maxRate == 0.001)
        #expect(queue.reachedLimit == .maxRate)
        #expect(queue.openItems == 3)
        #expect(queue.liveWorkers == 1)
        try await fixture.queue.operations.limitQueue("default", maxRunning: nil, maxRate: nil)
        #expect(try await state() == [["1", nil, nil, nil]])
        #expect(try await found() == [])
    }

    @Test(arguments: [
        ("max_running => 0", "max_running is at least 1, or NULL for no limit, not 0"),
        ("max_running => -7", "max_running is at least 1, or NULL for no limit, not -7"),
        ("max_rate => 0", "max_rate is 0.001 to 1000000 jobs per second, or NULL for no limit, not 0"),
        ("max_rate => -2.5", "max_rate is 0.001 to 1000000 jobs per second, or NULL for no limit, not -2.5"),
        ("max_rate => 'NaN'", "max_rate is 0.001 to 1000000 jobs per second, or NULL for no limit, not NaN"),
        ("max_rate => 'Infinity'", "max_rate is 0.001 to 1000000 jobs per second, or NULL for no limit, not Infinity"),
    ])
    func `a limit that is not positive is refused with its value`(argument: String, message: String) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.limitQueue("default", maxRunning: 3, maxRate: 4)
        await #expect { try await fixture.sql("SELECT larder.queue_limit('default', \(argument))") } throws: {
            let error = $0 as? QueueError
            return error?.code == .invalidArgument && error?.message == message
        }
        #expect(try await fixture.sql("SELECT max_running, max_rate FROM larder.queue") == [["3", "4"]])
        await #expect { try await fixture.queue.operations.limitQueue("none", maxRunning: 1, maxRate: nil) } throws: {
            ($0 as? QueueError)?.code == .unknownQueue
        }
    }
}
