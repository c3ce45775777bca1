-- Schedules: lists and queries that are enqueued by the clock.
--
-- A schedule that is due is run by the first worker that locks its row, in one transaction with its batch and its next
-- time: each run happens once, and a worker that dies in between leaves it due. A run that is late, or that waits for
-- the batch before it, is made once; how many further ones were missed is counted.

CREATE TABLE larder_data.schedule (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name !~ '^[0-9]*$|@-?[0-9]+$' AND octet_length(name) <= 200),
    owner text NOT NULL DEFAULT larder_data.caller(),
    cron text NOT NULL,
    time_zone text NOT NULL,
    query text,
    urls text[],
    settings json[],
    metas json[],
    request json NOT NULL,
    paused_at timestamptz,
    next_at timestamptz NOT NULL,
    last_at timestamptz,
    last_batch bigint,
    last_urls bigint,
    last_error text,
    missed bigint NOT NULL DEFAULT 0,
    waiting_for bigint
);
COMMENT ON TABLE larder_data.schedule IS
    'What is enqueued by the clock, each run as the next run of the batch `name`. Either query or urls. request: as of '
    'larder.enqueue_list. last_error: why the last run enqueued nothing. missed: runs that did not happen. '
    'waiting_for: the unfinished batch for which the run of next_at waits.';

CREATE VIEW larder_data.due_schedule AS
SELECT s.* FROM larder_data.schedule s
WHERE s.paused_at IS NULL AND s.next_at <= clock_timestamp() AND NOT EXISTS (
    SELECT FROM larder_data.batch b
    WHERE b.id = s.waiting_for AND b.finished_at IS NULL AND b.cancelled_at IS NULL);
COMMENT ON VIEW larder_data.due_schedule IS 'Schedules whose run is to be made now.';

-- A query of a schedule has the rights of the role larder_schedule only, which can read what it was granted. Neither
-- the role that set the schedule nor the login of the worker matters. The caller undoes all changes of the query.
CREATE FUNCTION larder_data.schedule_rows(query text) RETURNS SETOF json
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE format(E'SELECT row_to_json(q) FROM (%s\n) AS q LIMIT 200001', query);
END $$;
COMMENT ON FUNCTION larder_data.schedule_rows IS
    'The first 200,001 rows of a query, with the rights of larder_schedule.';

CREATE FUNCTION larder_data.create_schedule_role() RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.rolname = 'larder_schedule') THEN
        CREATE ROLE larder_schedule NOLOGIN;
    END IF;
    IF NOT pg_has_role('larder_schedule', 'MEMBER') THEN
        EXECUTE format('GRANT larder_schedule TO %I', current_user);
    END IF;
    GRANT USAGE, CREATE ON SCHEMA larder_data TO larder_schedule;
    ALTER FUNCTION larder_data.schedule_rows(text) OWNER TO larder_schedule;
    REVOKE ALL ON SCHEMA larder_data FROM larder_schedule;
EXCEPTION
    WHEN insufficient_privilege OR duplicate_object OR unique_violation THEN
        RAISE NOTICE 'schedules with a query cannot be used: role larder_schedule: %', SQLERRM;
END $$;
COMMENT ON FUNCTION larder_data.create_schedule_role IS
    'Creates the role that queries of schedules run with, as far as the caller may; may be repeated.';
SELECT larder_data.create_schedule_role();

CREATE FUNCTION larder_data.rows_of_query(query text, is_trial boolean DEFAULT false) RETURNS json[]
LANGUAGE plpgsql AS $$
DECLARE
    found json[];
BEGIN
    IF NOT EXISTS (
        SELECT FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_roles r ON r.oid = p.proowner
        WHERE p.oid = 'larder_data.schedule_rows(text)'::regprocedure AND r.rolname = 'larder_schedule')
    THEN
        RAISE EXCEPTION 'the role larder_schedule, with which queries run, could not be created'
            USING ERRCODE = '42501', HINT = 'a superuser calls larder_data.create_schedule_role()';
    END IF;
    BEGIN
        SELECT array_agg(r) INTO found FROM larder_data.schedule_rows(
            CASE WHEN is_trial THEN format(E'SELECT * FROM (%s\n) AS t LIMIT 1', query) ELSE query END) AS r;
        -- Also what it has set in the session.
        RAISE EXCEPTION 'undone' USING ERRCODE = 'LA012';
    EXCEPTION
        WHEN SQLSTATE 'LA012' THEN
            NULL;
        WHEN OTHERS THEN
            IF SQLSTATE = '55P03' AND NOT is_trial THEN
                RAISE;
            END IF;
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
COMMENT ON FUNCTION larder_data.rows_of_query IS
    'The rows of a schedule''s query, at most 200,000; is_trial: of its first row. Nothing that the query did remains.';

