import Concurrency
import FoundationEssentials
import ImageModel

extension PostgresJobQueue.Reports {
    /// Statistics of batches from their newest `limit` jobs. Reads each record once.
    package func statistics(of batches: [Int64], limit: Int = 1_000_000) async throws(QueueError) -> BatchStatistics {
        try await statistics(Self.statistics, [.integers(batches), .integer(Int64(max(0, limit)))] + budgets())
    }

    /// The statistics that come from a batch's newest `jobs` completed jobs, including retried ones, and as many failed
    /// items without a job. Variants come from the newest `files` jobs. The cost does not depend on the batch's size.
    package func sample(of batch: Int64, jobs: Int, files: Int) async throws(QueueError) -> BatchStatistics {
        try await statistics(
            Self.sample, [.integer(batch), .integer(Int64(jobs))] + budgets() + [.integer(Int64(files))])
    }

    /// The budgets of the variants of the pipelines that were added last: ids, names and bytes.
    private func budgets() async throws(QueueError) -> [Parameter] {
        let found = try await recentPipelines().flatMap { stored in
            // SQL stores any JSON.
            ((try? Pipeline(json: stored.spec.utf8))?.variants ?? []).compactMap { variant in
                variant.budget.map { (pipeline: Int64(stored.id), variant: variant.name, bytes: Int64($0)) }
            }
        }
        return [.integers(found.map(\.pipeline)), .texts(found.map(\.variant)), .integers(found.map(\.bytes))]
    }

    private func statistics(_ sql: String, _ parameters: [Parameter]) async throws(QueueError) -> BatchStatistics {
        try await database.read(sql, parameters) { rows throws(QueueError) in
            do {
                return try JSONDecoder().decode(BatchStatistics.self, from: Data((rows.text(0, 0) ?? "").utf8))
            } catch {
                throw QueueError(.unexpectedAnswer, "the statistics of a batch are not the JSON that is expected")
            }
        }
    }

