private import FoundationEssentials

extension PostgresJobQueue {
    /// Starts workers and runs maintenance.
    public var workers: Workers { Workers(database: self) }

    /// Calls for workers and their shared maintenance. The login needs the role `larder_worker`.
    public struct Workers: Sendable {
        let database: PostgresJobQueue
    }
}

extension PostgresJobQueue.Workers {
    /// Registers a worker. Throws `.protocolMismatch` if the database does not offer this program's protocol,
    /// `.notMigrated`, `.invalidArgument`.
    public func start(_ description: WorkerDescription) async throws(QueueError) -> WorkerSession {
        let sent = TimeOfDay.now
        return try await database.ask(
            """
            SELECT worker_id, lease_ms, extract(epoch FROM clock_timestamp())
            FROM larder.worker_start_v1($1, $2, $3::int, $4, $5::int, $6, $7)
            """,
            [
                .text(description.name), .text(description.host), .integer(Int64(description.processID)),
                .text(description.version), .integer(Int64(description.slots)), .text(description.cacheID),
                .text(description.queue),
            ], cancellation: .never
        ) { rows throws(QueueError) in
            guard let id = rows.integer(0, 0), let lease = rows.integer(0, 1) else {
                throw QueueError(.unexpectedAnswer, "no id for the worker")
            }
            return WorkerSession(
                id: id, lease: .milliseconds(lease), clockOffset: TimeOfDay.offset(of: rows.number(0, 2), sent: sent),
                queue: database)
        }
    }

    /// The pipeline version with this id. Throws `.unknownPipeline`.
    public func pipeline(id: Int) async throws(QueueError) -> PipelineVersion {
        try await database.read(
            "SELECT pipeline_id, name, version, spec FROM larder.pipeline WHERE pipeline_id = $1", [.integer(Int64(id))]
        ) { rows throws(QueueError) in
            guard rows.count == 1 else { throw QueueError(.unknownPipeline, "no pipeline has the id \(id)") }
            return try rows.pipeline(0)
        }
    }
}

/// This machine's clock, only for comparison with the database's.
enum TimeOfDay {
    /// Seconds since 1970.
    static var now: Double { Date().timeIntervalSince1970 }

    /// How far this machine's clock is ahead of the database's time `theirs`, read between `sent` and `received`; zero
    /// if `theirs` may lie between them.
    static func offset(of theirs: Double?, sent: Double, received: Double = now) -> Duration {
        guard let theirs else { return .zero }
        if theirs < sent { return .seconds(sent - theirs) }
        return theirs > received ? .seconds(received - theirs) : .zero
    }
}

extension PostgresJobQueue.Workers {
    /// Traceparents of the items that joined these jobs, at most 32 per job, by job.
    ///
    /// Tries once: a database error costs the links, not the jobs.
    package func joinedTraces(of jobs: [Int64]) async throws(QueueError) -> [Int64: [String]] {
        try await database.read(
            "SELECT job_id, traceparent FROM larder.joined_traces_v1($1)", [.integers(jobs)],
            maxWait: .zero
        ) { rows throws(QueueError) in
            var traces: [Int64: [String]] = [:]
            for row in 0..<rows.count {
                guard let job = rows.integer(row, 0), let trace = rows.text(row, 1) else { continue }
                traces[job, default: []].append(trace)
            }
            return traces
        }
    }
}

/// A due webhook, for one delivery attempt.
package struct DueWebhook: Sendable {
    package let batch: Int64
    package let url: String
    /// From 1.
    package let attempt: Int
    /// The same for all attempts of one end of the batch.
    package let id: String
    /// Seconds since 1970, by the database's clock.
    package let sentAt: Int64
    package let payload: String
}

extension PostgresJobQueue.Workers {
    /// The webhook due for longest; nil if none is due. It is due again in a minute unless `finish` is called.
    package func takeWebhook() async throws(QueueError) -> DueWebhook? {
        try await database.ask(
            "SELECT batch_id, url, attempt, id, sent_at, payload FROM larder.take_webhook_v1()",
            repeating: .onlyUndone, maxWait: .zero
        ) { rows throws(QueueError) in
            guard rows.count > 0 else { return nil }
            return DueWebhook(
                batch: rows.integer(0, 0) ?? 0, url: rows.text(0, 1) ?? "", attempt: Int(rows.integer(0, 2) ?? 0),
                id: rows.text(0, 3) ?? "", sentAt: rows.integer(0, 4) ?? 0, payload: rows.text(0, 5) ?? "")
        }
    }

    /// Records the attempt: delivered if `error` is nil, otherwise due again later.
    package func finish(_ webhook: DueWebhook, status: Int?, error: String?) async throws(QueueError) {
        try await database.ask(
            "SELECT larder.webhook_done_v1($1, $2::int, $3::int, $4)",
            [
                .integer(webhook.batch), .integer(Int64(webhook.attempt)), .integer(status.map(Int64.init)),
                .text(error),
            ], cancellation: .never
        ) { _ throws(QueueError) in }
    }

    /// Runs the schedule due for longest; false if none is due. Throws `.refused` if it enqueued nothing.
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
