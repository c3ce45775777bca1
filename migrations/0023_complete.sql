-- Completion: the call, and jobs that succeeded. Other results are in complete_others.sql.
--
-- Succeeded jobs are deleted without being locked first, each in its newest version with all its items; job_item is
-- read after that. Maintenance ends an item that commits later, see items.sql. An operator's open transaction may have
-- locked a job, and the other jobs must not wait for it. So completion waits for 25 ms, then finds the locked rows,
-- answers them `busy`, to be sent again, and completes the rest.
--
-- Values out of range are clamped, so that no result can stop the counts or other views.
--
-- A completion commits to disk before it is answered. It may be repeated if the answer was lost: it finds its record in
-- history or as an attempt, and answers the same.

-- A result's ranges are checked while parsing the array, which costs less than reading it twice.
CREATE DOMAIN larder_data.large_count AS bigint CHECK (VALUE BETWEEN 0 AND 1099511627776);
CREATE DOMAIN larder_data.small_count AS smallint CHECK (VALUE BETWEEN 0 AND 1000);
CREATE DOMAIN larder_data.milliseconds AS int CHECK (VALUE >= 0);
CREATE DOMAIN larder_data.domain_name AS text CHECK (length(VALUE) <= 200);
CREATE DOMAIN larder_data.message AS text CHECK (length(VALUE) <= 2000);

-- An array of readable texts; larder_data.files_of() omits elements that are not files.
CREATE DOMAIN larder_data.stored_files AS json CHECK (
    json_typeof(VALUE) = 'array' AND octet_length(VALUE::text) <= 262144
    AND (strpos(VALUE::text, '\u') = 0 OR VALUE::jsonb IS NOT NULL));

CREATE TYPE larder_data.result AS (
    job bigint, claim bigint, result text, domain larder_data.domain_name, code int, message larder_data.message,
    http_status larder_data.small_count, retry_after_ms larder_data.large_count, bytes_in larder_data.large_count,
    bytes_out larder_data.large_count, downloads larder_data.small_count, variants larder_data.small_count,
    wait_ms larder_data.milliseconds, fetch_ms larder_data.milliseconds, transcode_ms larder_data.milliseconds,
    store_ms larder_data.milliseconds, poison boolean, stored larder_data.stored_files, blocks boolean,
    unblocks boolean, worker_limit larder_data.large_count, connection_wait_ms larder_data.milliseconds,
    dns_ms larder_data.milliseconds, transcoder_wait_ms larder_data.milliseconds
);

CREATE FUNCTION larder_data.read_results(results json) RETURNS SETOF larder_data.result
LANGUAGE sql STABLE BEGIN ATOMIC
    -- Missing values are 0 in the four summed columns.
    SELECT * FROM json_populate_recordset(
        ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
            NULL, NULL, NULL, NULL, NULL)::larder_data.result, results);
END;

CREATE FUNCTION larder_data.stored_or_null(stored json) RETURNS json
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN stored::larder_data.stored_files;
EXCEPTION WHEN data_exception OR check_violation THEN
    RETURN NULL;
END $$;