    /// Aggregates of `job` (job records), `failure` (failures, including items without a job) and `file` (jobs' files).
    /// `span`: when the first job ended, and the slot length: the first round number that gives at most 61 slots.
    private static let parts =
        """
        span AS (
            SELECT start, coalesce((SELECT min(n) FROM unnest('{100,200,500,1000,2000,5000,10000,15000,30000,60000,
                120000,300000,600000,900000,1800000,3600000,7200000,14400000,43200000}'::int[]) AS n WHERE n >= s.ms),
                ceil(s.ms))::int AS ms
            FROM (
                SELECT min(finished_at) AS start,
                    coalesce(extract(epoch FROM max(finished_at) - min(finished_at)) * 1000 / 60, 0) AS ms
                FROM job) AS s),
        slot AS (
            SELECT floor(extract(epoch FROM j.finished_at - s.start) * 1000 / s.ms)::int AS slot,
                coalesce(sum(j.items) FILTER (WHERE j.outcome = 'succeeded'), 0) AS succeeded,
                coalesce(sum(j.items) FILTER (WHERE j.outcome <> 'succeeded'), 0) AS skipped,
                coalesce(avg(\(waits)) FILTER (WHERE j.outcome = 'succeeded'), 0)::int AS wait,
                coalesce(avg(j.fetch_ms) FILTER (WHERE j.outcome = 'succeeded'), 0)::int AS fetch,
                coalesce(avg(j.transcode_ms) FILTER (WHERE j.outcome = 'succeeded'), 0)::int AS transcode,
                coalesce(avg(j.store_ms) FILTER (WHERE j.outcome = 'succeeded'), 0)::int AS store
            FROM job j, span s GROUP BY 1),
        stage AS (
            SELECT t.place, t.stage, percentile_disc('{0.5,0.95,0.99}'::float8[]) WITHIN GROUP (ORDER BY t.ms) AS p
            FROM job j, LATERAL (VALUES (1, 'wait', j.wait_ms), (2, 'dns', j.dns_ms),
                (3, 'connection_wait', j.connection_wait_ms), (4, 'fetch', j.fetch_ms),
                (5, 'transcoder_wait', j.transcoder_wait_ms), (6, 'transcode', j.transcode_ms),
                (7, 'store', j.store_ms)) AS t (place, stage, ms)
            WHERE j.outcome = 'succeeded' GROUP BY t.place, t.stage),
        origin AS (
            SELECT origin, sum(items) AS items, coalesce(sum(items) FILTER (WHERE outcome = 'failed'), 0) AS failed,
                sum(bytes_in) AS bytes, percentile_disc(0.5) WITHIN GROUP (ORDER BY fetch_ms) AS ms,
                coalesce(avg(\(waits)) FILTER (WHERE outcome = 'succeeded'), 0)::int AS wait,
                coalesce(avg(fetch_ms) FILTER (WHERE outcome = 'succeeded'), 0)::int AS fetch,
                coalesce(avg(transcode_ms) FILTER (WHERE outcome = 'succeeded'), 0)::int AS transcode,
                coalesce(avg(store_ms) FILTER (WHERE outcome = 'succeeded'), 0)::int AS store
            FROM job j WHERE origin IS NOT NULL GROUP BY origin),
        slow AS (
            SELECT url, \(waits) AS wait, coalesce(fetch_ms, 0) AS fetch,
                coalesce(transcode_ms, 0) AS transcode, coalesce(store_ms, 0) AS store
            FROM job j WHERE fetch_ms IS NOT NULL
            ORDER BY \(waits) + fetch_ms + coalesce(transcode_ms, 0) + coalesce(store_ms, 0) DESC, number
            LIMIT 10),
        large AS (SELECT url, bytes_in FROM job WHERE bytes_in > 0 ORDER BY bytes_in DESC, number LIMIT 10),
        stored AS MATERIALIZED (
            SELECT file.pipeline_id, v.* FROM file, LATERAL (
                -- A load may store variants alone.
                SELECT f.*, max(f.bytes) FILTER (WHERE f.name IS NULL) OVER () AS original
                FROM json_to_recordset(file.stored) AS f (
                    name text, format text, bytes bigint, path text, origin text)) AS v
            WHERE v.path IS NOT NULL),
        variant AS (
            SELECT v.name, count(*) AS files, count(*) FILTER (WHERE v.origin IN ('transcoded', 'copied')) AS made,
                coalesce(sum(v.bytes), 0) AS bytes, coalesce(sum(v.original), 0) AS originals,
                max(b.bytes) AS budget, count(*) FILTER (WHERE v.bytes > b.bytes) AS "overBudget"
            FROM stored v LEFT JOIN unnest($3::bigint[], $4::text[], $5::bigint[]) AS b (pipeline_id, name, bytes)
                ON b.pipeline_id = v.pipeline_id AND b.name = v.name
            WHERE v.name IS NOT NULL GROUP BY v.name ORDER BY v.name LIMIT 50),
        format AS (
            SELECT coalesce(format, 'unknown') AS format, count(*) FILTER (WHERE name IS NULL) AS originals,
                coalesce(sum(bytes) FILTER (WHERE name IS NULL), 0) AS "originalBytes", count(name) AS variants,
                coalesce(sum(bytes) FILTER (WHERE name IS NOT NULL), 0) AS "variantBytes"
            FROM stored GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 20),
        cause AS (
            SELECT domain, code, http_status, sum(items) AS items, count(DISTINCT origin) AS origins,
                (array_agg(message ORDER BY number))[1] AS message,
                (array_agg(url ORDER BY number))[1:5] AS examples
            FROM failure GROUP BY domain, code, http_status
            ORDER BY sum(items) DESC, domain, code, http_status LIMIT 50),
        cause_origin AS MATERIALIZED (
            SELECT * FROM (
                SELECT domain, code, http_status, origin, sum(items) AS items,
                    row_number() OVER (PARTITION BY domain, code, http_status ORDER BY sum(items) DESC, origin) AS place
                FROM failure WHERE origin IS NOT NULL GROUP BY domain, code, http_status, origin) AS o
            WHERE place <= 5)
        """

