-- Vacuum and statistics of the tables, and the statements that maintenance cannot run in a function.

-- Rows pass through these tables at the rate of the jobs, so they are vacuumed by count instead of share.
DO $$
DECLARE
    hot text;
BEGIN
    FOREACH hot IN ARRAY '{ready,scheduled,running,suspended,job_item,batch_delta}'::text[] LOOP
        EXECUTE format(
            'ALTER TABLE larder_data.%I SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, '
            'autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off)', hot);
    END LOOP;
END $$;

-- Due statements that only a login acting as the tables' owner can run, at top level: VACUUM and concurrent DETACH,
-- each with the statement to run after it. None if another worker asked within 25 s.
CREATE FUNCTION larder_data.owner_statements() RETURNS TABLE (statement text, next_statement text)
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT larder_data.take_task('vacuum') THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT format('VACUUM (SKIP_LOCKED, TRUNCATE off) larder_data.%I', s.relname), NULL
    FROM pg_catalog.pg_stat_all_tables s JOIN pg_catalog.pg_class c ON c.oid = s.relid
    WHERE s.schemaname = 'larder_data' AND 'vacuum_truncate=off' = ANY (c.reloptions) AND s.n_dead_tup > 20000
      AND coalesce(greatest(s.last_vacuum, s.last_autovacuum), '-infinity') < clock_timestamp() - interval '30 s'
    UNION ALL
    SELECT format('ALTER TABLE larder_data.%I DETACH PARTITION larder_data.%I %s', e.parent, e.part,
        CASE WHEN e.is_pending THEN 'FINALIZE' ELSE 'CONCURRENTLY' END), format('DROP TABLE larder_data.%I', e.part)
    FROM larder_data.expired_partitions() e
    -- Postgres allows one concurrent detach per table.
    WHERE e.is_attached AND e.part = (
        SELECT min(x.part) FROM larder_data.expired_partitions() x
        WHERE x.parent = e.parent AND x.is_attached AND x.is_pending >= e.is_pending)
    UNION ALL
    SELECT format('DROP TABLE larder_data.%I', e.part), NULL
    FROM larder_data.expired_partitions() e WHERE NOT e.is_attached;
END $$;

-- These tables have few rows, so autovacuum never analyzes them, and the planner would assume a thousand.
ANALYZE larder_data.settings, larder_data.queue, larder_data.retry_rule, larder_data.task;
