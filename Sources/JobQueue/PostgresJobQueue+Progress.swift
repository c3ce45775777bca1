import FoundationEssentials

extension PostgresJobQueue {
    /// Read from the ledger alone; the times in microseconds since 1970, which cost less than texts.
    private static let counts =
        """
        batch_id, batch, state, total, succeeded, failed, cancelled, fresh, blocked, invalid, joined, retries, downloads, \
        variants, bytes_in, bytes_out, (date_part('epoch', created_at) * 1e6)::bigint, \
        (date_part('epoch', finished_at) * 1e6)::bigint
        """
    /// What is computed for each batch by itself.
    private static let details =
        ", rate, (seconds * 1000)::bigint, extract(epoch FROM eta)::bigint, p50_ms, p95_ms, top_errors"

    /// Where a batch stands; `isDetailed`, the default, with pace, quantiles and errors. Throws `.unknownBatch`.
    public func progress(of batch: BatchReference, isDetailed: Bool = true) async throws(QueueError) -> BatchProgress {
        let (condition, parameter, text) =
            switch batch {
            case .id(let id): ("batch_id = $1", Parameter.integer(id), "has the number \(id)")
            case .name(let name): ("batch = $1", Parameter.text(name), "is called \"\(name)\"")
            }
        return try await ask(
            """
            SELECT \(Self.counts)\(isDetailed ? Self.details : "") FROM larder.progress WHERE \(condition)
            """, [parameter]
        ) { rows throws(QueueError) in
            guard rows.count == 1 else { throw QueueError(.unknownBatch, "no batch \(text)") }
            return try rows.progress(0, isDetailed: isDetailed)
        }
    }

    /// Where the newest batches stand, newest first; `isDetailed`, the default, with pace, quantiles and errors,
    /// which cost a look per batch.
    public func progress(limit: Int = 100, isDetailed: Bool = true) async throws(QueueError) -> [BatchProgress] {
        // The limit stands in the text: for a parameter the plan that a session keeps expects a tenth of all, and looks up ten
        // thousand batches one by one.
        try await ask(
            """
            SELECT \(Self.counts)\(isDetailed ? Self.details : "") FROM larder.progress
            ORDER BY batch_id DESC LIMIT \(max(0, limit))
            """, []
        ) { rows throws(QueueError) in
            var all: [BatchProgress] = []
            all.reserveCapacity(rows.count)
            for row in 0..<rows.count { all.append(try rows.progress(row, isDetailed: isDetailed)) }
            return all
        }
    }

    /// What is left to do of a batch, in whatever queue it is, or of a queue when `batch` is nil.
    ///
    /// Of a queue it is a look at a few indexes; of a batch it reads the batch's live jobs, so look at `progress(of:)`
    /// first. Throws `.unknownQueue`.
    public func remaining(
        of batch: Int64? = nil, queue: String = "default"
    ) async throws(QueueError) -> Remaining {
        try await ask(
            "SELECT has_ready, has_running, has_parked, next_due_ms FROM larder.remaining($1, $2)",
            [.integer(batch), .text(queue)]
        ) { rows throws(QueueError) in
            Remaining(
                hasReady: rows.flag(0, 0) ?? false, hasRunning: rows.flag(0, 1) ?? false,
                hasParked: rows.flag(0, 2) ?? false, nextDue: rows.integer(0, 3).map { .milliseconds($0) })
        }
    }

    /// Whether a queue is paused while it has jobs ready, which `remaining` leaves out.
    ///
    /// Throws `.refused` to a login that may not read the view `larder.queue`.
    public func isHeld(queue: String) async throws(QueueError) -> Bool {
        try await ask(
            "SELECT 1 FROM larder.queue WHERE queue = $1 AND paused_at IS NOT NULL AND has_ready", [.text(queue)]
        ) { rows throws(QueueError) in rows.count > 0 }
    }
}

extension Rows {
    /// A batch's progress from the columns of `PostgresJobQueue.counts` and, if asked for, `details`.
    fileprivate func progress(_ row: Int, isDetailed: Bool) throws(QueueError) -> BatchProgress {
        guard let id = integer(row, 0), let state = text(row, 2).flatMap(BatchProgress.State.init(rawValue:)) else {
            throw QueueError(.unexpectedAnswer, "a batch in state \(text(row, 2) ?? "none")")
        }
        func count(_ column: Int) -> Int { Int(integer(row, column) ?? 0) }
        var progress = BatchProgress(
            id: id, name: text(row, 1), state: state, total: count(3), succeeded: count(4), failed: count(5),
            cancelled: count(6), fresh: count(7), blocked: count(8), invalid: count(9), joined: count(10),
            retries: count(11), downloads: count(12), variants: count(13), bytesIn: count(14), bytesOut: count(15),
            opened: UTCTime(microseconds: integer(row, 16) ?? 0),
            over: integer(row, 17).map(UTCTime.init(microseconds:)))
        guard isDetailed else { return progress }
        progress.rate = number(row, 18) ?? 0
        progress.elapsed = .milliseconds(count(19))
        progress.eta = integer(row, 20).map { .seconds($0) }
        progress.p50 = number(row, 21)
        progress.p95 = number(row, 22)
        progress.topErrors = try ErrorCount.list(json: text(row, 23))
        return progress
    }
}

extension ErrorCount {
    /// The errors in the `top_errors` column.
    fileprivate static func list(json: String?) throws(QueueError) -> [ErrorCount] {
        do {
            return try JSONDecoder().decode([ErrorCount].self, from: Data((json ?? "[]").utf8))
        } catch {
            throw QueueError(.unexpectedAnswer, "a batch's errors cannot be read")
        }
    }
}
