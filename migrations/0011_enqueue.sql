-- Enqueue.
--
-- It runs in the caller's transaction. A call is a few statements over arrays, which are cheap per URL.
--
-- Live jobs of the keys are joined by rows that are folded into them later, without a lock, see joins.sql; the others
-- are inserted. Two calls that insert the same key meet at the unique index, and the later one starts over and joins.
-- (ON CONFLICT DO UPDATE would do both, and costs 15 % more.) Keys are inserted in order, so that two calls cannot
-- deadlock.

CREATE FUNCTION larder_data.job_key(url text, pipeline_id int) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN substring(sha256(convert_to(url, 'UTF8')) FROM 1 FOR 16) || int4send(pipeline_id);
COMMENT ON FUNCTION larder_data.job_key IS 'Identity of a live job: url_hash, then the id of the pipeline.';

CREATE TABLE larder_data.enqueue_error (
    fault smallint PRIMARY KEY,
    domain text,
    code int,
    message text
);
COMMENT ON TABLE larder_data.enqueue_error IS
    'Errors of items that end at enqueue: 0 blocked, 1 to 6 the faults of larder_data.validate, 7 fresh (no error).';
INSERT INTO larder_data.enqueue_error VALUES
    (0, 'SDWebImageErrorDomain', 1003, 'the URL is blocked; larder blocklist list says why and until when'),
    (1, 'SDWebImageErrorDomain', 1000, 'the URL is empty'),
    (2, 'SDWebImageErrorDomain', 1000, 'the URL is longer than 8192 bytes'),
    (3, 'SDWebImageErrorDomain', 1000, 'the URL has a control character or bytes that are not UTF-8'),
    (4, 'SDWebImageErrorDomain', 1000, 'the URL has no scheme'),
    (5, 'NSURLErrorDomain', -1002, 'the scheme is not http, https, s3 or gs'),
    (6, 'SDWebImageErrorDomain', 1000, 'the URL has no usable host, or a port out of range'),
    (7, NULL, NULL, NULL);

