-- The blocklist: URLs not downloaded for a while after a final failure, or blocked by an operator. An operator's block
-- is no failure: it does not lengthen the next failure's block.

CREATE TABLE larder_data.blocklist (
    url_hash bytea PRIMARY KEY,
    until timestamptz NOT NULL,
    operator_until timestamptz,
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    fails int NOT NULL DEFAULT 1,
    code int,
    http_status int,
    worker_limit bigint,
    url text NOT NULL,
    domain text,
    message text
) WITH (fillfactor = 80);
COMMENT ON TABLE larder_data.blocklist IS
    'Failed URLs (SDWebImage''s failedURLs), blocked until a time. operator_until: the part of it that an operator '
    'set, which no option passes and no success ends. worker_limit: the limit of memory or time that a worker had when '
    'the image exceeded it; a worker with a higher one is not blocked. Expired rows are kept for a while, because the '
    'next block of the same URL lasts twice as long.';

-- Identity of a URL: 128 bits of SHA-256 of its bytes. STABLE, because convert_to is: only so does Postgres inline it.
CREATE FUNCTION larder_data.url_hash(url text) RETURNS bytea
LANGUAGE sql STABLE PARALLEL SAFE RETURN substring(sha256(convert_to(url, 'UTF8')) FROM 1 FOR 16);

-- Ends the blocks of failures after a download with RetryFailed, as SDWebImage does. An operator's block stays. Skips a
-- locked row: its holder decides on that URL.
CREATE FUNCTION larder_data.unblock(urls text[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    found tid[] := ARRAY(
        SELECT y.ctid FROM larder_data.blocklist y
        WHERE y.url_hash = ANY (ARRAY(SELECT larder_data.url_hash(u.url) FROM unnest(urls) AS u (url)))
        FOR UPDATE SKIP LOCKED);
BEGIN
    DELETE FROM larder_data.blocklist x
    WHERE x.ctid = ANY (found) AND coalesce(x.operator_until, '-infinity') <= clock_timestamp();
    UPDATE larder_data.blocklist x SET until = x.operator_until, fails = 0
    WHERE x.ctid = ANY (found) AND x.operator_until > clock_timestamp();
END $$;

CREATE FUNCTION larder.block_many(urls text[], ttl interval DEFAULT '24 hours', reason text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    blocked bigint;
BEGIN
    PERFORM larder_data.refuse(CASE
        WHEN cardinality(urls) > 10000 THEN 'at most 10000 URLs a call, not ' || cardinality(urls)
        WHEN EXISTS (SELECT FROM unnest(urls) AS u (url)
            WHERE coalesce(octet_length(u.url), 0) NOT BETWEEN 1 AND 8192) THEN 'a URL has 1 to 8192 bytes'
        WHEN coalesce(ttl NOT BETWEEN interval '1 ms' AND interval '100 years', true)
        THEN 'the duration of a block is positive, at most 100 years, not ' || coalesce(ttl::text, 'NULL') END);
    INSERT INTO larder_data.blocklist AS x (url_hash, until, operator_until, fails, code, url, domain, message)
    SELECT h.hash, now() + ttl, now() + ttl, 0, 1003, min(h.url), 'SDWebImageErrorDomain',
        left(coalesce(reason, 'the URL was blocked by an operator'), 2000)
    FROM (SELECT larder_data.url_hash(u.url) AS hash, u.url FROM unnest(urls) AS u (url)) AS h
    GROUP BY h.hash ORDER BY h.hash
    ON CONFLICT (url_hash) DO UPDATE SET
        until = greatest(x.until, excluded.until),
        operator_until = greatest(x.operator_until, excluded.operator_until), last_at = now(), http_status = NULL,
        worker_limit = NULL, domain = excluded.domain, code = excluded.code,
        -- An operator's block repeated without a reason keeps the reason.
        message = CASE WHEN reason IS NULL AND x.operator_until IS NOT NULL THEN x.message ELSE excluded.message END;
    GET DIAGNOSTICS blocked = ROW_COUNT;
    RETURN blocked;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked('the block of a URL', 'larder_data.blocklist');
END $$;
COMMENT ON FUNCTION larder.block_many IS
    'Blocks up to 10,000 URLs; a block that lasts longer already keeps its end. Answers how many URLs. Running jobs '
    'continue; the others are claimed as blocked and fail with 1003, also with RetryFailed.';

CREATE FUNCTION larder.block_url(url text, ttl interval DEFAULT '24 hours', reason text DEFAULT NULL) RETURNS void
LANGUAGE sql AS $$ SELECT larder.block_many(ARRAY[url], ttl, reason) $$;
COMMENT ON FUNCTION larder.block_url IS 'Blocks one URL, see larder.block_many.';

CREATE FUNCTION larder.unblock_url(url text) RETURNS boolean
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    was_blocked boolean;
BEGIN
    DELETE FROM larder_data.blocklist b WHERE b.url_hash = larder_data.url_hash(unblock_url.url)
    RETURNING b.until > now() INTO was_blocked;
    RETURN coalesce(was_blocked, false);
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('the block of %s', url), 'larder_data.blocklist');
END $$;
COMMENT ON FUNCTION larder.unblock_url IS
    'Removes a URL and its count of failures from the blocklist; answers whether it was blocked.';

CREATE FUNCTION larder.unblock_portion(portion int DEFAULT 10000, OUT unblocked bigint, OUT is_last boolean)
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
BEGIN
    WITH removed AS (
        DELETE FROM larder_data.blocklist b WHERE b.url_hash = ANY (ARRAY(
            SELECT x.url_hash FROM larder_data.blocklist x ORDER BY x.url_hash LIMIT portion FOR UPDATE))
        RETURNING b.until
    )
    SELECT count(*) FILTER (WHERE r.until > now()), count(*) < portion INTO unblocked, is_last FROM removed r;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked('the block of a URL', 'larder_data.blocklist');
END $$;
COMMENT ON FUNCTION larder.unblock_portion IS
    'Removes at most `portion` rows of the blocklist, expired ones included, and answers how many URLs were blocked. '
    'See larder.unblock_all.';

CREATE FUNCTION larder.blocklist_page(after bytea, portion int) RETURNS TABLE (
    url_hash bytea, url text, until timestamptz, fails int, domain text, code int, message text, http_status int
)
LANGUAGE sql STABLE AS $$
    SELECT b.url_hash, b.url, b.until, b.fails, b.domain, b.code, b.message, b.http_status FROM larder_data.blocklist b
    WHERE b.url_hash > after AND b.until > now() ORDER BY b.url_hash LIMIT portion
$$;
COMMENT ON FUNCTION larder.blocklist_page IS
    'One page of the blocklist in the order of url_hash; after: the last one of the page before, ''\x'' for the '
    'first.';
