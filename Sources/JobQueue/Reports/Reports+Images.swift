/// A file that a job of a batch stored.
package struct BatchImage: Sendable {
    /// The job.
    package let job: Int64
    /// Its URL.
    package let url: String
    /// The variant's name; nil for the original.
    package let variant: String?
    /// SDWebImage's cache key.
    package let key: String
    /// `jpeg`, `png`, `gif`, `webp`, …; nil when unknown.
    package let format: String?
    /// In pixels; nil when unknown.
    package let width, height: Int?
    /// The file's size; nil when unknown.
    package let bytes: Int?
}

/// A page of the files of a batch, newest jobs first.
package struct ImagePage: Sendable {
    /// The files.
    package let images: [BatchImage]
    /// Before which job the next page starts; nil at the end.
    package let next: Int64?
}

extension PostgresJobQueue.Reports {
    /// The most jobs that one page of images is searched in. A page may have fewer jobs than it has room for, or none,
    /// before the last one.
    private static let searchedJobs: Int64 = 1_000

    /// The files of a batch's newest jobs before one, at most of `limit` jobs that succeeded, by job from the newest on.
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
            // There may be more after a full page, and after the last job that was looked at.
            let isLast = jobs < limit && last?.place != Self.searchedJobs
            return ImagePage(images: images, next: isLast ? nil : last?.job)
        }
    }

    /// The file of a job: of a variant, or the original for nil; nil where there is none.
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
