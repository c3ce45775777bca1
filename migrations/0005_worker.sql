-- The worker protocol, version 1, for any language that can call a function: worker_start, claim, complete, release,
-- beat, worker_stop.
--
-- The fence: a claim is (worker, job, claim number). The worker's number is a fresh row per start, the claim number its
-- own counter. Whoever settles must present exactly the claim that stands in `running`; a worker that lost its lease,
-- a zombie, or the same worker with an older claim finds no such row and records nothing.
--
-- Answers may be lost. claim with a number already used answers the same jobs again; complete finds what it recorded
-- in history, or on the job that it put off, and answers the same again; release, beat and stop may be repeated.
--
-- Settle locks the jobs it finishes in a statement of its own, skipping those that an enqueue holds: that one is joining
-- the job in a transaction that may stay open, and 99 other jobs must not wait for it. A skipped job is answered `busy`
-- and sent again. The work is then done by a second statement, whose snapshot sees every join that came first.
--
-- Each statement fixes its order of joins by LATERAL with OFFSET 0, one index probe per job, so that no statistics,
-- empty, stale or huge, turn a claim of ten jobs into a scan of a million.
--
-- Error codes: LA004 protocol not offered, LA005 worker unknown, stopped or its lease run out, 22023 argument.

CREATE FUNCTION larder.worker_start_v1(
    name text, host text, pid int, version text, slots int, cache_id text DEFAULT NULL
) RETURNS TABLE (worker_id bigint, lease_ms int)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF NOT EXISTS (SELECT FROM larder_data.meta m WHERE 1 BETWEEN m.protocol_oldest AND m.protocol_newest) THEN
        RAISE EXCEPTION 'this database no longer offers worker protocol 1' USING ERRCODE = 'LA004';
    ELSIF coalesce(worker_start_v1.slots, 0) < 1 THEN
        RAISE EXCEPTION 'a worker has at least one slot' USING ERRCODE = '22023';
    END IF;
    PERFORM larder_data.ensure_today();
    RETURN QUERY
    INSERT INTO larder_data.worker AS w (name, host, pid, version, slots, cache_id, lease_ms, beat_at)
    SELECT left(worker_start_v1.name, 200), left(worker_start_v1.host, 200), worker_start_v1.pid, left(worker_start_v1.version, 200),
           worker_start_v1.slots, left(worker_start_v1.cache_id, 200), m.lease_ms, clock_timestamp()
    FROM larder_data.meta m
    RETURNING w.id, w.lease_ms;
END $$;
COMMENT ON FUNCTION larder.worker_start_v1 IS 'Registers one start of a worker: a fresh number and its lease, which beats extend.';

CREATE FUNCTION larder.claim_v1(worker bigint, claim_no bigint, most int, queue text DEFAULT 'default', floors bigint[] DEFAULT NULL)
RETURNS TABLE (
    job_id bigint, attempt int, max_attempts int, url text, pipeline_id int, options bigint, context json,
    priority int, origin text, batch_id bigint
)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    queue_no smallint;
    paused boolean;
BEGIN
    -- Locked, so that a claim sent again waits for the first one, which may still be at work, and finds its jobs.
    PERFORM FROM larder_data.worker w
    WHERE w.id = worker AND w.stopped_at IS NULL AND w.beat_at + w.lease_ms * interval '1 ms' > clock_timestamp()
    FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'worker % is unknown, stopped, or its lease has run out', worker USING ERRCODE = 'LA005';
    END IF;
    IF NOT EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = worker AND r.claim_no = claim_v1.claim_no) THEN
        SELECT q.id, q.paused_at IS NOT NULL INTO queue_no, paused FROM larder_data.queue q WHERE q.name = queue;
        IF queue_no IS NULL THEN
            RAISE EXCEPTION 'no queue is called "%"', queue USING ERRCODE = 'LA006';
        END IF;
        -- A cheap look first: the whole statement costs milliseconds even when there is nothing.
        IF paused OR most < 1 OR NOT EXISTS (SELECT FROM larder_data.ready r WHERE r.queue_id = queue_no) THEN
            RETURN;
        END IF;
        WITH taken AS (
            DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(
                -- floors[priority + 1]: the worker has already passed the jobs up to this number. A hint against dead rows.
                SELECT pick.tid FROM generate_series(0, 9) AS lane (p), LATERAL (
                    SELECT x.ctid AS tid FROM larder_data.ready x
                    WHERE x.queue_id = queue_no AND x.priority = lane.p AND x.job_id > coalesce(floors[lane.p + 1], 0)
                    ORDER BY x.job_id LIMIT least(most, 1000) FOR UPDATE SKIP LOCKED
                ) AS pick
                LIMIT least(most, 1000)))
            RETURNING r.job_id
        )
        INSERT INTO larder_data.running (worker_id, job_id, claim_no) SELECT worker, t.job_id, claim_v1.claim_no FROM taken t;
    END IF;
    RETURN QUERY
    SELECT r.job_id, j.attempt + 1, j.max_attempts::int, j.url, j.pipeline_id, j.options, j.context, j.priority::int, o.name, j.batch_id
    FROM larder_data.running r,
        LATERAL (SELECT * FROM larder_data.job x WHERE x.id = r.job_id OFFSET 0) AS j,
        LATERAL (SELECT x.name FROM larder_data.origin x WHERE x.id = j.origin_id OFFSET 0) AS o
    WHERE r.worker_id = worker AND r.claim_no = claim_v1.claim_no
    ORDER BY j.priority, r.job_id;
