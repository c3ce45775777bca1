-- Origins that receive no requests for a while.
--
-- A worker reports once that an origin answered with Retry-After, or that its own breaker for the origin opened. A
-- Retry-After comes from the origin and holds it at once. An open breaker may be a fault of the worker's own network:
-- it holds the origin only if a second worker reports one, or if no other worker runs the origin's jobs. A success
-- reported by any worker ends the hold. Claims move jobs of a held origin to scheduled, each to a separate time after
-- the end of the hold, at most about 2,000 per claim; maintenance moves the jobs behind them. Workers with jobs then
-- read the rows about every second. No attempt is used. After the end of a hold each worker's own breaker sends one
-- probe and reports its result.

CREATE TABLE larder_data.origin_hold (
    origin_id int PRIMARY KEY,
    since timestamptz NOT NULL DEFAULT clock_timestamp(),
    until timestamptz NOT NULL,
    reason text NOT NULL CHECK (reason IN ('retry-after', 'breaker', 'operator')),
    code int,
    http_status int,
    domain text
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.origin_hold IS
    'Origins that are held. domain, code, http_status: the failure that a worker reported.';

CREATE TABLE larder_data.origin_evidence (
    origin_id int NOT NULL,
    worker_id bigint NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (origin_id, worker_id)
);
COMMENT ON TABLE larder_data.origin_evidence IS
    'Workers whose breaker of an origin opened, until a minute after its end; worker_id 0: not registered.';

-- Whether this worker's open breaker holds the origin for all workers. Currently running jobs show who uses the origin.
-- A worker that used it successfully in the last minute sees the hold within a second and reports `closed`.
CREATE FUNCTION larder_data.is_evident(origin int, reporter bigint) RETURNS boolean
LANGUAGE sql VOLATILE SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$
    SELECT EXISTS (SELECT FROM larder_data.origin_hold h WHERE h.origin_id = origin AND h.reason = 'breaker')
        OR EXISTS (
            SELECT FROM larder_data.origin_evidence e
            WHERE e.origin_id = origin AND e.worker_id <> reporter AND e.until > clock_timestamp())
        OR NOT EXISTS (
            SELECT FROM larder_data.live_claim r WHERE r.origin_id = origin AND r.worker_id <> reporter)
$$;

-- Records which breakers of a worker opened; a success ends the origin's hold and evidence.
CREATE FUNCTION larder_data.note_evidence(origins text[], reasons text[], lengths_ms bigint[], reporter bigint)
RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    new_name text;
BEGIN
    -- A redirect may lead to an origin that is in no URL.
    FOR new_name IN
        SELECT DISTINCT left(g.origin, 300) AS name FROM unnest(origins, reasons) AS g (origin, reason)
        WHERE g.reason <> 'closed'
          AND NOT EXISTS (SELECT FROM larder_data.origin o WHERE o.name = left(g.origin, 300)) ORDER BY name
    LOOP
        BEGIN
            INSERT INTO larder_data.origin (name) VALUES (new_name) ON CONFLICT (name) DO NOTHING;
        EXCEPTION WHEN lock_not_available THEN
            CONTINUE;
        END;
    END LOOP;
    WITH closed AS (
        SELECT o.id FROM unnest(origins, reasons) AS g (origin, reason) JOIN larder_data.origin o ON o.name = g.origin
        WHERE g.reason = 'closed'
    ), unheld AS (
        DELETE FROM larder_data.origin_hold h USING closed c WHERE h.origin_id = c.id AND h.reason = 'breaker'
    )
    DELETE FROM larder_data.origin_evidence e USING closed c WHERE e.origin_id = c.id;
    INSERT INTO larder_data.origin_evidence AS e (origin_id, worker_id, until)
    SELECT o.id, reporter,
        clock_timestamp() + least(max(g.length), max(s.retry_after_cap_ms)) * interval '1 ms' + interval '1 min'
    FROM unnest(origins, reasons, lengths_ms) AS g (origin, reason, length)
        JOIN larder_data.origin o ON o.name = left(g.origin, 300) CROSS JOIN larder_data.settings s
    WHERE g.reason = 'breaker' AND g.length > 0 GROUP BY o.id ORDER BY o.id
    ON CONFLICT (origin_id, worker_id) DO UPDATE SET until = excluded.until;
END $$;

CREATE FUNCTION larder.origin_report_v1(
    origins text[], reasons text[], lengths_ms bigint[], domains text[] DEFAULT NULL, codes bigint[] DEFAULT NULL,
    http_statuses bigint[] DEFAULT NULL, worker bigint DEFAULT NULL
) RETURNS int
LANGUAGE plpgsql SET jit = off SET lock_timeout = '100ms' AS $$
DECLARE
    moved int;
BEGIN
    PERFORM larder_data.refuse(CASE
        WHEN cardinality(origins) > 10000 OR (cardinality(reasons), cardinality(lengths_ms))
            IS DISTINCT FROM (cardinality(origins), cardinality(origins))
        THEN 'origins, reasons and lengths_ms have the same length, at most 10000'
        WHEN NOT reasons <@ '{retry-after,breaker,closed}' OR array_position(origins, NULL) IS NOT NULL
        THEN 'a reason is retry-after, breaker or closed, and no origin is NULL' END);
    PERFORM larder_data.skip_flush();
    PERFORM larder_data.note_evidence(origins, reasons, lengths_ms, coalesce(worker, 0));
    INSERT INTO larder_data.origin_hold AS h (origin_id, until, reason, domain, code, http_status)
    -- One failure may be both a breaker and a longer Retry-After.
    SELECT DISTINCT ON (o.id) o.id, clock_timestamp()
            + least(max(g.length) OVER (PARTITION BY o.id), s.retry_after_cap_ms) * interval '1 ms', g.reason,
        left(g.domain, 100), larder_data.within(g.code, 2147483647, -2147483648), larder_data.within(g.http_status, 999)
    FROM unnest(origins, reasons, lengths_ms, domains, codes, http_statuses)
            AS g (origin, reason, length, domain, code, http_status)
        JOIN larder_data.origin o ON o.name = left(g.origin, 300) CROSS JOIN larder_data.settings s
    WHERE g.length > 0 AND (g.reason = 'retry-after'
        OR g.reason = 'breaker' AND larder_data.is_evident(o.id, coalesce(worker, 0)))
    ORDER BY o.id, g.reason, g.length DESC
    -- An operator's hold keeps its reason while it lasts.
    ON CONFLICT (origin_id) DO UPDATE SET
        until = CASE WHEN excluded.reason = 'breaker' AND h.reason = 'breaker' THEN excluded.until
            ELSE greatest(h.until, excluded.until) END,
        reason = CASE WHEN h.reason = 'operator' AND h.until > clock_timestamp()
            OR excluded.reason = 'retry-after' AND h.reason = 'breaker' THEN h.reason ELSE excluded.reason END,
        since = CASE WHEN h.until < clock_timestamp() - interval '1 min' THEN excluded.since ELSE h.since END,
        domain = coalesce(excluded.domain, h.domain), code = coalesce(excluded.code, h.code),
        http_status = coalesce(excluded.http_status, h.http_status);
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder.origin_report_v1 IS
    'Reports of a worker about origins, one element each. reason: retry-after or breaker, for lengths_ms, at most an '
    'hour; closed: a request succeeded. A breaker holds the origin when a second worker reports it or no other worker '
    'runs jobs of the origin; worker: the one that reports. domains, codes, http_statuses: the failures.';

CREATE VIEW larder.held_origin AS
SELECT o.name AS origin, h.reason, h.since, h.until, h.until - statement_timestamp() AS remaining, h.domain, h.code,
    h.http_status
FROM larder_data.origin_hold h JOIN larder_data.origin o ON o.id = h.origin_id WHERE h.until > statement_timestamp();
COMMENT ON VIEW larder.held_origin IS 'Origins that are held. reason: retry-after, breaker or operator.';

-- A breaker's row stays for ten minutes: if it opens again, it has its first failure's time.
CREATE FUNCTION larder_data.is_old(h larder_data.origin_hold) RETURNS boolean
LANGUAGE sql STABLE
RETURN h.until + CASE h.reason WHEN 'breaker' THEN interval '10 min' ELSE interval '1 s' END < clock_timestamp();

CREATE FUNCTION larder.origin_holds_v1() RETURNS TABLE (
    origin text, reason text, remaining_ms bigint, domain text, code int, http_status int
)
LANGUAGE plpgsql SET jit = off AS $$
#variable_conflict use_column
BEGIN
    PERFORM larder_data.require_read_committed();
    IF EXISTS (SELECT FROM larder_data.origin_hold h WHERE larder_data.is_old(h))
        OR EXISTS (SELECT FROM larder_data.origin_evidence e WHERE e.until < clock_timestamp()) THEN
        PERFORM larder_data.skip_flush();
        DELETE FROM larder_data.origin_hold h WHERE h.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.origin_hold x WHERE larder_data.is_old(x) FOR UPDATE SKIP LOCKED));
        DELETE FROM larder_data.origin_evidence e WHERE e.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.origin_evidence x WHERE x.until < clock_timestamp() FOR UPDATE SKIP LOCKED));
    END IF;
    RETURN QUERY
    SELECT h.origin, h.reason, ceil(extract(epoch FROM h.until - clock_timestamp()) * 1000)::bigint, h.domain, h.code,
        h.http_status
    FROM larder.held_origin h ORDER BY h.until DESC LIMIT 4096;
