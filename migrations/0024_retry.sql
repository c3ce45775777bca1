-- Retry, discard and reprioritize; one job: cancel, retry, status.
--
-- A retry makes a new job from the record of a failure. The record stays and refers to the job by retried_as.

CREATE FUNCTION larder_data.failures_of(
    b larder_data.batch, portion int, only_job bigint, only_domain text, only_code int
) RETURNS TABLE (
    at timestamptz, record bigint, item bigint, items int, blocked int, url text, pipeline_id int, options bigint,
    context json, meta json, priority smallint, origin_id int, max_attempts smallint, retry_base_ms int, domain text,
    code int
)
LANGUAGE plpgsql
SET enable_nestloop = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH blocked AS MATERIALIZED (
        SELECT i.* FROM larder_data.item_history i
        WHERE i.batch_id = b.id AND i.outcome = 2 AND i.retried_as IS NULL AND i.discarded_at IS NULL
          AND i.reason = 'blocked' AND i.pipeline_id IS NOT NULL AND only_job IS NULL
          AND (only_domain IS NULL OR i.domain = only_domain) AND (only_code IS NULL OR i.code = only_code)
        LIMIT portion
    ), validated AS MATERIALIZED (
        SELECT g.ids, v.origins
        FROM (SELECT array_agg(x.id) AS ids, array_agg(x.url) AS urls FROM blocked x) AS g,
            LATERAL larder_data.validate(g.urls) AS v
    )
    (SELECT h.finished_at, h.job_id, NULL::bigint, h.items, 0, h.url, h.pipeline_id, h.options, h.context, h.meta,
        h.priority, h.origin_id, h.max_attempts, h.retry_base_ms, h.domain, h.code
     FROM larder_data.job_history h
     WHERE h.batch_id = b.id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL AND h.items > 0
       AND (only_job IS NULL OR h.job_id = only_job)
       AND (only_domain IS NULL OR h.domain = only_domain) AND (only_code IS NULL OR h.code = only_code)
     LIMIT portion)
    UNION ALL
    -- Items that joined a job of another batch: both records have the time of one transaction.
    (SELECT i.finished_at, i.job_id, i.id, i.items, 0, h.url, h.pipeline_id, h.options, h.context, i.meta,
        h.priority, h.origin_id, h.max_attempts, h.retry_base_ms, i.domain, i.code
     FROM larder_data.item_history i, LATERAL (
        SELECT x.* FROM larder_data.job_history x
        WHERE x.finished_at = i.finished_at AND x.job_id = i.job_id LIMIT 1) AS h
     WHERE i.batch_id = b.id AND i.outcome = 2 AND i.retried_as IS NULL AND i.discarded_at IS NULL
       AND i.reason = 'joined' AND only_job IS NULL AND (only_domain IS NULL OR i.domain = only_domain)
       AND (only_code IS NULL OR i.code = only_code) LIMIT portion)
    UNION ALL
    (SELECT x.finished_at, NULL, x.id, x.items, x.items, x.url, x.pipeline_id, 0, NULL, x.meta,
        coalesce(b.priority, 4::smallint), o.id, NULL, NULL, x.domain, x.code
     FROM validated v, unnest(v.ids, v.origins) AS u (id, origin), blocked x, LATERAL (
        SELECT y.id FROM larder_data.origin y WHERE y.name = u.origin OFFSET 0) AS o
     WHERE x.id = u.id)
    LIMIT portion;
END $$;
COMMENT ON FUNCTION larder_data.failures_of IS
    'The failed items of a batch that can be retried, or of one job or error: item is NULL in the record of a job.';

-- Planned in each call: a plan made while a partition was empty would search it by the batch alone.
CREATE FUNCTION larder_data.mark_retried(
    batch bigint, ats timestamptz[], records bigint[], item_ids bigint[], jobs bigint[]
) RETURNS void
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    UPDATE larder_data.job_history h SET retried_as = m.job
    FROM unnest(ats, records, item_ids, jobs) AS m (at, record, item, job)
    WHERE m.item IS NULL AND h.finished_at = m.at AND h.batch_id = batch AND h.job_id = m.record;
    UPDATE larder_data.item_history h SET retried_as = m.job FROM unnest(ats, item_ids, jobs) AS m (at, item, job)
    WHERE h.finished_at = m.at AND h.batch_id = batch AND h.id = m.item;
