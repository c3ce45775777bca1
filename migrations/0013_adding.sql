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

CREATE FUNCTION larder_data.full_id(xmax xid, next_one bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN next_one + ((xmax::text::bigint - next_one + 2147483648) & 4294967295) - 2147483648;
COMMENT ON FUNCTION larder_data.full_id IS
    'The number of the transaction whose low 32 bits a row has in xmax: that which locked, changed or deleted the row '
    'last. next_one: the next number to be given out.';

CREATE FUNCTION larder_data.is_being_added_to(batch_id bigint) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    seen pg_snapshot := pg_current_snapshot();
    next_one bigint := pg_snapshot_xmax(seen)::text::bigint;
BEGIN
    RETURN EXISTS (
        SELECT FROM larder_data.adding a, LATERAL (SELECT larder_data.full_id(a.xmax, next_one) AS id) AS x
        WHERE a.batch_id IN (is_being_added_to.batch_id, 0) AND a.xmax::text <> '0' AND x.id > 2 AND (
            NOT pg_visible_in_snapshot(x.id::text::xid8, seen)
            OR pg_xact_status(x.id::text::xid8) = 'in progress'));
END $$;
COMMENT ON FUNCTION larder_data.is_being_added_to IS
    'Whether a transaction that was open at the snapshot may add to a batch, see larder_data.start_adding.';

-- Above READ COMMITTED a snapshot may show a batch as open that was sealed since, and may be finished at this moment.
-- The version of its row that the snapshot shows has in xmax the transaction that changed it. One that has committed is
-- a serialization failure. One that is still open is not: maintenance reads the batch as sealed after its commit, and
-- then finds the row of `adding` locked, because xmax is read after that lock.
CREATE FUNCTION larder_data.is_changed_since_snapshot(batch_id bigint) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    seen pg_snapshot := pg_current_snapshot();
    next_one bigint := pg_snapshot_xmax(seen)::text::bigint;
BEGIN
    RETURN EXISTS (
        SELECT FROM larder_data.batch b, LATERAL (SELECT larder_data.full_id(b.xmax, next_one) AS id) AS x
        WHERE b.id = is_changed_since_snapshot.batch_id AND b.xmax::text <> '0' AND x.id > 2
          AND NOT pg_visible_in_snapshot(x.id::text::xid8, seen) AND pg_xact_status(x.id::text::xid8) = 'committed');
END $$;
COMMENT ON FUNCTION larder_data.is_changed_since_snapshot IS
    'Whether a transaction that the snapshot does not show has changed the row of a batch and committed.';

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
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable')
        AND larder_data.is_changed_since_snapshot(start_adding.batch_id) THEN
        RAISE EXCEPTION 'batch % was changed after the transaction began', start_adding.batch_id
            USING ERRCODE = 'serialization_failure', HINT = 'Repeat the transaction.';
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.start_adding IS
    'Shows until the end of the transaction that it adds to a batch. Whether the batch is open is to be read after it. '
    '40001 above READ COMMITTED if the batch was changed after the snapshot.';
