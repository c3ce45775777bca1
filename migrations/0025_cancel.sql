-- Cancel of batches, and the locks of all operators' calls that change jobs.
--
-- Locks: first the job's row, in a separate statement that skips rows held by others. The next statement's snapshot
-- then includes every item committed before. Then the row of the job's state: a transaction that holds both may end the
-- job. A row that another transaction is moving is left for the next call. Rows of `running` are not locked:
-- complete_v1 waits for the job's row instead.
--
-- Cancelling a batch is one update of its row: from its commit on, the counts report its open items as cancelled. The
-- call ends a bounded number of jobs and maintenance ends the others.
--
-- An operator's call waits at most 1.5 s for a lock: LA010 names the session that holds it.

-- Deletes the rows of jobs in these states and returns the jobs, except running ones and those being moved. Each live
-- job has at most one row in these tables, so it is returned once.
CREATE FUNCTION larder_data.take_from_state(
    jobs bigint[], states text[] DEFAULT '{ready,scheduled,suspended}'
) RETURNS bigint[]
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    state text;
    part bigint[];
    taken bigint[];
BEGIN
    FOREACH state IN ARRAY states LOOP
        EXECUTE format('WITH gone AS (
            DELETE FROM larder_data.%1$I s WHERE s.ctid = ANY (ARRAY(
                SELECT x.ctid FROM larder_data.%1$I x WHERE x.job_id = ANY ($1) FOR UPDATE SKIP LOCKED))
            RETURNING s.job_id
        ) SELECT array_agg(g.job_id) FROM gone g', state) INTO part USING jobs;
        taken := taken || part;
    END LOOP;
    RETURN taken;
END $$;

