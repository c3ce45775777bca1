import TestSupport
import Testing

@testable import JobQueue

/// A batch is never finished, nor shown so, while a transaction that adds to it is open: however that enqueues, at each
/// isolation level, and whatever the others do meanwhile.
@Suite(.timeLimit(.minutes(5)))
struct AddingRaceTests {
    enum Way: String, CaseIterable {
        case topLevel, savepoint, releasedSavepoint, list, block

        func statements(_ url: String) -> [String] {
            let enqueue = "SELECT FROM larder.enqueue('\(url)', batch => 'b')"
            return switch self {
            case .topLevel: [enqueue]
            case .savepoint: ["SAVEPOINT s", enqueue]
            case .releasedSavepoint: ["SAVEPOINT s", enqueue, "RELEASE s"]
            case .list: ["SELECT FROM larder.enqueue_list('{\"batch\": \"b\"}', ARRAY['\(url)'])"]
            case .block:
                [
                    """
                    DO $$ BEGIN PERFORM larder.enqueue('\(url)', batch => 'b');
                    EXCEPTION WHEN division_by_zero THEN NULL; END $$
                    """
                ]
            }
        }
    }
    enum Level: String, CaseIterable {
        case committed = "READ COMMITTED"
        case repeatable = "REPEATABLE READ"
        case serializable = "SERIALIZABLE"
    }
    enum Other: String, CaseIterable { case seal, finish, progress, wait }

    static let scenes = Way.allCases.flatMap { way in
        Level.allCases.flatMap { level in Other.allCases.map { (way, level, $0) } }
    }

    private let state = "SELECT state, open FROM larder.progress WHERE batch = 'b'"

    /// An open transaction that has added to batch b, whose other item has ended.
    private func adding(_ way: Way, _ level: Level, to fixture: QueueFixture) async throws -> Connection {
        try await fixture.sql("SELECT FROM larder.enqueue('nothing', batch => 'b')")
        let producer = fixture.otherConnection()
        _ = try await producer.rows("BEGIN ISOLATION LEVEL \(level.rawValue)")
        for statement in way.statements("http://h/1") { _ = try await producer.rows(statement) }
        return producer
    }

    @Test(arguments: scenes)
    func `a batch ends after the last transaction that adds to it`(way: Way, level: Level, other: Other) async throws {
        let fixture = try await QueueFixture.make()
        let producer = try await adding(way, level, to: fixture)
        let reader = fixture.otherConnection()
        if other != .seal { try await fixture.sql("SELECT larder.batch_seal('b')") }
        switch other {
        case .seal: try await fixture.sql("SELECT larder.batch_seal('b')")
        case .finish: try await finish(fixture, while: producer)
        case .progress:
            _ = try await reader.rows("BEGIN ISOLATION LEVEL REPEATABLE READ")
            #expect(try await reader.rows(state) == [["sealed", "0"]])
        case .wait: try await wait(fixture)
        }
        #expect(try await fixture.sql(state) == [["sealed", "0"]])
        _ = try await producer.rows("COMMIT")
        await producer.close()
        if other == .progress {
            // Each later caller locks the same row, is refused, and leaves a number of its own there.
            #expect(try await reader.rows(state) == [["sealed", "0"]])
            for way in Way.allCases {
                for statement in way.statements("http://h/2").filter({ $0.contains("enqueue") }) {
                    #expect(try await fixture.refusal(of: statement) == "LA001")
                }
            }
            #expect(try await reader.rows(state) == [["sealed", "0"]])
            _ = try await reader.rows("COMMIT")
        }
        await reader.close()
        #expect(try await fixture.sql(state) == [["sealed", "1"]])
        if other == .wait { try await wait(fixture) }
        try await fixture.expectServing()
        #expect(try await fixture.sql(state) == [["sealed", "1"]])
        let worker = try await fixture.workerBySQL()
        #expect(try await fixture.completeBySQL(worker, 1, try await fixture.claimBySQL(worker, 1)) == ["succeeded"])
        // Shown so once all transactions of the server have ended that are older than the producer's.
        #expect(try await reached { try await fixture.sql(state) == [["finished", "0"]] })
        try await fixture.sql("CALL larder.wait_batch('b')")
        try await fixture.expectServing()
    }

