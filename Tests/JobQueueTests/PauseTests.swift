import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct PauseTests {
    @Test func `jobs of a paused batch are not claimed, and return to their old order when it resumes`() async throws {
        let fixture = try await QueueFixture.make()
        let paused = try await fixture.enqueue(["http://a/1", "http://a/2"], batch: "paused").compactMap(\.job)
        let other = try await fixture.enqueue(["http://a/3"], batch: "other").compactMap(\.job)
        try await fixture.queue.producer.pause(.name("paused"))
        try await fixture.queue.producer.pause(.name("paused"))
        #expect(try await fixture.queue.reports.progress(of: .name("paused")).state == .paused)
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 9).map(\.id) == other)
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await worker.claim(upTo: 9).isEmpty)
        try await fixture.expectSound()
        // It takes more all the same, behind what waits.
        let late = try await fixture.enqueue(["http://a/4"], batch: "paused").compactMap(\.job)
        try await fixture.queue.producer.resume(.name("paused"))
        try await fixture.queue.producer.resume(.name("paused"))
        #expect(try await worker.claim(upTo: 9).map(\.id) == paused + late)
        try await fixture.expectSound()
    }

    /// What other claims must not pay for.
    static let stopped = [
        "a paused batch": "SELECT larder.batch_pause('paused')",
        "a job without items":
            "UPDATE larder_data.job SET items = 0 WHERE id = (SELECT max(id) FROM larder_data.job)",
        "a held origin": "SELECT larder.origin_hold('http://b', '1 hour')",
    ]

    @Test(arguments: stopped.keys.sorted())
    func `a claim calls as many functions, and reads few more pages, when other jobs are stopped`(what: String)
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.setQueue("default", lowPriorityEvery: 0)
        try await fixture.queue.operations.setQueue("other")
        try await fixture.enqueue((0..<200).map { "http://a/\($0)" }, batch: "active")
        try await fixture.enqueue((0..<200).map { "http://b/\($0)" }, batch: "paused") { $0.queue = "other" }
        try await fixture.queue.workers.maintain(force: true)
        let worker = try await fixture.startWorker()
        try await fixture.sql("SET track_functions = 'all'")
        /// Of two claims, one by turn.
        func costs(from number: Int) async throws -> (calls: Int, pages: Int) {
            let calls = "SELECT coalesce(sum(calls), 0) FROM pg_stat_xact_user_functions"
            try await fixture.sql("BEGIN")
            let before = try #require(try await fixture.value(calls).flatMap { Int($0) })
            let pagesBefore = try await fixture.pagesRead()
            for number in number...number + 1 {
                try await fixture.sql("SELECT FROM larder.claim_v1(\(worker.id), \(number), 1)")
            }
            let pages = try await fixture.pagesRead() - pagesBefore
            let after = try #require(try await fixture.value(calls).flatMap { Int($0) })
            try await fixture.sql("COMMIT")
            return (after - before, pages)
        }
        // The first claims of a session read the catalog.
        _ = try await costs(from: 1)
        let alone = try await costs(from: 3)
        try await fixture.sql(try #require(Self.stopped[what]))
        _ = try await costs(from: 5)
        let later = try await costs(from: 7)
        #expect(later.calls == alone.calls)
        #expect(later.pages * 4 <= alone.pages * 5, "\(alone.pages) pages, then \(later.pages)")
    }

    @Test func `a claim that picks more rows than it may take leaves the rest, though none is held now`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<5).map { "http://a/\($0)" })
        // As in a round after one that suspended jobs, when their batch has resumed meanwhile.
        let kept = "larder_data.put_off_held(ARRAY(SELECT ctid FROM larder_data.ready), 2)"
        #expect(try await fixture.sql("SELECT cardinality(kept), some_held FROM \(kept)") == [["2", "f"]])
    }

    @Test func `a job of a paused batch is claimed after an active batch joins it`() async throws {
        let fixture = try await QueueFixture.make()
        let job = try await fixture.enqueue(["http://a/1"], batch: "paused")[0].job
        try await fixture.queue.producer.pause(.name("paused"))
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 9).isEmpty)
        try await fixture.enqueue(["http://a/1"], batch: "second")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await worker.claim(upTo: 9).map(\.id) == [job])
        try await fixture.expectSound()
    }

    @Test func `a paused batch can be cancelled`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1", "http://a/2"])
        try await fixture.queue.producer.pause(.name("batch"))
        let worker = try await fixture.startWorker()
        _ = try await worker.claim(upTo: 1)
        #expect(try await fixture.queue.producer.cancel(.name("batch")) == 2)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.job") == "0")
        await #expect { try await fixture.queue.producer.pause(.name("batch")) } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        await #expect { try await fixture.queue.producer.resume(.name("batch")) } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        try await fixture.expectSound()
    }

    @Test func `many suspended jobs come back portion by portion, and those still paused stay`() async throws {
        let fixture = try await QueueFixture.make()
        for batch in ["one", "two"] {
            try await fixture.enqueue((0..<8_000).map { "http://\(batch)/\($0)" }, batch: batch)
            try await fixture.enqueue((0..<8_000).map { "http://\(batch)/more\($0)" }, batch: batch)
            try await fixture.queue.producer.pause(.name(batch))
        }
        try await fixture.sql(
            "WITH gone AS (DELETE FROM larder_data.ready RETURNING job_id) INSERT INTO larder_data.suspended (job_id, reason) SELECT job_id, 'paused' FROM gone"
        )
        func ready() async throws -> String? { try await fixture.value("SELECT count(*) FROM larder_data.ready") }
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await ready() == "0")
        try await fixture.queue.producer.resume(.name("one"))
        #expect(try await ready() == "10000")
        while try await ready() != "16000" { try await fixture.queue.workers.maintain(force: true) }
        for _ in 0..<8 { try await fixture.queue.workers.maintain(force: true) }
        #expect(try await ready() == "16000")
        #expect(
            try await fixture.value(
                "SELECT count(*) FROM larder_data.ready r JOIN larder_data.job j ON j.id = r.job_id JOIN larder_data.batch b ON b.id = j.batch_id WHERE b.name = 'two'"
            ) == "0")
        try await fixture.expectSound()
    }

    @Test func `a claim behind 25,000 paused jobs returns a job`() async throws {
        let fixture = try await QueueFixture.make()
        for part in 0..<5 {
            try await fixture.enqueue((0..<5_000).map { "http://a/\(part)/\($0)" }, batch: "paused")
        }
        try await fixture.queue.producer.pause(.name("paused"))
        let others = try await fixture.enqueue(["http://b/1", "http://b/2"], batch: "other").compactMap(\.job)
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 1).map(\.id) == [others[0]])
        #expect(try await worker.claim(upTo: 1).map(\.id) == [others[1]])
        // The claims suspend few jobs: maintenance suspends the others.
        #expect(try await fixture.value("SELECT count(*) BETWEEN 1 AND 20 FROM larder_data.suspended") == "t")
        while try await fixture.value("SELECT count(*) FROM larder_data.suspended") != "25000" {
            let moved = "SELECT moved > 0 FROM larder.maintain(true) WHERE task = 'holds'"
            #expect(try await fixture.sql(moved) == [["t"]])
        }
        try await fixture.expectSound()
    }

    @Test func `maintenance leaves the jobs of a paused batch that another batch has joined to claims`() async throws {
        let fixture = try await QueueFixture.make()
        let paused = try await fixture.enqueue((0..<20).map { "http://a/\($0)" }, batch: "paused").compactMap(\.job)
        try await fixture.enqueue(["http://a/3", "http://b/1"], batch: "active")
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.queue.producer.pause(.name("paused"))
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.suspended WHERE reason = 'paused'") == "19")
        let worker = try await fixture.startWorker()
        #expect(try await worker.claim(upTo: 9).map(\.url).sorted() == ["http://a/3", "http://b/1"])
        try await fixture.queue.producer.resume(.name("paused"))
        #expect(try await worker.claim(upTo: 30).map(\.id) == paused.filter { $0 != paused[3] })
        try await fixture.expectSound()
    }

    @Test func `a paused queue hands out nothing until it is resumed`() async throws {
        let fixture = try await QueueFixture.make()
        let settings = "SELECT lifo, low_priority_every FROM larder_data.queue WHERE name = 'slow'"
        try await fixture.queue.operations.setQueue("slow", lifo: true, lowPriorityEvery: 3)
        #expect(
            try await fixture.sql(settings) == [["t", "3"]])
        try await fixture.queue.operations.setQueue("slow", lifo: false)
        #expect(
            try await fixture.sql(settings) == [["f", "3"]])
        try await fixture.enqueue(["http://a/1"]) { $0.queue = "slow" }
        let worker = try await fixture.startWorker()
        try await fixture.queue.operations.pause(queue: "slow")
        #expect(try await worker.claim(upTo: 1, from: "slow").isEmpty)
        try await fixture.queue.operations.resume(queue: "slow")
        #expect(try await worker.claim(upTo: 1, from: "slow").count == 1)
        await #expect { try await fixture.queue.operations.pause(queue: "none") } throws: {
            ($0 as? QueueError)?.code == .unknownQueue
        }
        await #expect { try await fixture.queue.operations.resume(queue: "none") } throws: {
            ($0 as? QueueError)?.code == .unknownQueue
        }
        await #expect { try await fixture.queue.operations.setQueue("") } throws: {
            ($0 as? QueueError)?.code == .invalidArgument
        }
        try await fixture.expectSound()
    }

    @Test func `priorities change in bulk, and what another batch had first is only raised`() async throws {
        let fixture = try await QueueFixture.make()
        let early = try await fixture.enqueue(["http://a/1"], batch: "first") { $0.priority = 2 }.compactMap(\.job)
        let mine = try await fixture.enqueue(["http://a/2", "http://a/3"], batch: "second").compactMap(\.job)
        try await fixture.enqueue(["http://a/1"], batch: "second")
        let others = try await fixture.enqueue(["http://a/4"], batch: "third").compactMap(\.job)
        #expect(try await fixture.queue.producer.reprioritize(.name("second"), to: 7) == 2)
        #expect(try await fixture.queue.producer.reprioritize(.name("second"), to: 7) == 0)
        let late = try await fixture.enqueue(["http://a/5"], batch: "second").compactMap(\.job)
        let priorities = try await fixture.sql(
            "SELECT job_id, lane % 10 FROM larder_data.ready ORDER BY lane, job_id")
        #expect(
            priorities == [["\(early[0])", "2"], ["\(others[0])", "4"]] + (mine + late).map { ["\($0)", "7"] })
        #expect(try await fixture.queue.producer.reprioritize(.name("second"), to: 1) == 4)
        #expect(
            try await fixture.value(
                "SELECT string_agg(job_id::text, ' ' ORDER BY job_id) FROM larder_data.ready WHERE lane % 10 = 1")
                == (early + mine + late).map(String.init).joined(separator: " "))
        await #expect { try await fixture.queue.producer.reprioritize(.name("second"), to: 10) } throws: {
            ($0 as? QueueError)?.code == .invalidArgument
        }
        try await fixture.expectSound()
    }
}
