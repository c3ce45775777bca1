-- What enqueue stands on: the identity of URLs and jobs, partitions of history, queues, pipelines and batches by name.
--
-- Error codes: LA001 batch closed, LA002 no such batch, LA003 no such pipeline, LA006 no such queue, 22023 argument.

-- STABLE, though they always answer the same: convert_to is, and only so does Postgres inline them, which saves more than
-- the digest costs.
CREATE FUNCTION larder_data.url_hash(url text) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT substring(sha256(convert_to(url, 'UTF8')) FROM 1 FOR 16) $$;
COMMENT ON FUNCTION larder_data.url_hash IS 'Identity of a URL: 128 bits of SHA-256 over its bytes.';

CREATE FUNCTION larder_data.job_key(url text, pipeline_id int) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE AS $$ SELECT substring(sha256(convert_to(url, 'UTF8')) FROM 1 FOR 16) || int4send(pipeline_id) $$;
COMMENT ON FUNCTION larder_data.job_key IS 'Identity of a live job: that of its URL, and the pipeline.';

-- History tables have one partition per day and no default one. A partition is made beside its parent and then
-- attached, because CREATE TABLE ... PARTITION OF would lock the parent against everybody.
CREATE FUNCTION larder_data.create_partitions(days int) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    parent text;
    part text;
    made int := 0;
BEGIN
    PERFORM FROM larder_data.maintenance u WHERE u.task = 'partitions' FOR UPDATE;
    FOREACH parent IN ARRAY ARRAY['job_history', 'item_history', 'job_attempt'] LOOP
        FOR i IN -1 .. days LOOP
            part := parent || '_' || to_char(today + i, 'YYYYMMDD');
            CONTINUE WHEN to_regclass('larder_data.' || part) IS NOT NULL;
            EXECUTE format('CREATE TABLE larder_data.%I (LIKE larder_data.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', part, parent);
            EXECUTE format('ALTER TABLE larder_data.%I ATTACH PARTITION larder_data.%I FOR VALUES FROM (%L) TO (%L)',
                parent, part, (today + i) || ' 00:00:00+00', (today + i + 1) || ' 00:00:00+00');
            made := made + 1;
        END LOOP;
    END LOOP;
    RETURN made;
END $$;
COMMENT ON FUNCTION larder_data.create_partitions IS 'Makes the missing partitions of yesterday to so many days ahead.';
SELECT larder_data.create_partitions(7);

