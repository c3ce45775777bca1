package import ImageModel

/// Filters failures across batches. Nil and empty conditions match everything.
package struct FailureFilter: Sendable {
    package var batch: Int64?
    package var error: FailureCode?
    /// A part of the origin, such as `cdn.example.com`.
    package var origin: String?
    /// A part of the URL, case-insensitive.
    package var text: String?

    package init(batch: Int64? = nil, error: FailureCode? = nil, origin: String? = nil, text: String? = nil) {
        (self.batch, self.error, self.origin, self.text) = (batch, error, origin, text)
    }
}

/// A failure that was neither retried nor discarded.
package struct FoundFailure: Sendable {
    /// Nil for an item that ended without a job; only its batch can retry it.
    package let job: Int64?
    package let batch: Int64, batchName: String?
    package let url: String
    package let error: FailureReason
    /// The HTTP status, for error 2001.
    package let httpStatus: Int?
    package let attempts: Int
    /// ISO 8601 in UTC.
    package let finishedAt: String
    /// The trace of the enqueue, 32 hexadecimal digits; nil when it named none.
    package let traceID: String?
}

/// A page of failures, newest first.
package struct FailurePage: Sendable {
    package let failures: [FoundFailure]
    /// Start of the next page; nil at the end.
    package let next: Position?

    /// A position in filtered failures.
    package struct Position: Sendable, Equatable {
        /// Microseconds since 1970.
        let time: Int64
        let number: Int64

        /// The form in URLs.
        package var text: String { "\(time).\(number)" }

        /// Before the newest failure.
        package static let start = Position(time: 253_370_764_800_000_000, number: .max)

        init(time: Int64, number: Int64) { (self.time, self.number) = (time, number) }

        /// Parses `text`; nil if invalid.
        package init?(text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
            guard parts.count == 2, let time = parts[0], let number = parts[1] else { return nil }
            self.init(time: time, number: number)
        }
    }
}

extension PostgresJobQueue.Reports {
    /// Failures read per page. A page may therefore be short or empty before the last one.
    private static let searched = 5_000

    /// One page of failures of all batches, newest first; of one batch, newest jobs first.
    ///
    /// Reads at most 5,000 entries of a failure index from the position on.
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
                // There may be more after a full page, and after the read limit.
                if found.count == limit || rows.integer(row, 4) == Int64(searched) { next = place }
            }
            return FailurePage(failures: found, next: next)
        }
    }

    /// Errors of batches by number of failed items, including discarded ones, most frequent first.
    package func errors(of batches: [Int64], limit: Int = 50) async throws(QueueError) -> [ErrorCount] {
        try await database.read(
            """
            SELECT e.domain, e.code, sum(e.items)::bigint AS items
            FROM unnest($1::bigint[]) AS b (id),
                LATERAL (SELECT x.* FROM larder.batch_error x WHERE x.batch_id = b.id OFFSET 0) AS e
            GROUP BY e.domain, e.code ORDER BY items DESC, e.domain, e.code LIMIT $2
            """, [.integers(batches), .integer(Int64(limit))]
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
