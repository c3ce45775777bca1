extension PostgresJobQueue.Workers {
    /// Runs the schedule that is due for longest; false when none is. Throws `.refused` when it enqueued nothing.
    func runDueSchedule() async throws(QueueError) -> Bool {
        let connection = database.connection(for: .schedule)
        let due = try await database.ask(
            """
            SELECT schedule, cron, time_zone, due_at::text, floor(extract(epoch FROM due_at))::bigint
            FROM larder.due_schedule_v1()
            """, maxWait: .zero, on: connection
        ) { rows throws(QueueError) in
            rows.count == 0
                ? nil
                : (
                    schedule: rows.text(0, 0) ?? "", cron: rows.text(0, 1) ?? "", timeZone: rows.text(0, 2) ?? "",
                    at: rows.text(0, 3), seconds: rows.integer(0, 4)
                )
        }
        guard let due else { return false }
        var times: (missed: Int, next: Int64)?
        var reason: String?
        do throws(QueueError) {
            let clock = try await database.clock(due.timeZone, on: connection)
            times = try CronExpression(due.cron).following(due.seconds, now: clock.now, in: clock.zone)
        } catch {
            guard error.code == .invalidArgument else { throw error }
            reason = error.message
        }
        let error = try await database.ask(
            """
            SELECT error FROM larder.run_schedule_v1(
                $1, $2::timestamptz, timestamptz 'epoch' + $3::bigint * interval '1 s', $4::int, $5)
            """,
            [
                .text(due.schedule), .text(due.at), .integer(times?.next), .integer(Int64(times?.missed ?? 0)),
                .text(reason),
            ],
            repeating: .onlyUndone, maxWait: .zero, on: connection
        ) { rows throws(QueueError) in rows.count > 0 ? rows.text(0, 0) : nil }
        if let error { throw QueueError(.refused, "schedule \(due.schedule): \(error)") }
        return true
    }
}
