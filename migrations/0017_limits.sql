-- The limits of a queue: jobs that run at once, and jobs claimed per second.
--
-- A claim counts the running rows of the queue, so that whatever ends a job frees its place. Rows that were claimed
-- without a limit are in no index, and are counted while there may be any. Only a claim that may take jobs of such a
-- queue locks its row of claim_limit, and counts again behind the lock, so that claims at the same time do not exceed
-- max_running together. It updates the row when it takes jobs: above READ COMMITTED, where a snapshot may be older than
-- the lock, the next claim then fails with 40001 instead of counting too few.

CREATE TABLE larder_data.claim_limit (
    queue_id smallint PRIMARY KEY,
    tokens double precision NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT 'epoch',
    before xid8
) WITH (fillfactor = 30);
COMMENT ON TABLE larder_data.claim_limit IS
    'One row per queue that has or had a limit. A claim of such a queue that may take jobs locks the row, and updates '
    'it when it takes some. tokens: jobs that max_rate allowed at updated_at. before: transactions below this may have '
    'claimed jobs without a limit that still run; NULL: none. Not the row of the queue, so that an open transaction of '
    'an operator delays no claim.';

CREATE FUNCTION larder.queue_limit(
    queue text, max_running int DEFAULT NULL, max_rate double precision DEFAULT NULL
) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    queue_no smallint := larder_data.find_queue(queue_limit.queue);
    had_none boolean;
BEGIN
    IF queue_limit.max_running < 1 THEN
        RAISE EXCEPTION 'max_running is at least 1, or NULL for no limit, not %', queue_limit.max_running
            USING ERRCODE = '22023';
    ELSIF queue_limit.max_rate NOT BETWEEN 0.001 AND 1000000 THEN
        RAISE EXCEPTION 'max_rate is 0.001 to 1000000 jobs per second, or NULL for no limit, not %',
            queue_limit.max_rate USING ERRCODE = '22023';
    END IF;
    SELECT q.max_running IS NULL AND q.max_rate IS NULL INTO had_none
    FROM larder_data.queue q WHERE q.id = queue_no FOR NO KEY UPDATE;
    UPDATE larder_data.queue q SET max_running = queue_limit.max_running, max_rate = queue_limit.max_rate
    WHERE q.id = queue_no;
    IF had_none THEN
        -- The first claim that sees the limit replaces this by an upper bound of those that did not.
        INSERT INTO larder_data.claim_limit (queue_id, before) VALUES (queue_no, '18446744073709551615')
        ON CONFLICT (queue_id) DO UPDATE SET before = excluded.before;
    END IF;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('queue "%s"', queue_limit.queue), 'larder_data.queue');
END $$;
COMMENT ON FUNCTION larder.queue_limit IS
    'Sets both limits of a queue, over all workers; NULL, the default, is no limit. max_running: jobs that run at '
    'once, at least 1; while more run than a lowered limit, none is claimed. max_rate: jobs that are claimed per '
    'second, 0.001 to 1000000; as many, and at least one, may be claimed at once.';

-- A bucket that holds the jobs of one second. After the clock was set back the distance counts, so that the bucket is
-- full once instead of empty until the clock is where it was.
CREATE FUNCTION larder_data.tokens_at(
    tokens double precision, updated_at timestamptz, max_rate double precision, moment timestamptz
) RETURNS double precision
LANGUAGE sql IMMUTABLE
RETURN CASE WHEN max_rate IS NOT NULL THEN
    least(greatest(max_rate, 1), tokens + max_rate * abs(date_part('epoch', moment - updated_at))) END;
COMMENT ON FUNCTION larder_data.tokens_at IS 'The jobs that max_rate allows at a moment; NULL without max_rate.';

CREATE FUNCTION larder_data.running_from_before(queue_no smallint) RETURNS int
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT count(*) FROM larder_data.claim_lock w, LATERAL (
            SELECT FROM larder_data.running x
            WHERE x.worker_id = w.worker_id AND x.queue_id = queue_no AND NOT x.is_limited OFFSET 0) AS r
        WHERE NOT w.has_ended);
