-- Origins that are to be left alone, for all workers.
--
-- A worker that an origin sends away (Retry-After), or whose breaker opens, says so here, once: a row appears when a
-- hold begins and goes when it is over, so there are few. From then on claims put that origin's jobs off without handing
-- them out, each to a moment of its own behind the end of the hold, and workers read the rows every second, for what they
-- hold already. No attempt is used up by that. An origin whose probes fail again and again is given up: its jobs are
-- handed out again, and fail without a request, so that batches end.
--
-- When a breaker's time is over, one claim among all takes the row's next turn and lets one job through, the probe; the
-- others keep away until it is decided. Who reports its success takes the row away.

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
    'Origins to be left alone until a time. reason: what asks for it. Of a breaker: domain, code, http_status: the failure that opened it; failed_probes: in a row; gave_up: its jobs are handed out, to fail; probing_until: until then somebody''s probe is on its way. A breaker''s row stays behind `until`, until a probe succeeds.';
COMMENT ON INDEX larder_data.origin_hold_pkey IS 'One hold per origin; claims probe it once per job while there is any.';

-- Called by claims while there is any row. `picked` are rows of ready, locked, in the order of the claim.
CREATE FUNCTION larder_data.defer_held(picked tid[], wanted int, OUT kept tid[], OUT some_away boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    probed int[];
BEGIN
    -- Breakers whose time is over: whoever locks the row sends the probe. A little later than said, so that the worker
    -- that counted the same time finds it over, too.
    WITH due AS MATERIALIZED (
        SELECT DISTINCT j.origin_id FROM unnest(picked) AS t (tid),
            LATERAL (SELECT x.job_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r,
            LATERAL (SELECT x.origin_id FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j
        WHERE EXISTS (
            SELECT FROM larder_data.origin_hold h
            WHERE h.origin_id = j.origin_id AND h.reason = 'breaker' AND NOT h.gave_up AND h.until + interval '250 ms' <= clock_timestamp()
              AND coalesce(h.probing_until, '-infinity') <= clock_timestamp())
    ), taken AS (
        UPDATE larder_data.origin_hold h SET probing_until = clock_timestamp() + interval '60 s'
        WHERE h.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.origin_hold x
            WHERE x.origin_id = ANY (ARRAY(SELECT d.origin_id FROM due d)) AND coalesce(x.probing_until, '-infinity') <= clock_timestamp() LIMIT wanted FOR UPDATE SKIP LOCKED))
        RETURNING h.origin_id
    )
    SELECT coalesce(array_agg(k.origin_id), '{}') INTO probed FROM taken k;
    WITH judged AS MATERIALIZED (
        SELECT t.tid, t.ord, r.job_id, h.until,
            h.until IS NULL OR h.origin_id = ANY (probed) AND row_number() OVER (PARTITION BY j.origin_id ORDER BY t.ord) = 1 AS goes
        FROM unnest(picked) WITH ORDINALITY AS t (tid, ord)
        CROSS JOIN LATERAL (SELECT x.job_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r
        CROSS JOIN LATERAL (SELECT x.origin_id FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j
        LEFT JOIN LATERAL (
            SELECT x.origin_id, x.until FROM larder_data.origin_hold x
            WHERE x.origin_id = j.origin_id AND NOT x.gave_up AND (x.until > clock_timestamp() OR x.reason = 'breaker')) AS h ON true
    ), gone AS (
        DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(SELECT j.tid FROM judged j WHERE NOT j.goes))
    ), away AS (
        -- Behind the end, spread over a quarter of the wait; behind a probe that is on its way, soon.
        INSERT INTO larder_data.scheduled (run_at, job_id)
        SELECT larder_data.return_at(greatest(j.until, clock_timestamp() + interval '1 s')), j.job_id FROM judged j WHERE NOT j.goes
    )
    -- Probes before all others: a turn that is taken and not used is lost for a minute.
    SELECT (coalesce(array_agg(j.tid ORDER BY j.until IS NULL, j.ord) FILTER (WHERE j.goes), '{}'))[1 : wanted], coalesce(bool_or(NOT j.goes), false)
    INTO kept, some_away FROM judged j;
END $$;
COMMENT ON FUNCTION larder_data.defer_held IS 'Puts off what belongs to origins that are held; answers the rest, at most so many, and whether there was any.';

CREATE FUNCTION larder.origin_report_v1(
    origins text[], whys text[], lengths_ms bigint[], failed_probes bigint[] DEFAULT NULL, gave_up bigint[] DEFAULT NULL,
    domains text[] DEFAULT NULL, codes bigint[] DEFAULT NULL, http_statuses bigint[] DEFAULT NULL
) RETURNS int
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
    moved int;
BEGIN
    IF (cardinality(whys), cardinality(lengths_ms)) IS DISTINCT FROM (cardinality(origins), cardinality(origins)) THEN
        RAISE EXCEPTION 'origins, whys and lengths are equally many' USING ERRCODE = '22023';
    ELSIF NOT whys <@ ARRAY['retry-after', 'breaker', 'closed'] THEN
        RAISE EXCEPTION 'an origin''s change is retry-after, breaker or closed' USING ERRCODE = '22023';
    END IF;
    PERFORM set_config('synchronous_commit', 'off', true);
    -- A redirect may have led to an origin that no URL names.
    INSERT INTO larder_data.origin (name)
    SELECT DISTINCT left(g.origin, 300) FROM unnest(origins, whys) AS g (origin, reason)
    WHERE g.reason <> 'closed' AND NOT EXISTS (SELECT FROM larder_data.origin o WHERE o.name = left(g.origin, 300))
    ORDER BY 1 ON CONFLICT (name) DO NOTHING;
    DELETE FROM larder_data.origin_hold h USING unnest(origins, whys) AS g (origin, reason), larder_data.origin o
    WHERE g.reason = 'closed' AND o.name = g.origin AND h.origin_id = o.id AND h.reason = 'breaker';
    INSERT INTO larder_data.origin_hold AS h (origin_id, until, reason, failed_probes, gave_up, domain, code, http_status)
    -- One failure may be both: a breaker, which is probed when its time is over, and a Retry-After, which may be longer.
    SELECT o.id, clock_timestamp() + least(max(g.length), max(m.retry_after_cap_ms)) * interval '1 ms', min(g.reason) /* breaker first */,
        coalesce(max(g.failed) FILTER (WHERE g.reason = 'breaker'), 0), coalesce(max(g.gave_up) FILTER (WHERE g.reason = 'breaker'), 0) > 0,
        (array_agg(left(g.domain, 100) ORDER BY g.reason, g.length DESC))[1], (array_agg(g.code::int ORDER BY g.reason, g.length DESC))[1],
        (array_agg(g.http_status::int ORDER BY g.reason, g.length DESC))[1]
    FROM unnest(origins, whys, lengths_ms, failed_probes, gave_up, domains, codes, http_statuses)
            AS g (origin, reason, length, failed, gave_up, domain, code, http_status)
        JOIN larder_data.origin o ON o.name = left(g.origin, 300) CROSS JOIN larder_data.settings m
    WHERE g.reason <> 'closed' AND g.length > 0 GROUP BY o.id ORDER BY o.id
    -- An operator's word stands while it lasts, a breaker beside a Retry-After for the longer of the two.
    ON CONFLICT (origin_id) DO UPDATE SET
        until = CASE WHEN excluded.reason = 'breaker' AND h.reason = 'breaker' THEN excluded.until ELSE greatest(h.until, excluded.until) END,
        reason = CASE WHEN h.reason = 'operator' AND h.until > clock_timestamp() OR excluded.reason = 'retry-after' AND h.reason = 'breaker' THEN h.reason ELSE excluded.reason END,
        probing_until = NULL,
        since = CASE WHEN h.until < clock_timestamp() - interval '1 min' THEN excluded.since ELSE h.since END,
        failed_probes = CASE excluded.reason WHEN 'breaker' THEN excluded.failed_probes ELSE h.failed_probes END,
        gave_up = CASE excluded.reason WHEN 'breaker' THEN excluded.gave_up ELSE h.gave_up END,
        domain = coalesce(excluded.domain, h.domain), code = coalesce(excluded.code, h.code), http_status = coalesce(excluded.http_status, h.http_status);
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder.origin_report_v1 IS
    'What a worker found of origins, one element each: retry-after or breaker, for so many ms (an hour at most), or closed: a probe succeeded. Of a breaker: failed_probes in a row, gave_up (1: hand its jobs out, they fail at once), and the failure.';

CREATE FUNCTION larder.origin_holds_v1() RETURNS TABLE (
    origin text, reason text, remaining_ms bigint, failed_probes int, gave_up boolean, domain text, code int, http_status int
)
LANGUAGE plpgsql SET jit = off AS $$
#variable_conflict use_column
BEGIN
    -- What is over goes with whoever looks next; a breaker that nobody has asked for ten minutes says nothing any more.
    IF EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.until < clock_timestamp() - CASE h.reason WHEN 'breaker' THEN interval '10 min' ELSE interval '1 s' END) THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        DELETE FROM larder_data.origin_hold h WHERE h.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.origin_hold x
            WHERE x.until < clock_timestamp() - CASE x.reason WHEN 'breaker' THEN interval '10 min' ELSE interval '1 s' END FOR UPDATE SKIP LOCKED));
    END IF;
    RETURN QUERY
    SELECT o.name, h.reason, ceil(extract(epoch FROM h.until - clock_timestamp()) * 1000)::bigint, h.failed_probes, h.gave_up, h.domain, h.code, h.http_status
    FROM larder_data.origin_hold h JOIN larder_data.origin o ON o.id = h.origin_id
    WHERE h.until > clock_timestamp() OR h.reason = 'breaker' ORDER BY h.until DESC LIMIT 4096;
