-- Maintenance, without a leader: any number of sessions call larder.maintain(). A task that is due is run by the
-- first caller that locks its row of larder_data.maintenance; the others skip it, and the lock ends with the
-- transaction. Each task handles a bounded number of rows and skips rows that others hold.
--
-- Kinds of tasks. urgent: other work waits for them, so callers run them in statements of their own, never behind
-- routine ones. routine: all others. owner: statements that cannot run in a function, see
-- larder_data.owner_statements().
--
-- A task is a row and a function larder_data.maintenance_TASK, which is in the file of its subject.

CREATE TABLE larder_data.maintenance (
    task text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('urgent', 'routine', 'owner')),
    place int NOT NULL UNIQUE,
    every interval NOT NULL,
    next_at timestamptz NOT NULL DEFAULT '-infinity',
    cursor bigint NOT NULL DEFAULT 0,
    failed_at timestamptz,
    last_error text
);
COMMENT ON TABLE larder_data.maintenance IS
    'The maintenance tasks. The caller of maintain() that locks a row runs the task. place: the order. cursor: where a '
    'task that works in portions continues; for promote the second before which no job is left. failed_at, last_error: '
    'set while a task fails.';
INSERT INTO larder_data.maintenance (task, kind, place, every) VALUES
    ('rescue', 'urgent', 1, '1 s'), ('promote', 'urgent', 2, '200 ms'), ('claims', 'urgent', 3, '1 s'),
    ('counts', 'routine', 4, '1 s'), ('finish', 'routine', 5, '1 s'), ('cancelled', 'routine', 6, '1 s'),
    ('resumed', 'routine', 7, '1 s'), ('partitions', 'routine', 8, '1 h'), ('purge', 'routine', 9, '10 min'),
    ('retention', 'routine', 10, '1 h'), ('deleted', 'routine', 11, '10 s'), ('vacuum', 'owner', 12, '25 s'),
    ('joins', 'urgent', 13, '5 s');

CREATE FUNCTION larder_data.run_again(task text, is_due boolean, delay interval DEFAULT '0 s') RETURNS void
LANGUAGE sql AS $$
    UPDATE larder_data.maintenance m SET next_at = clock_timestamp() + delay WHERE m.task = run_again.task AND is_due
$$;
COMMENT ON FUNCTION larder_data.run_again IS 'Makes a task due before its period ends, because it left rows over.';

CREATE FUNCTION larder_data.rest(task text, began_at timestamptz, shortest interval) RETURNS void
LANGUAGE sql AS $$
    SELECT larder_data.run_again(task, true, least(
        greatest(20 * (clock_timestamp() - began_at), shortest),
        (SELECT m.every FROM larder_data.maintenance m WHERE m.task = rest.task)))
$$;
COMMENT ON FUNCTION larder_data.rest IS
    'For a task that reads dead rows: makes it due after 20 times as long as it ran, but no sooner than `shortest` and '
    'no later than after its period.';

-- Each task fails alone: its error is recorded and answered, and the task runs again when it is next due. No task
-- waits longer than lock_timeout for a lock. Also due is a task whose next run lies more than a period ahead: the
-- clock was set back. What a call did is visible when the whole call has ended, and its locks on tasks last as long,
-- so urgent tasks come last in a call for all.
CREATE FUNCTION larder.maintain(force boolean DEFAULT false, kind text DEFAULT NULL)
RETURNS TABLE (task text, moved int, error text, error_code text)
LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
#variable_conflict use_column
DECLARE
    has_failed boolean;
BEGIN
    IF maintain.kind NOT IN ('urgent', 'routine') THEN
        RAISE EXCEPTION 'the kind is urgent or routine, not "%"', maintain.kind USING ERRCODE = '22023';
    END IF;
    FOR task IN
        SELECT m.task FROM larder_data.maintenance m
        WHERE m.kind <> 'owner' AND m.kind = coalesce(maintain.kind, m.kind)
        ORDER BY m.kind = 'urgent', m.place
    LOOP
        -- Locked one by one, so that no task is held before its turn.
        SELECT m.failed_at IS NOT NULL INTO has_failed FROM larder_data.maintenance m
        WHERE m.task = maintain.task AND (force OR m.next_at NOT BETWEEN clock_timestamp()
            AND clock_timestamp() + m.every + interval '1 s') FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        UPDATE larder_data.maintenance m SET next_at = clock_timestamp() + m.every WHERE m.task = maintain.task;
        moved := NULL;
        error := NULL;
        error_code := NULL;
        BEGIN
            EXECUTE format('SELECT larder_data.%I()', 'maintenance_' || task) INTO moved;
            UPDATE larder_data.maintenance m SET failed_at = NULL, last_error = NULL
            WHERE m.task = maintain.task AND has_failed;
        EXCEPTION
            -- Above READ COMMITTED: the task begins anew in the next call.
            WHEN serialization_failure THEN
                UPDATE larder_data.maintenance m SET next_at = clock_timestamp() WHERE m.task = maintain.task;
            WHEN OTHERS OR query_canceled THEN
                GET STACKED DIAGNOSTICS error = MESSAGE_TEXT, error_code = RETURNED_SQLSTATE;
                UPDATE larder_data.maintenance m
                SET failed_at = clock_timestamp(), last_error = left(error_code || ': ' || error, 2000)
                WHERE m.task = maintain.task;
        END;
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder.maintain IS
    'Runs the maintenance tasks that are due, see larder.maintenance; force: also those that are not. kind: urgent '
    '(rescue, promote, claims, joins) or routine (the others); by default all. Any number of callers. A call is one '
    'transaction, so call it for the urgent tasks in a statement of its own. Answers per task how many rows it moved, '
    'or its error.';
