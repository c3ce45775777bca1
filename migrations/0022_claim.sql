-- Claims of a queue or batch, and the maintenance of the jobs in front.

CREATE FUNCTION larder_data.claim_batch(
    worker bigint, claim_no bigint, batch text, after_job bigint, wanted int
) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    batch_no bigint := larder_data.find_batch(batch);
    -- The limited queues in which it may have jobs: its own, and any if it joined other batches' jobs.
    limited smallint[] := ARRAY(
        SELECT q.id FROM larder_data.queue q
        WHERE (q.max_running IS NOT NULL OR q.max_rate IS NOT NULL)
          AND (q.id = (SELECT b.queue_id FROM larder_data.batch b WHERE b.id = batch_no)
            OR EXISTS (SELECT FROM larder_data.job_item s WHERE s.batch_id = batch_no))
        ORDER BY q.id);
    allowed int[];
    picked tid[];
    taken bigint[];
    jobs bigint[] := '{}'::bigint[];
    some_held boolean := false;
    some_left boolean;
BEGIN
    -- More per round once some were held: a held origin may have a million jobs in front. A claim moves a few thousand
    -- of them, and the next claims continue.
    FOR round IN 1 .. 5 LOOP
        EXIT WHEN cardinality(jobs) >= coalesce(wanted, 0);
        allowed := larder_data.lock_limits(limited);
        picked := larder_data.pick_of_batch(
            batch_no, after_job, CASE WHEN some_held THEN 1000 ELSE wanted - cardinality(jobs) END, ARRAY(
                SELECT q.id FROM larder_data.queue q
                -- Paused, or with a limit that is used up or not locked.
                WHERE q.paused_at IS NOT NULL OR (q.max_running IS NOT NULL OR q.max_rate IS NOT NULL)
                    AND coalesce(allowed[array_position(limited, q.id)], 0) = 0));
        some_left := false;
        IF limited <> '{}' THEN
            SELECT array_agg(p.tid ORDER BY p.ord), count(*) < cardinality(picked) INTO picked, some_left
            FROM (
                SELECT t.tid, t.ord, row_number() OVER (PARTITION BY r.queue_id ORDER BY t.ord) AS n,
                    allowed[array_position(limited, r.queue_id)] AS most
                FROM unnest(picked) WITH ORDINALITY AS t (tid, ord),
                    LATERAL (SELECT (x.lane / 10)::smallint AS queue_id FROM larder_data.ready x
                        WHERE x.ctid = t.tid OFFSET 0) AS r) AS p
            WHERE p.n <= coalesce(p.most, p.n);
        END IF;
        some_held := false;
        IF picked <> '{}' THEN
            SELECT h.kept, h.some_held INTO picked, some_held
            FROM larder_data.put_off_held(picked, wanted - cardinality(jobs)) h;
        END IF;
        IF picked <> '{}' THEN
            taken := larder_data.take_jobs(worker, claim_no, picked);
            jobs := jobs || taken;
            IF limited <> '{}' THEN
                PERFORM larder_data.take_tokens(limited, taken);
            END IF;
        END IF;
        EXIT WHEN NOT some_held AND NOT some_left AND after_job = 0;
        after_job := 0;
    END LOOP;
    RETURN jobs;
END $$;

CREATE FUNCTION larder.claim_v1(
    worker bigint, claim_no bigint, max_jobs int, queue text DEFAULT 'default', again boolean DEFAULT false,
    only_batch text DEFAULT NULL, after_job bigint DEFAULT 0
) RETURNS TABLE (
    job_id bigint, attempt int, max_attempts int, url text, pipeline_id int, options bigint, context json,
    priority int, origin text, batch_id bigint, blocked boolean, blocked_code int, blocked_limit bigint,
    traceparent text, queued_ms bigint
)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    q record;
    held record;
    wanted int;
    missing int;
    first int;
    picked tid[];
    jobs bigint[];
