/// A file that a job of a batch stored.
public struct BatchImage: Sendable {
    /// The job.
    public let job: Int64
    /// Its URL.
    public let url: String
    /// The variant's name; nil for the original.
    public let variant: String?
    /// SDWebImage's cache key.
    public let key: String
    /// `jpeg`, `png`, `gif`, `webp`, …; nil when unknown.
    public let format: String?
    /// In pixels; nil when unknown.
    public let width, height: Int?
    /// The file's size; nil when unknown.
    public let bytes: Int?
}

extension PostgresJobQueue {
    /// The files of a batch's newest jobs, at most `limit` of them, by job from the newest on.
    public func images(of batch: Int64, limit: Int) async throws(QueueError) -> [BatchImage] {
        // The jobs first: each page of the index has those of one batch in order.
        try await images(
            """
            WITH job AS MATERIALIZED (
                SELECT r.number FROM larder.record r
                WHERE r.batch_id = $1 AND r.kind = 'job' AND r.outcome = 1 ORDER BY r.number DESC LIMIT $2)
            SELECT f.job_id, f.url, f.variant, f.key, f.format, f.width, f.height, f.bytes
            FROM job j CROSS JOIN LATERAL (SELECT * FROM larder.stored_file s WHERE s.job_id = j.number) AS f
            WHERE f.batch_id = $1 ORDER BY f.job_id DESC, f.variant NULLS FIRST
            """, [.integer(batch), .integer(Int64(limit))])
    }

    /// The file of a job: of a variant, or the original for nil; nil where there is none.
    public func image(
        of batch: BatchReference, job: Int64, variant: String?
    ) async throws(QueueError) -> BatchImage? {
        try await images(
            """
            SELECT f.job_id, f.url, f.variant, f.key, f.format, f.width, f.height, f.bytes
            FROM larder.stored_file f
            WHERE f.batch_id = larder.batch_id($1) AND f.job_id = $2 AND f.variant IS NOT DISTINCT FROM $3
            """, [.text(batch.text), .integer(job), .text(variant)]
        ).first
    }

    private func images(_ statement: String, _ parameters: [Parameter]) async throws(QueueError) -> [BatchImage] {
        try await ask(statement, parameters) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                BatchImage(
                    job: rows.integer(row, 0) ?? 0, url: rows.text(row, 1) ?? "", variant: rows.text(row, 2),
                    key: rows.text(row, 3) ?? "", format: rows.text(row, 4), width: rows.integer(row, 5).map(Int.init),
                    height: rows.integer(row, 6).map(Int.init), bytes: rows.integer(row, 7).map(Int.init))
            }
        }
    }
}
