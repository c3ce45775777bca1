-- Pause and resume of batches.
--
-- A pause is one update of the batch's row. Claims suspend the jobs that they meet if only paused or cancelled batches
-- need them. Resuming makes a bounded number of them ready, and maintenance the others.

-- Why a job does not run now: all its batches are paused or cancelled, or its not_after has passed; NULL if it runs. A
-- table, so that Postgres inlines it: a scalar function with an aggregate would be planned anew in each claim.
CREATE FUNCTION larder_data.hold_reason(job_id bigint, own_batch bigint, items int, not_after timestamptz)
RETURNS TABLE (reason text)
LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT CASE WHEN not_after < clock_timestamp() THEN 'cancelled'
                WHEN bool_or(b.cancelled_at IS NULL AND b.paused_at IS NULL) THEN NULL
                WHEN bool_or(b.cancelled_at IS NULL) THEN 'paused' ELSE 'cancelled' END
    FROM (
        SELECT own_batch AS id WHERE items > 0
        UNION ALL
        SELECT s.batch_id FROM larder_data.job_item s WHERE s.job_id = hold_reason.job_id
    ) AS w, LATERAL (SELECT x.cancelled_at, x.paused_at FROM larder_data.batch x WHERE x.id = w.id OFFSET 0) AS b;
END;

-- Makes suspended jobs of active batches ready, except those that crashed or were cancelled themselves.
CREATE FUNCTION larder_data.resume_jobs(jobs bigint[]) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    resumed bigint[];
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT s.tid, j.id FROM unnest(jobs) AS u (id)
        CROSS JOIN LATERAL (
            SELECT x.ctid AS tid, x.reason FROM larder_data.suspended x
            WHERE x.job_id = u.id AND x.reason IN ('paused', 'cancelled') FOR UPDATE SKIP LOCKED) AS s
        CROSS JOIN LATERAL (
            -- A job that was cancelled itself stays cancelled when one of its batches resumes.
            SELECT x.id, x.batch_id, x.items, x.not_after FROM larder_data.job x
            WHERE x.id = u.id AND NOT (s.reason = 'cancelled' AND x.cancelled_at IS NOT NULL) OFFSET 0) AS j
        CROSS JOIN LATERAL larder_data.hold_reason(j.id, j.batch_id, j.items, j.not_after) AS h
        WHERE h.reason IS NULL
    ), removed AS (
        -- Rows of suspended are never updated, so the ctid stays valid.
        DELETE FROM larder_data.suspended x WHERE x.ctid = ANY (ARRAY(SELECT w.tid FROM wanted w))
    )
    SELECT array_agg(w.id) INTO resumed FROM wanted w;
    PERFORM larder_data.make_ready(resumed);
    RETURN coalesce(cardinality(resumed), 0);
END $$;

CREATE FUNCTION larder.batch_pause(batch text) RETURNS void
LANGUAGE sql AS $$
    UPDATE larder_data.batch b SET paused_at = coalesce(b.paused_at, clock_timestamp()),
        paused_by = CASE WHEN b.paused_at IS NULL THEN larder_data.caller()::text ELSE b.paused_by END
    WHERE b.id = (SELECT l.id FROM larder_data.lock_batch(batch_pause.batch, '{cancelled,finished}') l)
$$;
COMMENT ON FUNCTION larder.batch_pause IS
    'Pauses a batch: jobs that no other batch has are not claimed any more; running ones continue. The batch still '
    'accepts URLs. Pausing a paused batch changes nothing.';

CREATE FUNCTION larder.batch_resume(batch text) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    b larder_data.batch := larder_data.lock_batch(batch, '{cancelled,finished}');
BEGIN
    IF b.paused_at IS NULL THEN
        RETURN;
    END IF;
    UPDATE larder_data.batch x SET paused_at = NULL, paused_by = NULL WHERE x.id = b.id;
    PERFORM larder_data.resume_jobs(ARRAY(
        SELECT p.job_id FROM larder_data.suspended p, LATERAL (
            SELECT FROM larder_data.job j
            WHERE j.id = p.job_id AND (j.batch_id = b.id AND j.items > 0 OR EXISTS (
                SELECT FROM larder_data.job_item s WHERE s.job_id = j.id AND s.batch_id = b.id)) OFFSET 0) AS mine
        WHERE p.reason = 'paused' LIMIT 10000));
END $$;
COMMENT ON FUNCTION larder.batch_resume IS
    'Resumes a paused batch: its jobs are ready again, in their old order. Resuming an active batch changes nothing.';

-- Checks the paused jobs in turn: a batch may have been resumed, or have joined the job, or a claim may have suspended
-- the job while its batch was being resumed.
CREATE FUNCTION larder_data.maintenance_resumed() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    portion CONSTANT int := 5000;
    start bigint := (SELECT t.cursor FROM larder_data.current_task t WHERE t.task = 'resumed');
    checked bigint[] := ARRAY(
        SELECT s.job_id FROM larder_data.suspended s
        WHERE s.reason = 'paused' AND s.job_id > start ORDER BY s.job_id LIMIT portion);
    is_last boolean := cardinality(checked) < portion;
    moved int := larder_data.resume_jobs(checked);
BEGIN
    IF start > 0 OR NOT is_last THEN
        PERFORM larder_data.change_task('resumed', NULL, CASE WHEN is_last THEN 0 ELSE checked[portion] END);
        PERFORM larder_data.change_task('resumed', clock_timestamp()) WHERE moved > 0;
    END IF;
    RETURN moved;
END $$;
