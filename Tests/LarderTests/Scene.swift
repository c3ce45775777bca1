import Concurrency
import EmbeddedPostgres
import Foundation
import JobQueue
import Synchronization
import TestSupport
import Testing

/// The surroundings of one test: a migrated database, a cache, an origin, and the settings that name them.
final class Scene: Sendable {
    let directory: TemporaryDirectory
    let origin: OriginServer
    let database: TemporaryDatabase
    let queue: PostgresJobQueue
    /// A port without a listener.
    let dead: DeadPort
    private let session = Mutex<AdminSession?>(nil)
    private let pool = ThreadPool(name: "scene", threads: 1)

    init() async throws {
        // Open, so that an embedded database that a command starts by mistake is created in it and removed with it.
        directory = try TemporaryDirectory(open: true)
        dead = try DeadPort()
        origin = try OriginServer()
        database = try await TemporaryDatabase.make(template: "migrated") { url in
            try await Migrator(.init(databaseURL: url)).migrate()
        }
        queue = PostgresJobQueue(.init(databaseURL: database.url))
    }

    /// The cache root of the commands.
    var cache: String { directory.file("cache") }

    /// The settings of every command.
    var environment: [String: String] {
        [
            "LARDER_HOME": directory.file("home"), "LARDER_DATABASE_URL": database.url, "LARDER_CACHE": cache,
            "LARDER_ALLOW_ADDRESS": "127.0.0.0/8", "LARDER_ALLOW_PORT": "\(origin.port)", "LARDER_RETRY_BASE": "1ms",
        ]
    }

    func larder(_ arguments: [String], input: some Sequence<UInt8> = [UInt8]()) -> LarderCommand {
        var command = LarderCommand(environment: environment, input: input)
        command.arguments = arguments
        return command
    }

    /// Runs a command to its end.
    func larder(_ arguments: String..., input: some Sequence<UInt8> = [UInt8]()) async throws -> CommandOutcome {
        try await larder(arguments, input: input).run()
    }

    /// Serves an image at `target` and returns its URL.
    func serve(_ image: String, at target: String) throws -> String {
        origin.on(target, .body(try TestImage.bytes(image)))
        return origin.url(target)
    }

    /// The bytes of a file of the cache, by the path that the program printed.
    func bytes(_ path: String?) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: "\(cache)/\(try #require(path))")))
    }

    /// The names of stored files.
    var stored: [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "\(cache)/default")
        return (names ?? []).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// The names of temporary files in the cache.
    var temporary: [String] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "\(cache)/default")
        return (names ?? []).filter { $0.hasPrefix(".larder.") }
    }

    /// The first column of the first row of an SQL statement.
    func sql(_ statement: String) async throws -> String? {
        try Task.checkCancellation()
        return try await pool.run { [self] in try AdminSession(database.url).execute(statement) }
    }

    /// A worker of the test itself, which never heartbeats: its lease is an hour, so that commands may take their time.
    func worker(slots: Int) async throws -> WorkerSession {
        // From the start: between two statements a busy machine may stand still for longer than a short lease.
        let short = try await sql("SELECT lease_ms FROM larder_data.settings") ?? ""
        _ = try await sql("UPDATE larder_data.settings SET lease_ms = 3600000")
        let worker = try await queue.workers.start(
            WorkerDescription(name: "w", host: "test", processID: 1, version: "1", slots: slots))
        _ = try await sql("UPDATE larder_data.settings SET lease_ms = \(short)")
        return worker
    }

    struct NotReached: Error { let condition: String }

    /// Waits until a condition in SQL holds.
    func until(_ condition: String) async throws {
        guard await reached({ await pool.run { [self] in holds(condition) } }) else {
            throw NotReached(condition: condition)
        }
    }

    /// Whether a condition in SQL holds, for `RunningCommand.reaches`; false without a database. Blocks.
    func holds(_ condition: String) -> Bool {
        // One session for all: a new one for each look would keep the server busier than what is tested.
        session.withLock { session in
            do {
                let open = if let open = session.take() { open } else { try AdminSession(database.url) }
                let answer = try open.execute("SELECT \(condition)")
                session = consume open
                return answer == "t"
            } catch {
                return false
            }
        }
    }

    /// A session of psql that runs a statement in a transaction, which stays open until `release`.
    func holding(_ statement: String) throws -> RunningCommand {
        try RunningCommand(
            "/usr/bin/psql",
            ["-X", "-v", "ON_ERROR_STOP=1", "-c", "BEGIN; \(statement); SELECT pg_sleep(3600)", database.url],
            environment: [:])
    }

    /// Rolls back the transaction of `holding`. A server does not notice that the client of a sleeping session has gone.
    func release(_ holder: RunningCommand) async throws {
        _ = try await sql(
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND pid <> pg_backend_pid() AND query LIKE '%pg_sleep(3600)%'
            """)
        _ = await holder.outcome()
    }

    /// The violated invariants of the queue, and differences between progress and history.
    func faults() async throws -> [String] {
        var faults = try await queue.reports.check().map { "\($0.invariant): \($0.detail)" }
        let difference = try await sql(
            """
            WITH history AS (
                SELECT batch_id, outcome, items * (retried_as IS NULL)::int AS items, downloads, variants, bytes_in, bytes_out
                FROM larder_data.job_history
            ), sums AS (
                SELECT batch_id, coalesce(sum(items) FILTER (WHERE outcome = 'succeeded'), 0) AS succeeded,
                    coalesce(sum(items) FILTER (WHERE outcome = 'failed'), 0) AS failed,
                    coalesce(sum(items) FILTER (WHERE outcome = 'cancelled'), 0) AS cancelled,
                    sum(variants) AS variants, sum(bytes_out) AS bytes_out
                FROM history GROUP BY batch_id
            )
            SELECT string_agg(p::text || ' against ' || s::text, '; ') FROM larder.progress p JOIN sums s USING (batch_id)
            WHERE (p.succeeded, p.failed, p.cancelled, p.variants, p.bytes_out)
                IS DISTINCT FROM (s.succeeded, s.failed, s.cancelled, s.variants, s.bytes_out)
            """)
        if let difference { faults.append("progress differs from history: \(difference)") }
        return faults
    }
}

extension TemporaryDirectory {
    /// The names in it, hidden ones included.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}
