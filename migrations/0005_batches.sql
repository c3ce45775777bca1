-- Batches: the tables, how a batch is named, opened, locked and sealed, and lists that are enqueued in several calls.
--
-- A batch is given as text: its name, or its id in digits. So a name that is all digits is refused. A name can be
-- reused when its batch is over: name@3 is its third run, name@-1 the run before the latest.

CREATE TABLE larder_data.batch (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text CHECK (name <> ''),
    run int NOT NULL DEFAULT 1 CHECK (run > 0),
    owner regrole,
    queue_id smallint NOT NULL,
    pipeline_id int,
    priority smallint CHECK (priority BETWEEN 0 AND 9),
    daily date,
    created_at timestamptz NOT NULL DEFAULT now(),
    sealed_at timestamptz,
    paused_at timestamptz,
    paused_by text,
    cancelled_at timestamptz,
    finished_at timestamptz,
    is_deleted boolean NOT NULL DEFAULT false,
    UNIQUE (name, run)
) WITH (fillfactor = 70);
COMMENT ON TABLE larder_data.batch IS
    'The jobs enqueued together. run: a name is used again when its batch is over; it means the highest run. owner: '
    'the role that opened the batch, NULL for a daily batch. daily: set for the default batch of a queue and day, '
    'which maintenance opens a day ahead. is_deleted: hidden, to be deleted.';

CREATE TABLE larder_data.batch_notify (
    batch_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (batch_id, id)
);
COMMENT ON TABLE larder_data.batch_notify IS
    'Batches whose id is sent on channel larder_batch when they are finished. Rows of their own, so that no producer '
    'locks a batch.';
