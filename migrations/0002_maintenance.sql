-- Maintenance, without a leader: any number of sessions call larder.maintain(). A task is a row and a function
-- larder_data.maintenance_TASK, which is in its subject's file. The first caller that locks a due task's row in
-- larder_data.task runs it; the others skip it, and the lock ends with the transaction. Each run handles a bounded
-- number of rows and skips rows that others hold.
--
-- Kinds of tasks. urgent: other work waits for them, so callers run them in separate statements, never behind routine
-- ones. routine: all others. owner: statements that cannot run in a function, see larder_data.owner_statements(). call:
-- how often a heartbeat tells one worker of the fleet that maintenance is due.

CREATE TABLE larder_data.task (
    task text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('urgent', 'routine', 'owner', 'call')),
    place int NOT NULL UNIQUE,
    every interval NOT NULL,
    purpose text NOT NULL
);
COMMENT ON TABLE larder_data.task IS
    'The maintenance tasks, never updated. place: the order. purpose: for larder.health.';
INSERT INTO larder_data.task (task, kind, place, every, purpose) VALUES
    ('rescue', 'urgent', 1, '400 ms', 'running the jobs of lost workers again'),
    ('promote', 'urgent', 2, '200 ms', 'starting retries and scheduled jobs'),
    ('claims', 'urgent', 3, '10 s', 'keeping claims fast'),
    ('counts', 'routine', 4, '10 s', 'adding up counts'),
    ('finish', 'routine', 5, '1 s', 'finishing batches'),
    ('cancelled', 'routine', 6, '1 s', 'ending cancelled jobs'),
    ('resumed', 'routine', 7, '1 s', 'restarting resumed jobs'),
    ('partitions', 'routine', 8, '1 h', 'creating the tables of the next days'),
    ('purge', 'routine', 9, '10 min', 'removing old rows'),
    ('retention', 'routine', 10, '1 h', 'removing old history'),
    ('deleted', 'routine', 11, '10 s', 'removing deleted batches'),
    ('vacuum', 'owner', 12, '25 s', 'vacuum'),
    ('items', 'urgent', 13, '5 s', 'counting items that joined other jobs'),
    ('holds', 'urgent', 14, '30 s', 'moving aside the jobs of held origins and paused batches'),
    ('forgotten', 'urgent', 15, '1 min', 'running jobs again whose completion the server lost'),
    ('workers', 'routine', 16, '5 s', 'counting workers'),
    ('days', 'routine', 18, '1 h', 'opening the default batches of the next day'),
    ('call', 'call', 17, '200 ms', 'telling a worker that maintenance is due');

CREATE TABLE larder_data.maintenance (
    task text NOT NULL,
    number bigint NOT NULL DEFAULT 0,
    next_at timestamptz NOT NULL DEFAULT '-infinity',
    was_due_at timestamptz NOT NULL DEFAULT '-infinity',
    cursor bigint NOT NULL DEFAULT 0,
    failed_at timestamptz,
    last_error text,
    PRIMARY KEY (task, number)
);
COMMENT ON TABLE larder_data.maintenance IS
    'The state of the tasks, one row each. number: increases with each update, see schema.sql. was_due_at: next_at '
    'before it was set last, soon after the run before this one. cursor: where a task that works in portions '
    'continues; for promote the second before which no job is left. failed_at, last_error: set while a task fails.';
INSERT INTO larder_data.maintenance (task) SELECT t.task FROM larder_data.task t;

CREATE VIEW larder_data.current_task AS
SELECT t.*, m.number, m.next_at, m.was_due_at, m.cursor, m.failed_at, m.last_error,
    -- Also if the next run lies more than a period ahead: the clock was set back.
    m.next_at NOT BETWEEN clock_timestamp() AND clock_timestamp() + t.every + interval '1 s' AS is_due
FROM larder_data.task t, LATERAL (
    SELECT * FROM larder_data.maintenance x WHERE x.task = t.task ORDER BY x.number DESC LIMIT 1) AS m;

-- Locks a task that is due, or any with force, and sets when it is next due; false if another caller is running it.
CREATE FUNCTION larder_data.take_task(task text, force boolean DEFAULT false) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    IF NOT force AND NOT (SELECT t.is_due FROM larder_data.current_task t WHERE t.task = take_task.task) THEN
        RETURN false;
    END IF;
    PERFORM FROM larder_data.task t WHERE t.task = take_task.task FOR UPDATE SKIP LOCKED;
    -- Check again: another caller may have run it before the lock.
    IF NOT FOUND
        OR NOT force AND NOT (SELECT t.is_due FROM larder_data.current_task t WHERE t.task = take_task.task) THEN
        RETURN false;
    END IF;
    PERFORM larder_data.change_task(task, clock_timestamp() + (
        SELECT t.every FROM larder_data.task t WHERE t.task = take_task.task));
    RETURN true;
