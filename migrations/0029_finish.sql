-- The end of a batch, and the daily default batches.

-- Seals and finishes batches, notifies channel larder_batch if requested, and makes their webhooks due. A batch is
-- finished if it is sealed, no open transaction adds to it (see adding.sql), the ledger has no open item, and no live
-- job or item is left. Each batch costs a few index probes, however many jobs are live.
CREATE FUNCTION larder_data.maintenance_finish() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    candidates bigint[];
    finished larder_data.batch;
    moved int := 0;
BEGIN
    -- Default batches of past days.
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
          AND NOT EXISTS (SELECT FROM larder_data.job_item x WHERE x.batch_id = b.id OFFSET 0)
        LIMIT 1000 FOR UPDATE OF b SKIP LOCKED);
    -- In a statement after the one that read them as sealed.
    candidates := ARRAY(SELECT c.id FROM unnest(candidates) AS c (id) WHERE NOT larder_data.is_being_added_to(c.id));
    -- The end does not depend on when maintenance runs: it is when the batch was cancelled, else when it was sealed or
    -- its counts last changed. Tested again under the lock: a retry or enqueue may have added open items since the
    -- snapshot above.
    FOR finished IN
        UPDATE larder_data.batch b SET finished_at = coalesce(b.cancelled_at, greatest(b.sealed_at,
            (SELECT l.last_at FROM larder_data.ledger l WHERE l.batch_id = b.id)))
        WHERE b.id = ANY (candidates)
          AND (SELECT l.open = 0 FROM larder_data.ledger l WHERE l.batch_id = b.id)
          AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.batch_id = b.id AND j.items > 0 OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_item x WHERE x.batch_id = b.id OFFSET 0)
        RETURNING b.*
    LOOP
        moved := moved + 1;
        PERFORM pg_notify('larder_batch', finished.id::text)
        WHERE EXISTS (SELECT FROM larder_data.batch_notify x WHERE x.batch_id = finished.id);
        UPDATE larder_data.webhook w SET due_at = clock_timestamp(), attempts = 0, delivered_at = NULL,
            http_status = NULL, error = NULL
        WHERE w.batch_id = finished.id;
    END LOOP;
    -- Rows of unfinished batches are needed. One locked by a late enqueue stays until the batch is deleted.
    DELETE FROM larder_data.adding a WHERE a.ctid = ANY (ARRAY(
        SELECT y.ctid FROM larder_data.adding y
        WHERE y.batch_id = ANY (ARRAY(
            SELECT b.id FROM larder_data.batch b WHERE b.id = ANY (candidates) AND b.finished_at IS NOT NULL))
        FOR UPDATE SKIP LOCKED));
    RETURN moved;
END $$;

-- Opens the default batches of today and tomorrow in queues that use them, so that no producer has to, and deletes
-- empty ones of past days.
CREATE FUNCTION larder_data.maintenance_days() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    today CONSTANT date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    opened int;
BEGIN
    WITH missing AS (
        INSERT INTO larder_data.batch (name, queue_id, daily)
        SELECT q.name || '/' || to_char(d.day, 'YYYY-MM-DD'), q.id, d.day
        FROM larder_data.queue q, (VALUES (today), (today + 1)) AS d (day)
        WHERE EXISTS (SELECT FROM larder_data.batch b WHERE b.queue_id = q.id AND b.daily >= today - 7)
          AND NOT EXISTS (
            SELECT FROM larder_data.batch b WHERE b.name = q.name || '/' || to_char(d.day, 'YYYY-MM-DD'))
        ON CONFLICT (name, run) DO NOTHING RETURNING id
    ), addable AS (
        INSERT INTO larder_data.adding (batch_id) SELECT m.id FROM missing m, generate_series(1, 4)
    )
    SELECT count(*) INTO opened FROM missing;
    -- Nothing was enqueued into it.
    UPDATE larder_data.batch b SET is_deleted = true
    WHERE b.daily < today AND b.finished_at IS NOT NULL AND NOT b.is_deleted
      AND NOT EXISTS (SELECT FROM larder_data.batch_total t WHERE t.batch_id = b.id)
      AND NOT EXISTS (SELECT FROM larder_data.batch_delta d WHERE d.batch_id = b.id);
    RETURN opened;
END $$;
