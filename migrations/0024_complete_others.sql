-- Completion of jobs that did not succeed.
--
-- The retry rules decide whether a job is retried and whether its final failure blocks the URL. Claims that are not
-- held are answered from the records: already completed with a lost answer, or stale.

-- From running a job becomes completed (succeeded, failed, cancelled), scheduled (retried) or ready (returned).
CREATE TYPE larder_data.decision AS (
    r larder_data.result, j larder_data.job, claimed_at timestamptz, verdict text, domain text, code int, message text,
    delay_ms bigint, is_crash boolean, blocks boolean, block_for interval
);

-- Decides about jobs that did not succeed, by retry_rule. The delay has full jitter over base * 4^attempt. The caller
-- has locked the jobs' rows.
CREATE FUNCTION larder_data.decide(worker bigint, given larder_data.result[]) RETURNS larder_data.decision[]
LANGUAGE plpgsql AS $$
DECLARE
    decisions larder_data.decision[];
BEGIN
    WITH met AS MATERIALIZED (
        SELECT g AS r, j.job AS j, c.claimed_at, second.then_code IS NOT NULL AS is_crash, g.http_status,
            CASE WHEN g.result = 'failed' THEN coalesce(g.domain, 'LarderErrorDomain') END AS domain,
            coalesce(CASE WHEN (j.job).crashes > 0 THEN second.then_code END, g.code, 0) AS code
        FROM unnest(given) AS g
        CROSS JOIN LATERAL (SELECT x AS job FROM larder_data.job x WHERE x.id = g.job OFFSET 0) AS j
        CROSS JOIN LATERAL (
            SELECT x.claimed_at FROM larder_data.running x
            WHERE x.job_id = g.job AND (x.worker_id, x.claim_no) IS NOT DISTINCT FROM (worker, g.claim) OFFSET 0) AS c
        LEFT JOIN LATERAL (
            SELECT x.then_code FROM larder_data.retry_rule x
            WHERE x.domain = g.domain AND x.code = g.code AND x.then_code IS NOT NULL AND g.poison IS NOT false
            LIMIT 1) AS second ON true
    ), judged AS MATERIALIZED (
        SELECT m.*, rule.blocks, rule.block_for, CASE
                WHEN m.domain IS NULL THEN CASE
                    WHEN (m.j).is_revived OR (m.j).cancelled_at IS NULL
                        AND larder_data.is_overdue((m.j).queue_id, m.claimed_at) THEN 'returned'
                    ELSE 'cancelled' END
                WHEN NOT coalesce(rule.retried, false) OR (m.j).attempt + 1 >= (m.j).max_attempts THEN 'failed'
                WHEN (m.j).cancelled_at IS NOT NULL THEN 'cancelled'
                ELSE 'retried' END AS verdict
        FROM met m LEFT JOIN LATERAL (
            SELECT x.retried, x.blocks, x.block_for FROM larder_data.retry_rule x
            WHERE x.domain = m.domain AND (x.code = m.code OR x.code IS NULL)
                AND (x.http_status = m.http_status OR x.http_status IS NULL)
            ORDER BY x.http_status NULLS LAST, x.code NULLS LAST LIMIT 1) AS rule ON true
    )
    SELECT array_agg((
        m.r, m.j, m.claimed_at, m.verdict,
        CASE WHEN m.verdict IN ('cancelled', 'returned') THEN 'SDWebImageErrorDomain' ELSE m.domain END,
        CASE WHEN m.verdict IN ('cancelled', 'returned') THEN 2002 ELSE m.code END,
        CASE WHEN m.verdict IN ('cancelled', 'returned') THEN 'the job was cancelled'
            ELSE coalesce((m.r).message, '') END,
        CASE m.verdict WHEN 'returned' THEN 0 WHEN 'retried' THEN greatest(
            least(coalesce((m.r).retry_after_ms, 0), s.retry_after_cap_ms),
            floor(random() * least(s.retry_cap_ms,
                coalesce((m.j).retry_base_ms, s.retry_base_ms) * power(4, least((m.j).attempt, 15)))))::bigint END,
        m.is_crash, coalesce(m.blocks, false) AND (m.r).blocks IS NOT false, m.block_for)::larder_data.decision)
    INTO decisions FROM judged m CROSS JOIN larder_data.settings s;
    RETURN decisions;
