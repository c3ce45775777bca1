-- What is over and may be forgotten, what only a top-level statement can do, and what is wrong.
--
-- Retention drops whole partitions. A plain DROP wants the parent for itself, for a moment, and everybody who comes after
-- it waits behind it: so it waits half a second at most, takes one partition of each table at a time, and tries again
-- later. A worker whose login may act as the tables' owner detaches them CONCURRENTLY before that, which nobody waits
-- for; vacuum and concurrent detach must be statements of their own, so no function can do them.

CREATE FUNCTION larder_data.expired_partitions() RETURNS TABLE (parent text, part text, attached boolean, pending boolean)
LANGUAGE sql STABLE AS $$
    SELECT k.parent, c.relname::text, i.inhrelid IS NOT NULL, coalesce(i.inhdetachpending, false)
    FROM larder_data.settings m
    CROSS JOIN LATERAL (VALUES ('job_history', m.keep_history), ('item_history', m.keep_history), ('job_attempt', m.keep_attempts)) AS k (parent, keep)
    JOIN pg_catalog.pg_class c ON c.relnamespace = 'larder_data'::regnamespace AND c.relkind = 'r'
        AND c.relname ~ ('^' || k.parent || '_[0-9]{8}$')
    LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
    WHERE to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= ((clock_timestamp() - k.keep) AT TIME ZONE 'UTC')::date
    ORDER BY right(c.relname, 8), k.parent
$$;
COMMENT ON FUNCTION larder_data.expired_partitions IS 'The days of history whose time is over, oldest first. pending: somebody began to detach it; not attached: detached and not yet dropped.';

CREATE FUNCTION larder_data.maintenance_retention() RETURNS int
LANGUAGE plpgsql SET lock_timeout = '500ms' SET jit = off AS $$
DECLARE
    kept larder_data.settings;
    old record;
    moved int;
    total int := 0;
    again boolean := false;
BEGIN
    SELECT * INTO kept FROM larder_data.settings;

    DELETE FROM larder_data.throughput m WHERE m.at < now() - interval '30 days';
    GET DIAGNOSTICS moved = ROW_COUNT;
    total := total + moved;

    -- A batch and its totals are kept: they are a row each.
    DELETE FROM larder_data.batch_detail d WHERE d.ctid = ANY (ARRAY(
        SELECT x.ctid FROM larder_data.batch_detail x JOIN larder_data.batch b ON b.id = x.batch_id
        WHERE b.finished_at < now() - kept.keep_history LIMIT 5000 FOR UPDATE OF x SKIP LOCKED));
    GET DIAGNOSTICS moved = ROW_COUNT;
    total := total + moved;
    again := again OR moved = 5000;

    -- Last, and one day of one table only, for its lock stands until this transaction ends. Where somebody stands in the
    -- way, the next table is tried. A worker that keeps house does it better.
    IF NOT EXISTS (SELECT FROM larder_data.housekeeping h WHERE h.last_at BETWEEN clock_timestamp() - interval '2 min' AND clock_timestamp() + interval '1 s') THEN
        FOR old IN
            SELECT e.part, e.left_over FROM (
                SELECT DISTINCT ON (x.parent) x.parent, x.part, count(*) OVER () > 1 AS left_over
                FROM larder_data.expired_partitions() x ORDER BY x.parent, x.part) AS e
            ORDER BY right(e.part, 8), e.parent
        LOOP
            BEGIN
                EXECUTE format('DROP TABLE larder_data.%I', old.part);
                total := total + 1;
                again := again OR old.left_over;
                EXIT;
            EXCEPTION
                -- In use, or a concurrent detach of it or of a sister is under way: next time.
                WHEN lock_not_available OR object_not_in_prerequisite_state OR object_in_use OR undefined_table THEN NULL;
            END;
        END LOOP;
    END IF;

    IF again THEN
        UPDATE larder_data.maintenance u SET next_at = clock_timestamp() + interval '10 s' WHERE u.task = 'retention';
    END IF;
    RETURN total;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_retention IS
    'Forgets, in portions, what is over: days of history, minutes, details of batches without history. Comes back in 10 s when there is more.';
INSERT INTO larder_data.maintenance (task, place, every) VALUES ('retention', 10, '1 h');

CREATE TABLE larder_data.housekeeping (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    next_at timestamptz NOT NULL DEFAULT '-infinity',
    last_at timestamptz,
    login text
);
COMMENT ON TABLE larder_data.housekeeping IS
    'One row: when a worker is to vacuum and detach next, and when and as whom one last did. Not a task of larder.maintain(), which cannot do what must be a top-level statement.';
COMMENT ON INDEX larder_data.housekeeping_pkey IS 'Keeps it one row.';
INSERT INTO larder_data.housekeeping DEFAULT VALUES;

