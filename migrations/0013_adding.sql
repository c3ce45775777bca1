-- Which batches open transactions add to.
--
-- Sealing does not wait for producers. The row locks of `adding` show which batches an open transaction adds to: an
-- enqueue locks a row of its batch, then reads whether the batch is open, in a statement of its own. A batch is
-- finished only when it was read as sealed, then no transaction that has locked such a row was open, and then it had no
-- open item. An enqueue that read the batch as open had its lock before that, and its rows are visible after it. Each
-- lock has a row of its own, because a row that two transactions lock takes a multixact.
--
-- A batch has 4 rows until it is finished. An enqueue that finds all of them locked locks a spare one, which counts for
-- every batch, and gives its batch one more: so a batch soon has as many as transactions add to it at once.

CREATE TABLE larder_data.adding (
    batch_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (batch_id, id)
);
COMMENT ON TABLE larder_data.adding IS
    'Row locks only, see larder_data.start_adding(): a transaction that adds to a batch locks one row of it, or of '
    'batch_id 0 while those are locked.';
INSERT INTO larder_data.adding (batch_id) SELECT 0 FROM generate_series(1, 256);

CREATE FUNCTION larder_data.allow_adding(batch_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO larder_data.adding (batch_id) SELECT allow_adding.batch_id FROM generate_series(1, 4);
END $$;
COMMENT ON FUNCTION larder_data.allow_adding IS 'Gives a new batch its rows of larder_data.adding.';

-- xmax has the low 32 bits of the number of the transaction that locked the row last.
CREATE FUNCTION larder_data.is_being_added_to(batch_id bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    seen pg_snapshot := pg_current_snapshot();
    next_one bigint := pg_snapshot_xmax(seen)::text::bigint;
BEGIN
    RETURN EXISTS (
        SELECT FROM larder_data.adding a, LATERAL (
            SELECT (a.xmax::text::bigint - next_one) & 4294967295 AS ahead) AS d, LATERAL (
            SELECT next_one + d.ahead - CASE WHEN d.ahead >= 2147483648 THEN 4294967296 ELSE 0 END AS id) AS x
        WHERE a.batch_id IN (is_being_added_to.batch_id, 0) AND a.xmax::text <> '0' AND x.id > 2 AND (
            NOT pg_visible_in_snapshot(x.id::text::xid8, seen)
            OR pg_xact_status(x.id::text::xid8) = 'in progress'));
END $$;
COMMENT ON FUNCTION larder_data.is_being_added_to IS
    'Whether a transaction that was open at the snapshot may add to a batch, see larder_data.start_adding.';

-- Above READ COMMITTED an old snapshot may show a batch as open that is finished. The rows of `adding` were deleted at
-- its end, and locking a row that was deleted after the snapshot is a serialization failure.
CREATE FUNCTION larder_data.start_adding(batch_id bigint) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    PERFORM FROM larder_data.adding a WHERE a.batch_id = start_adding.batch_id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        PERFORM FROM larder_data.adding a WHERE a.batch_id = 0 LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            -- All 256 are locked: the next one waits for one of their transactions.
            PERFORM FROM larder_data.adding a WHERE a.batch_id = 0 ORDER BY a.id LIMIT 1 FOR UPDATE;
        END IF;
        INSERT INTO larder_data.adding (batch_id)
        SELECT b.id FROM larder_data.batch b WHERE b.id = start_adding.batch_id AND b.sealed_at IS NULL;
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.start_adding IS
    'Shows until the end of the transaction that it adds to a batch. Whether the batch is open is to be read after it.';
