package import ImageModel

/// Which failures of all batches are wanted. A condition that is nil or empty is none.
package struct FailureFilter: Sendable {
    /// The batch.
    package var batch: Int64?
    /// The error.
    package var error: FailureCode?
    /// A part of the origin, `cdn.example.com`.
    package var origin: String?
    /// A part of the URL, in any case.
    package var text: String?

    /// Creates a filter; by default without a condition.
    package init(batch: Int64? = nil, error: FailureCode? = nil, origin: String? = nil, text: String? = nil) {
        (self.batch, self.error, self.origin, self.text) = (batch, error, origin, text)
    }
}

/// A failure of any batch that was neither retried nor discarded.
package struct FoundFailure: Sendable {
    /// The job; nil for an item that ended without one of its batch, which only its batch can retry.
    package let job: Int64?
    /// Its batch: id, and name or nil.
    package let batch: Int64, batchName: String?
    /// The URL as given.
    package let url: String
    /// The error.
    package let error: FailureReason
    /// The status of the response, for error 2001.
    package let httpStatus: Int?
    /// Attempts made.
    package let attempts: Int
    /// ISO 8601 in UTC.
    package let finishedAt: String
    /// The trace of the enqueue, 32 hexadecimal digits; nil when it named none.
    package let traceID: String?
}

/// A page of failures, newest first.
package struct FailurePage: Sendable {
    /// The failures.
    package let failures: [FoundFailure]
    /// Where the next page starts; nil at the end.
    package let next: Position?

    /// A place in the failures of a filter.
    package struct Position: Sendable, Equatable {
        /// Microseconds since 1970.
        let time: Int64
        let number: Int64

        /// As text, for programs that pass it on.
        package var text: String { "\(time).\(number)" }

        /// Before the newest failure.
        package static let start = Position(time: 253_370_764_800_000_000, number: .max)

        init(time: Int64, number: Int64) { (self.time, self.number) = (time, number) }

        /// A position whose `text` was passed on; nil for another text.
        package init?(text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
            guard parts.count == 2, let time = parts[0], let number = parts[1] else { return nil }
            self.init(time: time, number: number)
        }
    }
}

extension PostgresJobQueue.Reports {
    /// The most failures that one page is searched in. A page may have fewer than it has room for, or none, before the
    /// last one.
    private static let searched = 5_000

    /// One page of failures of all batches, the newest first; of one batch, the newest jobs first.
    ///
    /// It reads an index of the failures from the position on, at most 5,000 of them.
    package func failures(
        matching filter: FailureFilter, after position: FailurePage.Position = .start, limit: Int
    ) async throws(QueueError) -> FailurePage {
        let isFiltered = filter.error != nil || filter.origin?.isEmpty == false || filter.text?.isEmpty == false
        let searched = isFiltered ? Self.searched : limit
        return try await database.read(
            """
            SELECT (date_part('epoch', finished_at) * 1e6::float8)::bigint, number, kind, matches, place, batch_id, batch,
                url, domain, code, message, http_status, attempts, \(Self.iso("finished_at")), substr(traceparent, 4, 32)
            FROM (
                SELECT f.*, row_number() OVER () AS place, ($2::text IS NULL OR domain = $2 AND code = $3::int)
                    AND ($4 = '' OR strpos(coalesce(origin, url), $4) > 0) AND strpos(lower(url), lower($5)) > 0 AS matches
                FROM larder.newest_failures(
                    $1, $9::int, timestamptz 'epoch' + $6::bigint * interval '1 microsecond', $7) AS f) AS f
            WHERE matches OR place = $9 ORDER BY place LIMIT $8 + 1
            """,
            [
                .integer(filter.batch), .text(filter.error?.domain), .integer(filter.error.map { Int64($0.code) }),
                .text(filter.origin ?? ""), .text(filter.text ?? ""), .integer(position.time),
                .integer(position.number), .integer(Int64(limit)), .integer(Int64(searched)),
            ]
        ) { rows throws(QueueError) in
            var found: [FoundFailure] = []
            var next: FailurePage.Position?
            for row in 0..<rows.count {
                let place = FailurePage.Position(
                    time: rows.integer(row, 0) ?? 0, number: rows.integer(row, 1) ?? 0)
                let isMatch = rows.flag(row, 3) ?? false
                guard found.count < limit else { continue }
                if isMatch { found.append(rows.foundFailure(row)) }
                // There may be more after a full page, and after the last one that was searched.
                if found.count == limit || rows.integer(row, 4) == Int64(searched) { next = place }
            }
            return FailurePage(failures: found, next: next)
        }
    }

    /// The errors of a batch by the number of items that failed with them, discarded ones included, most frequent first.
    package func errors(of batch: Int64, limit: Int = 50) async throws(QueueError) -> [ErrorCount] {
        try await database.read(
            """
            SELECT domain, code, items FROM larder.batch_error WHERE batch_id = $1
            ORDER BY items DESC, domain, code LIMIT $2
            """, [.integer(batch), .integer(Int64(limit))]
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                ErrorCount(
                    domain: rows.text(row, 0) ?? "", code: Int(rows.integer(row, 1) ?? 0),
                    items: Int(rows.integer(row, 2) ?? 0))
            }
        }
    }

    /// Whether a batch has a failure that was neither retried nor discarded.
    package func hasFailures(_ batch: Int64) async throws(QueueError) -> Bool {
        try await database.read(
            "SELECT EXISTS (SELECT FROM larder.newest_failures($1, 1))", [.integer(batch)]
        ) { rows throws(QueueError) in rows.flag(0, 0) ?? false }
    }
}

extension Rows {
    fileprivate func foundFailure(_ row: Int) -> FoundFailure {
        FoundFailure(
            job: text(row, 2) == "job" ? integer(row, 1) : nil, batch: integer(row, 5) ?? 0, batchName: text(row, 6),
            url: text(row, 7) ?? "",
            error: failure(row, domainAt: 8) ?? FailureReason(domain: "", code: 0, message: ""),
            httpStatus: integer(row, 11).map(Int.init), attempts: Int(integer(row, 12) ?? 0),
            finishedAt: text(row, 13) ?? "", traceID: text(row, 14))
    }
}
