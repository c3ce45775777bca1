import FoundationEssentials
import Measuring

/// A server's processor time by statement: from `pg_stat_statements`, and `pg_stat_kcache` if available.
struct StatementTimes: Sendable {
    /// All calls of one function, or of one other statement.
    struct Statement: Sendable, Decodable {
        let name: String
        let calls: Double
        /// Processor seconds with `pg_stat_kcache`, else execution and planning including waits.
        let seconds: Double
    }

    /// The meaning of the times.
    enum Source: String, Sendable {
        case kcache = "processor time by pg_stat_kcache"
        case statements = "execution and planning with their waits by pg_stat_statements"
        case none = "none: pg_stat_statements is not installed"
    }

    let source: Source
    private let session: BenchSession

    /// Sets the server to collect them from its next start, as far as possible.
    static func prepare(_ session: BenchSession) async throws {
        guard let libraries = try await available(session) else { return }
        try await session.execute("ALTER SYSTEM SET shared_preload_libraries = \(libraries)")
    }

    /// The server's libraries, separated by commas; nil without any.
    private static func available(_ session: BenchSession) async throws -> String? {
        try await session.execute(
            """
            SELECT string_agg(name, ', ' ORDER BY name DESC) FROM pg_available_extensions
            WHERE name IN ('pg_stat_statements', 'pg_stat_kcache')
            AND EXISTS (SELECT FROM pg_available_extensions WHERE name = 'pg_stat_statements')
            """)
    }

    /// Starts collecting in a server set by `prepare`.
    init(_ session: BenchSession) async throws {
        self.session = session
        let loaded = try await session.execute("SHOW shared_preload_libraries") ?? ""
        source =
            loaded.contains("pg_stat_kcache") ? .kcache : loaded.contains("pg_stat_statements") ? .statements : .none
        if source != .none {
            try await session.execute("CREATE EXTENSION pg_stat_statements")
            try await session.execute("ALTER SYSTEM SET pg_stat_statements.track_planning = on")
        }
        if source == .kcache {
            try await session.execute("CREATE EXTENSION pg_stat_kcache")
            try await session.execute("ALTER SYSTEM SET pg_stat_kcache.track_planning = on")
            // By default it records a short statement's duration instead of its processor time.
            try await session.execute("ALTER SYSTEM SET pg_stat_kcache.linux_hz = 1000000")
        }
        try await session.execute("SELECT pg_reload_conf()")
    }

    func reset() async throws {
        if source != .none { try await session.execute("SELECT pg_stat_statements_reset()") }
        if source == .kcache { try await session.execute("SELECT pg_stat_kcache_reset()") }
    }

    /// The statements since `reset`, longest times first.
    func read() async throws -> [Statement] {
        guard source != .none else { return [] }
        let (seconds, join) =
            source == .kcache
            ? (
                "sum(exec_user_time + exec_system_time + coalesce(plan_user_time + plan_system_time, 0))",
                "JOIN (SELECT queryid, userid, dbid, top AS toplevel, plan_user_time, plan_system_time, "
                    + "exec_user_time, exec_system_time FROM pg_stat_kcache()) k USING (queryid, userid, dbid, toplevel)"
            ) : ("sum(total_exec_time + total_plan_time) / 1000", "")
        let text = try await session.execute(
            """
            SELECT coalesce(json_agg(s ORDER BY seconds DESC), '[]') FROM (
                SELECT coalesce(substring(query FROM '\\mlarder(?:_data)?\\.(\\w+)'),
                    lower(substring(query FROM '^\\s*(\\w+)')), 'other') AS name,
                    sum(calls) AS calls, \(seconds) AS seconds
                FROM pg_stat_statements \(join)
                WHERE toplevel AND dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
                AND query !~ 'pg_stat_|pg_current_wal'
                GROUP BY 1) AS s
            """)
        return try JSONDecoder().decode([Statement].self, from: Data((text ?? "[]").utf8))
    }
}
