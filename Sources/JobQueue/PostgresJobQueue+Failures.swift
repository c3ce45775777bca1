public import ImageModel

/// Which failures of all batches are wanted. A condition that is nil or empty is none.
public struct FailureFilter: Sendable {
    /// The batch.
    public var batch: Int64?
    /// The error.
    public var error: FailureCode?
    /// A part of the origin, `cdn.example.com`.
    public var origin: String?
    /// A part of the URL, in any case.
    public var text: String?

    /// Creates a filter; by default without a condition.
    public init(batch: Int64? = nil, error: FailureCode? = nil, origin: String? = nil, text: String? = nil) {
        (self.batch, self.error, self.origin, self.text) = (batch, error, origin, text)
    }
}

/// A failure of any batch that was neither retried nor discarded.
public struct FoundFailure: Sendable {
    /// The job; nil for an item that ended without one of its batch, which only its batch can retry.
    public let job: Int64?
    /// Its batch: id, and name or nil.
    public let batch: Int64, batchName: String?
    /// The URL as given.
    public let url: String
    /// The error.
    public let error: FailureReason
    /// The status of the response, for error 2001.
    public let httpStatus: Int?
    /// Attempts made.
    public let attempts: Int
    /// ISO 8601 in UTC.
    public let finishedAt: String
}

/// A page of failures, newest first.
public struct FailurePage: Sendable {
    /// The failures.
    public let failures: [FoundFailure]
    /// Where the next page starts; nil at the end.
    public let next: Position?

    /// A place in the failures of a filter.
    public struct Position: Sendable, Equatable {
        /// Microseconds since 1970.
        let time: Int64
        let number: Int64
        /// 1 for a job, 0 for an item.
        let kind: Int64

        /// As text, for programs that pass it on.
        public var text: String { "\(time).\(number).\(kind)" }

        /// Before the newest failure.
        public static let start = Position(time: 253_370_764_800_000_000, number: .max, kind: 2)

        init(time: Int64, number: Int64, kind: Int64) { (self.time, self.number, self.kind) = (time, number, kind) }

        /// A position whose `text` was passed on; nil for another text.
        public init?(text: String) {
            let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { Int64($0) }
            guard parts.count == 3, let time = parts[0], let number = parts[1], let kind = parts[2] else { return nil }
            self.init(time: time, number: number, kind: kind)
        }
    }
}

extension PostgresJobQueue {
    /// The most failures that one page is searched in. A page may have fewer than it has room for, or none, before the
    /// last one.
    private static let searched = 5_000

    /// One page of failures of all batches, the newest first; of one batch, the newest jobs first.
    ///
    /// It reads an index of the failures from the position on, at most 5,000 of them.
    public func failures(
        matching filter: FailureFilter, after position: FailurePage.Position = .start, limit: Int
    ) async throws(QueueError) -> FailurePage {
        let isFiltered = filter.error != nil || filter.origin?.isEmpty == false || filter.text?.isEmpty == false
        let searched = isFiltered ? Self.searched : limit
        return try await ask(
            """
            SELECT (date_part('epoch', finished_at) * 1e6::float8)::bigint, number, kind, matches, place, batch, batch_name,
                url, error_domain, error_code, message, http_status, attempts, \(Self.iso("finished_at"))
            FROM larder.find_failures($1, $2, $3::int, $4, $5,
                timestamptz 'epoch' + $6::bigint * interval '1 microsecond', $7, $8::int, $9::int, $10::int)
            ORDER BY place
            """,
            [
                .integer(filter.batch), .text(filter.error?.domain), .integer(filter.error.map { Int64($0.code) }),
                .text(filter.origin ?? ""), .text(filter.text ?? ""), .integer(position.time),
                .integer(position.number), .integer(position.kind), .integer(Int64(limit)), .integer(Int64(searched)),
            ]
        ) { rows throws(QueueError) in
            var found: [FoundFailure] = []
            var next: FailurePage.Position?
            for row in 0..<rows.count {
                let place = FailurePage.Position(
                    time: rows.integer(row, 0) ?? 0, number: rows.integer(row, 1) ?? 0, kind: rows.integer(row, 2) ?? 0)
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
    public func errors(of batch: Int64, limit: Int = 50) async throws(QueueError) -> [ErrorCount] {
        try await ask(
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
    public func hasFailures(_ batch: Int64) async throws(QueueError) -> Bool {
        try await ask(
            """
            SELECT EXISTS (SELECT FROM larder.find_failures(
                $1, NULL, NULL, '', '', 'infinity', 9223372036854775807, 2, 1, 1))
            """, [.integer(batch)]
        ) { rows throws(QueueError) in rows.flag(0, 0) ?? false }
    }

    /// Retries all failed items of a batch by repeated calls of `retryFailed(of:with:)`, at most as many items as had
    /// failed at the start. Returns how many items.
    @discardableResult
    public func retryAllFailed(
        of batch: BatchReference, with error: FailureCode? = nil
    ) async throws(QueueError) -> Int {
        let failed = try await progress(of: batch, isDetailed: false).failed
        var items = 0
        while true {
            let portion = try await retryFailed(of: batch, with: error)
            items += portion
            if portion == 0 || items >= failed { return items }
        }
    }

    /// Discards the failure of a job. Returns how many items, 0 where it was retried or discarded before.
    ///
    /// Throws `.unknownJob` for a job that has not failed.
    @discardableResult
    public func discard(job: Int64) async throws(QueueError) -> Int {
        try await ask("SELECT larder.discard($1)", [.integer(job)]) { rows throws(QueueError) in
            Int(rows.integer(0, 0) ?? 0)
        }
    }
}

extension Rows {
    fileprivate func foundFailure(_ row: Int) -> FoundFailure {
        FoundFailure(
            job: integer(row, 2) == 1 ? integer(row, 1) : nil, batch: integer(row, 5) ?? 0, batchName: text(row, 6),
            url: text(row, 7) ?? "",
            error: failure(row, domainAt: 8) ?? FailureReason(domain: "", code: 0, message: ""),
            httpStatus: integer(row, 11).map(Int.init), attempts: Int(integer(row, 12) ?? 0),
            finishedAt: text(row, 13) ?? "")
    }
}
