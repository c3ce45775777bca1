-- Checks of an enqueue: its URLs' origins, keys and faults, and its other arguments.

-- Identity of a live job: url_hash, then the pipeline's id.
CREATE FUNCTION larder_data.job_key(url text, pipeline_id int) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE
RETURN substring(sha256(convert_to(url, 'UTF8')) FROM 1 FOR 16) || int4send(pipeline_id);

-- Errors of items that end at enqueue: 0 blocked, 1 to 6 and 8 the faults of larder_data.validate, 7 fresh (no error).
CREATE VIEW larder_data.enqueue_error (fault, domain, code, message) AS VALUES
    (0, 'SDWebImageErrorDomain', 1003, 'the URL is blocked; larder blocklist list says why and until when'),
    (1, 'SDWebImageErrorDomain', 1000, 'the URL is empty'),
    (2, 'SDWebImageErrorDomain', 1000, 'the URL is longer than 8192 bytes'),
    (3, 'SDWebImageErrorDomain', 1000, 'the URL has a control character or bytes that are not UTF-8'),
    (4, 'SDWebImageErrorDomain', 1000, 'the URL has no scheme'),
    (5, 'NSURLErrorDomain', -1002, 'the scheme is not http, https, s3, gs or file'),
    (6, 'SDWebImageErrorDomain', 1000, 'the URL has no usable host (at most 255 bytes), or a port out of range'),
    (7, NULL, NULL, NULL),
    (8, 'SDWebImageErrorDomain', 1000, 'a file: URL is file:// and an absolute path, escaped: file:///data/a%20b.jpg');

-- Each URL's origin, or its fault, a number of larder_data.enqueue_error. Backslashes need E'': otherwise they depend
-- on standard_conforming_strings.
--
-- Stages are materialised because the planner would otherwise repeat each expression at each use. PL/pgSQL keeps the
-- plan, which halves the cost for one URL.
CREATE FUNCTION larder_data.validate(urls text[], OUT origins text[], OUT faults smallint[])
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    WITH parsed AS MATERIALIZED (
        -- Userinfo, up to the last @, is not part of an origin.
        SELECT t.ord, t.url, lower(left(t.url, c.colon - 1) COLLATE "C") AS scheme, lower(regexp_replace(
            split_part(split_part(split_part(substr(t.url, c.colon + 3), '/', 1), '?', 1), '#', 1), '^.*@', '')
            COLLATE "C") AS host
        FROM unnest(urls) WITH ORDINALITY AS t (url, ord),
            LATERAL (SELECT nullif(strpos(t.url, '://'), 0) AS colon) AS c
    ), split AS MATERIALIZED (
        SELECT p.*, p.scheme IN ('http', 'https', 's3', 'gs', 'file') AS is_known,
            CASE WHEN strpos(p.host, ':') = 0 THEN ARRAY[nullif(p.host, '')]
            ELSE regexp_match(p.host, E'^(\\[[0-9a-f:.]+\\]|[^:\\[\\]]+)(?::([0-9]{1,5})?)?$') END AS named
        FROM parsed p
    ), verdict AS MATERIALIZED (
        SELECT s.ord, o.origin,
            (CASE
                WHEN coalesce(s.url, '') = '' THEN 1
                WHEN octet_length(s.url) > 8192 THEN 2
                WHEN s.url ~ E'[\\x01-\\x1f\\x7f\\ufffd]' THEN 3
                WHEN o.origin IS NOT NULL THEN NULL
                WHEN s.url ~* '^file:' THEN 8
                WHEN s.is_known OR s.url ~* '^https?:' THEN 6
                WHEN s.url ~ '^[A-Za-z][A-Za-z0-9+.-]*:' THEN 5
                ELSE 4
            END)::smallint AS fault
        FROM split s CROSS JOIN LATERAL (SELECT s.scheme || '://' || CASE
            WHEN s.scheme = 'file' THEN CASE WHEN s.host IN ('', 'localhost') THEN '' END
            WHEN NOT s.is_known OR octet_length(s.host) > 255 OR strpos(s.host, ' ') > 0 THEN NULL
            WHEN s.named[2] IS NULL THEN s.named[1] || CASE s.scheme WHEN 'http' THEN ':80' WHEN 'https' THEN ':443'
                ELSE '' END
            WHEN s.named[2]::int BETWEEN 1 AND 65535 THEN s.named[1] || ':' || s.named[2]::int END AS origin) AS o
    )
    SELECT array_agg(CASE WHEN v.fault IS NULL THEN v.origin END ORDER BY v.ord), array_agg(v.fault ORDER BY v.ord)
    INTO origins, faults FROM verdict v;
