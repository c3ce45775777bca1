import ImageModel
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct FreshTests {
    private static let original = StoredFile(key: "http://a/1", path: "default/1.jpg")

    /// The answer to a second enqueue, after a job with these options that succeeded and stored these files.
    private func answer(
        stored: [StoredFile], first: (inout EnqueueRequest) -> Void = { _ in },
        second: (inout EnqueueRequest) -> Void = { _ in }
    ) async throws -> EnqueueAnswer.Kind {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"], first)
        let worker = try await fixture.queue.workers.start(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "test", slots: 8, cacheID: "cache"))
        let job = try #require(try await worker.claim(upTo: 1).first)
        var outcome = Outcome(job.held, .succeeded)
        outcome.stored = stored
        #expect(try await worker.complete([outcome]).map(\.decision) == [.succeeded])
        let answers = try await fixture.enqueue(["http://a/1"]) {
            $0.freshFor = .seconds(86_400)
            second(&$0)
        }
        try await fixture.expectSound()
        return answers[0].kind
    }

    @Test func `a stored original and its stored variants are fresh`() async throws {
        let card = StoredFile(name: "card", key: "http://a/1-card", path: "default/1-card.jpg")
        #expect(try await answer(stored: [Self.original]) == .fresh)
        #expect(try await answer(stored: [Self.original, card]) == .fresh)
    }

    @Test func `a job that succeeded and stored nothing is not fresh, nor one with a file that has no path`()
        async throws
    {
        #expect(try await answer(stored: [], first: { $0.options = 1 << 15 }) == .inserted)
        let pathless = StoredFile(name: "card", key: "http://a/1-card", path: nil)
        #expect(try await answer(stored: [Self.original, pathless]) == .inserted)
        #expect(try await answer(stored: [StoredFile(name: "card", key: "k", path: "")]) == .inserted)
    }

    @Test func `another context makes another image; the same one is fresh`() async throws {
        let box = #"{"imageThumbnailPixelSize":[100,100]}"#
        #expect(try await answer(stored: [Self.original], second: { $0.context = box }) == .inserted)
        #expect(try await answer(stored: [Self.original], first: { $0.context = box }) == .inserted)
        let same = try await answer(
            stored: [Self.original], first: { $0.context = box }, second: { $0.context = box })
        #expect(same == .fresh)
    }

    @Test func `options that change what is stored are part of it, those that say how to get it are not`() async throws
    {
        // ScaleDownLargeImages; RetryFailed, HighPriority and FromLoaderOnly.
        #expect(try await answer(stored: [Self.original], second: { $0.options = 1 << 11 }) == .inserted)
        let ways: UInt64 = 1 << 0 | 1 << 7 | 1 << 16
        #expect(try await answer(stored: [Self.original], second: { $0.options = ways }) == .fresh)
    }

    /// json takes what nothing else of Postgres reads.
    @Test(arguments: [#"[{"path":"\u0000"}]"#, #"[{"path":1}]"#, "5", "[]", #"{"path":null}"#, #"[1e999999]"#])
    func `a record of a foreign worker that names no file makes nothing fresh and fails no call`(stored: String)
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.queue.workers.start(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "test", slots: 8, cacheID: "cache"))
        let job = try #require(try await worker.claim(upTo: 1).first)
        try await fixture.sql(
            """
            SELECT larder.complete_v1(\(worker.id), json_build_array(json_build_object('job', \(job.id), 'claim', \(job.claim), 'result', 'succeeded', 'stored', $1::json)))
            """, [.text(stored)])
        let answers = try await fixture.enqueue(["http://a/1"]) { $0.freshFor = .seconds(86_400) }
        #expect(answers.map(\.kind) == [.inserted])
    }
}
