import Concurrency
import EmbeddedPostgres
import FoundationEssentials
import Glibc
import JobQueue
import Terminal

/// A run's database: a private cluster, which is stopped and restarted, or a given one.
struct ChaosDatabase: Sendable {
    let url: String
    let server: SocketPlace
    private let cluster: EmbeddedCluster?

    /// The name by which workers' sessions are terminated.
    static let applicationName = "larder-chaos"

    var isOwn: Bool { cluster != nil }

    init(in place: ChaosPlace) async throws {
        let cluster = EmbeddedCluster(home: place.home)
        let url = try await cluster.start()
        let session = BenchSession(url)
        // The server's file system is small.
        try await session.execute("ALTER SYSTEM SET max_wal_size = '96MB'")
        try await session.execute("ALTER SYSTEM SET min_wal_size = '32MB'")
        try await session.execute("SELECT pg_reload_conf()")
        await session.close()
        self.url = url
        self.cluster = cluster
        server = try Self.place(of: url)
    }

    /// A given database.
    ///
    /// - Throws: wrong usage if it holds anything not made by this command.
    init(_ url: String) async throws {
        server = try Self.place(of: url)
        self.url = url
        cluster = nil
        if let found = try await Self.content(of: url) {
            throw CommandError.usage(
                "chaos: the database holds \(found): this command breaks its database and refuses one that is in use")
        }
    }

    /// Content not made by this command; nil for none.
    private static func content(of url: String) async throws -> String? {
        let session = BenchSession(url)
        let foreign = try await session.execute(
            """
            SELECT 'the relation ' || c.oid::pg_catalog.regclass FROM pg_catalog.pg_class c
            JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE (c.relkind IN ('r', 'p', 'f', 'm', 'S') OR c.relkind = 'v' AND n.nspname <> 'larder')
            AND n.nspname NOT IN ('larder_data', 'information_schema') AND n.nspname NOT LIKE 'pg\\_%'
            AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e') LIMIT 1
            """)
        if let foreign { return foreign }
        guard try await session.execute("SELECT to_regclass('larder.progress')") != nil else { return nil }
        // A schema that an older program made may not have these tables. Runs add no rows to them.
        for table in ["schedule", "webhook"]
        where try await session.execute("SELECT to_regclass('larder_data.\(table)')") != nil {
            if try await session.execute("SELECT 1 FROM larder_data.\(table) LIMIT 1") != nil { return "a \(table)" }
        }
        return try await session.execute(
            """
            SELECT what FROM (
                (SELECT 'the batch ' || coalesce(batch, batch_id::text) AS what FROM larder.progress
                 WHERE batch IS NULL OR batch NOT LIKE 'chaos-%' LIMIT 1)
                UNION ALL (SELECT 'the pipeline ' || name FROM larder.pipeline
                 WHERE name NOT IN ('original', 'chaos') LIMIT 1)
                UNION ALL (SELECT 'a blocked URL' FROM larder.blocklist WHERE url NOT LIKE 'http://127.0.0.%' LIMIT 1)
            ) AS found LIMIT 1
            """)
    }

    private static func place(of url: String) throws(CommandError) -> SocketPlace {
        guard let parts = URLComponents(string: url), parts.scheme?.hasPrefix("postgres") == true else {
            throw .usage("chaos: --database must be a URL postgresql://…")
        }
        func parameter(_ name: String) -> String? { parts.queryItems?.last { $0.name == name }?.value }
        let authority = parts.host.flatMap { $0.isEmpty ? nil : $0 }
        guard let host = parameter("host") ?? authority, !host.contains(",") else {
            throw .usage("chaos: --database must name one host, or the directory of a socket")
        }
        let port = parameter("port").flatMap(UInt16.init) ?? parts.port.flatMap { UInt16(exactly: $0) } ?? 5432
        return host.hasPrefix("/") ? .path("\(host)/.s.PGSQL.\(port)") : .port(host: host, number: port)
    }

    /// A place near the server's for a proxy: a socket for a socket, else a loopback port.
    func proxyPlace(in directory: String) -> SocketPlace {
        if case .path = server { return .path(directory + "/.s.PGSQL.5432") }
        return .port(host: "127.0.0.1", number: 0)
    }

    /// The URL through a proxy or pooler. libpq uses the last of two parameters; TLS still checks the server's name.
    func url(through place: SocketPlace) -> String {
        let separator = url.contains("?") ? "&" : "?"
        let way =
            switch place {
            case .path(let path):
                "hostaddr=&host=\(path.split(separator: "/").dropLast().reduce("") { $0 + "%2F" + $1 })"
                    + "&port=\(path.split(separator: ".").last ?? "5432")"
            case .port(let host, let number): "hostaddr=\(host)&port=\(number)"
            }
        return "\(url)\(separator)\(way)&application_name=\(Self.applicationName)"
    }

    /// Nil without a socket.
    var socketDirectory: String? {
        guard case .path(let path) = server else { return nil }
        return path.split(separator: "/").dropLast().reduce("") { $0 + "/" + $1 }
    }

    enum Stop: Sendable {
        case immediate
        /// With a checkpoint; sessions are ended.
        case fast
    }

    /// Stops the server; waits at most 5 s.
    func stop(_ way: Stop) async throws {
        guard let cluster, case .running(let process) = try await cluster.status().state, process > 0 else { return }
        kill(process, way == .fast ? SIGINT : SIGQUIT)
        for _ in 0..<500 where kill(process, 0) == 0 { try? await Task.sleep(for: .milliseconds(10)) }
    }

    /// Starts the run's own server if it is not running.
    func start() async throws {
        guard let cluster else { return }
        _ = try await cluster.start()
    }

    func stop() async throws { try await cluster?.stop() }
}
