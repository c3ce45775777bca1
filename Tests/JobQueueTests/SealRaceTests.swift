import TestSupport
import Testing

@testable import JobQueue

/// Producers whose transactions add to the same batch and then say something about it.
///
/// Under READ COMMITTED, at which no transaction fails because of another one. Above it a batch that was sealed since
/// the transaction began cannot be sealed again, and of serializable ones that add to one batch only one commits.
@Suite(.timeLimit(.minutes(5)))
struct SealRaceTests {
    @Test func `two transactions that add to one batch and seal it both succeed, and it is sealed`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/0"], batch: "b")
        let producers = [fixture.otherConnection(), fixture.otherConnection()]
        for (index, producer) in producers.enumerated() {
            _ = try await producer.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
            _ = try await producer.rows("SELECT count(*) FROM larder.enqueue('http://a/\(index + 1)', batch => 'b')")
        }
        for producer in producers {
            _ = try await producer.rows("SELECT larder.batch_seal('b')")
            _ = try await producer.rows("COMMIT")
        }
        let batch = try await fixture.queue.reports.progress(of: .name("b"))
        #expect(batch.state == .sealed)
        #expect(batch.total == 3)
        await #expect { try await fixture.enqueue(["http://a/9"], batch: "b") } throws: {
            ($0 as? QueueError)?.code == .batchClosed
        }
        for producer in producers { await producer.close() }
        try await fixture.expectSound()
    }

    @Test func `a sealed batch is finished after the last transaction that added to it`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["not a URL"], batch: "b")
        // 4 have a row lock each of the batch, the others a spare one. A pooler has fewer sessions.
        let producers = (0..<(TemporaryDatabase.isPooled ? 8 : 20)).map { _ in fixture.otherConnection() }
        for (index, producer) in producers.enumerated() {
            _ = try await producer.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
            if index == 1 { _ = try await producer.rows("SAVEPOINT a") }
            _ = try await producer.rows("SELECT count(*) FROM larder.enqueue('not a URL \(index)', batch => 'b')")
            if index == 1 { _ = try await producer.rows("RELEASE a") }
        }
        try await fixture.queue.producer.seal(.name("b"))
        for (index, producer) in producers.enumerated() {
            try await fixture.queue.workers.maintain(force: true)
            let batch = try await fixture.queue.reports.progress(of: .name("b"))
            #expect(batch.state == .sealed)
            #expect(batch.open == 0)
            #expect(try await fixture.value("SELECT finished_at IS NULL FROM larder_data.batch") == "t")
            // The name is not free either.
            await #expect { try await fixture.enqueue(["http://a/1"], batch: "b") } throws: {
                ($0 as? QueueError)?.code == .batchClosed
            }
            _ = try await producer.rows(index == 0 ? "ROLLBACK" : "COMMIT")
            await producer.close()
        }
        try await fixture.queue.workers.maintain(force: true)
        let batch = try await fixture.queue.reports.progress(of: .name("b"))
        #expect(batch.state == .finished)
        #expect(batch.total == producers.count)
        #expect(batch.failed == producers.count)
        try await fixture.expectSound()
    }

    @Test func `open transactions keep only their own batch unfinished, once as many have added to it before`()
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["not a URL"], batch: "a")
        try await fixture.enqueue(["not a URL"], batch: "b")
        // A pooler has fewer sessions.
        let producers = (0..<(TemporaryDatabase.isPooled ? 8 : 20)).map { _ in fixture.otherConnection() }
        for _ in 1...2 {
            for producer in producers {
                _ = try await producer.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
                _ = try await producer.rows("SELECT FROM larder.enqueue('not a URL', batch => 'a')")
            }
            for producer in producers { _ = try await producer.rows("COMMIT") }
        }
        for producer in producers {
            _ = try await producer.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
            _ = try await producer.rows("SELECT FROM larder.enqueue('not a URL', batch => 'a')")
        }
        for batch in ["a", "b"] { try await fixture.queue.producer.seal(.name(batch)) }
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.queue.reports.progress(of: .name("b")).state == .finished)
        #expect(try await fixture.queue.reports.progress(of: .name("a")).state == .sealed)
        for producer in producers {
            _ = try await producer.rows("COMMIT")
            await producer.close()
        }
        try await fixture.queue.workers.maintain(force: true)
        let batch = try await fixture.queue.reports.progress(of: .name("a"))
        #expect(batch.state == .finished)
        #expect(batch.total == producers.count * 3 + 1)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.adding WHERE batch_id <> 0") == "0")
        try await fixture.expectSound()
    }

    @Test func `many sessions that open the same batches with notify never deadlock`() async throws {
        let fixture = try await QueueFixture.make()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<6 {
                group.addTask {
                    let producer = fixture.otherConnection()
                    for number in 0..<40 {
                        _ = try await producer.repeating(
                            "SELECT larder.batch_open('b\(number)', notify => \(index > 0 || number % 2 == 0))")
                    }
                    await producer.close()
                }
            }
            try await group.waitForAll()
        }
        #expect(try await fixture.value("SELECT count(DISTINCT batch_id) FROM larder_data.batch_notify") == "40")
        #expect(
            try await fixture.value("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == "0")
    }
}