END $$;

CREATE FUNCTION larder_data.end_decided(worker bigint, decisions larder_data.decision[]) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    WITH ended AS MATERIALIZED (
        SELECT d.r AS r, d.j AS j, d.claimed_at, d.verdict, d.domain, d.code, d.message
        FROM unnest(decisions) AS d WHERE d.verdict IN ('failed', 'cancelled')
    ), gone AS (
        DELETE FROM larder_data.job j WHERE j.id = ANY (ARRAY(SELECT (e.j).id FROM ended e))
    )
    INSERT INTO larder_data.job_history (
        created_at, job_id, batch_id, worker_id, claim_no, options, bytes_in, bytes_out, pipeline_id, origin_id, items,
        queue_ms, wait_ms, connection_wait_ms, dns_ms, fetch_ms, transcoder_wait_ms, transcode_ms, store_ms, code,
        http_status, outcome, priority, attempt, rescues, max_attempts, retry_base_ms, downloads, variants, url,
        context, meta, traceparent, domain, message, stored)
    SELECT (e.j).created_at, (e.j).id, (e.j).batch_id, worker, (e.r).claim, (e.j).options, (e.r).bytes_in,
        (e.r).bytes_out, (e.j).pipeline_id, (e.j).origin_id, (e.j).items,
        least(date_part('epoch', e.claimed_at - (e.j).created_at) * 1000, 2147483647), (e.r).wait_ms,
        (e.r).connection_wait_ms, (e.r).dns_ms, (e.r).fetch_ms, (e.r).transcoder_wait_ms, (e.r).transcode_ms,
        (e.r).store_ms, e.code, (e.r).http_status, e.verdict::larder_data.outcome,
        (e.j).priority, (e.j).attempt + 1, (e.j).rescues, (e.j).max_attempts, (e.j).retry_base_ms, (e.r).downloads,
        (e.r).variants, (e.j).url, (e.j).context, (e.j).meta, (e.j).traceparent, e.domain, e.message,
        (e.r).stored
    FROM ended e;
    PERFORM larder_data.end_joined(ARRAY(
        SELECT (d.j).id FROM unnest(decisions) AS d WHERE d.verdict IN ('failed', 'cancelled')), now());
END $$;

