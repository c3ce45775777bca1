import JobQueue

/// The least that a queue in Postgres can do: two narrow tables, rows put in by the thousand, rows moved by the batch.
///
/// No order, no locking of rows against others, no duplicates, no history worth the name; prepared statements, one
/// round trip a batch. It is a limit and no rival.
final class BareTables {
    private let session: MaintenanceSession
    private var inserted = 0
    private var moved = 0

    init(_ url: String) throws {
        session = try MaintenanceSession(url)
        for statement in [
            "CREATE TABLE bare_waiting (id bigint PRIMARY KEY, state smallint NOT NULL DEFAULT 0, url text NOT NULL)",
            "CREATE TABLE bare_done (id bigint NOT NULL, state smallint NOT NULL, url text NOT NULL)",
            """
            PREPARE bare_insert (bigint, bigint) AS INSERT INTO bare_waiting (id, url)
            SELECT i, 'https://host-' || i % 50 || '.example/pictures/' || i || '.jpg' FROM generate_series($1, $2) AS i
            """,
            """
            PREPARE bare_move (bigint, bigint) AS
            WITH gone AS (DELETE FROM bare_waiting WHERE id BETWEEN $1 AND $2 RETURNING id, url)
            INSERT INTO bare_done SELECT id, 2, url FROM gone
            """,
        ] { try session.ask(statement) }
    }

    /// Inserts `rows` in one transaction.
    func insert(_ rows: Int) throws {
        try session.ask("EXECUTE bare_insert (\(inserted + 1), \(inserted + rows))")
        inserted += rows
    }

    /// Sees to it that `rows` can be moved.
    func fill(_ rows: Int) throws {
        while inserted - moved < rows { try insert(1_000) }
    }

    /// Moves `rows` from one table to the other, in one transaction.
    func move(_ rows: Int) throws {
        guard moved + rows <= inserted else { throw BenchmarkError("the bare table has run dry") }
        try session.ask("EXECUTE bare_move (\(moved + 1), \(moved + rows))")
        moved += rows
    }

    /// How much WAL this server has written so far, in bytes.
    func writtenWAL() throws -> Double {
        try number("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')")
    }

    /// A number that the database answers with.
    func number(_ sql: String) throws -> Double {
        guard let number = try session.ask(sql).flatMap(Double.init) else { throw BenchmarkError("no answer: \(sql)") }
        return number
    }

    /// A text that the database answers with.
    func text(_ sql: String) throws -> String { try session.ask(sql) ?? "" }
}
