-- Results of URLs: records, stored files, failures, waiting jobs, and the answer per URL.
--
-- A producer sees its own batches' rows, an operator all, see larder_data.reads_all().

CREATE VIEW larder_data.own_batch AS
SELECT b.id FROM larder_data.batch b WHERE b.owner = ANY (ARRAY(SELECT larder_data.own_roles()));

-- Names of origins and batches are joined behind the union: a branch with a join is planned alone, and sorts all
-- records of its batch that an index has in order.
CREATE VIEW larder_data.any_record AS
SELECT r.batch_id, (SELECT b.name FROM larder_data.batch b WHERE b.id = r.batch_id) AS batch, r.kind,
    r.job_id AS number, r.job AS job_id, r.url, r.outcome, r.domain, r.code, r.message, r.http_status,
    r.attempt AS attempts, r.items, r.finished_at, r.retried_as, r.discarded_at, r.stored, r.meta, r.pipeline_id,
    o.name AS origin, r.wait_ms, r.connection_wait_ms, r.dns_ms, r.fetch_ms, r.transcoder_wait_ms, r.transcode_ms,
    r.store_ms, r.bytes_in, r.options, r.worker_id AS worker, r.traceparent
FROM (
    SELECT 'job' AS kind, h.job_id AS job, h.* FROM larder_data.job_history h
    UNION ALL
    SELECT 'item', CASE WHEN h.reason <> 'fresh' THEN h.of_job END, h.* FROM larder_data.job_history h
) AS r LEFT JOIN larder_data.origin o ON o.id = r.origin_id
-- Each branch has a range of the index: Postgres does not pull up a branch with its own condition.
WHERE (r.kind = 'item') = larder_data.is_item(r.job_id);

CREATE VIEW larder.record AS
SELECT r.* FROM larder_data.any_record r
WHERE (SELECT larder_data.reads_all()) OR r.batch_id IN (SELECT x.id FROM larder_data.own_batch x);
COMMENT ON VIEW larder.record IS
    'Completed jobs (kind job) and items that ended without a job of their own (kind item). Select one batch_id and '
    'kind, ORDER BY number, or one job_id of kind job. wait_ms: from claim to load. options: SDWebImage''s bits.';

CREATE VIEW larder.failed AS
SELECT r.batch_id, r.batch, r.kind, r.number, r.job_id, r.url, r.domain, r.code, r.message, r.http_status, r.attempts,
    r.items, r.finished_at, r.meta, r.traceparent
FROM larder.record r WHERE r.outcome = 'failed' AND r.retried_as IS NULL AND r.discarded_at IS NULL;
COMMENT ON VIEW larder.failed IS 'Failures that were neither retried nor discarded since. Select one batch_id.';

-- A worker may have recorded anything: omits elements that are not objects, or have fractional sizes.
CREATE FUNCTION larder_data.files_of(stored json) RETURNS TABLE (
    variant text, key text, path text, format text, width int, height int, bytes bigint, sha256 text, recipe text,
    digest json
)
LANGUAGE sql IMMUTABLE BEGIN ATOMIC
    SELECT f.name, f.key, f.path, f.format, f.width::int, f.height::int, f.bytes::bigint, f.sha256, f.recipe, f.digest
    FROM json_array_elements(CASE WHEN json_typeof(stored) = 'array' THEN stored ELSE '[]' END) AS e,
        json_to_record(CASE WHEN json_typeof(e.value) = 'object' THEN e.value ELSE '{}' END) AS f (
            name text, key text, path text, format text, width text, height text, bytes text, sha256 text, recipe text,
            digest json)
    WHERE f.path IS NOT NULL AND coalesce(f.width, '0') ~ '^\d{1,9}$' AND coalesce(f.height, '0') ~ '^\d{1,9}$'
        AND coalesce(f.bytes, '0') ~ '^\d{1,13}$';
END;

CREATE FUNCTION larder_data.stored_of(job bigint) RETURNS json
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN (SELECT h.stored FROM larder_data.job_history h WHERE h.job_id = stored_of.job LIMIT 1);
END $$;

-- The digest is stored once, with the original: its placeholders apply to every file of the job.
CREATE VIEW larder.stored_file AS
SELECT r.batch_id, (SELECT b.name FROM larder_data.batch b WHERE b.id = r.batch_id) AS batch, r.job_id, r.url,
    f.variant, f.key, f.path, f.format, f.width, f.height, f.bytes, f.sha256, d.digest ->> 'thumbHash' AS thumb_hash,
    d.digest ->> 'blurHash' AS blur_hash, d.digest ->> 'dominantColor' AS dominant_color,
    d.digest ->> 'averageColor' AS average_color, d.digest ->> 'perceptualHash' AS perceptual_hash, r.finished_at
