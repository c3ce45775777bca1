import ImageModel
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct TraceTests {
    private let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    private let other = "00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b8-01"

    private func id(_ batch: String, _ fixture: QueueFixture) async throws -> Int64 {
        try await fixture.queue.reports.progress(of: .name(batch)).id
    }

    @Test func `a claim returns the traceparent of the enqueue, and none where it named none`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"]) { $0.traceparent = parent }
        try await fixture.enqueue(["http://a/2"])
        let answers = try await fixture.answers(
            of: "enqueue_list('{\"batch\": \"b\", \"traceparent\": \"\(other)\"}', '{http://a/3}')")
        #expect(answers == ["inserted"])
        #expect(try await fixture.answers(of: "enqueue('http://a/4', 'b', traceparent => '\(other)')") == ["inserted"])
        let jobs = try await fixture.startWorker().claim(upTo: 10)
        let traces = jobs.sorted { $0.url < $1.url }.map(\.traceparent)
        #expect(traces == [parent, nil, other, other])
        #expect(jobs.allSatisfy { $0.queued < .seconds(300) })
    }

    @Test(arguments: [
        "", "none", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",
        "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
        "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n",
    ]) func `a text that is no traceparent is refused`(text: String) async throws {
        let fixture = try await QueueFixture.make()
        let statement = "SELECT FROM larder.enqueue_many('{http://a/1}', 'b', traceparent => $1)"
        #expect(try await fixture.refusal(of: statement, [.text(text)]) == "22023")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job") == "0")
    }

    @Test func `records have the trace of their own enqueue`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "nothing"], batch: "one") {
            $0.traceparent = parent
            $0.maxAttempts = 1
        }
        try await fixture.enqueue(["http://a/1"], batch: "two") { $0.traceparent = other }
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        let reason = FailureReason(domain: "SDWebImageErrorDomain", code: 2001, message: "not found")
        let outcome = Outcome(job.held, .failed(reason))
        let decisions = try await worker.complete([outcome])
        #expect(decisions.count == 1)
        let failures = try await fixture.queue.reports.failures(of: id("one", fixture))
        #expect(failures.map(\.traceID) == ["4bf92f3577b34da6a3ce929d0e0e4736", "4bf92f3577b34da6a3ce929d0e0e4736"])
        let joined = try await fixture.queue.reports.failures(of: id("two", fixture))
        #expect(joined.map(\.traceID) == ["5bf92f3577b34da6a3ce929d0e0e4736"])
        let status = try await fixture.queue.reports.status(ofJob: job.id)
        #expect(status.traceID == "4bf92f3577b34da6a3ce929d0e0e4736")
        let page = try await fixture.queue.reports.failures(matching: FailureFilter(), limit: 10)
        #expect(page.failures.compactMap(\.traceID).count == 3)
    }

    @Test func `a retried failure keeps the trace`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"]) {
            $0.traceparent = parent
            $0.maxAttempts = 1
        }
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        let reason = FailureReason(domain: "SDWebImageErrorDomain", code: 2001, message: "not found")
        _ = try await worker.complete([Outcome(job.held, .failed(reason))])
        _ = try await fixture.sql("SELECT larder.retry(\(job.id))")
        #expect(try await worker.claim(upTo: 1).map(\.traceparent) == [parent])
    }

    @Test func `a worker reads the traces of the items that joined its jobs`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2"], batch: "one") { $0.traceparent = parent }
        let jobs = try await fixture.startWorker().claim(upTo: 2)
        try await fixture.enqueue(["http://a/1"], batch: "two") { $0.traceparent = other }
        try await fixture.enqueue(["http://a/1"], batch: "three")
        let first = try #require(jobs.first { $0.url == "http://a/1" })
        let traces = try await fixture.queue.workers.joinedTraces(of: jobs.map(\.id))
        #expect(traces == [first.id: [other]])
    }
}