CREATE FUNCTION larder_data.ensure_today() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    -- A queue that slept for weeks wakes with an enqueue or a complete, before any maintenance.
    IF to_regclass('larder_data.item_history_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NULL THEN
        PERFORM larder_data.create_partitions(7);
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.ensure_today IS 'Makes sure that what ends in this transaction has a partition to go to.';

CREATE FUNCTION larder_data.queue_number(queue text) RETURNS smallint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id smallint;
BEGIN
    SELECT q.id INTO found_id FROM larder_data.queue q WHERE q.name = queue_number.queue;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'no queue is called "%"', queue USING ERRCODE = 'LA006';
    END IF;
    RETURN found_id;
END $$;
COMMENT ON FUNCTION larder_data.queue_number IS 'The queue of that name.';

CREATE FUNCTION larder_data.batch_number(batch text) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id bigint;
BEGIN
    SELECT b.id INTO found_id FROM larder_data.batch b WHERE b.name = batch_number.batch;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'no batch is called "%"', batch USING ERRCODE = 'LA002';
    END IF;
    RETURN found_id;
END $$;
COMMENT ON FUNCTION larder_data.batch_number IS 'The batch of that name.';

CREATE FUNCTION larder_data.pipeline_number(name text) RETURNS int
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id int;
BEGIN
    SELECT p.id INTO found_id FROM larder_data.pipeline p WHERE p.name = pipeline_number.name ORDER BY p.version DESC LIMIT 1;
    IF found_id IS NULL THEN
        RAISE EXCEPTION 'no pipeline is called "%"', name USING ERRCODE = 'LA003';
    END IF;
    RETURN found_id;
END $$;
COMMENT ON FUNCTION larder_data.pipeline_number IS 'The newest version of that name.';

CREATE FUNCTION larder.pipeline_set(name text, spec json) RETURNS TABLE (pipeline_id int, version int)
LANGUAGE plpgsql AS $$
DECLARE
    newest larder_data.pipeline;
BEGIN
    IF name = 'original' THEN
        RAISE EXCEPTION 'the pipeline "original" has no variants and stays so' USING ERRCODE = '22023';
    ELSIF coalesce(name, '') = '' OR octet_length(name) > 200 OR spec IS NULL THEN
        RAISE EXCEPTION 'a pipeline needs a name of at most 200 bytes and a spec' USING ERRCODE = '22023';
    END IF;
    LOOP
        SELECT * INTO newest FROM larder_data.pipeline p WHERE p.name = pipeline_set.name ORDER BY p.version DESC LIMIT 1;
        EXIT WHEN newest.spec::text = spec::text;
        INSERT INTO larder_data.pipeline (name, version, spec) VALUES (pipeline_set.name, coalesce(newest.version, 0) + 1, pipeline_set.spec)
            ON CONFLICT ON CONSTRAINT pipeline_name_version_key DO NOTHING
            RETURNING * INTO newest;
        EXIT WHEN FOUND;
    END LOOP;
    RETURN QUERY SELECT newest.id, newest.version;
END $$;
COMMENT ON FUNCTION larder.pipeline_set IS 'Makes a new version of a pipeline unless the newest has the very same text; live jobs keep theirs.';

-- The batch row is locked FOR SHARE until the caller's transaction ends, so sealing waits for whoever still adds: a
-- sealed batch never grows, and a finished one never gets a job late.
CREATE FUNCTION larder_data.batch_for_enqueue(
    batch text, batch_id bigint, pipeline text, priority int, queue text, for_adding boolean, to_change boolean DEFAULT false
) RETURNS larder_data.batch
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    b larder_data.batch;
    today date;
    wanted text := batch_for_enqueue.batch;
    again int := 1;
BEGIN
    IF batch_for_enqueue.batch_id IS NOT NULL THEN
        SELECT * INTO b FROM larder_data.batch x WHERE x.id = batch_for_enqueue.batch_id FOR SHARE;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no batch has the number %', batch_for_enqueue.batch_id USING ERRCODE = 'LA002';
        END IF;
    ELSE
        IF wanted IS NULL AND for_adding THEN
            -- The clock, not now(): a long transaction must not look for a day that is over and sealed.
            today := (clock_timestamp() AT TIME ZONE 'UTC')::date;
            wanted := batch_for_enqueue.queue || '/' || to_char(today, 'YYYY-MM-DD');
        END IF;
        IF today IS NULL AND (wanted = '' OR octet_length(wanted) > 200) THEN
            RAISE EXCEPTION 'a batch name has 1 to 200 bytes' USING ERRCODE = '22023';
        END IF;
        LOOP
            -- Who is going to change the row locks it so at once: two who share it first would wait for each other.
            IF to_change THEN
                PERFORM FROM larder_data.batch x WHERE x.name = wanted FOR NO KEY UPDATE;
            END IF;
            SELECT * INTO b FROM larder_data.batch x WHERE x.name = wanted FOR SHARE;
            IF FOUND AND today IS NOT NULL AND (b.sealed_at IS NOT NULL OR b.cancelled_at IS NOT NULL
                    OR b.daily IS DISTINCT FROM today OR b.queue_id <> larder_data.queue_number(batch_for_enqueue.queue)) THEN
                -- Somebody has cancelled today's default batch, which ends what was in it and not the queue's default; or
                -- somebody's own batch has that name.
                again := again + 1;
                wanted := batch_for_enqueue.queue || '/' || to_char(today, 'YYYY-MM-DD') || '/' || again;
                CONTINUE;
            END IF;
            EXIT WHEN FOUND;
            INSERT INTO larder_data.batch (name, queue_id, pipeline_id, priority, daily)
            VALUES (
                wanted, larder_data.queue_number(batch_for_enqueue.queue),
                CASE WHEN batch_for_enqueue.pipeline IS NOT NULL AND today IS NULL THEN larder_data.pipeline_number(batch_for_enqueue.pipeline) END,
                CASE WHEN today IS NULL THEN batch_for_enqueue.priority END, today)
            ON CONFLICT (name) DO NOTHING RETURNING * INTO b;
            EXIT WHEN FOUND;
        END LOOP;
    END IF;
    IF b.sealed_at IS NOT NULL OR b.cancelled_at IS NOT NULL OR b.finished_at IS NOT NULL THEN
        RAISE EXCEPTION 'batch % is %', coalesce('"' || b.name || '"', b.id::text),
            CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled' WHEN b.finished_at IS NOT NULL THEN 'finished' ELSE 'sealed' END
            USING ERRCODE = 'LA001';
    END IF;
    RETURN b;
END $$;
COMMENT ON FUNCTION larder_data.batch_for_enqueue IS 'The open batch to add to, opened when missing, locked against sealing.';

-- A list that is streamed in many calls. Each call says where it begins; the row moves on in its transaction, so a call
-- whose answer was lost, or a second producer with the same list, cannot add anything twice.
CREATE FUNCTION larder_data.advance_source(batch_id bigint, source text, source_from bigint, urls text[]) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    added int := cardinality(advance_source.urls);
    last text := left(coalesce(advance_source.urls[added], ''), 8192);
BEGIN
    IF source_from = 0 THEN
        INSERT INTO larder_data.batch_source (batch_id, name, urls, last_url) VALUES (advance_source.batch_id, source, added, last)
        ON CONFLICT (batch_id, name) DO NOTHING;
    ELSE
        UPDATE larder_data.batch_source s SET urls = s.urls + added, last_url = last
        WHERE s.batch_id = advance_source.batch_id AND s.name = source AND s.urls = source_from;
    END IF;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'batch % has not got % URLs of "%": somebody else fills it from there, or an answer was lost', batch_id, source_from, source
            USING ERRCODE = 'LA009';
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.advance_source IS 'Counts the URLs of a list that are in; LA009 unless so many were.';

CREATE FUNCTION larder.batch_source(batch_id bigint, source text) RETURNS TABLE (urls bigint, last_url text)
LANGUAGE sql STABLE AS $$
    SELECT s.urls, s.last_url FROM larder_data.batch_source s WHERE s.batch_id = batch_source.batch_id AND s.name = source
$$;
COMMENT ON FUNCTION larder.batch_source IS 'How many URLs of a list that is being streamed into a batch are in, and the last of them, its first 8,192 characters; no row when it was never begun, or is through.';

CREATE FUNCTION larder.batch_source_end(batch_id bigint, source text) RETURNS void
LANGUAGE sql AS $$
    DELETE FROM larder_data.batch_source s WHERE s.batch_id = batch_source_end.batch_id AND s.name = source
$$;
COMMENT ON FUNCTION larder.batch_source_end IS 'Says that a list is through: given again, it is another one.';

CREATE FUNCTION larder.batch_open(
    name text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL, queue text DEFAULT 'default', notify boolean DEFAULT false
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    b larder_data.batch;
BEGIN
    IF priority NOT BETWEEN 0 AND 9 THEN
        RAISE EXCEPTION 'a priority is 0 to 9, not %', priority USING ERRCODE = '22023';
    END IF;
    b := larder_data.batch_for_enqueue(name, NULL, pipeline, priority, queue, false, batch_open.notify);
    IF b.queue_id <> larder_data.queue_number(queue) THEN
        RAISE EXCEPTION 'batch "%" is in another queue than "%"', name, queue USING ERRCODE = '22023';
    END IF;
    IF batch_open.notify AND NOT b.notify THEN
        UPDATE larder_data.batch x SET notify = true WHERE x.id = b.id;
    END IF;
    RETURN b.id;
END $$;
COMMENT ON FUNCTION larder.batch_open IS
    'Opens a batch, or answers the open one of that name; without a name always a new one. notify: its number is sent on channel larder_batch when it is finished.';

-- Two transactions that have both added to a batch, and both seal it before they end, wait for each other. The one that
-- Postgres picks then leaves a wish instead, and the other one, which waits on, seals the batch for both; if that one is
-- rolled back, maintenance does.
CREATE FUNCTION larder.batch_seal(batch_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    UPDATE larder_data.batch b SET sealed_at = coalesce(b.sealed_at, clock_timestamp()) WHERE b.id = batch_seal.batch_id;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no batch has the number %', batch_seal.batch_id USING ERRCODE = 'LA002';
    END IF;
EXCEPTION WHEN deadlock_detected THEN
    INSERT INTO larder_data.batch_seal_wish (batch_id) VALUES (batch_seal.batch_id) ON CONFLICT (batch_id) DO NOTHING;
END $$;
COMMENT ON FUNCTION larder.batch_seal(bigint) IS 'Says that a batch is complete; waits for transactions that still add to it, but not for one that waits in the same way for the caller''s.';

CREATE FUNCTION larder.batch_seal(batch text) RETURNS void
LANGUAGE sql AS $$ SELECT larder.batch_seal(larder_data.batch_number(batch)) $$;
COMMENT ON FUNCTION larder.batch_seal(text) IS 'Says that a batch is complete; waits for transactions that still add to it.';
