-- What people and programs read. Progress comes from the ledger and costs the same for ten jobs and ten million; only
-- `queue` looks at places, and only whether there are any.

CREATE VIEW larder.progress AS
SELECT b.id AS batch_id, b.name AS batch,
    CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled'
         WHEN b.finished_at IS NOT NULL OR b.sealed_at IS NOT NULL AND l.total = f.finished THEN 'finished'
         WHEN b.paused_at IS NOT NULL THEN 'paused'
         WHEN b.sealed_at IS NOT NULL THEN 'sealed' ELSE 'open' END AS state,
    l.total, l.total - f.finished AS open, f.finished, l.failed + l.cancelled AS skipped, l.succeeded, l.failed, l.cancelled,
    l.fresh, l.blocked, l.invalid, l.joined, l.retries, l.downloads, l.variants, l.bytes_in, l.bytes_out,
    CASE WHEN l.total = 0 THEN 100 ELSE round(f.finished * 100.0 / l.total, 1) END AS percent,
    round(f.finished / greatest(t.seconds, 0.001), 2) AS rate,
    round(t.seconds, 3) AS seconds, b.created_at, b.sealed_at, b.finished_at
FROM larder_data.batch b
JOIN larder_data.ledger l ON l.batch_id = b.id
CROSS JOIN LATERAL (SELECT l.succeeded + l.failed + l.cancelled AS finished) AS f
CROSS JOIN LATERAL (SELECT extract(epoch FROM coalesce(b.finished_at, clock_timestamp()) - b.created_at) AS seconds) AS t;
COMMENT ON VIEW larder.progress IS
    'Where each batch stands, in items, exact at this instant: total = open + finished; finished, skipped (with an error) and total are SDWebImage''s prefetch counts. rate: finished items per second over the batch''s life.';

CREATE VIEW larder.queue AS
SELECT q.name AS queue, q.paused_at,
    EXISTS (SELECT FROM larder_data.ready r WHERE r.queue_id = q.id) AS has_ready,
    (SELECT coalesce(sum(p.open), 0) FROM larder.progress p JOIN larder_data.batch b ON b.id = p.batch_id
     WHERE b.queue_id = q.id AND b.finished_at IS NULL) AS open_items
FROM larder_data.queue q;
COMMENT ON VIEW larder.queue IS 'The queues, whether they have something to hand out, and their open items by the ledger.';

CREATE VIEW larder.worker AS
SELECT w.id AS worker, w.name, w.host, w.pid, w.version, w.slots, w.started_at, w.beat_at, w.stopped_at,
    CASE WHEN w.stopped_at IS NOT NULL THEN 'stopped'
         WHEN w.beat_at + w.lease_ms * interval '1 ms' < clock_timestamp() THEN 'lost' ELSE 'live' END AS state,
    (SELECT count(*) FROM larder_data.running r WHERE r.worker_id = w.id) AS running
FROM larder_data.worker w;
COMMENT ON VIEW larder.worker IS 'The workers of the last day: live, lost or stopped, and how many jobs each holds.';

CREATE VIEW larder.running AS
SELECT r.job_id, r.worker_id AS worker, j.batch_id, j.attempt + 1 AS attempt, j.max_attempts, j.priority, r.claimed_at, j.url
FROM larder_data.running r JOIN larder_data.job j ON j.id = r.job_id;
COMMENT ON VIEW larder.running IS 'The jobs that workers hold.';

CREATE VIEW larder.blocklist AS
SELECT b.url, b.until, b.fails, b.domain, b.code, b.message, b.http_status, b.first_at, b.last_at
FROM larder_data.blocklist b WHERE b.until > now();
COMMENT ON VIEW larder.blocklist IS 'The URLs that enqueue answers `blocked`, and why.';

