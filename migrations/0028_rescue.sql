-- Rescue: jobs of dead workers, jobs held longer than their queue allows, and jobs whose completion the server lost
-- become ready again, or are suspended after rescue_limit rescues.

-- Locks the workers whose lease has ended, marks those without a job, and returns the others. A worker is dead if its
-- lease has ended or it has stopped. Its row is locked, so a concurrent heartbeat either counts or comes too late; its
-- later completions find no claim. The row that its claims lock is also locked, so it has no claim under way: without a
-- job now, it will never have one, and is not checked again.
CREATE FUNCTION larder_data.dead_workers() RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
    dead bigint[] := ARRAY(
        -- Not one with a heartbeat since this statement began: it has another number.
        SELECT w.id FROM larder_data.live_worker w, LATERAL (
            SELECT FROM larder_data.worker x WHERE x.id = w.id AND x.number = w.number FOR UPDATE SKIP LOCKED) AS l
        WHERE w.rescued_at IS NULL AND (w.stopped_at IS NOT NULL
            OR w.heartbeat_at + w.lease_ms * interval '1 ms' < clock_timestamp()
            AND larder_data.lease_end(w.heartbeat_at, w.lease_ms) < clock_timestamp()));
    idle bigint[];
BEGIN
    IF dead <> '{}' THEN
        idle := ARRAY(
            SELECT l.worker_id FROM larder_data.claim_lock l WHERE l.worker_id = ANY (dead) FOR UPDATE SKIP LOCKED);
        WITH ended AS (
            UPDATE larder_data.worker w SET rescued_at = clock_timestamp()
            WHERE w.id = ANY (idle)
              AND NOT EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = w.id OFFSET 0)
            RETURNING w.id
        )
        UPDATE larder_data.claim_lock l SET has_ended = true FROM ended e WHERE l.worker_id = e.id;
    END IF;
    RETURN ARRAY(SELECT w.id FROM larder_data.current_worker w WHERE w.id = ANY (dead) AND w.rescued_at IS NULL);
END $$;

-- Counts a rescue for jobs taken from running and makes them ready, or suspends them as crashed or cancelled. A lost
-- worker says nothing about an image: the attempt does not count, but after rescue_limit rescues the job waits for an
-- operator.
CREATE FUNCTION larder_data.return_rescued(jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    returned bigint[];
BEGIN
    WITH counted AS (
        UPDATE larder_data.job j SET rescues = j.rescues + 1 WHERE j.id = ANY (jobs)
        RETURNING j.id, CASE WHEN j.cancelled_at IS NOT NULL THEN 'cancelled'
            WHEN j.rescues >= (SELECT s.rescue_limit FROM larder_data.settings s) THEN 'crashed' END AS reason
    ), suspended AS (
        INSERT INTO larder_data.suspended (job_id, reason)
        SELECT c.id, c.reason FROM counted c WHERE c.reason IS NOT NULL
    )
    SELECT array_agg(c.id) FILTER (WHERE c.reason IS NULL) INTO returned FROM counted c;
    PERFORM larder_data.make_ready(returned);
END $$;

-- By id instead of ctid: an item may have updated the job's row meanwhile.
CREATE FUNCTION larder_data.rescue(held tid[]) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    taken bigint[];
BEGIN
    WITH lost AS MATERIALIZED (
        SELECT r.tid, j.id FROM (
            SELECT x.ctid AS tid, x.job_id FROM larder_data.running x WHERE x.ctid = ANY (held)
            FOR UPDATE SKIP LOCKED) AS r,
            LATERAL (SELECT x.id FROM larder_data.job x WHERE x.id = r.job_id FOR UPDATE SKIP LOCKED) AS j
    ), removed AS (
        DELETE FROM larder_data.running r WHERE r.ctid = ANY (ARRAY(SELECT l.tid FROM lost l))
    )
    SELECT coalesce(array_agg(l.id), '{}') INTO taken FROM lost l;
    PERFORM larder_data.return_rescued(taken) WHERE taken <> '{}';
    RETURN cardinality(taken);
END $$;

CREATE FUNCTION larder_data.maintenance_rescue() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    shortest CONSTANT interval := (SELECT min(q.job_timeout) FROM larder_data.queue q);
    up timestamptz;
    dead bigint[];
    moved int;
BEGIN
    -- An outage is no worker's fault, and no worker runs this task during it. So the first run after a gap of two
    -- thirds of a lease records the gap, and a worker whose lease had not ended by its beginning is given another one.
    -- Workers send three heartbeats per lease, so leases end in an outage shorter than one.
    UPDATE larder_data.settings s SET away_from = t.was_due_at, away_until = clock_timestamp()
    FROM larder_data.current_task t WHERE t.task = 'rescue' AND isfinite(t.was_due_at)
      AND t.was_due_at + s.lease_ms * interval '1 ms' * 2 / 3 < clock_timestamp();
    -- After the clock was set back, a heartbeat in the future would keep a dead worker alive.
    UPDATE larder_data.worker w SET heartbeat_at = clock_timestamp() WHERE w.id = ANY (ARRAY(
        SELECT w.id FROM larder_data.live_worker w, LATERAL (
            SELECT FROM larder_data.worker x WHERE x.id = w.id AND x.number = w.number FOR UPDATE SKIP LOCKED) AS l
        WHERE w.heartbeat_at > clock_timestamp() + interval '1 s'));
    up := (SELECT s.away_until FROM larder_data.settings s);
    dead := larder_data.dead_workers();
    -- Each heartbeat names the overdue jobs, and the worker stops them. They are taken a lease later: by then the
    -- worker has a heartbeat's answer, or its lease has ended, so it publishes nothing during the next attempt.
    moved := larder_data.rescue(
        ARRAY(SELECT x.ctid FROM larder_data.running x WHERE x.worker_id = ANY (dead) LIMIT 5000) || ARRAY(
            SELECT r.tid FROM larder_data.live_worker w, LATERAL (
                SELECT x.ctid AS tid, x.queue_id, x.claimed_at FROM larder_data.running x
                WHERE x.worker_id = w.id AND x.claim_no >= w.oldest_claim
                  AND x.claimed_at < clock_timestamp() - shortest OFFSET 0) AS r,
                LATERAL (SELECT x.job_timeout FROM larder_data.queue x WHERE x.id = r.queue_id OFFSET 0) AS q
            WHERE w.rescued_at IS NULL
              AND greatest(r.claimed_at, up) < clock_timestamp() - q.job_timeout - w.lease_ms * interval '1 ms'
            LIMIT 5000));
    PERFORM larder_data.change_task('rescue', clock_timestamp()) WHERE moved >= 5000;
    RETURN moved;
END $$;

-- A worker holds no job of a claim below its oldest_claim. Such a row exists if the server has lost confirmed
-- completions: in a failover to an asynchronous standby, a restore, or a crash without synchronous_commit. No other
-- search reads such old rows, which may be dead.
CREATE FUNCTION larder_data.maintenance_forgotten() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    began_at CONSTANT timestamptz := clock_timestamp();
    moved int := larder_data.rescue(ARRAY(
        SELECT r.tid FROM larder_data.live_worker w, LATERAL (
            SELECT x.ctid AS tid FROM larder_data.running x
            WHERE x.worker_id = w.id AND x.claim_no < w.oldest_claim OFFSET 0) AS r
        WHERE w.rescued_at IS NULL LIMIT 5000));
BEGIN
    PERFORM larder_data.reschedule('forgotten', began_at, '10 s');
    RETURN moved;
END $$;