END $$;
COMMENT ON FUNCTION larder.origin_holds_v1 IS
    'The held origins, at most 4096, the longest first; deletes old rows. Workers call it while any is held.';

CREATE FUNCTION larder.origin_faults_v1() RETURNS TABLE (domain text, code int, http_status int, counts boolean)
LANGUAGE sql STABLE AS $$
    SELECT r.domain, r.code, r.http_status, r.counts_for_origin FROM larder_data.retry_rule r
    ORDER BY r.domain, r.code NULLS LAST, r.http_status NULLS LAST
$$;
COMMENT ON FUNCTION larder.origin_faults_v1 IS
    'Which errors count towards the breaker of an origin, by the rows of retry_rule. The most specific row counts: by '
    'status, then by code; NULL is any. A status of 500 to 599 without a row counts. Workers call it every minute.';

CREATE FUNCTION larder.origin_hold(origin text, length interval) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
#variable_conflict use_column
BEGIN
    PERFORM larder_data.refuse('the duration of a hold is positive, at most 10 years')
    WHERE coalesce(length NOT BETWEEN interval '1 ms' AND interval '10 years', true);
    INSERT INTO larder_data.origin_hold AS h (origin_id, until, reason)
    VALUES (larder_data.origin_of(origin), clock_timestamp() + origin_hold.length, 'operator')
    ON CONFLICT (origin_id) DO UPDATE SET until = excluded.until, reason = 'operator', since = excluded.since;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked('origin ' || larder_data.origin_name(origin), 'larder_data.origin_hold');
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
