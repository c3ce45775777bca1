import ImageModel
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct ClaimTests {
    @Test
    func `eight claimers at once get disjoint jobs, never more than they asked for, and all of them`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<1_000).map { "http://host\($0 % 5)/\($0)" })
        let claimed = try await withThrowingTaskGroup(of: [Int64].self) { group in
            for index in 0..<8 {
                group.addTask {
                    // A queue object of its own: a connection of its own.
                    let queue = PostgresJobQueue(fixture.configuration)
                    let worker = try await queue.workers.start(
                        WorkerDescription(name: "w\(index)", host: "test", processID: 1, version: "1", slots: 7))
                    var mine: [Int64] = []
                    while true {
                        let jobs = try await worker.claim(upTo: 7)
                        #expect(jobs.count <= 7)
                        if jobs.isEmpty { return mine }
                        mine += jobs.map(\.id)
                        let completed = try await worker.complete(jobs.map { Outcome($0.held, .succeeded) })
                        #expect(completed.allSatisfy { $0.decision == .succeeded })
                    }
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        #expect(claimed.count == 1_000)
        #expect(Set(claimed).count == 1_000)
        let progress = try await fixture.queue.reports.progress(of: .name("batch"))
        #expect(progress.succeeded == 1_000)
        #expect(progress.open == 0)
        try await fixture.expectSound()
    }

    @Test
    func `a claim of one batch brings what it has, joined jobs in other queues too, and touches nothing else`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.setQueue("other")
        try await fixture.enqueue((0..<5).map { "http://foreign/\($0)" }, batch: "foreign") { $0.priority = 0 }
        try await fixture.enqueue(["http://shared/1"], batch: "elsewhere") { $0.queue = "other" }
        let answers = try await fixture.enqueue(["http://mine/1", "http://shared/1", "http://mine/2"], batch: "mine")
        try await fixture.enqueue(["http://mine/3"], batch: "mine") { $0.priority = 9 }
        #expect(answers.map(\.kind) == [.inserted, .joined, .inserted])
        let mine = try await fixture.queue.reports.progress(of: .name("mine")).id
        let worker = try await fixture.startWorker()
        let first = try await worker.claim(upTo: 2, ofBatch: mine)
        #expect(Set(first.map(\.url)) == ["http://shared/1", "http://mine/1"])
        let rest = try await worker.claim(upTo: 10, ofBatch: mine)
        #expect(rest.map(\.url) == ["http://mine/2", "http://mine/3"], "the oldest first")
        #expect(try await worker.claim(upTo: 10, ofBatch: mine).isEmpty)
        // A postponed job comes again; a job that the floor has passed is found.
        _ = try await worker.complete([.unavailable(first[0].held)])
        try await worker.release([first[1].held])
        #expect(try await worker.claim(upTo: 10, ofBatch: mine).map(\.id) == [first[1].id])
        let foreign =
            "SELECT count(*) FROM larder_data.ready r JOIN larder_data.job j ON j.id = r.job_id WHERE j.url LIKE 'http://foreign/%'"
        #expect(try await fixture.value(foreign) == "5")
        await #expect { try await worker.claim(upTo: 1, ofBatch: 4_711) } throws: {
            ($0 as? QueueError)?.code == .unknownBatch
        }
        // The lost claim's number is asked again.
        #expect(try await worker.claim(upTo: 10).count == 5)
        try await fixture.expectSound()
    }

    @Test
    func `a claim of a paused, cancelled or finished batch brings nothing, in whatever queue that is paused neither`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"], batch: "mine")
        try await fixture.enqueue(["http://a/1"], batch: "other")
        let mine = try await fixture.queue.reports.progress(of: .name("mine")).id
        let worker = try await fixture.startWorker()
        try await fixture.queue.producer.pause(.id(mine))
        #expect(try await worker.claim(upTo: 1, ofBatch: mine).isEmpty)
        #expect(try await fixture.queue.reports.remaining(of: mine).isDrained)
        try await fixture.queue.producer.resume(.id(mine))
        try await fixture.queue.operations.pause(queue: "default")
        #expect(try await worker.claim(upTo: 1, ofBatch: mine).isEmpty)
        try await fixture.queue.operations.resume(queue: "default")
        try await fixture.queue.producer.cancel(.id(mine))
        #expect(try await worker.claim(upTo: 1, ofBatch: mine).isEmpty)
        let other = try await fixture.queue.reports.progress(of: .name("other")).id
        #expect(try await worker.claim(upTo: 1, ofBatch: other).count == 1)
        try await fixture.expectSound()
    }

    @Test func `a claim whose answer was lost is answered again`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<10).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        let claim = "SELECT job_id FROM larder.claim_v1($1, 1, 3, again => $2 = 1)"
        let first = try await fixture.sql(claim, [.integer(worker.id), .integer(0)])
        let second = try await fixture.sql(claim, [.integer(worker.id), .integer(1)])
        #expect(first.count == 3)
        #expect(first == second)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.running") == "3")
    }

    @Test func `a complete whose answer was lost is answered the same again, and recorded once`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<4).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 4)
        let outcomes = [
            Outcome(jobs[0].held, .succeeded), Outcome(jobs[1].held, .failed(.notAnImage)),
            .unavailable(jobs[2].held, retryAfter: .seconds(600)), Outcome(jobs[3].held, .cancelled),
        ]
        let first = try await worker.complete(outcomes).map(\.decision)
        let second = try await worker.complete(outcomes).map(\.decision)
        for decisions in [first, second] {
            #expect(decisions[0] == .succeeded)
            #expect(decisions[1] == .failed(.notAnImage))
            #expect(decisions[3] == .cancelled)
            guard case .retried(let delay) = decisions[2] else {
                Issue.record("\(decisions[2])")
                continue
            }
            #expect(delay > .seconds(300))
            #expect(delay <= .seconds(600))
        }
        let progress = try await fixture.queue.reports.progress(of: .name("batch"))
        #expect(progress.succeeded == 1)
        #expect(progress.failed == 1)
        #expect(progress.cancelled == 1)
        #expect(progress.retries == 1)
        try await fixture.expectSound()
    }

    @Test func `who no longer holds the claim records nothing`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        let zombie = try await fixture.startWorker("zombie")
        let held = try #require(try await zombie.claim(upTo: 1).first)
        try await zombie.release([held.held])
        let other = try await fixture.startWorker("other")
        let job = try #require(try await other.claim(upTo: 1).first)
        #expect(job.id == held.id)
        #expect(job.attempt == 1)
        #expect(try await zombie.complete([Outcome(held.held, .succeeded)]).map(\.decision) == [.stale])
        // The same worker with another claim number is fenced as well.
        let wrong = Claim(job: job.id, number: job.claim + 1)
        let completed = try await other.complete([Outcome(wrong, .failed(.notAnImage)), Outcome(job.held, .succeeded)])
        #expect(completed.map(\.decision) == [.stale, .succeeded])
        #expect(try await zombie.complete([Outcome(held.held, .succeeded)]).map(\.decision) == [.stale])
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job_history") == "1")
        try await fixture.expectSound()
    }

    @Test func `released jobs stand at their old place with their attempt refunded`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<4).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        try await worker.release(jobs.map(\.held))
        let again = try await worker.claim(upTo: 4)
        #expect(again.map(\.id) == again.map(\.id).sorted())
        #expect(again.first?.id == jobs.first?.id)
        #expect(again.allSatisfy { $0.attempt == 1 })
        #expect(again.count == 4)
        try await worker.stop()
        #expect(try await fixture.queue.reports.remaining().hasRunning == false)
        let next = try await fixture.startWorker("next")
        #expect(try await next.claim(upTo: 10).count == 4)
        await #expect { try await worker.claim(upTo: 1) } throws: { ($0 as? QueueError)?.code == .workerLost }
        await #expect { try await worker.heartbeat() } throws: { ($0 as? QueueError)?.code == .workerLost }
        try await fixture.expectSound()
    }

    @Test func `the records have each job's measurements and files, page by page`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<5).map { "http://a/\($0)" } + ["nothing", ""])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 5)
        let outcomes = jobs.enumerated().map { index, job in
            var outcome = Outcome(job.held, index == 4 ? .failed(.notAnImage) : .succeeded)
            outcome.httpStatus = 200
            outcome.bytesIn = 100
            outcome.bytesOut = 300
            outcome.downloads = 1
            outcome.variants = 2
            outcome.fetching = .milliseconds(7)
            outcome.stored = [
                StoredFile(key: job.url, path: "ab/\(index).jpg", bytes: 300, format: "jpeg", sha256: "ff"),
                StoredFile(
                    name: "card \"\\\n\u{1}", key: "k\u{0}",
                    error: .init(domain: "LarderErrorDomain", code: 401, message: "no")),
            ]
            return outcome
        }
        _ = try await worker.complete(outcomes)
        let report = try await fixture.queue.reports.summary(of: .name("batch"))
        #expect(report.progress.downloads == 5)
        #expect(report.progress.variants == 10)
        #expect(report.progress.bytesIn == 500)
        #expect(report.progress.bytesOut == 1_500)
        #expect(report.failures.map(\.url) == ["nothing", "", "http://a/4"])
        #expect(report.failures.map(\.attempts) == [0, 0, 1])
        #expect(report.errors.map(\.items) == [2, 1])
        #expect(report.errors.map(\.code) == [1_000, 1_001])
        var pages: [StoredRecord] = []
        var cursor = Int64.min
        while true {
            let page = try await fixture.queue.reports.records(of: report.progress.id, after: cursor, limit: 2)
            guard let last = page.last else { break }
            pages += page
            cursor = last.cursor
        }
        #expect(pages.map(\.outcome) == [.failed, .failed, .succeeded, .succeeded, .succeeded, .succeeded, .failed])
        #expect(pages[2].stored[0] == outcomes[0].stored[0])
        #expect(pages[2].stored[1].name == "card \"\\\n\u{1}")
        #expect(pages[2].stored[1].key == "k\u{FFFD}")
        #expect(pages[2].stored[1].error?.code == 401)
        try await fixture.expectSound()
    }

    @Test func `each lower priority that has ready jobs gets its share of every eighth claim`() async throws {
        let fixture = try await QueueFixture.make()
        for (priority, count) in [(0, 400), (4, 100), (9, 400)] {
            try await fixture.enqueue((0..<count).map { "http://a/\(priority)/\($0)" }) { $0.priority = priority }
        }
        let worker = try await fixture.startWorker()
        var claimed: [Int: Int] = [:]
        for _ in 0..<160 { for job in try await worker.claim(upTo: 1) { claimed[job.priority, default: 0] += 1 } }
        // 20 of 160 claims, 10 for each of two priorities.
        #expect(claimed == [0: 140, 4: 10, 9: 10])
    }
}
