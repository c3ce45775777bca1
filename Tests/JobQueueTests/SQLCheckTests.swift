import TestSupport
import Testing

@testable import JobQueue

/// Needs the Debian package postgresql-15-plpgsql-check, whose extension is for Debian's server.
@Suite(.enabled(if: !TemporaryDatabase.isOnOtherServers, "runs on Debian's server only"), .timeLimit(.minutes(5)))
struct SQLCheckTests {
    /// Names, types and columns that PL/pgSQL itself only checks when a statement first runs.
    @Test func `plpgsql_check has no findings in any function of both schemas`() async throws {
        let fixture = try await QueueFixture.make()
        try await fixture.sql("CREATE EXTENSION plpgsql_check")
        let findings = try await fixture.sql(
            """
            SELECT p.oid::regprocedure::text, f.lineno::text, f.level, f.message, f.detail
            FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang,
                LATERAL plpgsql_check_function_tb(
                    p.oid, fatal_errors => false, extra_warnings => false, performance_warnings => false) AS f
            WHERE l.lanname = 'plpgsql' AND p.pronamespace IN ('larder'::regnamespace, 'larder_data'::regnamespace)
            """)
        #expect(findings.isEmpty, "\(findings)")
    }
}