CREATE FUNCTION larder_data.hot_tables() RETURNS TABLE (name text, dead bigint, vacuumed_at timestamptz)
LANGUAGE sql STABLE AS $$
    SELECT s.relname::text, s.n_dead_tup, greatest(s.last_vacuum, s.last_autovacuum)
    FROM pg_catalog.pg_stat_all_tables s
    WHERE s.schemaname = 'larder_data' AND s.relname IN ('ready', 'running', 'scheduled', 'suspended', 'batch_delta', 'batch_detail_delta')
$$;
COMMENT ON FUNCTION larder_data.hot_tables IS 'The small tables that rows pass through, how many dead rows each is thought to have, and when it was last vacuumed.';

CREATE FUNCTION larder_data.housekeeping_due() RETURNS TABLE (kind text, name text)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE larder_data.housekeeping h SET next_at = clock_timestamp() + interval '25 s', last_at = clock_timestamp(), login = session_user
    WHERE h.one = (
        -- Further ahead than that it is due, too: the clock was set back.
        SELECT x.one FROM larder_data.housekeeping x
        WHERE x.next_at NOT BETWEEN clock_timestamp() AND clock_timestamp() + interval '26 s' FOR UPDATE SKIP LOCKED);
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT 'vacuum', t.name FROM larder_data.hot_tables() t
    WHERE t.dead > 20000 AND coalesce(t.vacuumed_at, '-infinity') < clock_timestamp() - interval '30 s';
    RETURN QUERY
    SELECT CASE WHEN e.pending THEN 'finalize' WHEN e.attached THEN 'detach' ELSE 'drop' END, e.part
    FROM larder_data.expired_partitions() e
    -- One detach at a time and table: Postgres allows no more.
    WHERE NOT e.attached OR e.part = (SELECT min(x.part) FROM larder_data.expired_partitions() x WHERE x.parent = e.parent AND x.attached AND x.pending >= e.pending);
END $$;
COMMENT ON FUNCTION larder_data.housekeeping_due IS
    'What a worker whose login may act as the tables'' owner is to do now, each as a top-level statement: vacuum a table; detach a partition concurrently, or finalize a detach that was broken off, and drop it; drop a detached one. Nothing when another worker asked within 25 s.';

