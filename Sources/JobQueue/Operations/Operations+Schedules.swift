extension PostgresJobQueue.Operations {
    /// Creates or replaces a schedule and returns its next time, ISO 8601 in UTC. For `larder_admin`.
    ///
    /// Throws `.invalidArgument` for an invalid expression, time zone or query, `.unknownPipeline` and `.unknownQueue`.
    ///
    /// - Parameters:
    ///   - query: a SELECT with a column `url` and any of `priority`, `pipeline`, `at`, `name` and `meta`, with
    ///     qualified table names that the role `larder_schedule` may read; nil to enqueue the request's URLs.
    ///   - request: the settings of each run, and at most 200,000 URLs; its batch is ignored.
    ///   - onFinished: the webhook URL of each run; nil for none.
    package func setSchedule(
        _ name: String, cron: String, timeZone: String, query: String?, request: EnqueueRequest,
        onFinished: String? = nil
    ) async throws(QueueError) -> String {
        var shared = request
        (shared.batch, shared.batchID) = (nil, nil)
        let list: [Parameter] =
            query == nil
            ? [.texts(request.urls), .optionalTexts(try request.ownJSON), .optionalTexts(request.metas)]
            : [.text(nil), .text(nil), .text(nil)]
        let expression = try CronExpression(cron)
        let clock = try await database.clock(timeZone)
        let next = try expression.next(after: clock.now, in: clock.zone)
        try await database.ask(
            """
            SELECT larder.schedule_set($1, $2, $3, $4, $5::text[], $6::json[], $7::json[], $8::json,
                timestamptz 'epoch' + $9::bigint * interval '1 s')
            """,
            [.text(name), .text(cron), .text(timeZone), .text(query)] + list + [
                .text(try shared.sharedJSON(onFinished: onFinished)), .integer(next),
            ]
        ) { _ throws(QueueError) in }
        return UTCTime(microseconds: next * 1_000_000).iso8601
    }

    /// Pauses a schedule. Throws `.unknownSchedule`.
    package func pauseSchedule(_ name: String) async throws(QueueError) {
        try await database.ask("SELECT larder.schedule_pause($1)", [.text(name)]) { _ throws(QueueError) in }
    }

    /// Resumes a paused schedule from its next time on. Throws `.unknownSchedule`.
    package func resumeSchedule(_ name: String) async throws(QueueError) {
        let schedule = try await database.ask(
            "SELECT cron, time_zone FROM larder.schedule WHERE name = $1", [.text(name)]
        ) { rows throws(QueueError) in rows.count > 0 ? (rows.text(0, 0) ?? "", rows.text(0, 1) ?? "") : nil }
        var next: Int64?
        if let (cron, timeZone) = schedule {
            let clock = try await database.clock(timeZone)
            next = try CronExpression(cron).next(after: clock.now, in: clock.zone)
        }
        try await database.ask(
            "SELECT larder.schedule_resume($1, timestamptz 'epoch' + $2::bigint * interval '1 s')",
            [.text(name), .integer(next)]
        ) { _ throws(QueueError) in }
    }

    /// Makes a schedule due now; a worker runs it within 5 s. Throws `.unknownSchedule`.
    package func runSchedule(_ name: String) async throws(QueueError) {
        try await database.ask("SELECT larder.schedule_run($1)", [.text(name)]) { _ throws(QueueError) in }
    }

    /// Deletes a schedule; its batches stay. Throws `.unknownSchedule`.
    package func removeSchedule(_ name: String) async throws(QueueError) {
        try await database.ask("SELECT larder.schedule_remove($1)", [.text(name)]) { _ throws(QueueError) in }
    }
}