END $$;

-- A call has few different sites, so validate runs once per site. A URL in an unusual spelling (another scheme,
-- capitals in it) is its own site.
CREATE FUNCTION larder_data.site(url text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE WHEN starts_with(url, 'https://') THEN 'https://' || split_part(url, '/', 3)
            WHEN starts_with(url, 'http://') THEN 'http://' || split_part(url, '/', 3)
            WHEN starts_with(url, 'file:///') THEN 'file://'
            WHEN starts_with(url, 's3://') OR starts_with(url, 'gs://') THEN left(url, 5) || split_part(url, '/', 3)
            ELSE url END;

CREATE FUNCTION larder_data.origin_or_null(url text) RETURNS text
LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT v.origins[1] FROM larder_data.validate(ARRAY[larder_data.site(url)]) AS v;
END;

CREATE FUNCTION larder_data.origin_name(url text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    name text := larder_data.origin_or_null(url);
BEGIN
    PERFORM larder_data.refuse(
        'not an origin: ' || coalesce(left(url, 200), 'NULL'), 'such as https://example.com') WHERE name IS NULL;
    RETURN name;
END $$;

-- Per URL its origin's id and its job's key, NULL if invalid. Adds missing origins, and protects origins and pipeline
-- from the purge; waits for no other producer doing so.
CREATE FUNCTION larder_data.identify(urls text[], pipeline_id int, OUT origin_ids int[], OUT keys bytea[])
LANGUAGE plpgsql AS $$
DECLARE
    site_of text[] := ARRAY(SELECT larder_data.site(u.url) FROM unnest(urls) AS u (url));
    sites text[] := ARRAY(SELECT DISTINCT u.site FROM unnest(site_of) AS u (site) WHERE u.site IS NOT NULL);
    origins text[] := (SELECT v.origins FROM larder_data.validate(sites) v);
    names text[] := ARRAY(SELECT DISTINCT u.name FROM unnest(origins) AS u (name) WHERE u.name IS NOT NULL ORDER BY 1);
    today CONSTANT date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
    -- The anti-join is needed because ON CONFLICT alone uses up an id for each known origin. Ordered by name, so that
    -- two calls cannot deadlock.
    INSERT INTO larder_data.origin (name)
    SELECT d.name FROM unnest(names) AS d (name)
    WHERE NOT EXISTS (SELECT FROM larder_data.origin o WHERE o.name = d.name)
    ORDER BY d.name ON CONFLICT (name) DO NOTHING;
    WITH named AS MATERIALIZED (
        SELECT o.id, o.name, o.used_on FROM larder_data.origin o WHERE o.name = ANY (names)
    ), used AS (
        UPDATE larder_data.origin o SET used_on = today WHERE o.id = ANY (ARRAY(
            SELECT x.id FROM larder_data.origin x
            WHERE x.id = ANY (ARRAY(SELECT n.id FROM named n WHERE n.used_on < today - 7)) FOR UPDATE SKIP LOCKED))
    ), used_pipeline AS (
        UPDATE larder_data.pipeline p SET used_on = today WHERE p.id = ANY (ARRAY(
            SELECT x.id FROM larder_data.pipeline x
            WHERE x.id = identify.pipeline_id AND x.used_on < today - 7 FOR UPDATE SKIP LOCKED))
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

-- The id of a URL's origin, added if missing.
CREATE FUNCTION larder_data.origin_of(url text) RETURNS int
LANGUAGE sql AS $$ SELECT i.origin_ids[1] FROM larder_data.identify(ARRAY[larder_data.origin_name(url)], 0) AS i $$;

-- Through jsonb, which refuses some texts that json accepts: a worker in another language may have written them.
CREATE FUNCTION larder_data.is_all_stored(stored json) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN coalesce(jsonb_path_match(stored::jsonb,
        'exists ($[*]) && !exists ($[*] ? (!exists (@.path ? (@.type() == "string" && @ != ""))))'), false);
EXCEPTION WHEN data_exception THEN
    RETURN false;
END $$;

-- The cache with this id; without one the only cache filled by workers of the last day, if any.
CREATE FUNCTION larder_data.find_cache(cache text) RETURNS int
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    used int[] := ARRAY(
        SELECT c.id FROM larder_data.cache c WHERE c.name = find_cache.cache
        UNION SELECT w.cache_id FROM larder_data.current_worker w WHERE cache IS NULL AND w.cache_id IS NOT NULL);
BEGIN
    PERFORM larder_data.refuse(format('workers fill %s caches: cache_id is needed for fresh_for', cardinality(used)))
    WHERE cardinality(used) > 1;
    RETURN used[1];
END $$;

CREATE FUNCTION larder_data.option_bits(options jsonb) RETURNS bigint
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    -- The bits of SDWebImageOptions 5.21.5, from the lowest.
    names CONSTANT text[] := '{retryfailed,lowpriority,progressiveload,refreshcached,continueinbackground,handlecookies,
        allowinvalidsslcertificates,highpriority,delayplaceholder,transformanimatedimage,avoidautosetimage,
        scaledownlargeimages,querymemorydata,querymemorydatasync,querydiskdatasync,fromcacheonly,fromloaderonly,
        forcetransition,avoiddecodeimage,decodefirstframeonly,preloadallframes,matchanimatedimageclass,waitstorecache,
        transformvectorimage,avoidautocancelimage,waittransition}'::text[];
    bits bigint;
BEGIN
    IF jsonb_typeof(options) = 'number' THEN
        RETURN options::bigint;
    END IF;
    PERFORM larder_data.refuse('options are a number of bits or a list of names')
    WHERE jsonb_typeof(options) <> 'array';
    SELECT bit_or(CASE WHEN array_position(names, lower(n.name)) IS NOT NULL
        THEN 1::bigint << (array_position(names, lower(n.name)) - 1) ELSE -1 END) INTO bits
    FROM jsonb_array_elements_text(options) AS n (name);
    PERFORM larder_data.refuse('unknown option in ' || left(options::text, 200),
        'names as in SDWebImageOptions, such as retryFailed, refreshCached') WHERE bits < 0;
    RETURN coalesce(bits, 0);
END $$;

CREATE FUNCTION larder_data.check_enqueue(
    urls text[], template larder_data.job, priority int, max_attempts int, at timestamptz, retry_base interval,
    fresh_for interval, metas json[], on_running text
) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM larder_data.refuse(CASE
        WHEN cardinality(urls) > 10000 THEN 'at most 10000 URLs a call, not ' || cardinality(urls)
        WHEN array_ndims(urls) > 1 THEN 'urls has more than one dimension'
        WHEN priority NOT BETWEEN 0 AND 9 THEN 'a priority is 0 to 9, not ' || priority
        WHEN max_attempts NOT BETWEEN 1 AND 100 THEN 'max_attempts is 1 to 100, not ' || max_attempts
        WHEN retry_base NOT BETWEEN interval '0' AND interval '20 days' THEN 'retry_base is 0 to 20 days'
        WHEN NOT isfinite(at) OR NOT isfinite(template.not_after) THEN 'at or not_after is infinite'
        WHEN octet_length(template.context::text) > 65536 THEN 'a context has at most 65536 bytes'
        WHEN fresh_for NOT BETWEEN interval '0' AND interval '100 years' THEN 'fresh_for is 0 to 100 years'
        WHEN on_running NOT IN ('join', 'again') THEN 'on_running is join or again'
        WHEN template.traceparent !~ '^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$'
        THEN 'a traceparent has the form of W3C Trace Context: 00-, 32, 16 and 2 hexadecimal digits in lower case'
        WHEN cardinality(metas) <> cardinality(urls) THEN 'metas has ' || cardinality(metas) || ' elements, urls '
            || cardinality(urls)
        WHEN EXISTS (SELECT FROM unnest(metas) AS m (meta)
            WHERE json_typeof(m.meta) <> 'object' OR octet_length(m.meta::text) > 4096)
        THEN 'a meta is a JSON object of at most 4096 bytes' END);
    -- json accepts escapes and numbers that nothing can read, but maintenance reads them again. jsonb refuses them.
    IF template.context IS NOT NULL OR metas IS NOT NULL THEN
        PERFORM template.context::jsonb, (SELECT count(m.meta::jsonb) FROM unnest(metas) AS m (meta));
    END IF;
END $$;
