-- Queues: the table, pause and resume, settings, and the notification of waiting workers. Limits of running jobs and
-- rate are in limits.sql.

CREATE TABLE larder_data.queue (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    lifo boolean NOT NULL DEFAULT false,
    low_priority_every smallint NOT NULL DEFAULT 8 CHECK (low_priority_every >= 0),
    job_timeout interval NOT NULL DEFAULT '10 min' CHECK (job_timeout BETWEEN '1 s' AND '30 days'),
    paused_at timestamptz,
    paused_by text,
    max_running int CHECK (max_running > 0),
    max_rate double precision CHECK (max_rate > 0 AND max_rate < 'Infinity'),
    keep_history interval CHECK (keep_history BETWEEN '1 hour' AND '10 years')
);
COMMENT ON TABLE larder_data.queue IS
    'The queues, see larder.queue_set() and larder.queue_limit(). keep_history NULL: as settings.keep_history.';
INSERT INTO larder_data.queue (name) VALUES ('default');

CREATE FUNCTION larder_data.find_queue(queue text) RETURNS smallint
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id smallint;
BEGIN
    SELECT q.id INTO found_id FROM larder_data.queue q WHERE q.name = find_queue.queue;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown queue "%"', queue USING ERRCODE = 'LA006';
    END IF;
    RETURN found_id;
END $$;

CREATE FUNCTION larder_data.change_pause(queue text, is_paused boolean) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
BEGIN
    UPDATE larder_data.queue q SET paused_at = CASE WHEN is_paused THEN coalesce(q.paused_at, now()) END,
        paused_by = CASE WHEN is_paused THEN coalesce(q.paused_by, larder_data.caller()::text) END
    WHERE q.id = larder_data.find_queue(change_pause.queue);
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('queue "%s"', queue), 'larder_data.queue');
END $$;

CREATE FUNCTION larder.queue_pause(queue text) RETURNS void
LANGUAGE sql AS $$ SELECT larder_data.change_pause(queue, true) $$;
COMMENT ON FUNCTION larder.queue_pause IS
    'Pauses a queue: its jobs are not claimed; it still accepts URLs. Pausing a paused queue changes nothing.';

CREATE FUNCTION larder.queue_resume(queue text) RETURNS void
LANGUAGE sql AS $$ SELECT larder_data.change_pause(queue, false) $$;
COMMENT ON FUNCTION larder.queue_resume IS 'Resumes a paused queue.';

CREATE FUNCTION larder.queue_set(
    queue text, lifo boolean DEFAULT NULL, low_priority_every int DEFAULT NULL, job_timeout interval DEFAULT NULL,
    keep_history interval DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
#variable_conflict use_column
BEGIN
    PERFORM larder_data.check_name('a queue name', queue_set.queue);
    PERFORM larder_data.refuse(CASE
        WHEN low_priority_every NOT BETWEEN 0 AND 1000
            THEN 'low_priority_every is 0 to 1000, not ' || low_priority_every
        WHEN job_timeout NOT BETWEEN '1 s' AND '30 days' THEN 'job_timeout is 1 s to 30 days, not ' || job_timeout
        WHEN keep_history NOT BETWEEN '1 hour' AND '10 years'
            THEN 'keep_history is 1 hour to 10 years, not ' || keep_history END);
    -- Read first: ON CONFLICT alone would use one of the 32,767 ids in each call.
    INSERT INTO larder_data.queue (name) SELECT queue_set.queue
    WHERE NOT EXISTS (SELECT FROM larder_data.queue q WHERE q.name = queue_set.queue) ON CONFLICT (name) DO NOTHING;
    UPDATE larder_data.queue q
    SET lifo = coalesce(queue_set.lifo, q.lifo),
        low_priority_every = coalesce(queue_set.low_priority_every, q.low_priority_every),
        job_timeout = coalesce(queue_set.job_timeout, q.job_timeout),
        keep_history = coalesce(queue_set.keep_history, q.keep_history)
    WHERE q.name = queue_set.queue;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('queue "%s"', queue_set.queue), 'larder_data.queue');
END $$;
COMMENT ON FUNCTION larder.queue_set IS
    'Creates or changes a queue; NULL keeps a setting. lifo: newest first within a priority, default false. '
    'low_priority_every: every Nth claim starts with one of the lower priorities, each in turn, 0 to 1000, 0 never, '
    'default 8. job_timeout: how long a worker may hold a job, 1 s to 30 days, default 10 min. keep_history: after how '
    'long its finished batches are deleted, 1 hour to 10 years; at most settings.keep_history counts.';

CREATE FUNCTION larder.notify(queue text DEFAULT 'default') RETURNS void
LANGUAGE sql AS $$ SELECT pg_notify('larder', queue) $$;
COMMENT ON FUNCTION larder.notify IS 'Notifies the listeners on channel larder that a queue has ready jobs.';
