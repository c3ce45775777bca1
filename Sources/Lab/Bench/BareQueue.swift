import Measuring

/// The least work that a queue in Postgres can do, measured by pgbench over one connection: the limit for Larder's
/// figures.
///
/// Rows are inserted into a narrow table. Claiming N rows moves them to a second table, completing moves them to a
/// third, both in one transaction. There are no batches, duplicates, fences, retries or history. Statements are
/// prepared, and the tables are new, vacuumed and analysed before each sample.
struct BareQueue: Sendable {
    private let server: BenchServer
    private let session: BenchSession

    init(_ server: BenchServer) {
        self.server = server
        session = server.session()
    }

    /// Inserted rows per second, `width` per transaction.
    func insertRate(_ rows: Int, width: Int = 1_000) async throws -> Double {
        try await createTables(rows: 0)
        return try await insert(rows, width: width)
    }

    /// Claimed and completed rows per second, `width` per transaction.
    func completeRate(_ rows: Int, width: Int) async throws -> Double {
        try await createTables(rows: rows)
        return try await complete(rows, width: width)
    }

    /// Bytes of WAL per row, inserted with 999 and completed with 99 others.
    func walPerRow(_ rows: Int) async throws -> Double {
        try await createTables(rows: 0)
        let start = try await session.writtenWAL()
        _ = try await insert(rows, width: 1_000)
        _ = try await complete(rows, width: 100)
        return (try await session.writtenWAL() - start) / Double(rows)
    }

    private static func insertion(_ rows: Int) -> String {
        """
        INSERT INTO bare_job (url) SELECT 'https://images.example/' || i || '.jpg' FROM generate_series(1, \(rows)) AS i
        """
    }

    private func insert(_ rows: Int, width: Int) async throws -> Double {
        try await server.transactions(Self.insertion(width), times: rows / width) * Double(width)
    }

    private func complete(_ rows: Int, width: Int) async throws -> Double {
        let statement = """
            BEGIN;
            WITH pick AS (SELECT id FROM bare_job WHERE state = 0 ORDER BY id LIMIT \(width) FOR UPDATE SKIP LOCKED), \
            gone AS (DELETE FROM bare_job AS j USING pick WHERE j.id = pick.id RETURNING j.id, j.url), \
            held AS (INSERT INTO bare_held (id, url) SELECT id, url FROM gone RETURNING id) \
            SELECT coalesce(array_agg(id), '{}') AS ids FROM held \\gset
            WITH gone AS (DELETE FROM bare_held WHERE id = ANY (:ids::bigint[]) RETURNING id, url) \
            INSERT INTO bare_done (id, url) SELECT id, url FROM gone;
            COMMIT
            """
        let rate = try await server.transactions(statement, times: rows / width) * Double(width)
        guard try await session.number("SELECT count(*) FROM bare_done") == Double(rows / width * width) else {
            throw MeasuringError("the bare table has too few rows")
        }
        return rate
    }

    private func createTables(rows: Int) async throws {
        for statement in [
            "DROP TABLE IF EXISTS bare_job, bare_held, bare_done",
            """
            CREATE TABLE bare_job (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state smallint NOT NULL DEFAULT 0,
                url text NOT NULL) WITH (fillfactor = 70)
            """,
            "CREATE INDEX ON bare_job (id) WHERE state = 0",
            "CREATE TABLE bare_held (id bigint PRIMARY KEY, url text NOT NULL)",
            "CREATE TABLE bare_done (id bigint NOT NULL, url text NOT NULL)",
            Self.insertion(rows), "VACUUM ANALYZE bare_job",
        ] { try await session.execute(statement) }
    }
}