CREATE FUNCTION larder.schedule_set(
    name text, cron text, time_zone text DEFAULT 'UTC', query text DEFAULT NULL, urls text[] DEFAULT NULL,
    settings json[] DEFAULT NULL, metas json[] DEFAULT NULL, request json DEFAULT '{}'
) RETURNS timestamptz
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
#variable_conflict use_variable
DECLARE
    statement text := regexp_replace(query, '[\s;]+$', '');
    first_at timestamptz;
BEGIN
    IF (query IS NULL) = (urls IS NULL) THEN
        RAISE EXCEPTION 'a schedule has either a query or URLs' USING ERRCODE = '22023';
    ELSIF cardinality(urls) > 200000 THEN
        RAISE EXCEPTION 'a schedule has at most 200000 URLs, not %', cardinality(urls) USING ERRCODE = '22023',
            HINT = 'a query can read them from a table';
    ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_timezone_names z WHERE z.name = time_zone) THEN
        RAISE EXCEPTION 'unknown time zone "%"', time_zone USING ERRCODE = '22023', HINT = 'such as Europe/Berlin';
    END IF;
    first_at := larder_data.cron_next(cron, time_zone, clock_timestamp());
    IF first_at IS NULL THEN
        RAISE EXCEPTION 'cron: "%" never comes', cron USING ERRCODE = '22023';
    END IF;
    PERFORM larder_data.find_queue(coalesce(request ->> 'queue', 'default'));
    PERFORM larder_data.find_pipeline(request ->> 'pipeline') WHERE request ->> 'pipeline_spec' IS NULL
        AND request ->> 'pipeline' IS NOT NULL;
    PERFORM larder_data.check_webhook(request ->> 'on_finished');
    PERFORM larder_data.rows_of_query(statement, true) WHERE statement IS NOT NULL;
    INSERT INTO larder_data.schedule AS s (name, cron, time_zone, query, urls, settings, metas, request, next_at)
    VALUES (name, cron, time_zone, statement, urls, settings, metas, request, first_at)
    ON CONFLICT ON CONSTRAINT schedule_name_key DO UPDATE SET
        owner = excluded.owner, cron = excluded.cron, time_zone = excluded.time_zone, query = excluded.query,
        urls = excluded.urls, settings = excluded.settings, metas = excluded.metas, request = excluded.request,
        next_at = excluded.next_at, last_error = NULL, waiting_for = NULL;
    RETURN first_at;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('schedule "%s"', name), 'larder_data.schedule');
END $$;
COMMENT ON FUNCTION larder.schedule_set IS
    'Creates or replaces a schedule, and returns when it is next due. Each run is a new run of the batch of that name. '
    'query: a SELECT with a column url and any of priority, pipeline, at, name and meta, at most 200,000 rows; it runs '
    'with the rights of the role larder_schedule and finds names only when they are qualified. urls, settings, metas, '
    'request: instead, as of larder.enqueue_list; request also for a query, and with on_finished, the URL of the '
    'webhook of each run.';

CREATE FUNCTION larder_data.change_schedule(name text, is_paused boolean, due_at timestamptz) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
BEGIN
    UPDATE larder_data.schedule s SET
        paused_at = CASE WHEN is_paused THEN coalesce(s.paused_at, clock_timestamp()) END,
        next_at = coalesce(due_at, CASE WHEN is_paused OR s.paused_at IS NULL THEN s.next_at
            ELSE larder_data.cron_next(s.cron, s.time_zone, clock_timestamp()) END),
        last_error = CASE WHEN s.waiting_for IS NULL THEN s.last_error END, waiting_for = NULL
    WHERE s.name = change_schedule.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown schedule "%"', name USING ERRCODE = 'LA013';
    END IF;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('schedule "%s"', name), 'larder_data.schedule');
