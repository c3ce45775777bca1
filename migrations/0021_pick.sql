-- Claims.
--
-- The fence: a claim is (worker, job, claim number). A worker has a new id at each start, and the claim number is its
-- own counter. A result must name exactly the claim in `running`; a worker whose lease expired, or that names an older
-- claim, finds no such row and records nothing.
--
-- Durability: a claim commits without waiting for the disk. After a server crash a forgotten claim leaves the jobs
-- ready, and the fence refuses the worker that made it.
--
-- No statement here lets the planner choose: rows are found by ctid, by = ANY of an index, or by LATERAL with OFFSET 0,
-- one probe per job, so that wrong statistics cannot turn a claim of ten jobs into a scan of a million.

-- The priority that a claim takes first: 0, but in every Nth claim (low_priority_every) one of those with ready jobs
-- except the highest, in turn.
CREATE FUNCTION larder_data.first_priority(queue_no smallint, turns bigint[], low_priority_every int, n bigint)
RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    nth bigint := CASE WHEN n % nullif(low_priority_every, 0) = 0 THEN n / low_priority_every END;
    present int[] := CASE WHEN nth IS NOT NULL THEN ARRAY(
        SELECT p FROM generate_series(0, 9) AS p
        WHERE EXISTS (
            SELECT FROM larder_data.ready x WHERE x.lane = queue_no * 10 + p AND x.turn > turns[p + 1] OFFSET 0)
        ORDER BY p) END;
BEGIN
    RETURN coalesce(present[2 + nth % nullif(cardinality(present) - 1, 0)], 0);
END $$;

-- Locks the next ready rows of a queue behind these turns, one priority first, and returns their ctids.
CREATE FUNCTION larder_data.pick_of_queue(queue_no smallint, first int, turns bigint[], max_jobs int) RETURNS tid[]
LANGUAGE plpgsql AS $$
DECLARE
    priorities int[] := first || array_remove('{0,1,2,3,4,5,6,7,8,9}', first);
BEGIN
    RETURN ARRAY(
        SELECT pick.tid FROM generate_series(1, 10) AS k, LATERAL (
            SELECT x.ctid AS tid FROM larder_data.ready x
            WHERE x.lane = queue_no * 10 + priorities[k] AND x.turn > turns[priorities[k] + 1]
            ORDER BY x.turn, x.job_id LIMIT max_jobs FOR UPDATE SKIP LOCKED) AS pick
        LIMIT max_jobs);
END $$;

-- Locks ready rows of a batch's jobs, with ids above after_job and not in a closed queue, in id order, and returns
-- their ctids; none if the batch is paused or has ended.
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
            -- Each side in its index's order, so that they are merged without sorting. The batch's own jobs are all in
            -- its queue. A batch may have a job several times.
            SELECT wanted.id, lag(wanted.id) OVER (ORDER BY wanted.batch_id, wanted.id) AS before FROM (
                (SELECT j.batch_id, j.id FROM larder_data.job j
                 WHERE (j.batch_id, j.id) > (batch_no, after_job) AND j.batch_id <= batch_no AND j.items > 0
                   AND own_queue <> ALL (closed)
                 ORDER BY j.batch_id, j.id)
                UNION ALL
                (SELECT s.batch_id, s.job_id FROM larder_data.job_item s
                 WHERE (s.batch_id, s.job_id) > (batch_no, after_job) AND s.batch_id <= batch_no
                 ORDER BY s.batch_id, s.job_id)
            ) AS wanted
        ) AS mine,
        LATERAL (
            SELECT x.ctid AS tid FROM larder_data.ready x
            WHERE x.job_id = mine.id AND mine.id IS DISTINCT FROM mine.before AND x.lane / 10 <> ALL (closed)
            FOR UPDATE SKIP LOCKED) AS place
        LIMIT max_jobs);
END $$;

