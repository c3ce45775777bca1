-- Retry, discard and reprioritize: one portion of a batch per call. The procedures in bulk.sql repeat them until all is
-- done.
--
-- A retry makes a new job from a failure's record. The record stays and refers to the job by retried_as.

CREATE TYPE larder_data.failure_filter AS (
    job bigint, domain text, code int, origin text, url_like text, before timestamptz
);

CREATE FUNCTION larder_data.failures_of(b larder_data.batch, portion int, f larder_data.failure_filter)
RETURNS SETOF larder_data.job_history
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT h.* FROM larder_data.job_history h
    WHERE h.batch_id = b.id AND h.outcome = 'failed' AND h.retried_as IS NULL AND h.discarded_at IS NULL
      AND h.items > 0 AND h.reason IS DISTINCT FROM 'invalid' AND (f.job IS NULL OR h.job_id = f.job)
      AND (f.domain IS NULL OR h.domain = f.domain) AND (f.code IS NULL OR h.code = f.code)
      AND (f.origin IS NULL OR larder_data.origin_or_null(h.url) = f.origin)
      AND (f.url_like IS NULL OR h.url LIKE f.url_like) AND (f.before IS NULL OR h.finished_at < f.before)
    LIMIT portion;
END $$;

-- Planned in each call: a plan made while a partition was empty would search it by batch alone.
CREATE FUNCTION larder_data.mark_retried(batch bigint, ats timestamptz[], records bigint[], jobs bigint[]) RETURNS void
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    UPDATE larder_data.job_history h SET retried_as = m.job FROM unnest(ats, records, jobs) AS m (at, record, job)
    WHERE h.finished_at = m.at AND h.batch_id = batch AND h.job_id = m.record;
END $$;

-- Makes jobs from failures, or joins live ones; returns how many items were reopened, and the last job. The caller has
-- locked the batch, so nothing else retries, discards or finishes it.
CREATE FUNCTION larder_data.retry_failures(
    b larder_data.batch, portion int, f larder_data.failure_filter, OUT items bigint, OUT job bigint
)
LANGUAGE plpgsql SET lock_timeout = '500ms' SET enable_nestloop = off SET enable_seqscan = off
SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    ats timestamptz[];
    records bigint[];
    jobs bigint[];
    joined bigint[];
    created bigint[];
BEGIN
    WITH keyed AS MATERIALIZED (
        SELECT f.*, larder_data.job_key(f.url, f.pipeline_id) AS key
        FROM larder_data.failures_of(b, portion, retry_failures.f) AS f
    ), distinct_jobs AS (
        SELECT DISTINCT ON (k.key) k.key, k.job_id AS record, k.url, k.pipeline_id, k.options, k.context, k.meta,
            k.traceparent, k.origin_id, sum(k.items) OVER same AS items, min(k.priority) OVER same AS priority,
            max(k.max_attempts) OVER same AS max_attempts, max(k.retry_base_ms) OVER same AS retry_base_ms
        FROM keyed k WINDOW same AS (PARTITION BY k.key) ORDER BY k.key, k.job_id
    ), numbered AS MATERIALIZED (
        SELECT nextval('larder_data.job_id') AS id, s.* FROM (SELECT * FROM distinct_jobs d ORDER BY d.record) AS s
    ), put AS (
        -- In key order, as enqueue inserts: a new job, or a live job that takes over the items.
        INSERT INTO larder_data.job AS j (id, batch_id, options, pipeline_id, origin_id, items, retry_base_ms, queue_id,
            priority, max_attempts, key, url, context, meta, traceparent)
        SELECT n.id, b.id, n.options | 1, n.pipeline_id, n.origin_id, n.items, n.retry_base_ms, b.queue_id, n.priority,
            coalesce(n.max_attempts, 4), n.key, n.url, n.context, n.meta, n.traceparent
        FROM numbered n ORDER BY n.key
        ON CONFLICT (key) DO UPDATE SET cancelled_at = NULL, not_after = NULL,
            priority = least(j.priority, excluded.priority), is_revived = j.is_revived OR j.cancelled_at IS NOT NULL
        RETURNING j.id, j.key
    ), placed AS MATERIALIZED (
        SELECT p.id, p.key, n.items, n.meta, n.traceparent, n.priority, p.id <> n.id AS is_joined
        FROM put p JOIN numbered n USING (key)
    ), joined_items AS (
        INSERT INTO larder_data.job_item (job_id, batch_id, items, priority, is_new, meta, traceparent)
        SELECT p.id, b.id, p.items, p.priority, false, p.meta, p.traceparent FROM placed p WHERE p.is_joined
    ), uncounted AS (
        INSERT INTO larder_data.batch_delta (batch_id, failed, blocked, code, domain)
        SELECT b.id, -sum(k.items), -sum(k.items * (k.reason IS NOT DISTINCT FROM 'blocked')::int), k.code, k.domain
        FROM keyed k GROUP BY k.domain, k.code
    )
    SELECT array_agg(k.finished_at), array_agg(k.job_id), array_agg(p.id),
        array_agg(DISTINCT p.id) FILTER (WHERE p.is_joined), array_agg(DISTINCT p.id) FILTER (WHERE NOT p.is_joined),
        coalesce(sum(k.items), 0), max(p.id)
    INTO ats, records, jobs, joined, created, items, job FROM keyed k JOIN placed p USING (key);
    IF items > 0 THEN
        PERFORM larder_data.make_ready(created, larder_data.turns_ahead(b.id)),
            larder_data.mark_retried(b.id, ats, records, jobs);
        PERFORM larder_data.promote_joined(joined, NULL) WHERE joined IS NOT NULL;
    END IF;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    -- An open transaction has inserted a job of one of the URLs, or locked the live one.
    PERFORM larder_data.raise_locked(format('a job of batch "%s"', coalesce(b.name, b.id::text)), 'larder_data.job');
