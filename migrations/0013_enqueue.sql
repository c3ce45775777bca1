-- Enqueue, in the caller's transaction. A call is a few statements over arrays, which are cheap per URL.
--
-- Live jobs of the keys are joined by rows of job_item, without a lock, see items.sql; the others are inserted. Two
-- calls that insert the same key meet at the unique index, and the later one restarts and joins. (ON CONFLICT DO UPDATE
-- would do both, but costs 15 % more.) Keys are inserted in order, so that two calls cannot deadlock.

-- Which URLs are blocked, which are fresh by which job, and the keys of the others.
CREATE FUNCTION larder_data.answer_at_once(
    template larder_data.job, urls text[], keys bytea[], fresh_for interval, cache_no int,
    OUT answers text[], OUT fresh_jobs bigint[], OUT left_keys bytea[]
)
LANGUAGE plpgsql AS $$
DECLARE
    -- Bits that do not change what is stored: RetryFailed 1, LowPriority 2, RefreshCached 8, HighPriority 128,
    -- FromCacheOnly 32768, FromLoaderOnly 65536.
    ignored_options CONSTANT bigint := 98443;
    -- RetryFailed (1) passes blocks by failures, but not by an operator.
    retries_failed boolean := template.options & 1 = 1;
    checks_blocklist boolean := EXISTS (SELECT FROM larder_data.blocklist);