END $$;
COMMENT ON FUNCTION larder_data.change_schedule IS
    'Pauses or resumes a schedule, and sets when it is due; one that was paused is next due at its next time. A run '
    'that waits for a batch is given up.';

CREATE FUNCTION larder.schedule_pause(name text) RETURNS void
LANGUAGE sql AS $$ SELECT larder_data.change_schedule(name, true, NULL) $$;
COMMENT ON FUNCTION larder.schedule_pause IS 'Keeps a schedule from running until larder.schedule_resume().';

CREATE FUNCTION larder.schedule_resume(name text) RETURNS void
LANGUAGE sql AS $$ SELECT larder_data.change_schedule(name, false, NULL) $$;
COMMENT ON FUNCTION larder.schedule_resume IS 'Runs a paused schedule again, from its next time on.';

CREATE FUNCTION larder.schedule_run(name text) RETURNS void
LANGUAGE sql AS $$ SELECT larder_data.change_schedule(name, false, clock_timestamp()) $$;
COMMENT ON FUNCTION larder.schedule_run IS
    'Makes a schedule due now: a worker runs it within 5 s. A paused one is resumed.';

CREATE FUNCTION larder.schedule_remove(name text) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
BEGIN
    DELETE FROM larder_data.schedule s WHERE s.name = schedule_remove.name;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown schedule "%"', name USING ERRCODE = 'LA013';
    END IF;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('schedule "%s"', name), 'larder_data.schedule');
END $$;
COMMENT ON FUNCTION larder.schedule_remove IS 'Deletes a schedule. Its batches stay.';

CREATE VIEW larder.schedule AS
SELECT s.name, s.cron, s.time_zone, s.query, cardinality(s.urls) AS urls, s.request, s.owner, s.paused_at, s.next_at,
    s.last_at, s.last_batch, s.last_urls, s.last_error, s.missed, s.waiting_for
FROM larder_data.schedule s;
COMMENT ON VIEW larder.schedule IS
    'Schedules. urls: how many, of a list. last_batch, last_urls: what the last run enqueued. last_error: why it '
    'enqueued nothing. missed: runs that did not happen, as no worker was there or the batch was not finished. '
    'waiting_for: the id of the batch after whose end the run that is due since next_at is made.';

-- Running.

