private import Concurrency

extension PostgresJobQueue {
    /// Changes queues, schedules, origins and the blocklist.
    package var operations: Operations { Operations(database: self) }

    /// Calls for operators, used by the command line and the dashboard. The login needs the role `larder_admin`.
    package struct Operations: Sendable {
        let database: PostgresJobQueue
    }
}

extension PostgresJobQueue.Operations {
    /// Deletes a finished batch and its records. It is unknown immediately; maintenance deletes the rows.
    ///
    /// Throws `.unknownBatch`, and `.batchClosed` if it is not finished.
    package func delete(_ batch: BatchReference) async throws(QueueError) {
        try await database.ask("SELECT larder.batch_delete($1::text)", [.text(batch.text)]) { _ throws(QueueError) in }
    }

    /// Records a change that an operator is about to make through the dashboard; returns its number.
    ///
    /// - Parameters:
    ///   - actor: the user named by a proxy; nil if only the database login is known.
    ///   - verb: the action, such as `batches/pause`.
    ///   - target: the name or number of the changed object.
    /// - Throws: `.refused` unless the login is a `larder_admin`.
    package func beginAction(actor: String?, verb: String, target: String) async throws(QueueError) -> Int64 {
        try await database.ask(
            "SELECT larder.action_begin($1, $2, $3)", [.text(actor), .text(verb), .text(target)]
        ) { rows throws(QueueError) in rows.integer(0, 0) ?? 0 }
    }

    /// Records that a change failed.
    package func failAction(_ action: Int64, _ error: String) async throws(QueueError) {
        try await database.ask("SELECT larder.action_failed($1, $2)", [.integer(action), .text(error)]) {
            _ throws(QueueError) in
        }
    }

    /// Resumes the origin of a URL, or all origins. Returns how many were paused.
    ///
    /// Throws `.invalidArgument` if the text does not start with an origin.
    @discardableResult
    package func clearOrigin(_ origin: String? = nil) async throws(QueueError) -> Int {
        try await database.ask("SELECT larder.origin_clear($1)", [.text(origin)]) { rows throws(QueueError) in
            Int(rows.integer(0, 0) ?? 0)
        }
    }

    /// Pauses the origin of a URL for a time.
    ///
    /// Throws `.invalidArgument` if the text does not start with an origin or the time is not positive.
    package func holdOrigin(_ origin: String, for length: Duration) async throws(QueueError) {
        try await database.ask(
            "SELECT larder.origin_hold($1, $2::float8 * interval '1 ms')",
            [.text(origin), .integer(length.milliseconds)]
        ) { _ throws(QueueError) in }
    }

    /// Maximum URLs per call.
    package static let maxBlockedURLs = 10_000

    /// Blocks up to 10,000 URLs, for 24 h by default; longer blocks are not shortened. Running jobs continue.
    ///
    /// - Parameter reason: the message in the view, truncated to 2,000 characters.
    /// - Returns: the number of distinct URLs.
    ///
    /// Throws `.invalidArgument` for an empty URL, one of more than 8192 bytes, too many URLs, or a time that is not
    /// positive.
    @discardableResult
    package func block(
        _ urls: [String], for time: Duration = .seconds(86_400), reason: String? = nil
    ) async throws(QueueError) -> Int {
        guard urls.count <= Self.maxBlockedURLs else {
            throw QueueError(.invalidArgument, "at most \(Self.maxBlockedURLs) URLs a call, not \(urls.count)")
        }
        return try await database.ask(
            "SELECT larder.block_many($1, $2::float8 * interval '1 ms', $3)",
            [.texts(urls), .integer(time.milliseconds), .text(reason)]
        ) { rows throws(QueueError) in Int(rows.integer(0, 0) ?? 0) }
    }

    /// Removes a URL and its failures from the blocklist. Returns whether it was blocked.
    @discardableResult
    package func unblock(_ url: String) async throws(QueueError) -> Bool {
        try await database.ask("SELECT larder.unblock_url($1)", [.text(url)]) { rows throws(QueueError) in
            rows.flag(0, 0) ?? false
        }
    }

    /// Empties the blocklist in several transactions. Returns how many URLs were blocked.
    @discardableResult
    package func unblockAll() async throws(QueueError) -> Int {
        var removed = 0
        while true {
            let (portion, isLast) = try await database.ask("SELECT unblocked, is_last FROM larder.unblock_portion()") {
                rows throws(QueueError) in (Int(rows.integer(0, 0) ?? 0), rows.flag(0, 1) ?? true)
            }
            removed += portion
            if isLast { return removed }
        }
    }
}
