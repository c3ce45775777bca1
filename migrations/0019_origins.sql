-- Origins that receive no requests for a while.
--
-- A worker reports once that an origin answered with Retry-After, or that its own breaker for the origin opened. A
-- Retry-After comes from the origin and holds it at once. An open breaker may be a fault of the worker's own network:
-- it holds the origin only when a second worker reports one, or when no other worker runs jobs of the origin. A success
-- that any worker reports ends the hold. The row appears when the hold begins and is deleted after it, so there are
-- few. Claims move jobs of a held origin to scheduled, each to a time of its own after the end of the hold, at most
-- about 2,000 in one claim; maintenance moves those behind. Workers with jobs read the rows about every second then.
-- No attempt is used, and the jobs wait until the origin responds. Only a worker with --breaker-probes gives an origin
-- up after so many failed probes: then its jobs are claimed and fail without a request, so that batches end.
--
-- At the end of a breaker's hold one claim takes the probe and gets one job of the origin; the other claims defer
-- theirs until a worker reports the result.

CREATE TABLE larder_data.origin_hold (
    origin_id int PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    until timestamptz NOT NULL,
    probing_until timestamptz,
    reason text NOT NULL CHECK (reason IN ('retry-after', 'breaker', 'operator')),
    gave_up boolean NOT NULL DEFAULT false,
    failed_probes int NOT NULL DEFAULT 0,
    code int,
    http_status int,
    domain text
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.origin_hold IS
    'Origins that are held. Of a breaker: domain, code, http_status: the failure that opened it; failed_probes: in a '
    'row; gave_up: its jobs are claimed, to fail; probing_until: until then a probe is under way. The row of a '
    'breaker stays after `until`, until a probe succeeds.';

CREATE TABLE larder_data.origin_evidence (
    origin_id int NOT NULL,
    worker_id bigint NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (origin_id, worker_id)
);
COMMENT ON TABLE larder_data.origin_evidence IS
    'Workers whose breaker of an origin opened, until a minute after it is to be probed; worker_id 0: not registered.';

-- Jobs that run now show who asks the origin. A worker that asked it in the last minute with success sees the hold
-- within a second and reports `closed`.
CREATE FUNCTION larder_data.is_evident(origin int, reporter bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.origin_id = origin AND h.reason = 'breaker')
        OR EXISTS (
            SELECT FROM larder_data.origin_evidence e
            WHERE e.origin_id = origin AND e.worker_id <> reporter AND e.until > clock_timestamp())
        OR NOT EXISTS (
            SELECT FROM larder_data.running r,
                LATERAL (SELECT x.origin_id FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j
            WHERE r.worker_id <> reporter AND j.origin_id = origin)
$$;
COMMENT ON FUNCTION larder_data.is_evident IS
    'Whether an open breaker of this worker holds the origin for all workers.';

-- A worker that reported the failure probes 5 s later than others, if there are others.
CREATE FUNCTION larder_data.may_probe(origin int, due timestamptz, prober bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    SELECT due + interval '5 s' < clock_timestamp()
        OR NOT EXISTS (
            SELECT FROM larder_data.origin_evidence e
            WHERE e.origin_id = origin AND e.worker_id = prober AND e.until > clock_timestamp())
        OR NOT EXISTS (
            SELECT FROM larder_data.live_worker w
            WHERE w.stopped_at IS NULL AND w.heartbeat_at + w.lease_ms * interval '1 ms' > clock_timestamp()
              AND NOT EXISTS (
                  SELECT FROM larder_data.origin_evidence e
                  WHERE e.origin_id = origin AND e.worker_id = w.id AND e.until > clock_timestamp()))
$$;
COMMENT ON FUNCTION larder_data.may_probe IS 'Whether this worker may take a probe that is due.';

-- The rows of ready that a claim has locked, in its order. 250 ms after the end of a breaker's hold, so that the
-- worker that measured the same hold finds it over too.
CREATE FUNCTION larder_data.take_probes(picked tid[], wanted int, prober bigint) RETURNS int[]
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    due int[] := ARRAY(
        SELECT DISTINCT j.origin_id FROM unnest(picked) AS t (tid),
            LATERAL (SELECT x.job_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r,
            LATERAL (SELECT x.origin_id FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j
        WHERE EXISTS (
            SELECT FROM larder_data.origin_hold h
            WHERE h.origin_id = j.origin_id AND h.reason = 'breaker' AND NOT h.gave_up
              AND h.until + interval '250 ms' <= clock_timestamp()
              AND coalesce(h.probing_until, '-infinity') <= clock_timestamp()
              AND larder_data.may_probe(h.origin_id, h.until, prober)));
    taken int[];
BEGIN
    WITH probed AS (
        UPDATE larder_data.origin_hold h SET probing_until = clock_timestamp() + interval '60 s'
        WHERE h.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.origin_hold x
            WHERE x.origin_id = ANY (due) AND coalesce(x.probing_until, '-infinity') <= clock_timestamp()
            LIMIT wanted FOR UPDATE SKIP LOCKED))
        RETURNING h.origin_id
    )
    SELECT coalesce(array_agg(p.origin_id), '{}') INTO taken FROM probed p;
    RETURN taken;
END $$;
COMMENT ON FUNCTION larder_data.take_probes IS 'The origins of a claim''s jobs that it is to probe.';

CREATE FUNCTION larder_data.defer_held(
    picked tid[], wanted int, worker bigint, OUT kept tid[], OUT some_deferred boolean
)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    probed int[] := larder_data.take_probes(picked, wanted, worker);
BEGIN
    WITH decided AS MATERIALIZED (
        SELECT t.tid, t.ord, r.job_id, h.until, h.until IS NULL OR h.origin_id = ANY (probed)
            AND row_number() OVER (PARTITION BY j.origin_id ORDER BY t.ord) = 1 AS is_kept
        FROM unnest(picked) WITH ORDINALITY AS t (tid, ord)
        CROSS JOIN LATERAL (SELECT x.job_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r
        CROSS JOIN LATERAL (SELECT x.origin_id FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j
        LEFT JOIN LATERAL (
            SELECT x.origin_id, x.until FROM larder_data.origin_hold x
            WHERE x.origin_id = j.origin_id AND NOT x.gave_up
              AND (x.until > clock_timestamp() OR x.reason = 'breaker')) AS h ON true
    ), removed AS (
        DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(SELECT d.tid FROM decided d WHERE NOT d.is_kept))
    ), deferred AS (
        -- After the hold, or soon when a probe is under way.
        INSERT INTO larder_data.scheduled (run_at, job_id)
        SELECT larder_data.return_at(greatest(d.until, clock_timestamp() + interval '1 s')), d.job_id
        FROM decided d WHERE NOT d.is_kept
    )
    -- Probes first: a probe that is taken and not used is lost for a minute.
    SELECT (coalesce(array_agg(d.tid ORDER BY d.until IS NULL, d.ord) FILTER (WHERE d.is_kept), '{}'))[1 : wanted],
        coalesce(bool_or(NOT d.is_kept), false)
    INTO kept, some_deferred FROM decided d;
END $$;
COMMENT ON FUNCTION larder_data.defer_held IS
    'Schedules the jobs of held origins among these rows of ready; answers the other rows, at most `wanted`.';

-- An origin, or a paused batch, may have a million jobs. The jobs that are claimed next are kept free of them, so that
-- a claim finds others in its first round. Read without locks, so that no claim passes over a free job. A breaker whose
-- time is over is left to claims, which take its probe, and what other batches have joined is left to them, too. Where
-- queues are long the search reads up to 5,000 rows of each queue and priority and finds none: so it is a fiftieth of
-- the time at most, see reschedule(), and its period is long.
CREATE FUNCTION larder_data.maintenance_holds() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    began_at CONSTANT timestamptz := clock_timestamp();
    portion CONSTANT int := 5000;
    picked tid[] := '{}'::tid[];
BEGIN
    IF EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.until > clock_timestamp() AND NOT h.gave_up)
        OR EXISTS (
            SELECT FROM larder_data.batch b
            WHERE b.finished_at IS NULL AND b.paused_at IS NOT NULL AND b.cancelled_at IS NULL) THEN
        picked := ARRAY(
            SELECT front.tid FROM larder_data.queue q
            CROSS JOIN generate_series(0, 9) AS p
            LEFT JOIN LATERAL (
                SELECT x.positions FROM larder_data.current_cursor x WHERE x.queue_id = q.id OFFSET 0) AS c ON true
            CROSS JOIN LATERAL (
                (SELECT x.ctid AS tid, x.job_id FROM larder_data.ready x
                 WHERE NOT q.lifo AND x.queue_id = q.id AND x.priority = p
                   AND x.job_id > coalesce(c.positions[p + 1], -1)
                 ORDER BY x.job_id LIMIT portion)
                UNION ALL
                (SELECT x.ctid, x.job_id FROM larder_data.ready x
                 WHERE q.lifo AND x.queue_id = q.id AND x.priority = p
                 ORDER BY x.job_id DESC LIMIT portion)) AS front
            CROSS JOIN LATERAL (
                SELECT x.batch_id, x.origin_id, x.has_subscribers FROM larder_data.job x
                WHERE x.id = front.job_id OFFSET 0) AS j
            CROSS JOIN LATERAL (
                SELECT FROM larder_data.origin_hold h
                WHERE h.origin_id = j.origin_id AND h.until > clock_timestamp() AND NOT h.gave_up
                UNION ALL
                SELECT FROM larder_data.batch b
                WHERE b.id = j.batch_id AND b.paused_at IS NOT NULL AND b.cancelled_at IS NULL
                  AND NOT (j.has_subscribers AND EXISTS (
                      SELECT FROM larder_data.job_subscriber s WHERE s.job_id = front.job_id))
                LIMIT 1) AS held
            LIMIT portion);
        picked := ARRAY(SELECT x.ctid FROM larder_data.ready x WHERE x.ctid = ANY (picked) FOR UPDATE SKIP LOCKED);
        IF picked <> '{}' THEN
            -- By what these rows are now; none is kept for a probe. Claims need not pass what is dead now.
            PERFORM larder_data.put_off_held(picked, 0, 0, false, false);
            PERFORM larder_data.maintenance_claims();
        END IF;
    END IF;
    IF cardinality(picked) >= portion THEN
        PERFORM larder_data.run_again('holds', true);
    ELSE
        PERFORM larder_data.reschedule('holds', began_at, '1 s');
    END IF;
    RETURN cardinality(picked);
END $$;
COMMENT ON FUNCTION larder_data.maintenance_holds IS
    'Moves aside the jobs of held origins and of paused batches among the first 5,000 ready jobs of each queue and '
    'priority, 5,000 a call.';

CREATE FUNCTION larder_data.note_evidence(origins text[], reasons text[], lengths_ms bigint[], reporter bigint)
RETURNS void
LANGUAGE sql AS $$
    DELETE FROM larder_data.origin_hold h USING unnest(origins, reasons) AS g (origin, reason), larder_data.origin o
    WHERE g.reason = 'closed' AND o.name = g.origin AND h.origin_id = o.id AND h.reason = 'breaker';
    DELETE FROM larder_data.origin_evidence e USING unnest(origins, reasons) AS g (origin, reason), larder_data.origin o
    WHERE g.reason = 'closed' AND o.name = g.origin AND e.origin_id = o.id;
    INSERT INTO larder_data.origin_evidence AS e (origin_id, worker_id, until)
    SELECT o.id, reporter,
        clock_timestamp() + least(max(g.length), max(s.retry_after_cap_ms)) * interval '1 ms' + interval '1 min'
    FROM unnest(origins, reasons, lengths_ms) AS g (origin, reason, length)
        JOIN larder_data.origin o ON o.name = left(g.origin, 300) CROSS JOIN larder_data.settings s
    WHERE g.reason = 'breaker' AND g.length > 0 GROUP BY o.id ORDER BY o.id
    ON CONFLICT (origin_id, worker_id) DO UPDATE SET until = excluded.until;
$$;
COMMENT ON FUNCTION larder_data.note_evidence IS
    'Records which breakers of a worker opened; a success ends hold and evidence of the origin.';

-- A redirect may lead to an origin that is not in any URL.
CREATE FUNCTION larder_data.add_origins(names text[]) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '100ms' AS $$
DECLARE
    new_name text;
BEGIN
    FOREACH new_name IN ARRAY names LOOP
        CONTINUE WHEN EXISTS (SELECT FROM larder_data.origin o WHERE o.name = new_name);
        BEGIN
            INSERT INTO larder_data.origin (name) VALUES (new_name) ON CONFLICT (name) DO NOTHING;
        EXCEPTION WHEN lock_not_available THEN
            CONTINUE;
        END;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder_data.add_origins IS
    'Inserts origins. One that another open transaction has inserted is left out, so that no worker waits for it.';

CREATE FUNCTION larder.origin_report_v1(
    origins text[], reasons text[], lengths_ms bigint[], failed_probes bigint[] DEFAULT NULL,
    gave_up bigint[] DEFAULT NULL, domains text[] DEFAULT NULL, codes bigint[] DEFAULT NULL,
    http_statuses bigint[] DEFAULT NULL, worker bigint DEFAULT NULL
) RETURNS int
LANGUAGE plpgsql SET jit = off SET lock_timeout = '100ms' AS $$
DECLARE
    moved int;
BEGIN
    IF (cardinality(reasons), cardinality(lengths_ms)) IS DISTINCT FROM (cardinality(origins), cardinality(origins))
    THEN
        RAISE EXCEPTION 'origins, reasons and lengths_ms have the same length' USING ERRCODE = '22023';
    ELSIF NOT reasons <@ '{retry-after,breaker,closed}' THEN
        RAISE EXCEPTION 'a reason is retry-after, breaker or closed' USING ERRCODE = '22023';
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    PERFORM larder_data.add_origins(ARRAY(
        SELECT DISTINCT left(g.origin, 300) FROM unnest(origins, reasons) AS g (origin, reason)
        WHERE g.reason <> 'closed' ORDER BY 1));
    PERFORM larder_data.note_evidence(origins, reasons, lengths_ms, coalesce(worker, 0));
    INSERT INTO larder_data.origin_hold AS h (
        origin_id, until, reason, failed_probes, gave_up, domain, code, http_status)
    -- One failure may be both: a breaker, which is probed after its hold, and a Retry-After, which may be longer.
    SELECT o.id, clock_timestamp() + least(max(g.length), max(s.retry_after_cap_ms)) * interval '1 ms', min(g.reason),
        coalesce(max(g.failed) FILTER (WHERE g.reason = 'breaker'), 0),
        coalesce(max(g.gave_up) FILTER (WHERE g.reason = 'breaker'), 0) > 0,
        (array_agg(left(g.domain, 100) ORDER BY g.reason, g.length DESC))[1],
        (array_agg(g.code::int ORDER BY g.reason, g.length DESC))[1],
        (array_agg(g.http_status::int ORDER BY g.reason, g.length DESC))[1]
    FROM unnest(origins, reasons, lengths_ms, failed_probes, gave_up, domains, codes, http_statuses)
            AS g (origin, reason, length, failed, gave_up, domain, code, http_status)
        JOIN larder_data.origin o ON o.name = left(g.origin, 300) CROSS JOIN larder_data.settings s
    WHERE g.length > 0 AND (g.reason = 'retry-after'
        OR g.reason = 'breaker' AND larder_data.is_evident(o.id, coalesce(worker, 0)))
    GROUP BY o.id ORDER BY o.id
    -- An operator's hold keeps its reason while it lasts, a breaker beside a Retry-After for the longer of the two.
    ON CONFLICT (origin_id) DO UPDATE SET
        until = CASE WHEN excluded.reason = 'breaker' AND h.reason = 'breaker' THEN excluded.until
            ELSE greatest(h.until, excluded.until) END,
        reason = CASE WHEN h.reason = 'operator' AND h.until > clock_timestamp()
            OR excluded.reason = 'retry-after' AND h.reason = 'breaker' THEN h.reason ELSE excluded.reason END,
        probing_until = NULL,
        since = CASE WHEN h.until < clock_timestamp() - interval '1 min' THEN excluded.since ELSE h.since END,
        failed_probes = CASE excluded.reason WHEN 'breaker' THEN excluded.failed_probes ELSE h.failed_probes END,
        gave_up = CASE excluded.reason WHEN 'breaker' THEN excluded.gave_up ELSE h.gave_up END,
        domain = coalesce(excluded.domain, h.domain), code = coalesce(excluded.code, h.code),
        http_status = coalesce(excluded.http_status, h.http_status);
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder.origin_report_v1 IS
    'Reports of a worker about origins, one element each. reason: retry-after or breaker, for lengths_ms, at most an '
    'hour; closed: a request succeeded. A breaker holds the origin when a second worker reports it or no other worker '
    'runs jobs of the origin; worker: the one that reports. Of a breaker: failed_probes in a row, gave_up (1: its jobs '
    'are claimed and fail at once), and the failure.';

CREATE VIEW larder.held_origin AS
SELECT o.name AS origin, h.reason, h.since, h.until,
    greatest(h.until - statement_timestamp(), interval '0 s') AS remaining, h.failed_probes, h.gave_up, h.domain,
    h.code, h.http_status
FROM larder_data.origin_hold h JOIN larder_data.origin o ON o.id = h.origin_id
WHERE h.until > statement_timestamp() OR h.reason = 'breaker';
COMMENT ON VIEW larder.held_origin IS
    'Origins that are held. reason: retry-after, breaker or operator. A breaker after its end waits for a probe. '
    'gave_up: its jobs fail without a request.';

CREATE FUNCTION larder_data.expired_holds() RETURNS int[]
LANGUAGE plpgsql STABLE SET jit = off AS $$
BEGIN
    -- A breaker without a report for ten minutes is out of date.
    RETURN ARRAY(
        SELECT h.origin_id FROM larder_data.origin_hold h
        WHERE h.until + CASE h.reason WHEN 'breaker' THEN interval '10 min' ELSE interval '1 s' END
            < clock_timestamp());
END $$;
COMMENT ON FUNCTION larder_data.expired_holds IS 'The origins whose hold is to be deleted.';

CREATE FUNCTION larder.origin_holds_v1() RETURNS TABLE (
    origin text, reason text, remaining_ms bigint, failed_probes int, gave_up boolean, domain text, code int,
    http_status int
)
LANGUAGE plpgsql SET jit = off AS $$
#variable_conflict use_column
DECLARE
    expired int[] := larder_data.expired_holds();
BEGIN
    IF expired <> '{}' THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        DELETE FROM larder_data.origin_hold h WHERE h.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.origin_hold x WHERE x.origin_id = ANY (expired) FOR UPDATE SKIP LOCKED));
    END IF;
    IF EXISTS (SELECT FROM larder_data.origin_evidence e WHERE e.until < clock_timestamp()) THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        DELETE FROM larder_data.origin_evidence e WHERE e.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.origin_evidence x WHERE x.until < clock_timestamp() FOR UPDATE SKIP LOCKED));
    END IF;
    RETURN QUERY
    SELECT h.origin, h.reason, ceil(extract(epoch FROM h.until - clock_timestamp()) * 1000)::bigint, h.failed_probes,
        h.gave_up, h.domain, h.code, h.http_status
    FROM larder.held_origin h ORDER BY h.until DESC LIMIT 4096;
