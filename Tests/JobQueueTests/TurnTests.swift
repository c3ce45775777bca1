import Testing

@testable import JobQueue

struct TurnTests {
    /// How many jobs are claimed, ten at a time, until all jobs of `batch` are.
    private static func claimed(
        by worker: WorkerSession, until batch: String, in fixture: QueueFixture,
        _ between: () async throws -> Void = {}
    ) async throws -> Int {
        let waiting =
            """
            SELECT count(*) FROM larder_data.ready r JOIN larder_data.job j ON j.id = r.job_id
            JOIN larder_data.batch b ON b.id = j.batch_id WHERE b.name = $1
            """
        var count = 0
        while try await fixture.value(waiting, [.text(batch)]) != "0" {
            let jobs = try await worker.claim(upTo: 10)
            count += jobs.count
            guard jobs.count == 10 else { break }
            try await between()
        }
        return count
    }

    @Test func `a small batch is done while large ones before and after it wait, and the oldest jobs go on`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<1_000).map { "http://a/\($0)" }, batch: "large")
        try await fixture.queue.workers.maintain(force: true)
        // Behind the first thousand, not among them.
        try await fixture.enqueue((1_000..<2_000).map { "http://a/\($0)" }, batch: "large")
        try await fixture.enqueue((0..<20).map { "http://b/\($0)" }, batch: "small")
        try await fixture.enqueue((0..<2_000).map { "http://c/\($0)" }, batch: "last")
        let worker = try await fixture.startWorker()
        // In half of the claims each of the three batches has a third: 20 turns are 120 jobs.
        let count = try await Self.claimed(by: worker, until: "small", in: fixture)
        #expect((60...160).contains(count), "\(count) jobs")
        // The other claims take the oldest jobs; one claim more or less was of either kind.
        let half = count / 2 - 10
        let oldest = try await fixture.value(
            "SELECT count(*) FROM larder_data.running WHERE job_id < $1 + (SELECT min(id) FROM larder_data.job)",
            [.integer(Int64(half))])
        #expect(oldest == "\(half)")
        try await fixture.expectSound()
    }

    @Test(arguments: [false, true])
    func `a small batch has its turns behind a large one that many calls enqueued within a second`(isMaintained: Bool)
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.setQueue("default", lowPriorityEvery: 0)
        // No maintenance between the calls, whose jobs would otherwise share turns.
        for call in 0..<20 {
            try await fixture.enqueue((0..<100).map { "http://a/\(call)/\($0)" }, batch: "large")
        }
        if isMaintained { try await fixture.queue.workers.maintain(force: true) }
        try await fixture.enqueue((0..<20).map { "http://b/\($0)" }, batch: "small")
        let worker = try await fixture.startWorker()
        // Half of each second claim.
        let count = try await Self.claimed(by: worker, until: "small", in: fixture) {
            if isMaintained { try await fixture.queue.workers.maintain(.urgent, force: true) }
        }
        #expect(count <= 120, "\(count) jobs")
        let twice = try await fixture.value(
            "SELECT count(*) - count(DISTINCT (batch_id, turn)) FROM larder_data.ready JOIN larder_data.job ON id = job_id"
        )
        #expect(twice == "0")
    }

    @Test(arguments: [0, 1, 2, 8])
    func `batches take turns in half of the claims, however often claims start at a lower priority`(every: Int)
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.setQueue("default", lowPriorityEvery: every)
        try await fixture.enqueue((0..<1_000).map { "http://a/\($0)" }, batch: "large")
        try await fixture.enqueue((0..<20).map { "http://b/\($0)" }, batch: "small")
        let worker = try await fixture.startWorker()
        // At least half of each claim by turn: at most four of these, and about as many others.
        let count = try await Self.claimed(by: worker, until: "small", in: fixture)
        #expect(count <= 120, "\(count) jobs")
    }

    @Test func `a batch starts where claims stand when it is enqueued`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<2_000).map { "http://a/\($0)" }, batch: "large")
        let worker = try await fixture.startWorker()
        _ = try await worker.claim(upTo: 1_000)
        try await fixture.queue.workers.maintain(.urgent, force: true)
        try await fixture.enqueue((0..<10).map { "http://b/\($0)" }, batch: "small")
        let count = try await Self.claimed(by: worker, until: "small", in: fixture)
        #expect(count <= 60, "\(count) jobs")
        // Jobs that return are in front again, and do not delay the turns of others.
        let held = try await fixture.sql("SELECT job_id, claim_no FROM larder_data.running")
        try await worker.release(
            held.compactMap { row in
                row[0].flatMap { Int64($0) }.flatMap { job in
                    row[1].flatMap { Int64($0) }.map { Claim(job: job, number: $0) }
                }
            })
        try await fixture.enqueue((0..<10).map { "http://c/\($0)" }, batch: "smaller")
        #expect(try await Self.claimed(by: worker, until: "smaller", in: fixture) <= 80)
        try await fixture.expectSound()
    }
}
