-- The schemas and the settings.
--
-- Schema larder holds the functions and views, which are the contract. Schema larder_data holds the tables and helper
-- functions, which any migration may change.
--
-- The files follow a job's life: the operator's setup (queues, pipelines, batches), the tables, enqueue, the worker's
-- calls, the operators' calls, maintenance, and views. Each file has one subject: its tables, functions and maintenance
-- task.
--
-- Each table has a replica identity, its primary key or else the whole row, so that a publication of all tables does
-- not refuse updates and deletes.
--
-- Versioned rows. While an old snapshot is open, every version of a row stays, and an index finds the versions of one
-- key from the oldest on. So the key of a row that is updated every second ends with a number that each update
-- increases (maintenance, worker, claim_cursor). Readers take the highest number, which a backward index scan finds
-- first. Functions that read such rows exclude bitmap scans, which would read all versions.
--
-- The tables that jobs pass through have no foreign keys, which would cost an index probe and a row lock per job;
-- larder.check() verifies the same. There are no triggers and no session state, so everything works through pgbouncer
-- in transaction mode. All times are the database's. Workers and maintenance run at READ COMMITTED and refuse other
-- levels; a producer above it may get 40001 and repeats its transaction. docs/sql.md has the error codes.

DO $$
BEGIN
    -- A URL is its bytes; they pass unchanged only with UTF8 on both sides.
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'Larder needs a database in UTF8, this one is in %', current_setting('server_encoding');
    END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS larder_data;
COMMENT ON SCHEMA larder_data IS 'Tables and helper functions of Larder, private to it.';
CREATE SCHEMA larder;
COMMENT ON SCHEMA larder IS 'Functions and views of Larder, its contract.';

CREATE TABLE larder_data.settings (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    protocol_oldest int NOT NULL,
    protocol_newest int NOT NULL,
    lease_ms int NOT NULL DEFAULT 15000 CHECK (lease_ms >= 10000),
    rescue_limit int NOT NULL DEFAULT 5 CHECK (rescue_limit > 0),
    retry_base_ms int NOT NULL DEFAULT 1000 CHECK (retry_base_ms >= 0),
    retry_cap_ms int NOT NULL DEFAULT 900000 CHECK (retry_cap_ms >= 0),
    retry_after_cap_ms int NOT NULL DEFAULT 3600000 CHECK (retry_after_cap_ms >= 0),
    block_cap interval NOT NULL DEFAULT '30 days',
    keep_history interval NOT NULL DEFAULT '30 days' CHECK (keep_history BETWEEN '1 day' AND '10 years'),
    keep_attempts interval NOT NULL DEFAULT '14 days' CHECK (keep_attempts BETWEEN '1 day' AND '10 years'),
    held_after interval NOT NULL DEFAULT '60 s',
    heartbeat_ms int NOT NULL DEFAULT 750,
    away_from timestamptz NOT NULL DEFAULT '-infinity',
    away_until timestamptz NOT NULL DEFAULT '-infinity'
);
COMMENT ON TABLE larder_data.settings IS
    'One row: the worker protocols offered, and settings for all queues. held_after: health lists transactions older '
    'than this. Maintenance sets the rest. heartbeat_ms: the pause between the heartbeats of a worker. away_from, '
    'away_until: the last outage of the server, the network or a pooler, in which no worker ran the task rescue.';
INSERT INTO larder_data.settings (protocol_oldest, protocol_newest) VALUES (1, 1);

CREATE FUNCTION larder_data.require_read_committed() RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
        RAISE EXCEPTION 'this call needs READ COMMITTED, the transaction is %', current_setting('transaction_isolation')
            USING ERRCODE = 'LA014', HINT = 'BEGIN ISOLATION LEVEL READ COMMITTED, or a call outside a transaction';
    END IF;
END $$;

-- Refuses an argument: raises 22023 with this text, unless it is null.
CREATE FUNCTION larder_data.refuse(fault text, hint text DEFAULT NULL) RETURNS void
LANGUAGE plpgsql STABLE AS $$
BEGIN
    IF fault IS NULL THEN
        RETURN;
    ELSIF hint IS NOT NULL THEN
        RAISE EXCEPTION '%', fault USING ERRCODE = '22023', HINT = hint;
    END IF;
    RAISE EXCEPTION '%', fault USING ERRCODE = '22023';
END $$;

CREATE FUNCTION larder_data.check_name(what text, name text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM larder_data.refuse(what || ' has 1 to 200 bytes and no control characters') WHERE coalesce(name, '') = ''
        OR octet_length(name) > 200 OR name ~ E'[\\x01-\\x1f\\x7f-\\x9f\\u2028-\\u202e]';
END $$;

-- Functions run with their owner's rights, so the calling role is in these two settings. SET ROLE checks membership, so
-- `role` cannot be forged.
CREATE FUNCTION larder_data.caller() RETURNS regrole
LANGUAGE sql STABLE
RETURN quote_ident(coalesce(nullif(current_setting('role'), 'none'), session_user::text))::regrole;

-- In PL/pgSQL, because Postgres plans SQL functions anew in each call.
CREATE FUNCTION larder_data.is_operator(roles name[] DEFAULT '{larder_admin}') RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN EXISTS (
        SELECT FROM pg_catalog.pg_roles r
        WHERE (r.rolname = ANY (roles) OR r.oid = (
                SELECT n.nspowner FROM pg_catalog.pg_namespace n WHERE n.nspname = 'larder_data'))
          AND pg_has_role(larder_data.caller(), r.oid, 'USAGE'));
END $$;

CREATE FUNCTION larder_data.reads_all() RETURNS boolean
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN larder_data.is_operator('{larder_admin,larder_reader,larder_worker}');
END $$;

CREATE FUNCTION larder_data.own_roles() RETURNS SETOF regrole
LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT r.oid::regrole FROM pg_catalog.pg_roles r WHERE pg_has_role(larder_data.caller(), r.oid, 'USAGE');
END;

CREATE FUNCTION larder_data.acts_as(owner regrole) RETURNS boolean
LANGUAGE plpgsql STABLE AS $$
DECLARE
    caller CONSTANT regrole := larder_data.caller();
BEGIN
    RETURN coalesce(owner = caller OR EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid = owner)
        AND pg_has_role(caller, owner, 'USAGE'), false) OR larder_data.is_operator();
END $$;

CREATE FUNCTION larder_data.within(value numeric, high bigint, low bigint DEFAULT 0) RETURNS bigint
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN value IS NOT NULL THEN trunc(least(greatest(value, low), high))::bigint END;