END $$;
COMMENT ON FUNCTION larder.origin_holds_v1 IS
    'The held origins, at most 4096, the longest first; deletes expired holds. Workers call it while any is held.';

CREATE FUNCTION larder.origin_faults_v1() RETURNS TABLE (domain text, code int, http_status int, counts boolean)
LANGUAGE sql STABLE AS $$
    SELECT r.domain, r.code, r.http_status, r.counts_for_origin FROM larder_data.retry_rule r
    ORDER BY r.domain, r.code NULLS LAST, r.http_status NULLS LAST
$$;
COMMENT ON FUNCTION larder.origin_faults_v1 IS
    'Which errors count towards the breaker of an origin, by the rows of retry_rule. The most specific row counts: by '
    'status, then by code; NULL is any. A status of 500 to 599 without a row counts. Workers call it every minute.';

CREATE FUNCTION larder_data.origin_name(url text) RETURNS text
LANGUAGE plpgsql STABLE AS $$
DECLARE
    name text := (SELECT v.origins[1] FROM larder_data.validate(ARRAY[larder_data.site(url)]) v);
BEGIN
    IF name IS NULL THEN
        RAISE EXCEPTION 'not an origin: %', left(url, 200)
            USING ERRCODE = '22023', HINT = 'such as https://example.com';
    END IF;
    RETURN name;
