-- Maintenance without a leader, and the proof that all is well.
--
-- Whoever comes by calls maintain(): a worker once a second, cron, a person. A task that is due is done by the first who
-- gets its row in `maintenance`; the others skip it, so no task runs twice at once and none needs a lock that could be left
-- behind. Every task takes a bounded number of rows and skips those that others hold.

CREATE FUNCTION larder_data.maintenance_promote() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    queues smallint[];
    lanes smallint[];
    jobs bigint[];
BEGIN
    WITH due AS (
        DELETE FROM larder_data.scheduled d WHERE d.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.scheduled x WHERE x.run_at <= now() ORDER BY x.run_at LIMIT 5000 FOR UPDATE SKIP LOCKED))
        RETURNING d.job_id
    ), again AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id)
        SELECT j.queue_id, j.priority, d.job_id FROM due d, LATERAL (
            SELECT x.queue_id, x.priority FROM larder_data.job x WHERE x.id = d.job_id OFFSET 0) AS j
        RETURNING queue_id, priority, job_id
    )
    SELECT array_agg(a.queue_id), array_agg(a.priority), array_agg(a.job_id) INTO queues, lanes, jobs FROM again a;
    PERFORM larder_data.lower_cursors(jobs);
    IF cardinality(jobs) >= 5000 THEN
        UPDATE larder_data.maintenance u SET next_at = clock_timestamp() WHERE u.task = 'promote';
    END IF;
    RETURN coalesce(cardinality(jobs), 0);
END $$;
COMMENT ON FUNCTION larder_data.maintenance_promote IS 'Makes scheduled jobs ready whose time has come, at most 5,000; at once again while there are more.';

-- A worker is dead when it has not beaten for a lease, or has stopped. Its row is locked, so a heartbeat that comes at the
-- same moment either counts or comes too late; what it completes later finds no claim. The loss of a worker says nothing
-- about a picture: the attempt is not counted, but after rescue_limit the job waits for an operator.
CREATE FUNCTION larder_data.maintenance_rescue() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    dead bigint[];
    moved int;
    queues smallint[];
    lanes smallint[];
    jobs bigint[];
BEGIN
    -- The clock was set back: a heartbeat from the future would keep a dead worker alive until then.
    UPDATE larder_data.worker w SET heartbeat_at = clock_timestamp() WHERE w.id = ANY (ARRAY(
        SELECT x.id FROM larder_data.worker x WHERE x.heartbeat_at > clock_timestamp() + interval '1 s' FOR UPDATE SKIP LOCKED));
    SELECT array_agg(x.id) INTO dead FROM (
        SELECT w.id FROM larder_data.worker w
        WHERE (w.stopped_at IS NOT NULL OR w.heartbeat_at + w.lease_ms * interval '1 ms' < clock_timestamp())
          AND EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = w.id OFFSET 0)
        FOR UPDATE OF w SKIP LOCKED
    ) AS x;
    IF dead IS NULL THEN
        RETURN 0;
    END IF;
    WITH lost AS MATERIALIZED (
        SELECT r.tid, j.id FROM (
            SELECT x.ctid AS tid, x.job_id FROM larder_data.running x WHERE x.worker_id = ANY (dead) FOR UPDATE SKIP LOCKED) AS r,
            LATERAL (SELECT x.id FROM larder_data.job x WHERE x.id = r.job_id FOR UPDATE SKIP LOCKED) AS j
        LIMIT 5000
    ), gone AS (
        -- By tuple id: rows of running are never updated.
        DELETE FROM larder_data.running r WHERE r.ctid = ANY (ARRAY(SELECT l.tid FROM lost l))
    ), counted AS (
        -- By number: a join may have moved the row since this statement's snapshot.
        UPDATE larder_data.job j SET rescues = j.rescues + 1 WHERE j.id = ANY (ARRAY(SELECT l.id FROM lost l))
        RETURNING j.id, j.queue_id, j.priority,
            CASE WHEN j.cancelled_at IS NOT NULL THEN 'cancelled' WHEN j.rescues >= (SELECT m.rescue_limit FROM larder_data.settings m) THEN 'crashed' END AS reason
    ), aside AS (
        -- What was cancelled while it ran does not run again: the task `cancelled` ends it.
        INSERT INTO larder_data.suspended (job_id, reason) SELECT c.id, c.reason FROM counted c WHERE c.reason IS NOT NULL
    ), again AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id) SELECT c.queue_id, c.priority, c.id FROM counted c WHERE c.reason IS NULL
    )
    SELECT count(*), array_agg(c.queue_id) FILTER (WHERE c.reason IS NULL), array_agg(c.priority) FILTER (WHERE c.reason IS NULL),
        array_agg(c.id) FILTER (WHERE c.reason IS NULL)
    INTO moved, queues, lanes, jobs FROM counted c;
    PERFORM larder_data.lower_cursors(jobs);
    IF moved >= 5000 THEN
        UPDATE larder_data.maintenance u SET next_at = clock_timestamp() WHERE u.task = 'rescue';
    END IF;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_rescue IS 'Makes the jobs of dead workers ready again, or parks them, as lost too often or as cancelled, at most 5,000; at once again while there are more.';

