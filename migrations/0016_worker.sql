-- Workers: the tables, and the calls worker_start, drain_start, heartbeat, release, snooze and worker_stop of the
-- worker protocol, version 1. A worker in any language calls these, larder.claim_v1 and larder.complete_v1.
--
-- heartbeat, unless late, and worker_stop commit without waiting for the disk: after a server crash, a worker without a
-- record is refused and starts anew. Release waits, because a job released by a live worker is never rescued. Release,
-- heartbeat and stop may be repeated.

CREATE TABLE larder_data.cache (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    used_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
    name text NOT NULL UNIQUE
);
COMMENT ON TABLE larder_data.cache IS
    'Cache roots that workers fill; name is the random id kept in the root. used_on: the day (UTC) of the last start.';

CREATE TABLE larder_data.worker (
    id bigint NOT NULL,
    number bigint NOT NULL DEFAULT 0,
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz NOT NULL DEFAULT now(),
    stopped_at timestamptz,
    rescued_at timestamptz,
    oldest_claim bigint NOT NULL DEFAULT 0,
    lease_ms int NOT NULL,
    pid int,
    slots int NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    version text NOT NULL,
    cache_id int,
    queue_id smallint,
    PRIMARY KEY (id, number)
);
COMMENT ON TABLE larder_data.worker IS
    'One row per start of a worker. id: random, because a sequence goes back when a standby takes over that lacks '
    'the last transactions, and a second worker would pass the fence of the first. number: increases with each '
    'heartbeat, see schema.sql. rescued_at: its lease has ended and it holds no job; it can claim none any more. '
    'oldest_claim: as the worker reports, it holds no job of a claim with a lower number. queue_id: from which it '
    'claims; NULL: any.';

CREATE TABLE larder_data.worker_fault (
    worker_id bigint PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    message text NOT NULL
);
COMMENT ON TABLE larder_data.worker_fault IS
    'What workers lack that every job needs, or which credential profile they cannot use.';

CREATE TABLE larder_data.claim_lock (
    worker_id bigint PRIMARY KEY,
    has_ended boolean NOT NULL DEFAULT false
);
CREATE INDEX claim_lock_live ON larder_data.claim_lock (worker_id) WHERE NOT has_ended;
COMMENT ON TABLE larder_data.claim_lock IS
    'One row per worker, updated once. Its claims lock the row, so that one that is sent again waits for the first. '
    'Not the row of the worker, because heartbeats do not wait for claims; not an advisory lock, because any login can '
    'take those. has_ended: as rescued_at of the worker.';

CREATE TABLE larder_data.drain (
    queue_id smallint NOT NULL,
    host text NOT NULL,
    cache_id int NOT NULL,
    worker_id bigint NOT NULL,
    PRIMARY KEY (queue_id, host, cache_id)
);
COMMENT ON TABLE larder_data.drain IS
    'The worker that drains a queue into a cache (0: none) on a host, so that a job of cron that takes longer than its '
    'interval does not run twice. The row counts as long as the worker lives.';

CREATE VIEW larder_data.current_worker AS
SELECT l.worker_id AS id, w.number, w.heartbeat_at, w.started_at, w.stopped_at, w.rescued_at, w.oldest_claim,
    w.lease_ms, w.pid, w.slots, w.name, w.host, w.version, w.cache_id, w.queue_id, l.has_ended
FROM larder_data.claim_lock l, LATERAL (
    SELECT * FROM larder_data.worker x WHERE x.id = l.worker_id ORDER BY x.number DESC LIMIT 1) AS w;

-- If each cron run is a worker, the last day has many.
CREATE VIEW larder_data.live_worker AS SELECT * FROM larder_data.current_worker w WHERE NOT w.has_ended;

-- Jobs of live workers, read by worker: skips the dead rows of claims before its oldest claim.
CREATE VIEW larder_data.live_claim AS
SELECT r.* FROM larder_data.live_worker w, LATERAL (
    SELECT * FROM larder_data.running x WHERE x.worker_id = w.id AND x.claim_no >= w.oldest_claim OFFSET 0) AS r;

