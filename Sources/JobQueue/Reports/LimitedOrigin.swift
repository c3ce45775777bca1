/// The limits of an origin over all workers and queues.
package struct LimitedOrigin: Sendable {
    /// Scheme, host and port in normal form, `https://example.com:443`.
    package let origin: String
    /// The most jobs that run at once; nil without limit.
    package let maxRunning: Int?
    /// The most jobs that are claimed per second; nil without limit.
    package let maxRate: Double?
    /// Jobs that run, with all workers.
    package let running: Int
    /// The limit for which no job can be claimed now; nil when the limits allow one.
    package let reachedLimit: QueueStatus.Limit?
    /// The time for which the last job was scheduled that had no place, in ISO 8601 and UTC; nil when it has passed.
    package let deferredUntil: String?
}

extension PostgresJobQueue.Reports {
    /// The first 4,096 origins with limits, by name. For a login that may read views.
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
    /// Sets both limits of the origin of a URL, over all workers and queues; without any the limits are removed.
    ///
    /// Throws `.invalidArgument` when the text does not start with an origin.
    ///
    /// - Parameters:
    ///   - maxRunning: the most jobs that run at once, at least 1; nil is no limit.
    ///   - maxRate: the most jobs that are claimed per second, 0.001 to 1,000,000; nil is no limit.
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
