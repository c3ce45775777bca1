import Testing

@testable import JobQueue

/// Producers whose transactions add to the same batch and then say something about it.
@Suite(.timeLimit(.minutes(5)))
struct SealRaceTests {
    @Test func `two transactions that add to one batch and seal it both succeed, and it is sealed`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/0"], batch: "b")
        let producers = [fixture.otherConnection(), fixture.otherConnection()]
        for (index, producer) in producers.enumerated() {
            _ = try await producer.rows("BEGIN")
            _ = try await producer.rows("SET LOCAL deadlock_timeout = '20ms'")
            _ = try await producer.rows("SELECT count(*) FROM larder.enqueue('http://a/\(index + 1)', batch => 'b')")
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for producer in producers {
                group.addTask {
                    _ = try await producer.rows("SELECT larder.batch_seal('b')")
                    _ = try await producer.rows("COMMIT")
                }
            }
            try await group.waitForAll()
        }
        let batch = try await fixture.queue.progress(of: .name("b"))
        #expect(batch.state == .sealed && batch.total == 3)
        await #expect { try await fixture.enqueue(["http://a/9"], batch: "b") } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        try await fixture.queue.maintain(force: true)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.pending_seal") == "0")
        for producer in producers { await producer.close() }
        try await fixture.expectSound()
    }

    @Test func `maintenance seals a batch with a pending seal after the last transaction that adds to it`() async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/0"], batch: "b")
        let producer = fixture.otherConnection()
        _ = try await producer.rows("BEGIN")
        _ = try await producer.rows("SELECT count(*) FROM larder.enqueue('http://a/1', batch => 'b')")
        try await fixture.sql("INSERT INTO larder_data.pending_seal SELECT id FROM larder_data.batch")
        try await fixture.queue.maintain(force: true)
        #expect(try await fixture.queue.progress(of: .name("b")).state == .open)
        _ = try await producer.rows("COMMIT")
        try await fixture.queue.maintain(force: true)
        #expect(try await fixture.queue.progress(of: .name("b")).state == .sealed)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.pending_seal") == "0")
        await producer.close()
    }

    @Test func `many sessions that open the same batches with notify never deadlock`() async throws {
        let fixture = try await QueueFixture.make()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<6 {
                group.addTask {
                    let producer = fixture.otherConnection()
                    for number in 0..<40 {
                        _ = try await producer.rows(
                            "SELECT larder.batch_open('b\(number)', notify => \(index > 0 || number % 2 == 0))")
                    }
                    await producer.close()
                }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.batch WHERE notify") == "40")
        #expect(
            try await fixture.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == "0")
    }
}
