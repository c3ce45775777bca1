-- The limits of queues and origins over all workers: concurrent jobs, and jobs claimed per second.
--
-- Only a claim that may take jobs of a limited queue or origin locks the limit's row, and counts running jobs under
-- that lock, so that concurrent claims do not exceed max_running. It counts live workers' running rows, so anything
-- that ends a job frees its place.
--
-- Jobs of an origin at its limit are scheduled, so that they do not stand in front of the others: each for the time at
-- which the origin will probably have a place, see larder_data.rooms_of().

CREATE TABLE larder_data.claim_limit (
    queue_id smallint PRIMARY KEY,
    tokens double precision NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT 'epoch'
) WITH (fillfactor = 30);
COMMENT ON TABLE larder_data.claim_limit IS
    'One row per queue that has or had a limit, see larder_data.queue. tokens: jobs that max_rate allowed at '
    'updated_at. Not the row of the queue, so that an open transaction of an operator delays no claim.';

CREATE TABLE larder_data.origin_limit (
    origin_id int PRIMARY KEY,
    tokens double precision NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT 'epoch',
    next_slot timestamptz NOT NULL DEFAULT '-infinity',
    max_running int,
    max_rate double precision
) WITH (fillfactor = 30);
COMMENT ON TABLE larder_data.origin_limit IS
    'The limits of origins, as of queues. next_slot: the time for which the last job was scheduled that had no place.';

CREATE FUNCTION larder_data.check_limits(max_running int, max_rate double precision) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM larder_data.refuse(CASE
        WHEN max_running < 1 THEN 'max_running is at least 1, or NULL for no limit, not ' || max_running
        WHEN max_rate NOT BETWEEN 0.001 AND 1000000
            THEN 'max_rate is 0.001 to 1000000 jobs per second, or NULL for no limit, not ' || max_rate END);
END $$;

CREATE FUNCTION larder.queue_limit(
    queue text, max_running int DEFAULT NULL, max_rate double precision DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    queue_no smallint := larder_data.find_queue(queue_limit.queue);
BEGIN
    PERFORM larder_data.check_limits(max_running, max_rate);
    UPDATE larder_data.queue q SET max_running = queue_limit.max_running, max_rate = queue_limit.max_rate
    WHERE q.id = queue_no;
    INSERT INTO larder_data.claim_limit (queue_id) VALUES (queue_no) ON CONFLICT (queue_id) DO NOTHING;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('queue "%s"', queue_limit.queue), 'larder_data.queue');
END $$;
COMMENT ON FUNCTION larder.queue_limit IS
    'Sets both limits of a queue, over all workers; NULL, the default, is no limit. max_running: jobs that run at '
    'once, at least 1; while more run than a lowered limit, none is claimed. max_rate: jobs that are claimed per '
    'second, 0.001 to 1000000; as many, and at least one, may be claimed at once.';

CREATE FUNCTION larder.origin_limit(
    origin text, max_running int DEFAULT NULL, max_rate double precision DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
#variable_conflict use_column
BEGIN
    PERFORM larder_data.check_limits(origin_limit.max_running, origin_limit.max_rate);
    INSERT INTO larder_data.origin_limit AS l (origin_id, max_running, max_rate)
    VALUES (larder_data.origin_of(origin), origin_limit.max_running, origin_limit.max_rate)
    ON CONFLICT (origin_id) DO UPDATE SET max_running = excluded.max_running, max_rate = excluded.max_rate,
        next_slot = '-infinity';
    DELETE FROM larder_data.origin_limit l WHERE l.max_running IS NULL AND l.max_rate IS NULL;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked('the limit of ' || larder_data.origin_name(origin), 'larder_data.origin_limit');
END $$;
COMMENT ON FUNCTION larder.origin_limit IS
    'Sets both limits of the origin of a URL, over all workers and queues; NULL, the default, is no limit. '
    'max_running: jobs that run at once; max_rate: jobs that are claimed per second, 0.001 to 1000000. Jobs beyond '
    'the limits are scheduled, at most 10 minutes ahead.';

-- A token bucket for one second's jobs. After the clock was set back the absolute distance counts, so that the bucket
-- is full once instead of empty until the clock catches up.
CREATE FUNCTION larder_data.tokens_at(
    tokens double precision, updated_at timestamptz, max_rate double precision, moment timestamptz
) RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN max_rate IS NOT NULL THEN
    least(greatest(max_rate, 1), tokens + max_rate * abs(date_part('epoch', moment - updated_at))) END;

CREATE FUNCTION larder_data.running_in(queue_no smallint, most int) RETURNS int
LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp
SET enable_seqscan = off SET jit = off AS $$
BEGIN
    RETURN (
        SELECT count(*) FROM (SELECT FROM larder_data.live_claim r WHERE r.queue_id = queue_no LIMIT most) AS held);
END $$;

-- How many jobs of a queue its limits let a claim take now, at most 1000; not positive if none.
CREATE FUNCTION larder_data.claimable_now(queue_no smallint) RETURNS int
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT least(q.max_running - larder_data.running_in(queue_no, q.max_running),
            floor(larder_data.tokens_at(l.tokens, l.updated_at, q.max_rate, clock_timestamp())), 1000)::int
        FROM larder_data.queue q JOIN larder_data.claim_limit l ON l.queue_id = q.id WHERE q.id = queue_no);
