-- What the dashboard needs of the database.
--
-- What operators change through it is recorded with the name that a proxy gives its
-- user. Changes by command and SQL are in the log of the database (log_statement = 'mod').

CREATE TABLE larder_data.action (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    login text NOT NULL DEFAULT session_user,
    actor text,
    verb text NOT NULL,
    target text,
    error text
);
COMMENT ON TABLE larder_data.action IS
    'Changes that were asked for through the dashboard, for 90 days. login: of the database; actor: whom a proxy '
    'named; error: why it failed.';

-- Recorded before the change, in a transaction of its own, so that no change is without a record.
CREATE FUNCTION larder.action_begin(actor text, verb text, target text) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    INSERT INTO larder_data.action AS a (actor, verb, target)
    VALUES (left(action_begin.actor, 200), left(action_begin.verb, 200), left(action_begin.target, 2000))
    RETURNING a.id
$$;
COMMENT ON FUNCTION larder.action_begin IS 'Records a change that is about to be made; answers its number.';

CREATE FUNCTION larder.action_failed(action bigint, error text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    UPDATE larder_data.action a SET error = left(action_failed.error, 2000) WHERE a.id = action_failed.action
$$;
COMMENT ON FUNCTION larder.action_failed IS 'Records that a change was refused or failed.';

CREATE VIEW larder.action AS
SELECT a.id AS action, a.at, a.login, a.actor, a.verb, a.target, a.error FROM larder_data.action a;
COMMENT ON VIEW larder.action IS
    'What was changed through the dashboard in the last 90 days: by whom (actor, else the login), what, and why it '
    'failed. ORDER BY action DESC.';

-- One failure, from the page of the failures of all batches.
CREATE FUNCTION larder.discard(job bigint) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    ended larder_data.job_history;
    b larder_data.batch;
BEGIN
    SELECT * INTO ended FROM larder_data.job_history h WHERE h.job_id = discard.job;
    IF NOT FOUND OR ended.outcome <> 2 THEN
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
    'Discards the failure of one job, as larder.batch_discard_failed does. Answers how many items of its batch, 0 '
    'where it was retried or discarded before.';

-- What the dashboard shows of all batches. Each reads an index from one place on, a bounded number of its entries.
-- Their plans are kept, because planning for all partitions of history takes longer than reading; the settings keep the
-- planner from sorting what an index has in order, which it may prefer for a plan that is made without the limits.

CREATE FUNCTION larder.find_failures(
    batch_id bigint, domain text, code int, origin text, url_part text, before_time timestamptz, before_number bigint,
    before_kind int, portion int, searched int
) RETURNS TABLE (
    finished_at timestamptz, number bigint, kind int, matches boolean, place bigint, batch bigint, batch_name text,
    url text, error_domain text, error_code int, message text, http_status int, attempts int
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH found AS (
        -- Of all batches by time.
        (SELECT h.finished_at, h.job_id AS number, 1 AS kind, h.batch_id, h.origin_id, h.url, h.domain, h.code,
            h.message, h.http_status, h.attempt FROM larder_data.job_history h
         WHERE find_failures.batch_id IS NULL AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL
           AND h.items > 0 AND h.finished_at <= before_time
           AND (h.finished_at, h.job_id, 1) < (before_time, before_number, before_kind)
         ORDER BY h.finished_at DESC, h.job_id DESC LIMIT searched)
        UNION ALL
        (SELECT i.finished_at, i.id, 0, i.batch_id, NULL, i.url, i.domain, i.code, i.message, NULL, i.attempt
         FROM larder_data.item_history i
         WHERE find_failures.batch_id IS NULL AND i.outcome = 2 AND i.retried_as IS NULL AND i.discarded_at IS NULL
           AND i.items > 0 AND i.finished_at <= before_time
           AND (i.finished_at, i.id, 0) < (before_time, before_number, before_kind)
         ORDER BY i.finished_at DESC, i.id DESC LIMIT searched)
        UNION ALL
        -- Of one batch by number.
        (SELECT h.finished_at, h.job_id, 1, h.batch_id, h.origin_id, h.url, h.domain, h.code, h.message,
            h.http_status, h.attempt FROM larder_data.job_history h
         WHERE h.batch_id = find_failures.batch_id AND h.outcome = 2 AND h.retried_as IS NULL
           AND h.discarded_at IS NULL AND h.items > 0 AND h.job_id <= before_number
           AND (h.job_id, 1) < (before_number, before_kind)
         ORDER BY h.job_id DESC LIMIT searched)
        UNION ALL
        (SELECT i.finished_at, i.id, 0, i.batch_id, NULL, i.url, i.domain, i.code, i.message, NULL, i.attempt
         FROM larder_data.item_history i
         WHERE i.batch_id = find_failures.batch_id AND i.outcome = 2 AND i.retried_as IS NULL
           AND i.discarded_at IS NULL AND i.items > 0 AND i.id <= before_number
           AND (i.id, 0) < (before_number, before_kind)
         ORDER BY i.id DESC LIMIT searched)
    ), placed AS (
        SELECT f.*, row_number() OVER (ORDER BY CASE WHEN find_failures.batch_id IS NULL THEN f.finished_at END DESC,
            f.number DESC, f.kind DESC) AS place FROM found f
    ), named AS (
        SELECT p.*, (find_failures.domain IS NULL OR p.domain = find_failures.domain AND p.code = find_failures.code)
            AND strpos(lower(p.url), lower(url_part)) > 0 AND (find_failures.origin = '' OR strpos(coalesce(
                (SELECT o.name FROM larder_data.origin o WHERE o.id = p.origin_id), p.url), find_failures.origin) > 0)
            AS matches
        FROM placed p WHERE p.place <= searched
    )
    SELECT n.finished_at, n.number, n.kind, n.matches, n.place, n.batch_id, b.name, n.url, n.domain, n.code,
        n.message, n.http_status, n.attempt::int
    FROM (SELECT x.* FROM named x WHERE x.matches OR x.place = searched ORDER BY x.place LIMIT portion + 1) AS n
    LEFT JOIN larder_data.batch b ON b.id = n.batch_id ORDER BY n.place;
END $$;
COMMENT ON FUNCTION larder.find_failures IS
    'The failures of all batches, or of one, that were neither retried nor discarded, before a place, the newest '
    'first: kind 1 a job, whose id is number, 0 an item without a job of its batch. At most `searched` are looked at; '
    'the last of these, with place = searched, is in the answer also when it does not match. origin and url_part: '
    'parts of these.';

CREATE FUNCTION larder.origin_activity(portion int) RETURNS TABLE (
    origin text, jobs bigint, failed bigint, per_minute float8, fetch_ms int, bytes_in bigint, error_domain text,
    error_code int, errors bigint
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH job AS MATERIALIZED (
        -- The partitions are whole days, so that the inner query stops at its limit without reading rows that a time
        -- would exclude. It takes ten times as many jobs as are wanted: some of them ended more than an hour ago.
        SELECT n.* FROM (
            SELECT h.origin_id, h.outcome, h.domain, h.code, h.fetch_ms, h.bytes_in, h.finished_at
            FROM larder_data.job_history h
            WHERE h.finished_at >= date_trunc('day', statement_timestamp() - interval '1 h', 'UTC')
              AND h.finished_at < date_trunc('day', statement_timestamp() + interval '25 h', 'UTC')
            ORDER BY h.job_id DESC LIMIT portion::bigint * 10) AS n
        WHERE n.finished_at > statement_timestamp() - interval '1 h' LIMIT portion
    ), error AS (
        SELECT DISTINCT ON (e.origin_id) e.* FROM (
            SELECT j.origin_id, j.domain, j.code, count(*) AS n FROM job j WHERE j.outcome = 2
            GROUP BY j.origin_id, j.domain, j.code) AS e
        ORDER BY e.origin_id, e.n DESC, e.domain, e.code
    ), busiest AS (
        SELECT j.origin_id, count(*) AS jobs, count(*) FILTER (WHERE j.outcome = 2) AS failed,
            (count(*) * 60 / greatest(extract(epoch FROM statement_timestamp() - min(j.finished_at)), 60))::float8
                AS per_minute,
            percentile_disc(0.5) WITHIN GROUP (ORDER BY j.fetch_ms) AS ms, sum(j.bytes_in)::bigint AS bytes_in
        FROM job j GROUP BY j.origin_id ORDER BY count(*) DESC, j.origin_id LIMIT 100
    )
    SELECT o.name, b.jobs, b.failed, b.per_minute, b.ms, b.bytes_in, e.domain, e.code, coalesce(e.n, 0)
    FROM busiest b JOIN larder_data.origin o ON o.id = b.origin_id LEFT JOIN error e ON e.origin_id = b.origin_id
    ORDER BY b.jobs DESC, o.name;
END $$;
COMMENT ON FUNCTION larder.origin_activity IS
    'The 100 busiest origins of the newest jobs that ended within an hour, at most `portion` of them, found among the '
    'newest ten times as many: jobs and failed ones, jobs per minute, the median time of a download, and the most '
    'frequent error with its number.';

-- The columns of larder.progress that cost a query per batch, of many batches in one.
CREATE FUNCTION larder.progress_details(batch_ids bigint[]) RETURNS TABLE (
    batch_id bigint, p50_ms numeric, p95_ms numeric, top_errors json
)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH detail AS MATERIALIZED (
        SELECT x.batch_id, x.domain, x.code, sum(x.n) AS n FROM (
            SELECT f.* FROM unnest(batch_ids) AS u (id), LATERAL (
                SELECT d.batch_id, d.domain, d.code, d.n FROM larder_data.batch_detail d
                WHERE d.batch_id = u.id OFFSET 0) AS f
            UNION ALL SELECT d.batch_id, NULL, d.duration_class, d.jobs FROM larder_data.new_entry d
            WHERE d.batch_id = ANY (batch_ids) AND d.duration_class IS NOT NULL
            UNION ALL SELECT d.batch_id, d.domain, d.code, d.n FROM larder_data.new_error d
            WHERE d.batch_id = ANY (batch_ids)
        ) AS x GROUP BY x.batch_id, x.domain, x.code HAVING sum(x.n) > 0
    ), class AS (
        SELECT d.batch_id, d.code, d.n, sum(d.n) OVER (PARTITION BY d.batch_id ORDER BY d.code) AS until,
            sum(d.n) OVER (PARTITION BY d.batch_id) AS total
        FROM detail d WHERE d.domain IS NULL
    ), quantile AS (
        -- As in larder_data.quantiles.
        SELECT c.batch_id, s.share, round(power(2, (c.code + 1 - (c.until - s.share * c.total) / c.n) / 2), 1) AS ms
        FROM class c, unnest('{0.5,0.95}'::numeric[]) AS s (share)
        WHERE c.until >= s.share * c.total AND c.until - c.n < s.share * c.total
    ), times AS (
        SELECT q.batch_id, max(q.ms) FILTER (WHERE q.share = 0.5) AS p50, max(q.ms) FILTER (WHERE q.share = 0.95) AS p95
        FROM quantile q GROUP BY q.batch_id
    ), error AS (
        SELECT d.batch_id, d.domain, d.code, d.n::bigint AS n,
            row_number() OVER (PARTITION BY d.batch_id ORDER BY d.n DESC, d.domain, d.code) AS place
        FROM detail d WHERE d.domain IS NOT NULL
    ), errors AS (
        SELECT e.batch_id, json_agg(json_build_object('domain', e.domain, 'code', e.code, 'n', e.n)
            ORDER BY e.place) AS list
        FROM error e WHERE e.place <= 5 GROUP BY e.batch_id
    )
    SELECT u.id, t.p50, t.p95, coalesce(e.list, '[]') FROM unnest(batch_ids) AS u (id)
    LEFT JOIN times t ON t.batch_id = u.id LEFT JOIN errors e ON e.batch_id = u.id;
END $$;
COMMENT ON FUNCTION larder.progress_details IS
    'p50_ms, p95_ms and top_errors of larder.progress for many batches, in one pass.';

-- The functions below look at a number of jobs of a batch, from a place on, and not for a number of jobs that count:
-- between two of these there may be any number of others.

CREATE FUNCTION larder.batch_images(batch_id bigint, before_job bigint, portion int, searched int) RETURNS TABLE (
    place bigint, job_id bigint, url text, variant text, key text, format text, width int, height int, bytes bigint
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT j.place, j.job_id, j.url, f.name, f.key, f.format, f.width, f.height, f.bytes
    FROM (
        SELECT p.* FROM (
            SELECT n.*, row_number() OVER () AS place FROM (
                SELECT h.job_id, h.url, h.outcome, h.stored FROM larder_data.job_history h
                WHERE h.batch_id = batch_images.batch_id AND h.job_id < before_job
                ORDER BY h.job_id DESC LIMIT searched) AS n) AS p
        WHERE p.outcome = 1 OR p.place = searched LIMIT portion) AS j
    LEFT JOIN LATERAL json_to_recordset(j.stored) AS f (
        name text, key text, path text, format text, width int, height int, bytes bigint)
        ON f.path IS NOT NULL AND j.outcome = 1;
END $$;
COMMENT ON FUNCTION larder.batch_images IS
    'The files of the newest jobs of a batch that succeeded, before a job, at most `portion` of them among at most '
    '`searched` jobs. place: of the job among these. A job without files has a row with variant and key NULL, and so '
    'has the last one that was looked at.';

CREATE FUNCTION larder.batch_jobs(batch_id bigint, portion int) RETURNS TABLE (
    number bigint, url text, outcome smallint, domain text, code int, message text, http_status int, items int,
    finished_at timestamptz, retried_as bigint, discarded_at timestamptz, origin text, wait_ms int, fetch_ms int,
    transcode_ms int, store_ms int, bytes_in bigint
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT h.job_id, h.url, h.outcome, h.domain, h.code, h.message, h.http_status, h.items, h.finished_at,
        h.retried_as, h.discarded_at, (SELECT o.name FROM larder_data.origin o WHERE o.id = h.origin_id), h.wait_ms,
        h.fetch_ms, h.transcode_ms, h.store_ms, h.bytes_in
    FROM larder_data.job_history h WHERE h.batch_id = batch_jobs.batch_id ORDER BY h.job_id DESC LIMIT portion;
END $$;
COMMENT ON FUNCTION larder.batch_jobs IS
    'The newest completed jobs of a batch, those that were retried included.';

CREATE FUNCTION larder.batch_failed_items(batch_id bigint, portion int) RETURNS TABLE (
    number bigint, url text, domain text, code int, message text, items int
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT i.id, i.url, i.domain, i.code, i.message, i.items FROM larder_data.item_history i
    WHERE i.batch_id = batch_failed_items.batch_id AND i.outcome = 2 AND i.retried_as IS NULL AND i.discarded_at IS NULL
    ORDER BY i.id DESC LIMIT portion;
END $$;
COMMENT ON FUNCTION larder.batch_failed_items IS
    'The newest items of a batch that failed without a job of it, and were neither retried nor discarded.';

CREATE FUNCTION larder.batch_variants(batch_id bigint, portion int) RETURNS TABLE (
    name text, files bigint, made bigint, bytes bigint, originals bigint
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT v.name, count(*), count(*) FILTER (WHERE v.origin IN ('transcoded', 'copied')),
        coalesce(sum(v.bytes), 0)::bigint, coalesce(sum(v.original), 0)::bigint
    FROM (
        SELECT h.stored FROM larder_data.job_history h
        WHERE h.batch_id = batch_variants.batch_id ORDER BY h.job_id DESC LIMIT portion) AS n, LATERAL (
        -- A load may store variants alone.
        SELECT f.*, max(f.bytes) FILTER (WHERE f.name IS NULL) OVER () AS original
        FROM json_to_recordset(n.stored) AS f (name text, bytes bigint, path text, origin text)) AS v
    WHERE v.name IS NOT NULL AND v.path IS NOT NULL GROUP BY v.name ORDER BY v.name LIMIT 50;
END $$;
COMMENT ON FUNCTION larder.batch_variants IS
    'The files of the newest completed jobs of a batch by variant, how many of them were made, and the bytes of their '
    'originals.';
