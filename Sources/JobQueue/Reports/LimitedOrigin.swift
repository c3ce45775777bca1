/// An origin's limits over all workers and queues.
package struct LimitedOrigin: Sendable {
    package let origin: String
    /// Jobs that run at once; nil without limit.
    package let maxRunning: Int?
    /// Jobs claimed per second; nil without limit.
    package let maxRate: Double?
    /// Running jobs on all workers.
    package let running: Int
    /// The limit that prevents a claim now; nil if none does.
    package let reachedLimit: QueueStatus.Limit?
    /// When the last job without a slot will be tried again, ISO 8601 in UTC; nil if past.
    package let deferredUntil: String?
}

extension PostgresJobQueue.Reports {
    /// The first 4,096 origins with limits, by name. For logins that may read views.
    package func limitedOrigins() async throws(QueueError) -> [LimitedOrigin] {
        try await database.read(
            """
            SELECT origin, max_running, max_rate, running, limit_reached, \(Self.iso("deferred_until"))
            FROM larder.limited_origin ORDER BY origin LIMIT 4096
            """
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                LimitedOrigin(
                    origin: rows.text(row, 0) ?? "", maxRunning: rows.integer(row, 1).map(Int.init),
                    maxRate: rows.number(row, 2), running: Int(rows.integer(row, 3) ?? 0),
                    reachedLimit: rows.text(row, 4).flatMap(QueueStatus.Limit.init(rawValue:)),
                    deferredUntil: rows.text(row, 5))
            }
        }
    }
}

extension PostgresJobQueue.Operations {
    /// Sets both limits of a URL's origin over all workers and queues; nil removes a limit.
    ///
    /// Throws `.invalidArgument` if the text does not start with an origin.
    ///
    /// - Parameters:
    ///   - maxRunning: jobs that run at once, at least 1.
    ///   - maxRate: jobs claimed per second, 0.001 to 1,000,000.
    package func limitOrigin(_ origin: String, maxRunning: Int?, maxRate: Double?) async throws(QueueError) {
        try await database.ask(
            "SELECT larder.origin_limit($1, $2::int, $3::float8)",
            [
                .text(origin), .integer(maxRunning.map { Int64(Int32(clamping: $0)) }),
                .text(maxRate.map { String($0) }),
            ]
        ) { _ throws(QueueError) in }
    }
}
