-- Permissions: four roles without a login, to be granted to logins.
--
-- Only the owner has rights on tables. Other logins use functions, which run with their owner's rights and find names
-- only in pg_catalog, and views, which read with their owner's rights. larder_data.secure() sets this up for everything
-- in both schemas; it ends each migration that adds something.
--
-- Roles belong to the server: several databases may create them at once, and the migrating login may not have the right
-- to. Then the migration says so and continues, and larder.health reports it.

CREATE FUNCTION larder_data.create_roles() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    command text;
BEGIN
    FOR command IN
        SELECT format('CREATE ROLE %I NOLOGIN', r.name)
        FROM unnest('{larder_producer,larder_worker,larder_reader,larder_admin}'::text[]) AS r (name)
        WHERE NOT EXISTS (SELECT FROM pg_catalog.pg_roles x WHERE x.rolname = r.name)
        UNION ALL
        SELECT format('GRANT %I TO larder_admin', r.name)
        FROM unnest('{larder_producer,larder_worker,larder_reader}'::text[]) AS r (name)
        WHERE NOT EXISTS (
            SELECT FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles x ON x.oid = m.roleid
            JOIN pg_catalog.pg_roles a ON a.oid = m.member WHERE x.rolname = r.name AND a.rolname = 'larder_admin')
    LOOP
        BEGIN
            EXECUTE command;
        EXCEPTION
            WHEN duplicate_object OR unique_violation OR undefined_object THEN NULL;
            WHEN insufficient_privilege THEN
                RAISE NOTICE '%: the login "%" does not have CREATEROLE', command, current_user;
        END;
    END LOOP;
END $$;

CREATE TABLE larder_data.permission (
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('larder_producer', 'larder_worker', 'larder_reader')),
    PRIMARY KEY (name, role)
);
COMMENT ON TABLE larder_data.permission IS
    'Functions and views of schema larder that a role may use, by name. larder_reader may also read all views, and '
    'larder_admin use everything.';
INSERT INTO larder_data.permission (role, name)
SELECT 'larder_producer', unnest('{enqueue,enqueue_many,enqueue_list,batch_open,batch_id,batch_seal,batch_cancel,
    batch_on_finished,batch_pause,batch_resume,batch_source,batch_source_end,batch_retry_portion,batch_retry_failed,
    batch_discard_portion,batch_discard_failed,batch_reprioritize_portion,batch_reprioritize,retry_portion,
    retry_matching,cancel_portion,cancel_matching,cancel,retry,discard,job_change,job_status,pipeline_set,notify,lookup,
    wait_batch,ready_v1,progress,progress_details,pipeline,record,failed,stored_file,waiting,
    differing_variants}'::text[])
UNION ALL
SELECT 'larder_worker', unnest('{worker_start_v1,claim_v1,complete_v1,release_v1,heartbeat_v1,worker_stop_v1,snooze_v1,
    drain_start_v1,worker_fault_v1,origin_report_v1,origin_holds_v1,origin_faults_v1,maintain,due_schedule_v1,
    schedule_clock,run_schedule_v1,take_webhook_v1,webhook_done_v1,joined_traces_v1,remaining,ready_v1,batch_id,
    progress,progress_details,pipeline,record,failed,gauges_v1}'::text[])
UNION ALL
SELECT 'larder_reader', unnest('{check,wait_batch,batch_id,remaining,ready_v1,job_status,blocklist_page,lookup,
    differing_variants,newest_failures,recent_jobs,progress_details,batch_jobs,gauges_v1}'::text[]);

