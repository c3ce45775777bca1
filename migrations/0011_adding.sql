-- Which batches open transactions add to.
--
-- Sealing does not wait for producers. The row locks of `adding` show which batches an open transaction adds to: an
-- enqueue locks a row of its batch, then reads whether the batch is open, in a separate statement. A batch is finished
-- only if, in this order, it was read as sealed, no transaction that locked such a row was open, and it had no open
-- item. An enqueue that read the batch as open had its lock before that, and its rows are visible after it. Each lock
-- needs its own row, because a row locked by two transactions takes a multixact.
--
-- A batch has 4 rows until it is finished. An enqueue that finds all of them locked locks a spare row, which counts for
-- every batch, and gives its batch one more row: so a batch soon has as many as concurrent transactions.

CREATE TABLE larder_data.adding (
    batch_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (batch_id, id)
);
COMMENT ON TABLE larder_data.adding IS
    'Row locks only, see larder_data.start_adding(): a transaction that adds to a batch locks one row of it, or of '
    'batch_id 0 while those are locked.';
INSERT INTO larder_data.adding (batch_id) SELECT 0 FROM generate_series(1, 256);

-- Whether an open transaction may add to a batch; with a snapshot, also one that this may not show. A savepoint, or a
-- block with an exception handler, locks under its own id, which a snapshot does not name. So with a snapshot, every id
-- not older than all of its running transactions counts if one of these has ended since: it may be the savepoint's
-- transaction, or one whose lock was replaced. The locks are read before that. Without a snapshot the caller reads the
-- counts in a later statement at READ COMMITTED.
CREATE FUNCTION larder_data.is_being_added_to(batch_id bigint, seen pg_snapshot DEFAULT NULL) RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp SET enable_seqscan = off AS $$
DECLARE
    next_one CONSTANT bigint := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
    newest bigint;
    is_held boolean;
BEGIN
    SELECT max(x.id), bool_or(pg_xact_status(x.id::text::xid8) = 'in progress') INTO newest, is_held
    FROM larder_data.adding a, LATERAL (
        -- xmax has the low 32 bits of the number of the transaction that last locked the row.
        SELECT next_one + ((a.xmax::text::bigint - next_one + 2147483648) & 4294967295) - 2147483648 AS id) AS x
    WHERE a.batch_id IN (is_being_added_to.batch_id, 0) AND a.xmax::text <> '0' AND x.id > 2;
    RETURN coalesce(is_held OR newest >= pg_snapshot_xmax(seen)::text::bigint
        OR newest >= pg_snapshot_xmin(seen)::text::bigint AND EXISTS (
            SELECT FROM pg_snapshot_xip(seen) AS t (id) WHERE pg_xact_status(t.id) <> 'in progress'), false);
END $$;

-- Shows until the end of the transaction that it adds to a batch. Read whether the batch is open after this. Above READ
-- COMMITTED a snapshot may show a batch as open that was sealed since: then a lock on its row fails with 40001. That
-- lock is released immediately, so that it stalls no operator while the producer's transaction is open. A locked row is
-- skipped: maintenance reads the batch as sealed after that transaction's commit, and then finds the row of `adding`
-- locked.
CREATE FUNCTION larder_data.start_adding(batch_id bigint) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off AS $$
BEGIN
    PERFORM FROM larder_data.adding a WHERE a.batch_id = start_adding.batch_id LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        PERFORM FROM larder_data.adding a WHERE a.batch_id = 0 LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            -- All 256 are locked: wait for one of their transactions.
            PERFORM FROM larder_data.adding a WHERE a.batch_id = 0 ORDER BY a.id LIMIT 1 FOR UPDATE;
        END IF;
        INSERT INTO larder_data.adding (batch_id)
        SELECT b.id FROM larder_data.batch b WHERE b.id = start_adding.batch_id AND b.sealed_at IS NULL;
    END IF;
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        BEGIN
            PERFORM FROM larder_data.batch b WHERE b.id = start_adding.batch_id FOR SHARE SKIP LOCKED;
            RAISE EXCEPTION 'gives the lock back' USING ERRCODE = 'LA011';
        EXCEPTION WHEN SQLSTATE 'LA011' THEN NULL;
        END;
    END IF;
END $$;
