-- Putting URLs in.
--
-- Enqueue runs inside the caller's transaction: roll back, and it never happened. Everything about one call is a few
-- statements over arrays, so a call of 10,000 URLs costs little more than one of 100.
--
-- Two enqueuers that meet at the same (URL, pipeline) meet at the unique key: ON CONFLICT DO UPDATE either inserts or
-- locks the live job and joins it, and inserts after all when the job was settled meanwhile. Keys are visited in
-- order, so two calls cannot wait for each other. Settle does not wait for a job that a joiner holds (see 0005).

-- The origin of each URL, or what is wrong with it: 1 empty, 2 too long, 3 characters, 4 no scheme, 5 other scheme,
-- 6 no host or a bad port. Stages are materialised because the planner would else repeat each expression at each use.
CREATE FUNCTION larder_data.examine(urls text[], OUT origins text[], OUT faults smallint[])
LANGUAGE sql IMMUTABLE AS $$
    WITH given AS MATERIALIZED (
        SELECT t.ord, t.url, strpos(t.url, '://') AS colon FROM unnest(urls) WITH ORDINALITY AS t (url, ord)
    ), schemed AS MATERIALIZED (
        SELECT g.ord, g.url, lower(left(g.url, g.colon - 1) COLLATE "C") AS scheme,
               split_part(split_part(split_part(substr(g.url, g.colon + 3), '/', 1), '?', 1), '#', 1) AS authority
        FROM given g WHERE g.colon > 1
    ), hosted AS MATERIALIZED (
        -- What stands before the last @ is userinfo, which is no part of an origin.
        SELECT s.ord, s.url, s.scheme,
               lower(CASE WHEN strpos(s.authority, '@') > 0 THEN regexp_replace(s.authority, '^.*@', '') ELSE s.authority END COLLATE "C") AS host
        FROM schemed s WHERE s.scheme IN ('http', 'https')
    ), judged AS MATERIALIZED (
        SELECT h.ord, h.scheme || '://' || CASE
            WHEN h.host = '' OR strpos(h.host, ' ') > 0 THEN NULL
            WHEN strpos(h.host, ':') = 0 THEN h.host || CASE h.scheme WHEN 'http' THEN ':80' ELSE ':443' END
            WHEN h.host ~ '^(\[[0-9a-f:.]+\]|[^:\[\]]+):?$' THEN rtrim(h.host, ':') || CASE h.scheme WHEN 'http' THEN ':80' ELSE ':443' END
            WHEN h.host ~ '^(\[[0-9a-f:.]+\]|[^:\[\]]+):[0-9]{1,5}$' THEN
                CASE WHEN substring(h.host FROM '[0-9]+$')::int BETWEEN 1 AND 65535
                     THEN regexp_replace(h.host, ':0*([0-9]+)$', ':\1') END
            END AS origin
        FROM hosted h
    ), verdict AS (
        SELECT g.ord, j.origin,
            (CASE
                WHEN coalesce(g.url, '') = '' THEN 1
                WHEN octet_length(g.url) > 8192 THEN 2
                WHEN g.url ~ '[\x01-\x1f\x7f\ufffd]' THEN 3
                WHEN j.origin IS NOT NULL THEN NULL
                WHEN j.ord IS NOT NULL OR g.url ~* '^https?:' THEN 6
                WHEN g.url ~ '^[A-Za-z][A-Za-z0-9+.-]*:' THEN 5
                ELSE 4
            END)::smallint AS fault
        FROM given g LEFT JOIN judged j USING (ord)
    )
    SELECT array_agg(CASE WHEN v.fault IS NULL THEN v.origin END ORDER BY v.ord), array_agg(v.fault ORDER BY v.ord) FROM verdict v
$$;
COMMENT ON FUNCTION larder_data.examine IS 'The origin of each URL, or what is wrong with it.';

