import Concurrency
import ImageModel
import TestSupport
import Testing

@testable import JobQueue

/// A migrated database of its own with a queue on it, and SQL for what only a test may do.
final class QueueFixture: Sendable {
    let database: TemporaryDatabase
    let queue: PostgresJobQueue
    private let connection: Connection

    /// - Parameter lease: of its workers, which heartbeat seldom or never: an hour, so that a machine may stand still;
    ///   nil is the default of every queue, 15 s.
    static func make(lease: Duration? = .seconds(3_600)) async throws -> QueueFixture {
        let database = try await migrated()
        let fixture = QueueFixture(database, url: database.url)
        if let lease { try await fixture.sql("UPDATE larder_data.settings SET lease_ms = \(lease.milliseconds)") }
        return fixture
    }

    /// Always through a pooler in transaction mode, with the same lease.
    static func makePooled() async throws -> QueueFixture {
        let database = try await migrated()
        let fixture = try await QueueFixture(database, url: database.pooledURL)
        try await fixture.sql("UPDATE larder_data.settings SET lease_ms = 3600000")
        return fixture
    }

    private static func migrated() async throws -> TemporaryDatabase {
        try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(PostgresJobQueue.Configuration(databaseURL: url)).migrate()
        }
    }

    private init(_ database: TemporaryDatabase, url: String) {
        self.database = database
        var retrying = PostgresJobQueue.Configuration(databaseURL: url)
        retrying.maintenanceTimeout = .seconds(60)
        retrying.ownerTimeout = .seconds(60)
        configuration = retrying
        queue = PostgresJobQueue(configuration)
        connection = Connection(configuration, name: "test")
    }

    let configuration: PostgresJobQueue.Configuration

    /// For callers whose sessions are broken again and again.
    var patientConfiguration: PostgresJobQueue.Configuration {
        var retrying = configuration
        retrying.maxWait = .seconds(240)
        return retrying
    }

    /// Another connection, for transactions that overlap.
    func otherConnection() -> Connection { Connection(configuration, name: "test-other") }

    /// Begins new sessions, with the defaults of now.
    func reconnect() async {
        await connection.close()
        await queue.close()
    }

    /// Runs one statement; its rows as text.
    @discardableResult
    func sql(_ statement: String, _ parameters: [Parameter] = []) async throws -> [[String?]] {
        // Polling ends with its test.
        try Task.checkCancellation()
        return try await connection.rows(statement, parameters)
    }

    /// The first value of the first row.
    func value(_ statement: String, _ parameters: [Parameter] = []) async throws -> String? {
        try await sql(statement, parameters).first?.first ?? nil
    }

    /// The pages of Larder's tables and indexes that a statement reads, run in a transaction of its own after it has
    /// run once.
    func pages(readBy statement: String) async throws -> Int {
        try await sql(statement)
        try await sql("BEGIN")
        let before = try await pagesRead()
        try await sql(statement)
        let after = try await pagesRead()
        try await sql("COMMIT")
        return after - before
    }

    /// The pages of Larder's tables and indexes that this transaction has read. Pages of the catalog do not count:
    /// a session reads them again whenever the server's queue of invalidations has overflowed.
    func pagesRead() async throws -> Int {
        let count = try await value(
            """
            SELECT sum(pg_stat_get_xact_blocks_fetched(c.oid))::bigint FROM pg_class c
            WHERE c.relnamespace = 'larder_data'::regnamespace
            """)
        return try #require(count.flatMap { Int($0) })
    }

    func startWorker(_ name: String = "worker", slots: Int = 8) async throws -> WorkerSession {
        try await queue.workers.start(
            WorkerDescription(name: name, host: "test", processID: 1, version: "test", slots: slots))
    }

    /// Enqueues into a batch, adds joins to their jobs, and gives the answers' kinds.
    @discardableResult
    func enqueue(
        _ urls: [String], batch: String = "batch", _ change: (inout EnqueueRequest) -> Void = { _ in }
    ) async throws -> [EnqueueAnswer] {
        var request = EnqueueRequest(urls: urls, batch: batch)
        change(&request)
        let answers = try await queue.producer.enqueue(request)
        if answers.contains(where: { $0.kind == .joined }) { try await foldJoins() }
        return answers
    }

    /// Runs the maintenance task that adds joins to their jobs.
    func foldJoins() async throws { try await sql("SELECT larder_data.run_task('items')") }

    /// Until some session of this database stands before a lock: only then is a race the one meant.
    func waitUntilSomebodyWaits() async throws {
        let waiting =
            "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        try #require(await reached { try await value(waiting) != "0" })
    }

    /// An enqueue that joins and a complete may wait for each other, for the 25 ms after which the complete gives up.
    /// On a machine that stands still Postgres would look before it does; what it finds later than that is a deadlock.
    func lookForDeadlocksLate() async throws {
        let statement = "format('ALTER DATABASE %I SET deadlock_timeout = %L', current_database(), '60s')"
        try await sql("DO $$ BEGIN EXECUTE \(statement); END $$")
        await reconnect()
    }

    /// The code that a forced maintain fails with.
    func maintenanceFailure() async throws -> String? {
        do throws(QueueError) {
            try await queue.workers.maintain(force: true)
            return nil
        } catch { return error.sqlState }
    }

    /// Fails the test with what `check()` found.
    func expectSound(_ location: SourceLocation = #_sourceLocation) async throws {
        let broken = try await queue.reports.check()
        #expect(broken.isEmpty, "\(broken)", sourceLocation: location)
    }
}

