extension PostgresJobQueue {
    /// Opens a batch, or answers the open one of that name; nil makes a new nameless one.
    ///
    /// With `notify` the batch's number is sent on channel `larder_batch` when it is finished.
    /// Throws `.batchClosed` when the name belongs to a sealed, cancelled or finished batch, `.unknownPipeline`,
    /// `.unknownQueue`, `.invalidArgument`.
    public func openBatch(
        name: String?, pipeline: String? = nil, priority: Int? = nil, queue: String = "default", notify: Bool = false
    ) async throws(QueueError) -> Int64 {
        try await ask(
            "SELECT larder.batch_open($1, $2, $3::int, $4, \(notify))",
            [.text(name), .text(pipeline), .integer(priority.map(Int64.init)), .text(queue)],
            repeating: name == nil ? .onlyUndone : .harmless
        ) { rows throws(QueueError) in
            guard let id = rows.integer(0, 0) else { throw QueueError(.unexpectedAnswer, "no number for the batch") }
            return id
        }
    }

    /// Says that a batch is complete: it takes no more URLs and finishes with its last open item. Sealing twice is fine.
    ///
    /// Waits for transactions that still add to it. Throws `.unknownBatch`.
    public func seal(_ batch: BatchReference) async throws(QueueError) {
        switch batch {
        case .id(let id):
            try await ask("SELECT larder.batch_seal($1::bigint)", [.integer(id)]) { _ throws(QueueError) in }
        case .name(let name):
            try await ask("SELECT larder.batch_seal($1::text)", [.text(name)]) { _ throws(QueueError) in }
        }
    }
}
