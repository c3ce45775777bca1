-- Schedules: lists and queries that workers enqueue at set times.
--
-- A worker computes the times of an expression, from the database's clock and time zones: see schedule_clock(). A NULL
-- next_at has to be computed: a worker does so within seconds.

CREATE TABLE larder_data.schedule (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE,
    owner regrole NOT NULL DEFAULT larder_data.caller(),
    cron text NOT NULL,
    time_zone text NOT NULL,
    query text,
    urls text[],
    settings json[],
    metas json[],
    request jsonb NOT NULL,
    paused_at timestamptz,
    next_at timestamptz,
    last_at timestamptz,
    last_batch bigint,
    last_urls bigint,
    last_error text,
    missed bigint NOT NULL DEFAULT 0,
    waiting_for bigint
);
COMMENT ON TABLE larder_data.schedule IS
    'See larder.schedule. request: as of larder.enqueue_list. next_at: NULL until a worker has computed it, infinity '
    'after an error in cron.';

-- In steps of a day, and of 15 minutes on days with a change: all changes of current zones are at such times.
CREATE FUNCTION larder.schedule_clock(time_zone text) RETURNS TABLE (now_at timestamptz, offsets json)
LANGUAGE plpgsql STABLE AS $$
DECLARE
    first_day timestamptz := date_trunc('day', clock_timestamp() - interval '1 year', 'UTC');
BEGIN
    RETURN QUERY
    WITH day AS (
        SELECT t AS at, t AT TIME ZONE time_zone - t AT TIME ZONE 'UTC' AS shift
        FROM generate_series(first_day, first_day + interval '9 years 1 month', interval '24 h') AS t
    ), change AS (
        SELECT d.at, d.shift, lag(d.shift) OVER (ORDER BY d.at) AS earlier FROM day d
    )
    SELECT clock_timestamp(), json_agg(json_build_array(extract(epoch FROM coalesce((
            SELECT min(t) FROM generate_series(c.at - interval '24 h', c.at, interval '15 min') AS t
            WHERE c.earlier IS NOT NULL AND t AT TIME ZONE time_zone - t AT TIME ZONE 'UTC' = c.shift), c.at))::bigint,
        extract(epoch FROM c.shift)::int) ORDER BY c.at)
    FROM change c WHERE c.shift IS DISTINCT FROM c.earlier;
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE EXCEPTION 'unknown time zone "%"', left(time_zone, 200)
        USING ERRCODE = '22023', HINT = 'such as Europe/Berlin';
END $$;
COMMENT ON FUNCTION larder.schedule_clock IS
    'The time of this server, and for 8 years the offsets of a time zone from UTC: pairs of since when, in seconds '
    'since 1970, and seconds.';

-- A schedule's query has only the rights of the role larder_schedule, whatever role set the schedule and whatever login
-- the worker has. The caller undoes all changes of the query.
CREATE FUNCTION larder_data.schedule_rows(query text) RETURNS SETOF json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_user <> 'larder_schedule' THEN
        RAISE EXCEPTION 'a superuser must first call larder_data.create_schedule_role()' USING ERRCODE = '42501';
    END IF;
    RETURN QUERY EXECUTE format(E'SELECT row_to_json(q) FROM (%s\n) AS q LIMIT 200001', query);
END $$;

-- Several databases of a server may be migrated at once. From Postgres 16 on, a role that creates another may grant it,
-- but not act as it without such a grant.
CREATE FUNCTION larder_data.create_schedule_role() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    is_16 boolean := current_setting('server_version_num')::int >= 160000;
BEGIN
    BEGIN
        IF to_regrole('larder_schedule') IS NULL THEN
            CREATE ROLE larder_schedule NOLOGIN;
        END IF;
    EXCEPTION WHEN duplicate_object OR unique_violation THEN
        NULL;
    END;
    IF NOT pg_has_role('larder_schedule', CASE WHEN is_16 THEN 'SET' ELSE 'MEMBER' END) THEN
        EXECUTE 'GRANT larder_schedule TO CURRENT_USER' || CASE WHEN is_16 THEN ' WITH SET TRUE' ELSE '' END;
    END IF;
    GRANT USAGE, CREATE ON SCHEMA larder_data TO larder_schedule;
    ALTER FUNCTION larder_data.schedule_rows(text) OWNER TO larder_schedule;
    REVOKE ALL ON SCHEMA larder_data FROM larder_schedule;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'schedules with a query cannot be used: role larder_schedule: %', SQLERRM;
