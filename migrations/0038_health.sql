-- Invariants, which larder.check() verifies, and the findings of health.

-- Reads everything, in the caller's snapshot.
CREATE VIEW larder_data.broken_jobs AS
SELECT 'a live job has exactly one state' AS invariant, j.id AS subject,
    coalesce(string_agg(s.state, ' and ' ORDER BY s.state), 'none') AS detail
FROM larder_data.job j LEFT JOIN larder_data.job_state s ON s.job_id = j.id GROUP BY j.id HAVING count(s.state) <> 1
UNION ALL SELECT 'a state belongs to a live job', s.job_id, s.state
FROM larder_data.job_state s WHERE NOT EXISTS (SELECT FROM larder_data.job j WHERE j.id = s.job_id)
UNION ALL SELECT 'a ready job is in its queue and origin', r.job_id, 'lane ' || r.lane
FROM larder_data.ready r JOIN larder_data.job j ON j.id = r.job_id
WHERE j.queue_id <> r.lane / 10 OR j.origin_id <> r.origin_id
UNION ALL SELECT 'a running job is in its queue', r.job_id, 'queue ' || r.queue_id
FROM larder_data.running r JOIN larder_data.job j ON j.id = r.job_id WHERE j.queue_id <> r.queue_id
UNION ALL SELECT 'the key of a job is the digest of its URL and pipeline', j.id, encode(j.key, 'hex')
FROM larder_data.job j WHERE j.key <> larder_data.job_key(j.url, j.pipeline_id)
UNION ALL SELECT 'an item that is not new belongs to a live job', i.job_id, 'batch ' || i.batch_id
FROM larder_data.job_item i WHERE NOT i.is_new AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.id = i.job_id)
UNION ALL SELECT 'a running job belongs to a registered worker', r.job_id, 'worker ' || r.worker_id
FROM larder_data.running r WHERE NOT EXISTS (SELECT FROM larder_data.current_worker w WHERE w.id = r.worker_id)
UNION ALL SELECT 'a job completes once', h.job_id, count(*) || ' records'
FROM larder_data.job_history h GROUP BY h.job_id HAVING count(*) > 1
UNION ALL SELECT 'a completed job is not live', j.id, j.url
FROM larder_data.job j WHERE EXISTS (SELECT FROM larder_data.job_history h WHERE h.job_id = j.id);

