import FoundationEssentials
internal import ImageModel

extension PostgresJobQueue.Reports {
    /// The report of a batch. Throws `.unknownBatch`.
    public func summary(of batch: BatchReference) async throws(QueueError) -> BatchReport {
        let progress = try await progress(of: batch)
        let errors = try await database.read(
            """
            SELECT domain, code, sum(items), http_status FROM larder.record
            WHERE batch_id = $1 AND outcome = 'failed' AND retried_as IS NULL AND discarded_at IS NULL
            GROUP BY domain, code, http_status ORDER BY sum(items) DESC, domain, code, http_status LIMIT 100
            """, [.integer(progress.id)]
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                ErrorCount(
                    domain: rows.text(row, 0) ?? "", code: Int(rows.integer(row, 1) ?? 0),
                    items: Int(rows.integer(row, 2) ?? 0), status: rows.integer(row, 3).map(Int.init))
            }
        }
        let discarded = try await database.read(
            "SELECT sum(items) FROM larder.record WHERE batch_id = $1 AND outcome = 'failed' AND discarded_at IS NOT NULL",
            [.integer(progress.id)]
        ) { rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0) }
        return BatchReport(
            progress: progress, failures: try await failures(of: progress.id), errors: errors, discarded: discarded)
    }

    /// One page of a batch's failures, without cancelled and discarded items.
    public func failures(
        of batch: Int64, after cursor: Int64 = .min, limit: Int = 1_000
    ) async throws(QueueError) -> [FailureRecord] {
        try await page(of: batch, after: cursor, limit: limit, "AND outcome = 'failed' AND discarded_at IS NULL") {
            rows, row throws(QueueError) in
            FailureRecord(
                cursor: rows.integer(row, 0) ?? 0, url: rows.text(row, 2) ?? "",
                error: rows.failure(row, domainAt: 4) ?? FailureReason(domain: "", code: 0, message: ""),
                attempts: Int(rows.integer(row, 7) ?? 0), items: Int(rows.integer(row, 8) ?? 0),
                meta: rows.text(row, 10), traceID: rows.text(row, 13))
        }
    }

    /// One page of everything that ended in a batch, with the stored files.
    public func records(
        of batch: Int64, after cursor: Int64 = .min, limit: Int = 1_000
    ) async throws(QueueError) -> [StoredRecord] {
        return try await page(of: batch, after: cursor, limit: limit, "") { rows, row throws(QueueError) in
            guard let outcome = rows.text(row, 3).flatMap(JobOutcome.init(rawValue:)) else {
                throw QueueError(.unexpectedAnswer, "a record without an outcome")
            }
            return StoredRecord(
                cursor: rows.integer(row, 0) ?? 0, job: rows.integer(row, 1),
                url: rows.text(row, 2) ?? "",
                outcome: outcome, error: rows.failure(row, domainAt: 4),
                attempts: Int(rows.integer(row, 7) ?? 0), items: Int(rows.integer(row, 8) ?? 0),
                stored: try StoredFile.list(json: rows.text(row, 9)), meta: rows.text(row, 10),
                pipeline: rows.integer(row, 11).map(Int.init), httpStatus: rows.integer(row, 12).map(Int.init))
        }
    }

    /// Items without a job first, then jobs; each half is read through its index. Retried records are omitted: their
    /// items count with the later job.
    private func page<Record: Sendable>(
        of batch: Int64, after cursor: Int64, limit: Int, _ condition: String,
        read: @Sendable (borrowing Rows, Int) throws(QueueError) -> Record
    ) async throws(QueueError) -> [Record] {
        try await database.read(
            """
            SELECT * FROM (
                (SELECT -9223372036854775807 + number AS place, job_id, url, outcome, domain, code, message, attempts, items, stored, meta, pipeline_id, http_status,
                    substr(traceparent, 4, 32) AS trace_id
                 FROM larder.record WHERE batch_id = $1 AND kind = 'item' AND number > $2 AND retried_as IS NULL \(condition)
                 ORDER BY number LIMIT $4)
                UNION ALL
                (SELECT number, job_id, url, outcome, domain, code, message, attempts, items, stored, meta, pipeline_id, http_status,
                    substr(traceparent, 4, 32) AS trace_id
                 FROM larder.record WHERE batch_id = $1 AND kind = 'job' AND number > $3 AND items > 0 AND retried_as IS NULL \(condition)
                 ORDER BY number LIMIT $4)
            ) AS record ORDER BY place LIMIT $4
            """,
            [.integer(batch), .integer(cursor.lastItem), .integer(max(cursor, 0)), .integer(Int64(limit))]
        ) { rows throws(QueueError) in
            var records: [Record] = []
            for row in 0..<rows.count { records.append(try read(rows, row)) }
            return records
        }
    }
}

extension Int64 {
    /// The last item record of the previous page; items have negative positions.
    fileprivate var lastItem: Int64 { self < 0 ? self + Int64.max : Int64.max }
}

extension StoredFile {
    fileprivate static func list(json: String?) throws(QueueError) -> [StoredFile] {
        guard let json else { return [] }
        do {
            return try JSONDecoder().decode([StoredFile].self, from: Data(json.utf8))
        } catch {
            throw QueueError(.unexpectedAnswer, "the list of files of a record is not valid JSON")
        }
    }
}