-- The ms between two heartbeats of a worker with jobs, for this number of live workers. Any heartbeat notices due work,
-- so in a large fleet each worker may send fewer. Below a second for a small fleet, so that a cancelled job ends within
-- one; short enough that a large fleet's last worker does not rescue the others' jobs late. In steps, because a change
-- is a row version that heartbeats read while a snapshot keeps it.
CREATE FUNCTION larder_data.heartbeat_pause(workers bigint) RETURNS int
LANGUAGE sql IMMUTABLE RETURN CASE WHEN workers < 500 THEN 750 WHEN workers < 750 THEN 1000
    WHEN workers < 1000 THEN 1250 ELSE 1500 END;

CREATE FUNCTION larder_data.maintenance_workers() RETURNS int
LANGUAGE sql AS $$
    UPDATE larder_data.settings s SET heartbeat_ms = p.wanted FROM (
        SELECT larder_data.heartbeat_pause(count(*)) AS wanted FROM larder_data.claim_lock l WHERE NOT l.has_ended) AS p
    WHERE s.heartbeat_ms <> p.wanted;
    SELECT 0;
$$;

-- When a worker's lease ends: a lease after its last heartbeat, or after an outage in which it would have ended.
CREATE FUNCTION larder_data.lease_end(heartbeat_at timestamptz, lease_ms int) RETURNS timestamptz
LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT greatest(heartbeat_at, CASE
        WHEN heartbeat_at + lease_end.lease_ms * interval '1 ms' >= s.away_from THEN s.away_until END)
        + lease_end.lease_ms * interval '1 ms'
    FROM larder_data.settings s;
END;

-- Whether an unrescued worker still has its jobs. For a heartbeat its row must be locked. A heartbeat may come before
-- the first maintenance run after an outage: unless one has run since the lease ended, no other worker has been given
-- the jobs.
CREATE FUNCTION larder_data.has_lease(heartbeat_at timestamptz, lease_ms int) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    ends timestamptz := heartbeat_at + lease_ms * interval '1 ms';
BEGIN
    -- True in nearly all calls. The rest is slower, as SQL functions are planned anew in each call.
    IF ends > clock_timestamp() THEN
        RETURN true;
    END IF;
    RETURN larder_data.lease_end(heartbeat_at, lease_ms) > clock_timestamp() OR EXISTS (
        SELECT FROM larder_data.current_task t
        WHERE t.task = 'rescue' AND isfinite(t.next_at) AND t.next_at - t.every < ends);
END $$;

CREATE FUNCTION larder.worker_start_v1(
    name text, host text, pid int, version text, slots int, cache_id text DEFAULT NULL, queue text DEFAULT NULL
) RETURNS TABLE (worker_id bigint, lease_ms int)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    cache text := left(nullif(worker_start_v1.cache_id, ''), 200);
    today CONSTANT date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
    PERFORM larder_data.require_read_committed();
    IF NOT EXISTS (SELECT FROM larder_data.settings s WHERE 1 BETWEEN s.protocol_oldest AND s.protocol_newest) THEN
        RAISE EXCEPTION 'this database no longer offers worker protocol 1' USING ERRCODE = 'LA004';
    END IF;
    PERFORM larder_data.refuse(CASE
        WHEN coalesce(slots NOT BETWEEN 1 AND 100000, true) THEN 'a worker has 1 to 100000 slots'
        WHEN coalesce(name, host, version) IS NULL THEN 'a worker has a name, a host and a version' END);
    PERFORM larder_data.ensure_today();
    UPDATE larder_data.cache c SET used_on = today WHERE c.id = ANY (ARRAY(
        SELECT x.id FROM larder_data.cache x WHERE x.name = cache AND x.used_on < today FOR UPDATE SKIP LOCKED));
    INSERT INTO larder_data.cache (name)
    SELECT cache WHERE cache IS NOT NULL AND NOT EXISTS (SELECT FROM larder_data.cache c WHERE c.name = cache)
    ON CONFLICT (name) DO NOTHING;
    RETURN QUERY
    WITH started AS (
        -- 52 bits, which a double holds.
        INSERT INTO larder_data.worker AS w
            (id, name, host, pid, version, slots, cache_id, queue_id, lease_ms, heartbeat_at)
        SELECT ('x' || right(gen_random_uuid()::text, 12) || left(gen_random_uuid()::text, 1))::bit(52)::bigint,
            left(coalesce(worker_start_v1.name, ''), 200), left(coalesce(worker_start_v1.host, ''), 200),
            worker_start_v1.pid, left(coalesce(worker_start_v1.version, ''), 200), worker_start_v1.slots,
            (SELECT c.id FROM larder_data.cache c WHERE c.name = cache),
            (SELECT q.id FROM larder_data.queue q WHERE q.name = worker_start_v1.queue), s.lease_ms, clock_timestamp()
        FROM larder_data.settings s
        RETURNING w.id, w.lease_ms
    ), lockable AS (
        INSERT INTO larder_data.claim_lock (worker_id) SELECT w.id FROM started w
    )
    TABLE started;