END $$;
COMMENT ON FUNCTION larder.claim_v1 IS
    'Claims at most `most` (1 to 1000) ready jobs, lowest priority and number first. A number already used answers the same jobs again, so a lost answer loses nothing. floors, per priority 0 to 9: skip jobs up to these numbers.';

CREATE FUNCTION larder.complete_v1(worker bigint, outcomes json)
RETURNS TABLE (job_id bigint, claim_no bigint, decision text, delay_ms bigint, domain text, code int, message text)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
#variable_conflict use_column
DECLARE
    held bigint[];
    held_claims bigint[];
    given_count int;
    sound_count int;
BEGIN
    PERFORM larder_data.ensure_today();
    SELECT count(*), count(DISTINCT (g.job, g.claim)) FILTER (WHERE g.result IN ('succeeded', 'failed', 'cancelled'))
    INTO given_count, sound_count FROM json_to_recordset(outcomes) AS g (job bigint, claim bigint, result text);
    IF given_count <> sound_count THEN
        RAISE EXCEPTION 'each claim once in one call, as succeeded, failed or cancelled' USING ERRCODE = '22023';
    END IF;

    SELECT array_agg(locked.id), array_agg(locked.claim) INTO held, held_claims FROM (
        SELECT j.id, g.claim FROM json_to_recordset(outcomes) AS g (job bigint, claim bigint),
            LATERAL (
                SELECT x.job_id FROM larder_data.running x WHERE x.worker_id = worker AND x.job_id = g.job AND x.claim_no = g.claim
                FOR UPDATE SKIP LOCKED) AS r,
            LATERAL (SELECT x.id FROM larder_data.job x WHERE x.id = r.job_id FOR UPDATE SKIP LOCKED) AS j
    ) AS locked;

    RETURN QUERY
    WITH given AS MATERIALIZED (
        SELECT g.*, CASE WHEN g.result = 'failed' THEN coalesce(g.domain, 'LarderErrorDomain') END AS reason,
               left(g.message, 2000) AS said
        FROM json_to_recordset(outcomes) AS g (
            job bigint, claim bigint, result text, domain text, code int, message text, http_status int, retry_after_ms bigint,
            bytes_in bigint, bytes_out bigint, downloads smallint, variants smallint,
            wait_ms int, fetch_ms int, transcode_ms int, store_ms int, stored json)
        WHERE g.job = ANY (held)
    ), met AS MATERIALIZED (
        -- What happens to a job a second time may become something else, at once and for good: 301 becomes poison.
        SELECT g.*, j.*, r.claimed_at, r.claim_tid, second.then_code IS NOT NULL AS counted,
               CASE WHEN g.reason IS NULL THEN NULL WHEN j.deaths > 0 THEN coalesce(second.then_code, g.code, 0) ELSE coalesce(g.code, 0) END AS meant
        FROM given g
        CROSS JOIN LATERAL (
            SELECT x.ctid AS tid, x.id, x.batch_id, x.created_at, x.options, x.pipeline_id, x.origin_id, x.items, x.retry_base_ms, x.priority, x.attempt,
                   x.max_attempts, x.rescues, x.deaths, x.followed, x.url, x.context, x.cancelled_at
            FROM larder_data.job x WHERE x.id = g.job OFFSET 0) AS j
        CROSS JOIN LATERAL (
            SELECT x.ctid AS claim_tid, x.claimed_at FROM larder_data.running x WHERE x.worker_id = worker AND x.job_id = g.job AND x.claim_no = g.claim OFFSET 0) AS r
        LEFT JOIN LATERAL (
            SELECT x.then_code FROM larder_data.retry_rule x
            WHERE g.reason IS NOT NULL AND x.domain = g.reason AND x.code = g.code AND x.then_code IS NOT NULL LIMIT 1) AS second ON true
    ), judged AS MATERIALIZED (
        SELECT m.*, coalesce(rule.blocks, false) AS blocks, rule.block_for,
            CASE WHEN m.result = 'succeeded' THEN 1
                 WHEN m.reason IS NULL THEN 3
                 WHEN NOT coalesce(rule.retried, false) OR m.attempt + 1 >= m.max_attempts THEN 2
                 WHEN m.cancelled_at IS NOT NULL THEN 3
                 ELSE 0 END AS verdict,
            greatest(
                least(coalesce(m.retry_after_ms, 0), meta.retry_after_cap_ms),
                floor(random() * least(meta.retry_cap_ms, coalesce(m.retry_base_ms, meta.retry_base_ms) * power(4, least(m.attempt, 15))))
            )::bigint AS delay
        FROM met m CROSS JOIN larder_data.meta LEFT JOIN LATERAL (
            SELECT x.retried, x.blocks, x.block_for FROM larder_data.retry_rule x
            WHERE m.reason IS NOT NULL AND x.domain = m.reason AND (x.code = m.meant OR x.code IS NULL)
              AND (x.http_status = m.http_status OR x.http_status IS NULL)
            ORDER BY x.http_status NULLS LAST, x.code NULLS LAST LIMIT 1) AS rule ON true
    ), ended AS MATERIALIZED (
        SELECT j.*,
            CASE j.verdict WHEN 2 THEN j.reason WHEN 3 THEN 'SDWebImageErrorDomain' END AS final_domain,
            CASE j.verdict WHEN 2 THEN j.meant WHEN 3 THEN 2002 END AS final_code,
            CASE j.verdict WHEN 2 THEN coalesce(j.said, '') WHEN 3 THEN 'the job was cancelled' END AS final_message
        FROM judged j WHERE j.verdict > 0
    ), gone AS (
        -- By tuple id: the rows are locked, so they stay where they are.
        DELETE FROM larder_data.running r WHERE r.ctid = ANY (ARRAY(SELECT m.claim_tid FROM met m))
    ), over AS (
        DELETE FROM larder_data.job j WHERE j.ctid = ANY (ARRAY(SELECT e.tid FROM ended e))
    ), history AS (
        INSERT INTO larder_data.job_history (
            created_at, job_id, batch_id, worker_id, claim_no, options, bytes_in, bytes_out, pipeline_id, origin_id, items,
            queue_ms, wait_ms, fetch_ms, transcode_ms, store_ms, code, http_status, outcome, priority, attempt, rescues,
            downloads, variants, url, context, domain, message, stored)
        SELECT e.created_at, e.id, e.batch_id, worker, e.claim, e.options, coalesce(e.bytes_in, 0), coalesce(e.bytes_out, 0),
               e.pipeline_id, e.origin_id, e.items, least(extract(epoch FROM e.claimed_at - e.created_at) * 1000, 2147483647),
               e.wait_ms, e.fetch_ms, e.transcode_ms, e.store_ms, e.final_code, e.http_status, e.verdict, e.priority, e.attempt + 1, e.rescues,
               coalesce(e.downloads, 0), coalesce(e.variants, 0), e.url, e.context, e.final_domain, e.final_message, e.stored
        FROM ended e
    ), unfollowed AS (
        DELETE FROM larder_data.job_follow f WHERE f.job_id = ANY (ARRAY(SELECT e.id FROM ended e WHERE e.followed))
        RETURNING f.job_id, f.batch_id, f.items
    ), followers AS MATERIALIZED (
        SELECT u.batch_id AS follower, u.items AS riding, e.*
        FROM unfollowed u, LATERAL (SELECT * FROM ended x WHERE x.id = u.job_id OFFSET 0) AS e
    ), follower_history AS (
        INSERT INTO larder_data.item_history (id, batch_id, job_id, items, code, outcome, attempt, why, url, domain, message, stored)
        SELECT nextval('larder_data.item_id'), f.follower, f.id, f.riding, f.final_code, f.verdict, f.attempt + 1, 'followed', f.url,
               f.final_domain, f.final_message, f.stored
        FROM followers f
    ), again AS (
        UPDATE larder_data.job j SET attempt = j.attempt + 1, deaths = j.deaths + e.counted::int, last_worker_id = worker,
            last_claim_no = e.claim, last_domain = e.reason, last_code = e.meant, last_message = e.said
        FROM judged e WHERE e.verdict = 0 AND j.ctid = e.tid
    ), put_off AS (
        INSERT INTO larder_data.delayed (run_at, job_id)
        SELECT now() + e.delay * interval '1 ms', e.id FROM judged e WHERE e.verdict = 0
    ), block AS (
        INSERT INTO larder_data.blocklist AS x (url_hash, until, code, http_status, url, domain, message)
        SELECT DISTINCT ON (hash) hash, now() + least(e.block_for, meta.block_cap), e.final_code, e.http_status, e.url, e.final_domain, e.final_message
        FROM ended e CROSS JOIN larder_data.meta, LATERAL (SELECT larder_data.url_hash(e.url) AS hash OFFSET 0) AS u
        WHERE e.verdict = 2 AND e.blocks ORDER BY hash
        ON CONFLICT (url_hash) DO UPDATE SET
            until = now() + least((excluded.until - now()) * power(2, least(x.fails, 20)), (SELECT m.block_cap FROM larder_data.meta m)),
            last_at = now(), fails = x.fails + 1, code = excluded.code, http_status = excluded.http_status,
            domain = excluded.domain, message = excluded.message
    ), unblock AS (
        -- As SDWebImage: only a success with RetryFailed (bit 0) forgets an earlier failure.
        DELETE FROM larder_data.blocklist x WHERE x.ctid = ANY (ARRAY(
            SELECT y.ctid FROM larder_data.blocklist y
            WHERE y.url_hash = ANY (ARRAY(SELECT larder_data.url_hash(e.url) FROM ended e WHERE e.verdict = 1 AND e.options & 1 = 1))
            FOR UPDATE SKIP LOCKED))
    ), ledger AS (
        INSERT INTO larder_data.batch_delta (batch_id, bytes_in, bytes_out, succeeded, failed, cancelled, retries, downloads, variants)
        SELECT d.batch_id, sum(d.bytes_in), sum(d.bytes_out), sum(d.items * (d.verdict = 1)::int), sum(d.items * (d.verdict = 2)::int),
               sum(d.items * (d.verdict = 3)::int), count(*) FILTER (WHERE d.verdict = 0), sum(d.downloads), sum(d.variants)
        FROM (
            SELECT j.batch_id, j.verdict, j.items, coalesce(j.bytes_in, 0) AS bytes_in, coalesce(j.bytes_out, 0) AS bytes_out,
                   coalesce(j.downloads, 0)::int AS downloads, coalesce(j.variants, 0)::int AS variants FROM judged j
            UNION ALL SELECT f.follower, f.verdict, f.riding, 0, 0, 0, 0 FROM followers f
        ) AS d GROUP BY d.batch_id
    )
    SELECT j.job, j.claim, (ARRAY['retried', 'succeeded', 'failed', 'cancelled'])[j.verdict + 1], CASE j.verdict WHEN 0 THEN j.delay END,
           CASE j.verdict WHEN 3 THEN 'SDWebImageErrorDomain' WHEN 1 THEN NULL ELSE j.reason END,
           CASE j.verdict WHEN 3 THEN 2002 WHEN 1 THEN NULL ELSE j.meant END,
           CASE j.verdict WHEN 3 THEN 'the job was cancelled' WHEN 1 THEN NULL ELSE coalesce(j.said, '') END
    FROM judged j;

    IF coalesce(cardinality(held), 0) < given_count THEN
        -- Claims not held: settled before and the answer lost, held back by a joiner for a moment, or stale.
        RETURN QUERY
        SELECT g.job, g.claim,
            CASE WHEN EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = worker AND r.job_id = g.job AND r.claim_no = g.claim) THEN 'busy'
                 WHEN h.outcome IS NOT NULL THEN (ARRAY['succeeded', 'failed', 'cancelled'])[h.outcome]
                 WHEN j.id IS NOT NULL THEN 'retried' ELSE 'stale' END,
            CASE WHEN j.id IS NOT NULL THEN greatest(coalesce(extract(epoch FROM d.run_at - now()) * 1000, 0), 0)::bigint END,
            coalesce(h.domain, j.last_domain), coalesce(h.code, j.last_code), coalesce(h.message, j.last_message)
        FROM json_to_recordset(outcomes) AS g (job bigint, claim bigint)
        LEFT JOIN LATERAL (
            SELECT x.outcome, x.domain, x.code, x.message FROM larder_data.job_history x
            WHERE x.job_id = g.job AND x.worker_id = worker AND x.claim_no = g.claim AND x.finished_at > now() - interval '1 day' LIMIT 1) AS h ON true
        LEFT JOIN LATERAL (
            SELECT x.id, x.last_domain, x.last_code, x.last_message FROM larder_data.job x
            WHERE x.id = g.job AND x.last_worker_id = worker AND x.last_claim_no = g.claim) AS j ON true
        LEFT JOIN LATERAL (SELECT x.run_at FROM larder_data.delayed x WHERE x.job_id = j.id) AS d ON true
        WHERE NOT EXISTS (SELECT FROM unnest(held, held_claims) AS x (id, claim) WHERE x.id = g.job AND x.claim = g.claim);
    END IF;
