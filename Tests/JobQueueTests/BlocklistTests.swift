import ImageModel
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct BlocklistTests {
    @Test func `a URL blocked by hand is answered blocked until it is unblocked`() async throws {
        let fixture = try await QueueFixture.make()
        let combined = "http://a/e\u{301}"
        #expect(try await fixture.queue.operations.block(["http://a/1", "http://a/1", combined], reason: "legal") == 2)
        let kinds = try await fixture.enqueue(["http://a/1", combined, "http://a/\u{e9}", "http://a/2"]).map(\.kind)
        #expect(kinds == [.blocked, .blocked, .inserted, .inserted])
        let listed = try await fixture.queue.reports.blocklist()
        #expect(listed.count == 2)
        for blocked in listed {
            #expect(blocked.error == FailureReason(domain: "SDWebImageErrorDomain", code: 1003, message: "legal"))
            #expect(blocked.failures == 0)
        }
        #expect(try await fixture.queue.operations.unblock("http://a/1"))
        #expect(try await !fixture.queue.operations.unblock("http://a/1"))
        #expect(try await fixture.enqueue(["http://a/1"])[0].kind == .inserted)
        #expect(try await fixture.queue.operations.unblockAll() == 1)
        #expect(try await fixture.queue.reports.blocklist().isEmpty)
        try await fixture.expectSound()
    }

    @Test func `a longer block keeps its end, and one by hand makes no later one longer`() async throws {
        let fixture = try await QueueFixture.make()
        func hours(_ url: String) async throws -> String? {
            try await fixture.value(
                "SELECT round(extract(epoch FROM until - now()) / 3600) FROM larder.blocklist WHERE url = $1",
                [.text(url)])
        }
        try await fixture.queue.operations.block(["http://a/1"], for: .seconds(3600 * 48))
        try await fixture.queue.operations.block(["http://a/1"], for: .seconds(3600))
        #expect(try await hours("http://a/1") == "48")
        let worker = try await fixture.startWorker()
        for expected in ["24", "48"] {
            try await fixture.sql(
                "UPDATE larder_data.blocklist SET until = now() - interval '1 s', operator_until = NULL")
            try await fixture.enqueue(["http://a/1"])
            let job = try #require(try await worker.claim(upTo: 1).first)
            _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
            #expect(try await hours("http://a/1") == expected)
            try await fixture.queue.operations.block(["http://a/1"])
        }
        try await fixture.expectSound()
    }

    @Test func `neither RetryFailed nor a success or failure of the URL lifts or changes an operator's block`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        func kinds() async throws -> [EnqueueAnswer.Kind] {
            try await fixture.enqueue(["http://a/1", "http://a/2"]) { $0.options = 1 }.map(\.kind)
        }
        #expect(try await kinds() == [.inserted, .inserted])
        let worker = try await fixture.startWorker()
        let jobs = try await worker.claim(upTo: 2)
        try await fixture.queue.operations.block(["http://a/1", "http://a/2"], reason: "legal")
        var success = Outcome(jobs[0].held, .succeeded)
        success.downloads = 1
        _ = try await worker.complete([success, Outcome(jobs[1].held, .failed(.notAnImage))])
        #expect(try await fixture.queue.reports.blocklist().map(\.error.message) == ["legal", "legal"])
        try await fixture.queue.operations.block(["http://a/1", "http://a/2"])
        #expect(
            try await fixture.queue.reports.blocklist().map(\.error.message) == ["legal", "legal"],
            "kept without a new one")
        #expect(try await kinds() == [.blocked, .blocked])
        // Retried and claimed it is blocked, too.
        _ = try await fixture.queue.producer.retryFailed(of: .name("batch"))
        #expect(try await worker.claim(upTo: 9).allSatisfy(\.isBlocked))
        // After the operator's time only the failure's block is left, which RetryFailed passes.
        try await fixture.sql("UPDATE larder_data.blocklist SET operator_until = now() - interval '1 s'")
        #expect(try await kinds().contains(.blocked) == false)
        #expect(try await fixture.queue.operations.unblock("http://a/1"))
        try await fixture.expectSound()
    }

    @Test func `a limit of memory blocks a URL for workers with the same or a lower one only`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        func claim() async throws -> Job {
            #expect(try await fixture.enqueue(["http://a/1"]).map(\.kind) == [.inserted], "a claim knows the worker")
            return try #require(try await worker.claim(upTo: 1).first)
        }
        let first = try await claim()
        #expect(!first.isBlocked)
        #expect(first.blockedBy == nil)
        var outcome = Outcome(first.held, .failed(FailureReason(.memoryExceeded, "m")))
        outcome.workerLimit = 1_000
        _ = try await worker.complete([outcome])
        let second = try await claim()
        #expect(second.isBlocked)
        #expect(second.blockedBy == ExceededLimit(code: 205, value: 1_000))
        var passed = Outcome(second.held, .succeeded)
        passed.unblocks = true
        _ = try await worker.complete([passed])
        #expect(try await !claim().isBlocked)
        try await fixture.queue.operations.block(["http://a/1"])
        #expect(try await fixture.enqueue(["http://a/1"], batch: "b").map(\.kind) == [.blocked])
        try await fixture.expectSound()
    }

    @Test func `a format that a worker does not accept blocks no URL`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        try await fixture.enqueue(["http://a/1"])
        let job = try #require(try await worker.claim(upTo: 1).first)
        var reason = FailureReason(.badImageData, "m")
        reason.needs = [.format(.svg)]
        let decisions = try await worker.complete([Outcome(job.held, .failed(reason))])
        #expect(decisions.map(\.decision) == [.failed(FailureReason(.badImageData, "m"))])
        #expect(try await fixture.queue.reports.blocklist().isEmpty)
    }

    @Test func `the list comes in pages that miss nothing`() async throws {
        let fixture = try await QueueFixture.make()
        let urls = (0..<25).map { "http://a/\($0)" }
        try await fixture.queue.operations.block(urls)
        var seen: [String] = []
        var cursor = BlocklistCursor.start
        while true {
            let page = try await fixture.queue.reports.blocklist(after: cursor, limit: 10)
            guard let last = page.last else { break }
            seen += page.map(\.url)
            cursor = last.cursor
        }
        #expect(seen.sorted() == urls.sorted())
    }

    @Test func `what no URL can be, and no time, is refused`() async throws {
        let fixture = try await QueueFixture.make()
        for urls in [["http://a/1", ""], [String(repeating: "a", count: 8193)], Array(repeating: "a", count: 10_001)] {
            await #expect { try await fixture.queue.operations.block(urls) } throws: {
                ($0 as? QueueError)?.code == .invalidArgument
            }
        }
        await #expect { try await fixture.queue.operations.block(["http://a/1"], for: .zero) } throws: {
            ($0 as? QueueError)?.code == .invalidArgument
        }
        #expect(try await fixture.queue.reports.blocklist().isEmpty)
    }
}
