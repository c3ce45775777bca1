/// A list or query that workers enqueue at set times, as in the view `larder.schedule`.
package struct Schedule: Sendable {
    /// Also the name of its batches.
    package let name: String
    /// Minute, hour, day, month and weekday.
    package let cron: String
    /// The expression's time zone, such as `Europe/Berlin`.
    package let timeZone: String
    /// The SELECT for the URLs; nil for a list.
    package let query: String?
    /// Number of listed URLs; nil for a query.
    package let urls: Int?
    /// The role that set it and owns its batches.
    package let owner: String
    package let isPaused: Bool
    /// ISO 8601 in UTC. `nextAt` is nil until a worker has computed it.
    package let nextAt, lastAt: String?
    /// The last batch's id and number of URLs.
    package let lastBatch, lastURLs: Int64?
    /// Why the last run enqueued nothing; nil if it did.
    package let lastError: String?
    /// Skipped runs: no worker was there or the previous batch was unfinished.
    package let missed: Int64
    /// The unfinished batch that delays the run due at `nextAt`; nil if none does.
    package let waitingFor: Int64?
}

extension PostgresJobQueue.Reports {
    /// Schedules by name. For logins that may read views.
    package func schedules() async throws(QueueError) -> [Schedule] {
        try await database.read(
            """
            SELECT name, cron, time_zone, query, urls, owner, paused_at IS NOT NULL,
                extract(epoch FROM next_at)::numeric * 1000000, extract(epoch FROM last_at)::numeric * 1000000,
                last_batch, last_urls, last_error, missed, waiting_for
            FROM larder.schedule ORDER BY name
            """
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                Schedule(
                    name: rows.text(row, 0) ?? "", cron: rows.text(row, 1) ?? "", timeZone: rows.text(row, 2) ?? "",
                    query: rows.text(row, 3), urls: rows.integer(row, 4).map(Int.init), owner: rows.text(row, 5) ?? "",
                    isPaused: rows.flag(row, 6) ?? false, nextAt: rows.time(row, 7), lastAt: rows.time(row, 8),
                    lastBatch: rows.integer(row, 9), lastURLs: rows.integer(row, 10), lastError: rows.text(row, 11),
                    missed: rows.integer(row, 12) ?? 0, waitingFor: rows.integer(row, 13))
            }
        }
    }
}

extension Rows {
    /// Microseconds since 1970 as ISO 8601.
    fileprivate func time(_ row: Int, _ column: Int) -> String? {
        number(row, column).map { UTCTime(microseconds: Int64($0)).iso8601 }
    }
}
