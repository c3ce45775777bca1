import FoundationEssentials

extension PostgresJobQueue.Reports {
    /// Columns of the counts. Times are microseconds since 1970, cheaper than text.
    private static let counts =
        """
        batch_id, batch, state, total, succeeded, failed, cancelled, fresh, blocked, invalid, joined, retries, downloads, \
        variants, bytes_in, bytes_out, (date_part('epoch', created_at) * 1e6::float8)::bigint, \
        (date_part('epoch', finished_at) * 1e6::float8)::bigint, run
        """
    /// The other columns. Those from `p50_ms` to `top_errors` cost a query per batch.
    private static let details =
        ", rate, (seconds * 1000::numeric)::bigint, extract(epoch FROM eta)::bigint, p50_ms, p95_ms, top_errors, "
        + "(date_part('epoch', paused_at) * 1e6::float8)::bigint, paused_by"

    /// A batch's progress; by default with rate, quantiles and errors. Throws `.unknownBatch`.
    public func progress(of batch: BatchReference, isDetailed: Bool = true) async throws(QueueError) -> BatchProgress {
        let (wanted, parameter) =
            switch batch {
            case .id(let id): ("$1", Parameter.integer(id))
            case .name(let name): ("(SELECT larder.batch_id($1))", Parameter.text(name))
            }
        return try await database.read(
            """
            SELECT \(Self.counts)\(isDetailed ? Self.details : "") FROM larder.progress WHERE batch_id = \(wanted)
            """, [parameter]
        ) { rows throws(QueueError) in
            guard rows.count == 1 else { throw QueueError(.unknownBatch, "unknown batch \"\(batch.text)\"") }
            return try rows.progress(0, isDetailed: isDetailed)
        }
    }

    /// Progress of the newest batches, newest first; by default with rate, quantiles and errors.
    public func progress(limit: Int = 100, isDetailed: Bool = true) async throws(QueueError) -> [BatchProgress] {
        // A literal limit: with a parameter the generic plan expects a tenth of all batches and looks up ten thousand
        // of them one by one.
        let newest = "FROM larder.progress ORDER BY batch_id DESC LIMIT \(max(0, limit))"
        // One function computes for all batches the columns that the view computes with a query per batch.
        let detailed = """
            WITH newest AS MATERIALIZED (
                SELECT batch_id, batch, state, total, succeeded, failed, cancelled, fresh, blocked, invalid, joined,
                    retries, downloads, variants, bytes_in, bytes_out, created_at, finished_at, run, rate, seconds, eta,
                    paused_at, paused_by
                \(newest))
            SELECT \(Self.counts)\(Self.details) FROM newest
                LEFT JOIN larder.progress_details(ARRAY(SELECT n.batch_id FROM newest n)) AS d USING (batch_id)
            ORDER BY batch_id DESC
            """
        return try await database.read(isDetailed ? detailed : "SELECT \(Self.counts) \(newest)") {
            rows throws(QueueError) in
            var all: [BatchProgress] = []
            all.reserveCapacity(rows.count)
            for row in 0..<rows.count { all.append(try rows.progress(row, isDetailed: isDetailed)) }
            return all
        }
    }
}

extension PostgresJobQueue.Reports {
    /// The remaining work of a batch in any queue, or of a queue if `batch` is nil.
    ///
    /// For a queue it probes a few indexes; for a batch it reads the batch's live jobs, so check `progress(of:)` first.
    /// Throws `.unknownQueue` or `.unknownBatch`.
    ///
    /// - Parameter counted: whether to count the scheduled jobs; false by default.
    package func remaining(
        of batch: Int64? = nil, queue: String = "default", counted: Bool = false
    ) async throws(QueueError) -> Remaining {
        try await database.read(
            """
            SELECT has_ready, has_running, has_suspended, next_due_ms, scheduled
            FROM larder.remaining($1, $2, counted => \(counted))
            """, [.text(batch.map(String.init)), .text(queue)]
        ) { rows throws(QueueError) in
            Remaining(
                hasReady: rows.flag(0, 0) ?? false, hasRunning: rows.flag(0, 1) ?? false,
                hasSuspended: rows.flag(0, 2) ?? false, nextDue: rows.integer(0, 3).map { .milliseconds($0) },
                scheduled: rows.integer(0, 4).map { Int($0) })
        }
    }

    /// Whether a queue is paused and has ready jobs, which `remaining` does not report.
    ///
    /// Throws `.refused` if the login may not read the view `larder.queue`.
    package func isHeld(queue: String) async throws(QueueError) -> Bool {
        try await database.read(
            "SELECT 1 FROM larder.queue WHERE queue = $1 AND paused_at IS NOT NULL AND has_ready", [.text(queue)]
        ) { rows throws(QueueError) in rows.count > 0 }
    }
}

extension Rows {
    /// From a row of `PostgresJobQueue.counts` and, if `isDetailed`, `details`.
    fileprivate func progress(_ row: Int, isDetailed: Bool) throws(QueueError) -> BatchProgress {
        guard let id = integer(row, 0), let state = text(row, 2).flatMap(BatchProgress.State.init(rawValue:)) else {
            throw QueueError(.unexpectedAnswer, "a batch in state \(text(row, 2) ?? "none")")
        }
        func count(_ column: Int) -> Int { Int(integer(row, column) ?? 0) }
        var progress = BatchProgress(
            id: id, name: text(row, 1), run: count(18), state: state, total: count(3), succeeded: count(4),
            failed: count(5), cancelled: count(6), fresh: count(7), blocked: count(8), invalid: count(9),
            joined: count(10),
            retries: count(11), downloads: count(12), variants: count(13), bytesIn: count(14), bytesOut: count(15),
            opened: UTCTime(microseconds: integer(row, 16) ?? 0),
            ended: integer(row, 17).map(UTCTime.init(microseconds:)))
        guard isDetailed else { return progress }
        progress.rate = number(row, 19) ?? 0
        progress.elapsed = .milliseconds(count(20))
        progress.eta = integer(row, 21).map { .seconds($0) }
        progress.p50 = number(row, 22)
        progress.p95 = number(row, 23)
        progress.topErrors = try ErrorCount.list(json: text(row, 24))
        if let since = integer(row, 25) { progress.pause = (UTCTime(microseconds: since).iso8601, text(row, 26)) }
        return progress
    }
}

extension ErrorCount {
    fileprivate static func list(json: String?) throws(QueueError) -> [ErrorCount] {
        do {
            return try JSONDecoder().decode([ErrorCount].self, from: Data((json ?? "[]").utf8))
        } catch {
            throw QueueError(.unexpectedAnswer, "the errors of a batch are not valid JSON")
        }
    }
}
