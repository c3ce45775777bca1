/// A file of `migrations`, embedded in the program.
struct Migration: Sendable {
    let name: String
    let sql: String

    /// All migrations in order, from number 1. A test compares this list with the directory.
    static let all: [Migration] = [
        Migration("0001_schema", PackageResources._001_schema_sql),
        Migration("0002_maintenance", PackageResources._002_maintenance_sql),
        Migration("0003_queues", PackageResources._003_queues_sql),
        Migration("0004_pipelines", PackageResources._004_pipelines_sql),
        Migration("0005_batches", PackageResources._005_batches_sql),
        Migration("0006_jobs", PackageResources._006_jobs_sql),
        Migration("0007_history", PackageResources._007_history_sql),
        Migration("0008_ledger", PackageResources._008_ledger_sql),
        Migration("0009_retry_rules", PackageResources._009_retry_rules_sql),
        Migration("0010_blocklist", PackageResources._010_blocklist_sql),
        Migration("0011_enqueue", PackageResources._011_enqueue_sql),
        Migration("0012_adding", PackageResources._012_adding_sql),
        Migration("0013_joins", PackageResources._013_joins_sql),
        Migration("0014_worker", PackageResources._014_worker_sql),
        Migration("0015_ready", PackageResources._015_ready_sql),
        Migration("0016_limits", PackageResources._016_limits_sql),
        Migration("0017_pause", PackageResources._017_pause_sql),
        Migration("0018_origins", PackageResources._018_origins_sql),
        Migration("0019_claim", PackageResources._019_claim_sql),
        Migration("0020_complete", PackageResources._020_complete_sql),
        Migration("0021_complete_others", PackageResources._021_complete_others_sql),
        Migration("0022_cancel", PackageResources._022_cancel_sql),
        Migration("0023_retry", PackageResources._023_retry_sql),
        Migration("0024_rescue", PackageResources._024_rescue_sql),
        Migration("0025_finish", PackageResources._025_finish_sql),
        Migration("0026_retention", PackageResources._026_retention_sql),
        Migration("0027_vacuum", PackageResources._027_vacuum_sql),
        Migration("0028_views", PackageResources._028_views_sql),
        Migration("0029_health", PackageResources._029_health_sql),
        Migration("0030_roles", PackageResources._030_roles_sql),
    ]

    init(_ name: String, _ bytes: [UInt8]) {
        self.name = name
        sql = String(decoding: bytes, as: UTF8.self)
    }
}

/// Brings a database to this program's schema.
public struct Migrator: Sendable {
    /// A migration, applied or pending.
    public struct Step: Sendable {
        /// The number, from 1.
        public let number: Int
        /// The file name without its extension.
        public let name: String
        /// When it was applied, in the format of the database; nil when it is pending.
        public let appliedAt: String?
    }

    /// A pending migration with its SQL.
    public struct PendingStep: Sendable {
        /// The number, from 1.
        public let number: Int
        /// The file name without its extension.
        public let name: String
        /// The SQL, several statements.
        public let sql: String
    }

    /// The oldest major version of Postgres that the migrations run on.
    package static let oldestServer = 15

    private let connection: Connection
    private let migrations: [Migration]
    private let oldestServer: Int

    /// Creates a migrator for the database of the configuration.
    public init(_ configuration: PostgresJobQueue.Configuration) { self.init(configuration, migrations: Migration.all) }

    init(
        _ configuration: PostgresJobQueue.Configuration, migrations: [Migration], oldestServer: Int = Self.oldestServer
    ) {
        var configuration = configuration
        configuration.statementTimeout = max(configuration.statementTimeout, .seconds(600))
        connection = Connection(configuration, name: "queue-migrate")
        self.migrations = migrations
        self.oldestServer = oldestServer
    }

    /// The migrations, applied and pending. Throws `.newerSchema`, `.changedMigration`, `.unreachable`, and `.refused`
    /// for a server older than Postgres 15.
    public func status() async throws(QueueError) -> [Step] {
        let (migrations, oldestServer) = (migrations, oldestServer)
        return try await connection.withSession { session throws(QueueError) in
            try Self.checkServer(&session, oldestServer)
            return try Self.steps(of: migrations, on: &session)
        }
    }

    /// What `migrate()` would run, in order. Throws as `status()`.
    public func pending() async throws(QueueError) -> [PendingStep] {
        var steps: [PendingStep] = []
        for step in try await status() where step.appliedAt == nil {
            steps.append(PendingStep(number: step.number, name: step.name, sql: migrations[step.number - 1].sql))
        }
        return steps
    }

    /// Applies the pending migrations, each in a transaction of its own under a lock on the table of migrations;
    /// returns those that this call applied. Several programs may migrate at the same time. Throws as `status()`, and
    /// `.refused` when a migration fails.
    @discardableResult
    public func migrate() async throws(QueueError) -> [Step] {
        _ = try await status()
        try await createTable()
        var applied: [Step] = []
        while let step = try await applyNext() { applied.append(step) }
        return applied
    }

