extension PostgresJobQueue {
    /// Cancels a batch: its open items are finished at once with SDWebImageErrorDomain 2002, skipped; jobs that no other
    /// batch wants end, those that run hear with their worker's next heartbeat. Returns how many items were open, 0 for a
    /// batch that is over.
    ///
    /// Waits for transactions that still add to it. Throws `.unknownBatch`.
    @discardableResult
    public func cancel(_ batch: BatchReference) async throws(QueueError) -> Int {
        try await control(batch, "batch_cancel")
    }

    /// Pauses a batch: what it alone wants is not handed out any more; what runs goes on. Pausing twice is fine.
    ///
    /// Throws `.unknownBatch`, `.batchClosed` when it is cancelled or finished.
    public func pause(_ batch: BatchReference) async throws(QueueError) { try await control(batch, "batch_pause") }

    /// Lets a paused batch go on, its jobs at their old place; does nothing to one that is not paused.
    ///
    /// Throws `.unknownBatch`, `.batchClosed` when it is cancelled or finished.
    public func resume(_ batch: BatchReference) async throws(QueueError) { try await control(batch, "batch_resume") }

    /// As many jobs as `reprioritize(_:to:)` moves at most in one call.
    public static let reprioritizePortion = 100_000

    /// As many records as `retryFailed(of:)` reopens at most: there may be more.
    public static let retryPortion = 10_000

    /// Reopens failed items of a batch, at most 10,000 records a call, as new jobs with fresh attempts that pass the
    /// blocklist (RetryFailed). Returns how many items; fewer than `retryPortion` were the
    /// last.
    ///
    /// Throws `.unknownBatch`, `.batchClosed` when it is cancelled.
    @discardableResult
    public func retryFailed(of batch: BatchReference) async throws(QueueError) -> Int {
        try await control(batch, "batch_retry_failed")
    }

    /// Is done with the failures of a batch: they stay in its counts and its report, but are neither in the view
    /// `larder.failed` nor retried. In portions, each its own transaction. Returns how many items.
    ///
    /// Throws `.unknownBatch`.
    @discardableResult
    public func dropFailed(of batch: BatchReference) async throws(QueueError) -> Int {
        var items = 0
        while true {
            let portion = try await control(batch, "batch_discard_failed")
            if portion == 0 { return items }
            items += portion
        }
    }

    /// Gives a batch and its jobs another priority, 0 first … 9 last, at most 100,000 jobs a call. Returns how many jobs;
    /// call it until that is 0. Jobs that another batch had first are only raised.
    ///
    /// Throws `.unknownBatch`, `.batchClosed` when it is cancelled or finished, `.invalidArgument`.
    @discardableResult
    public func reprioritize(_ batch: BatchReference, to priority: Int) async throws(QueueError) -> Int {
        try await control(batch, "batch_reprioritize", ", $2::int", [.integer(Int64(priority))])
    }

    /// Pauses a queue: it hands out nothing, and takes URLs as before. Pausing twice is fine. Throws `.unknownQueue`.
    public func pause(queue: String) async throws(QueueError) {
        try await ask("SELECT larder.queue_pause($1)", [.text(queue)]) { _ throws(QueueError) in }
    }

    /// Lets a paused queue hand out jobs again. Throws `.unknownQueue`.
    public func resume(queue: String) async throws(QueueError) {
        try await ask("SELECT larder.queue_resume($1)", [.text(queue)]) { _ throws(QueueError) in }
    }

    /// Makes a queue, or changes one; nil leaves a setting as it is.
    ///
    /// - Parameters:
    ///   - lifo: newest first within a priority; false by default.
    ///   - lowEvery: each so-manieth claim looks at the lowest priorities first, 0…1000, 0 never; 8 by default.
    ///
    /// Throws `.invalidArgument`.
    public func setQueue(_ queue: String, lifo: Bool? = nil, lowEvery: Int? = nil) async throws(QueueError) {
        try await ask(
            "SELECT larder.queue_set($1, $2::boolean, $3::int)",
            [.text(queue), .text(lifo.map { $0 ? "true" : "false" }), .integer(lowEvery.map(Int64.init))]
        ) { _ throws(QueueError) in }
    }

    /// Tells whoever listens on channel `larder` that a queue has work.
    public func ring(queue: String = "default") async throws(QueueError) {
        try await ask("SELECT larder.notify($1)", [.text(queue)]) { _ throws(QueueError) in }
    }

    /// Calls one of the functions that exist for a batch's number and for its name. All may be repeated: what was done
    /// is not done twice.
    @discardableResult
    private func control(
        _ batch: BatchReference, _ function: String, _ more: String = "", _ parameters: [Parameter] = []
    ) async throws(QueueError) -> Int {
        let (type, parameter): (String, Parameter) =
            switch batch {
            case .id(let id): ("bigint", .integer(id))
            case .name(let name): ("text", .text(name))
            }
        return try await ask("SELECT larder.\(function)($1::\(type)\(more))", [parameter] + parameters) {
            rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0)
        }
    }
}
