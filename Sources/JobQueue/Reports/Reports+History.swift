/// Items of all batches in one time slot.
package struct HistorySlot: Sendable {
    /// Start of the slot, ISO 8601 in UTC.
    package let at: String
    package let enqueued: Int, succeeded: Int, failed: Int, cancelled: Int
    package let bytesIn: Int
    /// Open items at its end.
    package let open: Int
}

/// Key figures of all queues.
package struct QueueOverview: Sendable {
    /// Unfinished items, and running jobs.
    package let open: Int, running: Int
    package let liveWorkers: Int
    /// Items ended per second, in this and the previous minute.
    package let rate: Double
    /// Items of the last 24 hours.
    package let succeededInDay: Int, failedInDay: Int
}

/// Recent activity of one origin.
package struct OriginActivity: Sendable {
    package let origin: String
    /// Ended jobs, and how many of them failed.
    package let jobs: Int, failed: Int
    /// Ended jobs per minute, from the first one until now.
    package let perMinute: Double
    /// Median download time in ms; nil without one.
    package let fetchMs: Int?
    package let bytesIn: Int
    package let error: ErrorCount?
}

extension PostgresJobQueue.Reports {
    /// The last `minutes` in slots of `slot` minutes, oldest first, including empty slots.
    ///
    /// Computes the depth backwards from the present, by the counts per minute. Reads at most `minutes` rows.
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

    /// Reads the queues' rows and one day of counts per minute.
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

    /// Origins of the newest `limit` ended jobs within the last hour; the busiest 100.
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

    /// The eight longest-running jobs of each live worker, for at most 100 workers.
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
    /// 0 for NULL.
    fileprivate func count(_ row: Int, _ column: Int) -> Int { Int(integer(row, column) ?? 0) }
}