END $$;

-- How many jobs a claim may take of each of these queues until its transaction ends; 0 if another transaction has
-- locked it for 500 ms. A queue at its limit is not locked; the others are locked in id order. Polls, because a claim
-- in a transaction that stays open must not stop other workers' claims for ever.
CREATE FUNCTION larder_data.lock_limits(limited smallint[]) RETURNS int[]
LANGUAGE plpgsql AS $$
DECLARE
    deadline timestamptz := clock_timestamp() + interval '500 ms';
    allowed int[] := '{}'::int[];
    queue_no smallint;
    n int;
BEGIN
    FOREACH queue_no IN ARRAY limited LOOP
        n := larder_data.claimable_now(queue_no);
        WHILE n > 0 LOOP
            PERFORM FROM larder_data.claim_limit l WHERE l.queue_id = queue_no FOR UPDATE SKIP LOCKED;
            IF FOUND THEN
                n := larder_data.claimable_now(queue_no);
                EXIT;
            END IF;
            PERFORM pg_sleep(0.001);
            n := CASE WHEN clock_timestamp() < deadline THEN n ELSE 0 END;
        END LOOP;
        allowed := allowed || greatest(n, 0);
    END LOOP;
    RETURN allowed;
END $$;

CREATE FUNCTION larder_data.take_tokens(limited smallint[], jobs bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    UPDATE larder_data.claim_limit l SET updated_at = moment,
        tokens = greatest(larder_data.tokens_at(l.tokens, l.updated_at, t.max_rate, moment) - t.n, 0)
    FROM (
        SELECT j.queue_id, count(*) AS n, (SELECT q.max_rate FROM larder_data.queue q WHERE q.id = j.queue_id)
        FROM unnest(jobs) AS u (id),
            LATERAL (SELECT x.queue_id FROM larder_data.job x WHERE x.id = u.id OFFSET 0) AS j
        GROUP BY j.queue_id) AS t
    WHERE l.queue_id = t.queue_id AND l.queue_id = ANY (limited);
END $$;

CREATE TYPE larder_data.origin_room AS (
    origin_id int, places int, next_slot timestamptz, per_second double precision, is_locked boolean
);

-- Locks these origins' limits, unless another claim has, and returns what they allow: the places, and how many jobs per
-- second the origin will take, which is max_rate or the rate at which places become free, assuming that a running job
-- is half done. Half as many again are expected, so that no place stays empty.
CREATE FUNCTION larder_data.rooms_of(origins int[]) RETURNS larder_data.origin_room[]
LANGUAGE plpgsql AS $$
DECLARE
    locked int[] := ARRAY(
        SELECT l.origin_id FROM larder_data.origin_limit l WHERE l.origin_id = ANY (origins)
        ORDER BY l.origin_id FOR UPDATE SKIP LOCKED);
BEGIN
    RETURN ARRAY(
        SELECT (l.origin_id, greatest(least(l.max_running - coalesce(r.n, 0),
                floor(larder_data.tokens_at(l.tokens, l.updated_at, l.max_rate, clock_timestamp()))), 0)::int,
            l.next_slot, 1.5 * least(l.max_rate / 1.5, l.max_running / greatest(2 * r.age, 0.05), 10000),
            l.origin_id = ANY (locked))::larder_data.origin_room
        FROM larder_data.origin_limit l LEFT JOIN (
            SELECT x.origin_id, count(*) AS n, avg(extract(epoch FROM clock_timestamp() - x.claimed_at))::float8 AS age
            FROM larder_data.live_claim x WHERE x.origin_id = ANY (origins) GROUP BY x.origin_id) AS r USING (origin_id)
        WHERE l.origin_id = ANY (origins));
END $$;

CREATE VIEW larder.limited_origin AS
SELECT o.name AS origin, l.max_running, l.max_rate, coalesce(r.running, 0) AS running,
    CASE WHEN r.running >= l.max_running THEN 'max_running'
        WHEN larder_data.tokens_at(l.tokens, l.updated_at, l.max_rate, statement_timestamp()) < 1 THEN 'max_rate'
        END AS limit_reached,
    CASE WHEN l.next_slot > statement_timestamp() THEN l.next_slot END AS deferred_until
FROM larder_data.origin_limit l JOIN larder_data.origin o ON o.id = l.origin_id
LEFT JOIN (
    SELECT x.origin_id, count(*) AS running FROM larder_data.live_claim x GROUP BY x.origin_id) AS r USING (origin_id);
COMMENT ON VIEW larder.limited_origin IS
    'Origins that have a limit, see larder.origin_limit. running: jobs that run, with all workers. limit_reached: the '
    'limit for which no job can be claimed now, max_running or max_rate. deferred_until: the time for which the last '
    'job was scheduled that had no place; NULL when it has passed.';

-- Schedules each of these locked ready rows whose origin has no place; returns at most `wanted` others, none of an
-- origin whose limit another claim has locked. Slots more than 10 minutes ahead get a random later time.
CREATE FUNCTION larder_data.defer_limited(picked tid[], wanted int, OUT kept tid[], OUT some_deferred boolean)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    rooms larder_data.origin_room[] := larder_data.rooms_of(ARRAY(
        SELECT DISTINCT r.origin_id FROM unnest(picked) AS t (tid),
            LATERAL (SELECT x.origin_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r));
BEGIN
    WITH placed AS MATERIALIZED (
        SELECT t.tid, t.ord, r.job_id, r.origin_id, o.places, o.next_slot, o.per_second, o.is_locked,
            row_number() OVER (PARTITION BY r.origin_id ORDER BY t.ord) AS n
        FROM unnest(picked) WITH ORDINALITY AS t (tid, ord)
        CROSS JOIN LATERAL (
            SELECT x.job_id, x.origin_id FROM larder_data.ready x WHERE x.ctid = t.tid OFFSET 0) AS r
        LEFT JOIN unnest(rooms) AS o ON o.origin_id = r.origin_id
    ), decided AS MATERIALIZED (
        SELECT p.*, CASE WHEN p.is_locked AND p.n > p.places
            THEN greatest(p.next_slot, clock_timestamp() + interval '200 ms')
                + (p.n - p.places) / p.per_second * interval '1 s' END AS slot
        FROM placed p
    ), taken AS MATERIALIZED (
        SELECT d.* FROM decided d WHERE d.slot IS NULL AND d.is_locked IS NOT false ORDER BY d.ord LIMIT wanted
    ), removed AS (
        DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(SELECT d.tid FROM decided d WHERE d.slot IS NOT NULL))
    ), deferred AS (
        INSERT INTO larder_data.scheduled (run_at, job_id)
        SELECT CASE WHEN d.slot < clock_timestamp() + interval '10 min' THEN d.slot
            ELSE clock_timestamp() + interval '10 min' * (1 + random()) END, d.job_id
        FROM decided d WHERE d.slot IS NOT NULL
    ), counted AS (
        UPDATE larder_data.origin_limit l SET updated_at = clock_timestamp(),
            tokens = greatest(
                larder_data.tokens_at(l.tokens, l.updated_at, l.max_rate, clock_timestamp()) - c.taken, 0),
            next_slot = least(coalesce(c.slot, l.next_slot), clock_timestamp() + interval '10 min')
        FROM (SELECT d.origin_id, count(t.tid) AS taken, max(d.slot) AS slot
              FROM decided d LEFT JOIN taken t USING (ord) WHERE d.is_locked GROUP BY d.origin_id) AS c
        WHERE l.origin_id = c.origin_id
    )
    SELECT coalesce((SELECT array_agg(t.tid ORDER BY t.ord) FROM taken t), '{}'),
        coalesce((SELECT bool_or(d.slot IS NOT NULL) FROM decided d), false)
    INTO kept, some_deferred;
END $$;