extension Connection {
    func rows(_ statement: String, _ parameters: [Parameter] = []) throws(QueueError) -> [[String?]] {
        try query(statement, parameters) { rows throws(QueueError) in rows.texts }
    }

    /// One statement, again after each serialization failure, as a program must call above READ COMMITTED.
    func repeating(_ statement: String, _ parameters: [Parameter] = []) async throws -> [[String?]] {
        while true {
            do { return try rows(statement, parameters) } catch { guard error.sqlState == "40001" else { throw error } }
            try Task.checkCancellation()
            await Task.yield()
        }
    }
}

extension WorkerSession {
    /// Releases claims as a worker in another language does; Larder's own returns jobs by `snooze`.
    func release(_ claims: [Claim]) async throws(QueueError) {
        guard !claims.isEmpty else { return }
        defer { self.claims.withLock { $0.forgetPosition() } }
        try await queue.ask(
            "SELECT larder.release_v1($1, $2, $3)",
            [.integer(id), .integers(claims.map(\.job)), .integers(claims.map(\.number))]
        ) { _ throws(QueueError) in }
        self.claims.withLock { $0.end(claims) }
    }

    /// Sends what is busy again until everything is decided, for scenes whose joiners end their transactions.
    func completeAll(_ outcomes: [Outcome]) async throws -> [(claim: Claim, decision: Decision)] {
        var completed = try await complete(outcomes)
        while completed.contains(where: { $0.decision == .busy }) {
            try Task.checkCancellation()
            await Task.yield()
            let busy = Set(completed.filter { $0.decision == .busy }.map(\.claim))
            let again = try await complete(outcomes.filter { busy.contains($0.claim) })
            completed = completed.filter { $0.decision != .busy } + again
        }
        return completed
    }
}

extension Claim {
    /// A success of this claim as an element of `larder.complete_v1`.
    func succeeded() -> String { #"{"job": \#(job), "claim": \#(number), "result": "succeeded"}"# }
}

extension Rows {
    var texts: [[String?]] {
        (0..<count).map { row in (0..<columnCount).map { text(row, $0) } }
    }
}

extension FailureReason {
    static let unavailable = FailureReason(domain: "SDWebImageErrorDomain", code: 2001, message: "503")
    static let notAnImage = FailureReason(domain: "SDWebImageErrorDomain", code: 1001, message: "not an image")
    static let transcoderDied = FailureReason(domain: "LarderErrorDomain", code: 301, message: "died")
}

extension Outcome {
    static func unavailable(_ claim: Claim, retryAfter: Duration? = nil) -> Outcome {
        var outcome = Outcome(claim, .failed(.unavailable, retryAfter: retryAfter))
        outcome.httpStatus = 503
        return outcome
    }
}
