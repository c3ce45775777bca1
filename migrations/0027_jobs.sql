-- One job: cancel, retry, discard, change, status.
--
-- A producer may do so with its own batches' jobs; to cancel a job it must own all of the job's batches.

-- Fails unless the caller is an operator or has the rights of the owners of all batches of a job. An item's number is
-- not a job: its record has no job that could be retried.
CREATE FUNCTION larder_data.require_job(job bigint) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF larder_data.is_item(job) THEN
        RAISE EXCEPTION 'no job has the id %', job USING ERRCODE = 'LA007';
    ELSIF larder_data.is_operator() THEN
        RETURN;
    END IF;
    PERFORM FROM (
        SELECT j.batch_id FROM larder_data.job j WHERE j.id = require_job.job
        UNION ALL SELECT i.batch_id FROM larder_data.job_item i WHERE i.job_id = require_job.job
        UNION ALL SELECT h.batch_id FROM larder_data.job_history h WHERE h.job_id = require_job.job) AS w
    LEFT JOIN larder_data.batch b ON b.id = w.batch_id
    WHERE NOT larder_data.acts_as(b.owner);
    IF FOUND THEN
        RAISE EXCEPTION 'job % belongs to a batch of another role', job USING ERRCODE = '42501',
            HINT = 'a member of that role or of larder_admin may do this';
    END IF;
END $$;

CREATE FUNCTION larder.cancel(job bigint) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM larder_data.require_job(cancel.job);
    IF NOT larder_data.lock_job(cancel.job) THEN
        IF NOT EXISTS (SELECT FROM larder_data.job_history h WHERE h.job_id = cancel.job) THEN
            RAISE EXCEPTION 'no job has the id %', cancel.job USING ERRCODE = 'LA007';
        END IF;
        RETURN 'completed';
    ELSIF larder_data.lock_state(cancel.job) = 'running' THEN
        UPDATE larder_data.job j SET cancelled_at = now(), is_revived = false
        WHERE j.id = cancel.job AND j.cancelled_at IS NULL;
        RETURN 'requested';
    END IF;
    PERFORM larder_data.ensure_today(), larder_data.end_jobs(ARRAY[cancel.job]);
    RETURN 'cancelled';
END $$;
COMMENT ON FUNCTION larder.cancel IS
    'Cancels a job for every batch: cancelled, requested (it is running; the next heartbeat informs its worker) or '
    'completed (it had ended).';