    /// A job's total waiting time in ms.
    private static let waits =
        """
        (coalesce(j.wait_ms, 0) + coalesce(j.dns_ms, 0) + coalesce(j.connection_wait_ms, 0)
            + coalesce(j.transcoder_wait_ms, 0))
        """

    /// Members of the result, from `parts`.
    private static let members =
        """
        'startedAt', (SELECT to_char(start AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') FROM span),
        'slotMilliseconds', (SELECT coalesce(max(ms), 100) FROM span),
        'timeline', (SELECT coalesce(json_agg(row_to_json(s) ORDER BY s.slot), '[]') FROM slot AS s),
        'stages', (SELECT coalesce(json_agg(json_build_object(
            'stage', stage, 'p50', p[1], 'p95', p[2], 'p99', p[3]) ORDER BY place), '[]') FROM stage),
        'originCount', (SELECT count(*) FROM origin),
        'origins', (SELECT coalesce(json_agg(json_build_object('origin', origin, 'items', items, 'failed', failed,
            'bytesIn', bytes, 'fetchMs', ms, 'wait', o.wait, 'fetch', o.fetch,
            'transcode', o.transcode, 'store', o.store)
            ORDER BY failed DESC, items DESC, origin), '[]')
            FROM (SELECT * FROM origin ORDER BY failed DESC, items DESC, origin LIMIT 20) AS o),
        'slowest', (SELECT coalesce(json_agg(row_to_json(slow)), '[]') FROM slow),
        'largest', (SELECT coalesce(json_agg(json_build_object('url', url, 'bytes', bytes_in)), '[]') FROM large),
        'variants', (SELECT coalesce(json_agg(row_to_json(variant)), '[]') FROM variant),
        'formats', (SELECT coalesce(json_agg(row_to_json(f)), '[]') FROM format AS f),
        'causes', (SELECT coalesce(json_agg(json_build_object('domain', coalesce(domain, ''), 'code',
            coalesce(code, 0), 'status', http_status, 'message', coalesce(message, ''), 'items', items,
            'origins', origins, 'examples', examples, 'byOrigin', (
                SELECT coalesce(json_agg(json_build_object('origin', o.origin, 'items', o.items)
                    ORDER BY o.place), '[]')
                FROM cause_origin o WHERE (o.domain, o.code) = (c.domain, c.code)
                    AND o.http_status IS NOT DISTINCT FROM c.http_status))), '[]') FROM cause c)
        """

    /// Reads the records through functions, so that it is planned without the history's partitions.
    private static let sample =
        """
        WITH newest AS MATERIALIZED (SELECT * FROM larder.batch_jobs($1, $2::int)),
        job AS MATERIALIZED (SELECT * FROM newest WHERE retried_as IS NULL AND items > 0),
        file AS (SELECT stored, pipeline_id FROM newest ORDER BY number DESC LIMIT $6),
        failure AS (
            SELECT number, url, domain, code, message, http_status, items, origin FROM job
            WHERE outcome = 'failed' AND discarded_at IS NULL
            UNION ALL
            SELECT number, url, domain, code, message, http_status, items, origin
            FROM larder.newest_failures($1, $2::int, only_items => true)),
        \(parts)
        SELECT json_build_object('records', (SELECT count(*) FROM newest), \(members), 'retries', '[]'::json,
            'blockCount', 0, 'blocks', '[]'::json, 'options', '[]'::json, 'workers', '[]'::json, 'pipelines', '[]'::json)
        """