-- A batch is given by name or number: each routine with an argument `batch text` has a bigint variant, in which the
-- argument is required.
CREATE FUNCTION larder_data.add_numbers() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE (
        SELECT coalesce(string_agg(CASE p.prokind WHEN 'p'
            THEN format('CREATE PROCEDURE larder.%1$I(%2$s) LANGUAGE plpgsql '
                'AS $f$ BEGIN CALL larder.%1$I(%3$s); END $f$',
                p.proname, a.arguments, n.given)
            ELSE format('CREATE FUNCTION larder.%1$I(%2$s) RETURNS %4$s LANGUAGE sql '
                'AS $f$ SELECT * FROM larder.%1$I(%3$s) $f$',
                p.proname, a.arguments, n.given, pg_get_function_result(p.oid)) END, ';'), '')
        FROM pg_catalog.pg_proc p
        CROSS JOIN LATERAL (SELECT regexp_replace(pg_get_function_arguments(p.oid),
            'batch text( DEFAULT NULL::text)?', 'batch bigint')) AS a (arguments)
        CROSS JOIN LATERAL (
            SELECT string_agg(format('%1$I => %1$I%2$s', x.name, CASE x.name WHEN 'batch' THEN '::text' ELSE '' END),
                ', ' ORDER BY x.ord)
            FROM unnest(p.proargnames[1 : p.pronargs]) WITH ORDINALITY AS x (name, ord)) AS n (given)
        WHERE p.pronamespace = 'larder'::regnamespace
          AND (p.proargnames[1] = 'batch' AND p.proargtypes[0] = 'text'::regtype
              AND p.proname <> 'remaining'
            OR p.proname IN ('enqueue', 'enqueue_many'))
          AND NOT EXISTS (SELECT FROM pg_catalog.pg_proc x WHERE x.pronamespace = p.pronamespace
              AND x.proname = p.proname AND x.oid <> p.oid));
    EXECUTE (
        SELECT coalesce(string_agg(format(
            'COMMENT ON ROUTINE %s IS %L', p.oid::regprocedure, 'As with the name of the batch.'), ';'), '')
        FROM pg_catalog.pg_proc p
        WHERE p.pronamespace = 'larder'::regnamespace AND obj_description(p.oid, 'pg_proc') IS NULL);
END $$;

CREATE FUNCTION larder.ready_v1() RETURNS TABLE (migrations int, protocol_oldest int, protocol_newest int)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT (SELECT max(m.number) FROM larder_data.migration m), s.protocol_oldest, s.protocol_newest
    FROM larder_data.settings s;
END $$;
COMMENT ON FUNCTION larder.ready_v1 IS
    'How many migrations the database has and which worker protocols it offers; programs ask it before they start.';

-- Gives all functions a fixed search_path, makes the functions of schema larder SECURITY DEFINER, revokes them from
-- PUBLIC, and grants what larder_data.permission lists. Called by the owner; may be repeated. Operators are found by
-- search_path, so a function without a fixed one would run another role's operators, even with the rights of a
-- superuser who reads a view. SQL functions with a parsed body (RETURN, BEGIN ATOMIC) resolved theirs when created.
-- Procedures are excluded: one that commits can have neither SECURITY DEFINER nor SET, and sets search_path in its
-- body.
CREATE FUNCTION larder_data.secure() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE (SELECT string_agg(s.statement, ';') FROM (
        SELECT format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', p.oid::regprocedure) AS statement
        FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'larder'::regnamespace
        UNION ALL
        SELECT format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp', p.oid::regprocedure)
        FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'larder'::regnamespace AND p.prokind <> 'p'
          AND NOT (p.prosecdef AND 'search_path=pg_catalog, pg_temp' = ANY (coalesce(p.proconfig, '{}')))
        UNION ALL
        SELECT format('ALTER FUNCTION %s SET search_path = pg_catalog, pg_temp', p.oid::regprocedure)
        FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'larder_data'::regnamespace AND p.prosqlbody IS NULL
          AND NOT 'search_path=pg_catalog, pg_temp' = ANY (coalesce(p.proconfig, '{}'))
        UNION ALL
        SELECT format('GRANT USAGE ON SCHEMA larder TO %I', r.rolname) FROM pg_catalog.pg_roles r
        WHERE r.rolname IN ('larder_producer', 'larder_worker', 'larder_reader', 'larder_admin')
        UNION ALL
        SELECT format('GRANT %s TO %I', o.object, r.rolname)
        FROM (
            SELECT p.proname AS name, format('EXECUTE ON ROUTINE %s', p.oid::regprocedure) AS object, false AS is_view
            FROM pg_catalog.pg_proc p WHERE p.pronamespace = 'larder'::regnamespace
            UNION ALL
            SELECT c.relname, format('SELECT ON %s', c.oid::regclass), true
            FROM pg_catalog.pg_class c WHERE c.relnamespace = 'larder'::regnamespace AND c.relkind = 'v') AS o
        JOIN pg_catalog.pg_roles r ON r.rolname = 'larder_admin' OR r.rolname = 'larder_reader' AND o.is_view
            OR EXISTS (SELECT FROM larder_data.permission p WHERE p.name = o.name AND p.role = r.rolname)) AS s);
END $$;

SELECT larder_data.create_roles();
SELECT larder_data.add_numbers();
SELECT larder_data.secure();
