-- Tables and functions of the dashboard. An operator's change through it is recorded with the user's name given by a
-- proxy. Changes by command and SQL are in the database's log (log_statement = 'mod').

CREATE TABLE larder_data.action (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    login text NOT NULL DEFAULT session_user,
    actor text,
    verb text NOT NULL,
    target text,
    error text
);
COMMENT ON TABLE larder_data.action IS 'See larder.action.';

-- Recorded before the change, in a separate transaction, so that no change lacks a record.
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
    'Changes through the dashboard in the last 90 days: by whom (actor, else the login), what, and why it failed. '
    'ORDER BY action DESC.';

-- The dashboard's queries of history. Each function reads a bounded number of index entries from a given position.
-- Their plans are kept, because planning for all partitions of history takes longer than reading; the settings prevent
-- the planner from sorting what an index has in order, which it may prefer for a plan made without the limits.

CREATE FUNCTION larder.newest_failures(
    batch_id bigint, portion int, before_time timestamptz DEFAULT 'infinity',
    before_number bigint DEFAULT 9223372036854775807, only_items boolean DEFAULT false
) RETURNS SETOF larder.record
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    IF newest_failures.batch_id IS NULL THEN
        RETURN QUERY
        SELECT r.* FROM larder_data.any_record r
        WHERE r.outcome = 'failed' AND r.retried_as IS NULL AND r.discarded_at IS NULL AND r.items > 0
          AND r.finished_at <= before_time AND (r.finished_at, r.number) < (before_time, before_number)
        ORDER BY r.finished_at DESC, r.number DESC LIMIT portion;
    ELSE
        RETURN QUERY
        SELECT r.* FROM larder_data.any_record r
        WHERE r.outcome = 'failed' AND r.retried_as IS NULL AND r.discarded_at IS NULL AND r.items > 0
          AND r.batch_id = newest_failures.batch_id AND r.number < before_number
          AND (r.kind = 'item' OR NOT only_items)
        ORDER BY r.number DESC LIMIT portion;
    END IF;
END $$;
COMMENT ON FUNCTION larder.newest_failures IS
    'The failures of all batches by time, or of one by number, before a place, the newest first, without those that '
    'were retried or discarded.';

CREATE FUNCTION larder.batch_jobs(
    batch_id bigint, portion int, before_job bigint DEFAULT 9223372036854775807
) RETURNS SETOF larder.record
LANGUAGE plpgsql STABLE
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET enable_sort = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT r.* FROM larder_data.any_record r
    WHERE r.batch_id = batch_jobs.batch_id AND r.kind = 'job' AND r.number < before_job
    ORDER BY r.number DESC LIMIT portion;
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
LANGUAGE sql STABLE AS $$
    SELECT u.id, q.ms[1], q.ms[2], larder_data.top_errors(u.id)
    FROM unnest(batch_ids) AS u (id), LATERAL (SELECT larder_data.quantiles(u.id, '{0.5,0.95}') OFFSET 0) AS q (ms)
    WHERE larder_data.reads_all() OR EXISTS (
        SELECT FROM larder_data.batch b WHERE b.id = u.id AND larder_data.acts_as(b.owner))
$$;
COMMENT ON FUNCTION larder.progress_details IS 'The columns of larder.progress that cost a query for each batch.';
