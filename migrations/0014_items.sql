-- Items of jobs that other calls enqueued.
--
-- An enqueue only inserts. It locks no live job and no batch, so a producer's transaction stalls neither workers nor
-- operators, however long it stays open. For each live job that it finds it inserts a row of job_item, and the ledger
-- counts the item as open in the same transaction. The item ends with the job.
--
-- The race: a job may end before the transaction that joins it commits; whatever ends the job then cannot see the row.
-- No item is lost, for two reasons. First, completion and cancel read job_item in a statement after the one that locked
-- or deleted the job: they see each row committed before. Second, a row is new until maintenance has met it while
-- holding the lock on its job. So a row that no completion saw is still new, and its job is missing: maintenance then
-- settles it, and its items end as the job ended. If the job was cancelled, or the item asked for another run, the URL
-- gets a new job.

CREATE TABLE larder_data.job_item (
    id bigint GENERATED ALWAYS AS IDENTITY,
    job_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    due timestamptz,
    not_after timestamptz,
    items int NOT NULL CHECK (items > 0),
    priority smallint NOT NULL,
    is_new boolean NOT NULL DEFAULT true,
    again json,
    meta json,
    traceparent text,
    PRIMARY KEY (job_id, id)
);
COMMENT ON TABLE larder_data.job_item IS
    'Items that wait for a job which another call enqueued, of its own batch or of others. due: when they are to run, '
    'NULL at once. is_new: its priority, due and not_after have no effect on the job yet. again: columns of the job '
    'that is to run after this one, of an item that came while this one ran.';
CREATE INDEX job_item_batch ON larder_data.job_item (batch_id, job_id);
CREATE INDEX job_item_new ON larder_data.job_item (job_id) WHERE is_new;

-- Moves joined jobs to their raised priority and earlier time, and suspended ones back to ready. A delay between
-- attempts is kept. A job that an open transaction resumes stays suspended: it is ready when that commits, else the
-- tasks resumed and cancelled find it. dues: the wanted time per job, NULL at once.
CREATE FUNCTION larder_data.promote_joined(jobs bigint[], dues timestamptz[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_nestloop = on
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    moved bigint[];
BEGIN
    WITH raised AS (
        DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(
            SELECT place.tid FROM larder_data.job j, LATERAL (
                SELECT x.ctid AS tid FROM larder_data.ready x
                WHERE x.job_id = j.id AND x.lane > j.queue_id * 10 + j.priority FOR UPDATE SKIP LOCKED) AS place
            WHERE j.id = ANY (jobs)))
        RETURNING r.job_id
    ), resumed AS (
        DELETE FROM larder_data.suspended s WHERE s.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.suspended x
            WHERE x.job_id = ANY (jobs) AND x.reason <> 'crashed' FOR UPDATE SKIP LOCKED))
        RETURNING s.job_id
    )
    SELECT array_agg(t.job_id ORDER BY t.job_id) INTO moved
    FROM (SELECT r.job_id FROM raised r UNION ALL SELECT r.job_id FROM resumed r) AS t;
    PERFORM larder_data.make_ready(moved);
    WITH sooner AS MATERIALIZED (
        SELECT place.tid, coalesce(u.due, now()) AS due FROM unnest(jobs, dues) AS u (id, due)
        CROSS JOIN LATERAL (SELECT x.attempt FROM larder_data.job x WHERE x.id = u.id OFFSET 0) AS j
        CROSS JOIN LATERAL (
            SELECT x.ctid AS tid, x.run_at FROM larder_data.scheduled x
            WHERE x.job_id = u.id OFFSET 0 FOR UPDATE SKIP LOCKED) AS place
        WHERE j.attempt = 0 AND place.run_at > coalesce(u.due, now())
    )
    UPDATE larder_data.scheduled s SET run_at = w.due FROM sooner w WHERE s.ctid = w.tid;
END $$;