-- The results with numbers clamped, texts cut, and without unreadable files; an error of class 22 if a value has
-- another type.
CREATE FUNCTION larder_data.cut_results(results json) RETURNS json
LANGUAGE sql IMMUTABLE BEGIN ATOMIC
    SELECT json_agg((
        SELECT json_object_agg(m.key, CASE
            WHEN m.key IN ('domain', 'message') THEN to_json(left(m.value #>> '{}', r.high::int))
            WHEN m.key = 'stored' THEN larder_data.stored_or_null(m.value)
            WHEN r.key IS NULL THEN m.value
            ELSE to_json(coalesce(larder_data.within((m.value #>> '{}')::numeric, r.high, r.low), r.absent)) END)
        FROM json_each(g.result) AS m LEFT JOIN (VALUES
            ('domain', NULL, 200, NULL), ('message', NULL, 2000, NULL), ('code', -2147483648, 2147483647, NULL),
            ('http_status', 0, 999, NULL), ('retry_after_ms', 0, 1099511627776, NULL),
            ('worker_limit', 0, 1099511627776, NULL), ('bytes_in', 0, 1099511627776, 0),
            ('bytes_out', 0, 1099511627776, 0), ('downloads', 0, 1000, 0), ('variants', 0, 1000, 0),
            ('wait_ms', 0, 2147483647, NULL), ('fetch_ms', 0, 2147483647, NULL),
            ('transcode_ms', 0, 2147483647, NULL), ('store_ms', 0, 2147483647, NULL),
            ('connection_wait_ms', 0, 2147483647, NULL), ('dns_ms', 0, 2147483647, NULL),
            ('transcoder_wait_ms', 0, 2147483647, NULL)
            ) AS r (key, low, high, absent) ON r.key = m.key) ORDER BY g.ord)
    FROM json_array_elements(results) WITH ORDINALITY AS g (result, ord);
END;

-- Class c of a duration: 2^(c/2) to 2^((c+1)/2) ms.
CREATE FUNCTION larder_data.duration_class(ms double precision) RETURNS int
LANGUAGE sql IMMUTABLE RETURN least(floor(ln(greatest(ms, 1)) / 0.34657359)::int, 60);

-- Records the successes with held claims, except busy jobs, and returns their claims. is_all: these were all results,
-- at most 1000 and each claim once. The array is parsed within the statement: an array of composite values would be
-- built and taken apart again.
CREATE FUNCTION larder_data.complete_succeeded(
    worker bigint, results json, busy bigint[], OUT jobs bigint[], OUT claims bigint[], OUT is_all boolean
)
LANGUAGE plpgsql AS $$
DECLARE
    unblocked text[];
BEGIN
    WITH given AS MATERIALIZED (
        SELECT g.* FROM larder_data.read_results(results) AS g
    ), freed AS (
        -- The fence: one primary key probe per result. By claim, each probe would read all its jobs.
        DELETE FROM larder_data.running r WHERE r.ctid = ANY (ARRAY(
            SELECT held.tid FROM given g, LATERAL (
                SELECT x.ctid AS tid FROM larder_data.running x
                WHERE x.job_id = g.job AND (x.worker_id, x.claim_no) IS NOT DISTINCT FROM (worker, g.claim)
                OFFSET 0) AS held
            WHERE g.result = 'succeeded' AND g.job <> ALL (busy)))
        RETURNING r.job_id, r.claim_no, r.claimed_at
    ), gone AS (
        DELETE FROM larder_data.job j WHERE j.id = ANY (ARRAY(SELECT f.job_id FROM freed f))
        RETURNING j.id, j.batch_id, j.created_at, j.options, j.pipeline_id, j.origin_id, j.items, j.priority, j.attempt,
            j.rescues, j.url, j.context, j.meta, j.traceparent
    ), ended AS MATERIALIZED (
        SELECT j.*, g.*, f.claimed_at
        FROM gone j JOIN freed f ON f.job_id = j.id JOIN given g ON g.job = f.job_id AND g.claim = f.claim_no
    ), history AS (
        INSERT INTO larder_data.job_history (
            created_at, job_id, batch_id, worker_id, claim_no, cache_id, options, bytes_in, bytes_out, pipeline_id,
            origin_id, items, queue_ms, wait_ms, connection_wait_ms, dns_ms, fetch_ms, transcoder_wait_ms, transcode_ms,
            store_ms, http_status, outcome, priority, attempt, rescues, downloads, variants, url, context, meta,
            traceparent, stored)
        SELECT e.created_at, e.id, e.batch_id, worker, e.claim,
            (SELECT w.cache_id FROM larder_data.worker w WHERE w.id = worker ORDER BY w.number DESC LIMIT 1), e.options,
            e.bytes_in, e.bytes_out, e.pipeline_id, e.origin_id, e.items,
            least(date_part('epoch', e.claimed_at - e.created_at) * 1000, 2147483647), e.wait_ms,
            e.connection_wait_ms, e.dns_ms, e.fetch_ms, e.transcoder_wait_ms, e.transcode_ms, e.store_ms,
            e.http_status, 'succeeded', e.priority, e.attempt + 1, e.rescues, e.downloads, e.variants, e.url, e.context,
            e.meta, e.traceparent, e.stored
        FROM ended e
    ), ledger AS (
        INSERT INTO larder_data.batch_delta (
            batch_id, bytes_in, bytes_out, succeeded, downloads, variants, jobs, duration_class)
        SELECT e.batch_id, sum(e.bytes_in), sum(e.bytes_out), sum(e.items), sum(e.downloads), sum(e.variants), count(*),
            larder_data.duration_class(date_part('epoch', now() - e.claimed_at) * 1000) AS class
        FROM ended e GROUP BY e.batch_id, class
    )
    SELECT coalesce(array_agg(e.id), '{}'), coalesce(array_agg(e.claim), '{}'),
        (SELECT count(*) <= 1000 AND count(*) = (SELECT count(*) FROM freed) FROM given),
        array_agg(e.url) FILTER (WHERE e.options & 1 = 1 AND e.downloads > 0 OR e.unblocks)
    INTO jobs, claims, is_all, unblocked FROM ended e;
    PERFORM larder_data.end_joined(jobs, now())
    WHERE EXISTS (SELECT FROM larder_data.job_item x WHERE x.job_id = ANY (jobs));
    IF unblocked IS NOT NULL THEN
        PERFORM larder_data.unblock(unblocked);
    END IF;
END $$;

-- Items of a cancelled batch that maintenance has not ended yet are cancelled, whatever happens to the job. A stale
-- result does not even do this. Mostly no cancelled batch has any of the jobs; a batch that a transaction adds to stays
-- unfinished until the transaction ends.
CREATE FUNCTION larder_data.end_cancelled_items(worker bigint, results json) RETURNS void
LANGUAGE plpgsql SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    cancelled bigint;
    jobs bigint[];
BEGIN
    FOR cancelled, jobs IN
        SELECT w.batch_id, array_agg(DISTINCT g.job) FROM larder_data.read_results(results) AS g
        CROSS JOIN LATERAL (
            SELECT FROM larder_data.running r
            WHERE r.job_id = g.job AND (r.worker_id, r.claim_no) IS NOT DISTINCT FROM (worker, g.claim)
            OFFSET 0) AS held
        CROSS JOIN LATERAL (
            SELECT j.batch_id FROM larder_data.job j WHERE j.id = g.job AND j.items > 0
            UNION ALL SELECT x.batch_id FROM larder_data.job_item x WHERE x.job_id = g.job) AS w
        CROSS JOIN LATERAL (
            SELECT FROM larder_data.batch b
            WHERE b.id = w.batch_id AND b.finished_at IS NULL AND b.cancelled_at IS NOT NULL OFFSET 0) AS b
        GROUP BY w.batch_id ORDER BY w.batch_id
    LOOP
        jobs := ARRAY(SELECT j.id FROM larder_data.job j WHERE j.id = ANY (jobs) FOR UPDATE OF j SKIP LOCKED);
        PERFORM larder_data.end_items(cancelled, jobs) WHERE jobs <> '{}';
    END LOOP;
END $$;

CREATE FUNCTION larder.complete_v1(worker bigint, results json) RETURNS TABLE (
    job_id bigint, claim_no bigint, decision text, delay_ms bigint, domain text, code int, message text
)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_nestloop = off SET jit = off
SET plan_cache_mode = force_generic_plan SET lock_timeout = '25ms' AS $$
DECLARE
    -- json accepts \u0000, but no function can read it. One such character must not fail a whole call.
    given json := CASE WHEN strpos(results::text, E'\\u0000') = 0 THEN results
        ELSE regexp_replace(results::text, E'(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', E'\\1', 'g')::json END;
    busy bigint[] := '{}'::bigint[];
    done record;
BEGIN
    PERFORM larder_data.wait_for_flush();
    IF json_typeof(given) IS DISTINCT FROM 'array' THEN
        RAISE EXCEPTION 'results are an array of at most 1000 objects' USING ERRCODE = '22023';
    END IF;
    FOR try IN 1 .. 3 LOOP
        BEGIN
            IF EXISTS (SELECT FROM larder_data.batch b WHERE b.finished_at IS NULL AND b.cancelled_at IS NOT NULL) THEN
                PERFORM larder_data.end_cancelled_items(worker, given);
            END IF;
            done := larder_data.complete_succeeded(worker, given, busy);
            IF NOT done.is_all THEN
                RETURN QUERY SELECT * FROM larder_data.complete_others(
                    worker, larder_data.other_results(given, done.jobs, done.claims, busy), try < 3);
            END IF;
            EXIT;
        EXCEPTION
            WHEN unique_violation THEN
                PERFORM larder_data.other_results(given, '{}', '{}', '{}');
                RAISE;
            WHEN lock_not_available OR check_violation OR not_null_violation OR data_exception THEN
                IF try = 3 THEN
                    RAISE;
                END IF;
                given := CASE WHEN SQLSTATE = '55P03' THEN given ELSE larder_data.cut_results(given) END;
        END;
        -- After a pause of weeks there is no partition for today. The third try blocks no URLs, because another session
        -- has locked a row of the blocklist.
        PERFORM larder_data.ensure_today();
        PERFORM set_config('lock_timeout', CASE try WHEN 1 THEN '500ms' ELSE '5s' END, true);
        busy := ARRAY(SELECT g.job FROM larder_data.read_results(given) AS g);
        busy := ARRAY(
            SELECT j.id FROM larder_data.job j WHERE j.id = ANY (busy)
            EXCEPT SELECT f.id FROM (
                SELECT j.id FROM larder_data.job j WHERE j.id = ANY (busy) FOR UPDATE SKIP LOCKED) AS f);
    END LOOP;
    RETURN QUERY
    SELECT d.job, d.claim, 'succeeded', NULL::bigint, NULL, NULL::int, NULL
    FROM unnest(done.jobs, done.claims) AS d (job, claim)
    UNION ALL SELECT g.job, g.claim, 'busy', NULL, NULL, NULL, NULL
    FROM larder_data.read_results(CASE WHEN busy <> '{}' THEN given END) AS g WHERE g.job = ANY (busy);
END $$;
COMMENT ON FUNCTION larder.complete_v1 IS
    'Completes jobs, by an array of at most 1000 objects with job, claim, result (succeeded, failed or cancelled) and '
    'more. Answers per job what was decided: succeeded, retried, failed, cancelled, stale (nothing recorded) or busy.';
