import CommandLine
import DiskCache
import EmbeddedPostgres
import Glibc
import JobQueue
import ObjectStore
import Terminal
import Worker

/// A command's database and cache: from options, else variables, else defaults.
struct Settings {
    /// LARDER_HOME: contains the embedded database and the default cache.
    let home: String
    let cacheRoot: String
    /// A libpq URL or key/value string; nil for the embedded database.
    let databaseURL: String?
    private let isQuiet: Bool

    static let databaseOption = Option(
        "database", .value("URL"),
        "the Postgres to use; default: LARDER_DATABASE_URL, DATABASE_URL, else the embedded one")
    static let cacheOption = Option(
        "cache", .value("DIR"),
        "the cache root, or s3://BUCKET/PREFIX; default: LARDER_CACHE, else LARDER_HOME/cache")

    init(_ arguments: Arguments) throws(CommandError) {
        guard let home = Self.home(arguments.variable) else { throw .usage("LARDER_HOME or HOME must be set") }
        self.home = home
        cacheRoot = try arguments.value("cache").map(Self.cachePlace) ?? Self.standardCache(home)
        databaseURL = try Self.databaseURL(arguments)
        isQuiet = arguments.flag(Quiet.name)
    }

    /// The value of `--database`, else of a variable or the configuration file; nil for the embedded database.
    ///
    /// - Throws: wrong usage for a second `--database`.
    static func databaseURL(_ arguments: Arguments) throws(CommandError) -> String? {
        guard arguments.count(of: databaseOption.name) < 2 else {
            throw .usage("--database is given more than once: a command uses one database")
        }
        return try arguments.value(databaseOption.name) ?? arguments.variable("LARDER_DATABASE_URL")
            ?? arguments.variable("DATABASE_URL")
    }

    /// The default cache root.
    static func standardCache(_ home: String) -> String { home + "/cache" }

    /// LARDER_HOME or its default; nil without HOME.
    static func home(_ variable: (String) -> String?) -> String? {
        if let given = variable("LARDER_HOME") { return absolute(given) }
        if geteuid() == 0 { return "/var/lib/larder" }
        return variable("HOME").map { $0 + "/.local/share/larder" }
    }

    /// The cache in `root`; nil if there is none. Creates nothing.
    ///
    /// - Throws: `StoreError` for an unusable cache.
    static func existingCache(
        _ root: String, _ naming: any CacheNaming = .sdWebImage
    ) throws(StoreError) -> DirectoryStore? {
        // The file is written when a cache is first opened.
        access(root + "/" + CacheID.fileName, F_OK) == 0 ? try DirectoryStore(opening: root, naming: naming) : nil
    }

    var cluster: EmbeddedCluster { EmbeddedCluster(home: home) }

    /// Starts the embedded database and returns its URL. Prints a line before creating it, unless `--quiet` is given.
    func startEmbedded() async throws(ClusterError) -> String {
        try await cluster.start { [isQuiet] directory in
            if !isQuiet { Console.note("larder: creating the database in \(PrintableText.text(directory))") }
        }
    }

    /// The database's URL. Starts and creates nothing.
    ///
    /// - Throws: `CommandError` if none is given and the embedded one is not running.
    func database() async throws -> String {
        if let databaseURL { return databaseURL }
        return try await embeddedURL()
    }

    /// The embedded database's URL. Starts and creates nothing.
    ///
    /// - Throws: `CommandError` if it is not running.
    func embeddedURL() async throws -> String {
        let status = try await cluster.status()
        switch status.state {
        case .running: return try await cluster.url()
        case .stopped:
            throw CommandError.larder(
                .embeddedDatabase,
                "the embedded database in \(status.directory) is stopped; 'larder db start' starts it")
        case .notCreated:
            throw CommandError.larder(
                .embeddedDatabase,
                "there is no embedded database in \(status.directory); 'larder db start' creates it, and --database "
                    + "selects another one")
        }
    }

    /// Opens the queue; an unreachable database is an immediate error.
    ///
    /// - Parameters:
    ///   - starting: creates, starts and migrates the embedded database if no other is given.
    ///   - migrate: also migrates a given database.
    ///   - maxWait: how long later calls wait for an unavailable database; zero by default.
    ///   - wait: if given, waits for an unavailable database.
    func openQueue(
        starting: Bool = false, migrate: Bool = false, maxWait: Duration = .zero, waiting wait: DatabaseWait? = nil
    ) async throws -> PostgresJobQueue {
        let startsEmbedded = starting && databaseURL == nil
        let url = startsEmbedded ? try await startEmbedded() : try await database()
        var configuration = PostgresJobQueue.Configuration(databaseURL: url)
        if migrate || startsEmbedded {
            do throws(QueueError) {
                try await Migrator(configuration).migrate()
            } catch {
                // `checkReady` decides whether a newer schema still offers this program's protocol.
                guard error.code == .newerSchema else { throw error }
            }
        }
        let isReached = migrate || startsEmbedded
        if isReached { configuration.maxWait = maxWait }
        let queue = PostgresJobQueue(configuration)
        try await DatabaseWait.untilReady(queue, wait)
        guard maxWait > .zero, !isReached else { return queue }
        await queue.close()
        configuration.maxWait = maxWait
        return PostgresJobQueue(configuration)
    }

    /// A bucket's URL unchanged, else an absolute path.
    ///
    /// - Throws: an empty text, which would be the current directory.
    static func cachePlace(_ text: String) throws(CommandError) -> String {
        guard !text.isEmpty else { throw .usage("cache.dir is empty") }
        return BucketAddress.isBucket(text) ? text : absolute(text)
    }

    static func absolute(_ path: String) -> String {
        if path.hasPrefix("/") { return path }
        guard let current = getcwd(nil, 0) else { return path }
        defer { free(current) }
        return String(cString: current) + "/" + path
    }
}

/// How a long-running worker waits for its database at the start.
struct DatabaseWait {
    let stop: ShutdownRequest
    /// Whether to wait also for an unmigrated database, which the probes report meanwhile.
    let includesMigration: Bool
    /// Called after each failed attempt, with true for the first one.
    let report: @Sendable (QueueError, Bool) -> Void

    /// Checks repeatedly that the database is ready, as long as `wait` allows.
    static func untilReady(_ queue: PostgresJobQueue, _ wait: DatabaseWait?) async throws(QueueError) {
        var isFirst = true
        while true {
            do throws(QueueError) {
                return try await queue.checkReady()
            } catch {
                guard let wait, wait.stop.urgency == .none,
                    error.isTransient || wait.includesMigration && error.code == .notMigrated
                else { throw error }
                wait.report(error, isFirst)
                isFirst = false
                try? await Task.sleep(for: .milliseconds(500))
            }
        }
    }
}
