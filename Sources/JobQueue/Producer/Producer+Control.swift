public import ImageModel

/// Every function may be repeated without further effect.
extension PostgresJobQueue.Producer {
    /// Maximum jobs changed by one call of `reprioritize(_:to:)`.
    public static let reprioritizePortion = 100_000

    /// Maximum records reopened by one call of `retryFailed(of:)`; after that many, more may be left.
    public static let retryPortion = 10_000

    /// Cancels a batch: its open items finish at once with SDWebImageErrorDomain 2002. Returns how many were open, 0 if
    /// the batch is over.
    ///
    /// A job ends only if no other batch needs it; the next heartbeat tells its worker. Waits for transactions that add
    /// to the batch. Throws `.unknownBatch`.
    @discardableResult
    public func cancel(_ batch: BatchReference) async throws(QueueError) -> Int {
        try await control("batch_cancel", batch)
    }

    /// Pauses a batch: jobs that no other batch needs are no longer claimed; running jobs continue.
    ///
    /// Throws `.unknownBatch`, and `.batchClosed` if it is cancelled or finished.
    public func pause(_ batch: BatchReference) async throws(QueueError) { try await control("batch_pause", batch) }

    /// Resumes a paused batch: its jobs are ready again in their old order.
    ///
    /// Throws `.unknownBatch`, and `.batchClosed` if it is cancelled or finished.
    public func resume(_ batch: BatchReference) async throws(QueueError) { try await control("batch_resume", batch) }

    /// Reopens failed items as new jobs with fresh attempts and RetryFailed, at most `retryPortion` records per call;
    /// optionally only those with one error. Returns how many items.
    ///
    /// Throws `.unknownBatch`, and `.batchClosed` if it is cancelled.
    @discardableResult
    public func retryFailed(
        of batch: BatchReference, with error: FailureCode? = nil
    ) async throws(QueueError) -> Int {
        try await database.ask(
            "SELECT larder.batch_retry_portion($1::text, $2, $3::int)",
            [.text(batch.text), .text(error?.domain), .integer(error.map { Int64($0.code) })]
        ) { rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0) }
    }

    /// Retries all failed items of a batch by repeated calls of `retryFailed(of:with:)`, at most as many as had failed
    /// at the start. Returns how many.
    @discardableResult
    public func retryAllFailed(
        of batch: BatchReference, with error: FailureCode? = nil
    ) async throws(QueueError) -> Int {
        let failed = try await database.reports.progress(of: batch, isDetailed: false).failed
        var items = 0
        while true {
            let portion = try await retryFailed(of: batch, with: error)
            items += portion
            if portion == 0 || items >= failed { return items }
        }
    }

    /// Discards a batch's failures: they still count, but are not listed in reports or `larder.failed` and not retried.
    /// Returns how many items. One transaction per 10,000 records. Throws `.unknownBatch`.
    @discardableResult
    public func discardFailed(of batch: BatchReference) async throws(QueueError) -> Int {
        var items = 0
        while true {
            let portion = try await control("batch_discard_portion", batch)
            if portion == 0 { return items }
            items += portion
        }
    }

    /// Sets the priority of a batch and its jobs, 0 (first) to 9 (last), at most `reprioritizePortion` jobs per call:
    /// repeat until it returns 0. Jobs shared with another batch are only raised. Returns how many jobs.
    ///
    /// Throws `.unknownBatch`, `.batchClosed` if it is cancelled or finished, and `.invalidArgument`.
    @discardableResult
    public func reprioritize(_ batch: BatchReference, to priority: Int) async throws(QueueError) -> Int {
        try await control("batch_reprioritize_portion", batch, ", \(priority)")
    }

    @discardableResult
    private func control(
        _ function: String, _ batch: BatchReference, _ arguments: String = ""
    ) async throws(QueueError) -> Int {
        try await database.ask("SELECT larder.\(function)($1::text\(arguments))", [.text(batch.text)]) {
            rows throws(QueueError) in
            Int(rows.integer(0, 0) ?? 0)
        }
    }
}

extension PostgresJobQueue.Producer {
    /// Cancels a job for all batches. Throws `.unknownJob`.
    @discardableResult
    public func cancel(job: Int64) async throws(QueueError) -> JobCancellation {
        try await database.ask("SELECT larder.cancel($1)", [.integer(job)]) { rows throws(QueueError) in
            guard let answer = rows.text(0, 0).flatMap(JobCancellation.init(rawValue:)) else {
                throw QueueError(.unexpectedAnswer, "cancel answered \(rows.text(0, 0) ?? "nothing")")
            }
            return answer
        }
    }

    /// Retries a job and returns its id. A scheduled or crashed job is ready at once; a failed one becomes a new job; a
    /// ready or running one does not change.
    ///
    /// Throws `.unknownJob` if the job is unknown, succeeded or was cancelled, and `.batchClosed` if its batch was
    /// cancelled.
    @discardableResult
    public func retry(job: Int64) async throws(QueueError) -> Int64 {
        try await database.ask("SELECT larder.retry($1)", [.integer(job)]) { rows throws(QueueError) in
            guard let id = rows.integer(0, 0) else { throw QueueError(.unexpectedAnswer, "retry answered no id") }
            return id
        }
    }

    /// Discards a job's failure. Returns how many items, 0 if it was already retried or discarded.
    ///
    /// Throws `.unknownJob` if the job has not failed.
    @discardableResult
    public func discard(job: Int64) async throws(QueueError) -> Int {
        try await database.ask("SELECT larder.discard($1)", [.integer(job)]) { rows throws(QueueError) in
            Int(rows.integer(0, 0) ?? 0)
        }
    }
}