-- Cheap: looks at statistics, catalogues and small tables; counts no jobs.
CREATE VIEW larder.health AS
SELECT f.severity, f.what, f.detail, f.hint FROM (
    SELECT 'error' AS severity, 'maintenance task fails' AS what, format('%s, since %s: %s', u.task, to_char(u.failed_at, 'YYYY-MM-DD HH24:MI:SS TZ'), u.last_error) AS detail,
        'mend what the message says; the task is tried again when it is next due' AS hint
    FROM larder_data.maintenance u WHERE u.failed_at IS NOT NULL
    UNION ALL
    SELECT 'warning', 'maintenance is late', string_agg(u.task, ', ' ORDER BY u.place), 'start a worker, or call larder.maintain() from cron; it may also be stuck behind a lock'
    FROM larder_data.maintenance u
    WHERE u.next_at + greatest(10 * u.every, interval '10 s') < clock_timestamp() AND EXISTS (SELECT FROM larder_data.batch b WHERE b.finished_at IS NULL)
    HAVING count(*) > 0
    UNION ALL
    SELECT 'warning', 'work waits and no worker is live', format('queue %s', q.queue), 'start a worker: larder work'
    FROM larder.queue q WHERE q.has_ready AND q.paused_at IS NULL AND q.live_workers = 0
    UNION ALL
    SELECT 'info', 'a queue is paused', format('queue %s, since %s', q.name, to_char(q.paused_at, 'YYYY-MM-DD HH24:MI:SS TZ')), 'larder.queue_resume() lets it go on'
    FROM larder_data.queue q WHERE q.paused_at IS NOT NULL
    UNION ALL
    -- What holds vacuum back: the rows that claims leave behind stay, and claims must step over them.
    SELECT 'warning', 'a transaction holds vacuum back',
        format('pid %s, application %s, user %s, for %s s, %s', a.pid, coalesce(nullif(a.application_name, ''), '-'), a.usename,
            floor(extract(epoch FROM clock_timestamp() - a.xact_start)), a.state),
        format('end it, or SELECT pg_terminate_backend(%s); see idle_in_transaction_session_timeout', a.pid)
    FROM pg_catalog.pg_stat_activity a
    WHERE a.datname = current_database() AND (a.backend_xmin IS NOT NULL OR a.backend_xid IS NOT NULL) AND a.pid <> pg_backend_pid()
      AND a.backend_type <> 'autovacuum worker' AND a.xact_start < clock_timestamp() - (SELECT m.held_after FROM larder_data.settings m)
    UNION ALL
    SELECT 'warning', 'a prepared transaction holds vacuum back', format('%s, user %s, for %s s', p.gid, p.owner, floor(extract(epoch FROM clock_timestamp() - p.prepared))),
        format('COMMIT PREPARED %L or ROLLBACK PREPARED %L', p.gid, p.gid)
    FROM pg_catalog.pg_prepared_xacts p WHERE p.database = current_database() AND p.prepared < clock_timestamp() - (SELECT m.held_after FROM larder_data.settings m)
    UNION ALL
    -- A slot has no clock: that it is behind shows in transactions.
    SELECT 'warning', 'a replication slot holds vacuum back', format('%s, %s, xmin %s transactions old', s.slot_name, CASE WHEN s.active THEN 'active' ELSE 'inactive' END, age(s.xmin)),
        'let its standby catch up, or drop the slot'
    FROM pg_catalog.pg_replication_slots s WHERE s.xmin IS NOT NULL AND (NOT s.active OR age(s.xmin) > 100000)
    UNION ALL
    SELECT 'warning', 'a standby''s feedback holds vacuum back', format('pid %s, application %s, user %s, xmin %s transactions old', a.pid, coalesce(nullif(a.application_name, ''), '-'), a.usename, age(a.backend_xmin)),
        'end the long query on the standby, or hot_standby_feedback = off there'
    FROM pg_catalog.pg_stat_activity a WHERE a.backend_type = 'walsender' AND a.backend_xmin IS NOT NULL AND age(a.backend_xmin) > 100000
    UNION ALL
    SELECT 'info', 'other sessions'' transactions cannot be seen', format('user %s has not the rights of pg_read_all_stats', current_user), format('GRANT pg_read_all_stats TO %I', current_user)
    WHERE NOT pg_has_role(current_user, 'pg_read_all_stats', 'USAGE')
    UNION ALL
    SELECT 'warning', 'dead rows pile up', format('%s in %s', s.n_dead_tup, s.relname), 'see what holds vacuum back, and whether autovacuum runs'
    FROM pg_catalog.pg_stat_all_tables s
    WHERE s.schemaname = 'larder_data' AND s.n_dead_tup > 50000
      AND s.relname IN ('ready', 'running', 'scheduled', 'suspended', 'batch_delta', 'batch_detail_delta')
    UNION ALL
    SELECT 'error', 'autovacuum is off', s.name || ' = off', 'switch it on: without it tables grow without end' FROM pg_catalog.pg_settings s
    WHERE s.name IN ('autovacuum', 'track_counts') AND s.setting = 'off'
    UNION ALL
    SELECT 'error', 'autovacuum is off', c.relname || ' has autovacuum_enabled = off', format('ALTER TABLE larder_data.%I RESET (autovacuum_enabled)', c.relname)
    FROM pg_catalog.pg_class c WHERE c.relnamespace = (SELECT n.oid FROM pg_catalog.pg_namespace n WHERE n.nspname = 'larder_data')
      AND c.reloptions && ARRAY['autovacuum_enabled=off', 'autovacuum_enabled=false', 'autovacuum_enabled=0']
    UNION ALL
    SELECT 'warning', 'too few partitions ahead', format('%s ends on %s', k.parent, coalesce(k.last_day::text, 'no day')), 'the maintenance task partitions makes them: see whether it is late or fails'
    FROM (
        SELECT p.relname AS parent, max(to_date(right(c.relname, 8), 'YYYYMMDD')) AS last_day
        FROM pg_catalog.pg_class p JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace AND n.nspname = 'larder_data'
        LEFT JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid LEFT JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
        WHERE p.relkind = 'p' GROUP BY p.relname
    ) AS k
    WHERE coalesce(k.last_day, '-infinity') < (clock_timestamp() AT TIME ZONE 'UTC')::date + 2
    UNION ALL
    SELECT 'warning', 'history is kept too long', format('%s holds %s, which should be gone', k.parent, k.first_day), 'a long transaction may hold it: see what holds vacuum back; the maintenance task retention drops it'
    FROM (
        SELECT p.relname AS parent, min(to_date(right(c.relname, 8), 'YYYYMMDD')) AS first_day
        FROM pg_catalog.pg_class p JOIN pg_catalog.pg_namespace n ON n.oid = p.relnamespace AND n.nspname = 'larder_data'
        JOIN pg_catalog.pg_inherits i ON i.inhparent = p.oid JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
        WHERE p.relkind = 'p' GROUP BY p.relname
    ) AS k CROSS JOIN larder_data.settings m
    WHERE k.first_day + 3 <= ((clock_timestamp() - CASE k.parent WHEN 'job_attempt' THEN m.keep_attempts ELSE m.keep_history END) AT TIME ZONE 'UTC')::date
    UNION ALL
    SELECT 'warning', 'jobs are suspended', format('%s%s, lost with their worker too often', p.n, CASE WHEN p.n = 1000 THEN ' or more' ELSE '' END),
        'see what kills the workers, then larder.retry(job) or larder.cancel(job)'
    FROM (SELECT count(*) AS n FROM (SELECT FROM larder_data.suspended x WHERE x.reason = 'crashed' LIMIT 1000) AS x) AS p WHERE p.n > 0
    UNION ALL
    SELECT 'warning', 'workers were lost', format('%s in the last day, the last one %s on %s', w.n, w.last[2], w.last[3]), 'their jobs were rescued; see reason they ended without a word: memory, kill -9, network'
    FROM (
        SELECT count(*) AS n, max(ARRAY[to_char(x.heartbeat_at, 'YYYY-MM-DD HH24:MI:SS.US'), x.name, x.host]) AS last FROM larder_data.worker x
        WHERE x.stopped_at IS NULL AND x.heartbeat_at + x.lease_ms * interval '1 ms' < clock_timestamp() AND x.heartbeat_at > clock_timestamp() - interval '1 day'
    ) AS w WHERE w.n > 0
    UNION ALL
    -- Only a sealed batch is ever finished. Each entry of the ledger moves folded_at on; what is not folded yet is of now.
    SELECT 'warning', 'a batch is not sealed', format('%s%s, such as %s: nothing is open in it, and for a day nothing came', count(*), CASE WHEN count(*) = 1000 THEN ' or more' END, min(b.called)),
        'its producer may have died: larder.batch_seal(batch) when nothing more is coming; larder.progress lists those in state open'
    FROM (
        SELECT coalesce(format('"%s"', x.name), 'number ' || x.id) AS called FROM larder_data.batch x LEFT JOIN larder_data.batch_total t ON t.batch_id = x.id
        WHERE x.finished_at IS NULL AND x.sealed_at IS NULL AND x.cancelled_at IS NULL AND x.daily IS NULL
          AND coalesce(t.folded_at, x.created_at) < clock_timestamp() - interval '1 day'
          AND coalesce(t.total - t.succeeded - t.failed - t.cancelled, 0) = 0
          AND NOT EXISTS (SELECT FROM larder_data.batch_delta d WHERE d.batch_id = x.id)
        LIMIT 1000
    ) AS b HAVING count(*) > 0
    UNION ALL
    SELECT 'warning', 'the ledger is not folded', 'more than 100000 new entries', 'progress of all batches is slow until the maintenance task fold has caught up'
    WHERE EXISTS (SELECT FROM larder_data.batch_delta OFFSET 100000) OR EXISTS (SELECT FROM larder_data.batch_detail_delta OFFSET 100000)
    UNION ALL
    SELECT 'info', 'no worker may vacuum', 'no live worker''s login may act as the owner of the tables', 'autovacuum and larder.maintain() do the work; at high rates GRANT the owner''s role to the workers'' login'
    FROM larder_data.housekeeping h
    WHERE coalesce(h.last_at, '-infinity') < clock_timestamp() - interval '5 min'
      AND EXISTS (SELECT FROM larder_data.worker w WHERE w.stopped_at IS NULL AND w.heartbeat_at + w.lease_ms * interval '1 ms' >= clock_timestamp() AND w.started_at < clock_timestamp() - interval '5 min')
    UNION ALL
    SELECT 'info', 'roles are missing', string_agg(r.name, ', ' ORDER BY r.name), 'as a login that may create roles: SELECT larder_data.create_roles(); then as the owner: SELECT larder_data.secure()'
    FROM unnest('{larder_producer,larder_worker,larder_reader,larder_admin}'::text[]) AS r (name)
    WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles x WHERE x.rolname = r.name) HAVING count(*) > 0
    UNION ALL
    SELECT 'info', 'the blocklist is large', format('about %s URLs', c.reltuples::bigint), 'see larder.blocklist; larder.unblock_url() forgets one'
    FROM pg_catalog.pg_class c WHERE c.oid = 'larder_data.blocklist'::regclass AND c.reltuples > 1000000
) AS f
ORDER BY array_position('{error,warning,info}', f.severity), f.what, f.detail;
COMMENT ON VIEW larder.health IS
    'What is wrong or soon will be, one row per finding, worst first: severity error, warning or info; what; detail; hint: what to do. No rows: all is well. Cheap: counts no jobs. What other sessions do shows only to members of pg_read_all_stats.';
