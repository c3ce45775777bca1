import EmbeddedPostgres
import Foundation
import JobQueue
import TestSupport
import Testing

/// What one test of the program has for itself: a migrated database, a cache, an origin, and the settings that name them.
final class Scene: Sendable {
    let directory: TemporaryDirectory
    let origin: OriginServer
    let database: TemporaryDatabase
    let queue: PostgresJobQueue
    /// Where nobody listens.
    let dead: DeadPort

    init() async throws {
        // Open, so that an embedded database that a command started by mistake would lie in it and go with it.
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

    /// The settings that every command of this scene has.
    var environment: [String: String] {
        [
            "LARDER_HOME": directory.file("home"), "LARDER_DATABASE_URL": database.url, "LARDER_CACHE": cache,
            "LARDER_ALLOW_ADDRESS": "127.0.0.0/8", "LARDER_ALLOW_PORT": "\(origin.port)", "LARDER_RETRY_BASE": "1ms",
        ]
    }

    /// A command in these surroundings.
    func larder(_ arguments: [String], input: some Sequence<UInt8> = [UInt8]()) -> LarderCommand {
        var command = LarderCommand(environment: environment, input: input, limit: .seconds(120))
        command.arguments = arguments
        return command
    }

    /// Runs a command to its end.
    func larder(_ arguments: String..., input: some Sequence<UInt8> = [UInt8]()) async throws -> CommandOutcome {
        try await larder(arguments, input: input).run()
    }

    /// Serves a picture of the tests' own at `target`, and gives its URL.
    func serve(_ picture: String, at target: String) throws -> String {
        origin.on(target, .body(try Picture.bytes(picture)))
        return origin.url(target)
    }

    /// The bytes of a file of the cache, by the path that the program told.
    func bytes(_ path: String?) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(filePath: "\(cache)/\(try #require(path))")))
    }

    /// The names in the cache's directory, without hidden ones.
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
        // What asks again and again ends with its test.
        try Task.checkCancellation()
        return try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { [self] in
                continuation.resume(with: Result { try look(statement) })
            }
        }
    }

    /// The same where blocking is allowed.
    func look(_ statement: String) throws -> String? { try AdminSession(database.url).ask(statement) }

    /// Whether a statement answers true; for `RunningCommand.reaches`.
    func holds(_ condition: String) -> Bool { (try? look("SELECT \(condition)")) == "t" }

    /// What the queue's own check of its invariants finds, and what progress and history disagree about.
    func faults() async throws -> [String] {
        var faults = try await queue.check().map { "\($0.invariant): \($0.detail)" }
        let difference = try await sql(
            """
            WITH history AS (
                SELECT batch_id, outcome, items * (retried_as IS NULL)::int AS items, downloads, variants, bytes_in, bytes_out
                FROM larder_data.job_history
                UNION ALL SELECT batch_id, outcome, items, 0, 0, 0, 0 FROM larder_data.item_history WHERE retried_as IS NULL
            ), sums AS (
                SELECT batch_id, coalesce(sum(items) FILTER (WHERE outcome = 1), 0) AS succeeded,
                    coalesce(sum(items) FILTER (WHERE outcome = 2), 0) AS failed,
                    coalesce(sum(items) FILTER (WHERE outcome = 3), 0) AS cancelled,
                    sum(variants) AS variants, sum(bytes_out) AS bytes_out
                FROM history GROUP BY batch_id
            )
            SELECT string_agg(p::text || ' against ' || s::text, '; ') FROM larder.progress p JOIN sums s USING (batch_id)
            WHERE (p.succeeded, p.failed, p.cancelled, p.variants, p.bytes_out)
                IS DISTINCT FROM (s.succeeded, s.failed, s.cancelled, s.variants, s.bytes_out)
            """)
        if let difference { faults.append("progress is not history: \(difference)") }
        return faults
    }
}

extension TemporaryDirectory {
    /// What lies in it, hidden things too.
    var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: path).sorted() }
    }
}
