-- The end of a batch: maintenance seals batches of past days, finishes batches without open items, and sends the
-- notifications.

-- A batch is finished when it is sealed, no open transaction adds to it (see adding.sql), the ledger has no open item,
-- and no live job, subscription or join is left. Each batch costs a few index probes, however many jobs are live.
CREATE FUNCTION larder_data.maintenance_finish() RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    candidates bigint[];
    finished larder_data.batch;
    moved int := 0;
BEGIN
    -- The default batches of past days.
    UPDATE larder_data.batch b SET sealed_at = now() WHERE b.id IN (
        SELECT x.id FROM larder_data.batch x
        WHERE x.finished_at IS NULL AND x.sealed_at IS NULL
          AND x.daily < (now() AT TIME ZONE 'UTC' - interval '1 h')::date
        FOR UPDATE SKIP LOCKED);
    candidates := ARRAY(
        SELECT b.id FROM larder_data.batch b, LATERAL (
            SELECT FROM larder_data.ledger x WHERE x.batch_id = b.id AND x.open = 0 OFFSET 0) AS l
        WHERE b.finished_at IS NULL AND b.sealed_at IS NOT NULL
          AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.batch_id = b.id AND j.items > 0 OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_subscriber s WHERE s.batch_id = b.id OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_join x WHERE x.batch_id = b.id OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.late_enqueue x WHERE x.batch_id = b.id OFFSET 0)
        LIMIT 1000 FOR UPDATE OF b SKIP LOCKED);
    -- A statement after the one that read them as sealed.
    candidates := ARRAY(SELECT c.id FROM unnest(candidates) AS c (id) WHERE NOT larder_data.is_being_added_to(c.id));
    -- The end does not depend on when maintenance runs: it is when the batch was cancelled, else when it was sealed or
    -- its counts last changed. Tested again under the lock: a retry or an enqueue may have added open items since the
    -- snapshot above.
    FOR finished IN
        UPDATE larder_data.batch b SET finished_at = coalesce(b.cancelled_at, greatest(b.sealed_at,
            (SELECT l.last_at FROM larder_data.ledger l WHERE l.batch_id = b.id)))
        WHERE b.id = ANY (candidates)
          AND (SELECT l.open = 0 FROM larder_data.ledger l WHERE l.batch_id = b.id)
          AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.batch_id = b.id AND j.items > 0 OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_subscriber s WHERE s.batch_id = b.id OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_join x WHERE x.batch_id = b.id OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.late_enqueue x WHERE x.batch_id = b.id OFFSET 0)
        RETURNING b.*
    LOOP
        moved := moved + 1;
        PERFORM pg_notify('larder_batch', finished.id::text)
        WHERE EXISTS (SELECT FROM larder_data.batch_notify x WHERE x.batch_id = finished.id);
        UPDATE larder_data.webhook w SET due_at = clock_timestamp(), attempts = 0, delivered_at = NULL,
            http_status = NULL, error = NULL
        WHERE w.batch_id = finished.id;
    END LOOP;
    -- Those of batches that are not finished are needed. One that a late enqueue has locked stays until the batch is
    -- deleted.
    DELETE FROM larder_data.adding a WHERE a.ctid = ANY (ARRAY(
        SELECT y.ctid FROM larder_data.adding y
        WHERE y.batch_id = ANY (ARRAY(
            SELECT b.id FROM larder_data.batch b WHERE b.id = ANY (candidates) AND b.finished_at IS NOT NULL))
        FOR UPDATE SKIP LOCKED));
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_finish IS
    'Seals and finishes batches, notifies channel larder_batch if they ask for it, and makes their webhooks due.';
