-- Retention: deletes batches and old rows in portions, and history by dropping whole days.

CREATE FUNCTION larder.batch_delete(batch text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    b larder_data.batch;
BEGIN
    -- Maintenance may not have seen yet that its last item has finished.
    PERFORM larder_data.maintenance_finish() FROM larder_data.batch x
    WHERE x.id = larder_data.find_batch(batch_delete.batch) AND x.finished_at IS NULL AND larder_data.is_over(x);
    b := larder_data.lock_batch(batch);
    IF b.finished_at IS NULL THEN
        RAISE EXCEPTION 'batch "%" is not finished', coalesce(b.name, b.id::text) USING ERRCODE = 'LA001';
    END IF;
    UPDATE larder_data.batch x SET is_deleted = true WHERE x.id = b.id;
END $$;
COMMENT ON FUNCTION larder.batch_delete IS 'Deletes a finished batch and its records.';

-- Nothing waits for an origin or cache: jobs, records and workers are shown without deleted ones.
CREATE FUNCTION larder_data.maintenance_purge() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = on SET enable_hashjoin = on AS $$
DECLARE
    keep CONSTANT interval := (SELECT s.keep_history FROM larder_data.settings s);
    total int := 0;
    is_more boolean := false;
    p record;
    n int;
BEGIN
    -- Only pipelines that no enqueue finds by name: old versions, and ad-hoc pipelines, named by their text's hash.
    UPDATE larder_data.pipeline x SET retired_on = now() AT TIME ZONE 'UTC'
    WHERE x.retired_on IS NULL AND x.used_on < (now() - keep - interval '30 days')::date AND x.name <> 'original'
      AND (x.name ~ '^[0-9a-f]{12,}$'
        OR EXISTS (SELECT FROM larder_data.pipeline y WHERE y.name = x.name AND y.version > x.version));
    FOR p IN SELECT * FROM (VALUES
        ('pipeline', 'x.retired_on < (now() AT TIME ZONE ''UTC'')::date - 2
            AND NOT EXISTS (SELECT FROM larder_data.batch b WHERE b.pipeline_id = x.id)
            AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.pipeline_id = x.id)'),
        ('worker', 'x.heartbeat_at < now() - interval ''1 day'' AND (x.rescued_at IS NOT NULL
            OR NOT EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = x.id OFFSET 0))'),
        ('claim_lock', 'NOT EXISTS (SELECT FROM larder_data.worker w WHERE w.id = x.worker_id)'),
        ('throughput', 'x.at < now() - interval ''30 days'''),
        ('blocklist', 'x.until < now() - interval ''30 days'''),
        ('action', 'x.at < now() - interval ''90 days'''),
        ('batch_detail', 'EXISTS (
            SELECT FROM larder_data.batch b WHERE b.id = x.batch_id AND b.finished_at < now() - $1)'),
        ('batch_fault', 'NOT EXISTS (SELECT FROM larder_data.batch b WHERE b.id = x.batch_id)'),
        ('origin', 'x.used_on < (now() - $1 - interval ''30 days'')::date
            AND NOT EXISTS (SELECT FROM larder_data.origin_limit l WHERE l.origin_id = x.id)
            AND NOT EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.origin_id = x.id)'),
        ('cache', 'x.used_on < (now() - $1 - interval ''30 days'')::date
            AND NOT EXISTS (SELECT FROM larder_data.worker w WHERE w.cache_id = x.id)')) AS v (name, condition)
    LOOP
        EXECUTE format('DELETE FROM larder_data.%1$I d WHERE d.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.%1$I x WHERE %2$s LIMIT 5000 FOR UPDATE OF x SKIP LOCKED))',
            p.name, p.condition) USING keep;
        GET DIAGNOSTICS n = ROW_COUNT;
        total := total + n;
        is_more := is_more OR n = 5000;
    END LOOP;
    PERFORM larder_data.change_task('purge', clock_timestamp() + interval '10 s') WHERE is_more;
    RETURN total;
END $$;

-- Expired days of history, oldest first. is_pending: a concurrent detach was interrupted.
CREATE FUNCTION larder_data.expired_partitions() RETURNS TABLE (
    parent text, part text, is_attached boolean, is_pending boolean
)
LANGUAGE sql STABLE AS $$
    SELECT k.parent, c.relname::text, i.inhrelid IS NOT NULL, coalesce(i.inhdetachpending, false)
    FROM larder_data.settings s
    CROSS JOIN LATERAL (VALUES ('job_history', s.keep_history), ('job_attempt', s.keep_attempts)) AS k (parent, keep)
    JOIN pg_catalog.pg_class c ON c.relnamespace = 'larder_data'::regnamespace AND c.relkind = 'r'
        AND c.relname ~ ('^' || k.parent || '_[0-9]{8}$')
    LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
    WHERE to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= ((clock_timestamp() - k.keep) AT TIME ZONE 'UTC')::date
    ORDER BY right(c.relname, 8), k.parent
$$;

-- DROP TABLE locks the parent exclusively, and every later statement waits behind it. So it waits at most 500 ms, drops
-- one day of one table per call, and leaves the work to workers that detach concurrently, if any.
CREATE FUNCTION larder_data.maintenance_retention() RETURNS int
LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
DECLARE
    old record;
BEGIN
    PERFORM FROM larder_data.current_task t WHERE t.task = 'vacuum'
        AND t.next_at BETWEEN clock_timestamp() - interval '90 s' AND clock_timestamp() + interval '30 s';
    IF FOUND THEN
        RETURN 0;
    END IF;
    FOR old IN
        SELECT e.part, e.is_more FROM (
            SELECT DISTINCT ON (x.parent) x.parent, x.part, count(*) OVER () > 1 AS is_more
            FROM larder_data.expired_partitions() x ORDER BY x.parent, x.part) AS e
        ORDER BY right(e.part, 8), e.parent
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE larder_data.%I', old.part);
            PERFORM larder_data.change_task('retention', clock_timestamp() + interval '10 s') WHERE old.is_more;
            RETURN 1;
        EXCEPTION
            -- In use, or being detached concurrently: try the next table.
            WHEN lock_not_available OR object_not_in_prerequisite_state OR object_in_use OR undefined_table THEN NULL;
        END;
    END LOOP;
    RETURN 0;
END $$;

CREATE FUNCTION larder_data.delete_batch(batch bigint, portion int) RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    records bigint[] := ARRAY(
        SELECT h.job_id FROM larder_data.job_history h WHERE h.batch_id = batch ORDER BY h.job_id LIMIT portion);
    moved int := cardinality(records);
    part text;
BEGIN
    IF moved > 0 THEN
        DELETE FROM larder_data.job_attempt a WHERE a.job_id = ANY (records);
        DELETE FROM larder_data.job_history h WHERE h.batch_id = batch AND h.job_id <= records[moved];
    END IF;
    -- A job joined by another batch leaves a record in the batch into which it was enqueued.
    IF moved >= portion OR EXISTS (SELECT FROM larder_data.job j WHERE j.items = 0 AND j.batch_id = batch) THEN
        RETURN moved;
    END IF;
    FOREACH part IN ARRAY '{batch_delta,batch_total,batch_detail,batch_source,batch_notify,webhook,adding,
        batch_fault}'::text[] LOOP
        EXECUTE format('DELETE FROM larder_data.%I x WHERE x.batch_id = $1', part) USING batch;
    END LOOP;
    DELETE FROM larder_data.batch x WHERE x.id = batch;
    RETURN moved + 1;
END $$;

-- Deletes batches that finished long ago or were deleted by an operator, with their records, 5,000 rows per call. No
-- claim locks rows of history and of ended batches.
CREATE FUNCTION larder_data.maintenance_deleted() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    portion CONSTANT int := 5000;
    moved int := 0;
    batch bigint;
BEGIN
    -- Two days later than its records, whose days are dropped as a whole. A queue may keep its batches for less time.
    UPDATE larder_data.batch b SET is_deleted = true WHERE b.id = ANY (ARRAY(
        SELECT o.id FROM larder_data.settings s, larder_data.queue q, LATERAL (
            SELECT x.id FROM larder_data.batch x
            WHERE x.finished_at < now() - least(q.keep_history, s.keep_history + interval '2 days')
              AND x.queue_id = q.id AND NOT x.is_deleted
            ORDER BY x.finished_at LIMIT 1000 FOR UPDATE SKIP LOCKED) AS o));
    FOR batch IN SELECT b.id FROM larder_data.batch b WHERE b.is_deleted ORDER BY b.id LIMIT 1000 LOOP
        moved := moved + larder_data.delete_batch(batch, portion - moved);
        EXIT WHEN moved >= portion;
    END LOOP;
    PERFORM larder_data.change_task('deleted', clock_timestamp()) WHERE moved >= portion;
    RETURN moved;
END $$;