CREATE FUNCTION larder.retry(job bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    wanted bigint := retry.job;
    ended larder_data.job_history;
    state text;
    fresh bigint;
BEGIN
    PERFORM larder_data.require_job(wanted);
    -- A failure retried before leads to its last job.
    LOOP
        IF larder_data.lock_job(wanted) THEN
            state := larder_data.lock_state(wanted);
            IF state IN ('scheduled', 'crashed') THEN
                UPDATE larder_data.job j SET rescues = CASE state WHEN 'crashed' THEN 0 ELSE j.rescues END,
                    cancelled_at = NULL, is_revived = false
                WHERE j.id = wanted AND (state = 'crashed' OR j.cancelled_at IS NOT NULL OR j.is_revived);
                PERFORM larder_data.make_ready(larder_data.take_from_state(ARRAY[wanted], '{scheduled,suspended}'));
            ELSIF state = 'cancelled' THEN
                RAISE EXCEPTION 'job % is cancelled', wanted
                    USING ERRCODE = 'LA007', HINT = 'enqueue its URL again';
            END IF;
            RETURN wanted;
        END IF;
        SELECT * INTO ended FROM larder_data.job_history h WHERE h.job_id = wanted;
        IF NOT FOUND THEN
            RAISE EXCEPTION 'no job has the id %', wanted USING ERRCODE = 'LA007';
        ELSIF ended.retried_as IS NOT NULL THEN
            wanted := ended.retried_as;
            CONTINUE;
        ELSIF ended.outcome <> 'failed' OR ended.discarded_at IS NOT NULL OR ended.items = 0 THEN
            RAISE EXCEPTION 'job % %', wanted, CASE
                WHEN ended.outcome = 'succeeded' THEN 'succeeded' WHEN ended.outcome = 'cancelled' THEN 'was cancelled'
                WHEN ended.discarded_at IS NOT NULL THEN 'failed and was discarded'
                ELSE 'failed after its batch was cancelled' END
                USING ERRCODE = 'LA007', HINT = 'enqueue its URL again';
        END IF;
        fresh := (larder_data.reopen(larder_data.lock_batch(ended.batch_id::text, '{cancelled}'), 1,
            (wanted, NULL, NULL, NULL, NULL, NULL)::larder_data.failure_filter)).job;
        -- None if another call retried the job while this one waited for the batch: look it up again.
        IF fresh IS NOT NULL THEN
            RETURN fresh;
        END IF;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder.retry IS
    'Retries a job and answers its id: a scheduled or crashed one is ready at once, a failed one becomes a new job; '
    'others do not change.';

CREATE FUNCTION larder.discard(job bigint) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    ended larder_data.job_history;
    b larder_data.batch;
BEGIN
    PERFORM larder_data.require_job(discard.job);
    SELECT * INTO ended FROM larder_data.job_history h WHERE h.job_id = discard.job;
    IF NOT FOUND OR ended.outcome <> 'failed' THEN
        RAISE EXCEPTION 'no job that failed has the id %', discard.job USING ERRCODE = 'LA007';
    END IF;
    -- So that no call retries it meanwhile.
    b := larder_data.lock_batch(ended.batch_id::text);
    UPDATE larder_data.job_history h SET discarded_at = now()
    WHERE h.finished_at = ended.finished_at AND h.job_id = discard.job AND h.batch_id = b.id
      AND h.retried_as IS NULL AND h.discarded_at IS NULL;
    RETURN CASE WHEN FOUND THEN ended.items ELSE 0 END;
END $$;
COMMENT ON FUNCTION larder.discard IS
    'Discards the failure of one job. Answers how many items, 0 if it was retried or discarded before.';

CREATE FUNCTION larder.job_change(job bigint, priority int DEFAULT NULL, at timestamptz DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    state text;
BEGIN
    PERFORM larder_data.refuse('a priority is 0 to 9, and at is finite')
    WHERE priority NOT BETWEEN 0 AND 9 OR NOT isfinite(at);
    PERFORM larder_data.require_job(job_change.job);
    IF NOT larder_data.lock_job(job_change.job) THEN
        RAISE EXCEPTION 'no live job has the id %', job_change.job USING ERRCODE = 'LA007';
    END IF;
    state := larder_data.lock_state(job_change.job);
    UPDATE larder_data.job j SET priority = job_change.priority
    WHERE j.id = job_change.job AND j.priority <> job_change.priority;
    IF state IN ('ready', 'scheduled') AND (job_change.at IS NOT NULL OR state = 'ready') THEN
        PERFORM larder_data.take_from_state(ARRAY[job_change.job], ARRAY[state]);
        IF job_change.at > clock_timestamp() THEN
            INSERT INTO larder_data.scheduled (run_at, job_id) VALUES (job_change.at, job_change.job);
            RETURN 'scheduled';
        END IF;
        PERFORM larder_data.make_ready(ARRAY[job_change.job]);
        RETURN 'ready';
    END IF;
    RETURN CASE WHEN state IN ('scheduled', 'running') THEN state ELSE 'suspended' END;
END $$;
COMMENT ON FUNCTION larder.job_change IS
    'Changes the priority of a live job, and the time before which it does not run; NULL keeps it. Answers its state.';

CREATE VIEW larder_data.job_state AS
SELECT s.job_id, 'scheduled' AS state, NULL AS reason, s.run_at AS due, NULL::bigint AS worker,
    NULL::timestamptz AS claimed_at FROM larder_data.scheduled s
UNION ALL SELECT s.job_id, 'suspended', s.reason, NULL, NULL, NULL FROM larder_data.suspended s
UNION ALL SELECT r.job_id, 'running', NULL, NULL, r.worker_id, r.claimed_at FROM larder_data.running r
UNION ALL SELECT r.job_id, 'ready', NULL, NULL, NULL, NULL FROM larder_data.ready r;

CREATE FUNCTION larder.job_status(job_id bigint) RETURNS TABLE (
    job bigint, state text, reason text, outcome text, url text, batch_id bigint, batch text, pipeline text,
    version int, priority int, items int, attempt int, max_attempts int, rescues int, due timestamptz, worker bigint,
    worker_name text, created_at timestamptz, claimed_at timestamptz, finished_at timestamptz,
    cancelled_at timestamptz, retried_as bigint, domain text, code int, message text, traceparent text
)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM larder_data.require_job(job_status.job_id)
    WHERE NOT larder_data.reads_all() OR larder_data.is_item(job_status.job_id);
    RETURN QUERY
    SELECT s.id, s.state, s.reason, s.outcome, s.url, s.batch_id, b.name, p.name, p.version, s.priority::int, s.items,
        s.attempt, s.max_attempts, s.rescues::int, s.due, s.worker, w.name, s.created_at, s.claimed_at, s.finished_at,
        s.cancelled_at, s.retried_as, s.domain, s.code, s.message, s.traceparent
    FROM (
        SELECT j.id, x.state, x.reason, NULL AS outcome, j.url, j.batch_id, j.pipeline_id, j.priority, j.items,
            j.attempt + (x.state = 'running')::int AS attempt, j.max_attempts::int, j.rescues, x.due, x.worker,
            j.created_at, x.claimed_at, NULL::timestamptz AS finished_at, j.cancelled_at, NULL::bigint AS retried_as,
            j.last_domain AS domain, j.last_code AS code, j.last_message AS message, j.traceparent
        FROM larder_data.job j JOIN larder_data.job_state x ON x.job_id = j.id
        WHERE j.id = job_status.job_id
        UNION ALL
        SELECT h.job_id, 'completed', NULL, h.outcome::text, h.url, h.batch_id, h.pipeline_id, h.priority, h.items,
            h.attempt, NULL, h.rescues, NULL, h.worker_id, h.created_at,
            h.created_at + h.queue_ms * interval '1 ms', h.finished_at, NULL, h.retried_as, h.domain, h.code, h.message,
            h.traceparent
        FROM larder_data.job_history h WHERE h.job_id = job_status.job_id
        LIMIT 1) AS s
    LEFT JOIN larder_data.batch b ON b.id = s.batch_id LEFT JOIN larder_data.pipeline p ON p.id = s.pipeline_id
    LEFT JOIN larder_data.current_worker w ON w.id = s.worker;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no job has the id %', job_id USING ERRCODE = 'LA007';
    END IF;
END $$;
COMMENT ON FUNCTION larder.job_status IS
    'The state of a job: ready, scheduled, running, suspended (reason: paused, cancelled, crashed) or completed '
    '(outcome: succeeded, failed, cancelled), with the error of its last attempt.';
