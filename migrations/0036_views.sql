-- Views for people and programs.
--
-- Progress is read from the ledger and costs the same for ten jobs and ten million. Values that need their own query,
-- such as quantiles and errors, are functions, evaluated only for the selected rows and columns. Times are
-- statement_timestamp(): the volatile clock_timestamp() would prevent the planner from omitting unselected columns.
--
-- A view reads tables with its owner's rights, but a function that it calls has the reader's rights. Such functions are
-- SECURITY DEFINER; no reader can call them directly, see larder_data.secure().

-- The times in ms from claim to completion within which these shares of a batch's succeeded jobs ran. Class c holds n
-- jobs of 2^(c/2) to 2^((c+1)/2) ms, assumed to be distributed evenly on the logarithmic scale.
CREATE FUNCTION larder_data.quantiles(batch_id bigint, shares numeric[]) RETURNS numeric[]
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        WITH class AS MATERIALIZED (
            SELECT x.code, sum(x.n) AS n, sum(sum(x.n)) OVER (ORDER BY x.code) AS until, sum(sum(x.n)) OVER () AS total
            FROM (
                SELECT d.code, d.n FROM larder_data.batch_detail d
                WHERE d.batch_id = quantiles.batch_id AND d.domain IS NULL
                UNION ALL SELECT d.duration_class, d.jobs FROM larder_data.batch_delta d
                WHERE d.batch_id = quantiles.batch_id AND d.duration_class IS NOT NULL
            ) AS x GROUP BY x.code HAVING sum(x.n) > 0
        )
        SELECT array_agg((
            SELECT round(power(2, (c.code + 1 - (c.until - share * c.total) / c.n) / 2), 1)
            FROM class c WHERE c.until >= share * c.total ORDER BY c.code LIMIT 1) ORDER BY place)
        FROM unnest(shares) WITH ORDINALITY AS s (share, place));
END $$;

-- From the ledger, so its rows are few and of one batch.
CREATE VIEW larder.batch_error AS
SELECT x.batch_id, x.domain, x.code, sum(x.n)::bigint AS items
FROM (
    SELECT d.batch_id, d.domain, d.code, d.n FROM larder_data.batch_detail d WHERE d.domain IS NOT NULL
    UNION ALL SELECT d.batch_id, d.domain, d.code, d.failed FROM larder_data.batch_delta d WHERE d.domain IS NOT NULL
) AS x GROUP BY x.batch_id, x.domain, x.code HAVING sum(x.n) > 0;
COMMENT ON VIEW larder.batch_error IS
    'How many items of a batch failed with which error and were not retried since. Select one batch_id.';