END $$;
COMMENT ON FUNCTION larder.origin_holds_v1 IS 'The origins to be left alone now, for how long still; at most 4096, the longest first. Workers ask every second.';

CREATE FUNCTION larder.origin_faults_v1() RETURNS TABLE (domain text, code int, http_status int, counts boolean)
LANGUAGE sql STABLE AS $$
    SELECT r.domain, r.code, r.http_status, r.counts_for_origin FROM larder_data.retry_rule r
    ORDER BY r.domain, r.code NULLS LAST, r.http_status NULLS LAST
$$;
COMMENT ON FUNCTION larder.origin_faults_v1 IS
    'Which errors count against an origin and in the end open its breaker: of retry_rule, where operators change it. The row that says most wins: status, then code; NULL means any. But a status of 500 to 599 without a row of its own counts. Workers ask every minute.';

CREATE FUNCTION larder.origin_hold(origin text, length interval) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    named text := (SELECT e.origins[1] FROM larder_data.validate(ARRAY[larder_data.site(origin_hold.origin)]) e);
BEGIN
    IF named IS NULL THEN
        RAISE EXCEPTION 'no origin: %', left(origin_hold.origin, 200) USING ERRCODE = '22023', HINT = 'such as https://example.com';
    ELSIF length IS NULL OR length <= interval '0 s' THEN
        RAISE EXCEPTION 'an origin is held for some time' USING ERRCODE = '22023';
    END IF;
    INSERT INTO larder_data.origin (name) SELECT named WHERE NOT EXISTS (SELECT FROM larder_data.origin o WHERE o.name = named) ON CONFLICT (name) DO NOTHING;
    INSERT INTO larder_data.origin_hold AS h (origin_id, until, reason)
    SELECT o.id, clock_timestamp() + origin_hold.length, 'operator' FROM larder_data.origin o WHERE o.name = named
    ON CONFLICT (origin_id) DO UPDATE SET until = excluded.until, reason = 'operator', gave_up = false, failed_probes = 0, probing_until = NULL, since = excluded.since;