CREATE FUNCTION larder_data.reschedule_decided(worker bigint, decisions larder_data.decision[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    -- A job that never ends within job_timeout counts as rescued, so that it does not come back for ever.
    overdue bigint[] := ARRAY(
        SELECT (d.j).id FROM unnest(decisions) AS d
        WHERE d.verdict = 'returned' AND larder_data.is_overdue((d.j).queue_id, d.claimed_at));
BEGIN
    WITH back AS MATERIALIZED (
        SELECT (d.j).id, (d.j).attempt + 1 AS attempt, d.* FROM unnest(decisions) AS d
        WHERE d.verdict IN ('retried', 'returned')
    ), scheduled AS (
        INSERT INTO larder_data.scheduled (run_at, job_id)
        SELECT now() + d.delay_ms * interval '1 ms', d.id FROM back d WHERE d.verdict = 'retried'
    ), attempt AS (
        INSERT INTO larder_data.job_attempt (job_id, worker_id, claim_no, claimed_at, attempt, code, http_status,
            fetch_ms, transcode_ms, store_ms, delay_ms, domain, message)
        SELECT d.id, worker, (d.r).claim, d.claimed_at, d.attempt, d.code, (d.r).http_status, (d.r).fetch_ms,
            (d.r).transcode_ms, (d.r).store_ms, d.delay_ms, d.domain, d.message
        FROM back d
    ), again AS (
        UPDATE larder_data.job j SET is_revived = false FROM back d WHERE d.verdict = 'returned' AND j.id = d.id
    )
    UPDATE larder_data.job j SET attempt = d.attempt, crashes = j.crashes + d.is_crash::int, last_domain = d.domain,
        last_code = d.code, last_message = d.message, is_revived = false
    FROM back d WHERE d.verdict = 'retried' AND j.id = d.id;
    PERFORM larder_data.return_rescued(overdue);
    PERFORM larder_data.make_ready(ARRAY(
        SELECT (d.j).id FROM unnest(decisions) AS d WHERE d.verdict = 'returned' AND (d.j).id <> ALL (overdue)));
END $$;

-- Results not decided by this call: busy if the job is locked, else answered from the records.
CREATE FUNCTION larder_data.undecided(worker bigint, given larder_data.result[], locked bigint[]) RETURNS TABLE (
    job_id bigint, claim_no bigint, decision text, delay_ms bigint, domain text, code int, message text
)
LANGUAGE sql STABLE BEGIN ATOMIC
    SELECT g.job, g.claim, CASE WHEN r.is_held THEN 'busy' WHEN h.outcome IS NOT NULL THEN h.outcome::text
            WHEN a.delay_ms IS NOT NULL THEN 'retried' ELSE 'stale' END,
        a.delay_ms, coalesce(h.domain, a.domain), coalesce(h.code, a.code), coalesce(h.message, a.message)
    FROM unnest(given) AS g
    LEFT JOIN LATERAL (
        SELECT true AS is_held FROM larder_data.running x
        WHERE x.job_id = g.job AND (x.worker_id, x.claim_no) IS NOT DISTINCT FROM (worker, g.claim) OFFSET 0) AS r
        ON true
    LEFT JOIN LATERAL (
        SELECT x.outcome, x.domain, x.code, x.message FROM larder_data.job_history x
        WHERE x.job_id = g.job AND (x.worker_id, x.claim_no) IS NOT DISTINCT FROM (worker, g.claim)
            AND x.finished_at > now() - interval '1 day' LIMIT 1) AS h ON true
    LEFT JOIN LATERAL (
        SELECT x.delay_ms, x.domain, x.code, x.message FROM larder_data.job_attempt x
        WHERE x.job_id = g.job AND (x.worker_id, x.claim_no) IS NOT DISTINCT FROM (worker, g.claim)
            AND x.at > now() - interval '1 day' LIMIT 1) AS a ON true
    WHERE (r.is_held AND g.job = ANY (locked)) IS NOT TRUE;
END;

-- Checks a call's results and returns those that are neither completed claims nor busy.
CREATE FUNCTION larder_data.other_results(
    results json, jobs bigint[], claims bigint[], busy bigint[]
) RETURNS larder_data.result[]
LANGUAGE plpgsql AS $$
DECLARE
    fault text;
    others larder_data.result[];
BEGIN
    SELECT CASE WHEN count(*) > 1000 THEN 'at most 1000 results a call, not ' || count(*)
            WHEN bool_or(coalesce(g.result, '') NOT IN ('succeeded', 'failed', 'cancelled'))
                THEN 'a result is succeeded, failed or cancelled'
            WHEN count(DISTINCT (g.job, g.claim)) < count(*) THEN 'each claim comes once in one call' END,
        array_agg(g) FILTER (WHERE (g.job = ANY (busy) OR (g.job, g.claim) IN (
            SELECT d.job, d.claim FROM unnest(jobs, claims) AS d (job, claim))) IS NOT TRUE)
    INTO fault, others FROM larder_data.read_results(results) AS g;
    PERFORM larder_data.refuse(fault);
    RETURN others;
END $$;

CREATE FUNCTION larder_data.complete_others(
    worker bigint, given larder_data.result[], may_block boolean
) RETURNS TABLE (
    job_id bigint, claim_no bigint, decision text, delay_ms bigint, domain text, code int, message text
)
LANGUAGE plpgsql SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off AS $$
DECLARE
    -- Locked in a separate statement: the next one's snapshot has every earlier item. Never waits, because the
    -- succeeded jobs are already locked and an enqueue may wait for one of them.
    locked bigint[] := ARRAY(
        SELECT j.id FROM unnest(given) AS g, LATERAL (
            SELECT FROM larder_data.running x
            WHERE x.job_id = g.job AND (x.worker_id, x.claim_no) IS NOT DISTINCT FROM (worker, g.claim) OFFSET 0) AS r,
            LATERAL (SELECT x.id FROM larder_data.job x WHERE x.id = g.job FOR UPDATE SKIP LOCKED) AS j
        WHERE g.result <> 'succeeded');
    decisions larder_data.decision[];
BEGIN
    RETURN QUERY SELECT * FROM larder_data.undecided(worker, given, locked);
    IF locked = '{}' THEN
        RETURN;
    END IF;
    PERFORM larder_data.accept_items(locked);
    decisions := larder_data.decide(worker, ARRAY(SELECT g FROM unnest(given) AS g WHERE g.job = ANY (locked)));
    DELETE FROM larder_data.running r USING unnest(decisions) AS d
    WHERE r.job_id = (d.r).job AND (r.worker_id, r.claim_no) IS NOT DISTINCT FROM (worker, (d.r).claim);
    INSERT INTO larder_data.batch_delta (
        batch_id, bytes_in, bytes_out, failed, cancelled, retries, downloads, variants, code, domain)
    SELECT (d.j).batch_id, sum((d.r).bytes_in), sum((d.r).bytes_out), sum((d.j).items * (d.verdict = 'failed')::int),
        sum((d.j).items * (d.verdict = 'cancelled')::int), count(*) FILTER (WHERE d.verdict = 'retried'),
        sum((d.r).downloads), sum((d.r).variants), f.code, f.domain
    FROM unnest(decisions) AS d
    LEFT JOIN LATERAL (SELECT d.code, d.domain WHERE d.verdict = 'failed' AND (d.j).items > 0) AS f ON true
    GROUP BY (d.j).batch_id, f.domain, f.code;
    PERFORM larder_data.end_decided(worker, decisions), larder_data.reschedule_decided(worker, decisions);
    INSERT INTO larder_data.blocklist AS x (url_hash, until, code, http_status, worker_limit, url, domain, message)
    SELECT DISTINCT ON (u.hash) u.hash, now() + least(d.block_for, s.block_cap), d.code, (d.r).http_status,
        CASE WHEN d.code IN (205, 206) THEN (d.r).worker_limit END, (d.j).url, d.domain, d.message
    FROM unnest(decisions) AS d CROSS JOIN larder_data.settings s,
        LATERAL (SELECT larder_data.url_hash((d.j).url) AS hash OFFSET 0) AS u
    WHERE may_block AND d.verdict = 'failed' AND d.blocks ORDER BY u.hash
    ON CONFLICT (url_hash) DO UPDATE SET
        until = greatest(x.until, now() + least((excluded.until - now()) * power(2, least(x.fails, 20)),
            (SELECT s.block_cap FROM larder_data.settings s))),
        last_at = now(), fails = x.fails + 1, (code, http_status, worker_limit, domain, message) = (
            -- An operator's entry for the URL keeps its reason.
            SELECT o.code, o.http_status, o.worker_limit, o.domain, o.message
            FROM (SELECT (CASE WHEN x.operator_until > now() THEN x ELSE excluded END).*) AS o);
    -- The download succeeded and something else failed.
    PERFORM larder_data.unblock(ARRAY(
        SELECT (d.j).url FROM unnest(decisions) AS d
        WHERE (d.j).options & 1 = 1 AND (d.r).downloads > 0 AND NOT d.blocks AND NOT EXISTS (
            SELECT FROM unnest(decisions) AS x WHERE (x.j).url = (d.j).url AND x.verdict = 'failed' AND x.blocks)));
    RETURN QUERY SELECT (d.r).job, (d.r).claim, CASE d.verdict WHEN 'returned' THEN 'retried' ELSE d.verdict END,
        d.delay_ms, d.domain, d.code, d.message FROM unnest(decisions) AS d;
END $$;