END $$;
COMMENT ON FUNCTION larder.complete_v1 IS
    'Settles outcomes: a JSON array of {job, claim, result: succeeded|failed|cancelled, domain, code, message, http_status, retry_after_ms, bytes_in, bytes_out, downloads, variants, wait_ms, fetch_ms, transcode_ms, store_ms, stored}. Answers per job: succeeded, retried (with its delay), failed, cancelled, stale (nothing recorded) or busy (send it again). May be repeated.';

CREATE FUNCTION larder.release_v1(worker bigint, jobs bigint[], claims bigint[]) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    freed int;
BEGIN
    WITH freed AS (
        DELETE FROM larder_data.running r USING unnest(jobs, claims) AS g (job, claim)
        WHERE r.worker_id = worker AND r.job_id = g.job AND r.claim_no = g.claim
        RETURNING r.job_id
    )
    INSERT INTO larder_data.ready (queue_id, priority, job_id)
    SELECT j.queue_id, j.priority, f.job_id FROM freed f, LATERAL (
        SELECT x.queue_id, x.priority FROM larder_data.job x WHERE x.id = f.job_id OFFSET 0) AS j;
    GET DIAGNOSTICS freed = ROW_COUNT;
    RETURN freed;
END $$;
COMMENT ON FUNCTION larder.release_v1 IS 'Gives claims back unstarted: ready at their old place, the attempt not counted. Claims no longer held are passed over.';