CREATE FUNCTION larder.joined_traces_v1(jobs bigint[]) RETURNS TABLE (job_id bigint, traceparent text)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT u.id, t.traceparent FROM unnest(jobs[1 : 1000]) AS u (id), LATERAL (
        SELECT DISTINCT x.traceparent FROM larder_data.job_item x
        WHERE x.job_id = u.id AND x.traceparent IS NOT NULL LIMIT 32) AS t;
END $$;
COMMENT ON FUNCTION larder.joined_traces_v1 IS
    'The traceparents of the items that joined these jobs, at most 1000 jobs and 32 per job. A worker links its spans '
    'with them before it completes the jobs.';

-- Applies new items to these jobs, and returns how many jobs have some. The caller has locked the live jobs' rows in an
-- earlier statement.
CREATE FUNCTION larder_data.accept_items(jobs bigint[]) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ids bigint[];
    dues timestamptz[];
BEGIN
    IF NOT EXISTS (SELECT FROM larder_data.job_item x WHERE x.job_id = ANY (jobs) AND x.is_new AND x.again IS NULL) THEN
        RETURN 0;
    END IF;
    WITH taken AS (
        UPDATE larder_data.job_item x SET is_new = false
        WHERE x.job_id = ANY (ARRAY(SELECT j.id FROM larder_data.job j WHERE j.id = ANY (jobs))) AND x.is_new
          AND x.again IS NULL
        RETURNING x.*
    ), by_job AS MATERIALIZED (
        SELECT t.job_id, min(t.priority) AS priority, min(coalesce(t.due, '-infinity')) AS due,
            nullif(max(coalesce(t.not_after, 'infinity')), 'infinity') AS not_after
        FROM taken t GROUP BY t.job_id
    ), changed AS (
        UPDATE larder_data.job j SET priority = least(j.priority, g.priority),
            is_revived = j.is_revived OR j.cancelled_at IS NOT NULL, cancelled_at = NULL,
            not_after = CASE WHEN (j.not_after, g.not_after) IS NOT NULL THEN greatest(j.not_after, g.not_after) END
        FROM by_job g WHERE j.id = g.job_id AND (j.priority > g.priority OR j.cancelled_at IS NOT NULL
            OR j.not_after < coalesce(g.not_after, 'infinity'))
    )
    SELECT array_agg(g.job_id), array_agg(nullif(g.due, '-infinity')) INTO ids, dues FROM by_job g;
    PERFORM larder_data.promote_joined(ids, dues) WHERE ids IS NOT NULL;
    RETURN coalesce(cardinality(ids), 0);
END $$;

