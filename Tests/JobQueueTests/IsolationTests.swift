import TestSupport
import Testing

@testable import JobQueue

/// What holds above READ COMMITTED, where a transaction reads what was committed when it began.
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
    func `the calls of the queue run under READ COMMITTED, those of other programs as the database says`(level: String)
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
        // What no transaction block may contain is sent alone.
        #expect(try await ask(current, isTopLevel: true) == [[level]])
        try await fixture.queue.ask("VACUUM larder_data.ready", isTopLevel: true) { _ throws(QueueError) in }
        try await fixture.queue.maintain(.owner)
    }

    @Test(arguments: levels)
    func `one call of maintenance joins what a call at its level has enqueued`(level: String) async throws {
        let fixture = try await QueueFixture.make()
        let program = fixture.otherConnection()
        _ = try await program.rows("SET default_transaction_isolation = '\(level)'")
        for priority in [4, 0] {
            _ = try await program.repeating("SELECT larder.enqueue('http://a/1', priority => \(priority))")
        }
        _ = try await program.repeating("SELECT FROM larder.maintain(true)")
        await program.close()
        #expect(try await fixture.value("SELECT priority FROM larder_data.ready") == "0")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.late_enqueue") == "0")
        try await fixture.expectSound()
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
        try await fixture.queue.seal(.name("b"))
        let maintainer = fixture.otherConnection()
        let holder = fixture.otherConnection()
        let enqueue = "SELECT count(*) FROM larder.enqueue('http://a/0', batch => 'b')"
        switch moment {
        case .afterLook:
            // It waits for the row of the webhook, behind its look and before it deletes the rows of `adding`.
            try await fixture.sql("SELECT larder.batch_on_finished('b', 'http://hook/')")
            _ = try await holder.rows("BEGIN")
            _ = try await holder.rows("SELECT FROM larder_data.webhook FOR UPDATE")
            async let finished = maintainer.rows("SELECT larder_data.maintenance_finish()")
            try await fixture.waitUntilSomebodyWaits()
            await expectCollision { _ = try await producer.rows(enqueue) }
            _ = try await producer.rows("ROLLBACK")
            _ = try await holder.rows("COMMIT")
            #expect(try await finished == [["1"]])
        case .beforeCommit:
            _ = try await maintainer.rows("BEGIN")
            #expect(try await maintainer.rows("SELECT larder_data.maintenance_finish()") == [["1"]])
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
        _ = try await operating.rows("SELECT larder.batch_retry_failed('b')")
        _ = try await producer.rows(enqueue)
        _ = try await producer.rows("COMMIT")
        _ = try await operating.rows("COMMIT")
        _ = try await producer.rows("BEGIN ISOLATION LEVEL \(level)")
        _ = try await producer.rows(enqueue)
        try await fixture.queue.pause(.name("b"))
        await expectCollision { _ = try await producer.rows(enqueue) }
        _ = try await producer.rows("ROLLBACK")
        #expect(try await producer.rows(enqueue) == [["1"]])
        #expect(try await fixture.queue.progress(of: .name("b")).total == 3)
        await producer.close()
        await operating.close()
        try await fixture.expectSound()
    }

    @Test(arguments: levels)
    func `maintenance that does not see a retry does not finish the batch`(level: String) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue(["http://a/0"], batch: "b")
        let worker = try await fixture.startWorker()
        let job = try #require(try await worker.claim(upTo: 1).first)
        _ = try await worker.complete([Outcome(job.held, .failed(.notAnImage))])
        try await fixture.queue.seal(.name("b"))
        let maintainer = fixture.otherConnection()
        _ = try await maintainer.rows("BEGIN ISOLATION LEVEL \(level)")
        #expect(try await maintainer.rows("SELECT open FROM larder.progress") == [["0"]])
        #expect(try await fixture.queue.retryFailed(of: .name("b")) == 1)
        await expectCollision { _ = try await maintainer.rows("SELECT larder_data.maintenance_finish()") }
        await maintainer.close()
        let batch = try await fixture.queue.progress(of: .name("b"))
        #expect(batch.state == .sealed && batch.open == 1)
        try await fixture.expectSound()
    }

    @Test(arguments: levels)
    func `maintain skips the tasks that another caller has run since the transaction began`(level: String)
        async throws
    {
        let fixture = try await QueueFixture.make()
        let late = fixture.otherConnection()
        _ = try await late.rows("BEGIN ISOLATION LEVEL \(level)")
        _ = try await late.rows("SELECT count(*) FROM larder_data.task")
        try await fixture.queue.maintain(force: true)
        #expect(try await late.rows("SELECT count(*) FROM larder.maintain(true)") == [["0"]])
        await late.close()
    }

    @Test(arguments: levels)
    func `a claim that is sent again while the first one runs finds its jobs when it is repeated`(level: String)
        async throws
    {
        let fixture = try await QueueFixture.make()
        try await fixture.enqueue((0..<5).map { "http://a/\($0)" })
        let worker = try await fixture.startWorker()
        let first = fixture.otherConnection()
        let second = fixture.otherConnection()
        // The first claim passes these over, and the second one could take them: it would not meet a row of the first.
        let holder = fixture.otherConnection()
        _ = try await holder.rows("BEGIN")
        _ = try await holder.rows("SELECT FROM larder_data.ready ORDER BY job_id LIMIT 2 FOR UPDATE")
        _ = try await first.rows("BEGIN")
        let jobs = try await first.rows("SELECT job_id FROM larder.claim_v1(\(worker.id), 1, 2)")
        #expect(jobs.count == 2)
        // In transactions: a pooler may give each statement outside one another session, without what was set.
        let again = "SELECT job_id FROM larder.claim_v1(\(worker.id), 1, 2, again => true)"
        _ = try await second.rows("BEGIN ISOLATION LEVEL \(level)")
        let answer = Task { try await second.rows(again) }
        try await fixture.waitUntilSomebodyWaits()
        _ = try await holder.rows("ROLLBACK")
        _ = try await first.rows("COMMIT")
        await expectCollision { _ = try await answer.value }
        _ = try await second.rows("ROLLBACK")
        _ = try await second.rows("BEGIN ISOLATION LEVEL \(level)")
        #expect(try await second.rows(again) == jobs)
        _ = try await second.rows("COMMIT")
        #expect(try await fixture.value("SELECT count(*) FROM larder_data.running") == "2")
        for connection in [first, second, holder] { await connection.close() }
        try await fixture.expectSound()
    }
}