-- Not less than e^-100: after some hours of silence the exponential would be an error, not 0.
CREATE FUNCTION larder_data.rate_after(rate double precision, passed interval, finished bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
    SELECT rate * weight + finished / seconds * (1 - weight) FROM (
        SELECT seconds, exp(-least(seconds / 30, 100)) AS weight FROM (SELECT greatest(extract(epoch FROM passed)::double precision, 0.01) AS seconds) AS s
    ) AS w
$$;
COMMENT ON FUNCTION larder_data.rate_after IS 'A rate per second, forgotten with a time constant of 30 s, after so many more in the time passed.';

-- Claims step over what is dead at the head of a lane, see 0005. The numbers given out so far are read first: a lane
-- that is empty then has nothing below them, but for an enqueue still under way, which waits for the next look.
CREATE FUNCTION larder_data.maintenance_cursors() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    given_out bigint := (SELECT s.last_value FROM larder_data.job_id s);
    moved int;
BEGIN
    -- Who finds a row held, by an operator's open transaction perhaps, leaves it: claims do not believe one that is old.
    INSERT INTO larder_data.claim_cursor (queue_id, positions, updated_at)
    SELECT q.id, '{0,0,0,0,0,0,0,0,0,0}', '-infinity' FROM larder_data.queue q
    WHERE NOT q.lifo AND NOT EXISTS (SELECT FROM larder_data.claim_cursor f WHERE f.queue_id = q.id) ON CONFLICT (queue_id) DO NOTHING;
    WITH free AS (
        SELECT x.ctid AS tid, x.queue_id FROM larder_data.claim_cursor x FOR UPDATE SKIP LOCKED
    )
    UPDATE larder_data.claim_cursor f SET updated_at = clock_timestamp(), positions = ARRAY(
            SELECT coalesce((SELECT min(r.job_id) - 1 FROM larder_data.ready r WHERE r.queue_id = f.queue_id AND r.priority = lane.p), given_out)
            FROM generate_series(0, 9) AS lane (p) ORDER BY lane.p)
    WHERE f.ctid = ANY (ARRAY(SELECT x.tid FROM free x));
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_cursors IS 'Remembers below which number nothing is ready, per queue and priority.';

CREATE FUNCTION larder_data.maintenance_fold() RETURNS int
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
    moved int;
BEGIN
    WITH d AS (
        DELETE FROM larder_data.batch_delta x WHERE x.ctid = ANY (ARRAY(
            SELECT y.ctid FROM larder_data.batch_delta y LIMIT 20000 FOR UPDATE SKIP LOCKED))
        RETURNING x.*
    ), gained AS (
        INSERT INTO larder_data.throughput AS m (at, bytes_in, bytes_out, enqueued, succeeded, failed, cancelled, retries, downloads, variants)
        SELECT date_trunc('minute', clock_timestamp()), sum(d.bytes_in), sum(d.bytes_out), sum(d.total), sum(d.succeeded), sum(greatest(d.failed, 0)),
               sum(d.cancelled), sum(d.retries), sum(d.downloads), sum(d.variants)
        FROM d HAVING count(*) > 0
        ON CONFLICT (at) DO UPDATE SET
            bytes_in = m.bytes_in + excluded.bytes_in, bytes_out = m.bytes_out + excluded.bytes_out, enqueued = m.enqueued + excluded.enqueued,
            succeeded = m.succeeded + excluded.succeeded, failed = m.failed + excluded.failed, cancelled = m.cancelled + excluded.cancelled,
            retries = m.retries + excluded.retries, downloads = m.downloads + excluded.downloads, variants = m.variants + excluded.variants
    ), added AS (
        -- The rate forgets with a time constant of 30 s; a batch's first fold averages over its life so far.
        INSERT INTO larder_data.batch_total AS t (
            batch_id, bytes_in, bytes_out, total, succeeded, failed, cancelled, fresh, blocked, invalid, joined, retries, downloads, variants, rate)
        SELECT d.batch_id, sum(d.bytes_in), sum(d.bytes_out), sum(d.total), sum(d.succeeded), sum(d.failed), sum(d.cancelled), sum(d.fresh),
               sum(d.blocked), sum(d.invalid), sum(d.joined), sum(d.retries), sum(d.downloads), sum(d.variants),
               greatest(sum(d.succeeded + d.failed + d.cancelled), 0)
                   / greatest(extract(epoch FROM clock_timestamp() - min(b.created_at))::double precision, 0.1)
        FROM d JOIN larder_data.batch b ON b.id = d.batch_id GROUP BY d.batch_id ORDER BY d.batch_id
        ON CONFLICT (batch_id) DO UPDATE SET
            bytes_in = t.bytes_in + excluded.bytes_in, bytes_out = t.bytes_out + excluded.bytes_out, total = t.total + excluded.total,
            succeeded = t.succeeded + excluded.succeeded, failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled,
            fresh = t.fresh + excluded.fresh, blocked = t.blocked + excluded.blocked, invalid = t.invalid + excluded.invalid,
            joined = t.joined + excluded.joined, retries = t.retries + excluded.retries, downloads = t.downloads + excluded.downloads,
            variants = t.variants + excluded.variants, folded_at = clock_timestamp(),
            rate = larder_data.rate_after(t.rate, clock_timestamp() - t.folded_at, greatest(excluded.succeeded + excluded.failed + excluded.cancelled, 0))
    ), timed AS (
        INSERT INTO larder_data.batch_detail AS t (batch_id, n, code)
        SELECT d.batch_id, sum(d.jobs), d.duration_class FROM d WHERE d.duration_class IS NOT NULL
        GROUP BY d.batch_id, d.duration_class ORDER BY d.batch_id, d.duration_class
        ON CONFLICT ON CONSTRAINT batch_detail_key DO UPDATE SET n = t.n + excluded.n
    )
    SELECT count(*) INTO moved FROM d;
    WITH d AS (
        DELETE FROM larder_data.batch_detail_delta x WHERE x.ctid = ANY (ARRAY(
            SELECT y.ctid FROM larder_data.batch_detail_delta y LIMIT 20000 FOR UPDATE SKIP LOCKED))
        RETURNING x.*
    )
    INSERT INTO larder_data.batch_detail AS t (batch_id, n, code, domain)
    SELECT d.batch_id, sum(d.n), d.code, d.domain FROM d GROUP BY d.batch_id, d.domain, d.code ORDER BY d.batch_id, d.domain, d.code
    ON CONFLICT ON CONSTRAINT batch_detail_key DO UPDATE SET n = t.n + excluded.n;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_fold IS 'Adds the ledger''s new entries to the totals, at most 20,000 of each kind.';

-- A batch of millions is cancelled by one update of its row: from that moment on all its open items count as cancelled,
-- and maintenance clears the jobs away behind it, portion by portion.
--
-- The new entries are added up in one pass, not by a look-up per batch; a condition on batch_id goes into that pass.
CREATE VIEW larder_data.ledger AS
SELECT b.id AS batch_id, b.name, b.queue_id, b.created_at, b.sealed_at, b.paused_at, b.cancelled_at, b.finished_at,
       coalesce(t.total, 0) + coalesce(d.total, 0) AS total, coalesce(t.succeeded, 0) + coalesce(d.succeeded, 0) AS succeeded,
       coalesce(t.failed, 0) + coalesce(d.failed, 0) AS failed,
       CASE WHEN b.cancelled_at IS NULL THEN coalesce(t.cancelled, 0) + coalesce(d.cancelled, 0)
            ELSE coalesce(t.total, 0) + coalesce(d.total, 0) - coalesce(t.succeeded, 0) - coalesce(d.succeeded, 0)
                 - coalesce(t.failed, 0) - coalesce(d.failed, 0) END AS cancelled,
       coalesce(t.fresh, 0) + coalesce(d.fresh, 0) AS fresh, coalesce(t.blocked, 0) + coalesce(d.blocked, 0) AS blocked,
       coalesce(t.invalid, 0) + coalesce(d.invalid, 0) AS invalid, coalesce(t.joined, 0) + coalesce(d.joined, 0) AS joined,
       coalesce(t.retries, 0) + coalesce(d.retries, 0) AS retries, coalesce(t.downloads, 0) + coalesce(d.downloads, 0) AS downloads,
       coalesce(t.variants, 0) + coalesce(d.variants, 0) AS variants, coalesce(t.bytes_in, 0) + coalesce(d.bytes_in::bigint, 0) AS bytes_in,
       coalesce(t.bytes_out, 0) + coalesce(d.bytes_out::bigint, 0) AS bytes_out,
       t.rate, t.folded_at, t.succeeded + t.failed + t.cancelled AS folded
FROM larder_data.batch b
LEFT JOIN larder_data.batch_total t ON t.batch_id = b.id
LEFT JOIN (
    SELECT x.batch_id, sum(x.total) AS total, sum(x.succeeded) AS succeeded, sum(x.failed) AS failed, sum(x.cancelled) AS cancelled,
           sum(x.fresh) AS fresh, sum(x.blocked) AS blocked, sum(x.invalid) AS invalid, sum(x.joined) AS joined, sum(x.retries) AS retries,
           sum(x.downloads) AS downloads, sum(x.variants) AS variants, sum(x.bytes_in) AS bytes_in, sum(x.bytes_out) AS bytes_out
    FROM larder_data.batch_delta x GROUP BY x.batch_id) AS d ON d.batch_id = b.id;
COMMENT ON VIEW larder_data.ledger IS 'Counts per batch, exact at this instant: what is folded plus what is not yet. rate, folded_at: as in batch_total; folded: how many finished items are folded.';

-- Finished is proved, not counted: sealed, the ledger says nothing is open, and no live job or follow is left. Sealed
-- means that everybody who still added had committed, so nothing can come after the proof.
--
-- Each batch is proved by itself, one index probe per question: however many jobs are live, a batch that has none costs
-- the same. OFFSET 0 keeps the planner from making joins of the questions.
CREATE FUNCTION larder_data.is_over(batch_no bigint) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    RETURN (SELECT l.total = l.succeeded + l.failed + l.cancelled FROM larder_data.ledger l WHERE l.batch_id = batch_no)
        AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.batch_id = batch_no AND j.items > 0)
        AND NOT EXISTS (SELECT FROM larder_data.job_subscriber f WHERE f.batch_id = batch_no);