-- E'' where there are backslashes: without it they mean what standard_conforming_strings says.
--
-- Stages are materialised because the planner would otherwise repeat each expression at each use. PL/pgSQL because it
-- keeps the plan, which is half the cost for one URL.
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
        -- Userinfo, up to the last @, is no part of an origin.
        SELECT s.ord, s.url, s.scheme, lower(regexp_replace(s.authority, '^.*@', '') COLLATE "C") AS host,
            CASE s.scheme WHEN 'http' THEN ':80' WHEN 'https' THEN ':443' ELSE '' END AS port
        FROM schemed s WHERE s.scheme IN ('http', 'https', 's3', 'gs')
    ), judged AS MATERIALIZED (
        SELECT h.ord, h.scheme || '://' || CASE
            WHEN h.host = '' OR strpos(h.host, ' ') > 0 THEN NULL
            WHEN strpos(h.host, ':') = 0 THEN h.host || h.port
            WHEN h.host ~ E'^(\\[[0-9a-f:.]+\\]|[^:\\[\\]]+):?$' THEN rtrim(h.host, ':') || h.port
            WHEN h.host ~ E'^(\\[[0-9a-f:.]+\\]|[^:\\[\\]]+):[0-9]{1,5}$' THEN
                CASE WHEN substring(h.host FROM '[0-9]+$')::int BETWEEN 1 AND 65535
                    THEN regexp_replace(h.host, ':0*([0-9]+)$', E':\\1') END
            END AS origin
        FROM hosted h
    ), verdict AS (
        SELECT g.ord, j.origin,
            (CASE
                WHEN coalesce(g.url, '') = '' THEN 1
                WHEN octet_length(g.url) > 8192 THEN 2
                WHEN g.url ~ E'[\\x01-\\x1f\\x7f\\ufffd]' THEN 3
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
COMMENT ON FUNCTION larder_data.validate IS
    'The origin of each URL, or its fault, a number of larder_data.enqueue_error.';

-- A call has few different sites, so that validate runs on each of them once. A URL in an unusual spelling (another
-- scheme, capitals in it) is its own site.
CREATE FUNCTION larder_data.site(url text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN starts_with(url, 'https://') THEN 'https://' || split_part(url, '/', 3)
            WHEN starts_with(url, 'http://') THEN 'http://' || split_part(url, '/', 3)
            WHEN starts_with(url, 's3://') THEN 's3://' || split_part(url, '/', 3)
            WHEN starts_with(url, 'gs://') THEN 'gs://' || split_part(url, '/', 3) ELSE url END;
COMMENT ON FUNCTION larder_data.site IS 'The part of a URL that determines its origin.';

CREATE FUNCTION larder_data.identify(urls text[], pipeline_id int, OUT origin_ids int[], OUT keys bytea[])
LANGUAGE plpgsql AS $$
DECLARE
    site_of text[] := ARRAY(SELECT larder_data.site(u.url) FROM unnest(urls) AS u (url));
    sites text[] := ARRAY(SELECT DISTINCT u.site FROM unnest(site_of) AS u (site) WHERE u.site IS NOT NULL);
    origins text[] := (SELECT v.origins FROM larder_data.validate(sites) v);
BEGIN
    -- The anti-join is there because ON CONFLICT alone uses up an id for each known origin. In order of names, so that
    -- two calls cannot deadlock.
    BEGIN
        INSERT INTO larder_data.origin (name)
        SELECT d.name FROM (SELECT DISTINCT u.name FROM unnest(origins) AS u (name) WHERE u.name IS NOT NULL) AS d
        WHERE NOT EXISTS (SELECT FROM larder_data.origin o WHERE o.name = d.name)
        ORDER BY d.name ON CONFLICT (name) DO NOTHING;
    EXCEPTION WHEN serialization_failure THEN
        -- Above READ COMMITTED: another call has added one of them, and the snapshot does not show it.
        NULL;
    END;

    WITH named AS MATERIALIZED (
        SELECT o.id, o.name FROM larder_data.origin o
        WHERE o.name = ANY (ARRAY(SELECT DISTINCT u.name FROM unnest(origins) AS u (name) WHERE u.name IS NOT NULL))
    ), known AS MATERIALIZED (
        SELECT s.site, n.id FROM unnest(sites, origins) AS s (site, origin) LEFT JOIN named n ON n.name = s.origin
        WHERE s.origin IS NOT NULL
    )
    SELECT array_agg(CASE WHEN g.is_valid THEN g.id END),
        array_agg(CASE WHEN g.is_valid THEN larder_data.job_key(g.url, pipeline_id) END)
    INTO origin_ids, keys FROM (
        SELECT t.url, k.id, k.site IS NOT NULL
            AND octet_length(t.url) <= 8192 AND t.url !~ E'[\\x01-\\x1f\\x7f\\ufffd]' AS is_valid
        FROM unnest(urls, site_of) WITH ORDINALITY AS t (url, site, ord) LEFT JOIN known k ON k.site = t.site
        ORDER BY t.ord
    ) AS g;
END $$;
COMMENT ON FUNCTION larder_data.identify IS
    'The origin id and job key of each URL, both NULL for an invalid one. Adds missing origins. Above READ COMMITTED '
    'the id is also NULL where another call has added an origin that the snapshot does not show.';

-- Through jsonb, which refuses some texts that json accepts: a worker in another language may have written them.
CREATE FUNCTION larder_data.is_all_stored(stored json) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN coalesce(jsonb_path_match(stored::jsonb,
        'exists ($[*]) && !exists ($[*] ? (!exists (@.path ? (@.type() == "string" && @ != ""))))'), false);
EXCEPTION WHEN data_exception THEN
    RETURN false;
END $$;
COMMENT ON FUNCTION larder_data.is_all_stored IS
    'Whether a record of stored files has at least one, each with its path.';

CREATE FUNCTION larder_data.find_cache(cache text) RETURNS int
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    used int[];
BEGIN
    IF cache IS NOT NULL THEN
        RETURN (SELECT c.id FROM larder_data.cache c WHERE c.name = find_cache.cache);
    END IF;
    used := ARRAY(SELECT DISTINCT w.cache_id FROM larder_data.current_worker w WHERE w.cache_id IS NOT NULL);
    IF cardinality(used) > 1 THEN
        RAISE EXCEPTION 'workers fill % caches: cache_id is needed for fresh_for', cardinality(used)
            USING ERRCODE = '22023';
    END IF;
    RETURN used[1];
END $$;
COMMENT ON FUNCTION larder_data.find_cache IS
    'The cache of an id; without one the only cache that workers of the last day filled, if any.';

CREATE FUNCTION larder_data.answer_at_once(
    template larder_data.job, urls text[], keys bytea[], fresh_for interval, cache_no int,
    OUT answers text[], OUT left_keys bytea[]
)
LANGUAGE plpgsql AS $$
DECLARE
    -- Bits that do not change what is stored: RetryFailed 1, LowPriority 2, RefreshCached 8, HighPriority 128,
    -- FromCacheOnly 32768, FromLoaderOnly 65536.
    ignored_options CONSTANT bigint := 98443;
    -- RetryFailed (1) passes the blocks of failures, not those of an operator.
    retries_failed boolean := template.options & 1 = 1;
    checks_blocklist boolean := EXISTS (SELECT FROM larder_data.blocklist);
BEGIN
    IF NOT checks_blocklist AND cache_no IS NULL THEN
        left_keys := keys;
        RETURN;
    END IF;
    SELECT array_agg(g.answer), array_agg(CASE WHEN g.answer IS NULL THEN g.key END) INTO answers, left_keys FROM (
        SELECT t.key, CASE
            WHEN t.key IS NULL THEN NULL
            WHEN checks_blocklist AND EXISTS (
                SELECT FROM larder_data.blocklist b
                WHERE b.url_hash = substring(t.key FOR 16)
                    AND CASE WHEN retries_failed THEN b.operator_until ELSE b.until END > now() OFFSET 0) THEN 'blocked'
            WHEN cache_no IS NOT NULL AND EXISTS (
                SELECT FROM larder_data.job_history h
                WHERE hashtextextended(h.url, 0) = hashtextextended(t.url, 0) AND h.url = t.url
                    AND h.outcome = 1 AND h.cache_id IS NOT NULL AND h.cache_id = cache_no
                    AND h.finished_at > now() - fresh_for AND h.pipeline_id = template.pipeline_id
                    AND (h.options # template.options) & ~ignored_options = 0
                    AND h.context::text IS NOT DISTINCT FROM template.context::text
                    AND larder_data.is_all_stored(h.stored)) THEN 'fresh'
            END AS answer
        FROM unnest(urls, keys) WITH ORDINALITY AS t (url, key, ord) ORDER BY t.ord
    ) AS g;
END $$;
COMMENT ON FUNCTION larder_data.answer_at_once IS
    'Which URLs are blocked or fresh, and the keys without theirs.';

CREATE FUNCTION larder_data.insert_jobs(
    template larder_data.job, due timestamptz, urls text[], keys bytea[], origin_ids int[], live_keys bytea[],
    metas json[],
    OUT jobs bigint[], OUT are_new boolean[]
)
LANGUAGE plpgsql AS $$
DECLARE
    before bigint := larder_data.turns_before(template);
BEGIN
    WITH new AS (
        SELECT k.key, min(k.ord) AS ord, count(*) AS items FROM unnest(keys) WITH ORDINALITY AS k (key, ord)
        WHERE k.key IS NOT NULL AND k.key NOT IN (SELECT unnest(live_keys)) GROUP BY k.key
    ), turns AS (
        -- Origins take turns, so that one of them does not fill the head of the queue.
        SELECT n.*, g.url, g.origin_id, g.meta, row_number() OVER (PARTITION BY g.origin_id ORDER BY g.ord) AS turn
        FROM new n JOIN unnest(urls, origin_ids, metas) WITH ORDINALITY AS g (url, origin_id, meta, ord) USING (ord)
    ), numbered AS MATERIALIZED (
        SELECT nextval('larder_data.job_id') AS id, t.* FROM (SELECT * FROM turns x ORDER BY x.turn, x.ord) AS t
    ), to_job AS (
        INSERT INTO larder_data.job (id, batch_id, options, pipeline_id, origin_id, items, retry_base_ms, queue_id,
            priority, max_attempts, key, url, context, meta)
        SELECT n.id, template.batch_id, template.options, template.pipeline_id, n.origin_id, n.items,
            template.retry_base_ms, template.queue_id, template.priority, template.max_attempts, n.key, n.url,
            template.context, n.meta
        FROM numbered n ORDER BY n.key
    ), to_ready AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id, turn)
        SELECT template.queue_id, template.priority, n.id, before + row_number() OVER (ORDER BY n.id)
        FROM numbered n WHERE due IS NULL
    ), to_new_ready AS (
        INSERT INTO larder_data.new_ready (queue_id, priority, job_id, turn)
        SELECT template.queue_id, template.priority, min(n.id), before + 1
        FROM numbered n WHERE due IS NULL HAVING count(*) > 0
    ), to_scheduled AS (
        INSERT INTO larder_data.scheduled (run_at, job_id) SELECT due, n.id FROM numbered n WHERE due IS NOT NULL
    )
    SELECT array_agg(p.id), array_agg(p.is_new) INTO jobs, are_new FROM (
        SELECT n.id, n.ord IS NOT DISTINCT FROM k.ord AS is_new
        FROM unnest(keys) WITH ORDINALITY AS k (key, ord) LEFT JOIN numbered n USING (key) ORDER BY k.ord) AS p;
END $$;
COMMENT ON FUNCTION larder_data.insert_jobs IS
    'Inserts a job for each key that is neither NULL nor live. Per URL: the job, and whether it is the first of it.';

CREATE FUNCTION larder_data.record_ended_items(
    template larder_data.job, urls text[], answers text[], metas json[], OUT faults smallint[]
)
LANGUAGE plpgsql AS $$
BEGIN
    SELECT array_agg(CASE a.answer WHEN 'blocked' THEN 0 WHEN 'fresh' THEN 7 ELSE a.fault END ORDER BY a.n) INTO faults
    FROM larder_data.validate(urls) AS v, unnest(answers, v.faults) WITH ORDINALITY AS a (answer, fault, n);
    WITH ended AS MATERIALIZED (
        SELECT a.url, a.meta, f.* FROM unnest(urls, faults, metas) WITH ORDINALITY AS a (url, fault, meta, ord)
        JOIN larder_data.enqueue_error f ON f.fault = a.fault ORDER BY a.ord
    ), record AS (
        INSERT INTO larder_data.item_history (id, batch_id, pipeline_id, code, outcome, reason, url, meta, domain,
            message)
        SELECT nextval('larder_data.item_id'), template.batch_id,
            CASE e.fault WHEN 0 THEN template.pipeline_id END, e.code, CASE e.fault WHEN 7 THEN 1 ELSE 2 END,
            CASE e.fault WHEN 0 THEN 'blocked' WHEN 7 THEN 'fresh' ELSE 'invalid' END,
            CASE WHEN e.fault IN (0, 7) THEN e.url ELSE left(coalesce(e.url, ''), 2000) END, e.meta,
            e.domain, e.message
        FROM ended e
    )
    INSERT INTO larder_data.batch_detail_delta (batch_id, n, code, domain)
    SELECT template.batch_id, count(*), e.code, e.domain FROM ended e WHERE e.fault <> 7 GROUP BY e.domain, e.code;
END $$;
COMMENT ON FUNCTION larder_data.record_ended_items IS
    'Records the items that are blocked, fresh or invalid, and returns the row of larder_data.enqueue_error of each.';

CREATE FUNCTION larder_data.check_enqueue(
    urls text[], priority int, run_at timestamptz, context json, max_attempts int, retry_base interval,
    fresh_for interval, metas json[]
) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    fault text := CASE
        WHEN cardinality(urls) > 10000 THEN 'at most 10000 URLs a call, not ' || cardinality(urls)
        WHEN array_ndims(urls) > 1 THEN 'urls has more than one dimension'
        WHEN priority NOT BETWEEN 0 AND 9 THEN 'a priority is 0 to 9, not ' || priority
        WHEN max_attempts NOT BETWEEN 1 AND 100 THEN 'max_attempts is 1 to 100, not ' || max_attempts
        WHEN retry_base < interval '0' THEN 'retry_base is negative'
        WHEN NOT isfinite(run_at) THEN 'run_at is infinite'
        WHEN octet_length(context::text) > 65536 THEN 'a context has at most 65536 bytes'
        WHEN fresh_for < interval '0' THEN 'fresh_for is negative'
        WHEN cardinality(metas) <> cardinality(urls) THEN 'metas has ' || cardinality(metas) || ' elements, urls '
            || cardinality(urls)
        WHEN EXISTS (SELECT FROM unnest(metas) AS m (meta)
            WHERE json_typeof(m.meta) <> 'object' OR octet_length(m.meta::text) > 4096)
        THEN 'a meta is a JSON object of at most 4096 bytes' END;
BEGIN
    IF fault IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING ERRCODE = '22023';
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.check_enqueue IS 'Refuses arguments of enqueue that are out of range.';

-- The planner takes an array for 100 elements and would join 10,000 by 10,000 in nested loops, or read a table 10,000
-- times that was empty when the plan was made. The answers keep the order of the arrays, because nested loops do.
CREATE FUNCTION larder.enqueue_many(
    urls text[], batch text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL, options bigint DEFAULT 0, context json DEFAULT NULL, max_attempts int DEFAULT NULL,
    retry_base interval DEFAULT NULL, queue text DEFAULT 'default', fresh_for interval DEFAULT NULL,
    cache_id text DEFAULT NULL, source text DEFAULT NULL, source_from bigint DEFAULT 0, metas json[] DEFAULT NULL
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
    n record;
    faults smallint[];
BEGIN
    PERFORM larder_data.check_enqueue(urls, enqueue_many.priority, enqueue_many.run_at, enqueue_many.context,
        enqueue_many.max_attempts, enqueue_many.retry_base, fresh_for, metas);
    b := CASE WHEN enqueue_many.batch IS NULL THEN larder_data.daily_batch(enqueue_many.queue)
        ELSE larder_data.batch_for_enqueue(enqueue_many.batch, enqueue_many.pipeline, enqueue_many.priority,
            enqueue_many.queue) END;
    template.batch_id := b.id;
    template.queue_id := b.queue_id;
    template.pipeline_id := coalesce(CASE WHEN enqueue_many.pipeline IS NULL THEN b.pipeline_id END,
        larder_data.find_pipeline(coalesce(enqueue_many.pipeline, 'original')));
    template.priority := coalesce(enqueue_many.priority, b.priority, 4);
    template.options := enqueue_many.options;
    template.context := enqueue_many.context;
    template.max_attempts := coalesce(enqueue_many.max_attempts, 4);
    template.retry_base_ms := CASE WHEN enqueue_many.retry_base IS NOT NULL
        THEN least(extract(epoch FROM enqueue_many.retry_base) * 1000, 2147483647) END;
    IF coalesce(cardinality(urls), 0) = 0 THEN
        RETURN;
    ELSIF source IS NOT NULL THEN
        PERFORM larder_data.advance_source(b.id, source, source_from, urls);
    END IF;
    ids := larder_data.identify(urls, template.pipeline_id);
    early := larder_data.answer_at_once(template, urls, ids.keys, fresh_for,
        CASE WHEN fresh_for IS NOT NULL THEN larder_data.find_cache(enqueue_many.cache_id) END);
    put := larder_data.put_jobs(template, nullif(greatest(enqueue_many.run_at, now()), now()), urls, early.left_keys,
        ids.origin_ids, metas, current_setting('transaction_isolation') <> 'serializable');
    SELECT count(*) AS total, count(*) FILTER (WHERE a.key IS NULL) AS invalid,
        count(*) FILTER (WHERE a.early = 'blocked') AS blocked, count(*) FILTER (WHERE a.early = 'fresh') AS fresh,
        count(*) FILTER (WHERE a.is_new IS NOT TRUE AND a.key IS NOT NULL AND a.early IS NULL) AS joined
    INTO n FROM unnest(ids.keys, early.answers, put.are_new) AS a (key, early, is_new);
    INSERT INTO larder_data.batch_delta (batch_id, total, succeeded, failed, blocked, invalid, joined, fresh)
    VALUES (b.id, n.total, n.fresh, n.blocked + n.invalid, n.blocked, n.invalid, n.joined, n.fresh);
    IF n.invalid + n.blocked + n.fresh > 0 THEN
        PERFORM larder_data.ensure_today();
        faults := larder_data.record_ended_items(template, urls, early.answers, metas);
    END IF;
    RETURN QUERY
    SELECT a.n::int, a.url, CASE WHEN a.early IS NOT NULL THEN a.early WHEN a.is_new THEN 'inserted'
        WHEN a.fault IS NOT NULL THEN 'invalid' ELSE 'joined' END, a.job, f.domain, f.code, f.message
    FROM unnest(urls, early.answers, put.are_new, put.jobs, faults)
        WITH ORDINALITY AS a (url, early, is_new, job, fault, n)
    LEFT JOIN LATERAL (SELECT * FROM larder_data.enqueue_error x WHERE x.fault = a.fault OFFSET 0) AS f ON true;
END $$;
COMMENT ON FUNCTION larder.enqueue_many IS
    'Enqueues up to 10,000 URLs in the caller''s transaction. Returns per URL, in order, inserted, joined, fresh, '
    'blocked or invalid, and the job. batch: name or id. priority 0 (first) to 9. max_attempts: 4 by default. options: '
    'SDWebImage''s bits; RetryFailed (1) passes the blocks of failures. fresh_for: a URL that was stored within this '
    'time with the same pipeline, context and options in the cache of cache_id is answered fresh; the cache itself is '
    'not read. source, source_from: the list that the URLs are from and how many of it came before, see '
    'larder.batch_source. metas: per URL a JSON object of at most 4,096 bytes, or NULL, for records and reports.';

CREATE FUNCTION larder.enqueue(
    url text, batch text DEFAULT NULL, pipeline text DEFAULT NULL, priority int DEFAULT NULL,
    run_at timestamptz DEFAULT NULL, options bigint DEFAULT 0, context json DEFAULT NULL, max_attempts int DEFAULT NULL,
    retry_base interval DEFAULT NULL, queue text DEFAULT 'default', fresh_for interval DEFAULT NULL,
    cache_id text DEFAULT NULL, meta json DEFAULT NULL
) RETURNS TABLE (answer text, job_id bigint, domain text, code int, message text)
LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY
    SELECT e.answer, e.job_id, e.domain, e.code, e.message
    FROM larder.enqueue_many(ARRAY[url], batch, pipeline, priority, run_at, options, context, max_attempts, retry_base,
        queue, fresh_for, cache_id, metas => CASE WHEN meta IS NOT NULL THEN ARRAY[meta] END) AS e;
END $$;
COMMENT ON FUNCTION larder.enqueue IS 'Enqueues one URL, as larder.enqueue_many.';