END $$;
SELECT larder_data.create_schedule_role();

-- The rows of a schedule's query. Undoes the query's changes.
CREATE FUNCTION larder_data.rows_of_query(query text) RETURNS json[]
LANGUAGE plpgsql AS $$
DECLARE
    found json[];
BEGIN
    BEGIN
        SELECT array_agg(r) INTO found FROM larder_data.schedule_rows(query) AS r;
        -- Also its session settings.
        RAISE EXCEPTION 'undone' USING ERRCODE = 'LA012';
    EXCEPTION
        WHEN SQLSTATE 'LA012' THEN
            NULL;
        WHEN lock_not_available THEN
            RAISE;
        WHEN OTHERS THEN
            RAISE EXCEPTION 'the query fails: % (SQLSTATE %)', SQLERRM, SQLSTATE USING ERRCODE = '22023',
                HINT = 'names of tables are qualified, and the role larder_schedule may SELECT from them';
    END;
    IF cardinality(found) > 200000 THEN
        RAISE EXCEPTION 'the query has more than 200000 rows' USING ERRCODE = '54000',
            HINT = 'divide it among several schedules, or enqueue its URLs with larder.enqueue_many()';
    ELSIF EXISTS (SELECT FROM unnest(found) AS r WHERE r ->> 'url' IS NULL) THEN
        RAISE EXCEPTION 'a row of the query has no url' USING ERRCODE = '22004',
            HINT = 'the columns are url and any of priority, pipeline, at, name and meta';
    END IF;
    RETURN coalesce(found, '{}'::json[]);
END $$;

CREATE FUNCTION larder.schedule_set(
    name text, cron text, time_zone text DEFAULT 'UTC', query text DEFAULT NULL, urls text[] DEFAULT NULL,
    settings json[] DEFAULT NULL, metas json[] DEFAULT NULL, request json DEFAULT '{}',
    next_at timestamptz DEFAULT NULL
) RETURNS timestamptz
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
#variable_conflict use_variable
DECLARE
    statement text := regexp_replace(query, '[\s;]+$', '');
BEGIN
    PERFORM larder_data.check_batch_name(coalesce(name, ''));
    PERFORM larder_data.refuse(
        format('cron: "%s" does not have five fields: minute hour day month weekday', left(cron, 200)),
        'such as 0 2 * * * for 02:00 each day, or @daily') WHERE length(cron) > 200
        OR coalesce(cron, '') !~* '^\s*(@[a-z]+|([0-9a-z*,/-]+\s+){4}[0-9a-z*,/-]+)\s*$';
    PERFORM larder_data.refuse(format('a schedule has at most 200000 URLs, not %s', cardinality(urls)),
        'a query can read them from a table') WHERE cardinality(urls) > 200000;
    PERFORM larder_data.refuse(CASE
        WHEN (statement IS NULL) = (urls IS NULL) THEN 'a schedule has either a query or URLs'
        WHEN greatest(cardinality(settings), cardinality(metas)) > coalesce(cardinality(urls), 0)
            OR greatest(octet_length(statement), octet_length(request::text)) > 400000
            OR coalesce(json_typeof(request), '') <> 'object' OR NOT isfinite(next_at)
        THEN 'settings and metas are no longer than urls; query and request, a JSON object, have at most 400000 bytes; '
            'next_at is finite' END);
    PERFORM FROM larder.schedule_clock(coalesce(time_zone, ''));
    PERFORM larder_data.find_queue(coalesce(request ->> 'queue', 'default'));
    PERFORM larder_data.find_pipeline(request ->> 'pipeline') WHERE request ->> 'pipeline_spec' IS NULL
        AND request ->> 'pipeline' IS NOT NULL;
    PERFORM larder_data.check_webhook(request ->> 'on_finished');
    PERFORM larder_data.rows_of_query(format(E'SELECT * FROM (%s\n) AS t LIMIT 1', statement))
    WHERE statement IS NOT NULL;
    INSERT INTO larder_data.schedule AS s (name, cron, time_zone, query, urls, settings, metas, request, next_at)
    VALUES (name, cron, time_zone, statement, urls, settings, metas, request::jsonb, next_at)
    ON CONFLICT ON CONSTRAINT schedule_name_key DO UPDATE SET
        owner = excluded.owner, cron = excluded.cron, time_zone = excluded.time_zone, query = excluded.query,
        urls = excluded.urls, settings = excluded.settings, metas = excluded.metas, request = excluded.request,
        next_at = excluded.next_at, last_error = NULL, waiting_for = NULL;
    RETURN next_at;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('schedule "%s"', name), 'larder_data.schedule');
