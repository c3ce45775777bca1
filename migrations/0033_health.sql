-- Invariants, which larder.check() verifies, and the findings of health.

-- Reads everything, in the snapshot of the caller.
CREATE VIEW larder_data.broken_jobs AS
WITH state AS MATERIALIZED (
    SELECT r.job_id, 'ready' AS name FROM larder_data.ready r
    UNION ALL SELECT s.job_id, 'scheduled' FROM larder_data.scheduled s
    UNION ALL SELECT r.job_id, 'running' FROM larder_data.running r
    UNION ALL SELECT s.job_id, 'suspended' FROM larder_data.suspended s
)
SELECT 'a live job has exactly one state' AS invariant, j.id AS subject,
    coalesce(string_agg(s.name, ' and ' ORDER BY s.name), 'none') AS detail
FROM larder_data.job j LEFT JOIN state s ON s.job_id = j.id GROUP BY j.id HAVING count(s.name) <> 1
UNION ALL
SELECT 'a state belongs to a live job', s.job_id, s.name
FROM state s WHERE NOT EXISTS (SELECT FROM larder_data.job j WHERE j.id = s.job_id)
UNION ALL
SELECT 'a ready job is in its queue', r.job_id, 'queue ' || r.queue_id
FROM larder_data.ready r JOIN larder_data.job j ON j.id = r.job_id WHERE j.queue_id <> r.queue_id
UNION ALL
SELECT 'a running job is in its queue', r.job_id, 'queue ' || r.queue_id
FROM larder_data.running r JOIN larder_data.job j ON j.id = r.job_id WHERE j.queue_id <> r.queue_id
UNION ALL
SELECT 'the key of a job is the digest of its URL and pipeline', j.id, encode(j.key, 'hex')
FROM larder_data.job j WHERE j.key <> larder_data.job_key(j.url, j.pipeline_id)
UNION ALL
SELECT 'a subscription belongs to a live job with has_subscribers, and not to its own batch', s.job_id,
    'batch ' || s.batch_id
FROM larder_data.job_subscriber s LEFT JOIN larder_data.job j ON j.id = s.job_id
WHERE j.id IS NULL OR NOT j.has_subscribers OR j.batch_id = s.batch_id
UNION ALL
SELECT 'a running job belongs to a registered worker', r.job_id, 'worker ' || r.worker_id
FROM larder_data.running r WHERE NOT EXISTS (SELECT FROM larder_data.current_worker w WHERE w.id = r.worker_id)
UNION ALL
SELECT 'a job completes once', h.job_id, count(*) || ' records'
FROM larder_data.job_history h GROUP BY h.job_id HAVING count(*) > 1
UNION ALL
SELECT 'a completed job is not live', j.id, j.url
FROM larder_data.job j WHERE EXISTS (SELECT FROM larder_data.job_history h WHERE h.job_id = j.id);
COMMENT ON VIEW larder_data.broken_jobs IS 'Violated invariants of jobs.';

CREATE VIEW larder_data.broken_batches AS
WITH counted AS (
    SELECT x.batch_id, sum(x.items) FILTER (WHERE x.outcome IS NULL) AS open,
        sum(x.items) FILTER (WHERE x.outcome = 1) AS succeeded, sum(x.items) FILTER (WHERE x.outcome = 2) AS failed,
        sum(x.items) FILTER (WHERE x.outcome = 3) AS cancelled
    FROM (
        SELECT j.batch_id, j.items, NULL::smallint AS outcome FROM larder_data.job j
        UNION ALL SELECT s.batch_id, s.items, NULL FROM larder_data.job_subscriber s
        UNION ALL SELECT x.batch_id, x.items, NULL FROM larder_data.job_join x
        UNION ALL SELECT x.batch_id, cardinality(x.urls), NULL FROM larder_data.late_enqueue x
        UNION ALL SELECT h.batch_id, h.items, h.outcome FROM larder_data.job_history h WHERE h.retried_as IS NULL
        UNION ALL SELECT i.batch_id, i.items, i.outcome FROM larder_data.item_history i WHERE i.retried_as IS NULL
    ) AS x GROUP BY x.batch_id
), kept AS (
    -- Before this day history may be deleted, and cannot be counted.
    SELECT max(p.first_day) AS since FROM (
        SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC') AS first_day
        FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
        WHERE i.inhparent IN ('larder_data.job_history'::regclass, 'larder_data.item_history'::regclass)
        GROUP BY i.inhparent) AS p
), errors AS (
    SELECT x.batch_id, sum(x.n) AS n FROM (
        SELECT d.batch_id, d.n FROM larder_data.batch_detail d WHERE d.domain IS NOT NULL
        UNION ALL SELECT d.batch_id, d.n FROM larder_data.new_error d) AS x GROUP BY x.batch_id
)
SELECT 'the counts of a batch equal its records and live items' AS invariant, l.batch_id AS subject,
    format('counts open %s, succeeded %s, failed %s, cancelled %s; records %s, %s, %s, %s',
        l.open, l.succeeded, l.failed, l.cancelled, c.open, c.succeeded, c.failed, c.cancelled) AS detail
