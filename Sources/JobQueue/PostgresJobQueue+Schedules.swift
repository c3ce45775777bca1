/// A list or a query that workers enqueue by the clock, as the view `larder.schedule` shows it.
public struct Schedule: Sendable {
    /// Its name, and that of its batches.
    public let name: String
    /// The cron expression: minute, hour, day, month and weekday.
    public let cron: String
    /// The time zone of the expression, such as `Europe/Berlin`.
    public let timeZone: String
    /// The SELECT that yields the URLs; nil for a list.
    public let query: String?
    /// How many URLs the list has; nil for a query.
    public let urls: Int?
    /// The role that set it; its batches belong to that role.
    public let owner: String
    /// Whether an operator has paused it.
    public let isPaused: Bool
    /// When it is next due and when it was last run, in ISO 8601 and UTC.
    public let nextAt, lastAt: String?
    /// The id of the last batch and how many URLs it got.
    public let lastBatch, lastURLs: Int64?
    /// Why the last run enqueued nothing; nil when it did.
    public let lastError: String?
    /// Runs that did not happen, because no worker was there or the batch before was not finished.
    public let missed: Int64
    /// The id of the unfinished batch after whose end the run that is due since `nextAt` is made; nil when none waits.
    public let waitingFor: Int64?
}

extension PostgresJobQueue {
    /// The schedules, by name. For a login that may read views.
    public func schedules() async throws(QueueError) -> [Schedule] {
        try await ask(
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

    /// Creates or replaces a schedule and returns when it is next due, in ISO 8601 and UTC. For `larder_admin`.
    ///
    /// Throws `.invalidArgument` for an expression, a time zone or a query that is not valid, `.unknownPipeline` and
    /// `.unknownQueue`.
    ///
    /// - Parameters:
    ///   - query: a SELECT with a column `url` and any of `priority`, `pipeline`, `at`, `name` and `meta`, with qualified
    ///     names of tables that the role `larder_schedule` may read; nil to enqueue the URLs of the request.
    ///   - request: the settings of each run, and its list of at most 200,000 URLs; its batch is not used.
    ///   - onFinished: the URL of the webhook of each run; nil for none.
    public func setSchedule(
        _ name: String, cron: String, timeZone: String, query: String?, request: EnqueueRequest,
        onFinished: String? = nil
    ) async throws(QueueError) -> String {
        var shared = request
        (shared.batch, shared.batchID) = (nil, nil)
        let list: [Parameter] =
            query == nil
            ? [.texts(request.urls), .optionalTexts(try request.ownJSON), .optionalTexts(request.metas)]
            : [.text(nil), .text(nil), .text(nil)]
        return try await ask(
            """
            SELECT extract(epoch FROM larder.schedule_set($1, $2, $3, $4, $5::text[], $6::json[], $7::json[], $8::json))
                ::numeric * 1000000
            """,
            [.text(name), .text(cron), .text(timeZone), .text(query)] + list + [
                .text(try shared.sharedJSON(onFinished: onFinished))
            ]
        ) { rows throws(QueueError) in rows.time(0, 0) ?? "" }
    }

    /// Pauses a schedule. Throws `.unknownSchedule`.
    public func pauseSchedule(_ name: String) async throws(QueueError) {
        try await ask("SELECT larder.schedule_pause($1)", [.text(name)]) { _ throws(QueueError) in }
    }

    /// Resumes a paused schedule from its next time on. Throws `.unknownSchedule`.
    public func resumeSchedule(_ name: String) async throws(QueueError) {
        try await ask("SELECT larder.schedule_resume($1)", [.text(name)]) { _ throws(QueueError) in }
    }

    /// Makes a schedule due now; a worker runs it within 5 s. Throws `.unknownSchedule`.
    public func runSchedule(_ name: String) async throws(QueueError) {
        try await ask("SELECT larder.schedule_run($1)", [.text(name)]) { _ throws(QueueError) in }
    }

    /// Deletes a schedule; its batches stay. Throws `.unknownSchedule`.
    public func removeSchedule(_ name: String) async throws(QueueError) {
        try await ask("SELECT larder.schedule_remove($1)", [.text(name)]) { _ throws(QueueError) in }
    }

    /// Runs the schedule that is due for longest; false when none is. Throws `.refused` when it enqueued nothing.
    func runDueSchedule() async throws(QueueError) -> Bool {
        try await ask(
            "SELECT schedule, error FROM larder.run_schedule_v1()", repeating: .onlyUndone, maxWait: .zero,
            on: connection(for: .schedule)
        ) { rows throws(QueueError) in
            guard rows.count > 0 else { return false }
            if let error = rows.text(0, 1) {
                throw QueueError(.refused, "schedule \(rows.text(0, 0) ?? ""): \(error)")
            }
            return true
        }
    }
}

extension Rows {
    /// A time that was read as microseconds since 1970, in ISO 8601.
    fileprivate func time(_ row: Int, _ column: Int) -> String? {
        number(row, column).map { UTCTime(microseconds: Int64($0)).iso8601 }
    }
}