-- Ends items whose job has ended, as the job ended; except new items if it was cancelled, or the item asked for another
-- run, unless the item's batch is cancelled or the record was deleted. ended_at: the records' time, if known. Items get
-- the time of the job's record, so that both are in one partition.
CREATE FUNCTION larder_data.end_joined(jobs bigint[], ended_at timestamptz DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM larder_data.job_item x WHERE x.job_id = ANY (jobs)) THEN
        RETURN;
    END IF;
    WITH judged AS MATERIALIZED (
        SELECT x.ctid AS tid, x.batch_id AS joined_by, x.items AS joined_items, x.job_id AS joined_job,
            x.meta AS joined_meta, x.traceparent AS joined_trace, x.id AS item, x.again IS NOT NULL AS runs_again,
            x.is_new, h.*,
            b.cancelled_at IS NOT NULL OR h.job_id IS NULL AS is_void
        FROM larder_data.job_item x
        CROSS JOIN LATERAL (SELECT y.cancelled_at FROM larder_data.batch y WHERE y.id = x.batch_id OFFSET 0) AS b
        LEFT JOIN LATERAL (
            SELECT y.* FROM larder_data.job_history y
            WHERE y.job_id = x.job_id AND y.finished_at BETWEEN coalesce(end_joined.ended_at, '-infinity')
                AND coalesce(end_joined.ended_at, 'infinity') LIMIT 1) AS h ON true
        WHERE x.job_id = ANY (jobs)
    ), ended AS MATERIALIZED (
        SELECT j.*, CASE WHEN j.is_void THEN 'cancelled' ELSE j.outcome END AS ends_as FROM judged j
        WHERE j.is_void OR NOT j.runs_again AND (j.outcome <> 'cancelled' OR NOT j.is_new)
    ), removed AS (
        DELETE FROM larder_data.job_item x WHERE x.ctid = ANY (ARRAY(SELECT e.tid FROM ended e))
    ), record AS (
        -- A retry of a failed item makes the job from its record.
        INSERT INTO larder_data.job_history (finished_at, job_id, of_job, batch_id, options, pipeline_id, origin_id,
            items, retry_base_ms, priority, max_attempts, code, outcome, attempt, reason, url, context, meta,
            traceparent, domain, message, stored)
        SELECT CASE WHEN e.is_void THEN now() ELSE e.finished_at END, nextval('larder_data.item_id'), e.joined_job,
            e.joined_by, coalesce(e.options, 0), e.pipeline_id, e.origin_id, e.joined_items, e.retry_base_ms,
            e.priority, e.max_attempts, CASE WHEN e.is_void THEN 2002 ELSE e.code END, e.ends_as,
            coalesce(e.attempt, 0), CASE WHEN e.is_void THEN 'cancelled' ELSE 'joined' END, coalesce(e.url, ''),
            CASE e.ends_as WHEN 'failed' THEN e.context END, e.joined_meta, e.joined_trace,
            CASE WHEN e.is_void THEN 'SDWebImageErrorDomain' ELSE e.domain END,
            CASE WHEN e.is_void THEN 'the job was cancelled' ELSE e.message END,
            CASE WHEN NOT e.is_void THEN e.stored END
        FROM ended e ORDER BY e.item
    )
    INSERT INTO larder_data.batch_delta (batch_id, succeeded, failed, cancelled, code, domain)
    SELECT e.joined_by, sum(e.joined_items * (e.ends_as = 'succeeded')::int),
        sum(e.joined_items * (e.ends_as = 'failed')::int), sum(e.joined_items * (e.ends_as = 'cancelled')::int),
        f.code, f.domain
    FROM ended e LEFT JOIN LATERAL (SELECT e.code, e.domain WHERE e.ends_as = 'failed') AS f ON true
    GROUP BY e.joined_by, f.domain, f.code;
END $$;

