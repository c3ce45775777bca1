extension PostgresJobQueue.Reports {
    /// The status of a live job, or of a completed one while its history is kept. Throws `.unknownJob`.
    public func status(ofJob job: Int64) async throws(QueueError) -> JobStatus {
        try await database.read(
            """
            SELECT job, state, url, batch_id, batch, pipeline, version, priority, items, attempt, max_attempts, rescues,
                worker, worker_name, retried_as, domain, code, message, reason, outcome,
                \(Self.times("due", "created_at", "claimed_at", "finished_at", "cancelled_at")), substr(traceparent, 4, 32)
            FROM larder.job_status($1)
            """, [.integer(job)]
        ) { rows throws(QueueError) in try rows.jobStatus() }
    }

    /// The ended attempts of a job, in order.
    package func attempts(ofJob job: Int64) async throws(QueueError) -> [JobAttempt] {
        try await database.read(
            """
            SELECT attempt, outcome, worker, domain, code, message, http_status, fetch_ms, transcode_ms, store_ms, delay_ms,
                \(Self.times("claimed_at", "ended_at"))
            FROM larder.attempt WHERE job_id = $1 ORDER BY attempt, ended_at
            """, [.integer(job)]
        ) { rows throws(QueueError) in
            var attempts: [JobAttempt] = []
            for row in 0..<rows.count { attempts.append(rows.attempt(row)) }
            return attempts
        }
    }

    /// ISO 8601 in UTC, whatever the session's settings.
    private static func times(_ columns: String...) -> String {
        columns.map { #"to_char(\#($0) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')"# }.joined(separator: ", ")
    }
}

extension Rows {
    /// From the row of `PostgresJobQueue.status(ofJob:)`.
    fileprivate func jobStatus() throws(QueueError) -> JobStatus {
        guard count == 1, let id = integer(0, 0), let batch = integer(0, 3),
            let state = text(0, 1).flatMap(JobState.init(rawValue:))
        else { throw QueueError(.unexpectedAnswer, "a job in state \(count > 0 ? text(0, 1) ?? "none" : "none")") }
        return JobStatus(
            id: id, state: state, reason: text(0, 18).flatMap(SuspensionReason.init(rawValue:)),
            outcome: text(0, 19).flatMap(JobOutcome.init(rawValue:)), url: text(0, 2) ?? "", batch: batch,
            batchName: text(0, 4),
            pipeline: text(0, 5) ?? "",
            pipelineVersion: whole(0, 6) ?? 0, priority: whole(0, 7) ?? 0, items: whole(0, 8) ?? 0,
            attempt: whole(0, 9) ?? 0, maxAttempts: whole(0, 10), rescues: whole(0, 11) ?? 0, worker: integer(0, 12),
            workerName: text(0, 13), retriedAs: integer(0, 14), error: failure(0, domainAt: 15), traceID: text(0, 25),
            due: text(0, 20),
            createdAt: text(0, 21) ?? "", claimedAt: text(0, 22), finishedAt: text(0, 23), cancelledAt: text(0, 24))
    }

    /// From a row of `PostgresJobQueue.attempts(ofJob:)`.
    fileprivate func attempt(_ row: Int) -> JobAttempt {
        JobAttempt(
            number: whole(row, 0) ?? 0, outcome: text(row, 1) ?? "", worker: integer(row, 2),
            error: failure(row, domainAt: 3), httpStatus: whole(row, 6), fetch: span(row, 7), transcode: span(row, 8),
            store: span(row, 9), delay: span(row, 10), claimedAt: text(row, 11), endedAt: text(row, 12) ?? "")
    }

    private func whole(_ row: Int, _ column: Int) -> Int? { integer(row, column).map(Int.init) }

    private func span(_ row: Int, _ column: Int) -> Duration? { integer(row, column).map { .milliseconds($0) } }
}
