import ImageModel
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(2)))
struct JoinTests {
    @Test func `a second batch joins the live job, and both see true progress`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/1", "http://a/2"], batch: "first")
        let answers = try await fixture.enqueue(["http://a/1", "http://a/3", "http://a/1"], batch: "second")
        #expect(answers.map(\.kind) == [.joined, .inserted, .joined])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 10)
        #expect(jobs.count == 3)
        let shared = try #require(jobs.first { $0.id == answers[0].job })
        var outcome = Outcome(shared.held, .succeeded)
        var original = StoredFile(key: "k", path: "p", bytes: 7, format: "jpeg", sha256: "ab", origin: .downloaded)
        original.width = 640
        original.height = 480
        outcome.stored = [
            original, StoredFile(name: "card", key: "k2", error: .notAnImage),
            StoredFile(name: "same", key: "k3", path: "p3", origin: .copied),
        ]
        _ = try await worker.complete([outcome])
        let first = try await fixture.queue.reports.progress(of: .name("first"))
        let second = try await fixture.queue.reports.progress(of: .name("second"))
        #expect(first.total == 3)
        #expect(first.succeeded == 2)
        #expect(first.open == 1)
        #expect(second.total == 3)
        #expect(second.succeeded == 2)
        #expect(second.open == 1)
        let followed = try await fixture.queue.reports.records(of: second.id)
        try #require(followed.count == 1)
        #expect(followed[0].items == 2)
        #expect(followed[0].stored == outcome.stored)
        let own = try await fixture.queue.reports.records(of: first.id)
        try #require(own.count == 1)
        #expect(own[0].stored == outcome.stored)
        try await fixture.expectSound()
    }

    @Test func `the same URL in another pipeline is another job`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.producer.setPipeline(name: "card", spec: #"{"variants": []}"#)
        try await fixture.enqueue(["http://a/1"])
        let answers = try await fixture.enqueue(["http://a/1"]) { $0.pipeline = "card" }
        #expect(answers.map(\.kind) == [.inserted])
    }

    @Test func `a join raises the priority when it is higher, never lowers it`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://b/2", "http://c/3"])
        try await fixture.enqueue(["http://c/3"], batch: "urgent") { $0.priority = 0 }
        try await fixture.enqueue(["http://a/1"], batch: "idle") { $0.priority = 9 }
        let worker = try await fixture.startWorker()
        let order = try await worker.claim(upTo: 10).map(\.url)
        #expect(order == ["http://c/3", "http://a/1", "http://b/2"])
        try await fixture.expectSound()
    }

    @Test func `joining a job that is scheduled for later moves it forward; a back-off is kept`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"]) { $0.start = .after(.seconds(3_600)) }
        let worker = try await fixture.startWorker()
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await worker.claim(upTo: 1).isEmpty)
        let due = try #require(try await fixture.queue.reports.remaining().nextDue)
        #expect(due > .seconds(3_500))
        #expect(due <= .seconds(3_600))
        try await fixture.enqueue(["http://a/1"], batch: "now")
        try await fixture.queue.workers.maintain(force: true)
        let job = try #require(try await worker.claim(upTo: 1).first)
        let completed = try await worker.complete([.unavailable(job.held, retryAfter: .seconds(3_000))])
        guard case .retried = completed[0].decision else {
            Issue.record("\(completed)")
            return
        }
        try await fixture.enqueue(["http://a/1"], batch: "now")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await worker.claim(upTo: 1).isEmpty)
        try await fixture.expectSound()
    }

    @Test func `a URL that an open transaction has inserted keeps a hundred items from new jobs at most`() async throws
    {
        let fixture = try await QueueFixture.make()
        let urls = (1...150).map { "http://a/\($0)" }
        try await fixture.enqueue(urls, batch: "first")
        let joiner = fixture.otherConnection(), holder = fixture.otherConnection()
        // A serializable one would leave the URLs to maintenance.
        _ = try await joiner.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await joiner.rows(
            "SELECT count(*) FROM larder.enqueue_many($1, batch => 'second')", [.texts(urls)])
        #expect(try await fixture.queue.producer.cancel(.name("first")) == 150)
        _ = try await joiner.rows("COMMIT")
        for statement in ["BEGIN", "SELECT FROM larder.enqueue('http://a/7', batch => 'third')"] {
            _ = try await holder.rows(statement)
        }
        try await fixture.queue.workers.maintain(force: true)
        // A portion of a hundred and one of the rest, in any order.
        let renewed = try await fixture.value("SELECT count(*) FROM larder_data.job")
        #expect(["50", "100"].contains(renewed))
        _ = try await holder.rows("COMMIT")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job") == "150")
        #expect(try await fixture.queue.reports.progress(of: .name("second")).open == 150)
        for connection in [joiner, holder] { await connection.close() }
        try await fixture.expectSound()
    }

    @Test func `an open transaction that joins jobs delays neither workers nor operators, and loses nothing`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        let urls = (1...6).map { "http://a/\($0)" }
        try await fixture.enqueue(urls, batch: "first")
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 4)
        let joiner = fixture.otherConnection()
        // A serializable one would leave the URLs to maintenance.
        _ = try await joiner.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        for batch in ["first", "second"] {
            let joined = try await joiner.rows(
                "SELECT DISTINCT answer FROM larder.enqueue_many($1, batch => $2)", [.texts(urls), .text(batch)])
            #expect(joined == [["joined"]])
        }
        // The joiner's transaction stays open throughout: a call that waited for it would never return.
        let outcomes = [
            Outcome(jobs[0].held, .succeeded), .unavailable(jobs[1].held, retryAfter: .seconds(0)),
            Outcome(jobs[2].held, .failed(FailureReason(domain: "NSURLErrorDomain", code: -1002, message: "no"))),
        ]
        let decisions = try await worker.complete(outcomes).map(\.decision)
        #expect(!decisions.contains(.busy))
        #expect(decisions.contains(.succeeded))
        let queue = fixture.queue
        #expect(try await queue.producer.cancel(job: jobs[3].id) == .requested)
        try await queue.producer.pause(.name("first"))
        try await queue.producer.resume(.name("first"))
        try await queue.producer.seal(.name("first"))
        #expect(try await queue.producer.retryFailed(of: .name("first")) == 1)
        #expect(try await queue.producer.cancel(.name("first")) == 5)
        try await queue.workers.maintain(force: true)
        try await fixture.expectSound()
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch WHERE finished_at IS NULL") == "1")
        _ = try await joiner.rows("COMMIT")
        await joiner.close()
        try await fixture.expectSound()
        for _ in 1...2 { try await queue.workers.maintain(force: true) }
        try await fixture.expectSound()
        let first = try await queue.reports.progress(of: .name("first"))
        #expect(first.total == 12)
        #expect(first.open == 0)
        #expect(first.succeeded == 1)
        // The items of the jobs that ended end as these; the cancelled ones get new jobs.
        let second = try await queue.reports.progress(of: .name("second"))
        #expect(second.total == 6)
        #expect(second.succeeded == 1)
        #expect(second.failed == 1)
        #expect(second.open == 4)
    }
}
