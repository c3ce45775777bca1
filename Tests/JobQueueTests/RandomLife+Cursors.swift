@testable import JobQueue

/// Where claims start, which the model reads and does not foresee.
extension RandomLife {
    /// The model foresees the order of a claim, not the turns that enqueue gives.
    mutating func readTurns() async throws {
        let rows = try await fixture.sql("SELECT job_id, turn FROM larder_data.ready")
        model.turns = Dictionary(
            uniqueKeysWithValues: rows.compactMap { row in
                row[0].flatMap { Int64($0) }.flatMap { id in row[1].flatMap { Int64($0) }.map { (id, $0) } }
            })
        if let cursors = try await cursors() { model.turnCursors = cursors }
    }

    /// Where claims start in each priority; nil before the first maintenance.
    func cursors() async throws -> [Int64]? {
        let rows = try await fixture.sql(
            """
            SELECT t FROM (SELECT * FROM larder_data.claim_cursor WHERE queue_id = 1 ORDER BY number DESC LIMIT 1) AS c,
                unnest(c.turns) WITH ORDINALITY AS x (t, n) ORDER BY n
            """)
        guard rows.count == 10 else { return nil }
        return rows.compactMap { $0[0].flatMap { Int64($0) } }
    }

    /// Where jobs are that a claim and the model disagree about, and where claims start.
    func places(of jobs: [Int64], worker: Int64, _ number: Int64) async throws -> String {
        try await fixture.value(
            """
            SELECT string_agg(format('job %s: priority %s, turn %s, ready %s, running %s, scheduled %s, suspended %s',
                    j, (SELECT x.priority FROM larder_data.job x WHERE x.id = j),
                    (SELECT r.turn FROM larder_data.ready r WHERE r.job_id = j),
                    EXISTS (SELECT FROM larder_data.ready r WHERE r.job_id = j),
                    EXISTS (SELECT FROM larder_data.running r WHERE r.job_id = j),
                    (SELECT s.run_at FROM larder_data.scheduled s WHERE s.job_id = j),
                    (SELECT s.reason FROM larder_data.suspended s WHERE s.job_id = j)), '; ')
                || format('; claim %s of %s, cursors %s', $2::int8, $3::int8,
                    (SELECT string_agg(format('%s: %s', c.number, c.turns), '; ')
                     FROM larder_data.claim_cursor c WHERE c.queue_id = 1))
            FROM unnest($1::int8[]) AS j
            """, [.integers(jobs), .integer(number), .integer(worker)]) ?? ""
    }
}