    /// Reads the job records into `job` once, and the failures of items without a job; each part aggregates them.
    private static let statistics =
        """
        WITH job AS MATERIALIZED (
            SELECT number, url, outcome::text AS outcome, domain, code, message,
                http_status, attempts, items, finished_at, discarded_at, stored, pipeline_id, origin, wait_ms,
                connection_wait_ms, dns_ms, fetch_ms, transcoder_wait_ms, transcode_ms, store_ms, bytes_in, options, worker
            FROM larder.record
            WHERE batch_id = ANY ($1) AND kind = 'job' AND retried_as IS NULL AND items > 0
            ORDER BY number DESC LIMIT $2),
        file AS (SELECT stored, pipeline_id FROM job),
        failure AS (
            SELECT number, url, domain, code, message, http_status, items, origin, finished_at FROM job
            WHERE outcome = 'failed' AND discarded_at IS NULL
            UNION ALL
            (SELECT number, url, domain, code, message, http_status, items, origin, finished_at FROM larder.record
             WHERE batch_id = ANY ($1) AND kind = 'item' AND retried_as IS NULL AND outcome = 'failed' AND discarded_at IS NULL
             ORDER BY number LIMIT $2)),
        \(parts),
        -- Only attempts that were retried have a delay, which leaves job_history out of the plan.
        retry AS (
            SELECT a.domain, a.code, count(*) AS n FROM larder.attempt a
            WHERE a.delay_ms IS NOT NULL AND a.job_id IN (SELECT j.number FROM job j WHERE j.attempts > 1)
            GROUP BY a.domain, a.code ORDER BY count(*) DESC, a.domain, a.code LIMIT 10),
        block AS (
            SELECT b.url, b.until, b.fails, b.domain, b.code FROM larder.blocklist b
            WHERE b.operator_until IS NULL AND EXISTS (
                SELECT FROM failure f WHERE f.url = b.url AND f.domain = b.domain AND f.code = b.code
                    AND b.last_at >= f.finished_at)),
        option AS (
            SELECT options, sum(items) AS items FROM job GROUP BY options ORDER BY sum(items) DESC, options LIMIT 10),
        worker AS (
            SELECT w.worker, w.name, w.host, w.version, w.slots, count(*) AS jobs
            FROM job j JOIN larder.worker w ON w.worker = j.worker
            GROUP BY w.worker, w.name, w.host, w.version, w.slots ORDER BY count(*) DESC, w.worker LIMIT 10),
        pipeline AS (
            SELECT p.name, p.version, p.spec FROM larder.pipeline p
            WHERE p.pipeline_id IN (SELECT j.pipeline_id FROM job j) ORDER BY p.name, p.version LIMIT 10)
        SELECT json_build_object(
            'records', (SELECT count(*) FROM (
                SELECT FROM larder.record
                WHERE batch_id = ANY ($1) AND retried_as IS NULL AND (kind = 'item' OR items > 0) LIMIT $2) AS r),
            \(members),
            'retries', (SELECT coalesce(json_agg(row_to_json(retry)), '[]') FROM retry),
            'blockCount', (SELECT count(*) FROM block),
            'blocks', (SELECT coalesce(json_agg(json_build_object('url', url, 'domain', domain, 'code', code,
                'fails', fails, 'until', to_char(until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))
                ORDER BY url), '[]')
                FROM (SELECT * FROM block ORDER BY url LIMIT 10) AS b),
            'options', (SELECT coalesce(json_agg(row_to_json(option)), '[]') FROM option),
            'workers', (SELECT coalesce(json_agg(row_to_json(w)), '[]') FROM worker AS w),
            'pipelines', (SELECT coalesce(json_agg(json_build_object(
                'name', name, 'version', version, 'spec', spec::text)), '[]') FROM pipeline))
        """

    /// The newest batches opened within `age`, oldest first, at most `limit`.
    package func batches(openedWithin age: Duration, limit: Int = 1_000) async throws(QueueError) -> [Int64] {
        try await database.read(
            """
            SELECT batch_id FROM (
                SELECT batch_id FROM larder.progress WHERE created_at > statement_timestamp() - $1 * interval '1 ms'
                ORDER BY batch_id DESC LIMIT $2) AS newest ORDER BY batch_id
            """, [.integer(Int64(age.milliseconds)), .integer(Int64(limit))]
        ) { rows throws(QueueError) in (0..<rows.count).compactMap { rows.integer($0, 0) } }
    }
}
