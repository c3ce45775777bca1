-- Retention: deletes batches in portions, history by dropping whole days, and old rows of workers, blocks and
-- throughput.

CREATE FUNCTION larder.batch_delete(batch text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    b larder_data.batch;
BEGIN
    SELECT * INTO b FROM larder_data.batch x WHERE x.id = larder_data.find_batch(batch_delete.batch);
    IF b.finished_at IS NULL AND larder_data.is_over(b) THEN
        -- Maintenance has not seen yet that its last item has finished.
        PERFORM larder_data.maintenance_finish();
    END IF;
    b := larder_data.lock_batch(batch);
    IF b.finished_at IS NULL THEN
        RAISE EXCEPTION 'batch "%" is not finished', coalesce(b.name, b.id::text) USING ERRCODE = 'LA001';
    END IF;
    UPDATE larder_data.batch x SET is_deleted = true WHERE x.id = b.id;
END $$;
COMMENT ON FUNCTION larder.batch_delete IS
    'Deletes a finished batch and its records: it is unknown from now on, and maintenance deletes the rows.';

CREATE FUNCTION larder_data.maintenance_purge() RETURNS int
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
    moved int;
    total int := 0;
BEGIN
    DELETE FROM larder_data.worker w WHERE w.id IN (
        SELECT x.id FROM larder_data.worker x
        WHERE x.heartbeat_at < now() - interval '1 day'
          AND (x.rescued_at IS NOT NULL
              OR NOT EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = x.id OFFSET 0))
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS moved = ROW_COUNT;
    total := total + moved;
    DELETE FROM larder_data.claim_lock l
    WHERE NOT EXISTS (SELECT FROM larder_data.worker w WHERE w.id = l.worker_id);
    DELETE FROM larder_data.throughput t WHERE t.at < now() - interval '30 days';
    GET DIAGNOSTICS moved = ROW_COUNT;
    total := total + moved;
    DELETE FROM larder_data.blocklist b WHERE b.url_hash IN (
        SELECT x.url_hash FROM larder_data.blocklist x
        WHERE x.until < now() - interval '30 days' LIMIT 5000 FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS moved = ROW_COUNT;
    total := total + moved;
    DELETE FROM larder_data.action a WHERE a.id IN (
        SELECT x.id FROM larder_data.action x WHERE x.at < now() - interval '90 days' ORDER BY x.id LIMIT 5000
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS moved = ROW_COUNT;
    total := total + moved;
    DELETE FROM larder_data.batch_detail d WHERE d.ctid = ANY (ARRAY(
        SELECT x.ctid FROM larder_data.batch_detail x JOIN larder_data.batch b ON b.id = x.batch_id
        WHERE b.finished_at < now() - (SELECT s.keep_history FROM larder_data.settings s)
        LIMIT 5000 FOR UPDATE OF x SKIP LOCKED));
    GET DIAGNOSTICS moved = ROW_COUNT;
    PERFORM larder_data.run_again('purge', moved = 5000, '10 s');
    RETURN total + moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_purge IS
    'Deletes workers gone for a day, blocks that ended 30 days ago, throughput older than 30 days, actions older than '
    '90 days, and details of batches without history.';

CREATE FUNCTION larder_data.expired_partitions() RETURNS TABLE (
    parent text, part text, is_attached boolean, is_pending boolean
)
LANGUAGE sql STABLE AS $$
    SELECT k.parent, c.relname::text, i.inhrelid IS NOT NULL, coalesce(i.inhdetachpending, false)
    FROM larder_data.settings s
    CROSS JOIN LATERAL (VALUES ('job_history', s.keep_history), ('item_history', s.keep_history),
        ('job_attempt', s.keep_attempts)) AS k (parent, keep)
    JOIN pg_catalog.pg_class c ON c.relnamespace = 'larder_data'::regnamespace AND c.relkind = 'r'
        AND c.relname ~ ('^' || k.parent || '_[0-9]{8}$')
    LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
    WHERE to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= ((clock_timestamp() - k.keep) AT TIME ZONE 'UTC')::date
    ORDER BY right(c.relname, 8), k.parent
$$;
COMMENT ON FUNCTION larder_data.expired_partitions IS
    'Days of history past their retention, oldest first. is_pending: a concurrent detach was interrupted.';

-- DROP TABLE locks the parent exclusively, and every later statement waits behind it. So it waits at most 500 ms,
-- drops one day of one table per call, and leaves the work to workers that detach concurrently where there are any.
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
            PERFORM larder_data.run_again('retention', old.is_more, '10 s');
            RETURN 1;
        EXCEPTION
            -- In use, or being detached concurrently: the next table is tried.
            WHEN lock_not_available OR object_not_in_prerequisite_state OR object_in_use OR undefined_table THEN NULL;
        END;
    END LOOP;
    RETURN 0;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_retention IS 'Drops one day of history past its retention.';

-- Records of failures that other batches joined go to one of these batches, without items: a retry reads them.
CREATE FUNCTION larder_data.delete_jobs_of(batch bigint, portion int) RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    jobs bigint[] := ARRAY(
        SELECT h.job_id FROM larder_data.job_history h WHERE h.batch_id = batch ORDER BY h.job_id LIMIT portion);
BEGIN
    IF jobs = '{}' THEN
        RETURN 0;
    END IF;
    UPDATE larder_data.job_history h SET batch_id = j.joiner, items = 0
    FROM (
        SELECT i.job_id, min(i.batch_id) AS joiner FROM larder_data.item_history i
        WHERE i.job_id = ANY (jobs) AND i.outcome = 2 AND i.reason = 'joined' AND i.batch_id <> batch
          AND EXISTS (SELECT FROM larder_data.batch b WHERE b.id = i.batch_id AND NOT b.is_deleted OFFSET 0)
        GROUP BY i.job_id) AS j
    WHERE h.batch_id = batch AND h.job_id = j.job_id AND h.outcome = 2;
    DELETE FROM larder_data.job_attempt a WHERE a.job_id = ANY (jobs) AND NOT EXISTS (
        SELECT FROM larder_data.job_history h WHERE h.job_id = a.job_id AND h.batch_id <> batch);
    DELETE FROM larder_data.job_history h WHERE h.batch_id = batch AND h.job_id <= jobs[cardinality(jobs)];
    RETURN cardinality(jobs);
END $$;
COMMENT ON FUNCTION larder_data.delete_jobs_of IS
    'Deletes records of jobs of a batch, at most so many; answers how many.';

CREATE FUNCTION larder_data.delete_batch(batch bigint, portion int) RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    jobs int := larder_data.delete_jobs_of(batch, portion);
    items int;
    last_item bigint := (SELECT max(x.id) FROM (
        SELECT i.id FROM larder_data.item_history i WHERE i.batch_id = batch ORDER BY i.id LIMIT portion) AS x);
BEGIN
    DELETE FROM larder_data.item_history i WHERE i.batch_id = batch AND i.id <= last_item;
    GET DIAGNOSTICS items = ROW_COUNT;
    -- A job that another batch joined leaves a record in the batch that it was enqueued into.
    IF greatest(jobs, items) >= portion OR EXISTS (
        SELECT FROM larder_data.job j WHERE j.items = 0 AND j.batch_id = batch) THEN
        RETURN jobs + items;
    END IF;
    DELETE FROM larder_data.batch_delta x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_total x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_detail_delta x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_detail x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_source x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_notify x WHERE x.batch_id = batch;
    DELETE FROM larder_data.webhook x WHERE x.batch_id = batch;
    DELETE FROM larder_data.adding x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch x WHERE x.id = batch;
    RETURN jobs + items + 1;
END $$;
COMMENT ON FUNCTION larder_data.delete_batch IS
    'Deletes records of a batch, at most so many of jobs and of items, and the batch after the last; answers how many.';

-- Rows of history and of batches that are over, which no claim locks.
CREATE FUNCTION larder_data.maintenance_deleted() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    portion CONSTANT int := 5000;
    moved int := 0;
    batch bigint;
BEGIN
    -- By age: two days later than its records, whose days are dropped as a whole.
    UPDATE larder_data.batch b SET is_deleted = true WHERE b.id = ANY (ARRAY(
        SELECT x.id FROM larder_data.batch x
        WHERE x.finished_at < now() - interval '2 days' - (SELECT s.keep_history FROM larder_data.settings s)
          AND NOT x.is_deleted
        ORDER BY x.finished_at LIMIT 1000 FOR UPDATE SKIP LOCKED));
    FOR batch IN SELECT b.id FROM larder_data.batch b WHERE b.is_deleted ORDER BY b.id LIMIT 1000 LOOP
        moved := moved + larder_data.delete_batch(batch, portion - moved);
        EXIT WHEN moved >= portion;
    END LOOP;
    PERFORM larder_data.run_again('deleted', moved >= portion);
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_deleted IS
    'Deletes batches that finished long ago or were deleted by an operator, with their records, 5,000 rows a call.';
