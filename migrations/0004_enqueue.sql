-- Putting URLs in.
--
-- Enqueue runs inside the caller's transaction: roll back, and it never happened. Everything about one call is a few
-- statements over arrays, so a call of 10,000 URLs costs little more than one of 100.
--
-- Two enqueuers that meet at the same (URL, pipeline) meet at the unique key: ON CONFLICT DO UPDATE either inserts or
-- locks the live job and joins it, and inserts after all when the job was completed meanwhile. Keys are visited in
-- order, so two calls cannot wait for each other. Complete does not wait for a job that a joiner holds (see 0005).

-- The origin of each URL, or what is wrong with it: 1 empty, 2 too long, 3 characters, 4 no scheme, 5 other scheme,
-- 6 no host or a bad port. Stages are materialised because the planner would else repeat each expression at each use.
-- In PL/pgSQL, which keeps the plan: a function in SQL is parsed and planned at each call, half the cost of one URL.
CREATE FUNCTION larder_data.validate(urls text[], OUT origins text[], OUT faults smallint[])
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
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
    SELECT array_agg(CASE WHEN v.fault IS NULL THEN v.origin END ORDER BY v.ord), array_agg(v.fault ORDER BY v.ord)
    INTO origins, faults FROM verdict v;
END $$;
COMMENT ON FUNCTION larder_data.validate IS 'The origin of each URL, or what is wrong with it.';

CREATE TABLE larder_data.refusal (
    fault smallint PRIMARY KEY,
    domain text,
    code int,
    message text
);
COMMENT ON TABLE larder_data.refusal IS 'What is said of items that end at enqueue: 0 blocked, 1 to 6 the faults of larder_data.validate, 7 fresh, which is no error.';
COMMENT ON INDEX larder_data.refusal_pkey IS 'One row per fault.';
INSERT INTO larder_data.refusal VALUES
    (0, 'SDWebImageErrorDomain', 1003, 'the URL is blocked; larder blocklist list says reason and until when'),
    (1, 'SDWebImageErrorDomain', 1000, 'the URL is empty'),
    (2, 'SDWebImageErrorDomain', 1000, 'the URL is longer than 8192 bytes'),
    (3, 'SDWebImageErrorDomain', 1000, 'the URL has a control character or bytes that are not UTF-8'),
    (4, 'SDWebImageErrorDomain', 1000, 'the URL has no scheme'),
    (5, 'NSURLErrorDomain', -1002, 'the scheme is not http or https'),
    (6, 'SDWebImageErrorDomain', 1000, 'the URL has no usable host, or a port out of range'),
    (7, NULL, NULL, NULL);

-- A join raises the job's priority if higher, and lets a job scheduled for later come sooner when somebody wants it
-- sooner; a back-off is kept. After the joining statement, so that the snapshot shows where a job stood that it had to
-- wait for. All ten lanes are probed: where a ready row stands is not quite what its job's priority says while a
-- join and an maintenance pass each other.
-- OFFSET 0 fixes the order of the join: one index probe per job, whatever the statistics say.
CREATE FUNCTION larder_data.promote_joined(jobs bigint[], due timestamptz) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_nestloop = on SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
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
    -- What was set aside for batches that are paused or cancelled is wanted now.
    WITH wanted AS (
        DELETE FROM larder_data.suspended p WHERE p.job_id = ANY (jobs) AND p.reason <> 'crashed' RETURNING p.job_id
    )
    INSERT INTO larder_data.ready (queue_id, priority, job_id)
    SELECT j.queue_id, j.priority, w.job_id FROM wanted w, LATERAL (
        SELECT x.queue_id, x.priority FROM larder_data.job x WHERE x.id = w.job_id OFFSET 0) AS j;
    UPDATE larder_data.scheduled d SET run_at = coalesce(due, now()) WHERE d.ctid = ANY (ARRAY(
        SELECT place.tid FROM larder_data.job j, LATERAL (
            SELECT x.ctid AS tid, x.run_at FROM larder_data.scheduled x WHERE x.job_id = j.id OFFSET 0 FOR UPDATE SKIP LOCKED
        ) AS place
        WHERE j.id = ANY (jobs) AND j.attempt = 0 AND place.run_at > coalesce(due, now())));
END $$;
COMMENT ON FUNCTION larder_data.promote_joined IS 'Moves joined jobs forward to their raised priority and earlier time, and back from where they were set aside.';

-- The URLs a cache already has: who asks names the cache, or there is only one.
CREATE FUNCTION larder_data.cache_number(cache text) RETURNS int
LANGUAGE plpgsql STABLE AS $$
DECLARE
    used int[];