CREATE FUNCTION larder_data.enqueue_schedule(s larder_data.schedule, batch bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    request json := s.request::jsonb || jsonb_build_object('batch', batch::text);
    found json[];
    part record;
    total bigint := 0;
BEGIN
    IF s.query IS NOT NULL THEN
        found := larder_data.rows_of_query(s.query);
    END IF;
    FOR part IN
        SELECT array_agg(x.url ORDER BY x.ord) AS urls, array_agg(x.setting ORDER BY x.ord) AS settings,
            array_agg(x.meta ORDER BY x.ord) AS metas
        FROM (
            SELECT u.ord, u.url, u.setting, u.meta
            FROM unnest(s.urls, s.settings, s.metas) WITH ORDINALITY AS u (url, setting, meta, ord)
            UNION ALL
            SELECT r.ord, r.line ->> 'url', nullif(json_strip_nulls(json_build_object('priority', r.line -> 'priority',
                    'pipeline', r.line ->> 'pipeline', 'run_at', r.line ->> 'at'))::text, '{}')::json,
                coalesce(nullif((r.line -> 'meta')::text, 'null')::json, CASE WHEN r.line ->> 'name' IS NOT NULL
                    THEN json_build_object('name', r.line ->> 'name') END)
            FROM unnest(found) WITH ORDINALITY AS r (line, ord)) AS x
        GROUP BY (x.ord - 1) / 10000 ORDER BY (x.ord - 1) / 10000
    LOOP
        PERFORM FROM larder.enqueue_list(request, part.urls, part.settings, part.metas);
        total := total + cardinality(part.urls);
    END LOOP;
    RETURN total;
END $$;
COMMENT ON FUNCTION larder_data.enqueue_schedule IS 'Enqueues what a schedule yields now; answers how many URLs.';

-- A lock that another transaction holds, for example as it has inserted one of the jobs, is waited for as long as an
-- operator's call waits: the transaction keeps the row of the schedule locked, and other schedules from being run.
CREATE FUNCTION larder_data.run_schedule(
    s larder_data.schedule, OUT batch bigint, OUT urls bigint, OUT error text, OUT is_postponed boolean,
    OUT waiting_for bigint
)
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    latest larder_data.batch;
BEGIN
    is_postponed := false;
    SELECT * INTO latest FROM larder_data.batch b WHERE b.name = s.name ORDER BY b.run DESC LIMIT 1;
    IF FOUND AND NOT larder_data.is_over(latest) THEN
        error := format('batch %s@%s is not finished', latest.name, latest.run);
        waiting_for := latest.id;
        RETURN;
    END IF;
    batch := (larder_data.open_batch(s.name, coalesce(s.request ->> 'queue', 'default'), NULL, NULL, NULL)).id;
    urls := larder_data.enqueue_schedule(s, batch);
    PERFORM larder.batch_on_finished(batch::text, s.request ->> 'on_finished');
    PERFORM larder.batch_seal(batch::text);
    -- Until here it belongs to the login of the worker.
    UPDATE larder_data.batch b SET owner = s.owner WHERE b.id = batch;
EXCEPTION
    WHEN serialization_failure OR deadlock_detected THEN
        RAISE;
    WHEN lock_not_available OR SQLSTATE 'LA010' THEN
        is_postponed := true;
        error := format('postponed by 5 s: another transaction holds a lock (SQLSTATE %s)', SQLSTATE);
        batch := NULL;
        urls := NULL;
    WHEN OTHERS OR query_canceled THEN
        error := format('%s (SQLSTATE %s)', SQLERRM, SQLSTATE);
        batch := NULL;
        urls := NULL;
END $$;
COMMENT ON FUNCTION larder_data.run_schedule IS
    'Enqueues a schedule as a new run of its batch, unless the one before is not finished; or answers why not. '
    'is_postponed: this run is still to be made. waiting_for: it is to be made after the end of this batch.';

CREATE FUNCTION larder.run_schedule_v1() RETURNS TABLE (schedule text, batch_id bigint, urls bigint, error text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    s larder_data.schedule;
    r record;
    following timestamptz;
    skipped int := 0;
BEGIN
    SELECT x.* INTO s FROM larder_data.due_schedule x ORDER BY x.next_at LIMIT 1 FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    following := larder_data.cron_next(s.cron, s.time_zone, s.next_at);
    WHILE following <= clock_timestamp() AND skipped < 1000 LOOP
        skipped := skipped + 1;
        following := larder_data.cron_next(s.cron, s.time_zone, following);
    END LOOP;
    r := larder_data.run_schedule(s);
    UPDATE larder_data.schedule x SET
        next_at = CASE WHEN r.is_postponed THEN clock_timestamp() + interval '5 s'
            WHEN r.waiting_for IS NOT NULL THEN x.next_at
            ELSE larder_data.cron_next(s.cron, s.time_zone, clock_timestamp()) END,
        last_at = CASE WHEN r.is_postponed OR r.waiting_for IS NOT NULL THEN x.last_at ELSE clock_timestamp() END,
        last_batch = coalesce(r.batch, x.last_batch), last_urls = coalesce(r.urls, x.last_urls), last_error = r.error,
        -- The run that waits counts the others that are due meanwhile, when it is made.
        missed = x.missed + CASE WHEN r.waiting_for IS NULL
            THEN skipped + (r.error IS NOT NULL AND NOT r.is_postponed)::int ELSE 0 END,
        waiting_for = r.waiting_for
    WHERE x.id = s.id;
    RETURN QUERY SELECT s.name, r.batch, r.urls, r.error;
END $$;
COMMENT ON FUNCTION larder.run_schedule_v1 IS
    'Runs the schedule that is due for longest, if any, in this transaction. Workers call it when one may be due, and '
    'again after each row. Any number of callers: a schedule that another one runs is skipped. A run that waits for a '
    'lock for 1.5 s is made 5 s later, one that waits for a batch when that is finished.';
