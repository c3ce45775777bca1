-- Completion: the call, and jobs that succeeded. The other results are in complete_others.sql.
--
-- Jobs that succeeded are deleted without being locked first, each in its newest version, with all its items; its
-- subscribers and joins are read after that. A join that commits later is settled by maintenance, see joins.sql. An
-- operator's open transaction may have a job locked, and the other jobs must not wait for that. So completion waits for
-- 25 ms, then finds out which rows are locked, answers these `busy`, to be sent again, and completes the rest.
--
-- A completion commits to disk before it is answered. It may be repeated when the answer was lost: it finds what it
-- recorded in history, or as an attempt, and answers the same.

CREATE TYPE larder_data.result AS (
    job bigint, claim bigint, result text, domain text, code int, message text, http_status int, retry_after_ms bigint,
    bytes_in bigint, bytes_out bigint, downloads smallint, variants smallint,
    wait_ms int, fetch_ms int, transcode_ms int, store_ms int, poison boolean, stored json
);
COMMENT ON TYPE larder_data.result IS 'One element of the array that larder.complete_v1 takes.';

CREATE FUNCTION larder_data.duration_class(ms double precision) RETURNS int
LANGUAGE sql IMMUTABLE RETURN least(floor(ln(greatest(ms, 1)) / 0.34657359)::int, 60);
COMMENT ON FUNCTION larder_data.duration_class IS 'The class c of a duration: 2^(c/2) to 2^((c+1)/2) ms.';