FROM larder_data.ledger l LEFT JOIN counted c USING (batch_id) CROSS JOIN LATERAL (
    -- The open items of a cancelled batch count as cancelled.
    SELECT l.cancelled_at IS NULL AS is_active, coalesce(c.open, 0) AS open) AS o
WHERE l.created_at >= (SELECT k.since FROM kept k)
  AND (l.open, l.succeeded, l.failed, l.cancelled) IS DISTINCT FROM (
      CASE WHEN o.is_active THEN o.open ELSE 0 END, coalesce(c.succeeded, 0), coalesce(c.failed, 0),
      coalesce(c.cancelled, 0) + CASE WHEN o.is_active THEN 0 ELSE o.open END)
UNION ALL
SELECT 'the errors counted are those of the failed items', l.batch_id,
    format('%s failed, %s errors', l.failed, coalesce(e.n, 0))
FROM larder_data.ledger l CROSS JOIN larder_data.settings s LEFT JOIN errors e USING (batch_id)
-- Details are deleted some time after the end of a batch.
WHERE l.failed <> coalesce(e.n, 0) AND coalesce(l.finished_at, now()) > now() - s.keep_history
UNION ALL
SELECT 'records belong to a batch', c.batch_id, 'unknown batch'
FROM counted c WHERE NOT EXISTS (SELECT FROM larder_data.batch b WHERE b.id = c.batch_id)
UNION ALL
SELECT 'a finished batch has no open item', l.batch_id, l.open || ' open'
FROM larder_data.ledger l WHERE l.finished_at IS NOT NULL AND l.open <> 0;
COMMENT ON VIEW larder_data.broken_batches IS 'Violated invariants of batches.';

CREATE FUNCTION larder.check() RETURNS TABLE (invariant text, subject bigint, detail text)
LANGUAGE sql STABLE SET jit = off AS $$ TABLE larder_data.broken_jobs UNION ALL TABLE larder_data.broken_batches $$;
COMMENT ON FUNCTION larder.check IS
    'Verifies the invariants of the queue in one snapshot; no rows: all hold. Reads everything.';

-- Findings of health. Cheap: they read statistics, catalogs and small tables, and count no jobs.

