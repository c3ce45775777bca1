private import Concurrency

extension PostgresJobQueue.Operations {
    /// Removes the hold of the origin of a URL, or all holds. Returns how many there were.
    ///
    /// Throws `.invalidArgument` when the text does not start with an origin.
    @discardableResult
    package func clearOrigin(_ origin: String? = nil) async throws(QueueError) -> Int {
        try await database.ask("SELECT larder.origin_clear($1)", [.text(origin)]) { rows throws(QueueError) in
            Int(rows.integer(0, 0) ?? 0)
        }
    }

    /// Holds the origin of a URL for a time.
    ///
    /// Throws `.invalidArgument` when the text does not start with an origin or the time is not positive.
    package func holdOrigin(_ origin: String, for length: Duration) async throws(QueueError) {
        try await database.ask(
            "SELECT larder.origin_hold($1, $2::float8 * interval '1 ms')",
            [.text(origin), .integer(length.milliseconds)]
        ) { _ throws(QueueError) in }
    }
}
