import ImageModel
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct EnqueueTests {
    @Test func `each URL gets its answer in order, and a bad one never stops the others`() async throws {
        let fixture = try await QueueFixture.make()
        let long = "http://a.example/" + String(repeating: "x", count: 8_192)
        let answers = try await fixture.enqueue([
            "http://a.example/1", "", "http://a.example/1", "ftp://a.example/x", "no scheme", "nothing", "http:///x",
            "http://a.example:99999/", "http://a b/", long, "http://bad\u{FFFD}.example/", "http://zero\0.example/",
            "https://user:secret@B.Example:0443?q", "http://[::1]:8080/x", "http://ümlaut.example/ä",
        ])
        #expect(
            answers.map(\.kind) == [
                .inserted, .invalid, .joined, .invalid, .invalid, .invalid, .invalid, .invalid, .invalid, .invalid,
                .invalid, .invalid, .inserted, .inserted, .inserted,
            ])
        #expect(answers[0].job == answers[2].job)
        #expect(answers[0].job != nil)
        #expect(answers[3].error?.domain == "NSURLErrorDomain")
        #expect(answers[3].error?.code == -1002)
        #expect(answers[1].error?.domain == "SDWebImageErrorDomain")
        #expect(answers[1].error?.code == 1000)
        let origins = try await fixture.sql("SELECT name FROM larder_data.origin ORDER BY name").map { $0[0] }
        #expect(
            origins == [
                "http://[::1]:8080", "http://a.example:80", "http://ümlaut.example:80", "https://b.example:443",
            ])
        let progress = try await fixture.queue.reports.progress(of: .name("batch"))
        #expect(progress.total == 15)
        #expect(progress.open == 5)
        #expect(progress.failed == 10)
        #expect(progress.invalid == 10)
        #expect(progress.skipped == 10)
        #expect(progress.joined == 1)
        #expect(progress.state == .open)
        let failures = try await fixture.queue.reports.failures(of: progress.id)
        #expect(failures.count == 10)
        #expect(failures.allSatisfy { $0.attempts == 0 })
        try await fixture.expectSound()
    }

    @Test func `two spellings that Unicode holds equal are two jobs`() async throws {
        let fixture = try await QueueFixture.make()
        let answers = try await fixture.enqueue(["http://a.example/\u{E9}", "http://a.example/e\u{301}"])
        #expect(answers.map(\.kind) == [.inserted, .inserted])
        let worker = try await fixture.startWorker()
        let urls = try await worker.claim(upTo: 2).map { Array($0.url.utf8) }
        #expect(urls == [Array("http://a.example/\u{E9}".utf8), Array("http://a.example/e\u{301}".utf8)])
    }

    @Test func `hosts take turns, and lower priority numbers go first`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2", "http://a/3", "http://b/1", "http://c/1", "http://b/2"])
        try await fixture.enqueue(["http://z/first"]) { $0.priority = 1 }
        let worker = try await fixture.startWorker()
        let urls = try await worker.claim(upTo: 10).map(\.url)
        #expect(
            urls == [
                "http://z/first", "http://a/1", "http://b/1", "http://c/1", "http://a/2", "http://b/2", "http://a/3",
            ])
    }

    @Test func `enqueue belongs to the caller's transaction: rolled back, it never happened`() async throws {
        let fixture = try await QueueFixture.make()
        let connection = fixture.otherConnection()
        _ = try await connection.withSession { session throws(QueueError) in
            try session.run(script: "BEGIN", timeout: .seconds(10))
            let rows = try session.query(
                "SELECT answer FROM larder.enqueue_many(ARRAY['http://a/1', 'nothing'], 'rolled back')", [],
                timeout: .seconds(10))
            #expect(rows.texts == [["inserted"], ["invalid"]])
            try session.run(script: "ROLLBACK", timeout: .seconds(10))
        }
        let left = try await fixture.value(
            "SELECT (SELECT count(*) FROM larder_data.job) + (SELECT count(*) FROM larder_data.batch) + (SELECT count(*) FROM larder_data.batch_delta) + (SELECT count(*) FROM larder_data.ready)"
        )
        #expect(left == "0")
        try await fixture.expectSound()
    }

    @Test func `an error in a call as a whole is a typed error`() async throws {
        let fixture = try await QueueFixture.make()
        func code(_ change: @escaping @Sendable (inout EnqueueRequest) -> Void) async -> QueueError.Code? {
            do {
                try await fixture.enqueue(["http://a/1"], change)
                return nil
            } catch { return (error as? QueueError)?.code }
        }
        #expect(await code { $0.pipeline = "none" } == .unknownPipeline)
        #expect(await code { $0.queue = "none" } == .unknownQueue)
        #expect(await code { $0.batchID = 4_711 } == .unknownBatch)
        #expect(await code { $0.priority = 10 } == .invalidArgument)
        #expect(await code { $0.maxAttempts = 0 } == .invalidArgument)
        #expect(await code { $0.urls = Array(repeating: "http://a/1", count: 10_001) } == .invalidArgument)
        #expect(await code { $0.batch = "" } == .invalidArgument)
        try await fixture.enqueue(["http://a/1"], batch: "closed")
        try await fixture.queue.producer.seal(.name("closed"))
        try await fixture.queue.producer.seal(.name("closed"))
        #expect(await code { $0.batch = "closed" } == .batchClosed)
        await #expect { try await fixture.queue.producer.seal(.name("none")) } throws: {
            ($0 as? QueueError)?.code == .unknownBatch
        }
        let jobs = try await fixture.value("SELECT count(*) FROM larder_data.job")
        #expect(jobs == "1")
    }

    @Test func `a call of 10,000 URLs with every third a duplicate is counted exactly`() async throws {
        let fixture = try await QueueFixture.make()
        let urls = (0..<10_000).map { "http://host\($0 % 7).example/\($0 % 3 == 2 ? $0 - 2 : $0)" }
        let distinct = Set(urls).count
        let answers = try await fixture.enqueue(urls)
        #expect(answers.filter { $0.kind == .inserted }.count == distinct)
        #expect(answers.filter { $0.kind == .joined }.count == 10_000 - distinct)
        let progress = try await fixture.queue.reports.progress(of: .name("batch"))
        #expect(progress.total == 10_000)
        #expect(progress.open == 10_000)
        try await fixture.expectSound()
    }

    @Test func `without a name the jobs go to the default batch of the queue and day`() async throws {
        let fixture = try await QueueFixture.make()
        for url in ["http://a/1", "http://a/2"] {
            _ = try await fixture.queue.producer.enqueue(EnqueueRequest(urls: [url]))
        }
        let batches = try await fixture.sql("SELECT name, daily IS NOT NULL FROM larder_data.batch")
        try #require(batches.count == 1)
        #expect(batches[0][0]?.hasPrefix("default/20") == true)
        #expect(batches[0][1] == "t")
        // Its day over, it is sealed; its jobs done, it is finished.
        try await fixture.sql("UPDATE larder_data.batch SET daily = daily - 2")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.queue.reports.progress()[0].state == .sealed)
    }

    @Test func `single URLs from SQL: the answer, the job, the error`() async throws {
        let fixture = try await QueueFixture.make()
        let rows = try await fixture.sql(
            "SELECT answer, code FROM larder.enqueue('http://a/1', batch => 'x', options => 3)")
        #expect(rows == [["inserted", nil]])
        let refused = try await fixture.sql("SELECT answer, domain, code FROM larder.enqueue('mailto:a@b')")
        #expect(refused == [["invalid", "NSURLErrorDomain", "-1002"]])
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 1).first?.options == 3)
    }

    @Test func `options, context and pipeline text arrive as they were given`() async throws {
        let fixture = try await QueueFixture.make()
        let spec = #"{"name":"card","variants":[{"name":"a","x":-0.0,  "y":1.50}]}"#
        let first = try await fixture.queue.producer.setPipeline(name: "card", spec: spec)
        let same = try await fixture.queue.producer.setPipeline(name: "card", spec: spec)
        let second = try await fixture.queue.producer.setPipeline(name: "card", spec: #"{"variants":[]}"#)
        #expect(first.version == 1)
        #expect(same.id == first.id)
        #expect(second.version == 2)
        try await fixture.enqueue(["http://a/1"]) {
            $0.pipeline = "card"
            $0.options = .max
            $0.context = #"{"key":"\u00e4","n":-0.0}"#
            $0.maxAttempts = 7
        }
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        #expect(job.options == .max)
        #expect(job.context == #"{"key":"\u00e4","n":-0.0}"#)
        #expect(job.maxAttempts == 7)
        #expect(job.pipeline == second.id)
        #expect(job.origin == "http://a:80")
        #expect(job.attempt == 1)
        #expect(try await fixture.queue.workers.pipeline(id: first.id).spec == spec)
        #expect(try await fixture.queue.reports.pipeline(named: "card").version == 2)
        #expect(try await fixture.queue.reports.pipelines().map(\.name) == ["card", "original"])
    }

    @Test func `a part of a list may bring the text of its pipeline`() async throws {
        let fixture = try await QueueFixture.make()
        let request = #"{"batch": "b", "pipeline": "new", "pipeline_spec": {"variants": []}}"#
        let answers = try await fixture.answers(of: "enqueue_list('\(request)', '{http://a/1}', source => 'l')")
        #expect(answers == ["inserted"])
    }
}
