extension PostgresJobQueue.Producer {
    /// Opens a batch, or returns the open batch of that name; nil opens a new batch without a name. A name is not all
    /// digits.
    ///
    /// A name whose batch is finished or cancelled opens its next run. With `notify` the batch's id is sent on channel
    /// `larder_batch` when it is finished. With `nextRun` also a name whose batch is sealed opens its next run; both runs
    /// then have open items. Throws `.batchClosed` when the name belongs to a sealed batch with open
    /// items, `.unknownPipeline`, `.unknownQueue`, `.invalidArgument`, and `.refused` for the batch of another role.
    public func openBatch(
        name: String?, pipeline: String? = nil, priority: Int? = nil, queue: String = "default", notify: Bool = false,
        nextRun: Bool = false
    ) async throws(QueueError) -> Int64 {
        try await database.ask(
            "SELECT larder.batch_open($1, $2, $3::int, $4, \(notify), \(nextRun))",
            [.text(name), .text(pipeline), .integer(priority.map(Int64.init)), .text(queue)],
            repeating: name == nil ? .onlyUndone : .harmless
        ) { rows throws(QueueError) in
            guard let id = rows.integer(0, 0) else { throw QueueError(.unexpectedAnswer, "no id for the batch") }
            return id
        }
    }

    /// Closes a batch for more URLs, so that it finishes with its last open item. May be repeated.
    ///
    /// Waits for transactions that still add to it. Throws `.unknownBatch`.
    public func seal(_ batch: BatchReference) async throws(QueueError) {
        try await database.ask("SELECT larder.batch_seal($1)", [.text(batch.text)]) { _ throws(QueueError) in }
    }

    /// Sets the URL to which a worker posts the counts of a batch when it is finished; nil for none.
    ///
    /// Throws `.unknownBatch`, `.invalidArgument` for a text that is no http or https URL, `.locked`, and `.refused` for
    /// the batch of another role.
    public func setWebhook(of batch: BatchReference, to url: String?) async throws(QueueError) {
        try await database.ask("SELECT larder.batch_on_finished($1, $2)", [.text(batch.text), .text(url)]) {
            _ throws(QueueError) in
        }
    }

    /// Notifies the listeners on channel `larder` that a queue has ready jobs.
    public func notify(queue: String = "default") async throws(QueueError) {
        try await database.ask("SELECT larder.notify($1)", [.text(queue)]) { _ throws(QueueError) in }
    }
}
