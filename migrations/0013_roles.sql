-- Who may do what: four roles without a login, to be granted to logins.
--
-- Nobody but the owner has any right to a table. All is done through functions, which run with their owner's rights and
-- find names nowhere but in pg_catalog, and through views, which read with their owner's rights. larder_data.secure()
-- makes it so for whatever schema larder holds, and ends each migration that adds something to it.
--
-- Roles belong to the whole server: several databases may make them at the same moment, and the login that migrates may
-- not be allowed to. Then a migration says so and goes on, and the view larder.health says so as well.

CREATE FUNCTION larder_data.create_roles() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    wanted text;
BEGIN
    FOREACH wanted IN ARRAY ARRAY['larder_producer', 'larder_worker', 'larder_reader', 'larder_admin'] LOOP
        CONTINUE WHEN EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = wanted);
        BEGIN
            EXECUTE format('CREATE ROLE %I NOLOGIN', wanted);
        EXCEPTION
            WHEN duplicate_object OR unique_violation THEN NULL;
            WHEN insufficient_privilege THEN
                RAISE NOTICE 'role % is missing and cannot be made: the login "%" has not CREATEROLE', wanted, current_user;
        END;
    END LOOP;
    FOREACH wanted IN ARRAY ARRAY['larder_producer', 'larder_worker', 'larder_reader'] LOOP
        CONTINUE WHEN EXISTS (
            SELECT FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles r ON r.oid = m.roleid JOIN pg_catalog.pg_roles a ON a.oid = m.member
            WHERE r.rolname = wanted AND a.rolname = 'larder_admin');
        BEGIN
            EXECUTE format('GRANT %I TO larder_admin', wanted);
        EXCEPTION
            WHEN duplicate_object OR unique_violation OR undefined_object THEN NULL;
            WHEN insufficient_privilege THEN
                RAISE NOTICE 'role larder_admin cannot be made a member of %: the login "%" has not CREATEROLE', wanted, current_user;
        END;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder_data.create_roles IS 'Makes the roles that are missing on this server, as far as the caller may.';

CREATE TABLE larder_data.permission (
    name text NOT NULL,
    role text NOT NULL CHECK (role IN ('larder_producer', 'larder_worker', 'larder_reader')),
    PRIMARY KEY (name, role)
);
COMMENT ON TABLE larder_data.permission IS
    'What each role may use in schema larder, functions and views by name, overloads alike. larder_reader may besides read all views, larder_admin use all.';
COMMENT ON INDEX larder_data.permission_pkey IS 'Each once.';
INSERT INTO larder_data.permission (role, name)
SELECT 'larder_producer', unnest('{enqueue,enqueue_many,batch_open,batch_seal,batch_source,batch_source_end,pipeline_set,ring,wait_batch,ready_v1,progress,pipeline}'::text[])
UNION ALL
SELECT 'larder_worker', unnest('{worker_start_v1,claim_v1,complete_v1,release_v1,heartbeat_v1,worker_stop_v1,snooze_v1,origin_report_v1,origin_holds_v1,origin_faults_v1,maintain,remaining,ready_v1,progress,pipeline,record,failed}'::text[])
UNION ALL
SELECT 'larder_reader', unnest('{check,wait_batch,remaining,ready_v1,job_status,blocklist_page}'::text[]);

CREATE FUNCTION larder.ready_v1() RETURNS TABLE (migrations int, protocol_oldest int, protocol_newest int)
LANGUAGE plpgsql STABLE AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY SELECT (SELECT max(g.number) FROM larder_data.migration g), m.protocol_oldest, m.protocol_newest FROM larder_data.settings m;
END $$;
COMMENT ON FUNCTION larder.ready_v1 IS 'How many migrations the database has, and which worker protocols it offers: what a program asks before it begins.';

-- A function with a SET clause cannot commit between its looks, nor may one that is SECURITY DEFINER: procedures have
-- neither, name everything in full, and use only what their caller may use.
CREATE FUNCTION larder_data.secure() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT p.oid::regprocedure AS name, p.prokind = 'p' AS procedural, p.prosecdef AND 'search_path=pg_catalog, pg_temp' = ANY (p.proconfig) AS done
        FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'larder' ORDER BY p.oid
    LOOP
        EXECUTE format('REVOKE ALL ON ROUTINE %s FROM PUBLIC', item.name);
        CONTINUE WHEN item.procedural OR item.done;
        EXECUTE format('ALTER FUNCTION %s SECURITY DEFINER SET search_path = pg_catalog, pg_temp', item.name);
    END LOOP;
    FOR item IN
        SELECT r.rolname AS role FROM pg_catalog.pg_roles r WHERE r.rolname IN ('larder_producer', 'larder_worker', 'larder_reader', 'larder_admin')
    LOOP
        EXECUTE format('GRANT USAGE ON SCHEMA larder TO %I', item.role);
    END LOOP;
    FOR item IN
        SELECT c.kind, c.name, r.rolname AS role
        FROM (
            SELECT 'ROUTINE' AS kind, p.proname::text AS bare, p.oid::regprocedure::text AS name
            FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace WHERE n.nspname = 'larder'
            UNION ALL
            SELECT 'TABLE', v.relname::text, v.oid::regclass::text
            FROM pg_catalog.pg_class v JOIN pg_catalog.pg_namespace n ON n.oid = v.relnamespace WHERE n.nspname = 'larder' AND v.relkind = 'v'
        ) AS c
        JOIN pg_catalog.pg_roles r ON r.rolname = 'larder_admin' OR r.rolname = 'larder_reader' AND c.kind = 'TABLE'
            OR EXISTS (SELECT FROM larder_data.permission p WHERE p.name = c.bare AND p.role = r.rolname)
        ORDER BY c.name, r.rolname
    LOOP
        EXECUTE format('GRANT %s ON %s %s TO %I', CASE item.kind WHEN 'TABLE' THEN 'SELECT' ELSE 'EXECUTE' END, item.kind, item.name, item.role);
    END LOOP;
END $$;
COMMENT ON FUNCTION larder_data.secure IS
    'Makes every function of schema larder SECURITY DEFINER with a fixed search_path, procedures excepted, takes them from PUBLIC, and grants what larder_data.permission says to the roles there are. As the owner, as often as one likes.';

SELECT larder_data.create_roles();
SELECT larder_data.secure();
