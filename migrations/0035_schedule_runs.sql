-- How schedules run.
--
-- A worker asks for the schedule due for longest, computes the time after this run, and then runs it: the run, its
-- batch and the next time are one transaction. Each run happens once, because it locks the row and checks that the
-- schedule is still due at the time given to the worker. A worker that dies in between leaves it due. A run that is
-- late, or waits for the previous batch, is made once; further missed runs are counted.

CREATE VIEW larder_data.due_schedule AS
SELECT s.* FROM larder_data.schedule s
WHERE s.paused_at IS NULL AND coalesce(s.next_at, '-infinity') <= clock_timestamp() AND NOT EXISTS (
    SELECT FROM larder_data.batch b
    WHERE b.id = s.waiting_for AND b.finished_at IS NULL AND b.cancelled_at IS NULL);

-- The lock ends with the statement: it only skips a schedule that another worker is running.
CREATE FUNCTION larder.due_schedule_v1() RETURNS TABLE (schedule text, cron text, time_zone text, due_at timestamptz)
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM larder_data.require_read_committed();
    RETURN QUERY
    SELECT x.name, x.cron, x.time_zone, x.next_at FROM larder_data.due_schedule x
    ORDER BY x.next_at NULLS FIRST LIMIT 1 FOR UPDATE SKIP LOCKED;
END $$;
COMMENT ON FUNCTION larder.due_schedule_v1 IS
    'The schedule that is most overdue. due_at: NULL when only its next time is to be computed.';

-- Enqueues a schedule as a new run of its batch, or sets waiting_for if the previous run is not finished. Waits only
-- for a batch of the schedule's owner, or of an earlier run: another role could hold its own batch open for ever.
CREATE FUNCTION larder_data.start_run(s larder_data.schedule) RETURNS larder_data.schedule
LANGUAGE plpgsql AS $$
DECLARE
    latest larder_data.batch;
    request json;
    lines json[];
    part record;
BEGIN
    SELECT * INTO latest FROM larder_data.batch b WHERE b.name = s.name ORDER BY b.run DESC LIMIT 1;
    IF FOUND AND NOT larder_data.is_over(latest) THEN
        s.last_error := format('batch %s@%s is not finished', latest.name, latest.run);
        IF latest.owner <> s.owner AND latest.id IS DISTINCT FROM s.last_batch THEN
            RAISE EXCEPTION '%, and belongs to role %', s.last_error, latest.owner USING ERRCODE = 'LA001';
        END IF;
        s.waiting_for := latest.id;
        RETURN s;
    END IF;
    s.last_batch := (larder_data.open_batch(s.name, coalesce(s.request ->> 'queue', 'default'), NULL, NULL, NULL)).id;
    s.last_urls := 0;
    request := s.request || jsonb_build_object('batch', s.last_batch::text);
    lines := CASE WHEN s.query IS NOT NULL THEN larder_data.rows_of_query(s.query) END;
    FOR part IN
        SELECT array_agg(x.url ORDER BY x.ord) AS urls, array_agg(x.setting ORDER BY x.ord) AS settings,
            array_agg(x.meta ORDER BY x.ord) AS metas
        FROM (
            SELECT u.ord, u.url, u.setting, u.meta
            FROM unnest(s.urls, s.settings, s.metas) WITH ORDINALITY AS u (url, setting, meta, ord)
            UNION ALL
            SELECT r.ord, r.line ->> 'url', nullif(json_strip_nulls(json_build_object('priority', r.line -> 'priority',
                    'pipeline', r.line ->> 'pipeline', 'at', r.line ->> 'at'))::text, '{}')::json,
                coalesce(nullif((r.line -> 'meta')::text, 'null')::json, CASE WHEN r.line ->> 'name' IS NOT NULL
                    THEN json_build_object('name', r.line ->> 'name') END)
            FROM unnest(lines) WITH ORDINALITY AS r (line, ord)) AS x
        GROUP BY (x.ord - 1) / 10000 ORDER BY (x.ord - 1) / 10000
    LOOP
        PERFORM FROM larder.enqueue_list(request, part.urls, part.settings, part.metas);
        s.last_urls := s.last_urls + cardinality(part.urls);
    END LOOP;
    PERFORM larder.batch_on_finished(s.last_batch::text, s.request ->> 'on_finished');
    PERFORM larder.batch_seal(s.last_batch::text);
    -- Until here it belongs to the worker's login.
    UPDATE larder_data.batch b SET owner = s.owner WHERE b.id = s.last_batch;
    RETURN s;
END $$;

-- Waits as long as an operator's call for a lock held by another transaction, for example one that inserted one of the
-- jobs: the schedule's row is locked meanwhile.
CREATE FUNCTION larder.run_schedule_v1(
    schedule text, due_at timestamptz, next_at timestamptz, missed int DEFAULT 0, cron_error text DEFAULT NULL
) RETURNS TABLE (batch_id bigint, urls bigint, error text)
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
#variable_conflict use_variable
DECLARE
    s larder_data.schedule;
    following timestamptz := CASE WHEN next_at IS NOT NULL THEN greatest(next_at, clock_timestamp()) END;
BEGIN
    PERFORM larder_data.wait_for_flush();
    missed := least(greatest(coalesce(missed, 0), 0), 1000);
    SELECT x.* INTO s FROM larder_data.due_schedule x
    WHERE x.name = schedule AND x.next_at IS NOT DISTINCT FROM due_at FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    s.waiting_for := NULL;
    s.last_error := NULL;
    IF next_at IS NULL THEN
        s.last_error := left(coalesce(cron_error, 'cron has no next time'), 2000);
        s.last_at := clock_timestamp();
        s.next_at := 'infinity';
    ELSIF due_at IS NULL THEN
        s.next_at := following;
    ELSE
        BEGIN
            s := larder_data.start_run(s);
            -- When the waiting run is made, it counts further runs due meanwhile.
            IF s.waiting_for IS NULL THEN
                batch_id := s.last_batch;
                urls := s.last_urls;
                s.missed := s.missed + missed;
                s.last_at := clock_timestamp();
                s.next_at := following;
            END IF;
        EXCEPTION
            WHEN deadlock_detected THEN
                RAISE;
            WHEN lock_not_available OR SQLSTATE 'LA010' THEN
                s.last_error := format('postponed by 5 s: another transaction holds a lock (SQLSTATE %s)', SQLSTATE);
                s.next_at := clock_timestamp() + interval '5 s';
            WHEN OTHERS OR query_canceled THEN
                s.last_error := format('%s (SQLSTATE %s)', SQLERRM, SQLSTATE);
                s.missed := s.missed + missed + 1;
                s.last_at := clock_timestamp();
                s.next_at := following;
        END;
    END IF;
    UPDATE larder_data.schedule x SET next_at = s.next_at, last_at = s.last_at, last_batch = s.last_batch,
        last_urls = s.last_urls, last_error = s.last_error, missed = s.missed, waiting_for = s.waiting_for
    WHERE x.id = s.id;
    error := s.last_error;
    RETURN NEXT;
END $$;
COMMENT ON FUNCTION larder.run_schedule_v1 IS
    'Runs a schedule that larder.due_schedule_v1() answered; no row when another worker did so. next_at: its first '
    'time after now, or NULL and cron_error.';