FROM (
    SELECT h.batch_id, h.job_id, h.url, h.stored, h.finished_at FROM larder_data.job_history h
    WHERE h.stored IS NOT NULL AND NOT larder_data.is_item(h.job_id)
    UNION ALL
    SELECT h.batch_id, h.of_job, h.url, coalesce(h.stored, larder_data.stored_of(h.of_job)), h.finished_at
    FROM larder_data.job_history h
    WHERE larder_data.is_item(h.job_id) AND (h.stored IS NOT NULL OR h.reason = 'fresh')
) AS r
CROSS JOIN LATERAL larder_data.files_of(r.stored) AS f
LEFT JOIN LATERAL (
    SELECT o.digest FROM larder_data.files_of(r.stored) AS o WHERE o.digest IS NOT NULL LIMIT 1) AS d ON true
WHERE (SELECT larder_data.reads_all()) OR r.batch_id IN (SELECT x.id FROM larder_data.own_batch x);
COMMENT ON VIEW larder.stored_file IS
    'The files of completed jobs, and of joined and fresh items: the original (variant null) and each variant. Select '
    'one batch_id or one job_id.';

CREATE VIEW larder.attempt AS
SELECT a.job_id, a.attempt::int AS attempt, 'retried' AS outcome, a.worker_id AS worker, a.claimed_at,
    a.at AS ended_at, a.domain, a.code, a.message, a.http_status, a.fetch_ms, a.transcode_ms, a.store_ms, a.delay_ms
FROM larder_data.job_attempt a
UNION ALL
SELECT h.job_id, h.attempt, h.outcome::text, h.worker_id,
    h.created_at + h.queue_ms * interval '1 ms', h.finished_at, h.domain, h.code, h.message, h.http_status, h.fetch_ms,
    h.transcode_ms, h.store_ms, NULL
FROM larder_data.job_history h WHERE h.worker_id IS NOT NULL;
COMMENT ON VIEW larder.attempt IS
    'Attempts that ended, of live and completed jobs. delay_ms: time until the next attempt. Select one job_id.';

CREATE VIEW larder.waiting AS
SELECT w.batch_id, (SELECT b.name FROM larder_data.batch b WHERE b.id = w.batch_id) AS batch, j.id AS job_id, j.url,
    CASE WHEN s.run_at IS NULL THEN 'ready' ELSE 'scheduled' END AS state, s.run_at AS due, j.priority, w.items,
    j.attempt::int AS attempts, j.max_attempts::int AS max_attempts, j.not_after, j.last_domain AS domain,
    j.last_code AS code, j.last_message AS message, j.created_at, w.meta
FROM (
    SELECT x.batch_id, x.id AS job_id, x.items, x.meta FROM larder_data.job x WHERE x.items > 0
    UNION ALL SELECT x.batch_id, x.job_id, x.items, x.meta FROM larder_data.job_item x
) AS w
JOIN larder_data.job j ON j.id = w.job_id
LEFT JOIN larder_data.scheduled s ON s.job_id = w.job_id
LEFT JOIN larder_data.ready r ON r.job_id = w.job_id
WHERE (s.job_id IS NOT NULL OR r.job_id IS NOT NULL)
  AND ((SELECT larder_data.reads_all()) OR w.batch_id IN (SELECT x.id FROM larder_data.own_batch x));
COMMENT ON VIEW larder.waiting IS
    'One row per enqueued item that waits: ready, or scheduled until due. Select one batch_id.';