    /// Creates the table of migrations if it is missing. Two programs that create it at once collide, and the later one
    /// finds it.
    private func createTable() async throws(QueueError) {
        for isLast in [false, false, true] {
            do throws(QueueError) {
                return try await connection.withSession { session throws(QueueError) in
                    let exists = try Self.hasTable(on: &session)
                    guard !exists else { return }
                    try session.run(
                        script: """
                            CREATE SCHEMA IF NOT EXISTS larder_data;
                            CREATE TABLE IF NOT EXISTS larder_data.migration (
                                number pg_catalog.int4 PRIMARY KEY, name pg_catalog.text NOT NULL,
                                checksum pg_catalog.bytea NOT NULL,
                                applied_at pg_catalog.timestamptz NOT NULL DEFAULT pg_catalog.now());
                            COMMENT ON TABLE larder_data.migration IS 'The applied migrations, with the SHA-256 of their text.';
                            """, timeout: .seconds(60))
                }
            } catch {
                guard !isLast, error.sqlState.map({ SQLState($0).isCollision }) ?? false else {
                    throw error.namingPrivilege(first: true)
                }
            }
        }
    }

    private func applyNext() async throws(QueueError) -> Step? {
        let (migrations, oldestServer) = (migrations, oldestServer)
        return try await connection.withSession { session throws(QueueError) in
            try Self.checkServer(&session, oldestServer)
            // Views and parsed function bodies keep the operators that they find now.
            try session.run(
                script: "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL search_path = pg_catalog, pg_temp",
                timeout: .seconds(10))
            do throws(QueueError) {
                // Not an advisory lock, which any login can take. A lock of the transaction works through a pooler.
                try session.run(script: "LOCK TABLE larder_data.migration IN EXCLUSIVE MODE", timeout: .seconds(600))
                let next = try Self.steps(of: migrations, on: &session).first { $0.appliedAt == nil }
                if let next {
                    try Self.apply(migrations[next.number - 1], number: next.number, on: &session)
                }
                try session.run(script: "COMMIT", timeout: .seconds(60))
                return next
            } catch {
                if error.code != .connectionLost && error.code != .timeout {
                    try session.run(script: "ROLLBACK", timeout: .seconds(10))
                }
                throw error.namingPrivilege(first: false)
            }
        }
    }

    private static func apply(_ migration: Migration, number: Int, on session: inout Session) throws(QueueError) {
        do throws(QueueError) {
            try session.run(script: migration.sql, timeout: .seconds(600))
        } catch {
            let named = QueueError(
                error.code, "migration \(migration.name): \(error.message)", sqlState: error.sqlState)
            throw named.namingPrivilege(first: number == 1)
        }
        _ = try session.query(
            "INSERT INTO larder_data.migration (number, name, checksum) VALUES ($1, $2, sha256(convert_to($3, 'UTF8')))",
            [.integer(Int64(number)), .text(migration.name), .text(migration.sql)], timeout: .seconds(60))
    }

    /// An older server would refuse a migration with an error of syntax.
    private static func checkServer(_ session: inout Session, _ oldest: Int) throws(QueueError) {
        let rows = try session.query(
            "SELECT pg_catalog.current_setting('server_version_num')::bigint, pg_catalog.current_setting('server_version')",
            [],
            timeout: .seconds(60))
        guard let number = rows.integer(0, 0), number < oldest * 10_000 else { return }
        throw QueueError(.refused, "the server is Postgres \(rows.text(0, 1) ?? ""); Larder needs \(oldest) or newer")
    }

    private static func hasTable(on session: inout Session) throws(QueueError) -> Bool {
        try session.query(
            """
            SELECT EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = 'larder_data' AND c.relname = 'migration')
            """, [], timeout: .seconds(60)
        ).flag(0, 0) == true
    }

    /// The applied migrations, verified against those of this program.
    private static func steps(
        of migrations: [Migration], on session: inout Session
    ) throws(QueueError) -> [Step] {
        var applied: [String] = []
        if try hasTable(on: &session) {
            let rows: Rows
            do throws(QueueError) {
                rows = try session.query(
                    """
                    SELECT m.number, m.name, m.applied_at::text, m.checksum = sha256(convert_to(k.sql, 'UTF8')) AND m.name = k.name
                    FROM larder_data.migration m LEFT JOIN unnest($1, $2) WITH ORDINALITY AS k (name, sql, number) USING (number)
                    ORDER BY m.number
                    """, [.texts(migrations.map(\.name)), .texts(migrations.map(\.sql))], timeout: .seconds(60))
            } catch { throw error.namingPrivilege(first: false) }
            for row in 0..<rows.count {
                let name = rows.text(row, 1) ?? ""
                guard row < migrations.count else {
                    throw QueueError(
                        .newerSchema,
                        "the database has migration \(name), this program has only \(migrations.count) migrations")
                }
                guard rows.integer(row, 0) == Int64(row + 1), rows.flag(row, 3) == true else {
                    throw QueueError(
                        .changedMigration, "migration \(name) was applied with another text than this program has")
                }
                applied.append(rows.text(row, 2) ?? "")
            }
        }
        return migrations.enumerated().map { index, migration in
            Step(
                number: index + 1, name: migration.name, appliedAt: index < applied.count ? applied[index] : nil)
        }
    }
}

extension QueueError {
    /// The same error; where a privilege is missing, with the one that a migrating login needs.
    fileprivate func namingPrivilege(first: Bool) -> QueueError {
        guard sqlState == SQLState.insufficientPrivilege.rawValue else { return self }
        let privilege =
            first
            ? "CREATE on the database (GRANT CREATE ON DATABASE … TO …)"
            : "the rights of the owner of schema larder_data (GRANT that role TO …)"
        return QueueError(code, "\(message); this login needs \(privilege)", sqlState: sqlState)
    }
}
