/// What the queues did in one slot of time, in items of all batches.
package struct HistorySlot: Sendable {
    /// When it starts: ISO 8601 in UTC.
    package let at: String
    /// Items.
    package let enqueued: Int, succeeded: Int, failed: Int, cancelled: Int
    /// Body bytes received.
    package let bytesIn: Int
    /// The open items at its end.
    package let open: Int
}

/// The key figures of all queues.
package struct QueueOverview: Sendable {
    /// Items that are not finished, and jobs that run.
    package let open: Int, running: Int
    /// Workers that are live.
    package let liveWorkers: Int
    /// Items that ended per second, in this minute and the one before.
    package let rate: Double
    /// Items of the last 24 hours.
    package let succeededInDay: Int, failedInDay: Int
}

/// What an origin answered lately.
package struct OriginActivity: Sendable {
    /// Scheme, host and port.
    package let origin: String
    /// Jobs that ended, and how many of them failed.
    package let jobs: Int, failed: Int
    /// Jobs that ended per minute, from the first of them until now.
    package let perMinute: Double
    /// The median time of a download in ms; nil without one.
    package let fetchMs: Int?
    /// Body bytes received.
    package let bytesIn: Int
    /// The most frequent error; nil without one.
    package let error: ErrorCount?
}

extension PostgresJobQueue.Reports {
    /// The last `minutes` in slots of `slot` minutes, oldest first; slots without any row of counts included.
    ///
    /// The depth is the present one less what changed since, from the counts per minute. At most `minutes` rows are read.
    package func history(minutes: Int, slot: Int) async throws(QueueError) -> [HistorySlot] {
        try await database.read(
            """
            WITH slot AS (
                SELECT g.at, coalesce(sum(t.enqueued), 0)::bigint AS enqueued, coalesce(sum(t.succeeded), 0)::bigint AS succeeded,
                    coalesce(sum(t.failed), 0)::bigint AS failed, coalesce(sum(t.cancelled), 0)::bigint AS cancelled,
                    coalesce(sum(t.reopened), 0)::bigint AS reopened, coalesce(sum(t.bytes_in), 0)::bigint AS bytes_in
                FROM generate_series(0, $1::int / $2::int - 1) AS n,
                    LATERAL (SELECT date_bin($2::int * interval '1 min', statement_timestamp(), '2000-01-01')
                        - n * $2::int * interval '1 min' AS at) AS g
                LEFT JOIN larder.throughput t ON t.minute >= statement_timestamp() - ($1::int + $2::int) * interval '1 min'
                    AND date_bin($2::int * interval '1 min', t.minute, '2000-01-01') = g.at
                GROUP BY g.at)
            SELECT \(Self.iso("at")), enqueued, succeeded, failed, cancelled, bytes_in,
                greatest(0, (SELECT coalesce(sum(q.open_items), 0) FROM larder.queue q) - coalesce(sum(
                    enqueued + reopened - succeeded - failed - cancelled) OVER (
                    ORDER BY at DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0))::bigint
            FROM slot ORDER BY at
            """, [.integer(Int64(minutes)), .integer(Int64(slot))]
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                HistorySlot(
                    at: rows.text(row, 0) ?? "", enqueued: rows.count(row, 1), succeeded: rows.count(row, 2),
                    failed: rows.count(row, 3), cancelled: rows.count(row, 4), bytesIn: rows.count(row, 5),
                    open: rows.count(row, 6))
            }
        }
    }

    /// The key figures. It reads the rows of the queues and of the counts per minute of a day.
    package func overview() async throws(QueueError) -> QueueOverview {
        try await database.read(
            """
            SELECT q.open, q.running, q.workers, t.recent / (60 + extract(second FROM statement_timestamp()))::float8,
                t.succeeded, t.failed
            FROM (
                SELECT sum(x.open_items)::bigint AS open, sum(x.running)::bigint AS running,
                    max(x.live_workers)::bigint AS workers
                FROM larder.queue x) AS q, (
                SELECT coalesce(sum(x.finished) FILTER (
                        WHERE x.minute >= date_trunc('minute', statement_timestamp()) - interval '1 min'), 0)::float8 AS recent,
                    coalesce(sum(x.succeeded), 0)::bigint AS succeeded, coalesce(sum(x.failed), 0)::bigint AS failed
                FROM larder.throughput x WHERE x.minute > statement_timestamp() - interval '1 day') AS t
            """
        ) { rows throws(QueueError) in
            QueueOverview(
                open: rows.count(0, 0), running: rows.count(0, 1), liveWorkers: rows.count(0, 2),
                rate: rows.number(0, 3) ?? 0, succeededInDay: rows.count(0, 4), failedInDay: rows.count(0, 5))
        }
    }

    /// The origins of the jobs that ended within an hour, among the newest `limit` jobs that ended; the busiest 100.
    package func originActivity(limit: Int = 5_000) async throws(QueueError) -> [OriginActivity] {
        try await database.read(
            """
            WITH job AS MATERIALIZED (SELECT * FROM larder.recent_jobs($1::int)),
            error AS (
                SELECT DISTINCT ON (origin) origin, domain, code, count(*) AS n FROM job WHERE is_failed
                GROUP BY origin, domain, code ORDER BY origin, count(*) DESC, domain, code)
            SELECT j.origin, count(*), count(*) FILTER (WHERE j.is_failed),
                count(*) * 60 / greatest(extract(epoch FROM statement_timestamp() - min(j.finished_at)), 60)::float8,
                percentile_disc(0.5) WITHIN GROUP (ORDER BY j.fetch_ms), sum(j.bytes_in)::bigint,
                e.domain, e.code, e.n
            FROM job j LEFT JOIN error e ON e.origin = j.origin
            GROUP BY j.origin, e.domain, e.code, e.n ORDER BY count(*) DESC, j.origin LIMIT 100
            """, [.integer(Int64(limit))]
        ) { rows throws(QueueError) in
            (0..<rows.count).map { row in
                OriginActivity(
                    origin: rows.text(row, 0) ?? "", jobs: rows.count(row, 1), failed: rows.count(row, 2),
                    perMinute: rows.number(row, 3) ?? 0,
                    fetchMs: rows.integer(row, 4).map(Int.init), bytesIn: rows.count(row, 5),
                    error: rows.text(row, 6).map {
                        ErrorCount(domain: $0, code: rows.count(row, 7), items: rows.count(row, 8))
                    })
            }
        }
    }

    /// What live workers do now: of at most 100 workers the eight jobs that each holds longest.
    package func workersJobs() async throws(QueueError) -> [RunningJob] {
        try await running(
            """
            (SELECT r.* FROM (SELECT w.worker FROM larder.worker w WHERE w.state = 'live' ORDER BY w.worker DESC LIMIT 100) AS w
             CROSS JOIN LATERAL (
                SELECT x.* FROM larder.running x WHERE x.worker = w.worker ORDER BY x.claimed_at, x.job_id LIMIT 8) AS r)
            """)
    }
}

extension Rows {
    /// A whole number; 0 for NULL.
    fileprivate func count(_ row: Int, _ column: Int) -> Int { Int(integer(row, column) ?? 0) }
}