CREATE FUNCTION larder_data.top_errors(batch_id bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN (
        SELECT coalesce(json_agg(json_build_object('domain', e.domain, 'code', e.code, 'n', e.items)
            ORDER BY e.items DESC, e.domain, e.code), '[]')
        FROM (
            SELECT * FROM larder.batch_error x WHERE x.batch_id = top_errors.batch_id
            ORDER BY x.items DESC, x.domain, x.code LIMIT 5) AS e);
END $$;

CREATE VIEW larder.progress AS
SELECT b.batch_id, b.name AS batch, b.run, b.owner,
    CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled'
         WHEN e.ended_at IS NOT NULL THEN 'finished'
         WHEN b.paused_at IS NOT NULL THEN 'paused'
         WHEN b.sealed_at IS NOT NULL THEN 'sealed' ELSE 'open' END AS state,
    b.total, b.open, f.finished, b.failed + b.cancelled AS skipped, b.succeeded, b.failed, b.cancelled,
    b.fresh, b.blocked, b.invalid, b.joined, b.retries, b.downloads, b.variants, b.bytes_in, b.bytes_out,
    CASE WHEN b.total = 0 THEN 100 ELSE round(f.finished * 100.0 / b.total, 1) END AS percent,
    r.rate,
    CASE WHEN b.paused_at IS NULL AND b.open > 0 AND r.rate > 0
         THEN make_interval(secs => round(b.open / r.rate)::double precision) END AS eta,
    (larder_data.quantiles(b.batch_id, '{0.5}'))[1] AS p50_ms,
    (larder_data.quantiles(b.batch_id, '{0.95}'))[1] AS p95_ms,
    larder_data.top_errors(b.batch_id) AS top_errors,
    round(t.seconds, 3) AS seconds, b.created_at, b.sealed_at, e.ended_at AS finished_at,
    b.paused_at, b.paused_by
FROM larder_data.ledger b
CROSS JOIN LATERAL (SELECT b.succeeded + b.failed + b.cancelled AS finished,
    b.succeeded + b.failed - b.fresh - b.blocked - b.invalid AS worked) AS f
-- Maintenance stores the same time in finished_at.
CROSS JOIN LATERAL (SELECT CASE WHEN b.finished_at IS NOT NULL THEN b.finished_at
    WHEN b.cancelled_at IS NOT NULL
        OR b.sealed_at IS NOT NULL AND b.open = 0
            AND NOT larder_data.is_being_added_to(b.batch_id, pg_current_snapshot())
    THEN coalesce(b.cancelled_at, greatest(b.sealed_at, b.last_at)) END AS ended_at) AS e
CROSS JOIN LATERAL (
    SELECT extract(epoch FROM coalesce(e.ended_at, statement_timestamp()) - b.created_at) AS seconds) AS t
CROSS JOIN LATERAL (
    SELECT round((CASE WHEN e.ended_at IS NOT NULL OR t.seconds < 30
        THEN f.worked / greatest(t.seconds, 0.001)
        ELSE larder_data.rate_after(b.rate, statement_timestamp() - b.folded_at, greatest(f.worked - b.folded, 0))
        END)::numeric, 2) AS rate) AS r
-- Hides daily default batches without any URL.
WHERE ((SELECT larder_data.reads_all()) OR b.owner = ANY (ARRAY(SELECT larder_data.own_roles())))
  AND (b.daily IS NULL OR b.total > 0);
COMMENT ON VIEW larder.progress IS
    'Progress of each batch in items, exact at this instant: total = open + finished. finished, skipped (ended with '
    'an error) and total are the counts of SDWebImage''s prefetcher.';

-- In a cancelled batch no item is open. One lookup of totals per batch and one pass over the ledger's few new entries:
-- batch by batch, the ledger would search for each one's entries.
CREATE FUNCTION larder_data.open_items(queue_id smallint) RETURNS bigint
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN (
        WITH unfinished AS MATERIALIZED (
            SELECT b.id FROM larder_data.batch b
            WHERE b.queue_id = open_items.queue_id AND b.finished_at IS NULL AND b.cancelled_at IS NULL
              AND NOT b.is_deleted
            ORDER BY b.id DESC LIMIT 10000)
        SELECT coalesce(sum(x.open), 0)::bigint FROM (
            SELECT t.open FROM unfinished u, LATERAL (
                SELECT y.total - y.succeeded - y.failed - y.cancelled AS open
                FROM larder_data.batch_total y WHERE y.batch_id = u.id OFFSET 0) AS t
            UNION ALL
            SELECT d.total - d.succeeded - d.failed - d.cancelled FROM larder_data.batch_delta d
            WHERE d.batch_id IN (SELECT u.id FROM unfinished u)) AS x);
END $$;

CREATE VIEW larder.queue AS
SELECT q.name AS queue, q.lifo, q.low_priority_every, q.job_timeout, q.keep_history, q.max_running, q.max_rate,
    q.paused_at, n.running,
    CASE WHEN n.running >= q.max_running THEN 'max_running'
        WHEN (
            SELECT larder_data.tokens_at(l.tokens, l.updated_at, q.max_rate, statement_timestamp()) < 1
            FROM larder_data.claim_limit l WHERE l.queue_id = q.id) THEN 'max_rate' END AS limit_reached,
    EXISTS (SELECT FROM larder_data.ready r WHERE r.lane BETWEEN q.id * 10 AND q.id * 10 + 9) AS has_ready,
    (SELECT statement_timestamp() - min(j.created_at) FROM generate_series(0, 9) AS any_priority (p),
        LATERAL (
            SELECT r.job_id FROM larder_data.ready r
            WHERE r.lane = q.id * 10 + any_priority.p ORDER BY r.turn, r.job_id LIMIT 1) AS r,
        LATERAL (SELECT x.created_at FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j) AS oldest_ready,
    larder_data.open_items(q.id) AS open_items,
    (SELECT count(*) FROM larder_data.live_worker w WHERE w.stopped_at IS NULL
        AND w.heartbeat_at + w.lease_ms * interval '1 ms' >= statement_timestamp()
        AND (w.queue_id IS NULL OR w.queue_id = q.id)) AS live_workers
FROM larder_data.queue q
CROSS JOIN LATERAL (SELECT larder_data.running_in(q.id, greatest(10000, q.max_running)) AS running) AS n;
COMMENT ON VIEW larder.queue IS
    'The queues. running: at most 10,000 or max_running. open_items: of the 10,000 newest unfinished batches. '
    'oldest_ready: time since the enqueue. live_workers: those that claim from this queue, or from any.';

CREATE VIEW larder.worker AS
SELECT w.id AS worker, w.name, w.host, w.pid, w.version, w.slots,
    (SELECT c.name FROM larder_data.cache c WHERE c.id = w.cache_id) AS cache_id, w.started_at, w.heartbeat_at,
    w.stopped_at, CASE WHEN w.stopped_at IS NOT NULL THEN 'stopped'
        WHEN w.heartbeat_at + w.lease_ms * interval '1 ms' < statement_timestamp() THEN 'lost'
        ELSE 'live' END AS state,
    (SELECT count(*) FROM larder_data.running r
     WHERE r.worker_id = w.id AND r.claim_no >= w.oldest_claim AND w.rescued_at IS NULL) AS running,
    (SELECT f.message FROM larder_data.worker_fault f WHERE f.worker_id = w.id AND w.stopped_at IS NULL) AS fault,
    (SELECT q.name FROM larder_data.queue q WHERE q.id = w.queue_id) AS queue
FROM larder_data.current_worker w;
COMMENT ON VIEW larder.worker IS
    'The workers of the last day: live, lost or stopped. fault: what it lacks that every job needs. queue: from which '
    'it claims; NULL: any.';

-- The batch's name is looked up instead of joined: a join may read all batches, and the rows of one worker are few.
CREATE VIEW larder.running AS
SELECT r.job_id, r.worker_id AS worker, w.name AS worker_name, j.batch_id,
    (SELECT b.name FROM larder_data.batch b WHERE b.id = j.batch_id) AS batch, j.attempt + 1 AS attempt, j.max_attempts,
    j.priority, r.claimed_at, statement_timestamp() - r.claimed_at AS running_for, j.cancelled_at, j.url, j.meta
FROM larder_data.running r JOIN larder_data.job j ON j.id = r.job_id
LEFT JOIN larder_data.current_worker w ON w.id = r.worker_id;
COMMENT ON VIEW larder.running IS 'Running jobs. cancelled_at: the next heartbeat informs the worker.';

CREATE VIEW larder.suspended AS
SELECT s.job_id, s.reason, s.suspended_at, j.batch_id,
    (SELECT b.name FROM larder_data.batch b WHERE b.id = j.batch_id) AS batch, j.rescues, j.url
FROM larder_data.suspended s JOIN larder_data.job j ON j.id = s.job_id;
COMMENT ON VIEW larder.suspended IS
    'Suspended jobs. reason: paused, cancelled, or crashed (lost with too many workers).';

CREATE VIEW larder.blocklist AS
SELECT b.url, b.until, b.fails, b.domain, b.code, b.message, b.http_status, b.first_at, b.last_at,
    CASE WHEN b.operator_until > now() THEN b.operator_until END AS operator_until
FROM larder_data.blocklist b WHERE b.until > now();
COMMENT ON VIEW larder.blocklist IS
    'The URLs that are blocked, with their last error. operator_until: an operator blocked the URL until then.';

CREATE VIEW larder.throughput AS
SELECT t.at AS minute, sum(t.enqueued)::bigint AS enqueued, sum(t.finished)::bigint AS finished,
    sum(t.succeeded)::bigint AS succeeded, sum(t.failed)::bigint AS failed, sum(t.cancelled)::bigint AS cancelled,
    sum(t.reopened)::bigint AS reopened, sum(t.retries)::bigint AS retries,
    sum(t.downloads)::bigint AS downloads, sum(t.variants)::bigint AS variants,
    sum(t.bytes_in)::bigint AS bytes_in, sum(t.bytes_out)::bigint AS bytes_out,
    round(sum(t.finished) / s.seconds, 2) AS items_per_second,
    round(sum(t.bytes_in) / s.seconds) AS bytes_in_per_second,
    round(sum(t.bytes_out) / s.seconds) AS bytes_out_per_second
FROM (
    SELECT x.at, x.bytes_in, x.bytes_out, x.enqueued, x.succeeded, x.failed, x.cancelled,
        x.succeeded + x.failed + x.cancelled AS finished, x.reopened, x.retries, x.downloads, x.variants
    FROM larder_data.throughput x
    UNION ALL
    SELECT date_trunc('minute', statement_timestamp()), sum(d.bytes_in), sum(d.bytes_out), sum(d.total),
        sum(d.succeeded), sum(greatest(d.failed, 0)), sum(d.cancelled),
        sum(d.succeeded + greatest(d.failed, 0) + d.cancelled), sum(greatest(-d.failed, 0)), sum(d.retries),
        sum(d.downloads), sum(d.variants)
    FROM larder_data.batch_delta d HAVING count(*) > 0
) AS t
CROSS JOIN LATERAL (SELECT least(greatest(extract(epoch FROM statement_timestamp() - t.at), 1), 60) AS seconds) AS s
GROUP BY t.at, s.seconds;
COMMENT ON VIEW larder.throughput IS
    'Items per minute of the last 30 days, of all batches. reopened: failed items that were retried. A minute without '
    'any has no row.';

CREATE VIEW larder.pipeline AS
SELECT p.id AS pipeline_id, p.name, p.version, p.owner, p.spec, p.created_at,
    NOT EXISTS (SELECT FROM larder_data.pipeline x WHERE x.name = p.name AND x.version > p.version) AS newest
FROM larder_data.pipeline p WHERE p.retired_on IS NULL;
COMMENT ON VIEW larder.pipeline IS 'The versions of all pipelines. newest: the one that an enqueue by name uses.';

CREATE VIEW larder.maintenance AS
SELECT t.task, t.kind, t.every, t.next_at, t.failed_at, t.last_error FROM larder_data.current_task t
WHERE t.kind <> 'call' ORDER BY t.place;
COMMENT ON VIEW larder.maintenance IS 'The maintenance tasks, when each is next due, and its error while it fails.';

