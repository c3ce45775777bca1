import Concurrency
import ImageModel
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct FailureTests {
    /// What design says about an error: retried, and blocks at the final failure.
    struct Rule: Sendable, CustomTestStringConvertible {
        let domain: String
        let code: Int
        var status: Int?
        let retried: Bool
        /// Days of the block; nil never blocks.
        let block: Int?
        var testDescription: String { "\(domain) \(code) \(status.map(String.init) ?? "")" }
    }

    static let rules: [Rule] =
        [408, 425, 429, 500, 502, 503, 504].map {
            Rule(domain: "SDWebImageErrorDomain", code: 2001, status: $0, retried: true, block: nil)
        }
        + [400, 401, 403, 404, 410, 501, nil].map {
            Rule(domain: "SDWebImageErrorDomain", code: 2001, status: $0, retried: false, block: nil)
        }
        + [Rule(domain: "SDWebImageErrorDomain", code: 1001, status: 200, retried: false, block: 1)]
        + [-1001, -1003, -1004, -1005].map { Rule(domain: "NSURLErrorDomain", code: $0, retried: true, block: nil) }
        + [Rule(domain: "NSURLErrorDomain", code: -1200, retried: true, block: 1)]
        + [-1202, -1007, -1002, -1016].map { Rule(domain: "NSURLErrorDomain", code: $0, retried: false, block: 1) }
        + [101, 102, 103, 104, 107].map { Rule(domain: "LarderErrorDomain", code: $0, retried: false, block: nil) }
        + [201, 202, 203, 204].map { Rule(domain: "LarderErrorDomain", code: $0, retried: false, block: nil) }
        + [205, 206].map { Rule(domain: "LarderErrorDomain", code: $0, retried: false, block: 30) }
        + [401, 402, 404].map { Rule(domain: "LarderErrorDomain", code: $0, retried: false, block: nil) }
        + [403, 501].map { Rule(domain: "LarderErrorDomain", code: $0, retried: true, block: nil) }
        + [Rule(domain: "UnheardOfDomain", code: 1, retried: false, block: nil)]

    @Test func `every error of the table is retried and blocks as the table says`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        for (index, rule) in Self.rules.enumerated() {
            let url = "http://a/\(index)"
            try await fixture.enqueue([url]) {
                $0.maxAttempts = 2
                $0.retryBase = .zero
            }
            for attempt in 1...2 {
                let job = try #require(try await worker.claim(upTo: 1).first)
                #expect(job.attempt == attempt)
                var outcome = Outcome(
                    job.held, .failed(FailureReason(domain: rule.domain, code: rule.code, message: "m")))
                outcome.httpStatus = rule.status
                let decision = try #require(try await worker.complete([outcome]).first?.decision)
                if attempt == 1 && rule.retried {
                    #expect(decision == .retried(after: .zero), "\(rule)")
                    #expect(try await fixture.enqueue([url], batch: "other").map(\.kind) == [.joined], "\(rule)")
                    try await fixture.queue.workers.maintain(force: true)
                } else {
                    #expect(
                        decision == .failed(FailureReason(domain: rule.domain, code: rule.code, message: "m")),
                        "\(rule)")
                    break
                }
            }
            let days = try await fixture.value(
                "SELECT round(extract(epoch FROM until - now()) / 86400) FROM larder.blocklist WHERE url = $1",
                [.text(url)])
            #expect(days == rule.block.map(String.init), "\(rule)")
        }
        let remaining = try await fixture.queue.reports.remaining()
        #expect(remaining.isDrained, "\(remaining)")
        try await fixture.expectSound()
    }

    @Test func `back-off is full jitter over base × 4ⁿ, capped, and Retry-After counts up to an hour`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        let count = 300
        try await fixture.enqueue((0..<count).map { "http://a/\($0)" }) { $0.maxAttempts = 100 }
        for (attempt, cap) in [(0, 1_000), (1, 4_000), (5, 900_000), (90, 900_000)] {
            try await fixture.sql("UPDATE larder_data.job SET attempt = $1", [.integer(Int64(attempt))])
            let jobs = try await worker.claim(upTo: count)
            #expect(jobs.count == count)
            let delays = try await worker.complete(jobs.map { .unavailable($0.held) }).map { completion in
                guard case .retried(let delay) = completion.decision else { return Int64.max }
                return delay.milliseconds
            }
            // 300 draws: the chance of none in a given tenth is below 10⁻¹³.
            #expect(delays.allSatisfy { (0..<Int64(cap)).contains($0) })
            #expect(delays.contains { $0 < Int64(cap / 10) })
            #expect(delays.contains { $0 >= Int64(cap / 10 * 9) })
            try await fixture.sql("UPDATE larder_data.scheduled SET run_at = now()")
            try await fixture.queue.workers.maintain(force: true)
        }
        let jobs = try await worker.claim(upTo: 2)
        let completed = try await worker.complete([
            .unavailable(jobs[0].held, retryAfter: .seconds(1_000)),
            .unavailable(jobs[1].held, retryAfter: .seconds(9_000)),
        ])
        guard case .retried(let asked) = completed[0].decision, case .retried(let capped) = completed[1].decision else {
            Issue.record("\(completed)")
            return
        }
        #expect(asked == .seconds(1_000))
        #expect(capped == .seconds(3_600))
        try await fixture.expectSound()
    }

    @Test func `a blocked URL is a failed item at once; RetryFailed passes, and its success unblocks`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        func fail(_ options: UInt64) async throws {
            try await fixture.enqueue(["http://a/1"]) { $0.options = options }
            let job = try #require(try await worker.claim(upTo: 1).first)
            _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
        }
        func blockedHours() async throws -> String? {
            try await fixture.value("SELECT round(extract(epoch FROM until - now()) / 3600) FROM larder.blocklist")
        }
        try await fail(0)
        #expect(try await blockedHours() == "24")
        let answer = try #require(try await fixture.enqueue(["http://a/1"]).first)
        #expect(answer.kind == .blocked)
        #expect(answer.error?.code == 1_003)
        #expect(answer.job == nil)
        // Blocked again and again, twice as long each time, at most 30 days.
        for hours in ["48", "96", "192", "384", "720", "720"] {
            try await fail(1)
            #expect(try await blockedHours() == hours)
        }
        // Once the block is over: a success without RetryFailed forgets nothing, nor does one out of the cache.
        try await fixture.sql("UPDATE larder_data.blocklist SET until = now()")
        for (options, downloads, left) in [(UInt64(0), 1, "1"), (1, 0, "1"), (1, 1, "0")] {
            try await fixture.enqueue(["http://a/1"]) { $0.options = options }
            let job = try #require(try await worker.claim(upTo: 1).first)
            var outcome = Outcome(job.held, .succeeded)
            outcome.downloads = downloads
            _ = try await worker.complete([outcome])
            #expect(try await fixture.value("SELECT count(*) FROM larder_data.blocklist") == left)
        }
        let progress = try await fixture.queue.reports.progress(of: .name("batch"))
        #expect(progress.blocked == 1)
        #expect(progress.failed == 8)
        #expect(progress.succeeded == 3)
        try await fixture.expectSound()
    }

    @Test(arguments: [
        // (code, downloads, cancelled meanwhile, still blocked)
        (401, 1, false, false), (403, 1, false, false), (403, 1, true, false), (401, 0, false, true),
        (302, 1, false, true),
    ])
    func `with RetryFailed a download that succeeded unblocks whatever fails after it, unless that blocks`(
        code: Int, downloads: Int, isCancelled: Bool, staysBlocked: Bool
    ) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"]) { $0.options = 1 }
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        try await fixture.blockAfterFailure("http://a/1")
        if isCancelled { _ = try await fixture.queue.producer.cancel(job: job.id) }
        var outcome = Outcome(
            job.held, .failed(FailureReason(domain: "LarderErrorDomain", code: code, message: "after the download")))
        outcome.downloads = downloads
        _ = try await worker.complete([outcome])
        #expect(try await fixture.queue.reports.blocklist().isEmpty == !staysBlocked)
        try await fixture.expectSound()
    }

    @Test
    func `a job whose URL was blocked after it was enqueued is claimed as blocked, unless it says RetryFailed`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        _ = try await fixture.queue.producer.setPipeline(name: "card", spec: #"{"variants": []}"#)
        let worker = try await fixture.startWorker()
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        try await fixture.enqueue(["http://a/1"]) { request in
            request.pipeline = "card"
            request.options = 1
        }
        try await fixture.blockAfterFailure("http://a/1")
        let claimed = try await worker.claim(upTo: 3)
        #expect(claimed.map(\.isBlocked) == [true, false, false])
    }

    @Test func `two transcoder crashes on one image make it poison, whatever else fails between them`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        try await fixture.enqueue(["http://a/1"]) {
            $0.maxAttempts = 9
            $0.retryBase = .zero
        }
        for outcome in ["died", "unavailable", "died"] {
            try await fixture.queue.workers.maintain(force: true)
            let job = try #require(try await worker.claim(upTo: 1).first)
            let completed = try await worker.complete([
                outcome == "died" ? Outcome(job.held, .failed(.transcoderDied)) : .unavailable(job.held)
            ])
            guard job.attempt == 3 else {
                #expect(completed[0].decision == .retried(after: .zero))
                continue
            }
            #expect(
                completed[0].decision == .failed(FailureReason(domain: "LarderErrorDomain", code: 302, message: "died"))
            )
        }
        let block = try await fixture.sql(
            "SELECT code, round(extract(epoch FROM until - now()) / 86400) FROM larder.blocklist")
        #expect(block == [["302", "30"]])
        try await fixture.expectSound()
    }

    @Test func `a death of the transcoder that is not the image's fault never makes it poison`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        try await fixture.enqueue(["http://a/1"]) {
            $0.maxAttempts = 4
            $0.retryBase = .zero
        }
        var hung = FailureReason.transcoderDied
        hung.countsTowardPoison = false
        for attempt in 1...4 {
            try await fixture.queue.workers.maintain(force: true)
            let job = try #require(try await worker.claim(upTo: 1).first)
            let decision = try await worker.complete([Outcome(job.held, .failed(hung))])[0].decision
            #expect(decision == (attempt < 4 ? .retried(after: .zero) : .failed(.transcoderDied)))
        }
        #expect(try await fixture.sql("SELECT FROM larder.blocklist").isEmpty)
        try await fixture.expectSound()
    }

    @Test func `without retries the first death is final, and blocks nothing`() async throws {
        let fixture = try await QueueFixture.make()
        let worker = try await fixture.startWorker()
        try await fixture.enqueue(["http://a/1"]) { $0.maxAttempts = 1 }
        let job = try #require(try await worker.claim(upTo: 1).first)
        let completed = try await worker.complete([Outcome(job.held, .failed(.transcoderDied))])
        #expect(completed[0].decision == .failed(.transcoderDied))
        #expect(try await fixture.value("SELECT count(*) FROM larder.blocklist") == "0")
    }
}

extension QueueFixture {
    /// Blocks a URL as a failure does.
    fileprivate func blockAfterFailure(_ url: String) async throws {
        try await queue.operations.block([url])
        try await sql("UPDATE larder_data.blocklist SET operator_until = NULL")
    }
}