END $$;
COMMENT ON FUNCTION larder.worker_start_v1 IS
    'Registers one start of a worker: a new random id, and its lease, which heartbeats extend. cache_id: the random id '
    'kept in its cache root. queue: from which it will claim; NULL, by default: any.';

-- Deletes ended workers' rows first, so that hosts that exist once, such as pods, leave none behind. Of two concurrent
-- calls the second waits in its insert for the first.
CREATE FUNCTION larder.drain_start_v1(worker bigint, queue text) RETURNS TABLE (pid int, started_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    queue_no smallint := larder_data.find_queue(drain_start_v1.queue);
    w larder_data.current_worker;
BEGIN
    PERFORM larder_data.require_read_committed();
    SELECT * INTO w FROM larder_data.current_worker x WHERE x.id = worker;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'worker % is unknown or stopped', worker USING ERRCODE = 'LA005';
    END IF;
    DELETE FROM larder_data.drain x WHERE (x.queue_id, x.host, x.cache_id) IN (
        SELECT d.queue_id, d.host, d.cache_id FROM larder_data.drain d
        LEFT JOIN larder_data.current_worker o ON o.id = d.worker_id
        WHERE o.id IS NULL OR o.stopped_at IS NOT NULL OR o.rescued_at IS NOT NULL
            OR larder_data.lease_end(o.heartbeat_at, o.lease_ms) <= clock_timestamp()
            OR (o.host, o.pid) = (w.host, w.pid)
        FOR UPDATE OF d SKIP LOCKED);
    INSERT INTO larder_data.drain (queue_id, host, cache_id, worker_id)
    VALUES (queue_no, w.host, coalesce(w.cache_id, 0), worker) ON CONFLICT DO NOTHING;
    RETURN QUERY SELECT o.pid, o.started_at
    FROM larder_data.drain d JOIN larder_data.current_worker o ON o.id = d.worker_id
    WHERE (d.queue_id, d.host, d.cache_id) = (queue_no, w.host, coalesce(w.cache_id, 0)) AND d.worker_id <> worker;
END $$;
COMMENT ON FUNCTION larder.drain_start_v1 IS
    'No row: the worker drains the queue until it stops or its lease ends. Else the worker that drains it into the '
    'same cache on the same host, and has not ended. Another start of the same process replaces the first.';

CREATE FUNCTION larder_data.is_overdue(queue_no smallint, claimed_at timestamptz) RETURNS boolean
LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT greatest(claimed_at, s.away_until) < clock_timestamp() - q.job_timeout
    FROM larder_data.queue q, larder_data.settings s WHERE q.id = queue_no;
END;

-- Commits without waiting for the disk, except after a completion in the same transaction, which must wait for it.
CREATE FUNCTION larder_data.skip_flush() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM larder_data.require_read_committed();
    END IF;
    IF pg_current_xact_id_if_assigned() IS NULL AND current_setting('synchronous_commit') <> 'off' THEN
        PERFORM set_config('larder.synchronous_commit', current_setting('synchronous_commit'), true),
            set_config('synchronous_commit', 'off', true);
    END IF;
END $$;

CREATE FUNCTION larder_data.wait_for_flush() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF current_setting('transaction_isolation') <> 'read committed' THEN
        PERFORM larder_data.require_read_committed();
    END IF;
    PERFORM set_config('synchronous_commit', x.setting, true)
    FROM (SELECT current_setting('larder.synchronous_commit', true) AS setting) AS x WHERE x.setting <> '';
END $$;

-- An expired lease stays expired: maintenance may be giving the jobs to other workers.
CREATE FUNCTION larder.heartbeat_v1(worker bigint, oldest_claim bigint DEFAULT 0) RETURNS TABLE (
    lease_ms int, lease_expired boolean, cancelled_jobs bigint[], cancelled_claims bigint[], maintenance_due boolean,
    pause_ms int
)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    w larder_data.worker;
    pause int;
    oldest timestamptz := clock_timestamp() - (SELECT min(q.job_timeout) FROM larder_data.queue q);
    first_claim CONSTANT bigint := coalesce(heartbeat_v1.oldest_claim, 0);
BEGIN
    PERFORM larder_data.skip_flush();
    SELECT * INTO w FROM larder_data.worker x WHERE x.id = worker ORDER BY x.number DESC LIMIT 1 FOR UPDATE;
    IF NOT FOUND OR w.stopped_at IS NOT NULL THEN
        RAISE EXCEPTION 'worker % is unknown or stopped', worker USING ERRCODE = 'LA005';
    ELSIF w.rescued_at IS NOT NULL OR NOT larder_data.has_lease(w.heartbeat_at, w.lease_ms) THEN
        RETURN QUERY SELECT w.lease_ms, true, '{}'::bigint[], '{}'::bigint[], false, larder_data.heartbeat_pause(1);
        RETURN;
    END IF;
    -- A late heartbeat waits for the disk: a server crash would undo it, and a rescue soon after would take jobs that
    -- the worker still publishes. Workers give up a lease 3 s before its end, which covers an earlier one.
    PERFORM larder_data.wait_for_flush() WHERE w.heartbeat_at < clock_timestamp() - interval '2 s';
    UPDATE larder_data.worker x SET number = x.number + 1, heartbeat_at = clock_timestamp(), lease_ms = s.lease_ms,
        oldest_claim = first_claim
    FROM larder_data.settings s
    WHERE x.id = worker AND x.number = w.number RETURNING x.lease_ms, s.heartbeat_ms INTO w.lease_ms, pause;
    RETURN QUERY
    SELECT w.lease_ms, false, coalesce(array_agg(r.job_id), '{}'), coalesce(array_agg(r.claim_no), '{}'),
        larder_data.take_call(), pause
    FROM larder_data.running r,
        LATERAL (SELECT x.cancelled_at IS NOT NULL AS is_cancelled FROM larder_data.job x
            WHERE x.id = r.job_id OFFSET 0) AS j
    WHERE r.worker_id = worker AND r.claim_no >= first_claim
      AND (j.is_cancelled OR r.claimed_at < oldest AND larder_data.is_overdue(r.queue_id, r.claimed_at));
END $$;
COMMENT ON FUNCTION larder.heartbeat_v1 IS
    'Extends the lease of all jobs of a worker, and returns those that were cancelled, or held for longer than the '
    'job_timeout of their queue: it is to stop them and complete them as cancelled. oldest_claim: the lowest number '
    'of a claim of which it holds a job or has no answer, or of its next one; without it each heartbeat reads the dead '
    'rows of all its claims. lease_expired: the worker must start anew. maintenance_due: this worker, one of the fleet '
    'at a time, is to call larder.maintain(), run_schedule_v1(), take_webhook_v1() and origin_holds_v1() now. '
    'pause_ms: after how long the next heartbeat is to follow while the worker holds jobs.';

-- Ends claims without a result. Jobs cancelled meanwhile are suspended; the caller must give the others a state.
CREATE FUNCTION larder_data.end_claims(
    worker bigint, jobs bigint[], claims bigint[], OUT ended int, OUT wanted bigint[]
)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    WITH freed AS MATERIALIZED (
        DELETE FROM larder_data.running r WHERE r.ctid = ANY (ARRAY(
            SELECT held.tid FROM unnest(jobs, claims) AS g (job, claim), LATERAL (
                SELECT x.ctid AS tid FROM larder_data.running x
                WHERE x.job_id = g.job AND (x.worker_id, x.claim_no) IS NOT DISTINCT FROM (worker, g.claim)
                OFFSET 0) AS held))
        RETURNING r.job_id
    ), met AS MATERIALIZED (
        SELECT f.job_id, j.cancelled_at IS NOT NULL AS is_cancelled FROM freed f, LATERAL (
            SELECT x.cancelled_at FROM larder_data.job x WHERE x.id = f.job_id OFFSET 0) AS j
    ), suspended AS (
        INSERT INTO larder_data.suspended (job_id, reason) SELECT m.job_id, 'cancelled' FROM met m WHERE m.is_cancelled
    )
    SELECT count(*), coalesce(array_agg(m.job_id) FILTER (WHERE NOT m.is_cancelled), '{}')
    INTO ended, wanted FROM met m;
END $$;

CREATE FUNCTION larder.release_v1(worker bigint, jobs bigint[], claims bigint[]) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    g record;
BEGIN
    PERFORM larder_data.require_read_committed();
    PERFORM larder_data.refuse('jobs and claims have different lengths')
    WHERE cardinality(claims) IS DISTINCT FROM cardinality(jobs);
    g := larder_data.end_claims(worker, jobs, claims);
    PERFORM larder_data.make_ready(g.wanted);
    RETURN g.ended;
END $$;
COMMENT ON FUNCTION larder.release_v1 IS
    'Returns jobs that were not started: ready at once, the attempt not counted. Claims that are not held are ignored.';

-- A random time after the end of a hold, so that its jobs do not return at once.
CREATE FUNCTION larder_data.return_at(until timestamptz) RETURNS timestamptz
LANGUAGE sql VOLATILE
RETURN until + random() * least(greatest(until - clock_timestamp(), interval '0 s') / 4, interval '1 min');

CREATE FUNCTION larder.snooze_v1(worker bigint, jobs bigint[], claims bigint[], delays_ms bigint[]) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    g record;
BEGIN
    PERFORM larder_data.require_read_committed();
    PERFORM larder_data.refuse('jobs, claims and delays_ms have different lengths')
    WHERE (cardinality(claims), cardinality(delays_ms)) IS DISTINCT FROM (cardinality(jobs), cardinality(jobs));
    g := larder_data.end_claims(worker, jobs, claims);
    INSERT INTO larder_data.scheduled (run_at, job_id)
    SELECT larder_data.return_at(clock_timestamp()
        + least(greatest(max(d.delay), 0), max(s.retry_after_cap_ms)) * interval '1 ms'), d.job
    FROM unnest(jobs, delays_ms) AS d (job, delay), larder_data.settings s WHERE d.job = ANY (g.wanted) GROUP BY d.job;
    RETURN g.ended;
END $$;
COMMENT ON FUNCTION larder.snooze_v1 IS
    'Schedules jobs whose origin is held, or whose credential profile the worker cannot use, each after so many ms, an '
    'hour at most, and up to a quarter more; the attempt is not counted. Claims that are not held are ignored.';

CREATE FUNCTION larder.worker_stop_v1(worker bigint) RETURNS int
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM larder_data.skip_flush();
    UPDATE larder_data.worker w SET stopped_at = coalesce(w.stopped_at, clock_timestamp()) WHERE w.id = worker;
    RETURN (
        SELECT larder.release_v1(worker, array_agg(r.job_id), array_agg(r.claim_no))
        FROM larder_data.running r WHERE r.worker_id = worker);
END $$;
COMMENT ON FUNCTION larder.worker_stop_v1 IS 'Ends a worker and releases the jobs that it still holds.';
