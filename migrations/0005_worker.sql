-- The worker protocol, version 1, for any language that can call a function: worker_start, claim, complete, release,
-- heartbeat, worker_stop.
--
-- The fence: a claim is (worker, job, claim number). The worker's number is a fresh row per start, the claim number its
-- own counter. Whoever completes must present exactly the claim that stands in `running`; a worker that lost its lease,
-- a zombie, or the same worker with an older claim finds no such row and records nothing.
--
-- Answers may be lost. claim, told so, answers the same jobs again under the same number; complete finds what it recorded
-- in history, or on the job that it put off, and answers the same again; release, heartbeat and stop may be repeated.
--
-- Durability: claim, heartbeat and worker_stop commit without waiting for the disk. What a crash of the server forgets of
-- them is as if it had not been: the jobs are ready again, or rescued with their worker, and the fence refuses who thinks
-- that it holds them. Complete waits, and so does release: a worker that lives on would never be rescued of a job it gave back.
-- A claim behind a complete, in one transaction, waits with it.
--
-- Claims step over dead rows. A snapshot held open by anybody keeps every claimed row in the index; a claim that began
-- at the head each time would walk over all of them. So it begins at a floor: the highest of what one maintenance task
-- found ready lowest, a second ago, and what the worker itself has passed. Jobs that come in below (released, retried,
-- enqueued by a transaction that was open for long) wait until the next look, a second at most.
--
-- No statement here joins tables: rows are found by TID, by = ANY of an index, or by LATERAL with OFFSET 0, one probe
-- per job, so that no statistics, empty, stale or huge, turn a claim of ten jobs into a scan of a million.
--
-- Error codes: LA004 protocol not offered, LA005 worker unknown, stopped or its lease run out, 22023 argument.

CREATE FUNCTION larder.worker_start_v1(
    name text, host text, pid int, version text, slots int, cache_id text DEFAULT NULL
) RETURNS TABLE (worker_id bigint, lease_ms int)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM larder_data.settings m WHERE 1 BETWEEN m.protocol_oldest AND m.protocol_newest) THEN
        RAISE EXCEPTION 'this database no longer offers worker protocol 1' USING ERRCODE = 'LA004';
    ELSIF coalesce(worker_start_v1.slots, 0) < 1 THEN
        RAISE EXCEPTION 'a worker has at least one slot' USING ERRCODE = '22023';
    END IF;
    PERFORM larder_data.ensure_today();
    IF worker_start_v1.cache_id <> '' THEN
        INSERT INTO larder_data.cache (name) SELECT left(worker_start_v1.cache_id, 200)
        WHERE NOT EXISTS (SELECT FROM larder_data.cache c WHERE c.name = left(worker_start_v1.cache_id, 200)) ON CONFLICT (name) DO NOTHING;
    END IF;
    RETURN QUERY
    INSERT INTO larder_data.worker AS w (name, host, pid, version, slots, cache_id, lease_ms, heartbeat_at)
    SELECT left(worker_start_v1.name, 200), left(worker_start_v1.host, 200), worker_start_v1.pid, left(worker_start_v1.version, 200),
           worker_start_v1.slots, (SELECT c.id FROM larder_data.cache c WHERE c.name = left(worker_start_v1.cache_id, 200)), m.lease_ms, clock_timestamp()
    FROM larder_data.settings m
    RETURNING w.id, w.lease_ms;
END $$;
COMMENT ON FUNCTION larder.worker_start_v1 IS 'Registers one start of a worker: a fresh number and its lease, which heartbeats extend.';

CREATE FUNCTION larder_data.hold_reason(job_id bigint, home bigint, items int, followed boolean) RETURNS text
LANGUAGE sql STABLE AS $$
    SELECT CASE WHEN bool_or(b.cancelled_at IS NULL AND b.paused_at IS NULL) THEN NULL
                WHEN bool_or(b.cancelled_at IS NULL) THEN 'paused' ELSE 'cancelled' END
    FROM (
        SELECT home AS id WHERE items > 0
        UNION ALL SELECT f.batch_id FROM larder_data.job_subscriber f WHERE followed AND f.job_id = hold_reason.job_id
    ) AS w, LATERAL (SELECT x.cancelled_at, x.paused_at FROM larder_data.batch x WHERE x.id = w.id OFFSET 0) AS b
$$;
COMMENT ON FUNCTION larder_data.hold_reason IS 'Why no batch that wants a job lets it run now: paused, cancelled; NULL when one does.';

-- The jobs of one batch, its own and those that it has joined, wherever they stand: by number, so that what is done with,
-- below the floor, is not walked over. A scheduled job costs three probes, not one per lane.
CREATE FUNCTION larder_data.pick_of_batch(batch_no bigint, floor bigint, most int) RETURNS tid[]
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    paused smallint[] := ARRAY(SELECT q.id FROM larder_data.queue q WHERE q.paused_at IS NOT NULL);
    b larder_data.batch;
BEGIN
    SELECT * INTO b FROM larder_data.batch x WHERE x.id = batch_no;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no batch has the number %', batch_no USING ERRCODE = 'LA002';
    ELSIF b.paused_at IS NOT NULL OR b.cancelled_at IS NOT NULL OR b.finished_at IS NOT NULL THEN
        RETURN '{}';
    END IF;
    RETURN ARRAY(
        SELECT place.tid
        FROM (
            -- Each side in the order of its batch's index, so that they are merged, not sorted, and found by no other one.
            SELECT wanted.id FROM (
                (SELECT j.batch_id, j.id FROM larder_data.job j
                 WHERE (j.batch_id, j.id) > (batch_no, floor) AND j.batch_id <= batch_no AND j.items > 0 ORDER BY j.batch_id, j.id)
                UNION ALL
                (SELECT f.batch_id, f.job_id FROM larder_data.job_subscriber f
                 WHERE (f.batch_id, f.job_id) > (batch_no, floor) AND f.batch_id <= batch_no ORDER BY f.batch_id, f.job_id)
            ) AS wanted ORDER BY wanted.batch_id, wanted.id OFFSET 0
        ) AS mine,
        LATERAL (SELECT x.queue_id, x.priority FROM larder_data.job x WHERE x.id = mine.id AND x.queue_id <> ALL (paused) OFFSET 0) AS j,
        LATERAL (
            -- Its own lane first; now and then it stands in another one, see larder_data.promote_joined.
            SELECT found.tid FROM (
                SELECT j.priority::int AS p
                UNION ALL SELECT generate_series(0, 9) WHERE NOT EXISTS (SELECT FROM larder_data.scheduled d WHERE d.job_id = mine.id)
            ) AS lane, LATERAL (
                SELECT x.ctid AS tid FROM larder_data.ready x
                WHERE x.queue_id = j.queue_id AND x.priority = lane.p AND x.job_id = mine.id FOR UPDATE SKIP LOCKED) AS found
            LIMIT 1) AS place
        LIMIT most);
