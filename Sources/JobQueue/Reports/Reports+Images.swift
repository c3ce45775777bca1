/// A file stored by a job of a batch.
package struct BatchImage: Sendable {
    package let job: Int64
    package let url: String
    /// Nil for the original.
    package let variant: String?
    package let key: String
    /// `jpeg`, `png`, `gif`, `webp`, …; nil if unknown.
    package let format: String?
    /// In pixels; nil if unknown.
    package let width, height: Int?
    /// Nil if unknown.
    package let bytes: Int?
}

/// A page of a batch's files, newest jobs first.
package struct ImagePage: Sendable {
    package let images: [BatchImage]
    /// The next page starts before this job; nil at the end.
    package let next: Int64?
}

extension PostgresJobQueue.Reports {
    /// Jobs read per page. A page may therefore have fewer jobs, or none, before the last one.
    private static let searchedJobs: Int64 = 1_000

    /// The files of a batch's newest succeeded jobs before a given job, of at most `limit` jobs, newest first.
    package func images(of batch: Int64, before job: Int64 = .max, limit: Int) async throws(QueueError) -> ImagePage {
        try await database.read(
            """
            SELECT j.number, j.url, f.name, f.key, f.format, f.width, f.height, f.bytes, j.place
            FROM (
                SELECT * FROM (SELECT b.*, row_number() OVER () AS place FROM larder.batch_jobs($1, $4::int, $2) AS b) AS b
                WHERE outcome = 'succeeded' OR place = $4 ORDER BY place LIMIT $3) AS j
            LEFT JOIN LATERAL json_to_recordset(j.stored) AS f (
                name text, key text, path text, format text, width int, height int, bytes bigint)
                ON f.path IS NOT NULL AND j.outcome = 'succeeded'
            ORDER BY j.place, f.name NULLS FIRST
            """, [.integer(batch), .integer(job), .integer(Int64(limit)), .integer(Self.searchedJobs)]
        ) { rows throws(QueueError) in
            var images: [BatchImage] = []
            var jobs = 0
            var last: (job: Int64, place: Int64)?
            for row in 0..<rows.count {
                let place = (rows.integer(row, 0) ?? 0, rows.integer(row, 8) ?? 0)
                if last?.job != place.0 { jobs += 1 }
                last = place
                if !rows.isNull(row, 3) { images.append(rows.image(row)) }
            }
            // There may be more after a full page, and after the read limit.
            let isLast = jobs < limit && last?.place != Self.searchedJobs
            return ImagePage(images: images, next: isLast ? nil : last?.job)
        }
    }

    /// The file of a job's variant, or of the original for nil; nil if there is none.
    package func image(
        of batch: BatchReference, job: Int64, variant: String?
    ) async throws(QueueError) -> BatchImage? {
        try await database.read(
            """
            SELECT f.job_id, f.url, f.variant, f.key, f.format, f.width, f.height, f.bytes
            FROM larder.stored_file f
            WHERE f.batch_id = larder.batch_id($1) AND f.job_id = $2 AND f.variant IS NOT DISTINCT FROM $3
            """, [.text(batch.text), .integer(job), .text(variant)]
        ) { rows throws(QueueError) in rows.count > 0 ? rows.image(0) : nil }
    }
}

extension Rows {
    fileprivate func image(_ row: Int) -> BatchImage {
        BatchImage(
            job: integer(row, 0) ?? 0, url: text(row, 1) ?? "", variant: text(row, 2), key: text(row, 3) ?? "",
            format: text(row, 4), width: integer(row, 5).map(Int.init), height: integer(row, 6).map(Int.init),
            bytes: integer(row, 7).map(Int.init))
    }
}