END $$;
COMMENT ON FUNCTION larder.schedule_set IS
    'Creates or replaces a schedule: either a query, with the rights of the role larder_schedule, or urls, settings '
    'and metas. request: as of larder.enqueue_list, and on_finished, the URL of a webhook. next_at: when it is due '
    'first.';

-- Pauses, resumes, runs or removes a schedule. A run waiting for a batch is dropped.
CREATE FUNCTION larder_data.change_schedule(name text, verb text, next_at timestamptz DEFAULT NULL) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    s larder_data.schedule;
BEGIN
    PERFORM larder_data.refuse('next_at is finite') WHERE NOT isfinite(next_at);
    SELECT * INTO s FROM larder_data.schedule x WHERE x.name = change_schedule.name FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown schedule "%"', name USING ERRCODE = 'LA013';
    ELSIF verb = 'remove' THEN
        DELETE FROM larder_data.schedule x WHERE x.id = s.id;
        RETURN;
    END IF;
    UPDATE larder_data.schedule x SET
        paused_at = CASE WHEN verb = 'pause' THEN coalesce(s.paused_at, clock_timestamp()) END,
        next_at = CASE WHEN verb = 'run' THEN clock_timestamp()
            WHEN verb = 'pause' OR s.paused_at IS NULL OR s.next_at > clock_timestamp() THEN s.next_at
            ELSE change_schedule.next_at END,
        last_error = CASE WHEN s.waiting_for IS NULL THEN s.last_error END, waiting_for = NULL
    WHERE x.id = s.id;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('schedule "%s"', name), 'larder_data.schedule');
END $$;

CREATE FUNCTION larder.schedule_pause(name text) RETURNS void
LANGUAGE sql AS $$ SELECT larder_data.change_schedule(name, 'pause') $$;
COMMENT ON FUNCTION larder.schedule_pause IS 'Keeps a schedule from running until larder.schedule_resume().';

CREATE FUNCTION larder.schedule_resume(name text, next_at timestamptz DEFAULT NULL) RETURNS void
LANGUAGE sql AS $$ SELECT larder_data.change_schedule(name, 'resume', next_at) $$;
COMMENT ON FUNCTION larder.schedule_resume IS
    'Runs a paused schedule again. next_at: the following time if its next one has passed; by default a worker '
    'computes it.';

CREATE FUNCTION larder.schedule_run(name text) RETURNS void
LANGUAGE sql AS $$ SELECT larder_data.change_schedule(name, 'run') $$;
COMMENT ON FUNCTION larder.schedule_run IS 'Makes a schedule due now, and resumes it.';

CREATE FUNCTION larder.schedule_remove(name text) RETURNS void
LANGUAGE sql AS $$ SELECT larder_data.change_schedule(name, 'remove') $$;
COMMENT ON FUNCTION larder.schedule_remove IS 'Deletes a schedule. Its batches stay.';

CREATE VIEW larder.schedule AS
SELECT s.name, s.cron, s.time_zone, s.query, cardinality(s.urls) AS urls,
    s.request || jsonb_strip_nulls(jsonb_build_object('on_finished', regexp_replace(
        s.request ->> 'on_finished', '^([A-Za-z]+://)([^/?#]*@)?([^/?#]*).*$', '\1\3'))) AS request,
    s.owner, s.paused_at, nullif(s.next_at, 'infinity') AS next_at, s.last_at, s.last_batch, s.last_urls, s.last_error,
    s.missed, s.waiting_for
FROM larder_data.schedule s;
COMMENT ON VIEW larder.schedule IS
    'Schedules. urls: how many. next_at: NULL until a worker has computed it, and after an error in cron. last_error: '
    'why the last run enqueued nothing. missed: runs that did not happen. waiting_for: the batch after whose end the '
    'next run is made.';