-- The record of a job is the one with the time of this transaction.
CREATE FUNCTION larder_data.finish_subscribers(jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_nestloop = on
SET jit = off AS $$
BEGIN
    WITH gone AS (
        DELETE FROM larder_data.job_subscriber s WHERE s.job_id = ANY (jobs) RETURNING s.job_id, s.batch_id, s.items,
            s.meta
    ), ended AS MATERIALIZED (
        SELECT g.batch_id AS subscriber, g.items AS joined_items, g.meta AS joined_meta, h.* FROM gone g, LATERAL (
            SELECT x.* FROM larder_data.job_history x
            WHERE x.job_id = g.job_id AND x.finished_at = now() LIMIT 1) AS h
    ), record AS (
        INSERT INTO larder_data.item_history (id, batch_id, job_id, items, code, outcome, attempt, reason, url, meta,
            domain, message, stored)
        SELECT nextval('larder_data.item_id'), e.subscriber, e.job_id, e.joined_items, e.code, e.outcome, e.attempt,
            'joined', e.url, e.joined_meta, e.domain, e.message, e.stored
        FROM ended e
    ), detail AS (
        INSERT INTO larder_data.batch_detail_delta (batch_id, n, code, domain)
        SELECT e.subscriber, sum(e.joined_items), e.code, e.domain FROM ended e WHERE e.outcome = 2
        GROUP BY e.subscriber, e.domain, e.code
    )
    INSERT INTO larder_data.batch_delta (batch_id, succeeded, failed, cancelled)
    SELECT e.subscriber, sum(e.joined_items * (e.outcome = 1)::int), sum(e.joined_items * (e.outcome = 2)::int),
        sum(e.joined_items * (e.outcome = 3)::int)
    FROM ended e GROUP BY e.subscriber;
END $$;
COMMENT ON FUNCTION larder_data.finish_subscribers IS
    'Ends the items of other batches that joined jobs which this transaction has completed.';

CREATE FUNCTION larder_data.read_results(results json) RETURNS SETOF larder_data.result
LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT g.job, g.claim, g.result, g.domain, g.code, g.message, g.http_status, g.retry_after_ms,
        coalesce(g.bytes_in, 0), coalesce(g.bytes_out, 0), coalesce(g.downloads, 0::smallint),
        coalesce(g.variants, 0::smallint), g.wait_ms, g.fetch_ms, g.transcode_ms, g.store_ms, g.poison, g.stored
    FROM json_populate_recordset(NULL::larder_data.result, results) AS g;
END;
COMMENT ON FUNCTION larder_data.read_results IS 'The results that larder.complete_v1 takes, as rows.';

-- The array is read within the statement: one of composite values would be built and taken apart again.
CREATE FUNCTION larder_data.complete_succeeded(
    worker bigint, results json, busy bigint[], OUT jobs bigint[], OUT claims bigint[], OUT is_all boolean
)
LANGUAGE plpgsql AS $$
DECLARE
    subscribed bigint[];
    unblocked text[];
BEGIN
    WITH given AS MATERIALIZED (
        SELECT g.* FROM larder_data.read_results(results) AS g
    ), freed AS (
        -- The fence: one index probe per result.
        DELETE FROM larder_data.running r WHERE r.ctid = ANY (ARRAY(
            SELECT held.tid FROM given g, LATERAL (
                SELECT x.ctid AS tid FROM larder_data.running x
                WHERE x.worker_id = worker AND x.job_id = g.job AND x.claim_no = g.claim OFFSET 0) AS held
            WHERE g.result = 'succeeded' AND g.job <> ALL (busy)))
        RETURNING r.job_id, r.claim_no, r.claimed_at
    ), gone AS (
        DELETE FROM larder_data.job j WHERE j.id = ANY (ARRAY(SELECT f.job_id FROM freed f))
        RETURNING j.id, j.batch_id, j.created_at, j.options, j.pipeline_id, j.origin_id, j.items, j.priority, j.attempt,
            j.rescues, j.has_subscribers, j.url, j.context, j.meta
    ), ended AS MATERIALIZED (
        SELECT j.*, g.*, f.claimed_at
        FROM gone j JOIN freed f ON f.job_id = j.id JOIN given g ON g.job = f.job_id AND g.claim = f.claim_no
    ), history AS (
        INSERT INTO larder_data.job_history (
            created_at, job_id, batch_id, worker_id, claim_no, cache_id, options, bytes_in, bytes_out, pipeline_id,
            origin_id, items, queue_ms, wait_ms, fetch_ms, transcode_ms, store_ms, http_status, outcome, priority,
            attempt, rescues, downloads, variants, url, context, meta, stored)
        SELECT e.created_at, e.id, e.batch_id, worker, e.claim,
            (SELECT w.cache_id FROM larder_data.worker w WHERE w.id = worker ORDER BY w.number DESC LIMIT 1), e.options,
            e.bytes_in, e.bytes_out, e.pipeline_id, e.origin_id, e.items,
            least(date_part('epoch', e.claimed_at - e.created_at) * 1000, 2147483647), e.wait_ms, e.fetch_ms,
            e.transcode_ms, e.store_ms, e.http_status, 1, e.priority, e.attempt + 1, e.rescues, e.downloads, e.variants,
            e.url, e.context, e.meta, e.stored
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
        array_agg(e.id) FILTER (WHERE e.has_subscribers),
        array_agg(e.url) FILTER (WHERE e.options & 1 = 1 AND e.downloads > 0)
    INTO jobs, claims, is_all, subscribed, unblocked FROM ended e;
    IF subscribed IS NOT NULL THEN
        PERFORM larder_data.finish_subscribers(subscribed);
    END IF;
    IF EXISTS (SELECT FROM larder_data.job_join x WHERE x.job_id = ANY (jobs)) THEN
        PERFORM larder_data.settle_joins(jobs);
    END IF;
    IF unblocked IS NOT NULL THEN
        PERFORM larder_data.unblock(unblocked);
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.complete_succeeded IS
    'Records the successes whose claims are held, without busy jobs, and returns their claims. is_all: these were all '
    'results, at most 1000 and each claim once.';

-- A stale result has no effect, not even this one. Mostly the batch has none of the jobs: where a transaction adds to a
-- cancelled batch, that stays unfinished until the transaction ends.
CREATE FUNCTION larder_data.lock_jobs_of(cancelled bigint, worker bigint, results json) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    found bigint[] := ARRAY(
        SELECT g.job FROM larder_data.read_results(results) AS g,
            LATERAL (
                SELECT FROM larder_data.running r
                WHERE r.worker_id = worker AND r.claim_no = g.claim AND r.job_id = g.job OFFSET 0) AS held,
            LATERAL (
                SELECT x.batch_id, x.items, x.has_subscribers FROM larder_data.job x WHERE x.id = g.job OFFSET 0) AS j
        WHERE j.batch_id = cancelled AND j.items > 0
            OR j.has_subscribers AND EXISTS (
                SELECT FROM larder_data.job_subscriber s
                WHERE s.job_id = g.job AND s.batch_id = cancelled OFFSET 0)
            OR EXISTS (
                -- By job: of the batch there may be 10,000 rows that are not committed.
                SELECT FROM larder_data.job_join x WHERE x.job_id = g.job AND x.batch_id + 0 = cancelled OFFSET 0));
BEGIN
    IF found = '{}' THEN
        RETURN found;
    END IF;
    RETURN ARRAY(SELECT j.id FROM larder_data.job j WHERE j.id = ANY (found) FOR UPDATE OF j SKIP LOCKED);
END $$;
COMMENT ON FUNCTION larder_data.lock_jobs_of IS
    'Locks the jobs of these results, as far as their claims are held, that a cancelled batch has.';

CREATE FUNCTION larder.complete_v1(worker bigint, results json) RETURNS TABLE (
    job_id bigint, claim_no bigint, decision text, delay_ms bigint, domain text, code int, message text
)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_nestloop = off SET jit = off
SET plan_cache_mode = force_generic_plan SET lock_timeout = '25ms' AS $$
DECLARE
    -- json accepts \u0000, but no function can read it. One such character must not make a whole call fail.
    given json := CASE WHEN strpos(results::text, E'\\u0000') = 0 THEN results
        ELSE regexp_replace(results::text, E'(?<!\\\\)((?:\\\\\\\\)*)\\\\u0000', E'\\1', 'g')::json END;
    busy bigint[] := '{}'::bigint[];
    done record;
    cancelled bigint;
BEGIN
    FOR try IN 1 .. 3 LOOP
        BEGIN
            -- Items of a cancelled batch that maintenance has not ended yet are cancelled, whatever becomes of the job.
            FOR cancelled IN
                SELECT b.id FROM larder_data.batch b WHERE b.finished_at IS NULL AND b.cancelled_at IS NOT NULL
            LOOP
                PERFORM larder_data.end_items(cancelled, e.jobs)
                FROM (SELECT larder_data.lock_jobs_of(cancelled, worker, given) AS jobs) AS e WHERE e.jobs <> '{}';
            END LOOP;
            done := larder_data.complete_succeeded(worker, given, busy);
            IF NOT done.is_all THEN
                RETURN QUERY SELECT * FROM larder_data.complete_others(
                    worker, larder_data.other_results(given, done.jobs, done.claims, busy), try < 3);
            END IF;
            EXIT;
        EXCEPTION WHEN lock_not_available OR check_violation THEN
            IF try = 3 THEN
                RAISE;
            END IF;
        END;
        -- After a pause of weeks there is no partition for today. The third try blocks no URLs, because another session
        -- has a row of the blocklist locked.
        PERFORM larder_data.ensure_today();
        PERFORM set_config('lock_timeout', CASE try WHEN 1 THEN '500ms' ELSE '5s' END, true);
        busy := ARRAY(
            SELECT j.id FROM larder_data.job j
            WHERE j.id = ANY (ARRAY(SELECT g.job FROM larder_data.read_results(given) AS g))
            EXCEPT SELECT f.id FROM (
                SELECT j.id FROM larder_data.job j
                WHERE j.id = ANY (ARRAY(SELECT g.job FROM larder_data.read_results(given) AS g))
                FOR UPDATE SKIP LOCKED) AS f);
    END LOOP;
    RETURN QUERY
    SELECT d.job, d.claim, 'succeeded', NULL::bigint, NULL, NULL::int, NULL
    FROM unnest(done.jobs, done.claims) AS d (job, claim);
    IF busy <> '{}' THEN
        RETURN QUERY
        SELECT g.job, g.claim, 'busy', NULL::bigint, NULL, NULL::int, NULL
        FROM larder_data.read_results(given) AS g WHERE g.job = ANY (busy);
    END IF;
END $$;
COMMENT ON FUNCTION larder.complete_v1 IS
    'Completes jobs: an array of objects {"job", "claim", "result": succeeded, failed or cancelled} and, where known, '
    '"domain", "code", "message", "http_status", "retry_after_ms", "bytes_in", "bytes_out", "downloads", "variants", '
    '"wait_ms", "fetch_ms", "transcode_ms", "store_ms", "poison" (false: with 301, this is not the image''s fault), '
    '"stored"; at most 1000. Answers per job succeeded, retried '
    '(with its delay), failed, cancelled, stale (nothing recorded) or busy (send it again). May be repeated: for a '
    'day, and until its batch is deleted, it answers the same, then stale.';