CREATE TABLE larder_data.refusal (
    fault smallint PRIMARY KEY,
    domain text NOT NULL,
    code int NOT NULL,
    message text NOT NULL
);
COMMENT ON TABLE larder_data.refusal IS 'The errors of items that enqueue refuses: 0 blocked, else the faults of larder_data.examine.';
COMMENT ON INDEX larder_data.refusal_pkey IS 'One row per fault.';
INSERT INTO larder_data.refusal VALUES
    (0, 'SDWebImageErrorDomain', 1003, 'the URL is blocked after an earlier failure'),
    (1, 'SDWebImageErrorDomain', 1000, 'the URL is empty'),
    (2, 'SDWebImageErrorDomain', 1000, 'the URL is longer than 8192 bytes'),
    (3, 'SDWebImageErrorDomain', 1000, 'the URL has a control character or bytes that are not UTF-8'),
    (4, 'SDWebImageErrorDomain', 1000, 'the URL has no scheme'),
    (5, 'NSURLErrorDomain', -1002, 'the scheme is not http or https'),
    (6, 'SDWebImageErrorDomain', 1000, 'the URL has no usable host, or a port out of range');

-- A join raises the job's priority if higher, and lets a job scheduled for later come sooner when somebody wants it
-- sooner; a back-off is kept. After the joining statement, so that the snapshot shows where a job stood that it had to
-- wait for. All ten lanes are probed: where a ready row stands is not quite what its job's priority says while a
-- join and an upkeep pass each other.
-- OFFSET 0 fixes the order of the join: one index probe per job, whatever the statistics say.
CREATE FUNCTION larder_data.hurry(jobs bigint[], due timestamptz) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    WITH risen AS (
        DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(
            SELECT place.tid FROM larder_data.job j, generate_series(j.priority + 1, 9) AS old (priority), LATERAL (
                SELECT x.ctid AS tid FROM larder_data.ready x
                WHERE x.queue_id = j.queue_id AND x.priority = old.priority AND x.job_id = j.id
                FOR UPDATE SKIP LOCKED
            ) AS place
            WHERE j.id = ANY (jobs)))
        RETURNING r.job_id
    )
    INSERT INTO larder_data.ready (queue_id, priority, job_id)
    SELECT j.queue_id, j.priority, risen.job_id FROM risen, LATERAL (
        SELECT x.queue_id, x.priority FROM larder_data.job x WHERE x.id = risen.job_id OFFSET 0
    ) AS j ORDER BY risen.job_id;
    UPDATE larder_data.delayed d SET run_at = coalesce(due, now()) FROM larder_data.job j
    WHERE d.job_id = ANY (jobs) AND j.id = d.job_id AND j.attempt = 0 AND d.run_at > coalesce(due, now());
END $$;
COMMENT ON FUNCTION larder_data.hurry IS 'Moves joined jobs forward to their raised priority and earlier time.';

CREATE FUNCTION larder.enqueue_many(
    urls text[], batch text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL, options bigint DEFAULT 0, context json DEFAULT NULL, max_attempts int DEFAULT NULL,
    retry_base interval DEFAULT NULL, queue text DEFAULT 'default', batch_id bigint DEFAULT NULL
) RETURNS TABLE (ord int, url text, answer text, job_id bigint, domain text, code int, message text)
-- The planner thinks an array has 100 elements and would join 10,000 by 10,000 in loops.
LANGUAGE plpgsql SET enable_nestloop = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    b larder_data.batch;
    queue_no smallint;
    pipeline_no int;
    lane smallint;
    due timestamptz := enqueue_many.run_at;
    attempts smallint := coalesce(enqueue_many.max_attempts, 4);
    base_ms int := CASE WHEN enqueue_many.retry_base IS NOT NULL THEN least(extract(epoch FROM enqueue_many.retry_base) * 1000, 2147483647) END;
    origins text[];
    faults smallint[];
    answers text[];
    jobs bigint[];
    joined bigint[];
