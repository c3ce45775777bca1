import Testing

@testable import JobQueue

/// The clock of the database was set back: times written before are in the future.
@Suite(.timeLimit(.minutes(5)))
struct ClockTests {
    @Test func `maintenance that was due before the step is due now`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.queue.workers.maintain(force: true)
        try await fixture.sql("UPDATE larder_data.maintenance SET next_at = clock_timestamp() + interval '1 day'")
        let done = try await fixture.sql("SELECT task FROM larder.maintain()")
        let all = try await fixture.sql("SELECT task FROM larder.maintenance WHERE kind <> 'owner'")
        #expect(done.count == all.count)
        // Then each at its period: an hour ahead is right for an hourly task.
        let late =
            "SELECT count(*) FROM larder.maintenance WHERE next_at > clock_timestamp() + every AND kind <> 'owner'"
        #expect(try await fixture.value(late) == "0")
        #expect(try await fixture.sql("SELECT task FROM larder.maintain() WHERE task = 'partitions'").isEmpty)
    }

    @Test func `vacuum that was due before the step is due now`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("UPDATE larder_data.maintenance SET next_at = clock_timestamp() + interval '1 day'")
        try await fixture.sql("SELECT * FROM larder_data.owner_statements()")
        #expect(
            try await fixture.value(
                "SELECT next_at < clock_timestamp() + every FROM larder.maintenance WHERE task = 'vacuum'") == "t")
    }

    @Test func `a dead worker whose last heartbeat is in the future has a lease from now on`()
        async throws
    {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1"])
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        try await fixture.sql("UPDATE larder_data.worker SET heartbeat_at = clock_timestamp() + interval '1 day'")
        try await fixture.queue.workers.maintain(force: true)
        // It may be alive: its jobs stay.
        #expect(try await fixture.queue.reports.remaining().hasRunning)
        #expect(try await fixture.value("SELECT heartbeat_at <= clock_timestamp() FROM larder_data.worker") == "t")
        try await fixture.sql(
            "UPDATE larder_data.worker SET heartbeat_at = heartbeat_at - interval '16 s', lease_ms = 1")
        try await fixture.queue.workers.maintain(force: true)
        #expect(try await fixture.startWorker("next").claim(upTo: 1).map(\.id) == [job.id])
        try await fixture.expectSound()
    }
}