END $$;
COMMENT ON FUNCTION larder_data.is_over IS 'Whether nothing of a batch is left: by the ledger, and by the jobs.';

CREATE FUNCTION larder_data.maintenance_finish() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    held bigint[];
    moved int;
    told int;
BEGIN
    -- The default batches of days that are over.
    UPDATE larder_data.batch b SET sealed_at = now() WHERE b.id IN (
        SELECT x.id FROM larder_data.batch x
        WHERE x.finished_at IS NULL AND x.sealed_at IS NULL AND x.daily < (now() AT TIME ZONE 'UTC' - interval '1 h')::date
        FOR UPDATE SKIP LOCKED);
    -- Who could not seal a batch that somebody else added to, see larder.batch_seal.
    WITH free AS (
        SELECT b.id FROM larder_data.pending_seal w, LATERAL (
            SELECT x.id FROM larder_data.batch x WHERE x.id = w.batch_id FOR NO KEY UPDATE SKIP LOCKED) AS b
    ), granted AS (
        DELETE FROM larder_data.pending_seal w WHERE w.batch_id = ANY (ARRAY(SELECT f.id FROM free f))
    )
    UPDATE larder_data.batch b SET sealed_at = coalesce(b.sealed_at, clock_timestamp()) WHERE b.id = ANY (ARRAY(SELECT f.id FROM free f));
    -- Proved, locked, and proved again: a retry may have opened items of it since the first snapshot.
    held := ARRAY(
        SELECT x.id FROM larder_data.batch x,
            LATERAL (SELECT l.total - l.succeeded - l.failed - l.cancelled AS open FROM larder_data.ledger l WHERE l.batch_id = x.id OFFSET 0) AS l
        WHERE x.finished_at IS NULL AND x.sealed_at IS NOT NULL AND l.open = 0
          AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.batch_id = x.id AND j.items > 0 OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_subscriber f WHERE f.batch_id = x.id OFFSET 0)
        LIMIT 1000 FOR UPDATE OF x SKIP LOCKED);
    WITH finished AS (
        UPDATE larder_data.batch b SET finished_at = now() WHERE b.id = ANY (held) AND larder_data.is_over(b.id) RETURNING b.id, b.notify
    )
    SELECT count(*), count(pg_notify('larder_batch', f.id::text)) FILTER (WHERE f.notify) INTO moved, told FROM finished f;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_finish IS 'Marks batches finished of which nothing is left, and tells who asked to hear it.';

