import FoundationEssentials

extension PostgresJobQueue {
    private static let counts = """
        batch_id, batch, state, total, open, finished, skipped, succeeded, failed, cancelled, fresh, blocked, invalid, \
        joined, retries, downloads, variants, bytes_in, bytes_out
        """
    private static let dates = ["created_at", "finished_at"].map {
        #"to_char(\#($0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"#
    }.joined(separator: ", ")
    /// What is computed for each batch by itself.
    private static let details = """
        percent, rate, (seconds * 1000)::bigint, extract(epoch FROM eta)::bigint, p50_ms, p95_ms, top_errors
        """
    private static let noDetails = "percent, NULL, NULL, NULL, NULL, NULL, NULL"

    /// Where a batch stands; `isDetailed`, the default, with pace, quantiles and errors. Throws `.unknownBatch`.
    public func progress(of batch: BatchReference, isDetailed: Bool = true) async throws(QueueError) -> BatchProgress {
        let (condition, parameter, text) =
            switch batch {
            case .id(let id): ("batch_id = $1", Parameter.integer(id), "has the number \(id)")
            case .name(let name): ("batch = $1", Parameter.text(name), "is called \"\(name)\"")
            }
        return try await ask(
            """
            SELECT \(Self.counts), \(isDetailed ? Self.details : Self.noDetails), \(Self.dates) FROM larder.progress
            WHERE \(condition)
            """, [parameter]
        ) { rows throws(QueueError) in
            guard rows.count == 1 else { throw QueueError(.unknownBatch, "no batch \(text)") }
            return try rows.progress(0)
        }
    }

    /// Where the newest batches stand, newest first; `isDetailed`, the default, with pace, quantiles and errors,
    /// which cost a look per batch.
    public func progress(limit: Int = 100, isDetailed: Bool = true) async throws(QueueError) -> [BatchProgress] {
        try await ask(
            """
            SELECT \(Self.counts), \(isDetailed ? Self.details : Self.noDetails), \(Self.dates) FROM larder.progress
            ORDER BY batch_id DESC LIMIT $1
            """, [.integer(Int64(limit))]
        ) { rows throws(QueueError) in
            var all: [BatchProgress] = []
            for row in 0..<rows.count { all.append(try rows.progress(row)) }
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
    /// A batch's progress from the columns of `PostgresJobQueue.counts` and `details`.
    fileprivate func progress(_ row: Int) throws(QueueError) -> BatchProgress {
        guard let id = integer(row, 0), let state = text(row, 2).flatMap(BatchProgress.State.init(rawValue:)) else {
            throw QueueError(.unexpectedAnswer, "a batch in state \(text(row, 2) ?? "none")")
        }
        func count(_ column: Int) -> Int { Int(integer(row, column) ?? 0) }
        return BatchProgress(
            id: id, name: text(row, 1), state: state, total: count(3), open: count(4), finished: count(5),
            skipped: count(6), succeeded: count(7), failed: count(8), cancelled: count(9), fresh: count(10),
            blocked: count(11), invalid: count(12), joined: count(13), retries: count(14), downloads: count(15),
            variants: count(16), bytesIn: count(17), bytesOut: count(18), percent: number(row, 19) ?? 0,
            rate: number(row, 20) ?? 0, elapsed: .milliseconds(count(21)), eta: integer(row, 22).map { .seconds($0) },
            p50: number(row, 23), p95: number(row, 24), topErrors: try ErrorCount.list(json: text(row, 25)),
            openedAt: text(row, 26) ?? "", finishedAt: text(row, 27))
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
