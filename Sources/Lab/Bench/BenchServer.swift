import Concurrency
import EmbeddedPostgres
import FoundationEssentials
import JobQueue
import Measuring

/// The database of one bench run: a private server, or a new database on a given server.
struct BenchServer: Sendable {
    let url: String
    /// Such as `15.8`.
    let version: String
    /// Nil for a given server.
    let cluster: EmbeddedCluster?
    private let pgbench: String
    private let scratch: Scratch
    private let thread = ThreadPool(name: "bench-programs", threads: 1)

    /// Runs `body` with a migrated database and removes the database afterwards.
    ///
    /// - Parameters:
    ///   - server: the URL of a server on which this user may create databases. By default a private server with
    ///     512 MB of shared buffers, 4 GB of WAL between checkpoints and default durability.
    ///   - configure: sets more of a private server before it starts again, nothing by default.
    ///   - needsPgbench: whether `transactions` is called, true by default.
    /// - Throws: `ClusterError`, `QueueError`, `MeasuringError` when there is no pgbench.
    static func with<Value>(
        on server: String?, configure: (BenchSession) async throws -> Void = { _ in }, needsPgbench: Bool = true,
        _ body: (BenchServer) async throws -> Value
    ) async throws -> Value {
        let scratch = try Scratch()
        var configuration = EmbeddedCluster.Configuration(home: scratch.path + "/home")
        configuration.clusters = scratch.path + "/clusters"
        let cluster = EmbeddedCluster(configuration)
        let pgbench = try await cluster.programs() + "/pgbench"
        guard !needsPgbench || FileManager.default.isExecutableFile(atPath: pgbench) else {
            throw MeasuringError("\(pgbench) is missing; it measures the bare tables")
        }
        guard let server else {
            return try await finally({ try await cluster.stop() }) {
                let url = try await cluster.start()
                let session = BenchSession(url)
                try await session.execute("ALTER SYSTEM SET shared_buffers = '512MB'")
                try await session.execute("ALTER SYSTEM SET max_wal_size = '4GB'")
                try await configure(session)
                await session.close()
                try await cluster.stop()
                return try await body(BenchServer(try await cluster.start(), cluster, pgbench, scratch))
            }
        }
        let name = "larder_bench_" + UUID().uuidString.prefix(8).lowercased()
        let session = BenchSession(server)
        try await session.execute("CREATE DATABASE \(name)")
        return try await finally({ try await session.execute("DROP DATABASE \(name) WITH (FORCE)") }) {
            // libpq uses the last of two `dbname` parameters.
            let separator = server.contains("://") ? (server.contains("?") ? "&" : "?") : " "
            return try await body(BenchServer("\(server)\(separator)dbname=\(name)", nil, pgbench, scratch))
        }
    }

    private init(_ url: String, _ cluster: EmbeddedCluster?, _ pgbench: String, _ scratch: Scratch) async throws {
        self.url = url
        self.cluster = cluster
        self.pgbench = pgbench
        self.scratch = scratch
        version = try await BenchSession(url).execute("SHOW server_version") ?? "unknown"
        try await Migrator(PostgresJobQueue.Configuration(databaseURL: url)).migrate()
    }

    func session() -> BenchSession { BenchSession(url) }

    func file(_ name: String) -> String { scratch.path + "/" + name }

    /// Runs a prepared statement `times` by pgbench over one connection, each run a transaction.
    ///
    /// - Returns: transactions per second without the time to connect.
    func transactions(_ statement: String, times: Int) async throws -> Double {
        let script = file("script.sql")
        try Data((statement + ";\n").utf8).write(to: URL(filePath: script))
        let command = "'\(pgbench)' --no-vacuum -M prepared -c 1 -j 1 -t \(times) -f '\(script)' '\(url)'"
        // tps = 1234.567890 (without initial connection time)
        let line = try await run(command).split(separator: "\n").first { $0.hasPrefix("tps = ") }
        guard let rate = line?.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) }) else {
            throw MeasuringError("pgbench printed no rate")
        }
        return rate
    }

    /// Runs `larder` on this database and returns the wall time in seconds.
    func larder(_ arguments: [String]) async throws -> Double {
        let program = try TestedProgram.path()
        let words = ([program] + arguments + ["--database", url]).map { "'\($0)'" }.joined(separator: " ")
        let start = ContinuousClock.now
        _ = try await run("LARDER_HOME='\(file("home"))' LARDER_JSON= exec \(words)")
        return (ContinuousClock.now - start).seconds
    }

    private func run(_ command: String) async throws -> String {
        try await thread.run { () throws(any Error) in try Shell.output(command) }
    }
}
