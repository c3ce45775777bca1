import Concurrency
import EmbeddedPostgres
import Foundation
import JobQueue

/// The Postgres server of this test process: a private one, or the one that LARDER_TEST_DATABASE_URL names.
///
/// The private one dies with the process, however that ends: a watchdog waits at a pipe whose other end
/// only this process has.
actor TestServer {
    static let shared = TestServer()

    private let pool = ThreadPool(name: "test-server", threads: 4)
    private let prefix = "larder_test_\(getpid())_"
    private var starting: Task<Address, any Error>?
    private var templates: [[UInt8]: Task<String, any Error>] = [:]
    private var created = 0
    private var disposal: Disposal?
    private var home: ClusterHome?
    private var pooler: Task<Pooler, any Error>?

    /// How to name a database of the server.
    struct Address: Sendable {
        /// For making and dropping databases.
        let maintenance: String
        /// What stands before and after the database's name in a URL.
        let before: String
        let after: String

        /// Splits `scheme://authority/database?parameters`.
        init(_ url: String, maintenance: String?) {
            let parts = url.split(separator: "?", maxSplits: 1).map(String.init)
            let slashes = parts[0].split(separator: "/", omittingEmptySubsequences: false)
            let before = slashes.prefix(3).joined(separator: "/") + "/"
            // A busy machine takes its time to answer.
            let after = "?" + (parts.count > 1 ? parts[1] + "&" : "") + "connect_timeout=60"
            self.maintenance = before + (maintenance ?? String(slashes.dropFirst(3).joined(separator: "/"))) + after
            self.before = before
            self.after = after
        }

        func url(_ database: String) -> String { before + database + after }
    }

    /// A new empty database.
    func makeEmpty() async throws -> (name: String, url: String) {
        let address = try await address()
        let name = nextName()
        try await execute("CREATE DATABASE \(name)", at: address.maintenance)
        return (name, address.url(name))
    }

    /// The URL of a database through a pooler, which is started for the first.
    func pooledURL(_ name: String) async throws -> String {
        let socketDirectory = try await execute("SHOW unix_socket_directories", at: address().maintenance)
        let task = pooler ?? Task { try await Pooler(socketDirectory: socketDirectory ?? "") }
        pooler = task
        return try await task.value.url(name)
    }

    /// A new copy of the template `key`, which `prepare` fills when it is asked for first.
    func make(
        template key: String, prepare: @escaping @Sendable (_ url: String) async throws -> Void
    ) async throws -> (name: String, url: String) {
        let address = try await address()
        let template = try await template(key, at: address, prepare: prepare)
        let name = nextName()
        try await execute("CREATE DATABASE \(name) TEMPLATE \(template)", at: address.maintenance)
        return (name, address.url(name))
    }

    /// Drops a database, breaking off its sessions.
    func drop(_ name: String) async {
        guard let address = try? await address() else { return }
        _ = try? await execute("DROP DATABASE IF EXISTS \(name) WITH (FORCE)", at: address.maintenance)
    }

    private func template(
        _ key: String, at address: Address, prepare: @escaping @Sendable (String) async throws -> Void
    ) async throws -> String {
        if let made = templates[Array(key.utf8)] { return try await made.value }
        let name = nextName()
        let task = Task {
            try await execute("CREATE DATABASE \(name)", at: address.maintenance)
            try await prepare(address.url(name))
            // A template with connections cannot be copied: refuse new ones, then end those that are left.
            try await execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS false", at: address.maintenance)
            try await execute(
                "SELECT count(pg_terminate_backend(pid, 5000)) FROM pg_stat_activity WHERE datname = '\(name)'",
                at: address.maintenance)
            return name
        }
        templates[Array(key.utf8)] = task
        return try await task.value
    }

    private func nextName() -> String {
        created += 1
        return prefix + String(created)
    }

    @discardableResult
    private func execute(_ sql: String, at url: String) async throws -> String? {
        try await pool.run { () throws(QueueError) in try AdminSession(url).execute(sql) }
    }

    private func address() async throws -> Address {
        if let starting { return try await starting.value }
        let task = Task {
            if let given = ProcessInfo.processInfo.environment["LARDER_TEST_DATABASE_URL"], !given.isEmpty {
                disposal = try Disposal(databases: prefix, of: given)
                return Address(given, maintenance: nil)
            }
            // Copies of a database are hundreds of files each, which ext4 takes long to create and delete.
            let home = try ClusterHome(inMemory: true)
            self.home = home
            let cluster = EmbeddedCluster(home.configuration("home", disposable: true))
            return Address(try await cluster.start(), maintenance: "postgres")
        }
        starting = task
        return try await task.value
    }
}
