-- Tables and functions of the dashboard.
--
-- An operator's change through the dashboard is recorded with the user's name that a proxy
-- gives. Changes by command and SQL are in the log of the database (log_statement = 'mod').

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
    VALUES (left(action_begin.actor, 200), left(coalesce(action_begin.verb, '?'), 200),
        left(action_begin.target, 2000))
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

-- The dashboard's queries of history. Each function reads an index from one place on, a bounded number of its entries.
-- Their plans are kept, because planning for all partitions of history takes longer than reading; the settings keep the
-- planner from sorting what an index has in order, which it may prefer for a plan that is made without the limits.

CREATE FUNCTION larder.newest_failures(
    batch_id bigint, portion int, before_time timestamptz DEFAULT 'infinity',
    before_number bigint DEFAULT 9223372036854775807, only_kind int DEFAULT NULL
) RETURNS TABLE (
    finished_at timestamptz, number bigint, kind int, batch bigint, batch_name text, url text, origin text,
    domain text, code int, message text, http_status int, attempts int, items int, traceparent text
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT f.finished_at, f.job_id, (NOT larder_data.is_item(f.job_id))::int, f.batch_id,
        (SELECT b.name FROM larder_data.batch b WHERE b.id = f.batch_id), f.url,
        (SELECT o.name FROM larder_data.origin o WHERE o.id = f.origin_id), f.domain, f.code, f.message,
        f.http_status, f.attempt::int, f.items, f.traceparent
    FROM (
        (SELECT x.* FROM larder_data.job_history x
         WHERE newest_failures.batch_id IS NULL AND x.outcome = 'failed' AND x.retried_as IS NULL
           AND x.discarded_at IS NULL AND x.items > 0 AND x.finished_at <= before_time
           AND (x.finished_at, x.job_id) < (before_time, before_number)
           AND larder_data.is_item(x.job_id) IS DISTINCT FROM (only_kind = 1)
         ORDER BY x.finished_at DESC, x.job_id DESC LIMIT portion)
        UNION ALL
        (SELECT x.* FROM larder_data.job_history x
         WHERE x.batch_id = newest_failures.batch_id AND x.outcome = 'failed' AND x.retried_as IS NULL
           AND x.discarded_at IS NULL AND x.items > 0 AND x.job_id < before_number
           AND larder_data.is_item(x.job_id) IS DISTINCT FROM (only_kind = 1)
         ORDER BY x.job_id DESC LIMIT portion)
    ) AS f
    ORDER BY CASE WHEN newest_failures.batch_id IS NULL THEN f.finished_at END DESC, f.job_id DESC;
END $$;
COMMENT ON FUNCTION larder.newest_failures IS
    'The failures of all batches by time, or of one by number, before a place, the newest first, without those that '
    'were retried or discarded. kind 1: a job, whose id is number; 0: an item without a job of its batch.';

CREATE FUNCTION larder.batch_jobs(
    batch_id bigint, portion int, before_job bigint DEFAULT 9223372036854775807
) RETURNS TABLE (
    number bigint, url text, outcome text, domain text, code int, message text, http_status int, items int,
    finished_at timestamptz, retried_as bigint, discarded_at timestamptz, origin text, wait_ms int,
    connection_wait_ms int, dns_ms int, fetch_ms int, transcoder_wait_ms int, transcode_ms int, store_ms int,
    bytes_in bigint, stored json
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT h.job_id, h.url, h.outcome::text, h.domain, h.code, h.message,
        h.http_status, h.items, h.finished_at, h.retried_as, h.discarded_at,
        (SELECT o.name FROM larder_data.origin o WHERE o.id = h.origin_id), h.wait_ms,
        h.connection_wait_ms, h.dns_ms, h.fetch_ms, h.transcoder_wait_ms, h.transcode_ms, h.store_ms,
        h.bytes_in, h.stored
    FROM larder_data.job_history h
    WHERE h.batch_id = batch_jobs.batch_id AND h.job_id < before_job AND NOT larder_data.is_item(h.job_id)
    ORDER BY h.job_id DESC LIMIT portion;
END $$;
COMMENT ON FUNCTION larder.batch_jobs IS
    'The newest completed jobs of a batch before one, those that were retried included.';

-- The partitions are whole days, so that the inner query stops at its limit without reading rows that a time would
-- exclude.
CREATE FUNCTION larder.recent_jobs(portion int) RETURNS TABLE (
    origin text, is_failed boolean, domain text, code int, fetch_ms int, bytes_in bigint, finished_at timestamptz
)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_sort = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    RETURN QUERY
    SELECT o.name, n.outcome = 'failed', n.domain, n.code, n.fetch_ms, n.bytes_in, n.finished_at
    FROM (
        SELECT * FROM larder_data.job_history h
        WHERE h.finished_at >= date_trunc('day', statement_timestamp() - interval '1 h', 'UTC')
          AND h.finished_at < date_trunc('day', statement_timestamp() + interval '25 h', 'UTC')
          AND NOT larder_data.is_item(h.job_id)
        ORDER BY h.job_id DESC LIMIT portion) AS n
    JOIN larder_data.origin o ON o.id = n.origin_id
    WHERE n.finished_at > statement_timestamp() - interval '1 h';
END $$;
COMMENT ON FUNCTION larder.recent_jobs IS
    'The newest completed jobs of all batches, at most `portion`, that ended within an hour.';

CREATE FUNCTION larder.progress_details(batch_ids bigint[]) RETURNS TABLE (
    batch_id bigint, p50_ms numeric, p95_ms numeric, top_errors json
)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT u.id, q.ms[1], q.ms[2], larder_data.top_errors(u.id, 5)
    FROM unnest(batch_ids) AS u (id), LATERAL (SELECT larder_data.quantiles(u.id, '{0.5,0.95}') OFFSET 0) AS q (ms)
    WHERE larder_data.reads_all() OR EXISTS (
        SELECT FROM larder_data.batch b WHERE b.id = u.id AND larder_data.acts_as(b.owner));
END $$;
COMMENT ON FUNCTION larder.progress_details IS 'The columns of larder.progress that cost a query for each batch.';
