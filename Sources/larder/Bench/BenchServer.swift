import Concurrency
import EmbeddedPostgres
import Foundation
import JobQueue
import Measuring

/// A private Postgres for one run: memory and room for the WAL as a real one has, durability at its defaults.
///
/// It goes with this process, however that ends, and everything in it.
struct BenchServer: Sendable {
    /// How to connect to its database.
    let url: String
    /// Its version, `15.8`.
    let version: String
    private let cluster: EmbeddedCluster
    private let pgbench: String
    /// Where it lies, kept so that it does not go before the server.
    private let scratch: Scratch
    private let thread = ThreadPool(name: "bench-programs", threads: 1)

    /// Starts it.
    ///
    /// - Throws: `ClusterError`; `MeasuringError` when there is no pgbench.
    init() async throws {
        scratch = try Scratch()
        var configuration = EmbeddedCluster.Configuration(home: scratch.path + "/home")
        configuration.clusters = scratch.path + "/clusters"
        cluster = EmbeddedCluster(configuration)
        url = try await cluster.start()
        let settings = BenchSession(url)
        try await settings.ask("ALTER SYSTEM SET shared_buffers = '512MB'")
        try await settings.ask("ALTER SYSTEM SET max_wal_size = '4GB'")
        await settings.close()
        try await cluster.stop()
        _ = try await cluster.start()
        version = try await cluster.status().serverVersion ?? "unknown"
        pgbench = try await cluster.programs() + "/pgbench"
        guard FileManager.default.isExecutableFile(atPath: pgbench) else {
            throw MeasuringError("there is no \(pgbench), which measures the limit")
        }
        try await Migrator(PostgresJobQueue.Configuration(databaseURL: url)).migrate()
    }

    /// Ends it.
    func stop() async throws { try await cluster.stop() }

    /// A new connection.
    func session() -> BenchSession { BenchSession(url) }

    /// A path for a file of this run.
    func file(_ name: String) -> String { scratch.path + "/" + name }

    /// Runs one statement `times` over by pgbench: one connection, prepared, each run a transaction. Transactions a second,
    /// connecting left out.
    func transactions(_ statement: String, times: Int) async throws -> Double {
        let script = file("script.sql")
        try Data((statement + ";\n").utf8).write(to: URL(filePath: script))
        let command = "'\(pgbench)' --no-vacuum -M prepared -c 1 -j 1 -t \(times) -f '\(script)' '\(url)'"
        let output = try await run(command)
        // tps = 1234.567890 (without initial connection time)
        let line = output.split(separator: "\n").first { $0.hasPrefix("tps = ") }
        guard let rate = line?.split(separator: " ").dropFirst(2).first.flatMap({ Double($0) }) else {
            throw MeasuringError("pgbench told no rate")
        }
        return rate
    }

    /// Runs `larder` itself, on this database, and gives the seconds it took from start to end.
    func larder(_ arguments: [String]) async throws -> Double {
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let words = ([program] + arguments + ["--database", url]).map { "'\($0)'" }.joined(separator: " ")
        let start = ContinuousClock.now
        _ = try await run("LARDER_HOME='\(file("home"))' LARDER_JSON= exec \(words)")
        return (ContinuousClock.now - start).seconds
    }

    /// Off the cooperative threads: it blocks.
    private func run(_ command: String) async throws -> String {
        try await thread.run { () throws(any Error) in try Shell.output(command) }
    }
}

/// A plain connection with the bench's server, on a thread of its own.
actor BenchSession {
    private let thread = EventLoop(name: "bench-sql")
    private let url: String
    private var session: AdminSession?

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.asUnownedSerialExecutor() }

    /// Connects with the first question.
    init(_ url: String) { self.url = url }

    deinit { thread.stop() }

    /// Runs `sql`; the first column of the first row, nil when there is none.
    @discardableResult
    func ask(_ sql: String) throws -> String? {
        if session == nil { session = try AdminSession(url) }
        guard let open = session.take() else { return nil }
        do {
            let answer = try open.ask(sql)
            session = consume open
            return answer
        } catch {
            session = consume open
            throw error
        }
    }

    /// A number that the database answers with.
    func number(_ sql: String) throws -> Double {
        guard let number = try ask(sql).flatMap(Double.init) else { throw MeasuringError("no number: \(sql)") }
        return number
    }

    /// Milliseconds from asking to the whole answer.
    func milliseconds(_ sql: String) throws -> Double {
        let start = ContinuousClock.now
        try ask(sql)
        return (ContinuousClock.now - start) / .milliseconds(1)
    }

    /// How much WAL the server has written so far, in bytes.
    func writtenWAL() throws -> Double { try number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')") }

    /// Ends the connection.
    func close() { session = nil }
}