CREATE VIEW larder.failed AS
SELECT h.batch_id, h.job_id, h.url, h.domain, h.code, h.message, h.http_status, h.attempt AS attempts, h.items, h.finished_at
FROM larder_data.job_history h WHERE h.outcome = 2 AND h.retried_as IS NULL AND h.dropped_at IS NULL
UNION ALL
SELECT h.batch_id, h.job_id, h.url, h.domain, h.code, h.message, NULL, h.attempt, h.items, h.finished_at
FROM larder_data.item_history h WHERE h.outcome = 2 AND h.retried_as IS NULL AND h.dropped_at IS NULL;
COMMENT ON VIEW larder.failed IS 'What failed, job or item; ask for one batch_id.';

CREATE VIEW larder.upkeep AS
SELECT u.task, u.every, u.next_at, u.failed_at, u.last_error FROM larder_data.upkeep u ORDER BY u.place;
COMMENT ON VIEW larder.upkeep IS 'The upkeep tasks, when each is next due, and what it failed of, while it fails.';

CREATE FUNCTION larder.remaining(batch_id bigint DEFAULT NULL, queue text DEFAULT 'default')
RETURNS TABLE (has_ready boolean, has_running boolean, has_parked boolean, next_due_ms bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    asked bigint := remaining.batch_id;
    queue_no smallint;
BEGIN
    IF asked IS NULL THEN
        queue_no := larder_data.queue_number(remaining.queue);
        RETURN QUERY SELECT
            EXISTS (SELECT FROM larder_data.ready r WHERE r.queue_id = queue_no)
                AND EXISTS (SELECT FROM larder_data.queue q WHERE q.id = queue_no AND q.paused_at IS NULL),
            EXISTS (SELECT FROM larder_data.running r, LATERAL (
                SELECT FROM larder_data.job x WHERE x.id = r.job_id AND x.queue_id = queue_no OFFSET 0) AS j),
            EXISTS (SELECT FROM larder_data.parked p, LATERAL (
                SELECT FROM larder_data.job x WHERE x.id = p.job_id AND x.queue_id = queue_no OFFSET 0) AS j),
            -- The first in order of time that is of this queue: the first one looked at, unless other queues wait too.
            (SELECT greatest(extract(epoch FROM d.run_at - clock_timestamp()) * 1000, 0)::bigint
             FROM larder_data.delayed d, LATERAL (
                SELECT FROM larder_data.job x WHERE x.id = d.job_id AND x.queue_id = queue_no OFFSET 0) AS j
             ORDER BY d.run_at LIMIT 1);
    ELSE
        RETURN QUERY
        WITH mine AS MATERIALIZED (
            SELECT j.id, j.queue_id FROM larder_data.job j WHERE j.batch_id = asked AND j.items > 0
            UNION ALL SELECT j.id, j.queue_id FROM larder_data.job_follow f JOIN larder_data.job j ON j.id = f.job_id WHERE f.batch_id = asked
        )
        SELECT EXISTS (SELECT FROM larder_data.queue q, mine m, generate_series(0, 9) AS lane (p), LATERAL (
                SELECT FROM larder_data.ready x WHERE x.queue_id = m.queue_id AND x.priority = lane.p AND x.job_id = m.id OFFSET 0) AS r
                WHERE q.id = m.queue_id AND q.paused_at IS NULL),
            EXISTS (SELECT FROM mine m JOIN larder_data.running r ON r.job_id = m.id),
            EXISTS (SELECT FROM mine m JOIN larder_data.parked p ON p.job_id = m.id),
            (SELECT greatest(extract(epoch FROM d.run_at - clock_timestamp()) * 1000, 0)::bigint
             FROM mine m JOIN larder_data.delayed d ON d.job_id = m.id ORDER BY d.run_at LIMIT 1);
    END IF;
END $$;
COMMENT ON FUNCTION larder.remaining IS
    'What is left of a batch, in whatever queue, or of a queue. has_ready: a worker could claim it now, so not what is ready in a paused queue. Of a batch it reads the live jobs: ask larder.progress first, and this only when nothing moves.';
