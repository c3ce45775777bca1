-- Which calls besides claims, completions and heartbeats a worker is to make: maintenance, and the looks for
-- schedules, webhooks and held origins. Of all workers one at a time gets the answer that a call is due, and not more
-- often than the row look_KIND of larder_data.task says: so N workers do not make N times as many calls.
--
-- A worker that holds jobs gets it with a heartbeat. One without jobs calls larder.claim_idle_v1(), about once a
-- second, in place of a claim and a heartbeat. It claims. If there is no job, it extends the lease when that is due,
-- and looks for other work; the worker makes a further call only for a kind of work that is there.
--
-- A look goes through the tasks of its kind that are due, in their order. Those without work count as run: a task that
-- keeps something up to date also then, such as a position, is run at once, which takes no lock that others wait for.
-- From the first one with work on, all are left to maintain(), in a transaction of its own: a claim is to be answered
-- at once. Work that comes between the two is found by the next look, a second later.
--
-- Error codes: as of claim_v1 and heartbeat_v1.

-- Read only, by the same indexes as the tasks. Too much rather than too little: the answer true costs one call.
CREATE FUNCTION larder_data.has_urgent_work(task text) RETURNS boolean
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off AS $$
DECLARE
    up timestamptz;
    start timestamptz;
BEGIN
    IF task = 'rescue' THEN
        up := larder_data.up_since();
        RETURN EXISTS (
                SELECT FROM larder_data.server s WHERE s.timeline <> left(pg_walfile_name(pg_current_wal_lsn()), 8))
            -- Also when no lease has ended yet: what counts as run here is no outage for the next run.
            OR (SELECT larder_data.was_away(t.next_at) FROM larder_data.current_task t WHERE t.task = 'rescue')
            OR EXISTS (
                SELECT FROM larder_data.live_worker w
                WHERE w.rescued_at IS NULL AND (w.stopped_at IS NOT NULL
                    OR w.heartbeat_at + w.lease_ms * interval '1 ms' < clock_timestamp()
                    AND larder_data.lease_end(w.heartbeat_at, w.lease_ms, up) < clock_timestamp()
                    OR w.heartbeat_at > clock_timestamp() + interval '1 s'))
            OR larder_data.overdue_claims(up, 1) <> '{}' OR larder_data.forgotten_claims(up, 1) <> '{}';
    ELSIF task = 'promote' THEN
        start := larder_data.promote_start(larder_data.task_cursor('promote'));
        RETURN EXISTS (SELECT FROM larder_data.scheduled s WHERE s.run_at BETWEEN start AND now());
    ELSIF task = 'claims' THEN
        RETURN EXISTS (
            SELECT FROM larder_data.new_ready n WHERE n.xid >= (SELECT f.xid FROM larder_data.first_new f));
    ELSIF task = 'joins' THEN
        RETURN larder_data.task_cursor('joins') > 0 OR EXISTS (SELECT FROM larder_data.job_join)
            OR EXISTS (SELECT FROM larder_data.late_enqueue);
    ELSIF task = 'holds' THEN
        -- A ready job behind the position at which claims start, while an origin or a batch is held.
        RETURN (EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.until > clock_timestamp() AND NOT h.gave_up)
                OR EXISTS (
                    SELECT FROM larder_data.batch b
                    WHERE b.finished_at IS NULL AND b.paused_at IS NOT NULL AND b.cancelled_at IS NULL))
            AND EXISTS (
                SELECT FROM larder_data.queue q
                CROSS JOIN generate_series(0, 9) AS p
                LEFT JOIN LATERAL (
                    SELECT x.positions FROM larder_data.current_cursor x WHERE x.queue_id = q.id OFFSET 0) AS c ON true
                CROSS JOIN LATERAL (
                    SELECT FROM larder_data.ready x
                    WHERE x.queue_id = q.id AND x.priority = p AND x.job_id > coalesce(c.positions[p + 1], -1)
                    LIMIT 1) AS r);
    END IF;
    -- A task without a condition here always has.
    RETURN true;
END $$;
COMMENT ON FUNCTION larder_data.has_urgent_work IS 'Whether an urgent task has something to do.';

CREATE FUNCTION larder_data.has_routine_work(task text) RETURNS boolean
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off AS $$
DECLARE
    old timestamptz;
