-- Claims.
--
-- The fence: a claim is (worker, job, claim number). A worker has a new id at each start, and the claim number is its
-- own counter. A result must name exactly the claim that is in `running`; a worker whose lease expired, or that names
-- an older claim, finds no such row and records nothing.
--
-- Durability: a claim commits without waiting for the disk. After a crash of the server a forgotten claim leaves the
-- jobs ready, and the fence refuses the worker that made it.
--
-- No statement here lets the planner choose: rows are found by ctid, by = ANY of an index, or by LATERAL with OFFSET 0,
-- one probe per job, so that wrong statistics cannot turn a claim of ten jobs into a scan of a million.
--
-- Error codes: LA002 unknown batch, LA005 worker unknown or stopped or its lease expired, LA006 unknown queue.

CREATE FUNCTION larder_data.first_priority(queue_no smallint, positions bigint[], low_priority_every int, turn bigint)
RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    present int[];
BEGIN
    IF turn % nullif(low_priority_every, 0) = 0 THEN
        present := ARRAY(
            SELECT p FROM generate_series(0, 9) AS p
            WHERE EXISTS (
                SELECT FROM larder_data.ready x
                WHERE x.queue_id = queue_no AND x.priority = p AND x.job_id > positions[p + 1] OFFSET 0)
            ORDER BY p);
        IF cardinality(present) > 1 THEN
            RETURN present[2 + (turn / low_priority_every) % (cardinality(present) - 1)];
        END IF;
    END IF;
    RETURN 0;
END $$;
COMMENT ON FUNCTION larder_data.first_priority IS
    'The priority that a claim takes first: 0, but in every Nth turn (low_priority_every) one of those that have ready '
    'jobs, the highest of them left out, each in turn.';

CREATE FUNCTION larder_data.pick_of_queue(
    queue_no smallint, newest_first boolean, by_turn boolean, first int, positions bigint[], max_jobs int
) RETURNS tid[]
LANGUAGE plpgsql AS $$
DECLARE
    priorities int[] := first || array_remove('{0,1,2,3,4,5,6,7,8,9}', first);
BEGIN
    IF newest_first THEN
        RETURN ARRAY(
            SELECT pick.tid FROM generate_series(1, 10) AS k, LATERAL (
                SELECT x.ctid AS tid FROM larder_data.ready x
                WHERE x.queue_id = queue_no AND x.priority = priorities[k]
                ORDER BY x.job_id DESC LIMIT max_jobs FOR UPDATE SKIP LOCKED) AS pick
            LIMIT max_jobs);
    ELSIF by_turn THEN
        RETURN ARRAY(
            SELECT pick.tid FROM generate_series(1, 10) AS k, LATERAL (
                SELECT x.ctid AS tid FROM larder_data.ready x
                WHERE x.queue_id * 10 + x.priority = queue_no * 10 + priorities[k]
                  AND x.turn > positions[priorities[k] + 1]
                ORDER BY x.turn, x.job_id + 0 LIMIT max_jobs FOR UPDATE SKIP LOCKED) AS pick
            LIMIT max_jobs);
    END IF;
    RETURN ARRAY(
        SELECT pick.tid FROM generate_series(1, 10) AS k, LATERAL (
            SELECT x.ctid AS tid FROM larder_data.ready x
            WHERE x.queue_id = queue_no AND x.priority = priorities[k] AND x.job_id > positions[priorities[k] + 1]
            ORDER BY x.job_id LIMIT max_jobs FOR UPDATE SKIP LOCKED) AS pick
        LIMIT max_jobs);
END $$;
COMMENT ON FUNCTION larder_data.pick_of_queue IS
    'Locks the next ready rows of a queue behind these ids, or turns, those of one priority first, and returns their '
    'ctids.';

-- The jobs of a batch are found by id, in whatever state, and then their ready rows.
CREATE FUNCTION larder_data.pick_of_batch(batch_no bigint, after_job bigint, max_jobs int, closed smallint[])
RETURNS tid[]
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET enable_sort = off AS $$
DECLARE
    own_queue smallint;