BEGIN
    IF NOT checks_blocklist AND cache_no IS NULL THEN
        left_keys := keys;
        RETURN;
    END IF;
    SELECT array_agg(g.answer), array_agg(g.fresh), array_agg(CASE WHEN g.answer IS NULL THEN g.key END)
    INTO answers, fresh_jobs, left_keys FROM (
        SELECT t.key, t.ord, f.job_id AS fresh, CASE
            WHEN t.key IS NULL THEN NULL
            WHEN checks_blocklist AND EXISTS (
                -- Whether a worker's limit applies is only known at the claim.
                SELECT FROM larder_data.blocklist b
                WHERE b.url_hash = substring(t.key FOR 16)
                    AND CASE WHEN retries_failed OR b.worker_limit IS NOT NULL THEN b.operator_until
                        ELSE b.until END > now() OFFSET 0) THEN 'blocked'
            WHEN f.job_id IS NOT NULL THEN 'fresh' END AS answer
        FROM unnest(urls, keys) WITH ORDINALITY AS t (url, key, ord) LEFT JOIN LATERAL (
            SELECT h.job_id FROM larder_data.job_history h
            WHERE cache_no IS NOT NULL AND t.key IS NOT NULL
                AND hashtextextended(h.url, 0) = hashtextextended(t.url, 0) AND h.url = t.url AND h.reason IS NULL
                AND h.outcome = 'succeeded' AND h.cache_id IS NOT NULL AND h.cache_id = cache_no
                AND h.finished_at > now() - fresh_for AND h.pipeline_id = template.pipeline_id
                AND (h.options # template.options) & ~ignored_options = 0
                AND h.context::text IS NOT DISTINCT FROM template.context::text
                AND larder_data.is_all_stored(h.stored) ORDER BY h.finished_at DESC LIMIT 1) AS f ON true
        ORDER BY t.ord
    ) AS g;
END $$;

-- Inserts a job for each key that is neither NULL nor live. Per URL: the job, and whether it is the job's first.
CREATE FUNCTION larder_data.insert_jobs(
    template larder_data.job, due timestamptz, urls text[], keys bytea[], origin_ids int[], live_keys bytea[],
    metas json[], OUT jobs bigint[], OUT are_new boolean[]
)
LANGUAGE plpgsql AS $$
DECLARE
    before bigint := larder_data.turns_before(template);
    lane_no CONSTANT int := template.queue_id * 10 + template.priority;
BEGIN
    WITH new AS (
        SELECT k.key, min(k.ord) AS ord, count(*) AS items FROM unnest(keys) WITH ORDINALITY AS k (key, ord)
        WHERE k.key IS NOT NULL AND k.key NOT IN (SELECT unnest(live_keys)) GROUP BY k.key
    ), turns AS (
        -- Origins take turns, so that none fills the head of the queue.
        SELECT n.*, g.url, g.origin_id, g.meta, row_number() OVER (PARTITION BY g.origin_id ORDER BY g.ord) AS turn
        FROM new n JOIN unnest(urls, origin_ids, metas) WITH ORDINALITY AS g (url, origin_id, meta, ord) USING (ord)
    ), numbered AS MATERIALIZED (
        SELECT nextval('larder_data.job_id') AS id, t.* FROM (SELECT * FROM turns x ORDER BY x.turn, x.ord) AS t
    ), to_job AS (
        INSERT INTO larder_data.job (id, batch_id, options, pipeline_id, origin_id, items, retry_base_ms, queue_id,
            priority, max_attempts, not_after, key, url, context, meta, traceparent)
        SELECT n.id, template.batch_id, template.options, template.pipeline_id, n.origin_id, n.items,
            template.retry_base_ms, template.queue_id, template.priority, template.max_attempts, template.not_after,
            n.key, n.url, template.context, n.meta, template.traceparent
        FROM numbered n ORDER BY n.key
    ), to_ready AS (
        INSERT INTO larder_data.ready (job_id, turn, lane, origin_id)
        SELECT n.id, coalesce(before + row_number() OVER (ORDER BY n.id), -n.id), lane_no, n.origin_id FROM numbered n
        WHERE due IS NULL
    ), to_scheduled AS (
        INSERT INTO larder_data.scheduled (run_at, job_id) SELECT due, n.id FROM numbered n WHERE due IS NOT NULL
    )
    SELECT array_agg(p.id), array_agg(p.is_new) INTO jobs, are_new FROM (
        SELECT n.id, n.ord IS NOT DISTINCT FROM k.ord AS is_new
        FROM unnest(keys) WITH ORDINALITY AS k (key, ord) LEFT JOIN numbered n USING (key) ORDER BY k.ord) AS p;
END $$;

-- Records and counts blocked, fresh and invalid items, and returns each one's row of larder_data.enqueue_error.
CREATE FUNCTION larder_data.record_ended_items(
    template larder_data.job, urls text[], origin_ids int[], answers text[], fresh_jobs bigint[], metas json[],
    OUT faults smallint[]
)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT array_agg(CASE a.answer WHEN 'blocked' THEN 0 WHEN 'fresh' THEN 7 ELSE a.fault END ORDER BY a.n) INTO faults
    FROM larder_data.validate(urls) AS v, unnest(answers, v.faults) WITH ORDINALITY AS a (answer, fault, n);
    WITH ended AS MATERIALIZED (
        SELECT a.url, a.origin_id, a.meta, a.fresh_job, f.*, CASE f.fault WHEN 0 THEN template.context END AS context,
            CASE f.fault WHEN 0 THEN 'blocked' WHEN 7 THEN 'fresh' ELSE 'invalid' END AS reason
        FROM unnest(urls, origin_ids, faults, metas, fresh_jobs)
            WITH ORDINALITY AS a (url, origin_id, fault, meta, fresh_job, ord)
        JOIN larder_data.enqueue_error f ON f.fault = a.fault ORDER BY a.ord
    ), record AS (
        -- A retry of a blocked item makes the job from its record.
        INSERT INTO larder_data.job_history (job_id, of_job, batch_id, pipeline_id, origin_id, options, priority,
            max_attempts, retry_base_ms, code, outcome, reason, url, context, meta, traceparent, domain, message)
        SELECT nextval('larder_data.item_id'), e.fresh_job, template.batch_id, template.pipeline_id, e.origin_id,
            template.options, template.priority, template.max_attempts, template.retry_base_ms, e.code,
            CASE e.reason WHEN 'fresh' THEN 'succeeded' ELSE 'failed' END::larder_data.outcome, e.reason,
            CASE e.reason WHEN 'invalid' THEN left(coalesce(e.url, ''), 2000) ELSE e.url END, e.context, e.meta,
            template.traceparent, e.domain, e.message
        FROM ended e
    )
    INSERT INTO larder_data.batch_delta (batch_id, succeeded, fresh, failed, blocked, invalid, code, domain)
    SELECT template.batch_id, x.fresh, x.fresh, x.blocked + x.invalid, x.blocked, x.invalid, x.code, x.domain
    FROM (
        SELECT e.code, e.domain, count(*) FILTER (WHERE e.reason = 'fresh') AS fresh,
            count(*) FILTER (WHERE e.reason = 'blocked') AS blocked,
            count(*) FILTER (WHERE e.reason = 'invalid') AS invalid
        FROM ended e GROUP BY e.domain, e.code) AS x;
END $$;

-- Inserts or joins a job for each key that is not NULL. Per URL: the job, and whether it is new. runs_again: items that
-- join a running job wait for another run after it.
CREATE FUNCTION larder_data.put_jobs(
    template larder_data.job, due timestamptz, urls text[], keys bytea[], origin_ids int[], metas json[],
    runs_again boolean, OUT jobs bigint[], OUT are_new boolean[]
)
LANGUAGE plpgsql AS $$
DECLARE
    live_ids bigint[];
    live_keys bytea[];
BEGIN
    FOR try IN 1 .. 100 LOOP
        BEGIN
            SELECT array_agg(j.id), array_agg(j.key) INTO live_ids, live_keys
            FROM larder_data.job j WHERE j.key = ANY (keys);
            SELECT i.jobs, i.are_new INTO jobs, are_new
            FROM larder_data.insert_jobs(template, due, urls, keys, origin_ids, live_keys, metas) i;
            EXIT;
        EXCEPTION WHEN unique_violation THEN
            -- Another call has inserted one of the keys, which is now live.
            IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') OR try = 100 THEN
                RAISE EXCEPTION 'another transaction enqueued one of the URLs' USING ERRCODE = 'serialization_failure';
            END IF;
        END;
    END LOOP;
    IF live_ids IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO larder_data.job_item (job_id, batch_id, due, not_after, again, items, priority, meta, traceparent)
    SELECT l.id, template.batch_id, due, template.not_after,
        CASE WHEN runs_again AND EXISTS (SELECT FROM larder_data.running r WHERE r.job_id = l.id OFFSET 0)
            THEN row_to_json(template) END,
        count(*), template.priority, (array_agg(k.meta) FILTER (WHERE k.meta IS NOT NULL))[1], template.traceparent
    FROM unnest(live_ids, live_keys) AS l (id, key) JOIN unnest(keys, metas) AS k (key, meta) USING (key) GROUP BY l.id;
    jobs := ARRAY(
        SELECT coalesce(g.job, l.id) FROM unnest(keys, jobs) WITH ORDINALITY AS g (key, job, ord)
        LEFT JOIN unnest(live_ids, live_keys) AS l (id, key) USING (key) ORDER BY g.ord);
END $$;

-- The planner assumes 100 elements per array: it would join 10,000 by 10,000 in nested loops, or read a table 10,000
-- times that was empty when the plan was made. The answers keep the arrays' order, because nested loops do.
CREATE FUNCTION larder.enqueue_many(
    urls text[], batch text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL,
    at timestamptz DEFAULT NULL, options anyelement DEFAULT 0::bigint, context json DEFAULT NULL,
    max_attempts int DEFAULT NULL, retry_base interval DEFAULT NULL, queue text DEFAULT 'default',
    fresh_for interval DEFAULT NULL, cache_id text DEFAULT NULL, source text DEFAULT NULL, source_from bigint DEFAULT 0,
    metas json[] DEFAULT NULL, not_after timestamptz DEFAULT NULL, on_running text DEFAULT 'join',
    traceparent text DEFAULT NULL
) RETURNS TABLE (ord int, url text, answer text, job_id bigint, domain text, code int, message text)
LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    b larder_data.batch;
    template larder_data.job;
    ids record;
    early record;
    put record;
    faults smallint[];
BEGIN
    template.options := CASE to_jsonb(options) WHEN '0' THEN 0 ELSE larder_data.option_bits(to_jsonb(options)) END;
    SELECT enqueue_many.context, enqueue_many.not_after, enqueue_many.traceparent
    INTO template.context, template.not_after, template.traceparent;
    PERFORM larder_data.check_enqueue(urls, template, priority, max_attempts, at, retry_base, fresh_for, metas,
        on_running);
    b := CASE WHEN batch IS NULL THEN larder_data.daily_batch(queue)
        ELSE larder_data.batch_for_enqueue(batch, pipeline, priority, queue) END;
    SELECT b.id, b.queue_id, coalesce(CASE WHEN pipeline IS NULL THEN b.pipeline_id END,
            larder_data.find_pipeline(coalesce(pipeline, 'original'))),
        coalesce(priority, b.priority, 4), coalesce(max_attempts, 4), extract(epoch FROM retry_base) * 1000
    INTO template.batch_id, template.queue_id, template.pipeline_id, template.priority, template.max_attempts,
        template.retry_base_ms;
    IF coalesce(cardinality(urls), 0) = 0 THEN
        RETURN;
    END IF;
    PERFORM larder_data.advance_source(b.id, source, source_from, urls) WHERE source IS NOT NULL;
    ids := larder_data.identify(urls, template.pipeline_id);
    early := larder_data.answer_at_once(template, urls, ids.keys, fresh_for,
        CASE WHEN fresh_for IS NOT NULL THEN larder_data.find_cache(cache_id) END);
    put := larder_data.put_jobs(template, nullif(greatest(at, now()), now()), urls, early.left_keys, ids.origin_ids,
        metas, on_running = 'again');
    INSERT INTO larder_data.batch_delta (batch_id, total, joined)
    SELECT b.id, count(*), count(*) FILTER (WHERE a.key IS NOT NULL AND a.is_new IS NOT TRUE)
    FROM unnest(early.left_keys, put.are_new) AS a (key, is_new);
    IF array_position(early.left_keys, NULL) IS NOT NULL THEN
        PERFORM larder_data.ensure_today();
        faults := larder_data.record_ended_items(
            template, urls, ids.origin_ids, early.answers, early.fresh_jobs, metas);
    END IF;
    RETURN QUERY
    SELECT a.n::int, a.url, CASE WHEN a.early IS NOT NULL THEN a.early WHEN a.is_new THEN 'inserted'
        WHEN a.fault IS NOT NULL THEN 'invalid' ELSE 'joined' END, a.job, f.domain, f.code, f.message
    FROM unnest(urls, early.answers, put.are_new, put.jobs, faults)
        WITH ORDINALITY AS a (url, early, is_new, job, fault, n)
    LEFT JOIN LATERAL (
        SELECT * FROM larder_data.enqueue_error x WHERE a.fault IS NOT NULL AND x.fault = a.fault OFFSET 0
    ) AS f ON true;
END $$;
COMMENT ON FUNCTION larder.enqueue_many IS
    'Enqueues up to 10,000 URLs in the caller''s transaction. Returns per URL, in order, inserted, joined, fresh, '
    'blocked or invalid, and the job. batch: name or id. priority 0 (first) to 9. at: not before. max_attempts: 4 by '
    'default. options: SDWebImage''s bits, or an array of names; RetryFailed (1) passes the blocks of failures. '
    'fresh_for: a URL that was stored within this time with the same pipeline, context and options in the cache of '
    'cache_id is answered fresh; the cache itself is not read. source, source_from: the list that the URLs are from '
    'and how many of it came before, see larder.batch_source. metas: per URL a JSON object of at most 4,096 bytes, or '
    'NULL, for records and reports. not_after: items that have not started by then finish as cancelled. on_running: '
    'what a URL does whose job runs at this moment: join it, or be loaded again after it with these options. '
    'traceparent: the span of W3C Trace Context whose child the work is, 00-TRACE-SPAN-FLAGS.';

CREATE FUNCTION larder.enqueue(
    url text, batch text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL,
    at timestamptz DEFAULT NULL, options anyelement DEFAULT 0::bigint, context json DEFAULT NULL,
    max_attempts int DEFAULT NULL, retry_base interval DEFAULT NULL, queue text DEFAULT 'default',
    fresh_for interval DEFAULT NULL, cache_id text DEFAULT NULL, meta json DEFAULT NULL,
    not_after timestamptz DEFAULT NULL, on_running text DEFAULT 'join', traceparent text DEFAULT NULL
) RETURNS TABLE (answer text, job_id bigint, domain text, code int, message text)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT e.answer, e.job_id, e.domain, e.code, e.message
    FROM larder.enqueue_many(ARRAY[url], batch, pipeline, priority, at, options, context, max_attempts, retry_base,
        queue, fresh_for, cache_id, metas => CASE WHEN meta IS NOT NULL THEN ARRAY[meta] END, not_after => not_after,
        on_running => on_running, traceparent => traceparent) AS e;
END $$;
COMMENT ON FUNCTION larder.enqueue IS 'Enqueues one URL, as larder.enqueue_many.';
