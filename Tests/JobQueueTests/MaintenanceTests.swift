import TestSupport
import Testing

@testable import JobQueue

@Suite(.timeLimit(.minutes(5)))
struct MaintenanceTests {
    /// The job of a dead worker is rescued while the call `maintain` of another session waits for a lock.
    private func expectRescue(besides maintain: @Sendable @escaping (QueueFixture) async throws -> Void) async throws {
        let fixture = try await QueueFixture.make(lease: nil)
        try await fixture.enqueue(["http://a/1"])
        let dead = try await fixture.startWorker("dead")
        let job = try #require(try await dead.claim(upTo: 1).first)
        // Longer than the default of 2 s, for a slow machine.
        try await fixture.sql("ALTER FUNCTION larder.maintain(boolean, text) SET lock_timeout = '60s'")
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        _ = try await holder.rows("LOCK TABLE larder_data.blocklist IN ACCESS EXCLUSIVE MODE")
        async let stuck: Void = maintain(fixture)
        try await fixture.waitUntilSomebodyWaits()
        try await fixture.sql(
            "UPDATE larder_data.worker SET heartbeat_at = now() - interval '16 s', lease_ms = 1 WHERE id = $1",
            [.integer(dead.id)])
        #expect(try await fixture.queue.workers.maintain(.urgent, force: true) == 1)
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.ready") == "1")
        _ = try await holder.rows("ROLLBACK")
        try await stuck
        #expect(try await fixture.startWorker("next").claim(upTo: 1).map(\.id) == [job.id])
        try await fixture.expectSound()
    }

    @Test func `a worker rescues while its routine maintenance is stuck`() async throws {
        try await expectRescue { try await $0.queue.workers.maintain(force: true) }
    }

    @Test func `a worker rescues while a call for all tasks, as from cron, is stuck`() async throws {
        try await expectRescue {
            let cron = $0.otherConnection()
            _ = try await cron.rows("SELECT larder.maintain(true)")
        }
    }

    @Test func `a task that reads many rows rests for 50 times as long as it ran, up to its period`() async throws {
        let fixture = try await QueueFixture.make()
        let due = "SELECT next_at - now() FROM larder_data.current_task WHERE task = 'items'"
        // In one transaction, whose now() stands still and comes before each run's end.
        for (length, least, most) in [("0 s", "200 ms", "5 s"), ("60 ms", "3 s", "5 s"), ("1 min", "5 s", "5 s")] {
            try await fixture.sql("BEGIN")
            try await fixture.sql("SELECT larder_data.reschedule('items', now() - interval '\(length)', '200 ms')")
            let isWithin = try await fixture.value(
                "SELECT (\(due)) BETWEEN '\(least)' AND clock_timestamp() - now() + interval '\(most)'")
            #expect(isWithin == "t", "after \(length)")
            try await fixture.sql("COMMIT")
        }
    }
}