END $$;

CREATE FUNCTION larder_data.change_task(task text, next_at timestamptz, cursor bigint DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    UPDATE larder_data.maintenance m
    SET number = m.number + 1, next_at = coalesce(change_task.next_at, m.next_at),
        was_due_at = CASE WHEN change_task.next_at IS NULL THEN m.was_due_at ELSE m.next_at END,
        cursor = coalesce(change_task.cursor, m.cursor)
    WHERE m.task = change_task.task AND m.number = (
        SELECT x.number FROM larder_data.maintenance x
        WHERE x.task = change_task.task ORDER BY x.number DESC LIMIT 1);
END $$;

-- Adaptive pace for a task that may read many dead rows: due again after 50 times its run time, no sooner than
-- `shortest` and no later than after its period.
CREATE FUNCTION larder_data.reschedule(
    task text, began_at timestamptz, shortest interval, times int DEFAULT 50
) RETURNS void
LANGUAGE sql AS $$
    SELECT larder_data.change_task(task, clock_timestamp() + least(
        greatest(times * (clock_timestamp() - began_at), shortest),
        (SELECT t.every FROM larder_data.task t WHERE t.task = reschedule.task)))
$$;

-- Called by heartbeats. A turn that is a second late is locked by an open transaction: every caller gets it.
CREATE FUNCTION larder_data.take_call() RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    due timestamptz;
BEGIN
    SELECT m.next_at INTO due FROM larder_data.maintenance m WHERE m.task = 'call' ORDER BY m.number DESC LIMIT 1;
    IF due BETWEEN clock_timestamp() AND clock_timestamp() + interval '2 s' THEN
        RETURN false;
    END IF;
    RETURN larder_data.take_task('call') OR due < clock_timestamp() - interval '1 s';
END $$;

-- Tasks must find rows by their keys, whatever the statistics say.
CREATE FUNCTION larder_data.run_task(task text) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    moved int;
BEGIN
    EXECUTE format('SELECT larder_data.%I()', 'maintenance_' || task) INTO moved;
    RETURN moved;
END $$;

-- Each task fails alone: its error is recorded and returned, and the task runs again when next due. No task waits
-- longer than lock_timeout for a lock. A call's changes are visible, and its task locks end, when the whole call ends,
-- so urgent tasks come last in a call for all.
CREATE FUNCTION larder.maintain(force boolean DEFAULT false, kind text DEFAULT NULL)
RETURNS TABLE (task text, moved int, error text, error_code text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET lock_timeout = '2s' AS $$
#variable_conflict use_column
BEGIN
    PERFORM larder_data.require_read_committed();
    PERFORM larder_data.refuse(format('the kind is urgent or routine, not "%s"', maintain.kind))
    WHERE maintain.kind NOT IN ('urgent', 'routine');
    -- In one query, because most calls of a large fleet find nothing due: trying each task costs three times as much.
    FOREACH task IN ARRAY ARRAY(
        SELECT t.task FROM larder_data.current_task t
        WHERE t.kind IN ('urgent', 'routine') AND t.kind = coalesce(maintain.kind, t.kind) AND (force OR t.is_due)
        ORDER BY t.kind = 'urgent', t.place)
    LOOP
        -- Lock one by one, so that no task is held before its turn.
        CONTINUE WHEN NOT larder_data.take_task(task, force);
        error := NULL;
        error_code := NULL;
        BEGIN
            moved := larder_data.run_task(task);
        EXCEPTION WHEN OTHERS OR query_canceled THEN
            GET STACKED DIAGNOSTICS error = MESSAGE_TEXT, error_code = RETURNED_SQLSTATE;
            moved := NULL;
        END;
        UPDATE larder_data.maintenance m
        SET number = m.number + 1, failed_at = CASE WHEN error IS NOT NULL THEN clock_timestamp() END,
            last_error = left(error_code || ': ' || error, 2000)
        WHERE m.task = maintain.task AND m.number = (
            SELECT t.number FROM larder_data.current_task t
            WHERE t.task = maintain.task AND (error IS NOT NULL OR t.failed_at IS NOT NULL));
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder.maintain IS
    'Runs the maintenance tasks that are due, see larder.maintenance; force: also those that are not. kind: urgent or '
    'routine; by default all. Any number of callers. A call is one transaction, so call it for the urgent tasks in a '
    'statement of its own. Answers per task how many rows it moved, or its error.';
