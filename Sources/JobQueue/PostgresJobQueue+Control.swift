public import ImageModel

/// Each function may be repeated: what is done already is not done again.
extension PostgresJobQueue {
    /// The most jobs that one call of `reprioritize(_:to:)` changes.
    public static let reprioritizePortion = 100_000

    /// The most records that one call of `retryFailed(of:)` reopens; after as many, more may be left.
    public static let retryPortion = 10_000

    /// Cancels a batch: its open items finish at once with SDWebImageErrorDomain 2002. Returns how many were open, 0
    /// for a batch that is over.
    ///
    /// A job ends only if no other batch has it; the next heartbeat informs the worker of a running one. Waits for
    /// transactions that add to the batch. Throws `.unknownBatch`.
    @discardableResult
    public func cancel(_ batch: BatchReference) async throws(QueueError) -> Int {
        try await control("batch_cancel", batch)
    }

    /// Pauses a batch: jobs that no other batch has are not claimed any more; running ones continue.
    ///
    /// Throws `.unknownBatch`, and `.batchClosed` when it is cancelled or finished.
    public func pause(_ batch: BatchReference) async throws(QueueError) { try await control("batch_pause", batch) }

    /// Resumes a paused batch: its jobs are ready again, in their old order.
    ///
    /// Throws `.unknownBatch`, and `.batchClosed` when it is cancelled or finished.
    public func resume(_ batch: BatchReference) async throws(QueueError) { try await control("batch_resume", batch) }

    /// Reopens failed items of a batch as new jobs, with unused attempts and RetryFailed, at most `retryPortion`
    /// records a call; with an error only those that failed with it. Returns how many items.
    ///
    /// Throws `.unknownBatch`, and `.batchClosed` when it is cancelled.
    @discardableResult
    public func retryFailed(
        of batch: BatchReference, with error: FailureCode? = nil
    ) async throws(QueueError) -> Int {
        try await ask(
            "SELECT larder.batch_retry_failed($1, $2, $3::int)",
            [.text(batch.text), .text(error?.domain), .integer(error.map { Int64($0.code) })]
        ) { rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0) }
    }

    /// Discards the failures of a batch: they still count, but are neither listed in reports and the view
    /// `larder.failed` nor retried. Returns how many items. One transaction per 10,000 records. Throws `.unknownBatch`.
    @discardableResult
    public func discardFailed(of batch: BatchReference) async throws(QueueError) -> Int {
        var items = 0
        while true {
            let portion = try await control("batch_discard_failed", batch)
            if portion == 0 { return items }
            items += portion
        }
    }

    /// Sets the priority of a batch and its jobs, 0 (first) to 9 (last), at most `reprioritizePortion` jobs a call:
    /// repeat until it returns 0. Jobs that another batch has are only raised. Returns how many jobs.
    ///
    /// Throws `.unknownBatch`, `.batchClosed` when it is cancelled or finished, and `.invalidArgument`.
    @discardableResult
    public func reprioritize(_ batch: BatchReference, to priority: Int) async throws(QueueError) -> Int {
        try await control("batch_reprioritize", batch, ", \(priority)")
    }

    @discardableResult
    private func control(
        _ function: String, _ batch: BatchReference, _ arguments: String = ""
    ) async throws(QueueError) -> Int {
        try await ask("SELECT larder.\(function)($1\(arguments))", [.text(batch.text)]) { rows throws(QueueError) in
            Int(rows.integer(0, 0) ?? 0)
        }
    }

    /// Deletes a finished batch and its records: it is unknown from now on, and maintenance deletes the rows.
    ///
    /// Throws `.unknownBatch`, and `.batchClosed` when it is not finished.
    public func delete(_ batch: BatchReference) async throws(QueueError) { try await control("batch_delete", batch) }

    /// Notifies the listeners on channel `larder` that a queue has ready jobs.
    public func notify(queue: String = "default") async throws(QueueError) {
        try await ask("SELECT larder.notify($1)", [.text(queue)]) { _ throws(QueueError) in }
    }
}