END $$;
COMMENT ON FUNCTION larder_data.mark_retried IS 'Writes into records of failures which job retries their items.';

-- The caller holds the lock on the batch, so nothing else retries, discards or finishes it.
CREATE FUNCTION larder_data.retry_failures(
    b larder_data.batch, portion int, only_job bigint, only_domain text, only_code int, OUT items bigint, OUT job bigint
)
LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    ats timestamptz[];
    records bigint[];
    item_ids bigint[];
    jobs bigint[];
    joined bigint[];
    created bigint[];
    blocked bigint;
BEGIN
    WITH keyed AS MATERIALIZED (
        SELECT f.*, larder_data.job_key(f.url, f.pipeline_id) AS key
        FROM larder_data.failures_of(b, portion, only_job, only_domain, only_code) AS f
    ), distinct_jobs AS (
        SELECT DISTINCT ON (k.key) k.key, k.record, k.url, k.pipeline_id, k.options, k.context, k.meta, k.origin_id,
            sum(k.items) OVER same AS items, min(k.priority) OVER same AS priority,
            max(k.max_attempts) OVER same AS max_attempts, max(k.retry_base_ms) OVER same AS retry_base_ms
        FROM keyed k WINDOW same AS (PARTITION BY k.key) ORDER BY k.key, k.record
    ), numbered AS MATERIALIZED (
        SELECT nextval('larder_data.job_id') AS id, s.* FROM (SELECT * FROM distinct_jobs d ORDER BY d.record) AS s
    ), put AS (
        -- In the order of keys, as enqueue inserts: a new job, or a live job that takes over the items.
        INSERT INTO larder_data.job AS j (id, batch_id, options, pipeline_id, origin_id, items, retry_base_ms, queue_id,
            priority, max_attempts, key, url, context, meta)
        SELECT n.id, b.id, n.options | 1, n.pipeline_id, n.origin_id, n.items, n.retry_base_ms, b.queue_id, n.priority,
            coalesce(n.max_attempts, 4), n.key, n.url, n.context, n.meta
        FROM numbered n ORDER BY n.key
        ON CONFLICT (key) DO UPDATE SET
            items = j.items + CASE WHEN j.batch_id = excluded.batch_id THEN excluded.items ELSE 0 END,
            has_subscribers = j.has_subscribers OR j.batch_id <> excluded.batch_id, cancelled_at = NULL,
            priority = least(j.priority, excluded.priority), is_revived = j.is_revived OR j.cancelled_at IS NOT NULL
        RETURNING j.id, j.key, j.batch_id
    ), placed AS MATERIALIZED (
        SELECT p.id, p.key, p.batch_id, n.items, n.meta, p.id <> n.id AS is_joined
        FROM put p JOIN numbered n USING (key)
    ), subscribed AS (
        INSERT INTO larder_data.job_subscriber AS s (job_id, batch_id, items, meta)
        SELECT p.id, b.id, p.items, p.meta FROM placed p WHERE p.is_joined AND p.batch_id <> b.id
        ON CONFLICT ON CONSTRAINT job_subscriber_pkey DO UPDATE SET items = s.items + excluded.items
    ), uncounted AS (
        INSERT INTO larder_data.batch_detail_delta (batch_id, n, code, domain)
        SELECT b.id, -sum(k.items), k.code, k.domain FROM keyed k GROUP BY k.domain, k.code
    )
    SELECT array_agg(k.at), array_agg(k.record), array_agg(k.item), array_agg(p.id),
        array_agg(DISTINCT p.id) FILTER (WHERE p.is_joined), array_agg(DISTINCT p.id) FILTER (WHERE NOT p.is_joined),
        coalesce(sum(k.items), 0), sum(k.blocked), max(p.id)
    INTO ats, records, item_ids, jobs, joined, created, items, blocked, job FROM keyed k JOIN placed p USING (key);
    IF items > 0 THEN
        PERFORM larder_data.make_ready(created, larder_data.turns_ahead(b.id)),
            larder_data.mark_retried(b.id, ats, records, item_ids, jobs);
        PERFORM larder_data.promote_joined(joined, NULL) WHERE joined IS NOT NULL;
        INSERT INTO larder_data.batch_delta (batch_id, failed, blocked) VALUES (b.id, -items, -blocked);
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.retry_failures IS
    'Makes jobs of failures, or joins live ones; answers how many items were reopened, and the last job.';