END $$;
COMMENT ON FUNCTION larder_data.origin_name IS 'The origin of a URL in normal form.';

CREATE FUNCTION larder.origin_hold(origin text, length interval) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
#variable_conflict use_column
DECLARE
    wanted text := larder_data.origin_name(origin);
BEGIN
    IF coalesce(length, interval '0 s') <= interval '0 s' THEN
        RAISE EXCEPTION 'the duration of a hold is positive' USING ERRCODE = '22023';
    END IF;
    INSERT INTO larder_data.origin (name)
    SELECT wanted WHERE NOT EXISTS (SELECT FROM larder_data.origin o WHERE o.name = wanted)
    ON CONFLICT (name) DO NOTHING;
    INSERT INTO larder_data.origin_hold AS h (origin_id, until, reason)
    SELECT o.id, clock_timestamp() + origin_hold.length, 'operator' FROM larder_data.origin o WHERE o.name = wanted
    ON CONFLICT (origin_id) DO UPDATE SET until = excluded.until, reason = 'operator', gave_up = false,
        failed_probes = 0, probing_until = NULL, since = excluded.since;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(coalesce('origin ' || wanted, 'an origin'), 'larder_data.origin_hold');
END $$;
COMMENT ON FUNCTION larder.origin_hold IS 'Holds the origin of a URL for a time: no worker asks it, and its jobs wait.';

CREATE FUNCTION larder.origin_clear(origin text DEFAULT NULL) RETURNS int
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    wanted text := CASE WHEN origin IS NOT NULL THEN larder_data.origin_name(origin) END;
    moved int;
BEGIN
    DELETE FROM larder_data.origin_hold h
    WHERE wanted IS NULL OR h.origin_id = (SELECT o.id FROM larder_data.origin o WHERE o.name = wanted);
    GET DIAGNOSTICS moved = ROW_COUNT;
    DELETE FROM larder_data.origin_evidence e
    WHERE wanted IS NULL OR e.origin_id = (SELECT o.id FROM larder_data.origin o WHERE o.name = wanted);
    RETURN moved;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(coalesce('origin ' || wanted, 'an origin'), 'larder_data.origin_hold');
END $$;
COMMENT ON FUNCTION larder.origin_clear IS
    'Removes the hold of the origin of a URL, or all holds; answers how many. Workers read it within a second; '
    'scheduled jobs keep their times.';
