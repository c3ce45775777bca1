import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct WaitTests {
    private func state(of error: any Error) -> String? { (error as? QueueError)?.sqlState }

    @Test func `waiting ends with the batch, by id and by name`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        let id = try await fixture.queue.reports.progress(of: .name("batch")).id
        try await fixture.queue.producer.seal(.id(id))
        let waiter = fixture.otherConnection()
        async let waited = waiter.rows("CALL larder.wait_batch('batch', '1 minute')")
        // Between two polls it has no transaction, so it does not block vacuum for long.
        let idle =
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CALL larder.wait_batch%' AND pid <> pg_backend_pid()"
        try #require(await reached { try await fixture.value(idle) != "0" })
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(job.held, .succeeded)])
        _ = try await waited
        try await fixture.sql("CALL larder.wait_batch('\(id)', '0 s')")
        try await fixture.expectSound()
    }

    @Test func `waiting ends with a cancel, and with its time`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        await #expect { try await fixture.sql("CALL larder.wait_batch('batch', '50 ms')") } throws: {
            state(of: $0) == "LA008"
        }
        await #expect { try await fixture.sql("CALL larder.wait_batch('none')") } throws: { state(of: $0) == "LA002" }
        await #expect { try await fixture.sql("CALL larder.wait_batch('987654')") } throws: {
            state(of: $0) == "LA002"
        }
        try await fixture.queue.producer.cancel(.name("batch"))
        try await fixture.sql("CALL larder.wait_batch('batch', '0 s')")
        try await fixture.expectSound()
    }

    @Test func `a waiter's oldest snapshot moves on from look to look`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/1"])
        let waiter = fixture.otherConnection()
        async let waited = waiter.rows("CALL larder.wait_batch('batch', '1 minute')")
        let started =
            "SELECT xact_start FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CALL larder.wait_batch%' AND pid <> pg_backend_pid()"
        var looks: Set<String> = []
        let isMoving = try await reached {
            if let look = try await fixture.value(started) { looks.insert(look) }
            return looks.count >= 3
        }
        #expect(isMoving)
        try await fixture.queue.producer.cancel(.name("batch"))
        _ = try await waited
    }

    @Test func `a batch that asks for it is announced when it is finished, the others are not`() async throws {
        let fixture = try await QueueFixture.make()
        let loud = try await fixture.queue.producer.openBatch(name: "loud", notify: true)
        let late = try await fixture.queue.producer.openBatch(name: "late")
        #expect(try await fixture.queue.producer.openBatch(name: "late", notify: true) == late)
        _ = try await fixture.queue.producer.openBatch(name: "quiet")
        #expect(
            try await fixture.value(
                "SELECT string_agg(b.name, ' ' ORDER BY b.id) FROM larder_data.batch b JOIN larder_data.batch_notify n ON n.batch_id = b.id"
            ) == "loud late")
        for batch in ["loud", "quiet"] { try await fixture.queue.producer.seal(.name(batch)) }
        let listener = try RunningCommand(
            "/usr/bin/psql", ["--no-psqlrc", fixture.database.url], environment: [:],
            input: Array(
                "LISTEN larder_batch; LISTEN larder; SELECT FROM larder.maintain(true); SELECT larder.notify('slow');"
                    .utf8))
        let received = await listener.outcome().text.split(separator: "\n").filter { $0.contains("notification") }
        try #require(received.count == 2, "\(received)")
        #expect(received[0].contains(#""larder_batch" with payload "\#(loud)""#))
        #expect(received[1].contains(#""larder" with payload "slow""#))
        #expect(try await fixture.value("SELECT count(*) FROM larder.progress WHERE finished_at IS NOT NULL") == "2")
        try await fixture.expectSound()
    }
}
