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
        let first = try await fixture.queue.progress(of: .name("first"))
        let second = try await fixture.queue.progress(of: .name("second"))
        #expect(first.total == 3 && first.succeeded == 2 && first.open == 1)
        #expect(second.total == 3 && second.succeeded == 2 && second.open == 1)
        let followed = try await fixture.queue.records(of: second.id)
        #expect(followed.count == 1 && followed[0].items == 2 && followed[0].stored == outcome.stored)
        let own = try await fixture.queue.records(of: first.id)
        #expect(own.count == 1 && own[0].stored == outcome.stored)
        try await fixture.expectSound()
    }

    @Test func `the same URL in another pipeline is another job`() async throws {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.setPipeline(name: "card", spec: "{}")
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
        try await fixture.queue.maintain(force: true)
        #expect(try await worker.claim(upTo: 1).isEmpty)
        let due = try #require(try await fixture.queue.remaining().nextDue)
        #expect(due > .seconds(3_500) && due <= .seconds(3_600))
        try await fixture.enqueue(["http://a/1"], batch: "now")
        try await fixture.queue.maintain(force: true)
        let job = try #require(try await worker.claim(upTo: 1).first)
        let completed = try await worker.complete([.unavailable(job.held, retryAfter: .seconds(3_000))])
        guard case .retried = completed[0].decision else {
            Issue.record("\(completed)")
            return
        }
        try await fixture.enqueue(["http://a/1"], batch: "now")
        try await fixture.queue.maintain(force: true)
        #expect(try await worker.claim(upTo: 1).isEmpty)
        try await fixture.expectSound()
    }

    @Test
    func `complete does not wait for a transaction that joins one of its jobs, and the joiner loses nothing`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2"], batch: "first")
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        let joiner = fixture.otherConnection()
        _ = try await joiner.rows("BEGIN")
        let joined = try await joiner.rows("SELECT answer FROM larder.enqueue('http://a/1', batch => 'second')")
        #expect(joined == [["joined"]])
        // The joiner's transaction stays open throughout: a call that waited for it would never return.
        let outcomes = jobs.map { Outcome($0.held, .succeeded) }
        #expect(try await worker.complete(outcomes).map(\.decision) == [.busy, .succeeded])
        #expect(try await worker.complete(outcomes).map(\.decision) == [.busy, .succeeded])
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job_history") == "1")
        _ = try await joiner.rows("COMMIT")
        #expect(try await worker.complete(outcomes).map(\.decision) == [.succeeded, .succeeded])
        #expect(try await fixture.queue.progress(of: .name("second")).succeeded == 1)
        try await fixture.expectSound()
    }

    @Test func `an enqueue that waits for a complete inserts anew when the job is gone`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"], batch: "first")
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        let completer = fixture.otherConnection()
        _ = try await completer.rows("BEGIN")
        _ = try await completer.rows(
            "SELECT * FROM larder.complete_v1($1, json_build_array(json_build_object('job', $2, 'claim', 1, 'result', 'succeeded')))",
            [.integer(worker.id), .integer(job.id)])
        async let answers = fixture.enqueue(["http://a/1"], batch: "second")
        try await fixture.waitUntilSomebodyWaits()
        _ = try await completer.rows("COMMIT")
        let answer = try #require(try await answers.first)
        #expect(answer.kind == .inserted && answer.job != job.id)
        #expect(try await fixture.queue.progress(of: .name("second")).open == 1)
        try await fixture.expectSound()
    }
}
