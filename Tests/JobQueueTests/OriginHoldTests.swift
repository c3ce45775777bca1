import ImageModel
import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct OriginHoldTests {
    private let refused = FailureReason(domain: "NSURLErrorDomain", code: -1004, message: "")

    private func opened(_ origin: String) -> OriginReport {
        OriginReport(origin: origin, .opened(.seconds(60), refused, httpStatus: nil))
    }

    private func urls(_ host: String, _ count: Int) -> [String] { (0..<count).map { "http://\(host)/\($0)" } }

    /// Makes postponed jobs due.
    private func passTime(_ fixture: QueueFixture) async throws {
        try await fixture.sql("UPDATE larder_data.scheduled SET run_at = now()")
        try await fixture.queue.workers.maintain(force: true)
    }

    @Test(arguments: [false, true])
    func `a claim postpones 2,000 jobs of a held origin, maintenance the others in front, and the rest is claimed`(
        isNewestFirst: Bool
    ) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.setQueue("default", lifo: isNewestFirst)
        // In two calls: one call does not keep the order of its URLs.
        let calls = [urls("held", 3_000), urls("free", 5)]
        for urls in isNewestFirst ? calls.reversed() : calls { try await fixture.enqueue(urls) }
        // The free ones last by turn, too.
        try await fixture.sql("UPDATE larder_data.ready SET turn = \(isNewestFirst ? "-job_id" : "job_id")")
        let worker = try await fixture.startWorker()
        try await fixture.queue.workers.report([OriginReport(origin: "http://held:80", .held(.seconds(600)))])
        #expect(try await worker.claim(upTo: 8).isEmpty)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.scheduled") == "2044")
        let maintained = try await fixture.sql("SELECT moved FROM larder.maintain(true, 'urgent') WHERE task = 'holds'")
        #expect(maintained == [["956"]])
        let jobs = try await worker.claim(upTo: 8)
        #expect(jobs.count == 5)
        #expect(jobs.allSatisfy { $0.origin == "http://free:80" })
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.scheduled") == "3000")
        let early =
            "SELECT count(*) FROM larder_data.scheduled WHERE run_at NOT BETWEEN now() + '300 s' AND now() + '661 s'"
        #expect(try await fixture.value(early) == "0")
        #expect(try await worker.claim(upTo: 8).isEmpty)
        try await fixture.expectSound()
    }

    @Test func `a claim finds the jobs of another batch behind a held origin, whatever is left in front`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(urls("held", 5_000))
        try await fixture.enqueue(urls("free", 2), batch: "other")
        let worker = try await fixture.startWorker()
        try await fixture.queue.workers.report([OriginReport(origin: "http://held:80", .held(.seconds(600)))])
        // One of two claims in a row goes by number, the other one by turn.
        for _ in 1...2 { #expect(try await worker.claim(upTo: 1).map(\.origin) == ["http://free:80"]) }
        #expect(try await fixture.value("SELECT count(*) >= 2000 FROM larder_data.ready") == "t")
    }

    @Test func `maintenance leaves the jobs of an origin that is to be probed to claims`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(urls("down", 10))
        let worker = try await fixture.startWorker()
        try await fixture.queue.workers.report([opened("http://down:80")])
        try await fixture.sql("UPDATE larder_data.origin_hold SET until = now() - interval '1 s'")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "10")
        #expect(try await worker.claim(upTo: 1).count == 1)
        try await passTime(fixture)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "9")
        try await fixture.queue.workers.report([opened("http://down:80")])
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "0")
        try await fixture.expectSound()
    }

    @Test(arguments: ["paused", "cancelled"])
    func `a claim passes many jobs of a held origin while another batch does not run`(state: String) async throws {
        let fixture = try await QueueFixture.make()
        for urls in [urls("held", 900), urls("free", 2)] { try await fixture.enqueue(urls) }
        // The free ones last by turn, too.
        try await fixture.sql("UPDATE larder_data.ready SET turn = job_id")
        try await fixture.queue.operations.setQueue("other")
        try await fixture.enqueue(["http://elsewhere/1"], batch: "stopped") { $0.queue = "other" }
        let worker = try await fixture.startWorker()
        // Running, so that the cancelled batch does not finish.
        if state == "cancelled" { #expect(try await worker.claim(upTo: 1, from: "other").count == 1) }
        try await fixture.sql("UPDATE larder_data.batch SET \(state)_at = now() WHERE name = 'stopped'")
        try await fixture.queue.workers.report([OriginReport(origin: "http://held:80", .held(.seconds(600)))])
        #expect(try await worker.claim(upTo: 1).map(\.origin) == ["http://free:80"])
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.scheduled") == "900")
        #expect(try await worker.claim(upTo: 1).map(\.origin) == ["http://free:80"])
    }

    @Test func `a claim that began before a hold takes no job that was enqueued after it`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        // A claim stops between what it reads first and its choice of rows.
        try await fixture.sql("ALTER FUNCTION larder_data.pick_of_queue RENAME TO pick_at_once")
        try await fixture.sql(
            """
            CREATE FUNCTION larder_data.pick_of_queue(smallint, int, bigint[], int) RETURNS tid[]
            LANGUAGE plpgsql AS $$
            BEGIN
                PERFORM pg_advisory_xact_lock(1);
                RETURN larder_data.pick_at_once($1, $2, $3, $4);
            END $$
            """)
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        _ = try await holder.rows("SELECT pg_advisory_xact_lock(1)")
        async let jobs = worker.claim(upTo: 8)
        try await fixture.waitUntilSomebodyWaits()
        let producer = fixture.otherConnection()
        _ = try await producer.rows("SELECT larder.origin_hold('http://held', interval '600 s')")
        _ = try await producer.rows("SELECT FROM larder.enqueue_many('{http://held/1,http://free/1}', batch => 'b')")
        _ = try await holder.rows("COMMIT")
        #expect(try await jobs.map(\.origin) == ["http://free:80"])
        await holder.close()
        await producer.close()
    }

    @Test func `a hold ends by itself, and no attempt was used up`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(urls("held", 3))
        let worker = try await fixture.startWorker()
        try await fixture.queue.workers.report([OriginReport(origin: "http://held:80", .held(.seconds(600)))])
        #expect(try await worker.claim(upTo: 8).isEmpty)
        let held = try await fixture.queue.reports.heldOrigins()
        try #require(held.map(\.origin) == ["http://held:80"])
        #expect(held[0].reason == .retryAfter)
        #expect(held[0].remaining > .seconds(300))
        #expect(held[0].remaining <= .seconds(600))
        try await fixture.sql("UPDATE larder_data.origin_hold SET until = now() - interval '2 s'")
        try await passTime(fixture)
        let jobs = try await worker.claim(upTo: 8)
        #expect(jobs.count == 3)
        #expect(jobs.allSatisfy { $0.attempt == 1 })
        #expect(try await fixture.queue.workers.originHolds().isEmpty)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.origin_hold") == "0")
    }

    @Test func `after the time of a breaker its jobs are claimed, and a probe that begins holds the others`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(urls("down", 50))
        let workers = [try await fixture.startWorker("a"), try await fixture.startWorker("b")]
        try await fixture.queue.workers.report([opened("http://down:80")], by: workers[0].id)
        #expect(try await workers[1].claim(upTo: 8).isEmpty)
        try await fixture.sql("UPDATE larder_data.origin_hold SET until = now() - interval '1 s'")
        try await passTime(fixture)
        for worker in workers { #expect(try await worker.claim(upTo: 8).count == 8) }
        try await fixture.queue.workers.report([opened("http://down:80")], by: workers[1].id)
        for worker in workers { #expect(try await worker.claim(upTo: 8).isEmpty) }
        let held = try await fixture.queue.reports.heldOrigins()
        try #require(held.map(\.failure) == [refused])
        #expect(held[0].remaining > .zero)
        try await fixture.queue.workers.report([OriginReport(origin: "http://down:80", .closed)], by: workers[1].id)
        try await passTime(fixture)
        #expect(try await workers[0].claim(upTo: 8).count == 8)
        try await fixture.expectSound()
    }

    @Test func `a snoozed job keeps its attempt and its claim ends; a claim that is not held is ignored`() async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(urls("held", 2))
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 8)
        let asleep = jobs.map { (claim: $0.held, delay: Duration.seconds(100)) }
        try await worker.snooze(asleep + [(claim: Claim(job: 99_999, number: 1), delay: .zero)])
        try await worker.snooze(asleep)
        #expect(
            try await worker.complete(jobs.map { Outcome($0.held, .succeeded) }).map(\.decision) == [.stale, .stale])
        let due = "SELECT count(*) FROM larder_data.scheduled WHERE run_at BETWEEN now() + '30 s' AND now() + '126 s'"
        #expect(try await fixture.value(due) == "2")
        try await passTime(fixture)
        #expect(try await worker.claim(upTo: 8).map(\.attempt) == [1, 1])
        try await fixture.expectSound()
    }

    @Test func `a job that was cancelled before it is snoozed ends with the next maintenance`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(urls("held", 2))
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 8)
        try await fixture.sql("SELECT larder.cancel(\(jobs[0].id))")
        try await worker.snooze(jobs.map { (claim: $0.held, delay: .seconds(3_000)) })
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT outcome FROM larder_data.job_history") == "cancelled")
        #expect(try await fixture.value("SELECT job_id FROM larder_data.scheduled") == "\(jobs[1].id)")
        try await fixture.expectSound()
    }

    @Test func `an operator holds and clears by any URL of the origin, and other texts are refused`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["https://Example.com/a", "https://other/b"])
        let worker = try await fixture.startWorker()
        try await fixture.queue.operations.holdOrigin("https://example.com:443/some/path", for: .seconds(600))
        // An operator's word is not shortened by what a worker finds.
        try await fixture.queue.workers.report([OriginReport(origin: "https://example.com:443", .held(.seconds(1)))])
        #expect(try await fixture.queue.reports.heldOrigins().map(\.reason) == [.operator])
        #expect(try await worker.claim(upTo: 8).map(\.origin) == ["https://other:443"])
        #expect(try await fixture.queue.operations.clearOrigin("https://EXAMPLE.com") == 1)
        #expect(try await fixture.queue.operations.clearOrigin() == 0)
        try await passTime(fixture)
        #expect(try await worker.claim(upTo: 8).map(\.origin) == ["https://example.com:443"])
        for wrong in ["", "nothing", "ftp://example.com"] {
            await #expect(throws: QueueError.self) {
                try await fixture.queue.operations.holdOrigin(wrong, for: .seconds(1))
            }
            await #expect(throws: QueueError.self) { try await fixture.queue.operations.clearOrigin(wrong) }
        }
    }

    @Test
    func
        `the breaker of one worker holds an origin when no other worker runs its jobs, else when a second one reports`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(urls("down", 20))
        let workers = [
            try await fixture.startWorker("a"), try await fixture.startWorker("b"), try await fixture.startWorker("c"),
        ]
        // The only worker that runs jobs of the origin.
        #expect(try await workers[0].claim(upTo: 2).count == 2)
        try await fixture.queue.workers.report([opened("http://down:80")], by: workers[0].id)
        #expect(try await fixture.queue.reports.heldOrigins().count == 1)
        try await fixture.queue.workers.report([OriginReport(origin: "http://down:80", .closed)], by: workers[0].id)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.origin_evidence") == "0")
        // Another one runs jobs of it, and may succeed.
        #expect(try await workers[1].claim(upTo: 2).count == 2)
        for _ in 0..<2 {
            try await fixture.queue.workers.report([opened("http://down:80")], by: workers[0].id)
            #expect(try await fixture.queue.reports.heldOrigins().isEmpty)
        }
        #expect(try await workers[1].claim(upTo: 2).count == 2)
        // The second worker that reports.
        try await fixture.queue.workers.report([opened("http://down:80")], by: workers[1].id)
        #expect(try await fixture.queue.reports.heldOrigins().count == 1)
        #expect(try await workers[2].claim(upTo: 2).isEmpty)
        // A success of any worker.
        try await fixture.queue.workers.report([OriginReport(origin: "http://down:80", .closed)], by: workers[2].id)
        #expect(try await fixture.queue.reports.heldOrigins().isEmpty)
        try await fixture.expectSound()
    }

    @Test func `a Retry-After that one worker received holds the origin for all`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(urls("held", 4))
        let workers = [try await fixture.startWorker("a"), try await fixture.startWorker("b")]
        #expect(try await workers[1].claim(upTo: 2).count == 2)
        let report = OriginReport(origin: "http://held:80", .held(.seconds(60)))
        try await fixture.queue.workers.report([report], by: workers[0].id)
        #expect(try await fixture.queue.reports.heldOrigins().count == 1)
    }

    @Test func `an origin that no URL names can be held, two reports of one are one, and all that is over goes`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        let report = OriginReport(origin: "https://cdn.example:443", .held(.seconds(5)))
        try await fixture.queue.workers.report([report, opened("https://cdn.example:443"), report])
        try await fixture.queue.workers.report([report])
        #expect(try await fixture.value("SELECT count(*) FROM larder.held_origin") == "1")
        #expect(try await fixture.queue.reports.heldOrigins().map(\.reason) == [.breaker])
        try await fixture.sql("UPDATE larder_data.origin_hold SET until = now() - interval '11 min'")
        #expect(try await fixture.queue.workers.originHolds().isEmpty)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.origin_hold") == "0")
    }
}
