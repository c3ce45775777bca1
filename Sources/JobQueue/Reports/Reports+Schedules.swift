/// A list or a query that workers enqueue by the clock, as the view `larder.schedule` shows it.
package struct Schedule: Sendable {
    /// Its name, and the name of its batches.
    package let name: String
    /// The cron expression: minute, hour, day, month and weekday.
    package let cron: String
    /// The time zone of the expression, such as `Europe/Berlin`.
    package let timeZone: String
    /// The SELECT that yields the URLs; nil for a list.
    package let query: String?
    /// How many URLs the list has; nil for a query.
    package let urls: Int?
    /// The role that set it; its batches belong to that role.
    package let owner: String
    /// Whether an operator has paused it.
    package let isPaused: Bool
    /// When it is next due, nil until a worker has computed it, and when it was last run; in ISO 8601 and UTC.
    package let nextAt, lastAt: String?
    /// The id of the last batch and how many URLs it got.
    package let lastBatch, lastURLs: Int64?
    /// Why the last run enqueued nothing; nil when it did.
    package let lastError: String?
    /// Runs that did not happen, because no worker was there or the batch before was not finished.
    package let missed: Int64
    /// The id of the unfinished batch after whose end the run that is due since `nextAt` is made; nil when none waits.
    package let waitingFor: Int64?
}

extension PostgresJobQueue.Reports {
    /// The schedules, by name. For a login that may read views.
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
    /// A time that was read as microseconds since 1970, in ISO 8601.
    fileprivate func time(_ row: Int, _ column: Int) -> String? {
        number(row, column).map { UTCTime(microseconds: Int64($0)).iso8601 }
    }
}
