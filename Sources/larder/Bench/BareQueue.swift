import Measuring

/// The least that a queue in Postgres can do, by pgbench over one connection: the limit, and no rival.
///
/// Inserts put rows by the thousand into one narrow table:
///
///     INSERT INTO bare_job (url) SELECT 'https://images.example/' || i || '.jpg' FROM generate_series(1, 1000) AS i
///
/// Claim and complete move N rows from it to a second one and from there to a third, in one transaction: the least that lets
/// anybody work between the two, and see what is worked on.
///
///     WITH pick AS (SELECT id FROM bare_job WHERE state = 0 ORDER BY id LIMIT N FOR UPDATE SKIP LOCKED),
///          gone AS (DELETE FROM bare_job AS j USING pick WHERE j.id = pick.id RETURNING j.id, j.url),
///          held AS (INSERT INTO bare_held (id, url) SELECT id, url FROM gone RETURNING id)
///     SELECT coalesce(array_agg(id), '{}') AS ids FROM held
///
///     WITH gone AS (DELETE FROM bare_held WHERE id = ANY (ids) RETURNING id, url)
///     INSERT INTO bare_done (id, url) SELECT id, url FROM gone
///
/// No batches, no duplicates, no fence, no retries, no history worth the name. Statements are prepared; the tables are
/// fresh, vacuumed and analysed before each sample.
struct BareQueue: Sendable {
    private let server: BenchServer
    private let session: BenchSession

    init(_ server: BenchServer) {
        self.server = server
        session = server.session()
    }

    /// Rows a second when `rows` are inserted, so many (`width`) a transaction.
    func insertRate(_ rows: Int, width: Int = 1_000) async throws -> Double {
        try await fresh(rows: 0)
        return try await insert(rows, width: width)
    }

    /// Rows a second when `rows` are completed, so many (`width`) a transaction.
    func settleRate(_ rows: Int, width: Int) async throws -> Double {
        try await fresh(rows: rows)
        return try await complete(rows, width: width)
    }

    /// Bytes of WAL a row when `rows` are inserted by the thousand and completed by the hundred.
    func walPerRow(_ rows: Int) async throws -> Double {
        try await fresh(rows: 0)
        let start = try await session.writtenWAL()
        _ = try await insert(rows, width: 1_000)
        _ = try await complete(rows, width: 100)
        return (try await session.writtenWAL() - start) / Double(rows)
    }

    private func insert(_ rows: Int, width: Int) async throws -> Double {
        let statement = """
            INSERT INTO bare_job (url) SELECT 'https://images.example/' || i || '.jpg' \
            FROM generate_series(1, \(width)) AS i
            """
        return try await server.transactions(statement, times: rows / width) * Double(width)
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
            throw MeasuringError("the bare table ran dry")
        }
        return rate
    }

    private func fresh(rows: Int) async throws {
        for statement in [
            "DROP TABLE IF EXISTS bare_job, bare_held, bare_done",
            """
            CREATE TABLE bare_job (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, state smallint NOT NULL DEFAULT 0,
                url text NOT NULL) WITH (fillfactor = 70)
            """,
            "CREATE INDEX ON bare_job (id) WHERE state = 0",
            "CREATE TABLE bare_held (id bigint PRIMARY KEY, url text NOT NULL)",
            "CREATE TABLE bare_done (id bigint NOT NULL, url text NOT NULL)",
            """
            INSERT INTO bare_job (url) SELECT 'https://images.example/' || i || '.jpg' FROM generate_series(1, \(rows)) AS i
            """,
            "VACUUM ANALYZE bare_job",
        ] { try await session.ask(statement) }
    }
}