END $$;
COMMENT ON FUNCTION larder_data.pick_of_batch IS 'Locks at most so many ready jobs that a batch wants, with numbers above the floor, the oldest first; none while the batch is paused, or over.';

CREATE FUNCTION larder.claim_v1(
    worker bigint, claim_no bigint, most int, queue text DEFAULT 'default', floors bigint[] DEFAULT NULL, again boolean DEFAULT false,
    only_batch bigint DEFAULT NULL
) RETURNS TABLE (
    job_id bigint, attempt int, max_attempts int, url text, pipeline_id int, options bigint, context json,
    priority int, origin text, batch_id bigint, blocked boolean
)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    queue_no smallint;
    newest_first boolean;
    is_paused boolean;
    low_every smallint;
    low bigint[];
    some_held boolean;
    some_held_back boolean;
    worker_lives boolean;
    lowest_first boolean;
    wanted int := least(coalesce(most, 0), 1000);
    got int := 0;
    portion int;
    picked tid[];
    some_aside boolean;
    some_away boolean;
    told text;
BEGIN
    -- Assignments of one expression each, which PL/pgSQL computes by itself: a statement would start the executor.
    --
    -- What this transaction wrote before, a complete perhaps, is not to be forgotten.
    IF pg_current_xact_id_if_assigned() IS NULL THEN
        told := set_config('synchronous_commit', 'off', true);
    END IF;
    -- A claim sent again waits for the first one, which may still be at work, and finds its jobs.
    told := pg_advisory_xact_lock(1280267332, (worker % 2147483647)::int);
    -- All that a claim must know first, in one statement. low: a floor that is old is not believed. some_held: few batches
    -- are paused or cancelled, and few jobs have lost their own batch while they ran; mostly none. some_held_back: few origins
    -- are held, mostly none: see 0010.
    SELECT x.id, x.lifo, x.paused_at IS NOT NULL, x.low_every,
        coalesce((
            SELECT f.floors FROM larder_data.claim_cursor f
            WHERE f.queue_id = x.id AND f.known_at > clock_timestamp() - interval '10 s' AND NOT x.lifo), '{0,0,0,0,0,0,0,0,0,0}'),
        EXISTS (SELECT FROM larder_data.batch b WHERE b.finished_at IS NULL AND (b.paused_at IS NOT NULL OR b.cancelled_at IS NOT NULL))
            OR EXISTS (SELECT FROM larder_data.job j WHERE j.items = 0),
        EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.until > clock_timestamp() OR h.reason = 'breaker'),
        EXISTS (
            SELECT FROM larder_data.worker w
            WHERE w.id = worker AND w.stopped_at IS NULL AND w.heartbeat_at + w.lease_ms * interval '1 ms' > clock_timestamp())
    INTO queue_no, newest_first, is_paused, low_every, low, some_held, some_held_back, worker_lives
    FROM larder_data.queue x WHERE x.name = queue;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no queue is called "%"', queue USING ERRCODE = 'LA006';
    ELSIF NOT worker_lives THEN
        RAISE EXCEPTION 'worker % is unknown, stopped, or its lease has run out', worker USING ERRCODE = 'LA005';
    END IF;
    -- Asked only when told: the look goes through all that the worker holds, and held while an old snapshot is open.
    IF again THEN
        RETURN QUERY
        SELECT r.job_id, j.attempt + 1, j.max_attempts::int, j.url, j.pipeline_id, j.options, j.context, j.priority::int, o.name, j.batch_id,
            j.options & 1 = 0 AND EXISTS (SELECT FROM larder_data.blocklist x WHERE x.url_hash = substring(j.key FOR 16) AND x.until > clock_timestamp())
        FROM larder_data.running r,
            LATERAL (SELECT * FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j,
            LATERAL (SELECT x.name FROM larder_data.origin x WHERE x.id = j.origin_id OFFSET 0) AS o
        WHERE r.worker_id = worker AND r.claim_no = claim_v1.claim_no
        ORDER BY j.priority, r.job_id;
        IF FOUND THEN
            RETURN;
        END IF;
    END IF;
    IF is_paused AND only_batch IS NULL OR wanted < 1 THEN
        RETURN;
    END IF;
    -- What a batch wants that goes on is never set aside.
    some_held := some_held AND only_batch IS NULL;
    -- The guaranteed share: low priorities go first in one claim of so many.
    lowest_first := low_every > 0 AND claim_no % low_every = 0;
    FOR round IN 1 .. 20 LOOP
        -- Many at a time where some may have to be set aside: behind a paused batch of a million others wait.
        portion := CASE WHEN some_held OR some_held_back THEN 1000 ELSE wanted - got END;
        IF only_batch IS NOT NULL THEN
            picked := larder_data.pick_of_batch(only_batch, coalesce(floors[1], 0), portion);
        ELSIF newest_first THEN
            picked := ARRAY(
                SELECT pick.tid FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS lane (k), LATERAL (
                    SELECT x.ctid AS tid FROM larder_data.ready x
                    WHERE x.queue_id = queue_no AND x.priority = CASE WHEN lowest_first THEN 9 - k ELSE k END
                    ORDER BY x.job_id DESC LIMIT portion FOR UPDATE SKIP LOCKED) AS pick
                LIMIT portion);
        ELSE
            picked := ARRAY(
                SELECT pick.tid FROM (VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)) AS lane (k), LATERAL (
                    SELECT x.ctid AS tid FROM larder_data.ready x
                    WHERE x.queue_id = queue_no AND x.priority = CASE WHEN lowest_first THEN 9 - k ELSE k END
                        AND x.job_id > greatest(low[CASE WHEN lowest_first THEN 10 - k ELSE k + 1 END], floors[CASE WHEN lowest_first THEN 10 - k ELSE k + 1 END])
                    ORDER BY x.job_id LIMIT portion FOR UPDATE SKIP LOCKED) AS pick
                LIMIT portion);
        END IF;
        IF some_held AND cardinality(picked) > 0 THEN
            -- What only held batches want is set aside, and the claim goes on behind it.
            WITH judged AS MATERIALIZED (
                SELECT r.tid, r.job_id, t.ord, larder_data.hold_reason(j.id, j.batch_id, j.items, j.followed) AS reason
                FROM unnest(picked) WITH ORDINALITY AS t (tid, ord), LATERAL (SELECT x.ctid AS tid, x.job_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r,
                    LATERAL (SELECT x.id, x.batch_id, x.items, x.followed FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j
            ), gone AS (
                DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(SELECT j.tid FROM judged j WHERE j.reason IS NOT NULL))
            ), aside AS (
                INSERT INTO larder_data.suspended (job_id, reason) SELECT j.job_id, j.reason FROM judged j WHERE j.reason IS NOT NULL
            )
            SELECT (array_agg(j.tid ORDER BY j.ord) FILTER (WHERE j.reason IS NULL))[1 : wanted - got], bool_or(j.reason IS NOT NULL)
            INTO picked, some_aside FROM judged j;
        END IF;
        IF some_held_back AND cardinality(picked) > 0 THEN
            SELECT k.kept, k.some_away INTO picked, some_away FROM larder_data.defer_held(picked, wanted - got) k;
            some_aside := some_aside IS TRUE OR some_away;
        END IF;
        IF cardinality(picked) = 1 THEN
            -- As below, for one job alone: three small statements start less of the executor than the large one does.
            DELETE FROM larder_data.ready r WHERE r.ctid = picked[1] RETURNING r.job_id INTO job_id;
            INSERT INTO larder_data.running (worker_id, job_id, claim_no) VALUES (worker, job_id, claim_v1.claim_no);
            SELECT j.attempt + 1, j.max_attempts::int, j.url, j.pipeline_id, j.options, j.context, j.priority::int,
                (SELECT o.name FROM larder_data.origin o WHERE o.id = j.origin_id), j.batch_id,
                j.options & 1 = 0 AND EXISTS (SELECT FROM larder_data.blocklist x WHERE x.url_hash = substring(j.key FOR 16) AND x.until > clock_timestamp())
            INTO attempt, max_attempts, url, pipeline_id, options, context, priority, origin, batch_id, blocked
            FROM larder_data.job j WHERE j.id = job_id;
            IF FOUND THEN
                RETURN NEXT;
            END IF;
            got := got + 1;
        ELSIF cardinality(picked) > 0 THEN
            RETURN QUERY
            WITH taken AS (
                DELETE FROM larder_data.ready r WHERE r.ctid = ANY (picked) RETURNING r.priority, r.job_id
            ), held AS (
                INSERT INTO larder_data.running (worker_id, job_id, claim_no) SELECT worker, t.job_id, claim_v1.claim_no FROM taken t
            )
            SELECT j.id, j.attempt + 1, j.max_attempts::int, j.url, j.pipeline_id, j.options, j.context, j.priority::int, o.name, j.batch_id,
                j.options & 1 = 0 AND EXISTS (SELECT FROM larder_data.blocklist x WHERE x.url_hash = substring(j.key FOR 16) AND x.until > clock_timestamp())
            FROM taken t, LATERAL (SELECT * FROM larder_data.job x WHERE x.id = t.job_id OFFSET 0) AS j,
                LATERAL (SELECT x.name FROM larder_data.origin x WHERE x.id = j.origin_id OFFSET 0) AS o
            ORDER BY t.priority, CASE WHEN newest_first THEN -t.job_id ELSE t.job_id END;
            got := got + cardinality(picked);
        END IF;
        EXIT WHEN got >= wanted OR floors IS NULL AND some_aside IS NOT TRUE;
        some_aside := false;
        -- Short: then also what came in below the worker's own floors.
        floors := NULL;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder.claim_v1 IS
    'Claims at most `most` (1 to 1000) ready jobs: lowest priority number first, in it the oldest, or the newest where the queue is lifo; each so-manieth claim, by its number, the other way round. again: the number was used before and the answer lost; the same jobs are answered, if it took any, so that none is held unknowingly. floors, per priority 0 to 9: skip jobs up to these numbers. only_batch: nothing but what this batch wants, jobs it has joined in other queues too, the oldest first whatever the priority; of floors the first counts. blocked: the URL is on the blocklist by now, and the job does not say RetryFailed; it is to fail with SDWebImageErrorDomain 1003, whatever is cached.';

-- Complete.
--
-- In the common case nobody joins the jobs just now, and they are deleted without being locked first. An enqueue that is
-- joining one holds its row until the producer's transaction ends; 99 other jobs must not wait for that. So complete waits
-- for 25 ms, then gives up, finds out which rows are held, answers these `busy`, to be sent again, and completes the rest.
-- A job that was joined up to the last moment is deleted in its newest version, with all its items; who follows it is
-- asked after that, when nobody can join any more.
CREATE FUNCTION larder.complete_v1(
    worker bigint, jobs bigint[], claims bigint[], results text[], domains text[] DEFAULT NULL, codes bigint[] DEFAULT NULL,
    messages text[] DEFAULT NULL, http_statuses bigint[] DEFAULT NULL, retry_after_ms bigint[] DEFAULT NULL, bytes_in bigint[] DEFAULT NULL,
    bytes_out bigint[] DEFAULT NULL, downloads bigint[] DEFAULT NULL, variants bigint[] DEFAULT NULL, wait_ms bigint[] DEFAULT NULL,
    fetch_ms bigint[] DEFAULT NULL, transcode_ms bigint[] DEFAULT NULL, store_ms bigint[] DEFAULT NULL, stored json[] DEFAULT NULL
) RETURNS TABLE (job_id bigint, claim_no bigint, decision text, delay_ms bigint, domain text, code int, message text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_nestloop = off SET jit = off SET plan_cache_mode = force_generic_plan
SET lock_timeout = '25ms' AS $$
#variable_conflict use_column
DECLARE
    is_lone boolean := cardinality(jobs) = 1 AND cardinality(claims) = 1 AND results = '{succeeded}';
    some_cancelled boolean;
    cache_no int;
    cancelled bigint;
    busy bigint[] := '{}';
    done bigint[];
    done_claims bigint[];
    followed bigint[];
    forgiven text[];
    begun timestamptz;
    one record;
BEGIN
    IF is_lone IS NOT TRUE THEN
        IF (cardinality(claims), cardinality(results)) IS DISTINCT FROM (cardinality(jobs), cardinality(jobs)) THEN
            RAISE EXCEPTION 'jobs, claims and results are equally many' USING ERRCODE = '22023';
        ELSIF cardinality(jobs) > 1000 THEN
            RAISE EXCEPTION 'at most 1000 outcomes a call, not %', cardinality(jobs) USING ERRCODE = '22023';
        ELSIF NOT results <@ ARRAY['succeeded', 'failed', 'cancelled'] THEN
            RAISE EXCEPTION 'a result is succeeded, failed or cancelled' USING ERRCODE = '22023';
        ELSIF coalesce(cardinality(jobs), 0) = 0 THEN
            RETURN;
        ELSIF cardinality(jobs) > 1 THEN
            IF cardinality(jobs) <> (SELECT count(*) FROM (SELECT DISTINCT g.job, g.claim FROM unnest(jobs, claims) AS g (job, claim)) AS d) THEN
                RAISE EXCEPTION 'each claim comes once in one call' USING ERRCODE = '22023';
            END IF;
        END IF;
    END IF;
    FOR try IN 1 .. 3 LOOP
        BEGIN
            SELECT EXISTS (SELECT FROM larder_data.batch b WHERE b.finished_at IS NULL AND b.cancelled_at IS NOT NULL),
                (SELECT w.cache_id FROM larder_data.worker w WHERE w.id = worker)
            INTO some_cancelled, cache_no;
            IF some_cancelled THEN
                -- Items of a cancelled batch that maintenance has not come to yet are cancelled, whatever becomes of the job.
                FOR cancelled IN SELECT b.id FROM larder_data.batch b WHERE b.finished_at IS NULL AND b.cancelled_at IS NOT NULL LOOP
                    PERFORM larder_data.end_items(cancelled, ARRAY(
                        SELECT j.id FROM larder_data.job j
                        WHERE j.id = ANY (jobs) AND j.id <> ALL (busy)
                            -- Of a stale outcome nothing comes, not even that.
                            AND EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = worker AND r.job_id = j.id OFFSET 0)
                        FOR UPDATE OF j SKIP LOCKED));
                END LOOP;
            END IF;
            IF is_lone THEN
                -- As below, for one success alone, as quick workers complete them: four small statements start less of the
                -- executor than the large one does, and each expression that PL/pgSQL evaluates costs a start of its own.
                DELETE FROM larder_data.running r WHERE r.worker_id = worker AND r.job_id = jobs[1] AND r.claim_no = claims[1]
                RETURNING r.claimed_at INTO begun;
                IF FOUND THEN
                    DELETE FROM larder_data.job j WHERE j.id = jobs[1]
                    RETURNING j.id, j.batch_id, j.created_at, j.options, j.pipeline_id, j.origin_id, j.items, j.priority, j.attempt, j.rescues,
                        j.followed, j.url, j.context INTO STRICT one;
                    INSERT INTO larder_data.job_history (
                        created_at, job_id, batch_id, worker_id, claim_no, cache_id, options, bytes_in, bytes_out, pipeline_id, origin_id, items,
                        queue_ms, wait_ms, fetch_ms, transcode_ms, store_ms, http_status, outcome, priority, attempt, rescues,
                        downloads, variants, url, context, stored)
                    VALUES (
                        one.created_at, one.id, one.batch_id, worker, claims[1], cache_no,
                        one.options, coalesce(bytes_in[1], 0), coalesce(bytes_out[1], 0), one.pipeline_id, one.origin_id, one.items,
                        least(date_part('epoch', begun - one.created_at) * 1000, 2147483647), wait_ms[1], fetch_ms[1], transcode_ms[1], store_ms[1],
                        http_statuses[1], 1, one.priority, one.attempt + 1, one.rescues,
                        coalesce(downloads[1], 0), coalesce(variants[1], 0), one.url, one.context, stored[1]);
                    INSERT INTO larder_data.batch_delta (batch_id, bytes_in, bytes_out, succeeded, downloads, variants, jobs, duration_class)
                    VALUES (
                        one.batch_id, coalesce(bytes_in[1], 0), coalesce(bytes_out[1], 0), one.items, coalesce(downloads[1], 0), coalesce(variants[1], 0), 1,
                        larder_data.duration_class(date_part('epoch', now() - begun) * 1000));
                    IF one.followed THEN
                        PERFORM larder_data.finish_followers(jobs);
                    END IF;
                    IF one.options & 1 = 1 AND downloads[1] > 0 THEN
                        PERFORM larder_data.unblock(ARRAY[one.url]);
                    END IF;
                    job_id := one.id;
                    claim_no := claims[1];
                    decision := 'succeeded';
                    RETURN NEXT;
                    RETURN;
                END IF;
            ELSIF 'succeeded' = ANY (results) THEN
                -- By place in the arrays: unnest of thirteen would cost as much as all the rest for one job.
                WITH given AS MATERIALIZED (
                    SELECT i.place, jobs[i.place] AS job, claims[i.place] AS claim FROM generate_subscripts(jobs, 1) AS i (place)
                    WHERE results[i.place] = 'succeeded' AND jobs[i.place] <> ALL (busy)
                ), freed AS (
                    -- The fence. CASE keeps the planner from making a join of it: a look into a hash table per row of the index.
                    DELETE FROM larder_data.running r WHERE r.worker_id = worker AND r.job_id = ANY (jobs)
                        AND CASE WHEN (r.job_id, r.claim_no) IN (SELECT g.job, g.claim FROM given g) THEN true END
                    RETURNING r.job_id, r.claim_no, r.claimed_at
                ), over AS (
                    DELETE FROM larder_data.job j WHERE j.id = ANY (ARRAY(SELECT f.job_id FROM freed f))
                    RETURNING j.id, j.batch_id, j.created_at, j.options, j.pipeline_id, j.origin_id, j.items, j.priority, j.attempt, j.rescues,
                        j.followed, j.url, j.context
                ), ended AS MATERIALIZED (
                    SELECT o.*, f.claim_no, f.claimed_at, g.place, coalesce(bytes_in[g.place], 0) AS bytes_in, coalesce(bytes_out[g.place], 0) AS bytes_out,
                           coalesce(downloads[g.place], 0)::smallint AS downloads, coalesce(variants[g.place], 0)::smallint AS variants
                    FROM over o JOIN freed f ON f.job_id = o.id JOIN given g ON g.job = f.job_id AND g.claim = f.claim_no
                ), history AS (
                    INSERT INTO larder_data.job_history (
                        created_at, job_id, batch_id, worker_id, claim_no, cache_id, options, bytes_in, bytes_out, pipeline_id, origin_id, items,
                        queue_ms, wait_ms, fetch_ms, transcode_ms, store_ms, http_status, outcome, priority, attempt, rescues,
                        downloads, variants, url, context, stored)
                    SELECT e.created_at, e.id, e.batch_id, worker, e.claim_no,
                           cache_no, e.options, e.bytes_in, e.bytes_out, e.pipeline_id, e.origin_id, e.items,
                           least(date_part('epoch', e.claimed_at - e.created_at) * 1000, 2147483647),
                           wait_ms[e.place], fetch_ms[e.place], transcode_ms[e.place], store_ms[e.place],
                           http_statuses[e.place], 1, e.priority, e.attempt + 1, e.rescues, e.downloads, e.variants, e.url, e.context, stored[e.place]
                    FROM ended e
                ), ledger AS (
                    INSERT INTO larder_data.batch_delta (batch_id, bytes_in, bytes_out, succeeded, downloads, variants, jobs, duration_class)
                    SELECT e.batch_id, sum(e.bytes_in), sum(e.bytes_out), sum(e.items), sum(e.downloads), sum(e.variants), count(*),
                           larder_data.duration_class(date_part('epoch', now() - e.claimed_at) * 1000) AS class
                    FROM ended e GROUP BY e.batch_id, class
                )
                SELECT array_agg(e.id), array_agg(e.claim_no), array_agg(e.id) FILTER (WHERE e.followed),
                       array_agg(e.url) FILTER (WHERE e.options & 1 = 1 AND e.downloads > 0)
                INTO done, done_claims, followed, forgiven FROM ended e;
            END IF;
            IF followed IS NOT NULL THEN
                PERFORM larder_data.finish_followers(followed);
            END IF;
            IF forgiven IS NOT NULL THEN
                PERFORM larder_data.unblock(forgiven);
            END IF;
            IF cardinality(jobs) > cardinality(busy) + coalesce(cardinality(done), 0) THEN
                RETURN QUERY
                SELECT * FROM larder_data.complete_others(worker, jobs, claims, results, domains, codes, messages, http_statuses, retry_after_ms,
                    bytes_in, bytes_out, downloads, variants, wait_ms, fetch_ms, transcode_ms, store_ms, stored, busy,
                    coalesce(done, '{}'), coalesce(done_claims, '{}'), try < 3);
            END IF;
            EXIT;
        EXCEPTION WHEN lock_not_available OR check_violation THEN
            IF try = 3 THEN
                RAISE;
            END IF;
        END;
        -- What was found was undone.
        done := NULL;
        followed := NULL;
        forgiven := NULL;
        -- The third try goes without blocking URLs: somebody holds a row of the blocklist, who decides on that URL himself.
        -- A queue that slept for weeks has no partition for today.
        PERFORM set_config('lock_timeout', CASE try WHEN 1 THEN '500ms' ELSE '5s' END, true), larder_data.ensure_today();
        busy := ARRAY(
            SELECT j.id FROM larder_data.job j WHERE j.id = ANY (jobs)
            EXCEPT SELECT f.id FROM (SELECT j.id FROM larder_data.job j WHERE j.id = ANY (jobs) FOR UPDATE SKIP LOCKED) AS f);
        is_lone := is_lone AND busy = '{}';
    END LOOP;
    decision := 'succeeded';
    FOR i IN 1 .. coalesce(cardinality(done), 0) LOOP
        job_id := done[i];
        claim_no := done_claims[i];
        RETURN NEXT;
    END LOOP;
    IF busy <> '{}' THEN
        RETURN QUERY
        SELECT g.job, g.claim, 'busy', NULL::bigint, NULL, NULL::int, NULL FROM unnest(jobs, claims) AS g (job, claim) WHERE g.job = ANY (busy);
    END IF;
END $$;
COMMENT ON FUNCTION larder.complete_v1 IS
    'Completes outcomes, given as arrays with one element per claim: results succeeded, failed or cancelled; what is not known may be left out. Answers per job: succeeded, retried (with its delay), failed, cancelled, stale (nothing recorded) or busy (send it again). May be repeated.';

CREATE FUNCTION larder_data.unblock(urls text[]) RETURNS void
LANGUAGE sql AS $$
    -- As SDWebImage: only a download that succeeded with RetryFailed (bit 0) forgets an earlier failure; the cache's answer
    -- does not.
    DELETE FROM larder_data.blocklist x WHERE x.ctid = ANY (ARRAY(
        SELECT y.ctid FROM larder_data.blocklist y
        WHERE y.url_hash = ANY (ARRAY(SELECT larder_data.url_hash(u.url) FROM unnest(urls) AS u (url))) FOR UPDATE SKIP LOCKED))
$$;
COMMENT ON FUNCTION larder_data.unblock IS 'Takes URLs off the blocklist, except where somebody holds the row, who decides on that URL himself.';

CREATE FUNCTION larder_data.duration_class(ms double precision) RETURNS int
LANGUAGE sql IMMUTABLE AS $$ SELECT least(floor(ln(greatest(ms, 1)) / 0.34657359)::int, 60) $$;
COMMENT ON FUNCTION larder_data.duration_class IS 'The class c of a duration: 2^(c/2) to 2^((c+1)/2) ms.';

-- The records of other batches' items that rode on jobs which have just ended: told apart from what ended before by the
-- time of this transaction.
CREATE FUNCTION larder_data.finish_followers(jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_nestloop = on SET jit = off AS $$
BEGIN
    WITH gone AS (
        DELETE FROM larder_data.job_subscriber f WHERE f.job_id = ANY (jobs) RETURNING f.job_id, f.batch_id, f.items
    ), told AS MATERIALIZED (
        SELECT g.batch_id AS follower, g.items AS riding, h.* FROM gone g, LATERAL (
            SELECT x.* FROM larder_data.job_history x
            WHERE x.job_id = g.job_id AND x.finished_at = now() LIMIT 1) AS h
    ), record AS (
        INSERT INTO larder_data.item_history (id, batch_id, job_id, items, code, outcome, attempt, reason, url, domain, message, stored)
        SELECT nextval('larder_data.item_id'), t.follower, t.job_id, t.riding, t.code, t.outcome, t.attempt, 'followed', t.url, t.domain, t.message, t.stored
        FROM told t
    ), detail AS (
        INSERT INTO larder_data.batch_detail_delta (batch_id, n, code, domain)
        SELECT t.follower, sum(t.riding), t.code, t.domain FROM told t WHERE t.outcome = 2 GROUP BY t.follower, t.domain, t.code
    )
    INSERT INTO larder_data.batch_delta (batch_id, succeeded, failed, cancelled)
    SELECT t.follower, sum(t.riding * (t.outcome = 1)::int), sum(t.riding * (t.outcome = 2)::int), sum(t.riding * (t.outcome = 3)::int)
    FROM told t GROUP BY t.follower;
END $$;
COMMENT ON FUNCTION larder_data.finish_followers IS 'Finishes the items of other batches that rode on jobs which ended in this transaction.';

CREATE FUNCTION larder_data.complete_others(
    worker bigint, jobs bigint[], claims bigint[], results text[], domains text[], codes bigint[], messages text[], http_statuses bigint[],
    retry_after_ms bigint[], bytes_in bigint[], bytes_out bigint[], downloads bigint[], variants bigint[], wait_ms bigint[], fetch_ms bigint[],
    transcode_ms bigint[], store_ms bigint[], stored json[], busy bigint[], done bigint[], done_claims bigint[], blocking boolean
) RETURNS TABLE (job_id bigint, claim_no bigint, decision text, delay_ms bigint, domain text, code int, message text)
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET enable_nestloop = on AS $$
#variable_conflict use_column
DECLARE
    held bigint[];
    held_claims bigint[];
    joined bigint[];
    over bigint[];
BEGIN
    -- Locked in a statement of its own: the next one's snapshot sees every join that came first. Never waits: the jobs that
    -- succeeded are held already, and an enqueue may have to wait for one of them.
    SELECT array_agg(locked.id), array_agg(locked.claim) INTO held, held_claims FROM (
        SELECT j.id, g.claim FROM unnest(jobs, claims, results) AS g (job, claim, result),
            LATERAL (SELECT x.job_id FROM larder_data.running x WHERE x.worker_id = worker AND x.job_id = g.job AND x.claim_no = g.claim OFFSET 0) AS r,
            LATERAL (SELECT x.id FROM larder_data.job x WHERE x.id = r.job_id FOR UPDATE SKIP LOCKED) AS j
        WHERE g.result <> 'succeeded' AND g.job <> ALL (busy)
    ) AS locked;
    joined := ARRAY(
        SELECT g.job FROM unnest(jobs, claims, results) AS g (job, claim, result),
            LATERAL (SELECT FROM larder_data.running x WHERE x.worker_id = worker AND x.job_id = g.job AND x.claim_no = g.claim OFFSET 0) AS r
        WHERE g.result <> 'succeeded' AND g.job <> ALL (busy) AND g.job <> ALL (coalesce(held, '{}')));
    RETURN QUERY
    SELECT g.job, g.claim, 'busy', NULL::bigint, NULL, NULL::int, NULL FROM unnest(jobs, claims) AS g (job, claim) WHERE g.job = ANY (joined);

    IF held IS NOT NULL THEN
        RETURN QUERY
        WITH given AS MATERIALIZED (
            SELECT g.job, g.claim, g.result, CASE WHEN g.result = 'failed' THEN coalesce(g.domain, 'LarderErrorDomain') END AS reason, g.code::int AS code,
                   left(g.message, 2000) AS said, g.http_status, g.retry_after_ms, coalesce(g.bytes_in, 0) AS bytes_in, coalesce(g.bytes_out, 0) AS bytes_out,
                   coalesce(g.downloads, 0)::smallint AS downloads, coalesce(g.variants, 0)::smallint AS variants,
                   g.wait_ms, g.fetch_ms, g.transcode_ms, g.store_ms, g.stored
            FROM unnest(jobs, claims, results, domains, codes, messages, http_statuses, retry_after_ms, bytes_in, bytes_out, downloads, variants,
                    wait_ms, fetch_ms, transcode_ms, store_ms, stored)
                AS g (job, claim, result, domain, code, message, http_status, retry_after_ms, bytes_in, bytes_out, downloads, variants,
                    wait_ms, fetch_ms, transcode_ms, store_ms, stored)
            WHERE g.result <> 'succeeded' AND g.job = ANY (held)
        ), met AS MATERIALIZED (
            -- What happens to a job a second time may become something else, at once and for good: 301 becomes poison.
            SELECT g.*, j.*, r.claimed_at, r.claim_tid, second.then_code IS NOT NULL AS counted,
                   CASE WHEN g.reason IS NULL THEN NULL WHEN j.crashes > 0 THEN coalesce(second.then_code, g.code, 0) ELSE coalesce(g.code, 0) END AS meant
            FROM given g
            CROSS JOIN LATERAL (
                SELECT x.ctid AS tid, x.id, x.batch_id, x.created_at, x.options, x.pipeline_id, x.origin_id, x.items, x.retry_base_ms, x.queue_id,
                       x.priority, x.attempt, x.max_attempts, x.rescues, x.crashes, x.followed, x.url, x.context, x.cancelled_at
                FROM larder_data.job x WHERE x.id = g.job OFFSET 0) AS j
            CROSS JOIN LATERAL (
                SELECT x.ctid AS claim_tid, x.claimed_at FROM larder_data.running x WHERE x.worker_id = worker AND x.job_id = g.job AND x.claim_no = g.claim OFFSET 0) AS r
            LEFT JOIN LATERAL (
                SELECT x.then_code FROM larder_data.retry_rule x
                WHERE g.reason IS NOT NULL AND x.domain = g.reason AND x.code = g.code AND x.then_code IS NOT NULL LIMIT 1) AS second ON true
        ), judged AS MATERIALIZED (
            -- 0 put off, 2 failed, 3 cancelled, 4 back again: stopped because nobody wanted it, and wanted again since.
            SELECT m.*, coalesce(rule.blocks, false) AS blocks, rule.block_for,
                CASE WHEN m.reason IS NULL THEN CASE WHEN m.cancelled_at = '-infinity' THEN 4 ELSE 3 END
                     WHEN NOT coalesce(rule.retried, false) OR m.attempt + 1 >= m.max_attempts THEN 2
                     WHEN m.cancelled_at > '-infinity' THEN 3
                     ELSE 0 END AS verdict,
                greatest(
                    least(coalesce(m.retry_after_ms, 0), settings.retry_after_cap_ms),
                    floor(random() * least(settings.retry_cap_ms, coalesce(m.retry_base_ms, settings.retry_base_ms) * power(4, least(m.attempt, 15))))
                )::bigint AS delay
            FROM met m CROSS JOIN larder_data.settings LEFT JOIN LATERAL (
                SELECT x.retried, x.blocks, x.block_for FROM larder_data.retry_rule x
                WHERE m.reason IS NOT NULL AND x.domain = m.reason AND (x.code = m.meant OR x.code IS NULL)
                  AND (x.http_status = m.http_status OR x.http_status IS NULL)
                ORDER BY x.http_status NULLS LAST, x.code NULLS LAST LIMIT 1) AS rule ON true
        ), ended AS MATERIALIZED (
            SELECT j.*,
                CASE j.verdict WHEN 2 THEN j.reason ELSE 'SDWebImageErrorDomain' END AS final_domain,
                CASE j.verdict WHEN 2 THEN j.meant ELSE 2002 END AS final_code,
                CASE j.verdict WHEN 2 THEN coalesce(j.said, '') ELSE 'the job was cancelled' END AS final_message
            FROM judged j WHERE j.verdict IN (2, 3)
        ), gone AS (
            -- By tuple id: rows of running are never updated, and those of job are locked.
            DELETE FROM larder_data.running r WHERE r.ctid = ANY (ARRAY(SELECT m.claim_tid FROM met m))
        ), over AS (
            DELETE FROM larder_data.job j WHERE j.ctid = ANY (ARRAY(SELECT e.tid FROM ended e))
        ), history AS (
            INSERT INTO larder_data.job_history (
                created_at, job_id, batch_id, worker_id, claim_no, options, bytes_in, bytes_out, pipeline_id, origin_id, items,
                queue_ms, wait_ms, fetch_ms, transcode_ms, store_ms, code, http_status, outcome, priority, attempt, rescues,
                max_attempts, retry_base_ms, downloads, variants, url, context, domain, message, stored)
            SELECT e.created_at, e.id, e.batch_id, worker, e.claim, e.options, e.bytes_in, e.bytes_out, e.pipeline_id, e.origin_id, e.items,
                   least(date_part('epoch', e.claimed_at - e.created_at) * 1000, 2147483647), e.wait_ms, e.fetch_ms, e.transcode_ms, e.store_ms,
                   e.final_code, e.http_status, e.verdict, e.priority, e.attempt + 1, e.rescues,
                   e.max_attempts, e.retry_base_ms, e.downloads, e.variants, e.url, e.context, e.final_domain, e.final_message, e.stored
            FROM ended e
        ), again AS (
            UPDATE larder_data.job j SET attempt = j.attempt + 1, crashes = j.crashes + e.counted::int, last_worker_id = worker,
                last_claim_no = e.claim, last_domain = e.reason, last_code = e.meant, last_message = e.said, cancelled_at = NULL
            FROM judged e WHERE e.verdict = 0 AND j.ctid = e.tid
        ), put_off AS (
            INSERT INTO larder_data.scheduled (run_at, job_id)
            SELECT now() + e.delay * interval '1 ms', e.id FROM judged e WHERE e.verdict = 0
        ), attempts AS (
            INSERT INTO larder_data.job_attempt (
                job_id, worker_id, claimed_at, attempt, code, http_status, fetch_ms, transcode_ms, store_ms, delay_ms, domain, message)
            SELECT e.id, worker, e.claimed_at, e.attempt + 1, e.meant, e.http_status, e.fetch_ms, e.transcode_ms, e.store_ms, e.delay, e.reason, e.said
            FROM judged e WHERE e.verdict = 0
        ), revived AS (
            UPDATE larder_data.job j SET cancelled_at = NULL, last_worker_id = worker, last_claim_no = e.claim
            FROM judged e WHERE e.verdict = 4 AND j.ctid = e.tid
        ), returned AS (
            INSERT INTO larder_data.ready (queue_id, priority, job_id) SELECT e.queue_id, e.priority, e.id FROM judged e WHERE e.verdict = 4
        ), block AS (
            INSERT INTO larder_data.blocklist AS x (url_hash, until, code, http_status, url, domain, message)
            SELECT DISTINCT ON (hash) hash, now() + least(e.block_for, settings.block_cap), e.final_code, e.http_status, e.url, e.final_domain, e.final_message
            FROM ended e CROSS JOIN larder_data.settings, LATERAL (SELECT larder_data.url_hash(e.url) AS hash OFFSET 0) AS u
            WHERE e.verdict = 2 AND e.blocks AND blocking ORDER BY hash
            ON CONFLICT (url_hash) DO UPDATE SET
                until = greatest(x.until, now() + least((excluded.until - now()) * power(2, least(x.fails, 20)), (SELECT m.block_cap FROM larder_data.settings m))),
                last_at = now(), fails = x.fails + 1, code = excluded.code, http_status = excluded.http_status,
                domain = excluded.domain, message = excluded.message
        ), forgiven AS (
            -- What larder_data.unblock does, for downloads that succeeded and whose job failed of something else.
            DELETE FROM larder_data.blocklist x WHERE x.ctid = ANY (ARRAY(
                SELECT y.tid FROM judged j, LATERAL (SELECT larder_data.url_hash(j.url) AS hash OFFSET 0) AS u,
                    LATERAL (SELECT b.ctid AS tid FROM larder_data.blocklist b WHERE b.url_hash = u.hash FOR UPDATE SKIP LOCKED) AS y
                WHERE j.options & 1 = 1 AND j.downloads > 0 AND NOT j.blocks AND NOT EXISTS (SELECT FROM ended e WHERE e.url = j.url AND e.verdict = 2 AND e.blocks)))
        ), ledger AS (
            INSERT INTO larder_data.batch_delta (batch_id, bytes_in, bytes_out, failed, cancelled, retries, downloads, variants)
            SELECT j.batch_id, sum(j.bytes_in), sum(j.bytes_out), sum(j.items * (j.verdict = 2)::int), sum(j.items * (j.verdict = 3)::int),
                   count(*) FILTER (WHERE j.verdict = 0), sum(j.downloads), sum(j.variants)
            FROM judged j GROUP BY j.batch_id
        ), detail AS (
            INSERT INTO larder_data.batch_detail_delta (batch_id, n, code, domain)
            SELECT e.batch_id, sum(e.items), e.final_code, e.final_domain FROM ended e WHERE e.verdict = 2 AND e.items > 0
            GROUP BY e.batch_id, e.final_domain, e.final_code
        )
        SELECT j.job, j.claim, (ARRAY['retried', NULL, 'failed', 'cancelled', 'retried'])[j.verdict + 1],
               CASE j.verdict WHEN 0 THEN j.delay WHEN 4 THEN 0 END,
               CASE j.verdict WHEN 3 THEN 'SDWebImageErrorDomain' ELSE j.reason END,
               CASE j.verdict WHEN 3 THEN 2002 ELSE j.meant END,
               CASE j.verdict WHEN 3 THEN 'the job was cancelled' ELSE coalesce(j.said, '') END
        FROM judged j;
        SELECT array_agg(DISTINCT f.job_id) INTO over FROM larder_data.job_subscriber f
        WHERE f.job_id = ANY (held) AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.id = f.job_id OFFSET 0);
        IF over IS NOT NULL THEN
            PERFORM larder_data.finish_followers(over);
        END IF;
    END IF;

    -- Claims that were not held: completed before and the answer lost, or stale.
    RETURN QUERY
    SELECT g.job, g.claim,
        CASE WHEN h.outcome IS NOT NULL THEN (ARRAY['succeeded', 'failed', 'cancelled'])[h.outcome]
             WHEN j.id IS NOT NULL THEN 'retried' ELSE 'stale' END,
        CASE WHEN j.id IS NOT NULL THEN greatest(coalesce(date_part('epoch', d.run_at - now()) * 1000, 0), 0)::bigint END,
        coalesce(h.domain, j.last_domain), coalesce(h.code, j.last_code), coalesce(h.message, j.last_message)
    FROM (
        SELECT x.job, x.claim FROM unnest(jobs, claims) AS x (job, claim) WHERE x.job <> ALL (busy) AND x.job <> ALL (joined)
        EXCEPT SELECT x.job, x.claim FROM unnest(done, done_claims) AS x (job, claim)
        EXCEPT SELECT x.job, x.claim FROM unnest(held, held_claims) AS x (job, claim)
    ) AS g
    LEFT JOIN LATERAL (
        SELECT x.outcome, x.domain, x.code, x.message FROM larder_data.job_history x
        WHERE x.job_id = g.job AND x.worker_id = worker AND x.claim_no = g.claim AND x.finished_at > now() - interval '1 day' LIMIT 1) AS h ON true
    LEFT JOIN LATERAL (
        SELECT x.id, x.last_domain, x.last_code, x.last_message FROM larder_data.job x
        WHERE x.id = g.job AND x.last_worker_id = worker AND x.last_claim_no = g.claim) AS j ON true
    LEFT JOIN LATERAL (SELECT x.run_at FROM larder_data.scheduled x WHERE x.job_id = j.id) AS d ON true;
END $$;
COMMENT ON FUNCTION larder_data.complete_others IS 'Records failures and cancels by the rows of retry_rule, and answers claims that are not held (any more).';

-- What comes back to ready stands where it stood: below a floor, perhaps.
CREATE FUNCTION larder_data.lower_cursors(queues smallint[], lanes smallint[], jobs bigint[]) RETURNS void
LANGUAGE sql AS $$
    UPDATE larder_data.claim_cursor f SET floors = ARRAY(
        SELECT least(f.floors[l.p + 1], (SELECT min(g.job) - 1 FROM unnest(queues, lanes, jobs) AS g (queue, lane, job) WHERE g.queue = f.queue_id AND g.lane = l.p))
        FROM generate_series(0, 9) AS l (p) ORDER BY l.p)
    -- A floor is a hint: who finds the row held goes on without, and the next look comes within a second.
    WHERE f.ctid = ANY (ARRAY(
        SELECT x.ctid FROM larder_data.claim_cursor x
        WHERE x.queue_id IN (
            SELECT g.queue FROM unnest(queues, lanes, jobs) AS g (queue, lane, job) WHERE g.queue = x.queue_id AND g.job <= x.floors[g.lane + 1])
        FOR UPDATE SKIP LOCKED))
$$;
COMMENT ON FUNCTION larder_data.lower_cursors IS 'Makes claims begin no later than at these jobs, which are ready again.';

CREATE FUNCTION larder.release_v1(worker bigint, jobs bigint[], claims bigint[]) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    released int;
    queues smallint[];
    lanes smallint[];
    back bigint[];
BEGIN
    WITH freed AS MATERIALIZED (
        DELETE FROM larder_data.running r USING unnest(jobs, claims) AS g (job, claim)
        WHERE r.worker_id = worker AND r.job_id = g.job AND r.claim_no = g.claim
        RETURNING r.job_id
    ), met AS MATERIALIZED (
        SELECT f.job_id, j.queue_id, j.priority, coalesce(j.cancelled_at > '-infinity', false) AS unwanted FROM freed f, LATERAL (
            SELECT x.queue_id, x.priority, x.cancelled_at FROM larder_data.job x WHERE x.id = f.job_id OFFSET 0) AS j
    ), aside AS (
        -- What was cancelled while it ran does not run again: maintenance ends it.
        INSERT INTO larder_data.suspended (job_id, reason) SELECT m.job_id, 'cancelled' FROM met m WHERE m.unwanted
    ), again AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id) SELECT m.queue_id, m.priority, m.job_id FROM met m WHERE NOT m.unwanted
    )
    SELECT count(*), array_agg(m.queue_id) FILTER (WHERE NOT m.unwanted), array_agg(m.priority) FILTER (WHERE NOT m.unwanted),
        array_agg(m.job_id) FILTER (WHERE NOT m.unwanted)
    INTO released, queues, lanes, back FROM met m;
    PERFORM larder_data.lower_cursors(queues, lanes, back);
    RETURN released;