-- Locks a live job with all items committed so far; false if there is none, LA010 if it stays locked.
CREATE FUNCTION larder_data.lock_job(job bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    deadline timestamptz := clock_timestamp() + interval '1500 ms';
BEGIN
    LOOP
        PERFORM FROM larder_data.job j WHERE j.id = lock_job.job FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            PERFORM larder_data.accept_items(ARRAY[lock_job.job]);
            RETURN true;
        ELSIF NOT EXISTS (SELECT FROM larder_data.job j WHERE j.id = lock_job.job) THEN
            RETURN false;
        ELSIF clock_timestamp() > deadline THEN
            PERFORM larder_data.raise_locked('job ' || j.id, 'larder_data.job', j.xmax)
            FROM larder_data.job j WHERE j.id = lock_job.job;
        END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
END $$;

-- A live job's state: ready, scheduled, running, or why it is suspended. The caller holds the lock on the job's row,
-- and gets one on its state's row, except in running. A row being moved by another transaction is found in its new
-- state by the next poll.
CREATE FUNCTION larder_data.lock_state(job bigint) RETURNS text
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '500ms' AS $$
DECLARE
    state_found text;
BEGIN
    FOR i IN 1 .. 1000 LOOP
        SELECT x.state INTO state_found FROM (
            SELECT * FROM (
                SELECT 'scheduled' AS state FROM larder_data.scheduled s WHERE s.job_id = job FOR UPDATE) AS s
            UNION ALL SELECT * FROM (SELECT 'ready' FROM larder_data.ready r WHERE r.job_id = job FOR UPDATE) AS r
            UNION ALL SELECT * FROM (
                SELECT s.reason FROM larder_data.suspended s WHERE s.job_id = job FOR UPDATE) AS s
            UNION ALL SELECT 'running' FROM larder_data.running r WHERE r.job_id = job) AS x LIMIT 1;
        IF FOUND THEN
            RETURN state_found;
        END IF;
    END LOOP;
    RAISE EXCEPTION 'job % has no state, see larder.check()', job USING ERRCODE = 'data_corrupted';
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked('job ' || job, 'larder_data.ready');
END $$;

-- Finishes one batch's items of these jobs as cancelled, and ends the jobs without another batch. The caller has locked
-- the jobs' rows. Skips a job whose state another transaction is changing.
CREATE FUNCTION larder_data.end_items(batch bigint, jobs bigint[], OUT job_count int, OUT item_count bigint)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    accepted int := larder_data.accept_items(jobs);
    unshared bigint[] := ARRAY(
        SELECT j.id FROM unnest(jobs) AS u (id),
            LATERAL (SELECT x.id, x.batch_id, x.items FROM larder_data.job x WHERE x.id = u.id OFFSET 0) AS j
        WHERE (j.batch_id = batch OR j.items = 0) AND NOT EXISTS (
            SELECT FROM larder_data.job_item s WHERE s.job_id = j.id AND s.batch_id <> batch OFFSET 0));
    taken bigint[] := larder_data.take_from_state(unshared);
BEGIN
    WITH mine AS MATERIALIZED (
        SELECT j.*, i.tids, j.batch_id = batch AS is_home, i.meta AS joined_meta, coalesce(i.items, 0) AS joined,
            CASE WHEN j.batch_id = batch THEN j.items ELSE 0 END AS own,
            CASE WHEN j.not_after < now() THEN 'not started before not_after' ELSE 'the job was cancelled' END AS why,
            j.id NOT IN (SELECT u.id FROM unnest(unshared) AS u (id)) AS is_shared,
            j.id IN (SELECT u.id FROM unnest(taken) AS u (id)) AS is_over, r.job_id IS NOT NULL AS is_running
        FROM (SELECT DISTINCT x.id FROM unnest(jobs) AS x (id)) AS u
        CROSS JOIN LATERAL (SELECT x.ctid AS tid, x.* FROM larder_data.job x WHERE x.id = u.id OFFSET 0) AS j
        CROSS JOIN LATERAL (
            SELECT array_agg(x.ctid) AS tids, sum(x.items) AS items,
                (array_agg(x.meta ORDER BY x.id) FILTER (WHERE x.meta IS NOT NULL))[1] AS meta
            FROM larder_data.job_item x WHERE x.job_id = j.id AND x.batch_id = batch) AS i
        LEFT JOIN LATERAL (SELECT x.job_id FROM larder_data.running x WHERE x.job_id = j.id OFFSET 0) AS r ON true
    ), ended AS MATERIALIZED (
        SELECT m.*, m.joined + CASE WHEN m.is_over THEN 0 ELSE m.own END AS apart
        FROM mine m WHERE m.is_shared OR m.is_over OR m.is_running
    ), over AS (
        DELETE FROM larder_data.job x WHERE x.ctid = ANY (ARRAY(SELECT e.tid FROM ended e WHERE e.is_over))
    ), kept AS (
        -- The heartbeat of its worker reports a running job without another batch.
        UPDATE larder_data.job x SET items = CASE WHEN e.is_home THEN 0 ELSE x.items END,
            cancelled_at = CASE WHEN e.is_shared THEN x.cancelled_at ELSE coalesce(x.cancelled_at, now()) END,
            is_revived = x.is_revived AND e.is_shared
        FROM ended e WHERE NOT e.is_over AND (e.is_home OR NOT e.is_shared) AND x.ctid = e.tid
    ), removed AS (
        DELETE FROM larder_data.job_item x WHERE x.ctid = ANY (ARRAY(SELECT unnest(e.tids) FROM ended e))
    ), job_record AS (
        INSERT INTO larder_data.job_history (
            created_at, job_id, batch_id, options, pipeline_id, origin_id, items, code, outcome, priority, attempt,
            rescues, max_attempts, retry_base_ms, url, context, meta, domain, message)
        SELECT e.created_at, e.id, e.batch_id, e.options, e.pipeline_id, e.origin_id, e.items, 2002, 'cancelled',
            e.priority,
            e.attempt, e.rescues, e.max_attempts, e.retry_base_ms, e.url, e.context, e.meta, 'SDWebImageErrorDomain',
            e.why
        FROM ended e WHERE e.is_over
    ), item_record AS (
        INSERT INTO larder_data.job_history (
            job_id, batch_id, of_job, items, code, outcome, attempt, reason, url, meta, domain, message)
        SELECT nextval('larder_data.item_id'), batch, e.id, e.apart, 2002, 'cancelled', e.attempt, 'cancelled', e.url,
            CASE WHEN e.is_home AND NOT e.is_over THEN e.meta ELSE e.joined_meta END, 'SDWebImageErrorDomain', e.why
        FROM ended e WHERE e.apart > 0
    ), counted AS (
        INSERT INTO larder_data.batch_delta (batch_id, cancelled)
        SELECT batch, sum(e.own + e.joined) FROM ended e HAVING sum(e.own + e.joined) > 0
    )
    SELECT count(*), coalesce(sum(e.own + e.joined), 0) INTO job_count, item_count FROM ended e;
END $$;

-- The caller has locked the jobs' rows. Each job's own batch comes last: the job ends with it.
CREATE FUNCTION larder_data.end_jobs(jobs bigint[]) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    batch bigint;
    mine bigint[];
BEGIN
    FOR batch, mine IN
        SELECT w.batch_id, array_agg(w.id) FROM (
            SELECT DISTINCT s.batch_id, s.job_id AS id, 1 AS place FROM larder_data.job_item s, LATERAL (
                SELECT x.batch_id FROM larder_data.job x WHERE x.id = s.job_id OFFSET 0) AS j
            WHERE s.job_id = ANY (jobs) AND s.batch_id <> j.batch_id
            UNION ALL SELECT j.batch_id, j.id, 2 FROM larder_data.job j WHERE j.id = ANY (jobs)) AS w
        GROUP BY w.place, w.batch_id ORDER BY w.place, w.batch_id
    LOOP
        PERFORM larder_data.end_items(batch, mine);
    END LOOP;
    RETURN coalesce(cardinality(jobs), 0);
END $$;

-- Without ORDER BY, so that only the indexes by batch can be used.
CREATE FUNCTION larder_data.end_portion(batch bigint, portion int) RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    locked bigint[] := ARRAY(
        SELECT own.id FROM (
            SELECT j.id FROM larder_data.job j WHERE j.batch_id = batch AND j.items > 0 FOR UPDATE SKIP LOCKED) AS own
        UNION ALL
        SELECT j.id FROM larder_data.job_item s, LATERAL (
            SELECT x.id FROM larder_data.job x WHERE x.id = s.job_id FOR UPDATE SKIP LOCKED) AS j
        WHERE s.batch_id = batch
        LIMIT portion);
BEGIN
    IF locked = '{}' THEN
        RETURN 0;
    END IF;
    PERFORM larder_data.ensure_today();
    RETURN (larder_data.end_items(batch, locked)).job_count;
END $$;

-- Waits for these jobs' completions in progress, so that no item counted as cancelled ends as succeeded. In key order,
-- as retry locks. After 500 ms the other jobs are locked, and a concurrent completion may still count.
CREATE FUNCTION larder_data.lock_running(batch bigint) RETURNS bigint[]
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET lock_timeout = '500ms' AS $$
DECLARE
    jobs bigint[] := ARRAY(
        SELECT r.job_id FROM larder_data.live_worker w, LATERAL (
            SELECT x.job_id FROM larder_data.running x
            WHERE x.worker_id = w.id AND x.claim_no >= w.oldest_claim OFFSET 0) AS r, LATERAL (
            SELECT FROM larder_data.job j
            WHERE j.id = r.job_id AND (j.batch_id = batch AND j.items > 0 OR EXISTS (
                SELECT FROM larder_data.job_item s WHERE s.job_id = j.id AND s.batch_id = batch)) OFFSET 0) AS mine);
BEGIN
    RETURN ARRAY(SELECT j.id FROM larder_data.job j WHERE j.id = ANY (jobs) ORDER BY j.key FOR UPDATE);
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    RETURN ARRAY(SELECT j.id FROM larder_data.job j WHERE j.id = ANY (jobs) FOR UPDATE SKIP LOCKED);
END $$;

CREATE FUNCTION larder.batch_cancel(batch text) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    b larder_data.batch := larder_data.lock_batch(batch);
    running bigint[];
    open_items bigint;
BEGIN
    IF b.cancelled_at IS NOT NULL OR b.finished_at IS NOT NULL THEN
        RETURN 0;
    END IF;
    running := larder_data.lock_running(b.id);
    SELECT l.open INTO open_items FROM larder_data.ledger l WHERE l.batch_id = b.id;
    IF open_items = 0 AND b.sealed_at IS NOT NULL THEN
        RETURN 0;
    END IF;
    UPDATE larder_data.batch x
    SET cancelled_at = clock_timestamp(), sealed_at = coalesce(x.sealed_at, clock_timestamp()) WHERE x.id = b.id;
    PERFORM larder_data.ensure_today();
    -- All running jobs at once, so that the next heartbeats report them.
    PERFORM larder_data.end_items(b.id, running);
    PERFORM larder_data.end_portion(b.id, 1000);
    RETURN open_items;
END $$;
COMMENT ON FUNCTION larder.batch_cancel IS
    'Cancels a batch: its open items finish at once with SDWebImageErrorDomain 2002; a job ends only if no other '
    'batch has it. Answers how many items were open.';

CREATE FUNCTION larder_data.maintenance_cancelled() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    portion CONSTANT int := 5000;
    moved int := 0;
    batch bigint;
    locked bigint[];
BEGIN
    FOR batch IN
        SELECT b.id FROM larder_data.batch b WHERE b.cancelled_at IS NOT NULL AND b.finished_at IS NULL ORDER BY b.id
    LOOP
        moved := moved + larder_data.end_portion(batch, portion - moved);
        EXIT WHEN moved >= portion;
    END LOOP;
    -- Suspended as cancelled: ends a job that was cancelled while running or has no batch left; one joined by a batch
    -- since is ready again. Past not_after a job ends in any state but running.
    locked := ARRAY(
        SELECT j.id FROM (
            (SELECT s.job_id FROM larder_data.suspended s WHERE s.reason = 'cancelled' LIMIT portion)
            UNION
            (SELECT x.id FROM larder_data.job x
             WHERE x.not_after < clock_timestamp() AND NOT EXISTS (
                SELECT FROM larder_data.running r WHERE r.job_id = x.id OFFSET 0) LIMIT portion)) AS s,
            LATERAL (SELECT x.id FROM larder_data.job x WHERE x.id = s.job_id FOR UPDATE SKIP LOCKED) AS j);
    IF locked <> '{}' THEN
        PERFORM larder_data.ensure_today(), larder_data.accept_items(locked);
        moved := moved + larder_data.resume_jobs(locked) + larder_data.end_jobs(ARRAY(
            SELECT j.id FROM unnest(locked) AS u (id), LATERAL (
                SELECT x.id FROM larder_data.job x
                WHERE x.id = u.id AND (x.cancelled_at IS NOT NULL OR x.not_after < clock_timestamp() OR x.items = 0
                    AND NOT EXISTS (SELECT FROM larder_data.job_item s WHERE s.job_id = x.id))
                  AND NOT EXISTS (SELECT FROM larder_data.running r WHERE r.job_id = x.id) OFFSET 0) AS j));
    END IF;
    PERFORM larder_data.change_task('cancelled', clock_timestamp()) WHERE moved >= portion;
    RETURN moved;
END $$;
