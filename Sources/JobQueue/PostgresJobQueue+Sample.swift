import FoundationEssentials

extension PostgresJobQueue {
    /// What the newest `jobs` completed jobs of a batch, and as many failed items without a job, add to its counts; the
    /// sizes of variants are those of the newest `files` jobs.
    public func sample(of batch: Int64, jobs: Int, files: Int) async throws(QueueError) -> BatchSample {
        try await ask(Self.sample, [.integer(batch), .integer(Int64(jobs)), .integer(Int64(files))]) {
            rows throws(QueueError) in
            do {
                return try JSONDecoder().decode(BatchSample.self, from: Data((rows.text(0, 0) ?? "").utf8))
            } catch {
                throw QueueError(.unexpectedAnswer, "the sample of a batch is not the JSON that is expected")
            }
        }
    }

    /// The parts are those of `statistics`. Functions read the records, so this statement is planned without the
    /// partitions of history.
    private static let sample =
        """
        WITH newest AS MATERIALIZED (SELECT * FROM larder.batch_jobs($1, $2::int)),
        job AS MATERIALIZED (SELECT * FROM newest WHERE retried_as IS NULL AND items > 0),
        \(span),
        slot AS (
            SELECT floor(extract(epoch FROM j.finished_at - s.start) * 1000 / s.ms)::int AS slot,
                coalesce(sum(j.items) FILTER (WHERE j.outcome = 1), 0) AS succeeded,
                coalesce(sum(j.items) FILTER (WHERE j.outcome <> 1), 0) AS skipped
            FROM job j, span s GROUP BY 1),
        stage AS (
            SELECT percentile_disc('{0.5,0.95,0.99}'::float8[]) WITHIN GROUP (ORDER BY wait_ms) AS wait,
                percentile_disc('{0.5,0.95,0.99}'::float8[]) WITHIN GROUP (ORDER BY fetch_ms) AS fetch,
                percentile_disc('{0.5,0.95,0.99}'::float8[]) WITHIN GROUP (ORDER BY transcode_ms) AS transcode,
                percentile_disc('{0.5,0.95,0.99}'::float8[]) WITHIN GROUP (ORDER BY store_ms) AS store
            FROM job WHERE outcome = 1 HAVING count(*) > 0),
        origin AS (
            SELECT origin, sum(items) AS items, coalesce(sum(items) FILTER (WHERE outcome = 2), 0) AS failed,
                sum(bytes_in) AS bytes, percentile_disc(0.5) WITHIN GROUP (ORDER BY fetch_ms) AS ms
            FROM job GROUP BY origin),
        slow AS (
            SELECT url, coalesce(wait_ms, 0) AS wait, fetch_ms AS fetch, coalesce(transcode_ms, 0) AS transcode,
                coalesce(store_ms, 0) AS store
            FROM job WHERE fetch_ms IS NOT NULL
            ORDER BY coalesce(wait_ms, 0) + fetch_ms + coalesce(transcode_ms, 0) + coalesce(store_ms, 0) DESC, number
            LIMIT 10),
        large AS (SELECT url, bytes_in FROM job WHERE bytes_in > 0 ORDER BY bytes_in DESC, number LIMIT 10),
        failure AS (
            SELECT number, url, domain, code, message, http_status, items, origin FROM job
            WHERE outcome = 2 AND discarded_at IS NULL
            UNION ALL
            SELECT number, url, domain, code, message, NULL, items, NULL FROM larder.batch_failed_items($1, $2::int)),
        cause AS (
            SELECT domain, code, http_status, sum(items) AS items, count(DISTINCT origin) AS origins,
                (array_agg(message ORDER BY number))[1] AS message,
                (array_agg(url ORDER BY number))[1:5] AS examples
            FROM failure GROUP BY domain, code, http_status
            ORDER BY sum(items) DESC, domain, code, http_status LIMIT 50)
        SELECT json_build_object(
            'jobs', (SELECT count(*) FROM newest),
            'slotMilliseconds', (SELECT coalesce(max(ms), 100) FROM span),
            'timeline', (SELECT coalesce(json_agg(row_to_json(s) ORDER BY s.slot), '[]') FROM slot AS s),
            'stages', (SELECT coalesce(json_agg(json_build_object(
                'stage', v.stage, 'p50', v.p[1], 'p95', v.p[2], 'p99', v.p[3]) ORDER BY v.place), '[]')
                FROM stage s, LATERAL (VALUES (1, 'wait', s.wait), (2, 'fetch', s.fetch),
                    (3, 'transcode', s.transcode), (4, 'store', s.store)) AS v (place, stage, p)),
            \(originsAndJobs),
            'variants', (SELECT coalesce(json_agg(row_to_json(v)), '[]') FROM larder.batch_variants($1, $3::int) AS v),
            'causes', (SELECT coalesce(json_agg(json_build_object('domain', coalesce(domain, ''), 'code',
                coalesce(code, 0), 'status', http_status, 'message', coalesce(message, ''), 'items', items,
                'origins', origins, 'examples', examples, 'byOrigin', '[]'::json)), '[]') FROM cause))
        """
}