END $$;
COMMENT ON FUNCTION larder.release_v1 IS 'Gives claims back unstarted: ready at their old place, the attempt not counted; those that somebody cancelled are ended by maintenance. Claims no longer held are passed over.';

-- A lease that has run out stays so: from that moment on the jobs are anybody's, and rescue must find their worker dead
-- even if it heartbeats again just then. The worker starts anew, under a new number.
CREATE FUNCTION larder.heartbeat_v1(worker bigint)
RETURNS TABLE (lease_ms int, lease_was_lost boolean, cancelled_jobs bigint[], cancelled_claims bigint[])
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    lost boolean;
    lease int;
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    SELECT w.heartbeat_at + w.lease_ms * interval '1 ms' <= clock_timestamp(), w.lease_ms INTO lost, lease
    FROM larder_data.worker w WHERE w.id = worker AND w.stopped_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'worker % is unknown or stopped', worker USING ERRCODE = 'LA005';
    ELSIF lost THEN
        RETURN QUERY SELECT lease, true, '{}'::bigint[], '{}'::bigint[];
        RETURN;
    END IF;
    UPDATE larder_data.worker w SET heartbeat_at = clock_timestamp(), lease_ms = m.lease_ms FROM larder_data.settings m WHERE w.id = worker
    RETURNING w.lease_ms INTO lease;
    RETURN QUERY
    SELECT lease, false, coalesce(array_agg(r.job_id), '{}'), coalesce(array_agg(r.claim_no), '{}')
    FROM larder_data.running r,
        LATERAL (SELECT FROM larder_data.job x WHERE x.id = r.job_id AND x.cancelled_at > '-infinity' OFFSET 0) AS j
    WHERE r.worker_id = worker;
END $$;
COMMENT ON FUNCTION larder.heartbeat_v1 IS
    'Extends the lease of all a worker''s jobs by one update; answers which of them somebody cancelled. lease_was_lost: it had run out and was not extended; the worker must start anew.';

CREATE FUNCTION larder.worker_stop_v1(worker bigint) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    jobs bigint[];
    claims bigint[];
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    UPDATE larder_data.worker w SET stopped_at = coalesce(w.stopped_at, clock_timestamp()) WHERE w.id = worker;
    SELECT array_agg(r.job_id), array_agg(r.claim_no) INTO jobs, claims FROM larder_data.running r WHERE r.worker_id = worker;
    RETURN larder.release_v1(worker, jobs, claims);
END $$;
COMMENT ON FUNCTION larder.worker_stop_v1 IS 'Ends a worker; what it still holds is released.';