BEGIN
    PERFORM larder_data.skip_flush();
    IF coalesce(max_jobs < 1, true) OR claim_no IS NULL OR again IS NULL THEN
        RAISE EXCEPTION 'max_jobs is 1 to 1000, claim_no and again are not NULL' USING ERRCODE = '22023';
    END IF;
    -- A resent claim waits for the first one, which may still run, and finds its jobs.
    PERFORM FROM larder_data.claim_lock l WHERE l.worker_id = worker FOR UPDATE;
    q := larder_data.claim_context(worker, queue);
    jobs := CASE WHEN again THEN ARRAY(
        SELECT r.job_id FROM larder_data.running r,
            LATERAL (SELECT x.priority FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j
        WHERE r.worker_id = worker AND r.claim_no = claim_v1.claim_no ORDER BY j.priority, r.job_id) ELSE '{}' END;
    wanted := CASE WHEN jobs <> '{}' OR q.is_paused AND only_batch IS NULL THEN 0 ELSE least(max_jobs, 1000) END;
    IF only_batch IS NOT NULL THEN
        jobs := jobs || larder_data.claim_batch(worker, claim_no, only_batch, coalesce(after_job, 0), wanted);
        wanted := 0;
    ELSIF q.limited <> '{}' AND wanted > 0 THEN
        wanted := least(wanted, (larder_data.lock_limits(q.limited))[1]);
    END IF;
    -- A paused batch or held origin may have a million jobs in front: a claim passes a few thousand, and the next
    -- claims continue, as does maintenance_holds.
    FOR round IN 1 .. 4 LOOP
        missing := wanted - cardinality(jobs);
        EXIT WHEN coalesce(missing, 0) <= 0;
        first := coalesce(
            first, larder_data.first_priority(q.queue_id, q.turns, q.low_priority_every, worker + claim_no));
        picked := larder_data.pick_of_queue(q.queue_id, first, q.turns,
            CASE round WHEN 1 THEN missing WHEN 2 THEN least(4 * missing + 4, 1000) ELSE 1000 END);
        EXIT WHEN picked = '{}';
        held := larder_data.put_off_held(picked, missing);
        IF held.kept <> '{}' THEN
            jobs := jobs || larder_data.take_jobs(worker, claim_no, held.kept);
        END IF;
        EXIT WHEN NOT held.some_held;
    END LOOP;
    IF q.limited <> '{}' AND wanted > 0 AND jobs <> '{}' THEN
        PERFORM larder_data.take_tokens(q.limited, jobs);
    END IF;
    RETURN QUERY SELECT * FROM larder_data.claimed_jobs(jobs);
END $$;
COMMENT ON FUNCTION larder.claim_v1 IS
    'Claims at most max_jobs (1 to 1000) ready jobs: lowest priority number first, then in turns of the batches, or '
    'the newest first in a lifo queue.';

-- An origin or paused batch may have a million jobs. This keeps the jobs claimed next free of them, so that a claim
-- finds others in its first round. Reads without locks, so that no claim passes over a free job. Jobs joined by other
-- batches are left to claims. In long queues the search may read 5,000 rows of each lane and find none: so it takes at
-- most a fiftieth of the time, see reschedule(), and has a long period.
CREATE FUNCTION larder_data.maintenance_holds() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    began_at CONSTANT timestamptz := clock_timestamp();
    portion CONSTANT int := 5000;
    picked tid[] := '{}'::tid[];
BEGIN
    IF EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.until > clock_timestamp())
        OR EXISTS (
            SELECT FROM larder_data.batch b
            WHERE b.finished_at IS NULL AND b.paused_at IS NOT NULL AND b.cancelled_at IS NULL) THEN
        picked := ARRAY(
            SELECT front.tid FROM larder_data.queue q
            CROSS JOIN generate_series(0, 9) AS p
            LEFT JOIN LATERAL (
                SELECT x.turns FROM larder_data.current_cursor x WHERE x.queue_id = q.id OFFSET 0) AS c ON true
            CROSS JOIN LATERAL (
                SELECT x.ctid AS tid, x.job_id, x.origin_id FROM larder_data.ready x
                WHERE x.lane = q.id * 10 + p
                  AND x.turn > coalesce(CASE WHEN NOT q.lifo THEN c.turns[p + 1] END, -9223372036854775807)
                ORDER BY x.turn, x.job_id LIMIT portion) AS front
            CROSS JOIN LATERAL (SELECT x.batch_id FROM larder_data.job x WHERE x.id = front.job_id OFFSET 0) AS j
            CROSS JOIN LATERAL (
                SELECT FROM larder_data.origin_hold h
                WHERE h.origin_id = front.origin_id AND h.until > clock_timestamp()
                UNION ALL
                SELECT FROM larder_data.batch b
                WHERE b.id = j.batch_id AND b.paused_at IS NOT NULL AND b.cancelled_at IS NULL
                  AND NOT EXISTS (SELECT FROM larder_data.job_item s WHERE s.job_id = front.job_id)
                LIMIT 1) AS held
            LIMIT portion);
        picked := ARRAY(SELECT x.ctid FROM larder_data.ready x WHERE x.ctid = ANY (picked) FOR UPDATE SKIP LOCKED);
        IF picked <> '{}' THEN
            -- By the rows' current state.
            PERFORM larder_data.put_off_held(picked, 0);
            -- Locked like a task: its rows are updated in the same order.
            IF larder_data.take_task('claims', true) THEN
                PERFORM larder_data.maintenance_claims();
            END IF;
        END IF;
    END IF;
    IF cardinality(picked) >= portion THEN
        PERFORM larder_data.change_task('holds', clock_timestamp());
    ELSE
        PERFORM larder_data.reschedule('holds', began_at, '1 s');
    END IF;
    RETURN cardinality(picked);
END $$;