END $$;

-- Not in the block of retry_failures: a row that is locked before a block with an exception handler and updated in it
-- takes a multixact.
CREATE FUNCTION larder_data.reopen(
    b larder_data.batch, portion int, f larder_data.failure_filter, OUT items bigint, OUT job bigint
)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT r.* INTO items, job FROM larder_data.retry_failures(b, portion, f) AS r;
    UPDATE larder_data.batch x SET finished_at = NULL WHERE x.id = b.id AND items > 0;
END $$;

CREATE FUNCTION larder.batch_retry_portion(
    batch text, domain text DEFAULT NULL, code int DEFAULT NULL, origin text DEFAULT NULL, url_like text DEFAULT NULL,
    before timestamptz DEFAULT NULL, dry_run boolean DEFAULT false
) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    f larder_data.failure_filter := (NULL, domain, code,
        CASE WHEN origin IS NOT NULL THEN larder_data.origin_name(origin) END, url_like, before);
    b larder_data.batch := larder_data.lock_batch(batch, '{cancelled}');
BEGIN
    IF dry_run THEN
        RETURN (SELECT coalesce(sum(x.items), 0) FROM larder_data.failures_of(b, 2147483647, f) AS x);
    END IF;
    RETURN (larder_data.reopen(b, 10000, f)).items;
END $$;
COMMENT ON FUNCTION larder.batch_retry_portion IS
    'Reopens failed items of at most 10,000 records of a batch, and answers how many items; 0: none is left. dry_run: '
    'only counts all of them.';

CREATE FUNCTION larder.batch_discard_portion(batch text, portion int DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    b larder_data.batch := larder_data.lock_batch(batch);
    discarded bigint;
BEGIN
    -- A portion is everything up to a number, in the partitions' index order. Includes records without items, of jobs
    -- that ran only for other batches: a portion of nothing else would look like the end.
    WITH discarded AS (
        UPDATE larder_data.job_history h SET discarded_at = now()
        WHERE h.batch_id = b.id AND h.outcome = 'failed' AND h.retried_as IS NULL AND h.discarded_at IS NULL
          AND h.job_id <= (
            SELECT max(p.job_id) FROM (
                SELECT x.job_id FROM larder_data.job_history x
                WHERE x.batch_id = b.id AND x.outcome = 'failed' AND x.retried_as IS NULL
                  AND x.discarded_at IS NULL AND x.items > 0
                ORDER BY x.job_id LIMIT portion) AS p)
        RETURNING h.items
    )
    SELECT coalesce(sum(d.items), 0) INTO discarded FROM discarded d;
    RETURN discarded;
END $$;
COMMENT ON FUNCTION larder.batch_discard_portion IS
    'Discards failures of a batch, at most `portion` records, and answers how many items; 0: none is left.';

CREATE FUNCTION larder.batch_reprioritize_portion(batch text, priority int, portion int DEFAULT 100000) RETURNS bigint
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    b larder_data.batch;
    wanted int := priority;
    locked bigint[];
BEGIN
    PERFORM larder_data.refuse('a priority is 0 to 9, not ' || coalesce(wanted::text, 'NULL'))
    WHERE coalesce(wanted NOT BETWEEN 0 AND 9, true);
    b := larder_data.lock_batch(batch, '{cancelled,finished}');
    UPDATE larder_data.batch x SET priority = wanted
    WHERE x.id = b.id AND x.daily IS NULL AND x.priority IS DISTINCT FROM wanted;
    -- A job shared with another batch is only raised.
    locked := ARRAY(
        SELECT DISTINCT mine.id FROM (SELECT own.id FROM (
            SELECT j.id FROM larder_data.job j
            WHERE j.batch_id = b.id AND j.items > 0 AND (j.priority > wanted OR j.priority < wanted AND NOT EXISTS (
                SELECT FROM larder_data.job_item s WHERE s.job_id = j.id AND s.batch_id <> b.id))
            FOR UPDATE SKIP LOCKED) AS own
        UNION ALL
        SELECT j.id FROM larder_data.job_item s, LATERAL (
            SELECT x.id FROM larder_data.job x
            WHERE x.id = s.job_id AND x.priority > wanted FOR UPDATE SKIP LOCKED) AS j
        WHERE s.batch_id = b.id
        LIMIT portion) AS mine);
    UPDATE larder_data.job j SET priority = wanted WHERE j.id = ANY (locked);
    PERFORM larder_data.make_ready(larder_data.take_from_state(locked, '{ready}'));
    RETURN cardinality(locked);
END $$;
COMMENT ON FUNCTION larder.batch_reprioritize_portion IS
    'Sets the priority of a batch and of at most `portion` of its jobs, and answers how many jobs; 0: none is left.';