END $$;
COMMENT ON FUNCTION larder.origin_hold IS 'Makes all workers leave the origin of a URL alone for so long. Its jobs wait.';

CREATE FUNCTION larder.origin_clear(origin text DEFAULT NULL) RETURNS int
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    named text := (SELECT e.origins[1] FROM larder_data.validate(ARRAY[larder_data.site(origin_clear.origin)]) e WHERE origin_clear.origin IS NOT NULL);
    moved int;
BEGIN
    IF named IS NULL AND origin_clear.origin IS NOT NULL THEN
        RAISE EXCEPTION 'no origin: %', left(origin_clear.origin, 200) USING ERRCODE = '22023', HINT = 'such as https://example.com';
    END IF;
    DELETE FROM larder_data.origin_hold h WHERE named IS NULL OR h.origin_id = (SELECT o.id FROM larder_data.origin o WHERE o.name = named);
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder.origin_clear IS 'Forgets the hold of a URL''s origin, or all; answers how many. Workers hear within a second; jobs that were put off come at their time.';

CREATE VIEW larder.held_origin AS
SELECT o.name AS origin, h.reason, h.since, h.until, greatest(h.until - statement_timestamp(), interval '0 s') AS remaining, h.failed_probes, h.gave_up, h.domain, h.code, h.http_status
FROM larder_data.origin_hold h JOIN larder_data.origin o ON o.id = h.origin_id
WHERE h.until > statement_timestamp() OR h.reason = 'breaker';
COMMENT ON VIEW larder.held_origin IS
    'Origins that are left alone now: reason (retry-after, breaker, operator), until when. A breaker whose time is over waits for a probe; gave_up: its jobs fail without a request.';
