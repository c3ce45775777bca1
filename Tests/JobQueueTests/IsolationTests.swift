import TestSupport
import Testing

@testable import JobQueue

/// Calls at levels above READ COMMITTED, where a transaction reads what was committed when it began.
@Suite(.timeLimit(.minutes(5)))
struct IsolationTests {
    private static let levels = ["repeatable read", "serializable"]

    /// Fails unless `body` is a serialization failure, after which a transaction is to be repeated.
    private func expectCollision(
        _ location: SourceLocation = #_sourceLocation, _ body: () async throws -> Void
    ) async {
        await #expect(sourceLocation: location) { try await body() } throws: {
            ($0 as? QueueError)?.sqlState == "40001" && ($0 as? QueueError)?.isTransient == true
        }
    }

    @Test(arguments: levels)
    func `the queue's calls run under READ COMMITTED, other programs' calls as the database says`(level: String)
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.alterDatabase("default_transaction_isolation", level)
        try await fixture.endSessions()
        func ask(_ statement: String, isTopLevel: Bool = false) async throws -> [[String?]] {
            try await fixture.queue.ask(statement, isTopLevel: isTopLevel) { rows throws(QueueError) in rows.texts }
        }
        let current = "SELECT current_setting('transaction_isolation')"
        #expect(try await ask(current) == [["read committed"]])
        #expect(try await fixture.value(current) == level)
        // A statement that fails leaves no transaction open.
        await #expect(throws: QueueError.self) { try await ask("SELECT 1 / 0") }
        #expect(try await ask(current) == [["read committed"]])
        // A statement that no transaction block may contain is sent alone.
        #expect(try await ask(current, isTopLevel: true) == [[level]])
        try await fixture.queue.ask("VACUUM larder_data.ready", isTopLevel: true) { _ throws(QueueError) in }
        try await fixture.queue.workers.maintain(.owner)
    }

    @Test(
        arguments: levels,
        [
            "worker_start_v1('w', 'host', 1, '1', 1)", "heartbeat_v1(1)", "claim_v1(1, 1, 1)",
            "complete_v1(1, '[]')", "release_v1(1, '{}', '{}')", "snooze_v1(1, '{}', '{}', '{}')", "worker_stop_v1(1)",
            "maintain()", "run_schedule_v1('s', now(), now())",
        ])
    func `maintenance and the worker protocol refuse other levels`(level: String, call: String) async throws {
        let fixture = try await QueueFixture.make()
        let program = fixture.otherConnection()
        _ = try await program.rows("BEGIN ISOLATION LEVEL \(level)")
        await #expect { _ = try await program.rows("SELECT larder.\(call)") } throws: {
            ($0 as? QueueError)?.sqlState == "LA014"
        }
        await program.close()
    }

    /// When a producer adds to a batch that maintenance finishes.
    enum Moment: CaseIterable {
        /// Maintenance has read that no open transaction adds to the batch.
        case afterLook
        /// Maintenance has finished the batch, and has not committed.
        case beforeCommit
    }

    @Test(arguments: levels, Moment.allCases)
    func `a transaction that sees a batch as open adds nothing to it while it is being finished`(
        level: String, moment: Moment
    ) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT larder.batch_open('b')")
        let producer = fixture.otherConnection()
        _ = try await producer.rows("BEGIN ISOLATION LEVEL \(level)")
        #expect(try await producer.rows("SELECT state FROM larder.progress") == [["open"]])
        try await fixture.queue.producer.seal(.name("b"))
        let maintainer = fixture.otherConnection()
        let holder = fixture.otherConnection()
        let enqueue = "SELECT count(*) FROM larder.enqueue('http://a/0', batch => 'b')"
        switch moment {
        case .afterLook:
            // It waits for the row of the webhook, behind its look and before it deletes the rows of `adding`.
            try await fixture.sql("SELECT larder.batch_on_finished('b', 'http://hook/')")
            _ = try await holder.rows("BEGIN")
            _ = try await holder.rows("SELECT FROM larder_data.webhook FOR UPDATE")
            async let finished = maintainer.rows("SELECT larder_data.run_task('finish')")
            try await fixture.waitUntilSomebodyWaits()
            await expectCollision { _ = try await producer.rows(enqueue) }
            _ = try await producer.rows("ROLLBACK")
            _ = try await holder.rows("COMMIT")
            #expect(try await finished == [["1"]])
        case .beforeCommit:
            _ = try await maintainer.rows("BEGIN")
            #expect(try await maintainer.rows("SELECT larder_data.run_task('finish')") == [["1"]])
            await expectCollision { _ = try await producer.rows(enqueue) }
            _ = try await producer.rows("ROLLBACK")
            _ = try await maintainer.rows("COMMIT")
        }
        // The transaction repeated opens the next run of the name.
        #expect(try await producer.rows(enqueue) == [["1"]])
        let runs = try await fixture.sql("SELECT state, total FROM larder.progress ORDER BY batch_id")
        #expect(runs == [["finished", "0"], ["open", "1"]])
        for connection in [producer, maintainer, holder] { await connection.close() }
        try await fixture.expectSound()
    }

    @Test(arguments: levels)
    func `a transaction that was open when a batch was paused adds to it when it is repeated`(level: String)
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/0"], batch: "b")
        let producer = fixture.otherConnection()
        let enqueue = "SELECT count(*) FROM larder.enqueue('http://a/1', batch => 'b')"
        _ = try await producer.rows("BEGIN ISOLATION LEVEL \(level)")
        _ = try await producer.rows("SELECT count(*) FROM larder.progress")
        // An operator's open transaction is no obstacle, and one that only locked the batch none later.
        let operating = fixture.otherConnection()
        _ = try await operating.rows("BEGIN")
        _ = try await operating.rows("SELECT larder.batch_retry_portion('b')")
        _ = try await producer.rows(enqueue)
        _ = try await producer.rows("COMMIT")
        _ = try await operating.rows("COMMIT")
        _ = try await producer.rows("BEGIN ISOLATION LEVEL \(level)")
        _ = try await producer.rows(enqueue)
        try await fixture.queue.producer.pause(.name("b"))
        await expectCollision { _ = try await producer.rows(enqueue) }
        _ = try await producer.rows("ROLLBACK")
        #expect(try await producer.rows(enqueue) == [["1"]])
        #expect(try await fixture.queue.reports.progress(of: .name("b")).total == 3)
        await producer.close()
        await operating.close()
        try await fixture.expectSound()
    }
}