-- Makes new jobs for the remaining items of ended jobs, or joins the live job of their URL; false if a lock left some
-- for a later call. A producer's open transaction may have inserted the same key. Then the rows are left for a later
-- call, of many rows only the hundred around it: in random order, so that the same ones do not always come first.
CREATE FUNCTION larder_data.renew_items(gone bigint[]) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET lock_timeout = '100ms' AS $$
DECLARE
    portion CONSTANT int := 100;
    renewed bigint[];
    later bigint[];
    rest bigint[];
    late int := 0;
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT DISTINCT ON (h.key) x.batch_id, x.priority, x.due, x.not_after, b.queue_id, h.key, h.url, h.pipeline_id,
            h.origin_id, coalesce(t.options, h.options) AS options, coalesce(t.max_attempts, h.max_attempts, 4) AS most,
            coalesce(t.retry_base_ms, h.retry_base_ms) AS base, coalesce(t.context, h.context) AS context, x.traceparent
        FROM larder_data.job_item x
        CROSS JOIN LATERAL (SELECT y.queue_id FROM larder_data.batch y WHERE y.id = x.batch_id OFFSET 0) AS b
        CROSS JOIN LATERAL json_populate_record(NULL::larder_data.job, coalesce(x.again, '{}')) AS t
        CROSS JOIN LATERAL (
            SELECT larder_data.job_key(y.url, y.pipeline_id) AS key, y.* FROM larder_data.job_history y
            WHERE y.job_id = x.job_id LIMIT 1) AS h
        WHERE x.job_id = ANY (gone) ORDER BY h.key, x.id
    ), created AS (
        INSERT INTO larder_data.job (id, batch_id, options, pipeline_id, origin_id, items, retry_base_ms, queue_id,
            priority, max_attempts, not_after, key, url, context, traceparent)
        SELECT nextval('larder_data.job_id'), w.batch_id, w.options, w.pipeline_id, w.origin_id, 0, w.base, w.queue_id,
            w.priority, w.most, w.not_after, w.key, w.url, w.context, w.traceparent
        FROM wanted w ORDER BY w.key ON CONFLICT (key) DO NOTHING RETURNING id, key
    ), scheduled AS (
        INSERT INTO larder_data.scheduled (run_at, job_id)
        SELECT w.due, c.id FROM created c JOIN wanted w USING (key) WHERE w.due > now() RETURNING job_id
    )
    SELECT array_agg(c.id), ARRAY(SELECT s.job_id FROM scheduled s) INTO renewed, later FROM created c;
    UPDATE larder_data.job_item x SET job_id = j.id, again = NULL
    FROM unnest(gone) AS g (id), LATERAL (
        SELECT larder_data.job_key(y.url, y.pipeline_id) AS key FROM larder_data.job_history y
        WHERE y.job_id = g.id LIMIT 1) AS h, LATERAL (
        SELECT y.id FROM larder_data.job y WHERE y.key = h.key OFFSET 0) AS j
    WHERE x.job_id = g.id;
    PERFORM larder_data.make_ready(ARRAY(SELECT unnest(renewed) EXCEPT SELECT unnest(later) ORDER BY 1)),
        larder_data.accept_items(renewed);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    IF cardinality(gone) <= portion THEN
        RETURN false;
    END IF;
    FOR rest IN
        SELECT gone[start : start + portion - 1] FROM generate_series(1, cardinality(gone), portion) AS start
        ORDER BY random()
    LOOP
        late := late + (NOT larder_data.renew_items(rest))::int;
        EXIT WHEN late = 5;
    END LOOP;
    RETURN false;
END $$;

CREATE FUNCTION larder_data.maintenance_items() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    began_at CONSTANT timestamptz := clock_timestamp();
    portion CONSTANT int := 5000;
    start bigint := (SELECT t.cursor FROM larder_data.current_task t WHERE t.task = 'items');
    wanted bigint[] := ARRAY(
        SELECT x.job_id FROM larder_data.job_item x WHERE x.is_new AND x.job_id > start
        ORDER BY x.job_id LIMIT portion);
    is_last boolean := cardinality(wanted) < portion;
    jobs bigint[] := ARRAY(SELECT DISTINCT u.id FROM unnest(wanted) AS u (id));
    locked bigint[] := ARRAY(SELECT j.id FROM larder_data.job j WHERE j.id = ANY (jobs) FOR UPDATE SKIP LOCKED);
    moved int := larder_data.accept_items(locked);
    -- Read after the locks: a job that ended meanwhile has its record.
    gone bigint[] := ARRAY(
        SELECT u.id FROM unnest(jobs) AS u (id)
        WHERE u.id <> ALL (locked) AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.id = u.id OFFSET 0));
BEGIN
    IF gone <> '{}' THEN
        PERFORM larder_data.ensure_today();
        PERFORM larder_data.end_joined(gone);
        PERFORM larder_data.renew_items(gone);
    END IF;
    IF start > 0 OR NOT is_last THEN
        PERFORM larder_data.change_task(
            'items', clock_timestamp(), CASE WHEN is_last THEN 0 ELSE wanted[portion] END);
    ELSE
        PERFORM larder_data.reschedule('items', began_at, '200 ms');
    END IF;
    RETURN moved + cardinality(gone);
END $$;