-- A lease that has run out stays so: from that moment on the jobs are anybody's, and rescue must find their worker dead
-- even if it beats again just then. The worker starts anew, under a new number.
CREATE FUNCTION larder.beat_v1(worker bigint)
RETURNS TABLE (lease_ms int, lease_was_lost boolean, cancelled_jobs bigint[], cancelled_claims bigint[])
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    lost boolean;
    lease int;
BEGIN
    SELECT w.beat_at + w.lease_ms * interval '1 ms' <= clock_timestamp(), w.lease_ms INTO lost, lease
    FROM larder_data.worker w WHERE w.id = worker AND w.stopped_at IS NULL FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'worker % is unknown or stopped', worker USING ERRCODE = 'LA005';
    ELSIF lost THEN
        RETURN QUERY SELECT lease, true, '{}'::bigint[], '{}'::bigint[];
        RETURN;
    END IF;
    UPDATE larder_data.worker w SET beat_at = clock_timestamp(), lease_ms = m.lease_ms FROM larder_data.meta m WHERE w.id = worker
    RETURNING w.lease_ms INTO lease;
    RETURN QUERY
    SELECT lease, false, coalesce(array_agg(r.job_id), '{}'), coalesce(array_agg(r.claim_no), '{}')
    FROM larder_data.running r,
        LATERAL (SELECT FROM larder_data.job x WHERE x.id = r.job_id AND x.cancelled_at IS NOT NULL OFFSET 0) AS j
    WHERE r.worker_id = worker;
END $$;
COMMENT ON FUNCTION larder.beat_v1 IS
    'Extends the lease of all a worker''s jobs by one update; answers which of them somebody cancelled. lease_was_lost: it had run out and was not extended; the worker must start anew.';

CREATE FUNCTION larder.worker_stop_v1(worker bigint) RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    jobs bigint[];
    claims bigint[];
BEGIN
    UPDATE larder_data.worker w SET stopped_at = coalesce(w.stopped_at, clock_timestamp()) WHERE w.id = worker;
    SELECT array_agg(r.job_id), array_agg(r.claim_no) INTO jobs, claims FROM larder_data.running r WHERE r.worker_id = worker;
    RETURN larder.release_v1(worker, jobs, claims);
END $$;
COMMENT ON FUNCTION larder.worker_stop_v1 IS 'Ends a worker; what it still holds is released.';