END $$;
COMMENT ON FUNCTION larder_data.running_from_before IS
    'How many running jobs of a queue were claimed while it had no limit. Reads all running jobs.';

CREATE FUNCTION larder_data.claimable_now(queue_no smallint) RETURNS int
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (
        SELECT least(
            CASE WHEN q.max_running IS NOT NULL THEN q.max_running - (
                SELECT count(*) FROM (
                    SELECT FROM larder_data.running r
                    WHERE r.queue_id = queue_no AND r.is_limited LIMIT q.max_running) AS held)
                - CASE WHEN l.before IS NOT NULL THEN larder_data.running_from_before(queue_no) ELSE 0 END END,
            floor(larder_data.tokens_at(l.tokens, l.updated_at, q.max_rate, clock_timestamp())), 1000)::int
        FROM larder_data.queue q, LATERAL (
            SELECT x.tokens, x.updated_at, x.before FROM larder_data.claim_limit x
            WHERE x.queue_id = q.id OFFSET 0) AS l
        WHERE q.id = queue_no);
END $$;
COMMENT ON FUNCTION larder_data.claimable_now IS
    'How many jobs of a queue its limits let a claim take now, at most 1000; not positive when none.';

-- A queue at its limit is not locked. The others are locked in the order of their ids. Looks again and again, because
-- a claim in a transaction that stays open must not stop the claims of other workers for ever.
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
COMMENT ON FUNCTION larder_data.lock_limits IS
    'How many jobs a claim may take of each of these queues until its transaction ends; 0 of one that another '
    'transaction has locked for 500 ms.';

CREATE FUNCTION larder_data.take_tokens(limited smallint[], jobs bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    moment timestamptz := clock_timestamp();
BEGIN
    UPDATE larder_data.claim_limit l SET updated_at = moment,
        tokens = greatest(larder_data.tokens_at(l.tokens, l.updated_at, t.max_rate, moment) - t.n, 0),
        -- Until those transactions have ended, and the jobs that they claimed.
        before = CASE WHEN l.before IS NULL THEN NULL
            WHEN l.before > pg_snapshot_xmin(pg_current_snapshot())
                THEN least(l.before, pg_snapshot_xmax(pg_current_snapshot()))
            WHEN larder_data.running_from_before(l.queue_id) > 0 THEN l.before END
    FROM (
        SELECT q.id, q.max_rate, c.n
        FROM (
            SELECT j.queue_id, count(*) AS n FROM unnest(jobs) AS u (id),
                LATERAL (SELECT x.queue_id FROM larder_data.job x WHERE x.id = u.id OFFSET 0) AS j
            GROUP BY j.queue_id) AS c,
            LATERAL (SELECT x.id, x.max_rate FROM larder_data.queue x WHERE x.id = c.queue_id OFFSET 0) AS q) AS t
    WHERE l.queue_id = t.id AND t.id = ANY (limited);
END $$;
COMMENT ON FUNCTION larder_data.take_tokens IS 'Counts jobs that a claim took against the max_rate of their queues.';

CREATE FUNCTION larder_data.limited_queues(batch_no bigint) RETURNS smallint[]
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN ARRAY(
        SELECT q.id FROM larder_data.queue q
        WHERE (q.max_running IS NOT NULL OR q.max_rate IS NOT NULL)
          AND (q.id = (SELECT b.queue_id FROM larder_data.batch b WHERE b.id = batch_no)
            OR EXISTS (SELECT FROM larder_data.job_subscriber s WHERE s.batch_id = batch_no))
        ORDER BY q.id);
END $$;
COMMENT ON FUNCTION larder_data.limited_queues IS
    'The queues with a limit in which a batch may have jobs: its own, and any if it joined jobs of other batches.';