CREATE FUNCTION larder_data.try_retry(
    b larder_data.batch, portion int, only_job bigint, only_domain text, only_code int, OUT items bigint, OUT job bigint
)
LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
BEGIN
    SELECT r.* INTO items, job FROM larder_data.retry_failures(b, portion, only_job, only_domain, only_code) AS r;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    -- An open transaction has inserted a job of one of the URLs, or has the live one locked.
    PERFORM larder_data.raise_locked(format('a job of batch "%s"', coalesce(b.name, b.id::text)), 'larder_data.job');
END $$;
COMMENT ON FUNCTION larder_data.try_retry IS 'As retry_failures; LA010 if another transaction has a job locked.';

-- The row of the batch changes also where the batch is not finished: a maintenance run above READ COMMITTED whose
-- snapshot does not show the reopened items then cannot lock it, and does not finish the batch. Not in the block of
-- try_retry: a row that is locked before a block with an exception handler and updated in it takes a multixact.
CREATE FUNCTION larder_data.reopen(
    b larder_data.batch, portion int, only_job bigint DEFAULT NULL, only_domain text DEFAULT NULL,
    only_code int DEFAULT NULL, OUT items bigint, OUT job bigint
)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT r.* INTO items, job FROM larder_data.try_retry(b, portion, only_job, only_domain, only_code) AS r;
    UPDATE larder_data.batch x SET finished_at = NULL WHERE x.id = b.id AND items > 0;
END $$;
COMMENT ON FUNCTION larder_data.reopen IS 'As try_retry; the batch is not finished then.';