-- STABLE, in SQL and without SET, so that Postgres inlines it. BEGIN ATOMIC: its names and operators were resolved when
-- it was created, not by a caller's search_path.
CREATE FUNCTION larder_data.claimed_jobs(jobs bigint[]) RETURNS TABLE (
    job_id bigint, attempt int, max_attempts int, url text, pipeline_id int, options bigint, context json,
    priority int, origin text, batch_id bigint, blocked boolean, blocked_code int, blocked_limit bigint,
    traceparent text, queued_ms bigint
)
LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT j.id, j.attempt + 1, j.max_attempts::int, j.url, j.pipeline_id, j.options, j.context, j.priority::int,
        coalesce(o.name, larder_data.origin_or_null(j.url)), j.batch_id, coalesce(b.is_blocked, false), b.code,
        b.worker_limit, j.traceparent, (date_part('epoch', clock_timestamp() - j.created_at) * 1000)::bigint
    FROM unnest(jobs) WITH ORDINALITY AS t (id, ord)
    CROSS JOIN LATERAL (SELECT * FROM larder_data.job x WHERE x.id = t.id OFFSET 0) AS j
    LEFT JOIN LATERAL (SELECT x.name FROM larder_data.origin x WHERE x.id = j.origin_id OFFSET 0) AS o ON true
    LEFT JOIN LATERAL (
        SELECT true AS is_blocked, x.code, x.worker_limit FROM larder_data.blocklist x
        WHERE x.url_hash = substring(j.key FOR 16)
          AND CASE WHEN j.options & 1 = 1 THEN x.operator_until ELSE x.until END > clock_timestamp()
        OFFSET 0) AS b ON true
    ORDER BY t.ord;
END;

CREATE FUNCTION larder_data.take_jobs(worker bigint, claim_no bigint, picked tid[]) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    jobs bigint[];
BEGIN
    WITH taken AS (
        DELETE FROM larder_data.ready r WHERE r.ctid = ANY (picked) RETURNING r.job_id, r.turn, r.lane, r.origin_id
    ), held AS (
        INSERT INTO larder_data.running (job_id, worker_id, claim_no, origin_id, queue_id)
        SELECT t.job_id, worker, take_jobs.claim_no, t.origin_id, t.lane / 10 FROM taken t
    )
    SELECT array_agg(t.job_id ORDER BY t.lane % 10, t.turn, t.job_id) INTO jobs FROM taken t;
    RETURN jobs;
END $$;

CREATE FUNCTION larder_data.claim_context(
    worker bigint, queue text, OUT queue_id smallint, OUT is_paused boolean,
    OUT limited smallint[], OUT low_priority_every int, OUT turns bigint[]
)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    worker_lives boolean;
BEGIN
    -- Reads tables instead of the views of current rows, because starting a statement with many tables costs more than
    -- the reads.
    SELECT q.id, q.paused_at IS NOT NULL,
        CASE WHEN q.max_running IS NULL AND q.max_rate IS NULL THEN '{}'::smallint[] ELSE ARRAY[q.id] END,
        q.low_priority_every, coalesce(c.turns, array_fill(-9223372036854775807, '{10}')),
        (SELECT w.stopped_at IS NULL AND w.rescued_at IS NULL
             AND w.heartbeat_at + w.lease_ms * interval '1 ms' > clock_timestamp()
         FROM larder_data.worker w WHERE w.id = worker ORDER BY w.number DESC LIMIT 1)
    INTO queue_id, is_paused, limited, low_priority_every, turns, worker_lives
    FROM larder_data.queue q LEFT JOIN LATERAL (
        SELECT x.turns, x.valid_until FROM larder_data.claim_cursor x
        WHERE x.queue_id = q.id ORDER BY x.number DESC LIMIT 1
    ) AS c ON c.valid_until > clock_timestamp() AND NOT q.lifo
    WHERE q.name = claim_context.queue;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown queue "%"', queue USING ERRCODE = 'LA006';
    ELSIF worker_lives IS NOT TRUE AND NOT EXISTS (
        SELECT FROM larder_data.current_worker w
        WHERE w.id = worker AND w.stopped_at IS NULL AND w.rescued_at IS NULL
          AND larder_data.has_lease(w.heartbeat_at, w.lease_ms)) THEN
        RAISE EXCEPTION 'worker % is unknown or stopped, or its lease has expired', worker USING ERRCODE = 'LA005';
    END IF;