    /// Maintenance, and a program that runs it in a transaction of its own, which keeps one snapshot no longer than a
    /// statement.
    private func finish(_ fixture: QueueFixture, while producer: Connection) async throws {
        let other = fixture.otherConnection()
        _ = try await other.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        for connection in [other, fixture.otherConnection()] {
            let moved = try await connection.rows("SELECT moved FROM larder.maintain(true) WHERE task = 'finish'")
            #expect(moved == [["0"]] || moved.isEmpty)
            if connection !== other { await connection.close() }
        }
        _ = try await other.rows("COMMIT")
        await other.close()
        for level in [Level.repeatable, .serializable] {
            try await fixture.sql("BEGIN ISOLATION LEVEL \(level.rawValue)")
            #expect(try await fixture.refusal(of: "SELECT larder.maintain(true)") == "LA014")
            try await fixture.sql("ROLLBACK")
        }
        #expect(try await fixture.value("SELECT finished_at IS NULL FROM larder_data.batch WHERE name = 'b'") == "t")
    }

    private func wait(_ fixture: QueueFixture) async throws {
        #expect(try await fixture.refusal(of: "CALL larder.wait_batch('b', '50 ms')") == "LA008")
    }

    @Test(arguments: [Level.repeatable, .serializable])
    func `a producer whose snapshot is older than the end of a batch is told to repeat`(level: Level) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('nothing', batch => 'b')")
        let producer = fixture.otherConnection()
        _ = try await producer.rows("BEGIN ISOLATION LEVEL \(level.rawValue)")
        _ = try await producer.rows("SELECT count(*) FROM larder.progress")
        try await fixture.sql("SELECT larder.batch_seal('b')")
        try await fixture.expectServing()
        await #expect {
            _ = try await producer.rows("SELECT FROM larder.enqueue('http://h/1', batch => 'b')")
        } throws: {
            ($0 as? QueueError)?.sqlState == "40001"
        }
        _ = try await producer.rows("ROLLBACK")
        await producer.close()
        try await fixture.expectServing()
    }

    /// As a schedule's run does, and a program that seals in a nested transaction.
    @Test(arguments: [Level.repeatable, .serializable], [false, true])
    func `a producer whose snapshot is older than a seal is told to repeat while the batch is finished`(
        level: Level, isNested: Bool
    ) async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("SELECT FROM larder.enqueue('nothing', batch => 'b')")
        let (sealer, producer, finisher) = (
            fixture.otherConnection(), fixture.otherConnection(), fixture.otherConnection()
        )
        _ = try await sealer.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await sealer.rows("SELECT pg_current_xact_id()")
        if isNested { _ = try await sealer.rows("SAVEPOINT s") }
        _ = try await sealer.rows("SELECT larder.batch_seal('b')")
        // The snapshot is to begin behind the number of the nested transaction.
        try await fixture.sql("SELECT pg_current_xact_id()")
        _ = try await producer.rows("BEGIN ISOLATION LEVEL \(level.rawValue)")
        _ = try await producer.rows("SELECT count(*) FROM larder.progress")
        _ = try await sealer.rows("COMMIT")
        _ = try await finisher.rows("BEGIN ISOLATION LEVEL READ COMMITTED")
        _ = try await finisher.rows("SELECT FROM larder.maintain(true)")
        await #expect {
            _ = try await producer.rows("SELECT FROM larder.enqueue('http://h/1', batch => 'b')")
        } throws: {
            ($0 as? QueueError)?.sqlState == "40001"
        }
        _ = try await finisher.rows("COMMIT")
        _ = try await producer.rows("ROLLBACK")
        for connection in [sealer, producer, finisher] { await connection.close() }
        #expect(try await fixture.sql(state) == [["finished", "0"]])
        try await fixture.expectServing()
    }
}