BEGIN
    IF task = 'counts' THEN
        RETURN EXISTS (SELECT FROM larder_data.new_entry) OR EXISTS (SELECT FROM larder_data.new_error);
    ELSIF task = 'finish' THEN
        RETURN EXISTS (
                SELECT FROM larder_data.batch b
                WHERE b.finished_at IS NULL AND b.sealed_at IS NULL
                  AND b.daily < (now() AT TIME ZONE 'UTC' - interval '1 h')::date)
            OR EXISTS (
                SELECT FROM larder_data.batch b, LATERAL (
                    SELECT FROM larder_data.ledger x WHERE x.batch_id = b.id AND x.open = 0 OFFSET 0) AS l
                WHERE b.finished_at IS NULL AND b.sealed_at IS NOT NULL);
    ELSIF task = 'cancelled' THEN
        RETURN EXISTS (
                SELECT FROM larder_data.batch b WHERE b.cancelled_at IS NOT NULL AND b.finished_at IS NULL)
            OR EXISTS (SELECT FROM larder_data.suspended s WHERE s.reason = 'cancelled');
    ELSIF task = 'resumed' THEN
        -- It examines paused jobs, mostly in vain: few of them at once, many in a call of their own.
        RETURN larder_data.task_cursor('resumed') > 0
            OR EXISTS (SELECT FROM larder_data.suspended s WHERE s.reason = 'paused' OFFSET 500);
    ELSIF task = 'deleted' THEN
        old := now() - interval '2 days' - (SELECT s.keep_history FROM larder_data.settings s);
        RETURN EXISTS (SELECT FROM larder_data.batch b WHERE b.is_deleted)
            OR EXISTS (SELECT FROM larder_data.batch b WHERE b.finished_at < old);
    ELSIF task = 'workers' THEN
        RETURN (SELECT s.heartbeat_ms FROM larder_data.server s) <> larder_data.wanted_heartbeat_ms();
    ELSIF task = 'vacuum' THEN
        RETURN EXISTS (SELECT FROM larder_data.pending_owner_statements());
    END IF;
    -- The others are due a few times an hour.
    RETURN true;
END $$;
COMMENT ON FUNCTION larder_data.has_routine_work IS
    'Whether a routine task, or that of owners, has something to do.';

-- A task that failed is left to maintain(), which records and answers the error.
CREATE FUNCTION larder_data.look_for_tasks(kind text) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
    t record;
BEGIN
    FOR t IN
        SELECT x.task, x.failed_at FROM larder_data.current_task x
        WHERE x.kind = look_for_tasks.kind AND x.is_due ORDER BY x.place
    LOOP
        IF t.failed_at IS NOT NULL OR kind = 'urgent' AND larder_data.has_urgent_work(t.task)
            OR kind <> 'urgent' AND larder_data.has_routine_work(t.task) THEN
            RETURN true;
        ELSIF larder_data.take_task(t.task)
            AND t.task = ANY ('{promote,claims,joins,holds,counts,resumed}'::text[]) THEN
            EXECUTE format('SELECT larder_data.%I()', 'maintenance_' || t.task);
        END IF;
    END LOOP;
    RETURN false;
END $$;
COMMENT ON FUNCTION larder_data.look_for_tasks IS
    'Whether a task of this kind is due and has something to do. Those before it count as run.';

-- In one query first, because most calls of a large fleet find nothing due. What fails or waits here must not fail a
-- heartbeat: another one follows. A look that is a second late is locked by a transaction that stays open, and answered
-- to every caller: one worker keeps no others from maintenance.
CREATE FUNCTION larder_data.take_looks(handles text[]) RETURNS text[]
LANGUAGE plpgsql SET lock_timeout = '100ms' SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    due text;
    is_late boolean;
    taken text[] := '{}'::text[];
BEGIN
    SELECT h INTO due FROM unnest(handles) h
    WHERE h IS NULL OR h <> ALL ('{urgent,routine,owner,schedule,webhook,origins,end}'::text[]) LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION 'handles: unknown kind of work "%"', due USING ERRCODE = '22023',
            HINT = 'urgent, routine, owner, schedule, webhook, origins or end';
    END IF;
    BEGIN
        FOR due, is_late IN
            SELECT right(t.task, -5), t.next_at < clock_timestamp() - interval '1 s' FROM larder_data.current_task t
            WHERE t.kind = 'look' AND t.is_due AND right(t.task, -5) = ANY (handles) ORDER BY t.place
        LOOP
            CONTINUE WHEN due = 'owner' AND NOT pg_has_role(larder_data.caller(), (
                SELECT c.relowner FROM pg_catalog.pg_class c WHERE c.oid = 'larder_data.maintenance'::regclass),
                'USAGE');
            IF larder_data.take_task('look_' || due) OR is_late THEN
                taken := taken || due;
            END IF;
        END LOOP;
        RETURN taken;
    EXCEPTION WHEN serialization_failure OR lock_not_available THEN
        -- Above READ COMMITTED another caller has taken one since the snapshot; or one of the tables is locked.
        RETURN '{}'::text[];
    END;
END $$;
COMMENT ON FUNCTION larder_data.take_looks IS
    'The kinds of work of `handles` for which it is time to look, and for which no other caller looks just now.';

CREATE FUNCTION larder_data.due_while_busy(handles text[]) RETURNS text[]
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    due text[] := larder_data.take_looks(handles);
BEGIN
    -- Each worker reads the holds while there are any: it may have had a success of the origin, or has its jobs.
    IF 'origins' = ANY (handles) AND 'origins' <> ALL (due) AND EXISTS (SELECT FROM larder_data.origin_hold) THEN
        due := due || 'origins'::text;
    END IF;
    RETURN due;
END $$;
COMMENT ON FUNCTION larder_data.due_while_busy IS
    'Which of these kinds of work a worker that holds jobs is to do now, whether there is any or not.';