CREATE FUNCTION larder_data.maintenance_purge() RETURNS int
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
    workers int;
    blocks int;
BEGIN
    DELETE FROM larder_data.worker w WHERE w.id IN (
        SELECT x.id FROM larder_data.worker x
        WHERE x.heartbeat_at < now() - interval '1 day' AND NOT EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = x.id)
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS workers = ROW_COUNT;
    DELETE FROM larder_data.blocklist b WHERE b.url_hash IN (
        SELECT x.url_hash FROM larder_data.blocklist x WHERE x.until < now() - interval '30 days' LIMIT 5000 FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS blocks = ROW_COUNT;
    RETURN workers + blocks;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_purge IS 'Forgets workers gone for a day and blocks over for 30 days.';

CREATE FUNCTION larder_data.maintenance_partitions() RETURNS int
LANGUAGE sql RETURN larder_data.create_partitions(7);
COMMENT ON FUNCTION larder_data.maintenance_partitions IS 'Makes the partitions of the next days.';

-- A task is a row in `maintenance` and a function upkeep_<task> that answers how many rows it moved.
-- Each task fails alone: what went wrong is written down, answered, and tried again when the task is next due, and the
-- others are done. Nobody waits long for a lock; a task that was cancelled, for it took too long, has failed as well.
--
-- What a task does is seen, and its row is free again, when the whole call has ended. So rescue, promote and floors come
-- last in a call that does all: a live worker must not be kept from them by a caller who still forgets old days. Who can,
-- calls for them alone, and then for the rest.
--
-- Due is also what lies further ahead than a whole period: the clock was set back.
CREATE FUNCTION larder.maintain(force boolean DEFAULT false, tasks text[] DEFAULT NULL) RETURNS TABLE (task text, moved int, error text, error_code text)
LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
#variable_conflict use_column
DECLARE
    due text;
    failed boolean;
BEGIN
    FOR due IN
        SELECT u.task FROM larder_data.maintenance u WHERE tasks IS NULL OR u.task = ANY (tasks)
        ORDER BY u.task IN ('rescue', 'promote', 'cursors'), u.place
    LOOP
        -- One by one, so that no row is held before its turn.
        SELECT u.failed_at IS NOT NULL INTO failed FROM larder_data.maintenance u
        WHERE u.task = due AND (force OR u.next_at <= clock_timestamp() OR u.next_at > clock_timestamp() + u.every + interval '1 s')
        FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        UPDATE larder_data.maintenance u SET next_at = clock_timestamp() + u.every WHERE u.task = due;
        task := due;
        moved := NULL;
        error := NULL;
        error_code := NULL;
        BEGIN
            EXECUTE format('SELECT larder_data.%I()', 'maintenance_' || due) INTO moved;
            IF failed THEN
                UPDATE larder_data.maintenance u SET failed_at = NULL, last_error = NULL WHERE u.task = due;
            END IF;
        EXCEPTION WHEN OTHERS OR query_canceled THEN
            GET STACKED DIAGNOSTICS error = MESSAGE_TEXT, error_code = RETURNED_SQLSTATE;
            UPDATE larder_data.maintenance u SET failed_at = clock_timestamp(), last_error = left(error_code || ': ' || error, 2000) WHERE u.task = due;
        END;
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder.maintain IS
    'Does what maintenance is due, the tasks of larder.maintenance. Any number of callers; force also does what is not due; tasks: these only. What it did is seen when the call has ended: call it for rescue, promote and floors in a statement of its own, and then for the rest. Answers per task how many rows it moved, or its error: each fails alone.';

CREATE FUNCTION larder_data.oldest_history() RETURNS timestamptz
LANGUAGE sql STABLE AS $$
    SELECT coalesce(max(first_day), 'infinity') FROM (
        SELECT p.relname, min(to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC') AS first_day
        FROM pg_catalog.pg_class p JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
        WHERE p.oid IN ('larder_data.job_history'::regclass, 'larder_data.item_history'::regclass) GROUP BY p.relname
    ) AS kept
$$;
COMMENT ON FUNCTION larder_data.oldest_history IS 'From when on all history is kept.';

CREATE FUNCTION larder.check() RETURNS TABLE (invariant text, subject bigint, detail text)
LANGUAGE sql STABLE SET jit = off AS $$
    WITH place AS MATERIALIZED (
        SELECT r.job_id, 'ready' AS at FROM larder_data.ready r
        UNION ALL SELECT d.job_id, 'scheduled' FROM larder_data.scheduled d
        UNION ALL SELECT r.job_id, 'running' FROM larder_data.running r
        UNION ALL SELECT p.job_id, 'suspended' FROM larder_data.suspended p
    ), recount AS (
        SELECT batch_id, sum(open) AS open, sum(succeeded) AS succeeded, sum(failed) AS failed, sum(cancelled) AS cancelled FROM (
            SELECT j.batch_id, j.items AS open, 0 AS succeeded, 0 AS failed, 0 AS cancelled FROM larder_data.job j
            UNION ALL SELECT f.batch_id, f.items, 0, 0, 0 FROM larder_data.job_subscriber f
            UNION ALL SELECT h.batch_id, 0, h.items * (h.outcome = 1)::int, h.items * (h.outcome = 2)::int, h.items * (h.outcome = 3)::int
            FROM larder_data.job_history h WHERE h.retried_as IS NULL
            UNION ALL SELECT h.batch_id, 0, h.items * (h.outcome = 1)::int, h.items * (h.outcome = 2)::int, h.items * (h.outcome = 3)::int
            FROM larder_data.item_history h WHERE h.retried_as IS NULL
        ) AS x GROUP BY batch_id
    )
    SELECT 'a live job has exactly one place', j.id, coalesce(string_agg(p.at, ' and ' ORDER BY p.at), 'none')
    FROM larder_data.job j LEFT JOIN place p ON p.job_id = j.id GROUP BY j.id HAVING count(p.at) <> 1
    UNION ALL
    SELECT 'a place belongs to a live job', p.job_id, p.at FROM place p WHERE NOT EXISTS (SELECT FROM larder_data.job j WHERE j.id = p.job_id)
    UNION ALL
    SELECT 'a ready job stands in its queue', r.job_id, 'queue ' || r.queue_id FROM larder_data.ready r JOIN larder_data.job j ON j.id = r.job_id WHERE j.queue_id <> r.queue_id
    UNION ALL
    SELECT 'a job''s key is the digest of its URL and pipeline', j.id, encode(j.key, 'hex') FROM larder_data.job j WHERE j.key <> larder_data.job_key(j.url, j.pipeline_id)
    UNION ALL
    SELECT 'a follow belongs to a live job marked followed, and not to its own batch', f.job_id, 'batch ' || f.batch_id
    FROM larder_data.job_subscriber f LEFT JOIN larder_data.job j ON j.id = f.job_id WHERE j.id IS NULL OR NOT j.has_subscribers OR j.batch_id = f.batch_id
    UNION ALL
    SELECT 'a running job belongs to a registered worker', r.job_id, 'worker ' || r.worker_id
    FROM larder_data.running r WHERE NOT EXISTS (SELECT FROM larder_data.worker w WHERE w.id = r.worker_id)
    UNION ALL
    SELECT 'a job ends once', h.job_id, count(*) || ' records' FROM larder_data.job_history h GROUP BY h.job_id HAVING count(*) > 1
    UNION ALL
    SELECT 'a job that ended is not live', j.id, j.url FROM larder_data.job j WHERE EXISTS (SELECT FROM larder_data.job_history h WHERE h.job_id = j.id)
    UNION ALL
    SELECT 'the ledger equals history and live items', l.batch_id,
           format('ledger total %s, succeeded %s, failed %s, cancelled %s; counted open %s, succeeded %s, failed %s, cancelled %s',
                  l.total, l.succeeded, l.failed, l.cancelled, coalesce(r.open, 0), coalesce(r.succeeded, 0), coalesce(r.failed, 0), coalesce(r.cancelled, 0))
    FROM larder_data.ledger l JOIN larder_data.batch b ON b.id = l.batch_id LEFT JOIN recount r USING (batch_id)
    -- What retention has forgotten cannot be counted again; what is open in a cancelled batch counts as cancelled.
    WHERE b.created_at >= larder_data.oldest_history()
      AND (l.total - l.succeeded - l.failed - l.cancelled, l.succeeded, l.failed, l.cancelled) IS DISTINCT FROM (
          CASE WHEN b.cancelled_at IS NULL THEN coalesce(r.open, 0) ELSE 0 END, coalesce(r.succeeded, 0), coalesce(r.failed, 0),
          coalesce(r.cancelled, 0) + CASE WHEN b.cancelled_at IS NULL THEN 0 ELSE coalesce(r.open, 0) END)
    UNION ALL
    SELECT 'the errors counted are those of the failed items', l.batch_id, format('%s failed, %s of known errors', l.failed, coalesce(e.n, 0))
    FROM larder_data.ledger l CROSS JOIN larder_data.settings m LEFT JOIN (
        SELECT x.batch_id, sum(x.n) AS n FROM (
            SELECT d.batch_id, d.n FROM larder_data.batch_detail d WHERE d.domain IS NOT NULL
            UNION ALL SELECT d.batch_id, d.n FROM larder_data.batch_detail_delta d
        ) AS x GROUP BY x.batch_id) AS e USING (batch_id)
    -- The details of what is long over are forgotten.
    WHERE l.failed <> coalesce(e.n, 0) AND coalesce(l.finished_at, now()) > now() - m.keep_history
    UNION ALL
    SELECT 'records belong to a batch', r.batch_id, 'no such batch' FROM recount r WHERE NOT EXISTS (SELECT FROM larder_data.batch b WHERE b.id = r.batch_id)
    UNION ALL
    SELECT 'a finished batch has no open item', b.id, l.total - l.succeeded - l.failed - l.cancelled || ' open'
    FROM larder_data.batch b JOIN larder_data.ledger l ON l.batch_id = b.id
    WHERE b.finished_at IS NOT NULL AND l.total <> l.succeeded + l.failed + l.cancelled
$$;
COMMENT ON FUNCTION larder.check IS 'Proves the queue''s invariants in one snapshot; no rows = sound. Reads everything: not for every second.';