CREATE INDEX batch_over ON larder_data.batch (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX batch_deleted ON larder_data.batch (id) WHERE is_deleted;
CREATE INDEX batch_unfinished ON larder_data.batch (id) WHERE finished_at IS NULL;
CREATE INDEX batch_held ON larder_data.batch (id)
    WHERE finished_at IS NULL AND (paused_at IS NOT NULL OR cancelled_at IS NOT NULL);

CREATE TABLE larder_data.batch_source (
    batch_id bigint NOT NULL,
    urls bigint NOT NULL,
    name text NOT NULL,
    last_url text NOT NULL,
    PRIMARY KEY (batch_id, name)
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.batch_source IS
    'Lists that are being enqueued in several calls: how many of their URLs are enqueued, and the last one.';

CREATE FUNCTION larder_data.batch_id(batch text) RETURNS bigint
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN CASE WHEN batch ~ '^[0-9]{1,18}$' THEN batch::bigint END;

CREATE FUNCTION larder_data.find_batch(batch text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    wanted_id bigint := larder_data.batch_id(batch);
    wanted_run int := substring(batch FROM '@(-?[0-9]{1,9})$')::int;
    found_id bigint;
BEGIN
    IF wanted_id IS NULL THEN
        SELECT b.id INTO found_id FROM larder_data.batch b
        WHERE b.name = regexp_replace(find_batch.batch, '@-?[0-9]{1,9}$', '') AND NOT b.is_deleted
          AND (b.run = wanted_run OR coalesce(wanted_run, 0) <= 0)
        ORDER BY b.run DESC OFFSET greatest(-wanted_run, 0) LIMIT 1;
    ELSE
        SELECT b.id INTO found_id FROM larder_data.batch b WHERE b.id = wanted_id AND NOT b.is_deleted;
    END IF;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'unknown batch "%"', batch USING ERRCODE = 'LA002';
    END IF;
    RETURN found_id;
END $$;

CREATE FUNCTION larder.batch_id(batch text) RETURNS bigint
LANGUAGE sql STABLE AS $$ SELECT larder_data.find_batch(batch) $$;
COMMENT ON FUNCTION larder.batch_id IS
    'The id of a batch: a name is its latest run, name@3 its third, name@-1 the one before the latest.';

-- Each producer may enqueue into a daily batch.
CREATE FUNCTION larder_data.require_owner(b larder_data.batch, is_enqueue boolean DEFAULT false) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF NOT (b.owner IS NULL AND is_enqueue) AND NOT larder_data.acts_as(b.owner) THEN
        RAISE EXCEPTION 'batch % belongs to %', coalesce('"' || b.name || '"', b.id::text),
            coalesce('role ' || b.owner, 'no role: it is the default batch of a day')
            USING ERRCODE = '42501', HINT = 'a member of that role or of larder_admin may do this';
    END IF;
END $$;

-- VOLATILE, so that each statement has its own snapshot: in this order nothing can be added unseen.
CREATE FUNCTION larder_data.is_over(b larder_data.batch) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF b.finished_at IS NOT NULL OR b.cancelled_at IS NOT NULL THEN
        RETURN true;
    ELSIF b.sealed_at IS NULL OR larder_data.is_being_added_to(b.id) THEN
        RETURN false;
    END IF;
    -- Maintenance finishes a batch a moment after its last item.
    RETURN EXISTS (SELECT FROM larder_data.ledger l WHERE l.batch_id = b.id AND l.open = 0);
END $$;

-- Inserts a batch; without an id if it exists by now. Another open transaction may have inserted it. Then a day's
-- default batch is marked as sealed, so that the caller takes the next one of the day; for a name the call waits as
-- long as an operator's, and fails with LA010.
CREATE FUNCTION larder_data.insert_batch(
    name text, run int, queue text, pipeline text, priority int, daily date, OUT b larder_data.batch
)
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
BEGIN
    PERFORM set_config('lock_timeout', '50ms', true) WHERE insert_batch.daily IS NOT NULL;
    PERFORM larder_data.check_batch_name(insert_batch.name)
    WHERE insert_batch.daily IS NULL AND insert_batch.name IS NOT NULL;
    -- A dry run takes no number: it rolls back, and the sequence would not.
    INSERT INTO larder_data.batch AS x (id, name, run, owner, queue_id, pipeline_id, priority, daily)
    OVERRIDING SYSTEM VALUE
    VALUES (CASE WHEN current_setting('larder.dry_run', true) = 'on' THEN -1 - (random() * 9e15)::bigint
            ELSE nextval('larder_data.batch_id_seq') END,
        insert_batch.name, insert_batch.run, CASE WHEN insert_batch.daily IS NULL THEN larder_data.caller() END,
        larder_data.find_queue(queue), CASE WHEN pipeline IS NOT NULL THEN larder_data.find_pipeline(pipeline) END,
        insert_batch.priority, insert_batch.daily)
    ON CONFLICT ON CONSTRAINT batch_name_run_key DO NOTHING RETURNING x.* INTO b;
    INSERT INTO larder_data.adding (batch_id) SELECT b.id FROM generate_series(1, 4) WHERE b.id IS NOT NULL;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('the new batch "%s"', insert_batch.name), 'larder_data.batch')
    WHERE insert_batch.daily IS NULL;
    b.sealed_at := now();
END $$;

-- The latest batch of a name, not finished before the transaction ends; a new one if there is none, if the latest is
-- over, or, with next_run, sealed. The row is read without a lock, and again after larder_data.start_adding, see
-- adding.sql.
CREATE FUNCTION larder_data.open_batch(
    name text, queue text, pipeline text, priority int, daily date, next_run boolean DEFAULT false
) RETURNS larder_data.batch
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    b larder_data.batch;
    latest_id bigint;
BEGIN
    LOOP
        latest_id := (
            SELECT x.id FROM larder_data.batch x WHERE x.name = open_batch.name ORDER BY x.run DESC LIMIT 1);
        SELECT * INTO b FROM larder_data.batch x WHERE x.id = latest_id;
        -- A sealed daily batch: the caller takes the next one.
        EXIT WHEN FOUND AND open_batch.daily IS NOT NULL AND b.sealed_at IS NOT NULL;
        IF FOUND AND (open_batch.daily IS NOT NULL
            OR NOT larder_data.is_over(b) AND NOT (next_run AND b.sealed_at IS NOT NULL)) THEN
            PERFORM larder_data.start_adding(b.id);
            SELECT * INTO b FROM larder_data.batch x WHERE x.id = latest_id;
            EXIT WHEN FOUND;
        END IF;
        b := larder_data.insert_batch(open_batch.name, coalesce(b.run, 0) + 1, open_batch.queue, open_batch.pipeline,
            open_batch.priority, open_batch.daily);
        EXIT WHEN b.id IS NOT NULL OR b.sealed_at IS NOT NULL;
    END LOOP;
    RETURN b;
END $$;

CREATE FUNCTION larder_data.daily_batch(queue text) RETURNS larder_data.batch
LANGUAGE plpgsql AS $$
DECLARE
    b larder_data.batch;
    -- Not now(): a long transaction would use a sealed earlier day's batch.
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    first_name text := queue || '/' || to_char(today, 'YYYY-MM-DD');
BEGIN
    FOR number IN 1 .. 1000000 LOOP
        b := larder_data.open_batch(
            first_name || CASE WHEN number > 1 THEN '/' || number ELSE '' END, queue, NULL, NULL, today);
        -- Sealed or cancelled by an operator, or a producer's own batch of that name: use the next number.
        EXIT WHEN b.sealed_at IS NULL AND b.cancelled_at IS NULL AND b.daily = today
            AND b.queue_id = larder_data.find_queue(queue);
    END LOOP;
    RETURN b;
END $$;

-- STABLE, so that it is not called while planning a statement whose condition excludes it.
CREATE FUNCTION larder_data.check_batch_name(name text) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM larder_data.check_name('a batch name', name);
    PERFORM larder_data.refuse(format(
        'a batch name is not all digits and does not end with @ and a number: "%s"', name), 'digits are an id')
    WHERE name ~ '^[0-9]+$|@-?[0-9]+$';
END $$;

-- The batch of a name or id, created if the name is missing or its batch is over.
CREATE FUNCTION larder_data.batch_for_enqueue(
    batch text, pipeline text, priority int, queue text, next_run boolean DEFAULT false
) RETURNS larder_data.batch
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    b larder_data.batch;
    wanted_id bigint := larder_data.batch_id(batch_for_enqueue.batch);
BEGIN
    PERFORM larder_data.refuse('a priority is 0 to 9, not ' || batch_for_enqueue.priority)
    WHERE batch_for_enqueue.priority NOT BETWEEN 0 AND 9;
    IF wanted_id IS NOT NULL THEN
        PERFORM larder_data.start_adding(wanted_id);
        SELECT * INTO b FROM larder_data.batch x WHERE x.id = wanted_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'unknown batch "%"', batch_for_enqueue.batch USING ERRCODE = 'LA002';
        END IF;
    ELSE
        b := larder_data.open_batch(batch_for_enqueue.batch, batch_for_enqueue.queue, batch_for_enqueue.pipeline,
            batch_for_enqueue.priority, NULL, batch_for_enqueue.next_run);
    END IF;
    IF b.owner <> larder_data.caller() THEN
        PERFORM larder_data.require_owner(b, true);
    END IF;
    IF b.sealed_at IS NOT NULL OR b.cancelled_at IS NOT NULL OR b.finished_at IS NOT NULL THEN
        RAISE EXCEPTION 'batch % is %', coalesce('"' || b.name || '"', b.id::text),
            CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled' WHEN b.finished_at IS NOT NULL THEN 'finished'
                ELSE 'closed' END
            USING ERRCODE = 'LA001';
    END IF;
    RETURN b;
END $$;

CREATE FUNCTION larder.batch_open(
    name text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL, queue text DEFAULT 'default',
    notify boolean DEFAULT false, next_run boolean DEFAULT false
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    b larder_data.batch;
BEGIN
    b := larder_data.batch_for_enqueue(name, pipeline, priority, queue, next_run);
    PERFORM larder_data.refuse(format('batch "%s" is in another queue than "%s"', name, queue))
    WHERE b.queue_id <> larder_data.find_queue(queue);
    INSERT INTO larder_data.batch_notify (batch_id) SELECT b.id
    WHERE batch_open.notify AND NOT EXISTS (SELECT FROM larder_data.batch_notify x WHERE x.batch_id = b.id);
    RETURN b.id;
END $$;
COMMENT ON FUNCTION larder.batch_open IS
    'Opens a batch, or returns the open batch of that name; without a name it is a new one. A name whose batch is over '
    'opens its next run; with next_run also one whose batch is sealed and has open items. notify: the id is sent on '
    'channel larder_batch when the batch is finished.';

-- Raises LA010 naming the session of the transaction `holder`, or else of the oldest one that locks rows of the table.
CREATE FUNCTION larder_data.raise_locked(what text, of_table regclass, holder xid DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    session text := (
        SELECT format('pid %s, application %s, in a transaction of %s s', a.pid,
            coalesce(nullif(a.application_name, ''), '-'),
            coalesce(floor(extract(epoch FROM clock_timestamp() - a.xact_start))::text, '?'))
        FROM pg_catalog.pg_stat_activity a
        JOIN pg_catalog.pg_locks l ON l.pid = a.pid AND l.granted AND a.pid <> pg_backend_pid()
        WHERE l.locktype = 'transactionid' AND l.mode = 'ExclusiveLock' AND l.transactionid = holder
            OR l.locktype = 'relation' AND l.mode IN ('RowShareLock', 'RowExclusiveLock') AND l.relation = of_table
            AND l.database = (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname = current_database())
        ORDER BY l.locktype = 'transactionid' DESC, a.xact_start LIMIT 1);
BEGIN
    RAISE EXCEPTION '% is locked by %', what, coalesce(session, 'another transaction')
        USING ERRCODE = 'LA010', HINT = 'Repeat the call when that transaction has ended, or end it.';
END $$;

-- Polls: a row that is locked in a block with an exception handler and updated after it takes a multixact.
CREATE FUNCTION larder_data.lock_batch(batch text, refused text[] DEFAULT '{}') RETURNS larder_data.batch
LANGUAGE plpgsql AS $$
DECLARE
    wanted bigint := larder_data.find_batch(lock_batch.batch);
    deadline timestamptz := clock_timestamp() + interval '1500 ms';
    b larder_data.batch;
    state text;
BEGIN
    LOOP
        SELECT * INTO b FROM larder_data.batch x WHERE x.id = wanted FOR NO KEY UPDATE SKIP LOCKED;
        EXIT WHEN FOUND;
        IF clock_timestamp() > deadline THEN
            PERFORM larder_data.raise_locked(format('batch "%s"', lock_batch.batch), 'larder_data.batch', x.xmax)
            FROM larder_data.batch x WHERE x.id = wanted;
            RAISE EXCEPTION 'unknown batch "%"', lock_batch.batch USING ERRCODE = 'LA002';
        END IF;
        PERFORM pg_sleep(0.01);
    END LOOP;
    PERFORM larder_data.require_owner(b);
    state := CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled' WHEN b.finished_at IS NOT NULL THEN 'finished' END;
    IF state = ANY (refused) THEN
        RAISE EXCEPTION 'batch "%" is %', coalesce(b.name, b.id::text), state USING ERRCODE = 'LA001';
    END IF;
    RETURN b;
END $$;

CREATE FUNCTION larder.batch_seal(batch text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    b larder_data.batch;
BEGIN
    SELECT * INTO b FROM larder_data.batch x WHERE x.id = larder_data.find_batch(batch_seal.batch);
    PERFORM larder_data.require_owner(b);
    IF b.sealed_at IS NULL THEN
        b := larder_data.lock_batch(batch);
        UPDATE larder_data.batch x SET sealed_at = coalesce(x.sealed_at, clock_timestamp()) WHERE x.id = b.id;
    END IF;
END $$;
COMMENT ON FUNCTION larder.batch_seal IS
    'Closes a batch for more URLs. Transactions that have added to it and are still open may commit; the batch is '
    'finished after the last of them.';

-- Each call gives the start of its part of a list, and its transaction advances the count: a repeated call, or a second
-- producer with the same list, adds nothing.
CREATE FUNCTION larder_data.advance_source(batch_id bigint, source text, source_from bigint, urls text[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    added int := coalesce(cardinality(advance_source.urls), 0);
    last text := left(coalesce(advance_source.urls[added], ''), 8192);
BEGIN
    PERFORM larder_data.check_name('a source', advance_source.source);
    IF source_from = 0 THEN
        INSERT INTO larder_data.batch_source (batch_id, name, urls, last_url)
        VALUES (advance_source.batch_id, source, added, last) ON CONFLICT (batch_id, name) DO NOTHING;
    ELSE
        UPDATE larder_data.batch_source s SET urls = s.urls + added,
            last_url = CASE WHEN added > 0 THEN last ELSE s.last_url END
        WHERE s.batch_id = advance_source.batch_id AND s.name = source AND s.urls = source_from;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'batch % does not have % URLs of "%": another producer adds them, or a call was repeated',
            batch_id, source_from, source USING ERRCODE = 'LA009';
    END IF;
END $$;

CREATE FUNCTION larder.batch_source(batch text, source text) RETURNS TABLE (urls bigint, last_url text)
LANGUAGE plpgsql STABLE AS $$
BEGIN
    PERFORM larder_data.require_owner(b, true) FROM larder_data.batch b WHERE b.id = larder_data.find_batch(batch);
    RETURN QUERY SELECT s.urls, s.last_url FROM larder_data.batch_source s
    WHERE s.batch_id = larder_data.find_batch(batch) AND s.name = source;
END $$;
COMMENT ON FUNCTION larder.batch_source IS
    'How many URLs of a list are enqueued, and the first 8,192 characters of the last one; no row before the list is '
    'begun and after it has ended.';

CREATE FUNCTION larder.batch_source_end(batch text, source text) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    wanted_id bigint := larder_data.find_batch(batch);
BEGIN
    PERFORM larder_data.require_owner(b) FROM larder_data.batch b WHERE b.id = wanted_id;
    DELETE FROM larder_data.batch_source s WHERE s.batch_id = wanted_id AND s.name = source;
END $$;
COMMENT ON FUNCTION larder.batch_source_end IS 'Ends a list; the same name given again is a new list.';