END $$;

-- Removes jobs of paused batches, held origins and origins at their limit from these rows of ready; returns at most
-- `wanted` others. Reads the holds after the rows were picked, so that it sees every hold that began before a job
-- became ready; reading them first could take a job enqueued after the hold. Checks all rows, not only as many as
-- wanted, to clear a held origin's rows from the front at once.
CREATE FUNCTION larder_data.put_off_held(picked tid[], wanted int, OUT kept tid[], OUT some_held boolean)
LANGUAGE plpgsql AS $$
DECLARE
    some_batch boolean;
    some_origin boolean;
    some_limit boolean;
BEGIN
    kept := picked;
    some_held := false;
    SELECT EXISTS (
            SELECT FROM larder_data.batch b
            WHERE b.finished_at IS NULL AND (b.paused_at IS NOT NULL OR b.cancelled_at IS NOT NULL))
        OR EXISTS (SELECT FROM larder_data.job j WHERE j.items = 0)
        OR EXISTS (SELECT FROM larder_data.job j WHERE j.not_after < clock_timestamp()),
        EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.until > clock_timestamp()),
        EXISTS (SELECT FROM larder_data.origin_limit)
    INTO some_batch, some_origin, some_limit;
    IF some_batch OR some_origin THEN
        WITH met AS MATERIALIZED (
            SELECT t.tid, t.ord, r.job_id, o.until, CASE
                -- A job whose own batch is active is not held.
                WHEN some_batch AND (j.items = 0 OR j.not_after < clock_timestamp() OR EXISTS (
                    SELECT FROM larder_data.batch b
                    WHERE b.id = j.batch_id AND (b.paused_at IS NOT NULL OR b.cancelled_at IS NOT NULL) OFFSET 0))
                THEN (SELECT h.reason FROM larder_data.hold_reason(j.id, j.batch_id, j.items, j.not_after) AS h)
                END AS reason
            FROM unnest(picked) WITH ORDINALITY AS t (tid, ord)
            CROSS JOIN LATERAL (
                SELECT x.job_id, x.origin_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r
            CROSS JOIN LATERAL (
                SELECT x.id, x.batch_id, x.items, x.not_after FROM larder_data.job x
                WHERE x.id = r.job_id OFFSET 0) AS j
            LEFT JOIN LATERAL (
                SELECT x.until FROM larder_data.origin_hold x
                WHERE x.origin_id = r.origin_id AND x.until > clock_timestamp() OFFSET 0) AS o ON true
        ), removed AS (
            DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(
                SELECT m.tid FROM met m WHERE coalesce(m.reason, m.until::text) IS NOT NULL))
        ), suspended AS (
            INSERT INTO larder_data.suspended (job_id, reason)
            SELECT m.job_id, m.reason FROM met m WHERE m.reason IS NOT NULL
        ), deferred AS (
            INSERT INTO larder_data.scheduled (run_at, job_id)
            SELECT larder_data.return_at(greatest(m.until, clock_timestamp() + interval '1 s')), m.job_id
            FROM met m WHERE m.reason IS NULL AND m.until IS NOT NULL
        )
        SELECT coalesce(array_agg(m.tid ORDER BY m.ord) FILTER (WHERE m.reason IS NULL AND m.until IS NULL), '{}')
        INTO kept FROM met m;
        some_held := cardinality(kept) < cardinality(picked);
    END IF;
    IF some_limit AND EXISTS (
        SELECT FROM unnest(kept) AS t (tid),
            LATERAL (SELECT x.origin_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r,
            LATERAL (SELECT FROM larder_data.origin_limit x WHERE x.origin_id = r.origin_id OFFSET 0) AS l) THEN
        SELECT d.kept, some_held OR d.some_deferred INTO kept, some_held
        FROM larder_data.defer_limited(kept, wanted) AS d;
    END IF;
    kept := kept[1 : wanted];
END $$;