BEGIN
    IF cache IS NOT NULL THEN
        RETURN (SELECT c.id FROM larder_data.cache c WHERE c.name = cache_number.cache);
    END IF;
    used := ARRAY(SELECT DISTINCT w.cache_id FROM larder_data.worker w WHERE w.cache_id IS NOT NULL);
    IF cardinality(used) > 1 THEN
        RAISE EXCEPTION 'workers fill % caches: name the one that freshness is asked of', cardinality(used) USING ERRCODE = '22023';
    END IF;
    RETURN used[1];
END $$;
COMMENT ON FUNCTION larder_data.cache_number IS 'The cache of that id; without one the only cache that the workers of the last day filled, if any.';

-- Scheme and authority of each URL are one of few in a call, so they are examined once each. A URL for which that does
-- not do (another scheme, capitals in it) stands for itself.
CREATE FUNCTION larder_data.site(url text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE WHEN starts_with(url, 'https://') THEN 'https://' || split_part(url, '/', 3)
                WHEN starts_with(url, 'http://') THEN 'http://' || split_part(url, '/', 3) ELSE url END
$$;
COMMENT ON FUNCTION larder_data.site IS 'What of a URL decides its origin.';

-- Bits of options that change nothing of what is stored: RetryFailed 1, LowPriority 2, RefreshCached 8, HighPriority 128,
-- FromCacheOnly 32768, FromLoaderOnly 65536. All others, and those that nobody knows yet, must be the same.
CREATE FUNCTION larder_data.storing_options(options bigint) RETURNS bigint
LANGUAGE sql IMMUTABLE AS $$ SELECT options & ~98443::bigint $$;
COMMENT ON FUNCTION larder_data.storing_options IS 'Those of a job''s options that may change what is stored, or under which key.';

-- Workers may be anybody's, and json takes what jsonb refuses.
CREATE FUNCTION larder_data.is_all_stored(stored json) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN coalesce(jsonb_path_match(stored::jsonb,
        'exists ($[*]) && !exists ($[*] ? (!exists (@.path ? (@.type() == "string" && @ != ""))))'), false);
EXCEPTION WHEN data_exception THEN
    RETURN false;
END $$;
COMMENT ON FUNCTION larder_data.is_all_stored IS 'Whether a record of what was stored names a file at all, and none without its path.';

CREATE FUNCTION larder.enqueue_many(
    urls text[], batch text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL, options bigint DEFAULT 0, context json DEFAULT NULL, max_attempts int DEFAULT NULL,
    retry_base interval DEFAULT NULL, queue text DEFAULT 'default', batch_id bigint DEFAULT NULL,
    fresh_for interval DEFAULT NULL, cache_id text DEFAULT NULL, source text DEFAULT NULL, source_from bigint DEFAULT 0
) RETURNS TABLE (ord int, url text, answer text, job_id bigint, domain text, code int, message text)
-- The planner thinks an array has 100 elements and would join 10,000 by 10,000 in loops, or read a table 10,000 times
-- that had no rows when the plan was made.
LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    b larder_data.batch;
    queue_no smallint;
    pipeline_no int;
    cache_no int;
    lane smallint;
    due timestamptz := enqueue_many.run_at;
    attempts int := coalesce(enqueue_many.max_attempts, 4);
    base_ms int := CASE WHEN enqueue_many.retry_base IS NOT NULL THEN least(greatest(extract(epoch FROM enqueue_many.retry_base) * 1000, -1), 2147483647) END;
    site_of text[];
    sites text[];
    origins text[];
    origin_of int[];
    keys bytea[];
    all_new boolean;
    answers text[];
    jobs bigint[];
    joined bigint[];
    faults smallint[];
    counts int[];
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
    ELSIF NOT isfinite(due) THEN
        RAISE EXCEPTION 'a job runs at some time, not at infinity' USING ERRCODE = '22023';
    ELSIF octet_length(enqueue_many.context::text) > 65536 THEN
        RAISE EXCEPTION 'a context has at most 65536 bytes' USING ERRCODE = '22023';
    ELSIF fresh_for < interval '0' THEN
        RAISE EXCEPTION 'a time to live is not negative' USING ERRCODE = '22023';
    END IF;
    b := larder_data.batch_for_enqueue(
        enqueue_many.batch, enqueue_many.batch_id, enqueue_many.pipeline, enqueue_many.priority, enqueue_many.queue, true);
    queue_no := b.queue_id;
    pipeline_no := CASE WHEN enqueue_many.pipeline IS NOT NULL THEN larder_data.pipeline_number(enqueue_many.pipeline)
                        ELSE coalesce(b.pipeline_id, larder_data.pipeline_number('original')) END;
    lane := coalesce(enqueue_many.priority, b.priority, 4);
    cache_no := CASE WHEN fresh_for IS NOT NULL THEN larder_data.cache_number(enqueue_many.cache_id) END;
    IF coalesce(cardinality(urls), 0) = 0 THEN
        RETURN;
    END IF;
    IF source IS NOT NULL THEN
        PERFORM larder_data.advance_source(b.id, source, source_from, urls);
    END IF;
    IF due <= now() THEN
        due := NULL;
    END IF;
    PERFORM larder_data.ensure_today();

    site_of := ARRAY(SELECT larder_data.site(u.url) FROM unnest(urls) WITH ORDINALITY AS u (url, ord) ORDER BY u.ord);
    sites := ARRAY(SELECT DISTINCT u.site FROM unnest(site_of) AS u (site) WHERE u.site IS NOT NULL);
    SELECT e.origins INTO origins FROM larder_data.validate(sites) e;
    -- Anti-join first: ON CONFLICT alone would use up a number for each known origin. In order, so that two calls
    -- cannot wait for each other.
    INSERT INTO larder_data.origin (name)
    SELECT n FROM (SELECT DISTINCT u.n FROM unnest(origins) AS u (n) WHERE u.n IS NOT NULL) AS d
    WHERE NOT EXISTS (SELECT FROM larder_data.origin o WHERE o.name = d.n)
    ORDER BY n ON CONFLICT (name) DO NOTHING;

    -- Per URL its origin and its key; neither for one that is invalid.
    WITH named AS MATERIALIZED (
        SELECT o.id, o.name FROM larder_data.origin o
        WHERE o.name = ANY (ARRAY(SELECT DISTINCT u.n FROM unnest(origins) AS u (n) WHERE u.n IS NOT NULL))
    ), known AS MATERIALIZED (
        SELECT s.site, n.id FROM unnest(sites, origins) AS s (site, origin) JOIN named n ON n.name = s.origin
    )
    SELECT array_agg(g.id), array_agg(g.key) INTO origin_of, keys FROM (
        SELECT v.id, CASE WHEN v.id IS NOT NULL THEN larder_data.job_key(v.url, pipeline_no) END AS key FROM (
            SELECT t.ord, t.url, CASE WHEN octet_length(t.url) <= 8192 AND t.url !~ '[\x01-\x1f\x7f\ufffd]' THEN k.id END AS id
            FROM unnest(urls, site_of) WITH ORDINALITY AS t (url, site, ord) LEFT JOIN known k ON k.site = t.site
        ) AS v ORDER BY v.ord
    ) AS g;

    -- The common case: all URLs are valid and new. Two enqueuers may still meet at a key; the later one starts over.
    all_new := array_position(keys, NULL) IS NULL AND cache_no IS NULL
        AND (enqueue_many.options & 1 = 1 OR NOT EXISTS (SELECT FROM larder_data.blocklist) OR NOT EXISTS (
            SELECT FROM larder_data.blocklist x WHERE x.url_hash = ANY (ARRAY(SELECT substring(k FOR 16) FROM unnest(keys) AS k)) AND x.until > now()))
        AND (SELECT count(DISTINCT k) FROM unnest(keys) AS k) = cardinality(keys)
        AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.key = ANY (keys));
    IF all_new THEN
        BEGIN
            WITH turns AS (
                -- Hosts take turns: one origin does not fill the head of the queue.
                SELECT g.*, row_number() OVER (PARTITION BY g.origin_id ORDER BY g.ord) AS turn
                FROM unnest(urls, keys, origin_of) WITH ORDINALITY AS g (url, key, origin_id, ord)
            ), numbered AS MATERIALIZED (
                SELECT nextval('larder_data.job_id') AS id, s.* FROM (SELECT * FROM turns t ORDER BY t.turn, t.ord) AS s
            ), put AS (
                INSERT INTO larder_data.job
                    (id, batch_id, options, pipeline_id, origin_id, items, retry_base_ms, queue_id, priority, max_attempts, key, url, context)
                SELECT n.id, b.id, enqueue_many.options, pipeline_no, n.origin_id, 1, base_ms, queue_no, lane, attempts, n.key, n.url, enqueue_many.context
                FROM numbered n ORDER BY n.key
            ), to_ready AS (
                INSERT INTO larder_data.ready (queue_id, priority, job_id) SELECT queue_no, lane, n.id FROM numbered n WHERE due IS NULL
            ), to_delayed AS (
                INSERT INTO larder_data.scheduled (run_at, job_id) SELECT due, n.id FROM numbered n WHERE due IS NOT NULL
            )
            SELECT array_agg(n.id ORDER BY n.ord) INTO jobs FROM numbered n;
            INSERT INTO larder_data.batch_delta (batch_id, total) VALUES (b.id, cardinality(urls));
            RETURN QUERY
            SELECT a.ord::int, a.url, 'inserted', a.job, NULL, NULL::int, NULL FROM unnest(urls, jobs) WITH ORDINALITY AS a (url, job, ord);
            RETURN;
        EXCEPTION WHEN unique_violation THEN
            NULL;
        END;
    END IF;

    WITH given AS MATERIALIZED (
        SELECT t.ord::int AS ord, t.url, t.origin_id, t.key FROM unnest(urls, origin_of, keys) WITH ORDINALITY AS t (url, origin_id, key, ord)
        WHERE t.key IS NOT NULL
    ), judged AS MATERIALIZED (
        SELECT g.*,
            CASE WHEN enqueue_many.options & 1 = 0 AND (SELECT x.until FROM larder_data.blocklist x WHERE x.url_hash = substring(g.key FOR 16)) > now() THEN 'blocked'
                 WHEN cache_no IS NOT NULL AND EXISTS (
                     SELECT FROM larder_data.job_history h
                     WHERE hashtextextended(h.url, 0) = hashtextextended(g.url, 0) AND h.outcome = 1 AND h.cache_id IS NOT NULL
                       AND h.finished_at > now() - fresh_for AND h.url = g.url AND h.pipeline_id = pipeline_no AND h.cache_id = cache_no
                       -- The same wishes, and files that came of them.
                       AND larder_data.storing_options(h.options) = larder_data.storing_options(enqueue_many.options)
                       AND h.context::text IS NOT DISTINCT FROM enqueue_many.context::text AND larder_data.is_all_stored(h.stored))
                 THEN 'fresh' END AS answer
        FROM given g
    ), nth AS (
        SELECT j.*, row_number() OVER (PARTITION BY j.key ORDER BY j.ord) AS nth FROM judged j WHERE j.answer IS NULL
    ), twice AS (
        SELECT n.key, count(*)::int AS items FROM nth n WHERE n.nth > 1 GROUP BY n.key
    ), turns AS (
        -- Hosts take turns: one origin does not fill the head of the queue.
        SELECT n.*, row_number() OVER (PARTITION BY n.origin_id ORDER BY n.ord) AS turn FROM nth n WHERE n.nth = 1
    ), numbered AS MATERIALIZED (
        SELECT nextval('larder_data.job_id') AS id, s.* FROM (
            SELECT t.ord, t.url, t.origin_id, t.key, 1 + coalesce(w.items, 0) AS items
            FROM turns t LEFT JOIN twice w ON w.key = t.key ORDER BY t.turn, t.ord) AS s
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
            cancelled_at = CASE WHEN j.cancelled_at IS NOT NULL THEN '-infinity'::timestamptz END
        RETURNING j.id, j.key, j.batch_id
    ), placed AS MATERIALIZED (
        SELECT p.id, p.key, p.batch_id AS home, n.items, n.ord AS first, p.id <> n.id AS met FROM put p JOIN numbered n USING (key)
    ), to_ready AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id)
        SELECT queue_no, lane, p.id FROM placed p WHERE NOT p.met AND due IS NULL ORDER BY p.id
    ), to_delayed AS (
        INSERT INTO larder_data.scheduled (run_at, job_id)
        SELECT due, p.id FROM placed p WHERE NOT p.met AND due IS NOT NULL ORDER BY p.id
    ), follow AS (
        INSERT INTO larder_data.job_subscriber AS f (job_id, batch_id, items)
        SELECT p.id, b.id, p.items FROM placed p WHERE p.met AND p.home <> b.id
        ON CONFLICT ON CONSTRAINT job_subscriber_pkey DO UPDATE SET items = f.items + excluded.items
    ), answered AS (
        SELECT t.ord, p.id, p.met,
               CASE WHEN j.key IS NULL THEN 'invalid' WHEN j.answer IS NOT NULL THEN j.answer
                    WHEN p.met OR p.first <> j.ord THEN 'joined' ELSE 'inserted' END AS answer
        FROM generate_series(1, cardinality(urls)) AS t (ord)
        LEFT JOIN judged j ON j.ord = t.ord LEFT JOIN placed p ON p.key = j.key AND j.answer IS NULL
    )
    SELECT array_agg(a.answer ORDER BY a.ord), array_agg(a.id ORDER BY a.ord), array_agg(DISTINCT a.id) FILTER (WHERE a.met),
           ARRAY[count(*) FILTER (WHERE a.answer = 'blocked'), count(*) FILTER (WHERE a.answer = 'invalid'),
                 count(*) FILTER (WHERE a.answer = 'joined'), count(*) FILTER (WHERE a.answer = 'fresh')]
    INTO answers, jobs, joined, counts FROM answered a;

    IF joined IS NOT NULL THEN
        PERFORM larder_data.promote_joined(joined, due);
    END IF;

    INSERT INTO larder_data.batch_delta (batch_id, total, succeeded, failed, blocked, invalid, joined, fresh)
    VALUES (b.id, cardinality(urls), counts[4], counts[1] + counts[2], counts[1], counts[2], counts[3], counts[4]);

    IF counts[1] + counts[2] + counts[4] = 0 THEN
        RETURN QUERY
        SELECT a.ord::int, a.url, a.answer, a.job, NULL, NULL::int, NULL FROM unnest(urls, answers, jobs) WITH ORDINALITY AS a (url, answer, job, ord);
        RETURN;
    END IF;

    -- Some ended here and now: 0 is blocked, 1 to 6 are what is wrong with a URL, 7 is fresh.
    SELECT array_agg(CASE a.answer WHEN 'blocked' THEN 0 WHEN 'fresh' THEN 7 WHEN 'invalid' THEN e.faults[a.ord] END ORDER BY a.ord) INTO faults
    FROM unnest(answers) WITH ORDINALITY AS a (answer, ord), larder_data.validate(urls) AS e;
    WITH ended AS MATERIALIZED (
        SELECT a.url, a.answer, f.domain, f.code, f.message
        FROM unnest(urls, answers, faults) WITH ORDINALITY AS a (url, answer, fault, ord) JOIN larder_data.refusal f ON f.fault = a.fault
        ORDER BY a.ord
    ), record AS (
        INSERT INTO larder_data.item_history (id, batch_id, pipeline_id, code, outcome, reason, url, domain, message)
        SELECT nextval('larder_data.item_id'), b.id, CASE e.answer WHEN 'blocked' THEN pipeline_no END, e.code, CASE e.answer WHEN 'fresh' THEN 1 ELSE 2 END,
               e.answer, CASE e.answer WHEN 'blocked' THEN e.url ELSE left(coalesce(e.url, ''), 2000) END, e.domain, e.message
        FROM ended e
    )
    INSERT INTO larder_data.batch_detail_delta (batch_id, n, code, domain)
    SELECT b.id, count(*), e.code, e.domain FROM ended e WHERE e.answer <> 'fresh' GROUP BY e.domain, e.code;
    RETURN QUERY
    SELECT a.ord::int, a.url, a.answer, a.job, f.domain, f.code, f.message
    FROM unnest(urls, answers, jobs, faults) WITH ORDINALITY AS a (url, answer, job, fault, ord)
    LEFT JOIN larder_data.refusal f ON f.fault = a.fault AND a.answer <> 'fresh'
    ORDER BY a.ord;
