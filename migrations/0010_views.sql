-- What people and programs read.
--
-- Progress comes from the ledger and costs the same for ten jobs and ten million. What takes a look of its own, such as
-- the quantiles and the errors, is a function: done only for the rows and columns that are asked for. Times are
-- statement_timestamp(), not clock_timestamp(): a volatile function would keep the planner from leaving out what is
-- not asked for.
--
-- Views read tables with their owner's rights, but what a function they call reads, it reads with the reader's: where
-- that is a table of larder_data, the function is SECURITY DEFINER. No reader can call it by itself, see 0011.

-- Class c holds n jobs of 2^(c/2) to 2^((c+1)/2) ms; within it they are taken to lie evenly on the logarithmic scale.
CREATE FUNCTION larder_data.quantiles(batch_id bigint, shares numeric[]) RETURNS numeric[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        WITH class AS MATERIALIZED (
            SELECT x.code, sum(x.n) AS n, sum(sum(x.n)) OVER (ORDER BY x.code) AS until, sum(sum(x.n)) OVER () AS total FROM (
                SELECT d.code, d.n FROM larder_data.batch_detail d WHERE d.batch_id = quantiles.batch_id AND d.domain IS NULL
                UNION ALL SELECT d.duration_class, d.jobs FROM larder_data.batch_delta d WHERE d.batch_id = quantiles.batch_id AND d.duration_class IS NOT NULL
            ) AS x GROUP BY x.code HAVING sum(x.n) > 0
        )
        SELECT array_agg((
            SELECT round(power(2, (c.code + 1 - (c.until - share * c.total) / c.n) / 2), 1)
            FROM class c WHERE c.until >= share * c.total ORDER BY c.code LIMIT 1) ORDER BY place)
        FROM unnest(shares) WITH ORDINALITY AS s (share, place));
END $$;
COMMENT ON FUNCTION larder_data.quantiles IS 'The times, in ms from claim to complete, within which these shares of a batch''s jobs that succeeded were done; NULLs when none is.';

CREATE FUNCTION larder_data.top_errors(batch_id bigint, most int) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        SELECT coalesce(json_agg(json_build_object('domain', e.domain, 'code', e.code, 'n', e.n) ORDER BY e.n DESC, e.domain, e.code), '[]') FROM (
            SELECT x.domain, x.code, sum(x.n)::bigint AS n FROM (
                SELECT d.domain, d.code, d.n FROM larder_data.batch_detail d WHERE d.batch_id = top_errors.batch_id AND d.domain IS NOT NULL
                UNION ALL SELECT d.domain, d.code, d.n FROM larder_data.batch_detail_delta d WHERE d.batch_id = top_errors.batch_id
            ) AS x GROUP BY x.domain, x.code HAVING sum(x.n) > 0 ORDER BY sum(x.n) DESC, x.domain, x.code LIMIT most) AS e);
END $$;
COMMENT ON FUNCTION larder_data.top_errors IS 'The most frequent errors of a batch: a JSON array of {domain, code, n}, n in items.';

CREATE VIEW larder.progress AS
SELECT b.batch_id, b.name AS batch,
    CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled'
         WHEN b.finished_at IS NOT NULL OR b.sealed_at IS NOT NULL AND b.total = f.finished THEN 'finished'
         WHEN b.paused_at IS NOT NULL THEN 'paused'
         WHEN b.sealed_at IS NOT NULL THEN 'sealed' ELSE 'open' END AS state,
    b.total, b.total - f.finished AS open, f.finished, b.failed + b.cancelled AS skipped, b.succeeded, b.failed, b.cancelled,
    b.fresh, b.blocked, b.invalid, b.joined, b.retries, b.downloads, b.variants, b.bytes_in, b.bytes_out,
    CASE WHEN b.total = 0 THEN 100 ELSE round(f.finished * 100.0 / b.total, 1) END AS percent,
    r.rate,
    CASE WHEN b.paused_at IS NULL AND b.total > f.finished AND r.rate > 0
         THEN make_interval(secs => round((b.total - f.finished) / r.rate)::double precision) END AS eta,
    (larder_data.quantiles(b.batch_id, '{0.5}'))[1] AS p50_ms, (larder_data.quantiles(b.batch_id, '{0.95}'))[1] AS p95_ms,
    larder_data.top_errors(b.batch_id, 5) AS top_errors,
    round(t.seconds, 3) AS seconds, b.created_at, b.sealed_at, b.finished_at