BEGIN
    SELECT x.queue_id INTO own_queue FROM larder_data.batch x
    WHERE x.id = batch_no AND x.paused_at IS NULL AND x.cancelled_at IS NULL AND x.finished_at IS NULL;
    IF NOT FOUND THEN
        RETURN '{}'::tid[];
    END IF;
    RETURN ARRAY(
        SELECT place.tid
        FROM (
            -- Each side in the order of its index, so that they are merged, not sorted. The batch's own jobs are all in
            -- its queue.
            SELECT wanted.id FROM (
                (SELECT j.batch_id, j.id FROM larder_data.job j
                 WHERE (j.batch_id, j.id) > (batch_no, after_job) AND j.batch_id <= batch_no AND j.items > 0
                   AND own_queue <> ALL (closed)
                 ORDER BY j.batch_id, j.id)
                UNION ALL
                (SELECT s.batch_id, s.job_id FROM larder_data.job_subscriber s
                 WHERE (s.batch_id, s.job_id) > (batch_no, after_job) AND s.batch_id <= batch_no
                 ORDER BY s.batch_id, s.job_id)
            ) AS wanted ORDER BY wanted.batch_id, wanted.id OFFSET 0
        ) AS mine,
        LATERAL (
            SELECT x.queue_id, x.priority FROM larder_data.job x
            WHERE x.id = mine.id AND x.queue_id <> ALL (closed) OFFSET 0) AS j,
        LATERAL (
            -- Its own priority first, and the others because of larder_data.promote_joined.
            SELECT found.tid FROM (
                SELECT j.priority::int AS p
                UNION ALL
                SELECT generate_series(0, 9)
                WHERE NOT EXISTS (SELECT FROM larder_data.scheduled s WHERE s.job_id = mine.id)
            ) AS probe, LATERAL (
                SELECT x.ctid AS tid FROM larder_data.ready x
                WHERE x.queue_id = j.queue_id AND x.priority = probe.p AND x.job_id = mine.id
                FOR UPDATE SKIP LOCKED) AS found
            LIMIT 1) AS place
        LIMIT max_jobs);
END $$;
COMMENT ON FUNCTION larder_data.pick_of_batch IS
    'Locks ready rows of jobs that a batch has, with ids above after_job and not in a closed queue, in the order of '
    'the ids, and returns their ctids; none while the batch is paused, or when it has ended.';

CREATE FUNCTION larder_data.pick_within_limits(
    batch_no bigint, after_job bigint, max_jobs int, limited smallint[], OUT picked tid[], OUT some_left boolean
)
LANGUAGE plpgsql AS $$
DECLARE
    allowed int[] := larder_data.lock_limits(limited);