CREATE FUNCTION larder.lookup(urls text[], pipeline text DEFAULT 'original') RETURNS TABLE (
    url text, state text, outcome text, variant text, key text, path text, format text, finished_at timestamptz,
    job_id bigint
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    versions int[] := ARRAY(SELECT p.id FROM larder_data.pipeline p WHERE p.name = lookup.pipeline);
BEGIN
    PERFORM larder_data.find_pipeline(lookup.pipeline);
    PERFORM larder_data.refuse('at most 10000 URLs a call, not ' || cardinality(urls)) WHERE cardinality(urls) > 10000;
    RETURN QUERY
    SELECT u.url, coalesce(l.state, CASE WHEN h.job_id IS NOT NULL THEN 'completed' END),
        CASE WHEN l.state IS NULL THEN h.outcome::text END, f.variant, f.key,
        f.path, f.format, h.finished_at, coalesce(l.id, h.job_id)
    FROM unnest(lookup.urls) WITH ORDINALITY AS u (url, ord)
    LEFT JOIN LATERAL (
        SELECT j.id, (SELECT s.state FROM larder_data.job_state s WHERE s.job_id = j.id LIMIT 1) AS state
        FROM larder_data.job j
        WHERE j.key = ANY (ARRAY(SELECT larder_data.job_key(u.url, v) FROM unnest(versions) AS v))
        ORDER BY j.id DESC LIMIT 1) AS l ON true
    LEFT JOIN LATERAL (
        SELECT x.job_id, x.outcome, x.finished_at, x.stored FROM larder_data.job_history x
        WHERE hashtextextended(x.url, 0) = hashtextextended(u.url, 0) AND x.url = u.url
          AND x.reason IS NULL AND x.pipeline_id = ANY (versions) ORDER BY x.finished_at DESC LIMIT 1) AS h ON true
    LEFT JOIN LATERAL larder_data.files_of(h.stored) AS f ON true
    ORDER BY u.ord, f.variant NULLS FIRST;
END $$;
COMMENT ON FUNCTION larder.lookup IS
    'What became of up to 10,000 URLs with a pipeline: per URL a row for each file of its last completed job, or one '
    'without a file.';

CREATE FUNCTION larder.differing_variants(
    pipelines bigint[], variants text[], recipes text[], urls text[] DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql STABLE SET jit = off AS $$
BEGIN
    PERFORM larder_data.refuse('at most 10000 URLs and 100000 variants a call')
    WHERE cardinality(urls) > 10000 OR cardinality(pipelines) > 100000;
    RETURN (SELECT count(*) FROM (
        SELECT DISTINCT ON (f.key) f.recipe, w.recipe AS wanted FROM (
            SELECT x.pipeline_id, x.finished_at, x.stored FROM larder_data.job_history x
            WHERE urls IS NULL AND x.pipeline_id = ANY (pipelines) AND x.reason IS NULL
            UNION ALL SELECT o.* FROM unnest(urls) AS u (url), LATERAL (
                SELECT x.pipeline_id, x.finished_at, x.stored FROM larder_data.job_history x
                WHERE hashtextextended(x.url, 0) = hashtextextended(u.url, 0) AND x.url = u.url AND x.reason IS NULL
                OFFSET 0) AS o) AS h
        CROSS JOIN LATERAL larder_data.files_of(h.stored) AS f
        JOIN unnest(pipelines, variants, recipes) AS w (pipeline, variant, recipe)
            ON w.pipeline = h.pipeline_id AND w.variant = f.variant AND f.recipe IS NOT NULL
        ORDER BY f.key, h.finished_at DESC) AS d WHERE d.recipe <> d.wanted);
END $$;
COMMENT ON FUNCTION larder.differing_variants IS
    'How many stored variants have another recipe than the wanted one: the three arrays have the id of a pipeline '
    'version, a variant and its recipe. urls: of these images only.';

CREATE FUNCTION larder.remaining(batch text DEFAULT NULL, queue text DEFAULT 'default', counted boolean DEFAULT false)
RETURNS TABLE (
    has_ready boolean, has_running boolean, has_suspended boolean, next_due_ms bigint, scheduled bigint
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    wanted_batch bigint := CASE WHEN batch IS NOT NULL THEN larder_data.find_batch(batch) END;
    wanted_queue smallint := CASE WHEN batch IS NULL THEN larder_data.find_queue(queue) END;
BEGIN
    IF wanted_batch IS NULL THEN
        RETURN QUERY
        WITH due AS MATERIALIZED (
            SELECT s.run_at FROM larder_data.scheduled s, LATERAL (
                SELECT FROM larder_data.job x WHERE x.id = s.job_id AND x.queue_id = wanted_queue OFFSET 0) AS j
            ORDER BY s.run_at LIMIT CASE WHEN counted THEN 10000 ELSE 1 END)
        SELECT EXISTS (SELECT FROM larder_data.ready r WHERE r.lane BETWEEN wanted_queue * 10 AND wanted_queue * 10 + 9)
                AND EXISTS (SELECT FROM larder_data.queue q WHERE q.id = wanted_queue AND q.paused_at IS NULL)
                OR EXISTS (SELECT FROM larder_data.due_schedule s
                    WHERE coalesce(s.request ->> 'queue', 'default') = queue),
            larder_data.running_in(wanted_queue, 1) > 0,
            EXISTS (SELECT FROM larder_data.suspended s, LATERAL (
                SELECT FROM larder_data.job x WHERE x.id = s.job_id AND x.queue_id = wanted_queue OFFSET 0) AS j),
            (SELECT greatest(extract(epoch FROM d.run_at - clock_timestamp()) * 1000, 0)::bigint
             FROM due d ORDER BY d.run_at LIMIT 1),
            CASE WHEN counted THEN (SELECT count(*) FROM due) END;
        RETURN;
    END IF;
    RETURN QUERY
    WITH mine AS MATERIALIZED (
        SELECT j.id, j.queue_id FROM larder_data.job j WHERE j.batch_id = wanted_batch AND j.items > 0
        UNION ALL
        SELECT DISTINCT j.id, j.queue_id FROM larder_data.job_item s JOIN larder_data.job j ON j.id = s.job_id
        WHERE s.batch_id = wanted_batch
    )
    SELECT EXISTS (
            SELECT FROM larder_data.queue q, mine m, LATERAL (
                SELECT FROM larder_data.ready x WHERE x.job_id = m.id OFFSET 0) AS r
            WHERE q.id = m.queue_id AND q.paused_at IS NULL)
            AND EXISTS (SELECT FROM larder_data.batch b WHERE b.id = wanted_batch AND b.paused_at IS NULL),
        -- A new item may make a job ready.
        EXISTS (SELECT FROM mine m JOIN larder_data.running r ON r.job_id = m.id)
            OR EXISTS (SELECT FROM larder_data.job_item x WHERE x.batch_id = wanted_batch AND x.is_new),
        EXISTS (SELECT FROM mine m JOIN larder_data.suspended s ON s.job_id = m.id),
        (SELECT greatest(extract(epoch FROM s.run_at - clock_timestamp()) * 1000, 0)::bigint
         FROM mine m JOIN larder_data.scheduled s ON s.job_id = m.id ORDER BY s.run_at LIMIT 1),
        CASE WHEN counted THEN (
            SELECT count(*) FROM mine m JOIN larder_data.scheduled s ON s.job_id = m.id) END;
END $$;
COMMENT ON FUNCTION larder.remaining IS
    'What is left of a batch, or of a queue. has_ready: a worker may claim it, or a schedule is due. next_due_ms: '
    'until the next scheduled job. scheduled: with counted, of a queue at most 10,000.';

-- Waiting is a procedure: each poll is a separate transaction, because a function would hold one snapshot, and with it
-- vacuum, until its end. A procedure that commits can have neither SECURITY DEFINER nor SET.
CREATE PROCEDURE larder.wait_batch(batch text, timeout interval DEFAULT '1 hour')
LANGUAGE plpgsql AS $$
DECLARE
    began_at pg_catalog.timestamptz := pg_catalog.clock_timestamp();
    silence pg_catalog.interval := '10 s'::pg_catalog.interval;
    deadline pg_catalog.timestamptz;
    wanted_id pg_catalog.int8;
    state pg_catalog.text;
    pause pg_catalog.float8;
BEGIN
    LOOP
        -- Until COMMIT: otherwise operators would be found by the caller's search_path, and could be another role's.
        PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        deadline := coalesce(deadline, clock_timestamp() + timeout);
        wanted_id := coalesce(wanted_id, larder.batch_id(batch));
        SELECT p.state INTO state FROM larder.progress p WHERE p.batch_id = wanted_id;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'unknown batch "%"', batch USING ERRCODE = 'LA002';
        END IF;
        EXIT WHEN state IN ('finished', 'cancelled');
        pause := least(coalesce(pause * 2, 0.02), 1,
            greatest(coalesce(extract(epoch FROM deadline - clock_timestamp()), 1), 0.001));
        IF clock_timestamp() >= deadline THEN
            RAISE EXCEPTION 'batch "%" is not finished after %', batch, timeout USING ERRCODE = 'LA008';
        END IF;
        -- Only sending something reveals to the server that the client is gone: the next pause then ends the session.
        -- INFO is sent whatever client_min_messages is.
        IF clock_timestamp() - began_at > silence THEN
            RAISE INFO 'batch "%" is %', batch, state;
            silence := least(silence * 2, silence + '5 min');
        END IF;
        COMMIT;
        PERFORM pg_catalog.pg_sleep(pause);
        COMMIT;
    END LOOP;
END $$;
COMMENT ON PROCEDURE larder.wait_batch IS
    'Waits until a batch is finished or cancelled, LA008 after the timeout, NULL: for ever. CALL it outside a '
    'transaction block.';