FROM larder_data.ledger b
CROSS JOIN LATERAL (SELECT b.succeeded + b.failed + b.cancelled AS finished) AS f
CROSS JOIN LATERAL (SELECT extract(epoch FROM coalesce(b.finished_at, statement_timestamp()) - b.created_at) AS seconds) AS t
CROSS JOIN LATERAL (
    SELECT round((CASE WHEN b.finished_at IS NOT NULL OR b.cancelled_at IS NOT NULL OR t.seconds < 30 THEN f.finished / greatest(t.seconds, 0.001)
        ELSE larder_data.rate_after(b.rate, statement_timestamp() - b.folded_at, greatest(f.finished - b.folded, 0)) END)::numeric, 2) AS rate) AS r;
COMMENT ON VIEW larder.progress IS
    'Where each batch stands, in items, exact at this instant: total = open + finished; finished, skipped (with an error) and total are SDWebImage''s prefetch counts. rate: finished items per second of late (mean over 30 s; over its life for a batch that is over or younger); eta: at that rate, NULL when nothing moves. p50_ms, p95_ms: from claim to complete, of those of this batch''s own jobs that succeeded, to within a few percent. top_errors: the five most frequent, with items.';

CREATE VIEW larder.queue AS
SELECT q.name AS queue, q.lifo, q.low_every, q.paused_at,
    EXISTS (SELECT FROM larder_data.ready r WHERE r.queue_id = q.id) AS has_ready,
    (SELECT statement_timestamp() - min(j.created_at) FROM generate_series(0, 9) AS lane (p),
        LATERAL (SELECT r.job_id FROM larder_data.ready r WHERE r.queue_id = q.id AND r.priority = lane.p ORDER BY r.job_id LIMIT 1) AS r,
        LATERAL (SELECT x.created_at FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j) AS oldest_ready,
    -- The few batches that are not finished, one by one.
    (SELECT coalesce(sum(l.open), 0)::bigint FROM larder_data.batch b, LATERAL (
        SELECT x.total - x.succeeded - x.failed - x.cancelled AS open FROM larder_data.ledger x WHERE x.batch_id = b.id OFFSET 0) AS l
     WHERE b.queue_id = q.id AND b.finished_at IS NULL) AS open_items,
    (SELECT count(*) FROM larder_data.worker w
     WHERE w.stopped_at IS NULL AND w.heartbeat_at + w.lease_ms * interval '1 ms' >= statement_timestamp()) AS live_workers
FROM larder_data.queue q;
COMMENT ON VIEW larder.queue IS
    'The queues, whether they have something to hand out, and their open items by the ledger. oldest_ready: how long ago the oldest job at the head of a priority was enqueued. live_workers: of all queues, for a worker may serve any.';

CREATE VIEW larder.worker AS
SELECT w.id AS worker, w.name, w.host, w.pid, w.version, w.slots,
    (SELECT c.name FROM larder_data.cache c WHERE c.id = w.cache_id) AS cache_id, w.started_at, w.heartbeat_at, w.stopped_at,
    CASE WHEN w.stopped_at IS NOT NULL THEN 'stopped'
         WHEN w.heartbeat_at + w.lease_ms * interval '1 ms' < statement_timestamp() THEN 'crashed' ELSE 'live' END AS state,
    (SELECT count(*) FROM larder_data.running r WHERE r.worker_id = w.id) AS running
FROM larder_data.worker w;
COMMENT ON VIEW larder.worker IS 'The workers of the last day: live, lost or stopped, and how many jobs each holds. cache_id: the random id of the cache that it fills.';

CREATE VIEW larder.running AS
SELECT r.job_id, r.worker_id AS worker, w.name AS worker_name, j.batch_id, j.attempt + 1 AS attempt, j.max_attempts, j.priority, r.claimed_at,
    statement_timestamp() - r.claimed_at AS running_for, j.cancelled_at AS cancelled_at, j.url
FROM larder_data.running r JOIN larder_data.job j ON j.id = r.job_id LEFT JOIN larder_data.worker w ON w.id = r.worker_id;
COMMENT ON VIEW larder.running IS 'The jobs that workers hold, and for how long. cancelled_at: the worker hears of it with its next heartbeat.';

CREATE VIEW larder.suspended AS
SELECT p.job_id, p.reason, p.suspended_at, j.batch_id, j.rescues, j.url FROM larder_data.suspended p JOIN larder_data.job j ON j.id = p.job_id;
COMMENT ON VIEW larder.suspended IS 'Jobs set aside: lost (with their worker too often; larder.retry or larder.cancel them), paused, cancelled.';

CREATE VIEW larder.blocklist AS
SELECT b.url, b.until, b.fails, b.domain, b.code, b.message, b.http_status, b.first_at, b.last_at
FROM larder_data.blocklist b WHERE b.until > now();
COMMENT ON VIEW larder.blocklist IS 'The URLs that enqueue answers `blocked`, and why.';

-- kind and number name one record, and either half can be paged by its index: ask for one batch, one kind, ORDER BY number.
CREATE VIEW larder.record AS
SELECT h.batch_id, 'job' AS kind, h.job_id AS number, h.job_id, h.url, h.outcome, h.domain, h.code, h.message, h.http_status,
    h.attempt AS attempts, h.items, h.finished_at, h.retried_as, h.discarded_at, h.stored
FROM larder_data.job_history h
UNION ALL
SELECT h.batch_id, 'item', h.id, h.job_id, h.url, h.outcome, h.domain, h.code, h.message, NULL, h.attempt, h.items, h.finished_at,
    h.retried_as, h.discarded_at, h.stored
FROM larder_data.item_history h;
COMMENT ON VIEW larder.record IS
    'What ended: jobs, and items that ended without a job of their batch. outcome: 1 succeeded, 2 failed, 3 cancelled. Ask for one batch_id, or one job_id of kind job.';

CREATE VIEW larder.failed AS
SELECT r.batch_id, r.kind, r.number, r.job_id, r.url, r.domain, r.code, r.message, r.http_status, r.attempts, r.items, r.finished_at
FROM larder.record r WHERE r.outcome = 2 AND r.retried_as IS NULL AND r.discarded_at IS NULL;
COMMENT ON VIEW larder.failed IS 'Dead letters: what failed and was neither retried nor dropped since, with its last error; ask for one batch_id.';

CREATE VIEW larder.throughput AS
SELECT m.at AS minute, sum(m.enqueued)::bigint AS enqueued, sum(m.succeeded + m.failed + m.cancelled)::bigint AS finished,
    sum(m.succeeded)::bigint AS succeeded, sum(m.failed)::bigint AS failed, sum(m.cancelled)::bigint AS cancelled, sum(m.retries)::bigint AS retries,
    sum(m.downloads)::bigint AS downloads, sum(m.variants)::bigint AS variants, sum(m.bytes_in)::bigint AS bytes_in, sum(m.bytes_out)::bigint AS bytes_out,
    round(sum(m.succeeded + m.failed + m.cancelled) / s.seconds, 2) AS items_per_second,
    round(sum(m.bytes_in) / s.seconds) AS bytes_in_per_second, round(sum(m.bytes_out) / s.seconds) AS bytes_out_per_second
FROM (
    SELECT x.at, x.bytes_in, x.bytes_out, x.enqueued, x.succeeded, x.failed, x.cancelled, x.retries, x.downloads, x.variants FROM larder_data.throughput x
    UNION ALL
    SELECT date_trunc('minute', statement_timestamp()), sum(d.bytes_in), sum(d.bytes_out), sum(d.total), sum(d.succeeded), sum(greatest(d.failed, 0)),
        sum(d.cancelled), sum(d.retries), sum(d.downloads), sum(d.variants)
    FROM larder_data.batch_delta d HAVING count(*) > 0
) AS m
CROSS JOIN LATERAL (SELECT least(greatest(extract(epoch FROM statement_timestamp() - m.at), 1), 60) AS seconds) AS s
GROUP BY m.at, s.seconds;
COMMENT ON VIEW larder.throughput IS
    'What the queue did per minute of the last 30 days, in items, all batches together; the present minute includes what is not folded yet, and its rates are those of its seconds so far. A minute in which nothing happened has no row.';

CREATE VIEW larder.pipeline AS
SELECT p.id AS pipeline_id, p.name, p.version, p.spec, p.created_at,
    NOT EXISTS (SELECT FROM larder_data.pipeline x WHERE x.name = p.name AND x.version > p.version) AS newest
FROM larder_data.pipeline p;
COMMENT ON VIEW larder.pipeline IS 'The versions of all pipelines; newest: what an enqueue by name takes.';

CREATE VIEW larder.maintenance AS
SELECT u.task, u.every, u.next_at, u.failed_at, u.last_error FROM larder_data.maintenance u ORDER BY u.place;
COMMENT ON VIEW larder.maintenance IS 'The maintenance tasks, when each is next due, and what it failed of, while it fails.';

CREATE FUNCTION larder.remaining(batch_id bigint DEFAULT NULL, queue text DEFAULT 'default')
RETURNS TABLE (has_ready boolean, has_running boolean, has_parked boolean, next_due_ms bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    asked bigint := remaining.batch_id;
    queue_no smallint;
BEGIN
    IF asked IS NULL THEN
        queue_no := larder_data.find_queue(remaining.queue);
        RETURN QUERY SELECT
            EXISTS (SELECT FROM larder_data.ready r WHERE r.queue_id = queue_no)
                AND EXISTS (SELECT FROM larder_data.queue q WHERE q.id = queue_no AND q.paused_at IS NULL),
            EXISTS (SELECT FROM larder_data.running r, LATERAL (
                SELECT FROM larder_data.job x WHERE x.id = r.job_id AND x.queue_id = queue_no OFFSET 0) AS j),
            EXISTS (SELECT FROM larder_data.suspended p, LATERAL (
                SELECT FROM larder_data.job x WHERE x.id = p.job_id AND x.queue_id = queue_no OFFSET 0) AS j),
            -- The first in order of time that is of this queue: the first one looked at, unless other queues wait too.
            (SELECT greatest(extract(epoch FROM d.run_at - clock_timestamp()) * 1000, 0)::bigint
             FROM larder_data.scheduled d, LATERAL (
                SELECT FROM larder_data.job x WHERE x.id = d.job_id AND x.queue_id = queue_no OFFSET 0) AS j
             ORDER BY d.run_at LIMIT 1);
    ELSE
        RETURN QUERY
        WITH mine AS MATERIALIZED (
            SELECT j.id, j.queue_id FROM larder_data.job j WHERE j.batch_id = asked AND j.items > 0
            UNION ALL SELECT j.id, j.queue_id FROM larder_data.job_subscriber f JOIN larder_data.job j ON j.id = f.job_id WHERE f.batch_id = asked
        )
        SELECT EXISTS (SELECT FROM larder_data.queue q, mine m, generate_series(0, 9) AS lane (p), LATERAL (
                SELECT FROM larder_data.ready x WHERE x.queue_id = m.queue_id AND x.priority = lane.p AND x.job_id = m.id OFFSET 0) AS r
                WHERE q.id = m.queue_id AND q.paused_at IS NULL)
                AND EXISTS (SELECT FROM larder_data.batch b WHERE b.id = asked AND b.paused_at IS NULL),
            EXISTS (SELECT FROM mine m JOIN larder_data.running r ON r.job_id = m.id),
            EXISTS (SELECT FROM mine m JOIN larder_data.suspended p ON p.job_id = m.id),
            (SELECT greatest(extract(epoch FROM d.run_at - clock_timestamp()) * 1000, 0)::bigint
             FROM mine m JOIN larder_data.scheduled d ON d.job_id = m.id ORDER BY d.run_at LIMIT 1);
    END IF;
END $$;
COMMENT ON FUNCTION larder.remaining IS
    'What is left of a batch, in whatever queue, or of a queue. has_ready: a worker could claim it now for this batch, so not what is ready in a paused queue or for a paused batch. Of a batch it reads the live jobs: ask larder.progress first, and this only when nothing moves.';

-- Of a few rows each, so autovacuum never counts them; the planner would take them for a thousand, and compile for that.
ANALYZE larder_data.settings, larder_data.queue, larder_data.retry_rule, larder_data.maintenance;