-- What fails here must not fail the claim: maintain() meets the same error, and records it.
CREATE FUNCTION larder_data.look(kind text) RETURNS boolean
LANGUAGE plpgsql SET lock_timeout = '100ms' SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    IF kind = 'schedule' THEN
        RETURN EXISTS (SELECT FROM larder_data.due_schedule);
    ELSIF kind = 'webhook' THEN
        RETURN EXISTS (SELECT FROM larder_data.webhook w WHERE w.due_at <= clock_timestamp());
    ELSIF kind = 'origins' THEN
        RETURN larder_data.expired_holds() <> '{}'
            OR EXISTS (SELECT FROM larder_data.origin_evidence e WHERE e.until < clock_timestamp());
    END IF;
    RETURN larder_data.look_for_tasks(kind);
EXCEPTION
    -- Above READ COMMITTED: another caller has looked since the snapshot.
    WHEN serialization_failure THEN
        RETURN false;
    WHEN OTHERS THEN
        RETURN true;
END $$;
COMMENT ON FUNCTION larder_data.look IS
    'Whether there is work of a kind: a kind of maintenance, schedule, webhook, or origins, holds that have ended.';

-- Exactly what a worker asks before it ends, but for a batch that ended: of a queue what is due within 30 s keeps it.
CREATE FUNCTION larder_data.may_end(queue text, only_batch text) RETURNS boolean
LANGUAGE plpgsql AS $$
BEGIN
    IF only_batch IS NOT NULL AND EXISTS (
        SELECT FROM larder_data.ledger l WHERE l.batch_id = larder_data.find_batch(only_batch) AND l.open = 0) THEN
        RETURN true;
    END IF;
    RETURN (
        SELECT NOT r.has_ready AND NOT r.has_running
            AND (r.next_due_ms IS NULL OR only_batch IS NULL AND r.next_due_ms > 30000)
        FROM larder.remaining(only_batch, queue) r);
END $$;
COMMENT ON FUNCTION larder_data.may_end IS
    'Whether a queue has nothing left that is due within 30 s, or a batch is finished or has nothing left that may '
    'run.';

CREATE FUNCTION larder_data.due_while_idle(handles text[], queue text, only_batch text) RETURNS text[]
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    taken text[] := larder_data.take_looks(handles);
    kind text;
    due text[] := '{}'::text[];
BEGIN
    FOREACH kind IN ARRAY coalesce(handles, '{}'::text[]) LOOP
        IF kind = 'end' AND larder_data.may_end(queue, only_batch)
            -- Each idle worker reads a new hold: one of them may have had a success since.
            OR kind = 'origins' AND EXISTS (
                SELECT FROM larder_data.origin_hold h
                WHERE h.reason = 'breaker' AND h.since > clock_timestamp() - interval '1 min')
            OR kind = ANY (taken) AND larder_data.look(kind) THEN
            due := due || kind;
        END IF;
    END LOOP;
    RETURN due;
END $$;
COMMENT ON FUNCTION larder_data.due_while_idle IS 'Which of these kinds of work there are for a worker without jobs.';

CREATE FUNCTION larder.claim_idle_v1(
    worker bigint, claim_no bigint, max_jobs int, queue text DEFAULT 'default', again boolean DEFAULT false,
    only_batch text DEFAULT NULL, oldest_claim bigint DEFAULT 0, handles text[] DEFAULT '{urgent,routine}'
) RETURNS TABLE (
    job_id bigint, attempt int, max_attempts int, url text, pipeline_id int, options bigint, context json,
    priority int, origin text, batch_id bigint, blocked boolean, due text[], lease_ms int
)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    extended record;
BEGIN
    RETURN QUERY SELECT c.*, NULL::text[], NULL::int FROM larder.claim_v1(
        worker, claim_no, max_jobs, claim_idle_v1.queue, again, only_batch) c;
    IF FOUND THEN
        RETURN;
    END IF;
    due := larder_data.due_while_idle(handles, claim_idle_v1.queue, only_batch);
    -- Last, because a heartbeat locks the row of the worker.
    IF (SELECT w.heartbeat_at NOT BETWEEN clock_timestamp() - interval '2 s' AND clock_timestamp()
        FROM larder_data.worker w WHERE w.id = worker ORDER BY w.number DESC LIMIT 1) THEN
        SELECT * INTO extended FROM larder.heartbeat_v1(worker, oldest_claim);
        IF extended.lease_expired THEN
            RAISE EXCEPTION 'the lease of worker % has expired', worker USING ERRCODE = 'LA005';
        END IF;
        lease_ms := extended.lease_ms;
    END IF;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION larder.claim_idle_v1 IS
    'For a worker that holds no job, about once a second: claims as claim_v1. Without a job one row, of which only due '
    'and lease_ms are set. due: which of the kinds of work in `handles` there are for this worker: urgent, routine '
    '(call larder.maintain() for it), owner, schedule (run_schedule_v1), webhook (take_webhook_v1), origins '
    '(origin_holds_v1), end (the queue, or only_batch, has nothing left that it is to wait for). lease_ms: the lease '
    'from now on; NULL where it was not extended, because the last heartbeat is at most 2 s old.';
