import DiskCache
import EmbeddedPostgres
import Glibc
import JobQueue

/// Where this command finds its database and its cache: flags, then environment, then defaults.
struct Settings {
    /// LARDER_HOME: where the embedded database and the default cache lie.
    let home: String
    /// The cache root.
    let cacheRoot: String
    /// The database given by flag or environment; nil means the embedded one.
    let databaseURL: String?

    /// The options it reads.
    static let databaseOption = Option(
        "database", .value("URL"),
        "the Postgres to use; default: LARDER_DATABASE_URL, DATABASE_URL, else the embedded one")
    static let cacheOption = Option(
        "cache", .value("DIR"), "the cache root; default: LARDER_CACHE, else LARDER_HOME/cache")

    /// Reads flags and environment.
    init(_ arguments: Arguments) throws(CommandError) {
        if let given = arguments.variable("LARDER_HOME") {
            home = Self.absolute(given)
        } else if geteuid() == 0 {
            home = "/var/lib/larder"
        } else if let user = arguments.variable("HOME") {
            home = user + "/.local/share/larder"
        } else {
            throw .usage("neither LARDER_HOME nor HOME is set: where should the database and the cache lie?")
        }
        cacheRoot = try arguments.value("cache").map(Self.absolute) ?? home + "/cache"
        databaseURL =
            try arguments.value("database") ?? arguments.variable("LARDER_DATABASE_URL")
            ?? arguments.variable("DATABASE_URL")
    }

    /// The cache that lies in `root`; nil when none does, and none is made.
    ///
    /// - Throws: `StoreError` when there is one that cannot be used.
    static func existingCache(_ root: String) throws -> DirectoryStore? {
        // The id is there from a cache's first opening on; without it nobody has ever stored anything.
        access(root + "/.larder-cache-id", F_OK) == 0 ? try DirectoryStore(opening: root) : nil
    }

    /// The embedded cluster of this home.
    var cluster: EmbeddedCluster { EmbeddedCluster(home: home) }

    /// The database's URL, starting the embedded one when it is meant.
    func startedDatabase() async throws -> String {
        if let databaseURL { return databaseURL }
        return try await cluster.start()
    }

    /// Opens the queue. A database that cannot be reached is told at once, whatever the patience.
    ///
    /// - Parameters:
    ///   - migrate: whether a database of one's own is migrated, too; the embedded one always is.
    ///   - patience: how long later calls wait for a database that has gone away, none by default.
    func openQueue(migrate: Bool = false, patience: Duration = .zero) async throws -> PostgresJobQueue {
        var configuration = PostgresJobQueue.Configuration(databaseURL: try await startedDatabase())
        if migrate || databaseURL == nil {
            do throws(QueueError) {
                try await Migrator(configuration).migrate()
            } catch {
                // A newer schema may still offer this program's protocol, which is asked next.
                guard error.code == .newerSchema else { throw error }
            }
        }
        let queue = PostgresJobQueue(configuration)
        try await queue.checkReady()
        guard patience > .zero else { return queue }
        await queue.close()
        configuration.patience = patience
        return PostgresJobQueue(configuration)
    }

    private static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        guard let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        return String(cString: current) + "/" + path
    }
}
