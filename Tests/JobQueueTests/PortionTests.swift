import ImageModel
import Testing

@testable import JobQueue

/// Work on any number of rows runs in bounded portions.
@Suite(.timeLimit(.minutes(5)))
struct PortionTests {
    @Test func `failures are discarded and the blocklist is emptied in portions`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.operations.block((0..<5).map { "http://blocked/\($0)" })
        try await fixture.enqueue((0..<5).map { "http://blocked/\($0)" } + (0..<7).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        _ = try await worker.complete(
            try await worker.claim(upTo: 7).map {
                Outcome($0.held, .failed(FailureReason(domain: "x", code: 1, message: "")))
            })
        var discarded: [String?] = []
        for _ in 0..<5 { discarded.append(try await fixture.value("SELECT larder.batch_discard_portion('batch', 3)")) }
        // At most three records a call.
        #expect(discarded == ["3", "3", "3", "3", "0"])
        #expect(try await fixture.value("SELECT count(*) FROM larder.failed") == "0")
        try await fixture.sql("UPDATE larder_data.blocklist SET until = now() - interval '1 s' WHERE url LIKE '%/4'")
        var unblocked: [[String?]] = []
        for _ in 0..<3 {
            unblocked += try await fixture.sql("SELECT unblocked, is_last FROM larder.unblock_portion(2)")
        }
        #expect(unblocked.compactMap { $0[0].flatMap { Int($0) } }.reduce(0, +) == 4)
        #expect(unblocked.map { $0[1] } == ["f", "f", "t"])
        try await fixture.expectSound()
    }

    @Test func `more URLs than a call takes are refused`() async throws {
        let fixture = try await QueueFixture.make()
        let block = "SELECT larder.block_many(ARRAY(SELECT 'http://a/' || i FROM generate_series(1, 10001) AS i))"
        await #expect { try await fixture.sql(block) } throws: { ($0 as? QueueError)?.sqlState == "22023" }
    }

    @Test func `due jobs are promoted without a pause while there are more than a portion`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<10_000).map { "http://a/\($0)" }) { $0.start = .after(.seconds(1000)) }
        try await fixture.enqueue((0..<500).map { "http://b/\($0)" }) { $0.start = .after(.seconds(1000)) }
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.sql("UPDATE larder_data.scheduled SET run_at = now()")
        var moved: [Int] = []
        // The first look is due at its time, the others at once.
        while moved.last ?? 5_000 >= 5_000 {
            let maintain = try await fixture.queue.workers.maintain(force: moved.isEmpty)
            moved.append(maintain)
        }
        #expect(moved.contains(500))
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "10500")
        try await fixture.expectSound()
    }
}