END $$;
COMMENT ON FUNCTION larder.enqueue_many IS
    'Enqueues up to 10,000 URLs, inside the caller''s transaction; per URL in order: inserted, joined, fresh, blocked or invalid, and the job. Priority 0 first to 9; max_attempts 4 by default; options are SDWebImage''s bits, of which RetryFailed (1) passes the blocklist. fresh_for: a URL whose files were stored so lately with this pipeline, the same context and the same options (as far as they change what is stored), in the cache of that id, is answered fresh; nobody looks whether they lie there still. source, source_from: the list that the URLs are from, and how many of it came before; see larder.batch_source.';

CREATE FUNCTION larder.enqueue(
    url text, batch text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL, options bigint DEFAULT 0, context json DEFAULT NULL, max_attempts int DEFAULT NULL,
    retry_base interval DEFAULT NULL, queue text DEFAULT 'default', batch_id bigint DEFAULT NULL,
    fresh_for interval DEFAULT NULL, cache_id text DEFAULT NULL
) RETURNS TABLE (answer text, job_id bigint, domain text, code int, message text)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT e.answer, e.job_id, e.domain, e.code, e.message
    FROM larder.enqueue_many(
        ARRAY[url], batch, pipeline, priority, run_at, options, context, max_attempts, retry_base, queue, batch_id, fresh_for, cache_id) AS e;
END $$;
COMMENT ON FUNCTION larder.enqueue IS 'Enqueues one URL; as larder.enqueue_many.';