BEGIN
    IF cardinality(urls) > 10000 THEN
        RAISE EXCEPTION 'at most 10000 URLs a call, not %', cardinality(urls) USING ERRCODE = '22023';
    ELSIF array_ndims(urls) > 1 THEN
        RAISE EXCEPTION 'URLs come in a plain array' USING ERRCODE = '22023';
    ELSIF enqueue_many.priority NOT BETWEEN 0 AND 9 THEN
        RAISE EXCEPTION 'a priority is 0 to 9, not %', enqueue_many.priority USING ERRCODE = '22023';
    ELSIF attempts NOT BETWEEN 1 AND 100 THEN
        RAISE EXCEPTION 'attempts are 1 to 100, not %', attempts USING ERRCODE = '22023';
    ELSIF base_ms < 0 THEN
        RAISE EXCEPTION 'a back-off is not negative' USING ERRCODE = '22023';
    END IF;
    b := larder_data.batch_for_enqueue(
        enqueue_many.batch, enqueue_many.batch_id, enqueue_many.pipeline, enqueue_many.priority, enqueue_many.queue, true);
    queue_no := b.queue_id;
    pipeline_no := CASE WHEN enqueue_many.pipeline IS NOT NULL THEN larder_data.pipeline_number(enqueue_many.pipeline)
                        ELSE coalesce(b.pipeline_id, larder_data.pipeline_number('original')) END;
    lane := coalesce(enqueue_many.priority, b.priority, 4);
    IF coalesce(cardinality(urls), 0) = 0 THEN
        RETURN;
    END IF;
    IF due <= now() THEN
        due := NULL;
    END IF;
    PERFORM larder_data.ensure_today();

    SELECT e.origins, e.faults INTO origins, faults FROM larder_data.examine(urls) e;

    -- Anti-join first: ON CONFLICT alone would use up a number for each known origin. In order, so that two calls
    -- cannot wait for each other.
    INSERT INTO larder_data.origin (name)
    SELECT n FROM (SELECT DISTINCT u.n FROM unnest(origins) AS u (n) WHERE u.n IS NOT NULL) AS d
    WHERE NOT EXISTS (SELECT FROM larder_data.origin o WHERE o.name = d.n)
    ORDER BY n ON CONFLICT (name) DO NOTHING;

    WITH known AS MATERIALIZED (
        SELECT o.id, o.name FROM larder_data.origin o
        WHERE o.name = ANY (ARRAY(SELECT DISTINCT u.n FROM unnest(origins) AS u (n)))
    ), given AS MATERIALIZED (
        SELECT t.ord::int AS ord, t.url, k.id AS origin_id, larder_data.job_key(t.url, pipeline_no) AS key,
               enqueue_many.options & 1 = 0
                   AND coalesce((SELECT x.until FROM larder_data.blocklist x WHERE x.url_hash = larder_data.url_hash(t.url)) > now(), false) AS blocked
        FROM unnest(urls, origins, faults) WITH ORDINALITY AS t (url, origin, fault, ord) JOIN known k ON k.name = t.origin
        WHERE t.fault IS NULL
    ), distinct_jobs AS (
        SELECT g.key, min(g.ord) AS first, count(*)::int AS items, min(g.origin_id) AS origin_id, min(g.url) AS url
        FROM given g WHERE NOT g.blocked GROUP BY g.key
    ), turns AS (
        -- Hosts take turns: one origin does not fill the head of the queue.
        SELECT d.*, row_number() OVER (PARTITION BY d.origin_id ORDER BY d.first) AS turn FROM distinct_jobs d
    ), numbered AS MATERIALIZED (
        SELECT nextval('larder_data.job_id') AS id, s.* FROM (SELECT * FROM turns t ORDER BY t.turn, t.first) AS s
    ), put AS (
        INSERT INTO larder_data.job AS j
            (id, batch_id, options, pipeline_id, origin_id, items, retry_base_ms, queue_id, priority, max_attempts, key, url, context)
        SELECT n.id, b.id, enqueue_many.options, pipeline_no, n.origin_id, n.items, base_ms, queue_no, lane, attempts, n.key,
               n.url, enqueue_many.context
        FROM numbered n ORDER BY n.key
        ON CONFLICT (key) DO UPDATE SET
            items = j.items + CASE WHEN j.batch_id = excluded.batch_id THEN excluded.items ELSE 0 END,
            followed = j.followed OR j.batch_id <> excluded.batch_id,
            priority = least(j.priority, excluded.priority),
            cancelled_at = NULL
        RETURNING j.id, j.key, j.batch_id
    ), placed AS MATERIALIZED (
        SELECT p.id, p.key, p.batch_id AS home, n.items, n.first, p.id <> n.id AS met FROM put p JOIN numbered n USING (key)
    ), to_ready AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id)
        SELECT queue_no, lane, p.id FROM placed p WHERE NOT p.met AND due IS NULL ORDER BY p.id
    ), to_delayed AS (
        INSERT INTO larder_data.delayed (run_at, job_id)
        SELECT due, p.id FROM placed p WHERE NOT p.met AND due IS NOT NULL ORDER BY p.id
    ), follow AS (
        INSERT INTO larder_data.job_follow AS f (job_id, batch_id, items)
        SELECT p.id, b.id, p.items FROM placed p WHERE p.met AND p.home <> b.id
        ON CONFLICT ON CONSTRAINT job_follow_pkey DO UPDATE SET items = f.items + excluded.items
    )
    SELECT array_agg(CASE WHEN t.fault IS NOT NULL THEN 'invalid' WHEN g.blocked THEN 'blocked'
                          WHEN p.met OR p.first <> g.ord THEN 'joined' ELSE 'inserted' END ORDER BY t.ord),
           array_agg(p.id ORDER BY t.ord),
           array_agg(DISTINCT p.id) FILTER (WHERE p.met)
    INTO answers, jobs, joined
    FROM unnest(faults) WITH ORDINALITY AS t (fault, ord)
    LEFT JOIN given g ON g.ord = t.ord LEFT JOIN placed p ON p.key = g.key AND NOT g.blocked;

    IF joined IS NOT NULL THEN
        PERFORM larder_data.hurry(joined, due);
    END IF;

    INSERT INTO larder_data.item_history (id, batch_id, pipeline_id, code, outcome, why, url, domain, message)
    SELECT nextval('larder_data.item_id'), b.id, CASE r.answer WHEN 'blocked' THEN pipeline_no END, r.code, 2, r.answer, r.url, r.domain, r.message
    FROM (
        SELECT a.answer, CASE a.answer WHEN 'blocked' THEN a.url ELSE left(coalesce(a.url, ''), 2000) END AS url, f.domain, f.code, f.message
        FROM unnest(urls, answers, faults) WITH ORDINALITY AS a (url, answer, fault, ord)
        JOIN larder_data.refusal f ON f.fault = CASE a.answer WHEN 'blocked' THEN 0 ELSE a.fault END
        ORDER BY a.ord
    ) AS r;

    INSERT INTO larder_data.batch_delta (batch_id, total, failed, blocked, invalid, joined)
    SELECT b.id, count(*), count(*) FILTER (WHERE a IN ('blocked', 'invalid')), count(*) FILTER (WHERE a = 'blocked'),
           count(*) FILTER (WHERE a = 'invalid'), count(*) FILTER (WHERE a = 'joined')
    FROM unnest(answers) AS a;

    RETURN QUERY
    SELECT a.ord::int, a.url, a.answer, a.job, f.domain, f.code, f.message
    FROM unnest(urls, answers, jobs, faults) WITH ORDINALITY AS a (url, answer, job, fault, ord)
    LEFT JOIN larder_data.refusal f ON f.fault = CASE a.answer WHEN 'blocked' THEN 0 ELSE a.fault END
    ORDER BY a.ord;
END $$;
COMMENT ON FUNCTION larder.enqueue_many IS
    'Enqueues up to 10,000 URLs, inside the caller''s transaction; per URL in order: inserted, joined, blocked or invalid, and the job. Priority 0 first to 9; max_attempts 4 by default; options are SDWebImage''s bits, of which RetryFailed (1) passes the blocklist.';

CREATE FUNCTION larder.enqueue(
    url text, batch text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL, options bigint DEFAULT 0, context json DEFAULT NULL, max_attempts int DEFAULT NULL,
    retry_base interval DEFAULT NULL, queue text DEFAULT 'default', batch_id bigint DEFAULT NULL
) RETURNS TABLE (answer text, job_id bigint, domain text, code int, message text)
LANGUAGE sql AS $$
    SELECT e.answer, e.job_id, e.domain, e.code, e.message
    FROM larder.enqueue_many(ARRAY[url], batch, pipeline, priority, run_at, options, context, max_attempts, retry_base, queue, batch_id) AS e
$$;
COMMENT ON FUNCTION larder.enqueue IS 'Enqueues one URL; as larder.enqueue_many.';