CREATE FUNCTION larder.batch_retry_failed(batch text, domain text DEFAULT NULL, code int DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (larder_data.reopen(larder_data.lock_batch(batch, '{cancelled}'), 10000, NULL, domain, code)).items;
END $$;
COMMENT ON FUNCTION larder.batch_retry_failed IS
    'Reopens the failed items of a batch, blocked ones included, at most 10,000 records a call: repeat until it '
    'answers 0. They get new jobs, with RetryFailed and unused attempts. domain, code: only those that failed so. '
    'Answers how many items.';

CREATE FUNCTION larder.batch_discard_failed(batch text, portion int DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b larder_data.batch := larder_data.lock_batch(batch);
    discarded bigint;
    last_job bigint;
    last_item bigint;
BEGIN
    -- A portion is everything up to an id, in the order of the partitions' indexes. Records without items, of jobs
    -- that ran for other batches only, are included: a portion of nothing else would look like the end.
    SELECT max(x.job_id) INTO last_job FROM (
        SELECT h.job_id FROM larder_data.job_history h
        WHERE h.batch_id = b.id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL AND h.items > 0
        ORDER BY h.job_id LIMIT portion) AS x;
    SELECT max(x.id) INTO last_item FROM (
        SELECT h.id FROM larder_data.item_history h
        WHERE h.batch_id = b.id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL AND h.items > 0
        ORDER BY h.id LIMIT portion) AS x;
    WITH of_jobs AS (
        UPDATE larder_data.job_history h SET discarded_at = now()
        WHERE h.batch_id = b.id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL
          AND h.job_id <= last_job
        RETURNING h.items
    ), of_items AS (
        UPDATE larder_data.item_history h SET discarded_at = now()
        WHERE h.batch_id = b.id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL
          AND h.id <= last_item
        RETURNING h.items
    )
    SELECT coalesce(sum(x.items), 0) INTO discarded FROM (TABLE of_jobs UNION ALL TABLE of_items) AS x;
    RETURN discarded;
END $$;
COMMENT ON FUNCTION larder.batch_discard_failed IS
    'Discards the failures of a batch, at most `portion` records of jobs and of items a call: repeat until it answers '
    '0. They still count, but are neither in larder.failed and reports nor retried. Answers how many items.';

CREATE FUNCTION larder.batch_reprioritize(batch text, priority int, portion int DEFAULT 100000) RETURNS bigint
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    b larder_data.batch;
    wanted smallint;
    locked bigint[];
BEGIN
    IF coalesce(batch_reprioritize.priority NOT BETWEEN 0 AND 9, true) THEN
        RAISE EXCEPTION 'a priority is 0 to 9, not %', coalesce(batch_reprioritize.priority::text, 'NULL')
            USING ERRCODE = '22023';
    END IF;
    wanted := batch_reprioritize.priority;
    b := larder_data.lock_batch(batch, '{cancelled,finished}');
    UPDATE larder_data.batch x SET priority = wanted
    WHERE x.id = b.id AND x.daily IS NULL AND x.priority IS DISTINCT FROM wanted;
    -- A job that another batch has too is only raised.
    locked := ARRAY(
        SELECT own.id FROM (
            SELECT j.id FROM larder_data.job j
            WHERE j.batch_id = b.id AND j.items > 0 AND (j.priority > wanted OR j.priority < wanted AND NOT EXISTS (
                SELECT FROM larder_data.job_subscriber s WHERE s.job_id = j.id)) FOR UPDATE SKIP LOCKED) AS own
        UNION ALL
        SELECT j.id FROM larder_data.job_subscriber s, LATERAL (
            SELECT x.id FROM larder_data.job x
            WHERE x.id = s.job_id AND x.priority > wanted FOR UPDATE SKIP LOCKED) AS j
        WHERE s.batch_id = b.id
        LIMIT portion);
    UPDATE larder_data.job j SET priority = wanted WHERE j.id = ANY (locked);
    PERFORM larder_data.make_ready(larder_data.take_from_state(locked, '{ready}'));
    RETURN cardinality(locked);
END $$;
COMMENT ON FUNCTION larder.batch_reprioritize IS
    'Sets the priority of a batch and its jobs, 0 first to 9, at most `portion` jobs a call: repeat until it answers '
    '0. Jobs that another batch has are only raised. Answers how many jobs.';

-- One job.

CREATE FUNCTION larder.cancel(job bigint) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
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
    'Cancels a job for every batch. cancelled: it was not running, its items are finished. requested: it is running; '
    'the next heartbeat informs its worker, and the items finish when the job completes, is released or is rescued. '
    'completed: it had ended before.';

CREATE FUNCTION larder.retry(job bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    state text;
    ended larder_data.job_history;
BEGIN
    IF larder_data.lock_job(retry.job) THEN
        state := larder_data.lock_state(retry.job);
        IF state = 'cancelled' THEN
            RAISE EXCEPTION 'job % is cancelled', retry.job USING ERRCODE = 'LA007';
        ELSIF state IN ('scheduled', 'crashed') THEN
            UPDATE larder_data.job j
            SET rescues = CASE state WHEN 'crashed' THEN 0 ELSE j.rescues END, cancelled_at = NULL, is_revived = false
            WHERE j.id = retry.job AND (state = 'crashed' OR j.cancelled_at IS NOT NULL OR j.is_revived);
            PERFORM larder_data.make_ready(larder_data.take_from_state(ARRAY[retry.job], '{scheduled,suspended}'));
        END IF;
        RETURN retry.job;
    END IF;
    SELECT * INTO ended FROM larder_data.job_history h WHERE h.job_id = retry.job;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no job has the id %', retry.job USING ERRCODE = 'LA007';
    ELSIF ended.outcome <> 2 OR ended.discarded_at IS NOT NULL OR ended.items = 0 THEN
        RAISE EXCEPTION 'job % %', retry.job, CASE
            WHEN ended.outcome = 1 THEN 'succeeded' WHEN ended.outcome = 3 THEN 'was cancelled'
            WHEN ended.discarded_at IS NOT NULL THEN 'failed and was discarded'
            ELSE 'failed after its batch was cancelled' END USING ERRCODE = 'LA007';
    ELSIF ended.retried_as IS NOT NULL THEN
        RETURN larder.retry(ended.retried_as);
    END IF;
    -- No record is left if another call retried the job while this one waited for the batch.
    RETURN coalesce(
        (larder_data.reopen(larder_data.lock_batch(ended.batch_id::text, '{cancelled}'), 1, retry.job)).job,
        larder.retry(retry.job));
END $$;
COMMENT ON FUNCTION larder.retry IS
    'Retries a job and answers its id: a scheduled one, or one suspended as crashed, is ready at once; a failed one '
    'becomes a new job. A ready or running one does not change.';

CREATE FUNCTION larder.job_status(job_id bigint) RETURNS TABLE (
    job bigint, state text, reason text, outcome text, url text, batch_id bigint, batch text, pipeline text,
    version int, priority int, items int, attempt int, max_attempts int, rescues int, due timestamptz, worker bigint,
    worker_name text, created_at timestamptz, claimed_at timestamptz, finished_at timestamptz,
    cancelled_at timestamptz, retried_as bigint, domain text, code int, message text
)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT j.id, s.state, s.reason, NULL, j.url, j.batch_id, b.name, p.name, p.version, j.priority::int, j.items,
        j.attempt + (s.state = 'running')::int, j.max_attempts::int, j.rescues::int, s.due, s.worker, w.name,
        j.created_at, s.claimed_at, NULL::timestamptz, j.cancelled_at, NULL::bigint, j.last_domain, j.last_code,
        j.last_message
    FROM larder_data.job j
    JOIN larder_data.batch b ON b.id = j.batch_id JOIN larder_data.pipeline p ON p.id = j.pipeline_id
    CROSS JOIN LATERAL (
        SELECT 'scheduled' AS state, NULL AS reason, x.run_at AS due, NULL::bigint AS worker,
            NULL::timestamptz AS claimed_at
        FROM larder_data.scheduled x WHERE x.job_id = j.id
        UNION ALL SELECT 'suspended', x.reason, NULL, NULL, NULL FROM larder_data.suspended x WHERE x.job_id = j.id
        UNION ALL SELECT 'running', NULL, NULL, x.worker_id, x.claimed_at
        FROM larder_data.running x WHERE x.job_id = j.id
        UNION ALL SELECT 'ready', NULL, NULL, NULL, NULL FROM generate_series(0, 9) AS any_priority (p), LATERAL (
            SELECT FROM larder_data.ready x
            WHERE x.queue_id = j.queue_id AND x.priority = any_priority.p AND x.job_id = j.id OFFSET 0) AS r
        LIMIT 1) AS s
    LEFT JOIN larder_data.current_worker w ON w.id = s.worker
    WHERE j.id = job_status.job_id;
    IF FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT h.job_id, 'completed', NULL, (ARRAY['succeeded', 'failed', 'cancelled'])[h.outcome], h.url, h.batch_id,
        b.name, p.name, p.version, h.priority::int, h.items, h.attempt::int, NULL::int, h.rescues::int,
        NULL::timestamptz, h.worker_id, w.name, h.created_at, h.created_at + h.queue_ms * interval '1 ms',
        h.finished_at, NULL::timestamptz, h.retried_as, h.domain, h.code, h.message
    FROM larder_data.job_history h
    LEFT JOIN larder_data.batch b ON b.id = h.batch_id LEFT JOIN larder_data.pipeline p ON p.id = h.pipeline_id
    LEFT JOIN larder_data.current_worker w ON w.id = h.worker_id
    WHERE h.job_id = job_status.job_id LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no job has the id %', job_id USING ERRCODE = 'LA007';
    END IF;
END $$;
COMMENT ON FUNCTION larder.job_status IS
    'The state of a job: ready, scheduled, running, suspended (reason: paused, cancelled, crashed) or completed '
    '(outcome: succeeded, failed, cancelled). attempt: the running one, else the attempts used. The error is of the '
    'last attempt.';