CREATE VIEW larder_data.broken_batches AS
WITH counted AS (
    SELECT x.batch_id, sum(x.items) FILTER (WHERE x.outcome IS NULL) AS open,
        sum(x.items) FILTER (WHERE x.outcome = 'succeeded') AS succeeded,
        sum(x.items) FILTER (WHERE x.outcome = 'failed') AS failed,
        sum(x.items) FILTER (WHERE x.outcome = 'cancelled') AS cancelled
    FROM (
        SELECT j.batch_id, j.items, NULL::larder_data.outcome AS outcome FROM larder_data.job j
        UNION ALL SELECT x.batch_id, x.items, NULL FROM larder_data.job_item x
        UNION ALL SELECT h.batch_id, h.items, h.outcome FROM larder_data.job_history h WHERE h.retried_as IS NULL
    ) AS x GROUP BY x.batch_id
), kept AS (
    -- Before this day history may be deleted and cannot be counted.
    SELECT min(to_date(right(c.relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC') AS since
    FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = 'larder_data.job_history'::regclass
), errors AS (
    SELECT e.batch_id, sum(e.items) AS n FROM larder.batch_error e GROUP BY e.batch_id
)
SELECT 'the counts of a batch equal its records and live items' AS invariant, l.batch_id AS subject,
    format('counts open %s, succeeded %s, failed %s, cancelled %s; records %s, %s, %s, %s',
        l.open, l.succeeded, l.failed, l.cancelled, c.open, c.succeeded, c.failed, c.cancelled) AS detail
FROM larder_data.ledger l LEFT JOIN counted c USING (batch_id) CROSS JOIN LATERAL (
    -- A cancelled batch's open items count as cancelled.
    SELECT l.cancelled_at IS NULL AS is_active, coalesce(c.open, 0) AS open) AS o
WHERE l.created_at >= (SELECT k.since FROM kept k)
  AND (l.open, l.succeeded, l.failed, l.cancelled) IS DISTINCT FROM (
      CASE WHEN o.is_active THEN o.open ELSE 0 END, coalesce(c.succeeded, 0), coalesce(c.failed, 0),
      coalesce(c.cancelled, 0) + CASE WHEN o.is_active THEN 0 ELSE o.open END)
UNION ALL SELECT 'the errors counted equal the failed items', l.batch_id,
    format('%s failed, %s errors', l.failed, coalesce(e.n, 0))
FROM larder_data.ledger l CROSS JOIN larder_data.settings s LEFT JOIN errors e USING (batch_id)
-- Details are deleted some time after a batch's end.
WHERE l.failed <> coalesce(e.n, 0) AND coalesce(l.finished_at, now()) > now() - s.keep_history
UNION ALL SELECT 'records belong to a batch', c.batch_id, 'unknown batch'
FROM counted c WHERE NOT EXISTS (SELECT FROM larder_data.batch b WHERE b.id = c.batch_id)
UNION ALL SELECT 'a finished batch has no open item', l.batch_id, l.open || ' open'
FROM larder_data.ledger l WHERE l.finished_at IS NOT NULL AND l.open <> 0;

CREATE FUNCTION larder.check() RETURNS TABLE (invariant text, subject bigint, detail text)
LANGUAGE sql STABLE SET jit = off AS $$ TABLE larder_data.broken_jobs UNION ALL TABLE larder_data.broken_batches $$;
COMMENT ON FUNCTION larder.check IS
    'Verifies the invariants of the queue in one snapshot; no rows: all hold. Reads everything.';

-- Findings of health. Cheap: they read statistics, catalogs and small tables, and count no jobs. 1000 means at least
-- that many.

CREATE FUNCTION larder.worker_fault_v1(worker bigint, message text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    PERFORM larder_data.skip_flush();
    DELETE FROM larder_data.worker_fault f
    WHERE f.worker_id = worker_fault_v1.worker OR NOT EXISTS (
        SELECT FROM larder_data.current_worker w WHERE w.id = f.worker_id AND w.stopped_at IS NULL);
    INSERT INTO larder_data.worker_fault (worker_id, message)
    SELECT w.id, left(worker_fault_v1.message, 2000) FROM larder_data.current_worker w
    WHERE w.id = worker_fault_v1.worker AND worker_fault_v1.message IS NOT NULL;
END $$;
COMMENT ON FUNCTION larder.worker_fault_v1 IS
    'Says for larder.health what a worker lacks that every job needs; NULL when it has no fault any more.';

CREATE FUNCTION larder_data.shown(at timestamptz) RETURNS text
LANGUAGE sql STABLE RETURN to_char(at, 'YYYY-MM-DD HH24:MI:SS TZ');

CREATE VIEW larder_data.health_of_work AS
SELECT 'error' AS severity, 'maintenance task fails' AS what,
    format('%s, since %s: %s', m.task, larder_data.shown(m.failed_at), m.last_error) AS detail, NULL AS subject
FROM larder_data.current_task m WHERE m.failed_at IS NOT NULL
UNION ALL SELECT 'warning', 'maintenance is late',
    format('%s (%s tasks)', (array_agg(m.purpose ORDER BY m.place))[1], count(*)), NULL
FROM larder_data.current_task m
WHERE m.next_at + greatest(10 * m.every, interval '10 s') < clock_timestamp() AND m.kind IN ('urgent', 'routine')
  -- While no item is open, nothing waits for it.
  AND EXISTS (
      SELECT FROM larder_data.batch b, LATERAL (
          SELECT FROM larder_data.ledger x WHERE x.batch_id = b.id AND x.open > 0 OFFSET 0) AS l
      WHERE b.finished_at IS NULL)
HAVING count(*) > 0
-- A worker with one slot has no job for a moment between two, so a queue whose jobs have just ended is served.
UNION ALL SELECT 'warning', CASE q.live_workers WHEN 0 THEN 'jobs are ready and no worker is live'
        ELSE 'jobs are ready and no worker claims them' END,
    format('queue %s, for %s s', q.queue, floor(extract(epoch FROM q.oldest_ready))), q.queue
FROM larder.queue q
WHERE q.has_ready AND q.paused_at IS NULL AND (q.live_workers = 0 OR q.running = 0 AND q.limit_reached IS NULL
    AND q.oldest_ready > interval '20 s' AND NOT EXISTS (
        SELECT FROM larder_data.batch b JOIN larder_data.queue x ON x.id = b.queue_id AND x.name = q.queue
        JOIN larder_data.batch_total t ON t.batch_id = b.id
        WHERE b.finished_at IS NULL AND t.worked_at > clock_timestamp() - interval '20 s'))
UNION ALL SELECT 'info', 'a queue is at its limit',
    CASE q.limit_reached WHEN 'max_running' THEN format('queue %s, %s jobs run, max_running is %s', q.queue, q.running,
        q.max_running) ELSE format('queue %s, max_rate is %s jobs per second', q.queue, q.max_rate) END, q.queue
FROM larder.queue q WHERE q.has_ready AND q.paused_at IS NULL AND q.limit_reached IS NOT NULL
UNION ALL SELECT 'info', 'an origin is at its limit',
    format('%s, %s, jobs wait until %s', l.origin, concat_ws(', ', 'max_running is ' || l.max_running,
        'max_rate is ' || l.max_rate || ' jobs per second'), larder_data.shown(l.deferred_until)), l.origin
FROM (SELECT * FROM larder.limited_origin x WHERE x.deferred_until IS NOT NULL ORDER BY x.origin LIMIT 20) AS l
UNION ALL SELECT 'info', p.what, format('%s, since %s by %s', p.label, larder_data.shown(p.paused_at), p.paused_by),
    p.name
FROM (
    (SELECT 'a queue is paused' AS what, 'queue ' || x.name AS label, x.name, x.paused_at, x.paused_by
     FROM larder_data.queue x WHERE x.paused_at IS NOT NULL ORDER BY x.paused_at LIMIT 20)
    UNION ALL
    (SELECT 'a batch is paused', coalesce(x.name, x.id::text), coalesce(x.name, x.id::text), x.paused_at, x.paused_by
     FROM larder_data.batch x WHERE x.finished_at IS NULL AND x.paused_at IS NOT NULL AND x.cancelled_at IS NULL
     ORDER BY x.paused_at LIMIT 20)) AS p
-- A run may take longer than the time between two of them; an hour later it hardly ends by itself.
UNION ALL SELECT f.severity, f.what, format('%s, since %s%s', s.name, larder_data.shown(f.since), ': ' || f.reason),
    CASE f.what WHEN 'a schedule waits' THEN s.waiting_for::text ELSE s.name END
FROM larder_data.schedule s LEFT JOIN larder_data.due_schedule d ON d.id = s.id CROSS JOIN LATERAL (VALUES
    ('info', 'a schedule is paused', s.paused_at IS NOT NULL, s.paused_at, NULL),
    (CASE WHEN s.next_at < clock_timestamp() - interval '1 hour' THEN 'warning' ELSE 'info' END, 'a schedule waits',
        s.waiting_for IS NOT NULL AND d.id IS NULL AND s.paused_at IS NULL, s.next_at, s.last_error),
    ('error', 'a schedule fails', s.waiting_for IS NULL AND s.paused_at IS NULL AND s.last_error IS NOT NULL, s.last_at,
        s.last_error),
    ('warning', 'a schedule is late', d.waiting_for IS NULL AND d.next_at < clock_timestamp() - interval '30 s'
            OR d.id IS NOT NULL AND d.next_at IS NULL AND (SELECT sum(q.live_workers) FROM larder.queue q) = 0,
        d.next_at, NULL)
    ) AS f (severity, what, holds, since, reason)
WHERE f.holds
UNION ALL SELECT 'error', 'a webhook fails', format('batch %s, %s attempts: %s%s', w.batch_id, w.attempts, w.error,
        CASE WHEN w.due_at IS NULL THEN '; it is not tried again' END), NULL
FROM (SELECT x.* FROM larder_data.webhook x WHERE x.error IS NOT NULL AND x.delivered_at IS NULL
      ORDER BY x.batch_id DESC LIMIT 20) AS w
UNION ALL SELECT 'warning', 'webhooks are not sent',
    format('%s, the first was due at %s', count(*), larder_data.shown(min(w.due_at))), NULL
FROM (SELECT y.due_at FROM larder_data.webhook y WHERE y.due_at < clock_timestamp() - interval '2 min' LIMIT 1000) AS w
HAVING count(*) > 0
UNION ALL SELECT 'warning', 'jobs have crashed', format('%s, lost with too many workers', count(*)), NULL
FROM (SELECT FROM larder_data.suspended x WHERE x.reason = 'crashed' LIMIT 1000) AS x HAVING count(*) > 0
UNION ALL SELECT 'warning', 'a worker has a fault of its own',
    format('%s on %s, since %s: %s', w.name, w.host, larder_data.shown(f.since), f.message), NULL
FROM larder_data.worker_fault f JOIN larder_data.current_worker w ON w.id = f.worker_id
WHERE w.stopped_at IS NULL AND w.heartbeat_at + w.lease_ms * interval '1 ms' > clock_timestamp()
UNION ALL SELECT 'warning', 'workers were lost', format('%s in the last day, last %s on %s', count(*),
        (array_agg(w.name ORDER BY w.heartbeat_at DESC))[1], (array_agg(w.host ORDER BY w.heartbeat_at DESC))[1]), NULL
FROM larder_data.current_worker w
WHERE w.stopped_at IS NULL AND w.heartbeat_at + w.lease_ms * interval '1 ms' < clock_timestamp()
  AND w.heartbeat_at > clock_timestamp() - interval '1 day'
HAVING count(*) > 0
-- Only a sealed batch is ever finished. New ledger entries move folded_at.
UNION ALL SELECT 'warning', 'a batch is not sealed',
    format('%s, for example %s: no item is open, and none was added for a day', count(*), min(b.label)), NULL
FROM (
    SELECT coalesce(format('"%s"', x.name), 'id ' || x.id) AS label
    FROM larder_data.batch x LEFT JOIN larder_data.batch_total t ON t.batch_id = x.id
    WHERE x.finished_at IS NULL AND x.sealed_at IS NULL AND x.cancelled_at IS NULL AND x.daily IS NULL
      AND coalesce(t.folded_at, x.created_at) < clock_timestamp() - interval '1 day'
      AND coalesce(t.total - t.succeeded - t.failed - t.cancelled, 0) = 0
      AND NOT EXISTS (SELECT FROM larder_data.batch_delta d WHERE d.batch_id = x.id)
    LIMIT 1000) AS b
HAVING count(*) > 0
UNION ALL SELECT 'error', 'the counts of a batch cannot be added up',
    format('batch %s, tried at %s: %s', f.batch_id, larder_data.shown(f.at), f.error), NULL
FROM larder_data.batch_fault f
UNION ALL SELECT 'warning', 'progress is slow', 'more than 100000 entries of counts are not added up', NULL
WHERE EXISTS (SELECT FROM larder_data.batch_delta OFFSET 100000)
UNION ALL SELECT 'info', 'the blocklist is large', format('about %s URLs', c.reltuples::bigint), NULL
FROM pg_catalog.pg_class c WHERE c.oid = 'larder_data.blocklist'::regclass AND c.reltuples > 1000000;

-- Sessions, slots and settings that prevent vacuum from removing dead rows of claims and history.
CREATE VIEW larder_data.health_of_tables AS
SELECT 'warning' AS severity, CASE WHEN h.is_standby THEN 'a standby''s feedback holds vacuum back'
        ELSE 'a transaction holds vacuum back' END AS what,
    format('pid %s, application %s, user %s, for %s s, %s', a.pid, coalesce(nullif(a.application_name, ''), '-'),
        a.usename, floor(extract(epoch FROM clock_timestamp() - a.xact_start)), a.state) AS detail,
    a.pid::text AS subject
FROM pg_catalog.pg_stat_activity a, LATERAL (SELECT a.backend_type = 'walsender' AS is_standby) AS h
WHERE a.datname = current_database() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL)
    AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
    AND a.xact_start < clock_timestamp() - (SELECT s.held_after FROM larder_data.settings s)
  OR h.is_standby AND age(a.backend_xmin) > 100000
UNION ALL SELECT 'warning', 'a prepared transaction holds vacuum back',
    format('%s, user %s, for %s s', p.gid, p.owner, floor(extract(epoch FROM clock_timestamp() - p.prepared))),
    quote_literal(p.gid)
FROM pg_catalog.pg_prepared_xacts p WHERE p.database = current_database()
  AND p.prepared < clock_timestamp() - (SELECT s.held_after FROM larder_data.settings s)
-- A slot has no time; its age is in transactions.
UNION ALL SELECT 'warning', 'a replication slot holds vacuum back',
    format('%s, xmin %s transactions old', r.slot_name, age(r.xmin)), NULL
FROM pg_catalog.pg_replication_slots r WHERE r.xmin IS NOT NULL AND (NOT r.active OR age(r.xmin) > 100000)
UNION ALL SELECT 'info', 'transactions of other sessions are not visible',
    format('user %s does not have the rights of pg_read_all_stats', current_user), quote_ident(current_user)
WHERE NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
UNION ALL SELECT 'warning', 'dead rows pile up', format('%s in %s', s.n_dead_tup, s.relname), NULL
FROM pg_catalog.pg_stat_all_tables s JOIN pg_catalog.pg_class c ON c.oid = s.relid
WHERE s.schemaname = 'larder_data' AND s.n_dead_tup > 50000 AND 'vacuum_truncate=off' = ANY (c.reloptions)
UNION ALL SELECT 'error', 'autovacuum is off', o.detail, NULL
FROM (
    SELECT s.name || ' = off' AS detail FROM pg_catalog.pg_settings s
    WHERE s.name IN ('autovacuum', 'track_counts') AND s.setting = 'off'
    UNION ALL SELECT c.oid::regclass || ' has autovacuum_enabled = off' FROM pg_catalog.pg_class c
    WHERE c.relnamespace = 'larder_data'::regnamespace
      AND c.reloptions && '{autovacuum_enabled=off,autovacuum_enabled=false,autovacuum_enabled=0}') AS o
UNION ALL SELECT 'info', 'no worker runs vacuum', 'no login of a live worker can act as the owner of the tables', NULL
FROM larder_data.current_task m
WHERE m.kind = 'owner' AND m.next_at < clock_timestamp() - interval '5 min' AND EXISTS (
    SELECT FROM larder_data.live_worker w
    WHERE w.stopped_at IS NULL AND w.heartbeat_at + w.lease_ms * interval '1 ms' >= clock_timestamp()
      AND w.started_at < clock_timestamp() - interval '5 min')
UNION ALL SELECT 'warning', f.what, format('%s has days from %s to %s', d.parent, d.first, d.last), f.task
FROM (
    SELECT p.relname AS parent, max(to_date(right(c.relname, 8), 'YYYYMMDD')) AS last,
        min(to_date(right(c.relname, 8), 'YYYYMMDD')) AS first
    FROM pg_catalog.pg_class p LEFT JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid
    LEFT JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
    WHERE p.relkind = 'p' AND p.relnamespace = 'larder_data'::regnamespace GROUP BY p.relname) AS d,
    larder_data.settings s, LATERAL (VALUES
        ('too few partitions ahead', 'partitions', coalesce(d.last, '-infinity') < current_date + 2),
        ('history is kept too long', 'retention', d.first + 3 <= (clock_timestamp()
            - CASE d.parent WHEN 'job_attempt' THEN s.keep_attempts ELSE s.keep_history END)::date)
    ) AS f (what, task, holds)
WHERE f.holds
UNION ALL SELECT 'info', 'roles are missing', string_agg(r.name, ', ' ORDER BY r.name), NULL
FROM unnest('{larder_producer,larder_worker,larder_reader,larder_admin}'::text[]) AS r (name)
WHERE to_regrole(r.name) IS NULL HAVING count(*) > 0;

CREATE VIEW larder.health AS
SELECT f.severity, f.what, f.detail, f.subject
FROM (TABLE larder_data.health_of_work UNION ALL TABLE larder_data.health_of_tables) AS f
ORDER BY array_position('{error,warning,info}', f.severity), f.what, f.detail;
COMMENT ON VIEW larder.health IS
    'What is wrong or soon will be, worst first, one row per finding: severity error, warning or info. No rows: '
    'healthy. subject: the name or number that a command takes which changes it.';

-- Bounded: at most 10,000 index entries per queue and priority.
CREATE FUNCTION larder.gauges_v1() RETURNS TABLE (metric text, queue text, priority int, reason text, value float8)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT g.metric, q.name, p.priority, NULL::text, g.value
    FROM larder_data.queue q, generate_series(0, 9) AS p (priority), LATERAL (
        SELECT 'ready', nullif(count(*), 0)::float8 FROM (
            SELECT FROM larder_data.ready x WHERE x.lane = q.id * 10 + p.priority LIMIT 10000) AS r
        UNION ALL
        (SELECT 'oldest_ready', extract(epoch FROM clock_timestamp() - (
            SELECT j.created_at FROM larder_data.job j WHERE j.id = x.job_id))::float8
         FROM larder_data.ready x WHERE x.lane = q.id * 10 + p.priority ORDER BY x.turn, x.job_id LIMIT 1)
        ) AS g (metric, value)
    WHERE g.value IS NOT NULL
    UNION ALL SELECT g.metric, q.queue, NULL, NULL, g.value
    FROM larder.queue q, LATERAL (VALUES ('running', q.running::float8), ('open', q.open_items),
        ('paused', (q.paused_at IS NOT NULL)::int), ('limited', (q.limit_reached IS NOT NULL)::int)
        ) AS g (metric, value)
    UNION ALL SELECT 'workers', NULL, NULL, NULL, count(*) FROM larder.worker w WHERE w.state = 'live'
    UNION ALL SELECT 'origins_held', NULL, NULL, h.reason, count(*) FROM larder.held_origin h GROUP BY h.reason
    UNION ALL SELECT 'maintenance_late', NULL, NULL, t.task,
        greatest(extract(epoch FROM clock_timestamp() - t.next_at), 0)
    FROM larder_data.current_task t
    -- A task that never ran, because there was no worker yet, is due since -infinity.
    WHERE t.kind IN ('urgent', 'routine') AND isfinite(t.next_at)
    UNION ALL SELECT 'findings', NULL, NULL, h.severity, count(*) FROM larder.health h GROUP BY h.severity;
END $$;
COMMENT ON FUNCTION larder.gauges_v1 IS
    'Numbers about the database for /metrics: ready jobs, at most 10,000 per queue and priority; oldest_ready and '
    'maintenance_late in seconds; findings of larder.health by severity.';