CREATE FUNCTION larder.worker_fault_v1(worker bigint, message text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM set_config('synchronous_commit', 'off', true);
    DELETE FROM larder_data.worker_fault f
    WHERE f.worker_id = worker_fault_v1.worker OR NOT EXISTS (
        SELECT FROM larder_data.current_worker w WHERE w.id = f.worker_id AND w.stopped_at IS NULL);
    INSERT INTO larder_data.worker_fault (worker_id, message)
    SELECT worker_fault_v1.worker, left(worker_fault_v1.message, 2000) WHERE worker_fault_v1.message IS NOT NULL;
END $$;
COMMENT ON FUNCTION larder.worker_fault_v1 IS
    'Says for larder.health what a worker lacks that every job needs, or which credential profile it cannot use; NULL '
    'when it has no fault any more.';

CREATE VIEW larder_data.health_of_work AS
SELECT 'error' AS severity, 'maintenance task fails' AS what,
    format('%s, since %s: %s', m.task, to_char(m.failed_at, 'YYYY-MM-DD HH24:MI:SS TZ'), m.last_error) AS detail,
    'correct what the error says; the task runs again when it is next due' AS hint
FROM larder_data.current_task m WHERE m.failed_at IS NOT NULL
UNION ALL
SELECT 'warning', 'maintenance is late',
    array_to_string((array_agg(m.purpose ORDER BY m.place))[1:3], ', ')
        || CASE WHEN count(*) > 3 THEN format(' and %s more tasks', count(*) - 3) ELSE '' END,
    'start a worker, or call larder.maintain() from cron; it may also wait for a lock'
FROM larder_data.current_task m
WHERE m.next_at + greatest(10 * m.every, interval '10 s') < clock_timestamp() AND m.kind IN ('urgent', 'routine')
  -- While no item is open, nothing waits for it.
  AND EXISTS (
      SELECT FROM larder_data.batch b, LATERAL (
          SELECT FROM larder_data.ledger x WHERE x.batch_id = b.id AND x.open > 0 OFFSET 0) AS l
      WHERE b.finished_at IS NULL)
HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'jobs are ready and no worker is live', format('queue %s', q.queue),
    CASE q.queue WHEN 'default' THEN 'start a worker: larder work'
        ELSE format('start a worker of this queue: larder work --queue %s', q.queue) END
FROM larder.queue q WHERE q.has_ready AND q.paused_at IS NULL AND q.live_workers = 0
UNION ALL
-- A worker with one slot has no job for a moment between two, so a queue of which jobs have just ended is served.
SELECT 'warning', 'jobs are ready and no worker claims them',
    format('queue %s, for %s s', q.queue, floor(extract(epoch FROM q.oldest_ready))),
    format('start a worker of this queue: larder work --queue %s; or see whether the live ones hang', q.queue)
FROM larder.queue q
WHERE q.has_ready AND q.paused_at IS NULL AND q.live_workers > 0 AND q.running = 0 AND q.limit_reached IS NULL
  AND q.oldest_ready > interval '20 s' AND NOT EXISTS (
      SELECT FROM larder_data.batch b JOIN larder_data.queue x ON x.id = b.queue_id AND x.name = q.queue
      JOIN larder_data.batch_total t ON t.batch_id = b.id
      WHERE b.finished_at IS NULL AND t.worked_at > clock_timestamp() - interval '20 s')
UNION ALL
SELECT 'error', 'a schedule fails', format('%s, at %s: %s', s.name, to_char(s.last_at, 'YYYY-MM-DD HH24:MI:SS TZ'),
    s.last_error),
    format('correct what the error says, then ''larder schedule run %s'' or larder.schedule_run() runs it now', s.name)
FROM larder_data.schedule s WHERE s.last_error IS NOT NULL AND s.waiting_for IS NULL AND s.paused_at IS NULL
UNION ALL
-- A run may well take longer than the time between two of them; an hour later it hardly ends by itself.
SELECT CASE WHEN s.next_at < clock_timestamp() - interval '1 hour' THEN 'warning' ELSE 'info' END,
    'a schedule waits',
    format('%s, since %s: %s', s.name, to_char(s.next_at, 'YYYY-MM-DD HH24:MI:SS TZ'), s.last_error),
    format('its run follows the end of batch %s: ''larder status %s'' or larder.progress says what that waits for, '
        '''larder cancel %s'' or larder.batch_cancel() ends it', s.waiting_for, s.waiting_for, s.waiting_for)
FROM larder_data.schedule s
WHERE s.waiting_for IS NOT NULL AND s.paused_at IS NULL AND NOT EXISTS (
    SELECT FROM larder_data.due_schedule d WHERE d.id = s.id)
UNION ALL
SELECT 'warning', 'a schedule is late', format('%s, since %s', s.name, to_char(s.next_at, 'YYYY-MM-DD HH24:MI:SS TZ')),
    'start a worker: larder work'
FROM larder_data.due_schedule s WHERE s.next_at < clock_timestamp() - interval '30 s' AND s.waiting_for IS NULL
UNION ALL
SELECT 'error', 'a webhook fails', format('batch %s, %s attempts: %s%s', w.batch_id, w.attempts, w.error,
        CASE WHEN w.due_at IS NULL THEN '; it is not tried again' END),
    'correct what the error says; larder.batch_on_finished() sets the URL again and sends at once'
FROM (SELECT x.* FROM larder_data.webhook x WHERE x.error IS NOT NULL AND x.delivered_at IS NULL
      ORDER BY x.batch_id DESC LIMIT 20) AS w
UNION ALL
SELECT 'warning', 'webhooks are not sent', format('%s%s, the first was due at %s', w.n,
        CASE WHEN w.n = 1000 THEN ' or more' END, to_char(w.due_at, 'YYYY-MM-DD HH24:MI:SS TZ')),
    'start a worker with --webhook-secret-file, docs/webhooks.md'
FROM (SELECT count(*) AS n, min(x.due_at) AS due_at FROM (
    SELECT y.due_at FROM larder_data.webhook y WHERE y.due_at < clock_timestamp() - interval '2 min' LIMIT 1000) AS x)
    AS w
WHERE w.n > 0
UNION ALL
SELECT 'info', 'a schedule is paused', format('%s, since %s', s.name, to_char(s.paused_at, 'YYYY-MM-DD HH24:MI:SS TZ')),
    format('''larder schedule resume %s'' or larder.schedule_resume() resumes it', s.name)
FROM larder_data.schedule s WHERE s.paused_at IS NOT NULL
UNION ALL
SELECT 'info', 'a queue is paused',
    format('queue %s, since %s by %s', q.name, to_char(q.paused_at, 'YYYY-MM-DD HH24:MI:SS TZ'), q.paused_by),
    format('''larder resume --queue %s'' or larder.queue_resume() resumes it', q.name)
FROM (SELECT x.* FROM larder_data.queue x WHERE x.paused_at IS NOT NULL ORDER BY x.paused_at LIMIT 20) AS q
UNION ALL
SELECT 'info', 'a batch is paused',
    format('%s, since %s by %s', coalesce(b.name, b.id::text), to_char(b.paused_at, 'YYYY-MM-DD HH24:MI:SS TZ'),
        b.paused_by),
    format('''larder resume %s'' or larder.batch_resume() resumes it', coalesce(b.name, b.id::text))
FROM (SELECT x.id, x.name, x.paused_at, x.paused_by FROM larder_data.batch x
      WHERE x.finished_at IS NULL AND x.paused_at IS NOT NULL AND x.cancelled_at IS NULL
      ORDER BY x.paused_at LIMIT 20) AS b
UNION ALL
SELECT 'info', 'a queue is at its limit',
    CASE q.limit_reached WHEN 'max_running' THEN format('queue %s, %s jobs run, max_running is %s', q.queue, q.running,
        q.max_running) ELSE format('queue %s, max_rate is %s jobs per second', q.queue, q.max_rate) END,
    format('its ready jobs wait for that; ''larder queue limit %s'' or larder.queue_limit() changes the limits',
        q.queue)
FROM larder.queue q WHERE q.has_ready AND q.paused_at IS NULL AND q.limit_reached IS NOT NULL
UNION ALL
SELECT 'warning', 'jobs have crashed',
    format('%s%s, lost with too many workers', s.n, CASE WHEN s.n = 1000 THEN ' or more' END),
    'find out why the workers die, then ''larder retry --job N'' or ''larder cancel --job N'', in SQL '
        'larder.retry(job) or larder.cancel(job)'
FROM (SELECT count(*) AS n FROM (SELECT FROM larder_data.suspended x WHERE x.reason = 'crashed' LIMIT 1000) AS x) AS s
WHERE s.n > 0
UNION ALL
SELECT 'warning', 'a worker has a fault of its own',
    format('%s on %s, since %s: %s', w.name, w.host, to_char(f.since, 'YYYY-MM-DD HH24:MI:SS TZ'), f.message),
    'correct what the message says; until then the worker returns the jobs that it concerns, with no attempt used'
FROM larder_data.worker_fault f JOIN larder_data.current_worker w ON w.id = f.worker_id
WHERE w.stopped_at IS NULL AND w.heartbeat_at + w.lease_ms * interval '1 ms' > clock_timestamp()
UNION ALL
SELECT 'warning', 'workers were lost', format('%s in the last day, last %s on %s', w.n, w.last[2], w.last[3]),
    'their jobs run again on other workers; find out why they ended without stopping: memory, kill -9, network'
FROM (
    SELECT count(*) AS n, max(ARRAY[to_char(x.heartbeat_at, 'YYYY-MM-DD HH24:MI:SS.US'), x.name, x.host]) AS last
    FROM larder_data.current_worker x
    WHERE x.stopped_at IS NULL AND x.heartbeat_at + x.lease_ms * interval '1 ms' < clock_timestamp()
      AND x.heartbeat_at > clock_timestamp() - interval '1 day') AS w
WHERE w.n > 0
UNION ALL
-- Only a sealed batch is ever finished. New entries of the ledger move folded_at.
SELECT 'warning', 'a batch is not sealed',
    format('%s%s, for example %s: no item is open, and none was added for a day', count(*),
        CASE WHEN count(*) = 1000 THEN ' or more' END, min(b.label)),
    'its producer may have ended early: larder.batch_seal(batch) if no URLs follow'
FROM (
    SELECT coalesce(format('"%s"', x.name), 'id ' || x.id) AS label
    FROM larder_data.batch x LEFT JOIN larder_data.batch_total t ON t.batch_id = x.id
    WHERE x.finished_at IS NULL AND x.sealed_at IS NULL AND x.cancelled_at IS NULL AND x.daily IS NULL
      AND coalesce(t.folded_at, x.created_at) < clock_timestamp() - interval '1 day'
      AND coalesce(t.total - t.succeeded - t.failed - t.cancelled, 0) = 0
      AND NOT EXISTS (SELECT FROM larder_data.new_entry d WHERE d.batch_id = x.id)
    LIMIT 1000) AS b
HAVING count(*) > 0
UNION ALL
SELECT 'warning', 'progress is slow', 'more than 100000 entries of counts are not added up',
    'see whether the maintenance task counts is late or fails'
WHERE EXISTS (SELECT FROM larder_data.new_entry OFFSET 100000)
   OR EXISTS (SELECT FROM larder_data.new_error OFFSET 100000)
UNION ALL
SELECT 'info', 'the blocklist is large', format('about %s URLs', c.reltuples::bigint),
    'see larder.blocklist; larder.unblock_url() removes a URL'
FROM pg_catalog.pg_class c WHERE c.oid = 'larder_data.blocklist'::regclass AND c.reltuples > 1000000;
COMMENT ON VIEW larder_data.health_of_work IS 'Findings of health about jobs, batches, workers and maintenance.';

-- What keeps vacuum from removing the rows that claims leave behind, and history.
CREATE VIEW larder_data.health_of_tables AS
WITH day AS (
    SELECT p.relname AS parent, max(to_date(right(c.relname, 8), 'YYYYMMDD')) AS last,
        min(to_date(right(c.relname, 8), 'YYYYMMDD')) AS first
    FROM pg_catalog.pg_class p JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace AND n.nspname = 'larder_data'
    LEFT JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid LEFT JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
    WHERE p.relkind = 'p' GROUP BY p.relname
)
SELECT 'warning' AS severity, 'a transaction holds vacuum back' AS what,
    format('pid %s, application %s, user %s, for %s s, %s', a.pid, coalesce(nullif(a.application_name, ''), '-'),
        a.usename, floor(extract(epoch FROM clock_timestamp() - a.xact_start)), a.state) AS detail,
    format('end it, or SELECT pg_terminate_backend(%s); see idle_in_transaction_session_timeout', a.pid) AS hint
FROM pg_catalog.pg_stat_activity a
WHERE a.datname = current_database() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
  AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
  AND a.xact_start < clock_timestamp() - (SELECT s.held_after FROM larder_data.settings s)
UNION ALL
SELECT 'warning', 'a prepared transaction holds vacuum back',
    format('%s, user %s, for %s s', p.gid, p.owner, floor(extract(epoch FROM clock_timestamp() - p.prepared))),
    format('COMMIT PREPARED %L or ROLLBACK PREPARED %L', p.gid, p.gid)
FROM pg_catalog.pg_prepared_xacts p WHERE p.database = current_database()
  AND p.prepared < clock_timestamp() - (SELECT s.held_after FROM larder_data.settings s)
UNION ALL
-- A slot has no time; its age is in transactions.
SELECT 'warning', 'a replication slot holds vacuum back',
    format('%s, %s, xmin %s transactions old', r.slot_name, CASE WHEN r.active THEN 'active' ELSE 'inactive' END,
        age(r.xmin)),
    'let its standby catch up, or drop the slot'
FROM pg_catalog.pg_replication_slots r WHERE r.xmin IS NOT NULL AND (NOT r.active OR age(r.xmin) > 100000)
UNION ALL
SELECT 'warning', 'a standby''s feedback holds vacuum back',
    format('pid %s, application %s, user %s, xmin %s transactions old', a.pid,
        coalesce(nullif(a.application_name, ''), '-'), a.usename, age(a.backend_xmin)),
    'end the long query on the standby, or set hot_standby_feedback = off there'
FROM pg_catalog.pg_stat_activity a
WHERE a.backend_type = 'walsender' AND a.backend_xmin IS NOT NULL AND age(a.backend_xmin) > 100000
UNION ALL
SELECT 'info', 'transactions of other sessions are not visible',
    format('user %s does not have the rights of pg_read_all_stats', current_user),
    format('GRANT pg_read_all_stats TO %I', current_user)
WHERE NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
UNION ALL
SELECT 'warning', 'dead rows pile up', format('%s in %s', s.n_dead_tup, s.relname),
    'see what holds vacuum back, and whether autovacuum runs'
FROM pg_catalog.pg_stat_all_tables s JOIN pg_catalog.pg_class c ON c.oid = s.relid
WHERE s.schemaname = 'larder_data' AND s.n_dead_tup > 50000 AND 'vacuum_truncate=off' = ANY (c.reloptions)
UNION ALL
SELECT 'error', 'autovacuum is off', s.name || ' = off', 'turn it on: without it tables grow without bound'
FROM pg_catalog.pg_settings s WHERE s.name IN ('autovacuum', 'track_counts') AND s.setting = 'off'
UNION ALL
SELECT 'error', 'autovacuum is off', c.relname || ' has autovacuum_enabled = off',
    format('ALTER TABLE larder_data.%I RESET (autovacuum_enabled)', c.relname)
FROM pg_catalog.pg_class c
WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = 'larder_data')
  AND c.reloptions && '{autovacuum_enabled=off,autovacuum_enabled=false,autovacuum_enabled=0}'
UNION ALL
SELECT 'info', 'no worker runs vacuum', 'no login of a live worker can act as the owner of the tables',
    'autovacuum and larder.maintain() do the work; at high rates GRANT the owner''s role to the workers'' login'
FROM larder_data.current_task m
WHERE m.kind = 'owner' AND m.next_at < clock_timestamp() - interval '5 min' AND EXISTS (
    SELECT FROM larder_data.live_worker w
    WHERE w.stopped_at IS NULL AND w.heartbeat_at + w.lease_ms * interval '1 ms' >= clock_timestamp()
      AND w.started_at < clock_timestamp() - interval '5 min')
UNION ALL
SELECT 'warning', 'too few partitions ahead', format('%s ends on %s', d.parent, coalesce(d.last::text, 'no day')),
    'see whether the maintenance task partitions is late or fails'
FROM day d WHERE coalesce(d.last, '-infinity') < (clock_timestamp() AT TIME ZONE 'UTC')::date + 2
UNION ALL
SELECT 'warning', 'history is kept too long', format('%s still has %s', d.parent, d.first),
    'a long transaction may use it: see what holds vacuum back; the maintenance task retention drops it'
FROM day d CROSS JOIN larder_data.settings s
WHERE d.first + 3 <= ((clock_timestamp()
    - CASE d.parent WHEN 'job_attempt' THEN s.keep_attempts ELSE s.keep_history END) AT TIME ZONE 'UTC')::date
UNION ALL
SELECT 'info', 'roles are missing', string_agg(r.name, ', ' ORDER BY r.name),
    'as a login with CREATEROLE: SELECT larder_data.create_roles(); then as the owner: SELECT larder_data.secure()'
FROM unnest('{larder_producer,larder_worker,larder_reader,larder_admin}'::text[]) AS r (name)
WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles x WHERE x.rolname = r.name) HAVING count(*) > 0;
COMMENT ON VIEW larder_data.health_of_tables IS 'Findings of health about vacuum, partitions and roles.';

CREATE VIEW larder.health AS
SELECT f.severity, f.what, f.detail, f.hint
FROM (TABLE larder_data.health_of_work UNION ALL TABLE larder_data.health_of_tables) AS f
ORDER BY array_position('{error,warning,info}', f.severity), f.what, f.detail;
COMMENT ON VIEW larder.health IS
    'What is wrong or soon will be, worst first, one row per finding: severity error, warning or info. No rows: '
    'healthy. Transactions of other sessions are visible to members of pg_read_all_stats only.';

-- Bounded: at most 10,000 entries of an index per queue and priority.
CREATE FUNCTION larder.gauges_v1() RETURNS TABLE (metric text, queue text, priority int, reason text, value float8)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    WITH queues AS MATERIALIZED (SELECT * FROM larder.queue)
    SELECT 'ready', q.name, p.priority, NULL::text, r.n::float8
    FROM larder_data.queue q, generate_series(0, 9) AS p (priority), LATERAL (
        SELECT count(*) AS n FROM (
            SELECT FROM larder_data.ready x WHERE x.queue_id = q.id AND x.priority = p.priority LIMIT 10000) AS y) AS r
    WHERE r.n > 0
    UNION ALL
    SELECT 'oldest_ready', q.name, p.priority, NULL,
        extract(epoch FROM clock_timestamp() - (
            SELECT j.created_at FROM larder_data.job j WHERE j.id = r.job_id))::float8
    FROM larder_data.queue q, generate_series(0, 9) AS p (priority), LATERAL (
        SELECT x.job_id FROM larder_data.ready x WHERE x.queue_id = q.id AND x.priority = p.priority
        ORDER BY x.job_id LIMIT 1) AS r
    UNION ALL SELECT 'running', q.queue, NULL, NULL, q.running::float8 FROM queues q
    UNION ALL SELECT 'open', q.queue, NULL, NULL, q.open_items::float8 FROM queues q
    UNION ALL SELECT 'paused', q.queue, NULL, NULL, (q.paused_at IS NOT NULL)::int::float8 FROM queues q
    UNION ALL SELECT 'limited', q.queue, NULL, NULL, (q.limit_reached IS NOT NULL)::int::float8 FROM queues q
    UNION ALL SELECT 'workers', NULL, NULL, NULL, count(*)::float8
    FROM larder.worker w WHERE w.state = 'live'
    UNION ALL
    SELECT 'origins_held', NULL, NULL, h.reason, count(*)::float8 FROM larder.held_origin h GROUP BY h.reason
    UNION ALL
    SELECT 'maintenance_late', NULL, NULL, t.task,
        greatest(extract(epoch FROM clock_timestamp() - t.next_at), 0)::float8
    FROM larder_data.current_task t
    -- A task that has never run, because there was no worker yet, is due since -infinity.
    WHERE t.kind IN ('urgent', 'routine') AND isfinite(t.next_at)
    UNION ALL
    SELECT 'findings', NULL, NULL, h.severity, count(*)::float8 FROM larder.health h GROUP BY h.severity;
END $$;
COMMENT ON FUNCTION larder.gauges_v1 IS
    'What /metrics says about the database. ready: jobs, at most 10,000 per queue and priority; oldest_ready and '
    'maintenance_late (by task in reason) in seconds; findings of larder.health by severity.';