BEGIN
    picked := larder_data.pick_of_batch(batch_no, after_job, max_jobs, ARRAY(
        SELECT q.id FROM larder_data.queue q
        WHERE q.paused_at IS NOT NULL
            -- With a limit that is used up, or not locked.
            OR (q.max_running IS NOT NULL OR q.max_rate IS NOT NULL)
                AND coalesce(allowed[array_position(limited, q.id)], 0) = 0));
    some_left := false;
    IF limited <> '{}' THEN
        SELECT array_agg(p.tid ORDER BY p.ord), count(*) < cardinality(picked) INTO picked, some_left
        FROM (
            SELECT t.tid, t.ord, row_number() OVER (PARTITION BY r.queue_id ORDER BY t.ord) AS n,
                allowed[array_position(limited, r.queue_id)] AS most
            FROM unnest(picked) WITH ORDINALITY AS t (tid, ord),
                LATERAL (SELECT x.queue_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r) AS p
        WHERE p.n <= coalesce(p.most, p.n);
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.pick_within_limits IS
    'As pick_of_batch, within the limits of each queue. some_left: rows were left because of a limit.';

CREATE FUNCTION larder_data.jobs_of_claim(worker bigint, claim_no bigint) RETURNS bigint[]
LANGUAGE plpgsql AS $$
BEGIN
    RETURN ARRAY(
        SELECT r.job_id FROM larder_data.running r,
            LATERAL (SELECT x.priority FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j
        WHERE r.worker_id = worker AND r.claim_no = jobs_of_claim.claim_no ORDER BY j.priority, r.job_id);
END $$;
COMMENT ON FUNCTION larder_data.jobs_of_claim IS 'The running jobs that a claim took.';

-- STABLE, in SQL and without SET, so that Postgres inlines it. BEGIN ATOMIC: its names and operators were found when it
-- was created, and not by the search_path of a caller.
CREATE FUNCTION larder_data.claimed_jobs(jobs bigint[]) RETURNS TABLE (
    job_id bigint, attempt int, max_attempts int, url text, pipeline_id int, options bigint, context json,
    priority int, origin text, batch_id bigint, blocked boolean
)
LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT j.id, j.attempt + 1, j.max_attempts::int, j.url, j.pipeline_id, j.options, j.context, j.priority::int,
        o.name, j.batch_id, EXISTS (
            SELECT FROM larder_data.blocklist b
            WHERE b.url_hash = substring(j.key FOR 16)
              AND CASE WHEN j.options & 1 = 1 THEN b.operator_until ELSE b.until END > clock_timestamp() OFFSET 0)
    FROM unnest(jobs) WITH ORDINALITY AS t (id, ord),
        LATERAL (SELECT * FROM larder_data.job x WHERE x.id = t.id OFFSET 0) AS j,
        LATERAL (SELECT x.name FROM larder_data.origin x WHERE x.id = j.origin_id OFFSET 0) AS o
    ORDER BY t.ord;
END;
COMMENT ON FUNCTION larder_data.claimed_jobs IS 'What a worker needs of these jobs, in their order.';

CREATE FUNCTION larder_data.take_jobs(
    worker bigint, claim_no bigint, picked tid[], newest_first boolean, limited smallint[],
    positions bigint[] DEFAULT NULL, cursor_no bigint DEFAULT NULL
) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    jobs bigint[];
    taken int;
    farthest bigint;
    own_queue smallint;
BEGIN
    WITH taken AS (
        DELETE FROM larder_data.ready r WHERE r.ctid = ANY (picked) RETURNING r.queue_id, r.priority, r.job_id
    ), held AS (
        INSERT INTO larder_data.running (worker_id, job_id, claim_no, queue_id, is_limited)
        SELECT worker, t.job_id, take_jobs.claim_no, t.queue_id, t.queue_id = ANY (limited) FROM taken t
    )
    -- farthest: how far a job is from the position of its priority, the last digit; NULL if there is none.
    SELECT array_agg(t.job_id ORDER BY t.priority, CASE WHEN newest_first THEN -t.job_id ELSE t.job_id END), count(*),
        max((t.job_id - nullif(positions[t.priority + 1], -1)) * 10 + t.priority), min(t.queue_id)
    INTO jobs, taken, farthest, own_queue FROM taken t;
    -- A move costs as much as passing some hundred dead rows.
    IF farthest / 10 > 100 + 10 * taken THEN
        PERFORM larder_data.advance_cursor(own_queue, cursor_no, (farthest % 10)::int);
    END IF;
    RETURN jobs;
END $$;
COMMENT ON FUNCTION larder_data.take_jobs IS
    'Moves locked ready rows to running and returns their jobs. positions, cursor_no: where the claim started; the '
    'cursor is moved if the claim passed many ids.';

CREATE FUNCTION larder_data.claim_context(
    worker bigint, claim_no bigint, queue text, OUT queue_id smallint, OUT lifo boolean, OUT is_paused boolean,
    OUT limited smallint[], OUT low_priority_every int, OUT cursor_no bigint, OUT positions bigint[],
    OUT turns bigint[], OUT by_turn boolean
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    worker_lives boolean;
BEGIN
    -- Cursors older than 10 s are not used: maintenance does not run. The tables and not the views of what is current,
    -- because starting a statement of many tables costs more than what it reads.
    SELECT q.id, q.lifo, q.paused_at IS NOT NULL,
        CASE WHEN q.max_running IS NULL AND q.max_rate IS NULL THEN '{}'::smallint[] ELSE ARRAY[q.id] END,
        q.low_priority_every, c.number,
        coalesce(c.positions, array_fill(-1::bigint, '{10}')), coalesce(c.turns, array_fill(0::bigint, '{10}')),
        -- Every second claim, also among those that start at a lower priority.
        (worker + claim_no + CASE WHEN q.low_priority_every > 1 THEN (worker + claim_no) / q.low_priority_every
            ELSE 0 END) % 2 = 1,
        (SELECT w.stopped_at IS NULL AND w.rescued_at IS NULL
             AND w.heartbeat_at + w.lease_ms * interval '1 ms' > clock_timestamp()
         FROM larder_data.worker w WHERE w.id = worker ORDER BY w.number DESC LIMIT 1)
    INTO queue_id, lifo, is_paused, limited, low_priority_every, cursor_no, positions, turns, by_turn, worker_lives
    FROM larder_data.queue q LEFT JOIN LATERAL (
        SELECT x.number, x.positions, x.turns, x.updated_at FROM larder_data.claim_cursor x
        WHERE x.queue_id = q.id ORDER BY x.number DESC LIMIT 1
    ) AS c ON c.updated_at > clock_timestamp() - interval '10 s'
    WHERE q.name = claim_context.queue;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown queue "%"', queue USING ERRCODE = 'LA006';
    ELSIF worker_lives IS NOT TRUE THEN
        IF NOT EXISTS (
            SELECT FROM larder_data.current_worker w
            WHERE w.id = worker AND w.stopped_at IS NULL AND w.rescued_at IS NULL
              AND larder_data.has_lease(w.heartbeat_at, w.lease_ms)) THEN
            RAISE EXCEPTION 'worker % is unknown or stopped, or its lease has expired', worker USING ERRCODE = 'LA005';
        END IF;
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.claim_context IS 'What a claim reads of its queue and worker.';

-- What is held is read after the rows are picked: a hold that began before a job became ready is then seen. A claim
-- that read it first could take a job that was enqueued after the hold.
CREATE FUNCTION larder_data.put_off_held(
    picked tid[], wanted int, worker bigint, only_origins boolean, leaves boolean, OUT kept tid[], OUT some_held boolean
)
LANGUAGE plpgsql AS $$
DECLARE
    some_batch boolean;
    some_origin boolean;
BEGIN
    kept := picked;
    some_held := false;
    -- Mostly neither.
    SELECT EXISTS (
            SELECT FROM larder_data.batch b
            WHERE b.finished_at IS NULL AND (b.paused_at IS NOT NULL OR b.cancelled_at IS NOT NULL))
        OR EXISTS (SELECT FROM larder_data.job j WHERE j.items = 0),
        EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.until > clock_timestamp() OR h.reason = 'breaker')
    INTO some_batch, some_origin;
    IF some_batch AND NOT only_origins THEN
        -- A job whose own batch is active is not held.
        IF EXISTS (
            SELECT FROM unnest(picked) AS t (tid),
                LATERAL (SELECT x.job_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r,
                LATERAL (SELECT x.batch_id, x.items FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j
            WHERE j.items = 0 OR EXISTS (
                SELECT FROM larder_data.batch b
                WHERE b.id = j.batch_id AND (b.paused_at IS NOT NULL OR b.cancelled_at IS NOT NULL) OFFSET 0)) THEN
            SELECT s.kept, s.some_held INTO kept, some_held FROM larder_data.suspend_held(picked, leaves) s;
        END IF;
    END IF;
    -- Of all rows, not only of as many as are wanted: those of a held origin in front are to go at once.
    IF some_origin AND EXISTS (
        SELECT FROM unnest(kept) AS t (tid),
            LATERAL (SELECT x.job_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r,
            LATERAL (SELECT x.origin_id FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j,
            LATERAL (SELECT FROM larder_data.origin_hold x WHERE x.origin_id = j.origin_id OFFSET 0) AS h) THEN
        SELECT d.kept, d.some_deferred OR some_held INTO kept, some_held
        FROM larder_data.defer_held(kept, wanted, worker) d;
    END IF;
    -- More were picked where some were held before, which may not be held any more.
    kept := kept[1 : wanted];
END $$;
COMMENT ON FUNCTION larder_data.put_off_held IS
    'Takes the jobs of paused batches and of held origins out of these rows of ready, or leaves those of paused '
    'batches there; answers at most `wanted` others.';

CREATE FUNCTION larder_data.claim_batch(
    worker bigint, claim_no bigint, batch text, after_job bigint, wanted int, newest_first boolean
) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    batch_no bigint := larder_data.find_batch(batch);
    limited smallint[] := larder_data.limited_queues(batch_no);
    picked tid[];
    taken bigint[];
    jobs bigint[] := '{}'::bigint[];
    some_held boolean := false;
    some_left boolean;
BEGIN
    -- Many at a time once some were held: a held origin may have a million jobs in front. Of these a claim moves a few
    -- thousand, and the next ones move on.
    FOR round IN 1 .. 5 LOOP
        EXIT WHEN cardinality(jobs) >= coalesce(wanted, 0);
        SELECT p.picked, p.some_left INTO picked, some_left
        FROM larder_data.pick_within_limits(batch_no, after_job,
            CASE WHEN some_held THEN 1000 ELSE wanted - cardinality(jobs) END, limited) p;
        some_held := false;
        IF picked <> '{}' THEN
            SELECT h.kept, h.some_held INTO picked, some_held
            FROM larder_data.put_off_held(picked, wanted - cardinality(jobs), worker, true, false) h;
        END IF;
        IF picked <> '{}' THEN
            taken := larder_data.take_jobs(worker, claim_no, picked, newest_first, limited);
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
COMMENT ON FUNCTION larder_data.claim_batch IS
    'Claims at most `wanted` jobs that a batch has, those above after_job first.';

CREATE FUNCTION larder.claim_v1(
    worker bigint, claim_no bigint, max_jobs int, queue text DEFAULT 'default', again boolean DEFAULT false,
    only_batch text DEFAULT NULL, after_job bigint DEFAULT 0
) RETURNS TABLE (
    job_id bigint, attempt int, max_attempts int, url text, pipeline_id int, options bigint, context json,
    priority int, origin text, batch_id bigint, blocked boolean
)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    q record;
    held record;
    wanted int;
    missing int;
    first int;
    by_turn boolean;
    picked tid[];
    jobs bigint[];
BEGIN
    -- Not behind a completion in the same transaction, which must wait for the disk.
    IF pg_current_xact_id_if_assigned() IS NULL THEN
        PERFORM set_config('synchronous_commit', 'off', true);
    END IF;
    -- A claim that is sent again waits for the first one, which may still run, and finds its jobs.
    PERFORM larder_data.lock_claims(worker, again);
    q := larder_data.claim_context(worker, claim_no, queue);
    jobs := CASE WHEN again THEN larder_data.jobs_of_claim(worker, claim_no) ELSE '{}'::bigint[] END;
    wanted := CASE WHEN jobs <> '{}' OR q.is_paused AND only_batch IS NULL THEN 0 ELSE least(max_jobs, 1000) END;
    IF only_batch IS NOT NULL THEN
        jobs := jobs || larder_data.claim_batch(worker, claim_no, only_batch, after_job, wanted, q.lifo);
        wanted := 0;
    ELSIF q.limited <> '{}' AND wanted > 0 THEN
        wanted := least(wanted, (larder_data.lock_limits(q.limited))[1]);
    END IF;
    -- A paused batch, or a held origin, may have a million jobs in front. The second round goes by turn, which finds
    -- those of other batches, and the last two look at many. What is left in front is for maintenance_holds: a claim
    -- by id does not write what the next one would meet again.
    FOR round IN 1 .. 4 LOOP
        missing := wanted - cardinality(jobs);
        EXIT WHEN coalesce(missing, 0) <= 0;
        first := coalesce(
            first, larder_data.first_priority(q.queue_id, q.positions, q.low_priority_every, worker + claim_no));
        by_turn := q.by_turn OR round % 2 = 0;
        picked := larder_data.pick_of_queue(q.queue_id, q.lifo, by_turn, first,
            CASE WHEN by_turn THEN q.turns ELSE q.positions END,
            CASE round WHEN 1 THEN missing WHEN 2 THEN least(4 * missing + 4, 1000) ELSE 1000 END);
        EXIT WHEN picked = '{}';
        held := larder_data.put_off_held(picked, missing, worker, false, round = 1 AND NOT by_turn AND NOT q.lifo);
        IF held.kept <> '{}' THEN
            jobs := jobs || larder_data.take_jobs(worker, claim_no, held.kept, q.lifo, q.limited,
                CASE WHEN NOT by_turn THEN q.positions END, q.cursor_no);
        END IF;
        EXIT WHEN NOT held.some_held;
    END LOOP;
    IF q.limited <> '{}' AND wanted > 0 AND jobs <> '{}' THEN
        PERFORM larder_data.take_tokens(q.limited, jobs);
    END IF;
    RETURN QUERY SELECT * FROM larder_data.claimed_jobs(jobs);
END $$;
COMMENT ON FUNCTION larder.claim_v1 IS
    'Claims at most max_jobs (1 to 1000) ready jobs: lowest priority number first, then the oldest, or the newest in '
    'a lifo queue; in every second claim the batches of a priority take turns instead; every Nth claim '
    '(low_priority_every) starts at one of the lower priorities, each in turn. again: the number was used before and '
    'the answer lost; returns the jobs that it took, if any. only_batch: only jobs that this batch (name or id) has, '
    'also those it joined in other queues, in the order of their ids, above after_job first. blocked: the URL is on '
    'the blocklist, by an operator, or the job does not say RetryFailed; it fails with SDWebImageErrorDomain 1003.';
