-- Taking hold of what is in the queue: cancel, pause, resume, retry, priorities, the blocklist, looking up, waiting.
--
-- Two locks make this safe beside claims, completes and joins. A job's row is locked first, in a statement of its own that
-- skips what others hold; the next statement's snapshot then sees every join that came before. After it the job's
-- place: a row of ready, scheduled or suspended that is locked can be moved by nobody else, so whoever holds both may end the
-- job. A place that somebody is just moving is left for the next look. `running` is not locked: a worker's complete waits
-- for the job's row, and a job that it gives back meanwhile is suspended, then or by the next claim, and ended by maintenance.
--
-- Cancelling a batch of millions is one update: the ledger counts its open items as cancelled from then on. What ends
-- the jobs behind it is bounded, and so is what brings the jobs of a resumed batch back; maintenance does the rest.
--
-- Error codes: LA001 batch closed, LA002 no such batch, LA006 no such queue, LA007 no such job or nothing to be done with
-- it, LA008 waited too long, 22023 argument.

CREATE FUNCTION larder_data.batch_held(batch_no bigint, must_be_open boolean) RETURNS larder_data.batch
LANGUAGE plpgsql AS $$
DECLARE
    b larder_data.batch;
BEGIN
    SELECT * INTO b FROM larder_data.batch x WHERE x.id = batch_no FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no batch has the number %', batch_no USING ERRCODE = 'LA002';
    ELSIF b.cancelled_at IS NOT NULL OR must_be_open AND b.finished_at IS NOT NULL THEN
        RAISE EXCEPTION 'batch % is %', coalesce('"' || b.name || '"', b.id::text),
            CASE WHEN b.cancelled_at IS NOT NULL THEN 'cancelled' ELSE 'finished' END USING ERRCODE = 'LA001';
    END IF;
    RETURN b;
END $$;
COMMENT ON FUNCTION larder_data.batch_held IS 'A batch that is not cancelled, locked; waits for transactions that still add to it.';

-- Cancel.

-- The jobs' rows are locked by the caller, in a statement before. batch_no 0 is no batch: ends what nobody wants.
CREATE FUNCTION larder_data.end_items(batch_no bigint, held bigint[], OUT jobs int, OUT items bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
    WITH mine AS MATERIALIZED (
        SELECT j.*, ride.tid AS ride_tid, j.batch_id = batch_no AS home,
               CASE WHEN j.batch_id = batch_no THEN j.items ELSE coalesce(ride.items, 0) END AS going,
               j.batch_id <> batch_no AND j.items > 0 OR other.wants IS NOT NULL AS shared
        FROM unnest(held) AS h (id)
        CROSS JOIN LATERAL (
            SELECT x.ctid AS tid, x.id, x.batch_id, x.created_at, x.options, x.pipeline_id, x.origin_id, x.items, x.queue_id, x.priority, x.attempt,
                   x.rescues, x.url, x.context
            FROM larder_data.job x WHERE x.id = h.id OFFSET 0) AS j
        LEFT JOIN LATERAL (
            SELECT x.ctid AS tid, x.items FROM larder_data.job_subscriber x WHERE x.job_id = j.id AND x.batch_id = batch_no OFFSET 0) AS ride ON true
        LEFT JOIN LATERAL (SELECT true AS wants FROM larder_data.job_subscriber x WHERE x.job_id = j.id AND x.batch_id <> batch_no LIMIT 1) AS other ON true
    ), placed AS MATERIALIZED (
        SELECT m.*, r.tid AS ready_tid, d.tid AS scheduled_tid, p.tid AS suspended_tid, m.id IN (SELECT x.job_id FROM larder_data.running x) AS runs
        FROM mine m
        LEFT JOIN LATERAL (
            -- Its own lane first; now and then it stands in another one, see larder_data.promote_joined.
            SELECT place.tid FROM (SELECT m.priority::int AS p UNION ALL SELECT generate_series(0, 9)) AS lane, LATERAL (
                SELECT x.ctid AS tid FROM larder_data.ready x
                WHERE x.queue_id = m.queue_id AND x.priority = lane.p AND x.job_id = m.id FOR UPDATE SKIP LOCKED) AS place
            WHERE NOT m.shared LIMIT 1) AS r ON true
        LEFT JOIN LATERAL (
            SELECT x.ctid AS tid FROM larder_data.scheduled x WHERE x.job_id = m.id AND NOT m.shared FOR UPDATE SKIP LOCKED) AS d ON true
        LEFT JOIN LATERAL (
            SELECT x.ctid AS tid FROM larder_data.suspended x WHERE x.job_id = m.id AND NOT m.shared FOR UPDATE SKIP LOCKED) AS p ON true
    ), ended AS MATERIALIZED (
        SELECT p.*, NOT p.shared AND coalesce(p.ready_tid, p.scheduled_tid, p.suspended_tid) IS NOT NULL AS gone
        FROM placed p WHERE p.shared OR p.runs OR coalesce(p.ready_tid, p.scheduled_tid, p.suspended_tid) IS NOT NULL
    ), not_ready AS (
        DELETE FROM larder_data.ready x WHERE x.ctid = ANY (ARRAY(SELECT e.ready_tid FROM ended e WHERE e.gone))
    ), not_delayed AS (
        DELETE FROM larder_data.scheduled x WHERE x.ctid = ANY (ARRAY(SELECT e.scheduled_tid FROM ended e WHERE e.gone))
    ), not_parked AS (
        DELETE FROM larder_data.suspended x WHERE x.ctid = ANY (ARRAY(SELECT e.suspended_tid FROM ended e WHERE e.gone))
    ), over AS (
        DELETE FROM larder_data.job x WHERE x.ctid = ANY (ARRAY(SELECT e.tid FROM ended e WHERE e.gone))
    ), left_behind AS (
        -- What runs for nobody else is told to its worker; what others want goes on.
        UPDATE larder_data.job x SET items = CASE WHEN e.home THEN 0 ELSE x.items END,
            cancelled_at = CASE WHEN e.shared OR x.cancelled_at IS NOT NULL THEN x.cancelled_at ELSE now() END,
            is_revived = x.is_revived AND e.shared
        FROM ended e WHERE NOT e.gone AND (e.home OR NOT e.shared) AND x.ctid = e.tid
    ), unfollowed AS (
        DELETE FROM larder_data.job_subscriber x WHERE x.ctid = ANY (ARRAY(SELECT e.ride_tid FROM ended e WHERE NOT e.home))
    ), history AS (
        INSERT INTO larder_data.job_history (
            created_at, job_id, batch_id, options, pipeline_id, origin_id, items, code, outcome, priority, attempt, rescues, url, context, domain, message)
        SELECT e.created_at, e.id, e.batch_id, e.options, e.pipeline_id, e.origin_id, e.items, 2002, 3, e.priority, e.attempt, e.rescues, e.url, e.context,
               'SDWebImageErrorDomain', 'the job was cancelled'
        FROM ended e WHERE e.gone
    ), item_history AS (
        INSERT INTO larder_data.item_history (id, batch_id, job_id, items, code, outcome, attempt, reason, url, domain, message)
        SELECT nextval('larder_data.item_id'), batch_no, e.id, e.going, 2002, 3, e.attempt, 'cancelled', e.url,
               'SDWebImageErrorDomain', 'the job was cancelled'
        FROM ended e WHERE e.going > 0 AND NOT (e.gone AND e.home)
    ), ledger AS (
        INSERT INTO larder_data.batch_delta (batch_id, cancelled)
        SELECT batch_no, sum(e.going) FROM ended e HAVING sum(e.going) > 0
    )
    SELECT count(*), coalesce(sum(e.going), 0) INTO jobs, items FROM ended e;
END $$;
COMMENT ON FUNCTION larder_data.end_items IS
    'Finishes a batch''s items of jobs as cancelled: ends the jobs that nobody else wants, tells the running ones. The caller has locked the jobs.';

-- The jobs' rows are locked by the caller. Each job's own batch last: it ends with the last batch that wants it.
CREATE FUNCTION larder_data.end_jobs(held bigint[]) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    batch_no bigint;
    mine bigint[];
BEGIN
    FOR batch_no, mine IN
        SELECT w.batch_id, array_agg(w.id) FROM (
            SELECT f.batch_id, f.job_id AS id, 1 AS place FROM larder_data.job_subscriber f WHERE f.job_id = ANY (held)
            UNION ALL SELECT j.batch_id, j.id, 2 FROM larder_data.job j WHERE j.id = ANY (held)) AS w
        GROUP BY w.place, w.batch_id ORDER BY w.place, w.batch_id
    LOOP
        PERFORM larder_data.end_items(batch_no, mine);
    END LOOP;
    RETURN coalesce(cardinality(held), 0);
END $$;
COMMENT ON FUNCTION larder_data.end_jobs IS 'Ends jobs that do not run as cancelled, for all batches that want them.';

-- Without ORDER BY, so that the way in can only be the batch's index.
CREATE FUNCTION larder_data.sweep(batch_no bigint, most int) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    held bigint[];
BEGIN
    SELECT array_agg(x.id) INTO held FROM (
        SELECT own.id FROM (SELECT j.id FROM larder_data.job j WHERE j.batch_id = batch_no AND j.items > 0 FOR UPDATE SKIP LOCKED) AS own
        UNION ALL
        SELECT j.id FROM larder_data.job_subscriber f, LATERAL (
            SELECT x.id FROM larder_data.job x WHERE x.id = f.job_id FOR UPDATE SKIP LOCKED) AS j
        WHERE f.batch_id = batch_no
        LIMIT most) AS x;
    IF held IS NULL THEN
        RETURN 0;
    END IF;
    PERFORM larder_data.ensure_today();
    RETURN (larder_data.end_items(batch_no, held)).jobs;
END $$;
COMMENT ON FUNCTION larder_data.sweep IS 'Ends the jobs of a cancelled batch, as far as they are its own, at most so many; answers how many.';

CREATE FUNCTION larder_data.sweep_running(batch_no bigint) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    held bigint[];
BEGIN
    SELECT array_agg(j.id) INTO held FROM larder_data.running r, LATERAL (
        SELECT x.id FROM larder_data.job x
        WHERE x.id = r.job_id AND (x.batch_id = batch_no AND x.items > 0
            OR x.has_subscribers AND EXISTS (SELECT FROM larder_data.job_subscriber f WHERE f.job_id = x.id AND f.batch_id = batch_no))
        FOR UPDATE SKIP LOCKED) AS j;
    PERFORM larder_data.ensure_today();
    RETURN (larder_data.end_items(batch_no, held)).jobs;
END $$;
COMMENT ON FUNCTION larder_data.sweep_running IS 'The same for what runs, so that workers hear at their next heartbeat, however large the batch.';

-- In the order of keys, as enqueue locks. Who holds a row for longer, a producer that joins in a transaction of its own,
-- is left alone: then nothing is held here either, and what is completed in that moment may still count as it ended.
CREATE FUNCTION larder_data.hold_running(batch_no bigint) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET lock_timeout = '500ms' AS $$
BEGIN
    PERFORM FROM larder_data.job x WHERE x.id = ANY (ARRAY(
        SELECT r.job_id FROM larder_data.running r, LATERAL (
            SELECT FROM larder_data.job j
            WHERE j.id = r.job_id AND (j.batch_id = batch_no AND j.items > 0
                OR j.has_subscribers AND EXISTS (SELECT FROM larder_data.job_subscriber f WHERE f.job_id = j.id AND f.batch_id = batch_no)) OFFSET 0) AS mine))
    ORDER BY x.key FOR UPDATE;
EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
    NULL;
END $$;
COMMENT ON FUNCTION larder_data.hold_running IS 'Waits for completes under way of jobs that a batch wants, half a second at most, and keeps others from beginning.';

CREATE FUNCTION larder.batch_cancel(batch_id bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    b larder_data.batch;
    open_items bigint;
BEGIN
    SELECT * INTO b FROM larder_data.batch x WHERE x.id = batch_cancel.batch_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no batch has the number %', batch_id USING ERRCODE = 'LA002';
    ELSIF b.cancelled_at IS NOT NULL OR b.finished_at IS NOT NULL THEN
        RETURN 0;
    END IF;
    -- Or an item that is counted as cancelled here would be one that succeeded a moment later.
    PERFORM larder_data.hold_running(b.id);
    SELECT l.total - l.succeeded - l.failed - l.cancelled INTO open_items FROM larder_data.ledger l WHERE l.batch_id = b.id;
    IF open_items = 0 AND b.sealed_at IS NOT NULL THEN
        RETURN 0;
    END IF;
    UPDATE larder_data.batch x SET cancelled_at = clock_timestamp(), sealed_at = coalesce(x.sealed_at, clock_timestamp()) WHERE x.id = b.id;
    PERFORM larder_data.sweep_running(b.id);
    PERFORM larder_data.sweep(b.id, 10000);
    RETURN open_items;
END $$;
COMMENT ON FUNCTION larder.batch_cancel(bigint) IS
    'Cancels a batch: its open items are finished at once, with SDWebImageErrorDomain 2002. A job ends only when no other batch wants it. Answers how many items were open; 0 for a batch that is over. Waits for transactions that still add to it, and half a second at most for completes under way.';

CREATE FUNCTION larder.batch_cancel(batch text) RETURNS bigint
LANGUAGE sql AS $$ SELECT larder.batch_cancel(larder_data.find_batch(batch)) $$;
COMMENT ON FUNCTION larder.batch_cancel(text) IS 'Cancels a batch, by name.';

-- Pause and resume.

CREATE FUNCTION larder_data.unsuspend(jobs bigint[]) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    queues smallint[];
    lanes smallint[];
    back bigint[];
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT p.tid, j.id, j.queue_id, j.priority
        FROM unnest(jobs) AS h (id)
        CROSS JOIN LATERAL (
            SELECT x.ctid AS tid, x.reason FROM larder_data.suspended x WHERE x.job_id = h.id AND x.reason IN ('paused', 'cancelled') FOR UPDATE SKIP LOCKED) AS p
        CROSS JOIN LATERAL (
            SELECT x.id, x.batch_id, x.items, x.queue_id, x.priority FROM larder_data.job x
            -- What an operator cancelled is wanted by nobody, whatever its batches do.
            WHERE x.id = h.id AND NOT (p.reason = 'cancelled' AND x.cancelled_at IS NOT NULL) OFFSET 0) AS j
        CROSS JOIN LATERAL (
            SELECT FROM (
                SELECT j.batch_id AS id WHERE j.items > 0 UNION ALL SELECT f.batch_id FROM larder_data.job_subscriber f WHERE f.job_id = j.id
            ) AS wants, LATERAL (
                SELECT FROM larder_data.batch b WHERE b.id = wants.id AND b.paused_at IS NULL AND b.cancelled_at IS NULL OFFSET 0) AS goes_on
            LIMIT 1) AS somebody
    ), gone AS (
        -- By tuple id: rows of suspended are never updated.
        DELETE FROM larder_data.suspended x WHERE x.ctid = ANY (ARRAY(SELECT w.tid FROM wanted w))
    ), again AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id) SELECT w.queue_id, w.priority, w.id FROM wanted w
    )
    SELECT array_agg(w.queue_id), array_agg(w.priority), array_agg(w.id) INTO queues, lanes, back FROM wanted w;
    PERFORM larder_data.lower_cursors(back);
    RETURN coalesce(cardinality(back), 0);
END $$;
COMMENT ON FUNCTION larder_data.unsuspend IS 'Makes those of these jobs ready that are suspended for their batches'' sake, were not cancelled by themselves, and that a batch wants which goes on.';

CREATE FUNCTION larder.batch_pause(batch_id bigint) RETURNS void
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM larder_data.batch_held(batch_id, true);
    UPDATE larder_data.batch b SET paused_at = coalesce(b.paused_at, clock_timestamp()) WHERE b.id = batch_pause.batch_id;
END $$;
COMMENT ON FUNCTION larder.batch_pause(bigint) IS
    'Pauses a batch: what it alone wants is not handed out any more; what runs goes on. It takes more URLs as before. Pausing twice is fine.';

CREATE FUNCTION larder.batch_pause(batch text) RETURNS void
LANGUAGE sql AS $$ SELECT larder.batch_pause(larder_data.find_batch(batch)) $$;
COMMENT ON FUNCTION larder.batch_pause(text) IS 'Pauses a batch, by name.';

CREATE FUNCTION larder.batch_resume(batch_id bigint) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    batch_no bigint := batch_resume.batch_id;
BEGIN
    PERFORM larder_data.batch_held(batch_no, true);
    UPDATE larder_data.batch b SET paused_at = NULL WHERE b.id = batch_no AND b.paused_at IS NOT NULL;
    IF FOUND THEN
        PERFORM larder_data.unsuspend(ARRAY(
            SELECT p.job_id FROM larder_data.suspended p, LATERAL (
                SELECT FROM larder_data.job j
                WHERE j.id = p.job_id AND (j.batch_id = batch_no AND j.items > 0
                    OR j.has_subscribers AND EXISTS (SELECT FROM larder_data.job_subscriber f WHERE f.job_id = j.id AND f.batch_id = batch_no)) OFFSET 0) AS mine
            WHERE p.reason = 'paused' LIMIT 10000));
    END IF;
END $$;
COMMENT ON FUNCTION larder.batch_resume(bigint) IS 'Lets a paused batch go on: its jobs are ready again at their old place. Resuming what is not paused changes nothing.';

CREATE FUNCTION larder.batch_resume(batch text) RETURNS void
LANGUAGE sql AS $$ SELECT larder.batch_resume(larder_data.find_batch(batch)) $$;
COMMENT ON FUNCTION larder.batch_resume(text) IS 'Lets a paused batch go on, by name.';

CREATE FUNCTION larder_data.maintenance_cancelled() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    portion CONSTANT int := 5000;
    moved int := 0;
    held bigint[];
    batch_no bigint;
BEGIN
    FOR batch_no IN SELECT b.id FROM larder_data.batch b WHERE b.cancelled_at IS NOT NULL AND b.finished_at IS NULL ORDER BY b.id LOOP
        moved := moved + larder_data.sweep(batch_no, portion - moved);
        EXIT WHEN moved >= portion;
    END LOOP;
    -- What was set aside: ended when it was cancelled while it ran, or nobody wants it; ready again when somebody joined it since.
    SELECT array_agg(j.id) INTO held FROM (SELECT p.job_id FROM larder_data.suspended p WHERE p.reason = 'cancelled' LIMIT portion) AS p, LATERAL (
        SELECT x.id FROM larder_data.job x WHERE x.id = p.job_id FOR UPDATE SKIP LOCKED) AS j;
    IF held IS NOT NULL THEN
        PERFORM larder_data.ensure_today();
        moved := moved + larder_data.unsuspend(held) + larder_data.end_jobs(ARRAY(
            SELECT j.id FROM unnest(held) AS h (id), LATERAL (
                SELECT x.id FROM larder_data.job x WHERE x.id = h.id AND x.cancelled_at IS NOT NULL OFFSET 0) AS j));
        moved := moved + (larder_data.end_items(0, ARRAY(
            SELECT j.id FROM unnest(held) AS h (id), LATERAL (
                SELECT x.id FROM larder_data.job x
                WHERE x.id = h.id AND x.items = 0 AND NOT EXISTS (SELECT FROM larder_data.job_subscriber f WHERE f.job_id = x.id) OFFSET 0) AS j))).jobs;
    END IF;
    IF moved >= portion THEN
        UPDATE larder_data.maintenance u SET next_at = clock_timestamp() WHERE u.task = 'cancelled';
    END IF;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_cancelled IS 'Ends the jobs of cancelled batches, at most about 5,000; at once again while there are more.';

-- A look at each suspended job in turns: a batch may have been resumed, or joined the job, or a claim may have suspended it
-- just as its batch was resumed.
CREATE FUNCTION larder_data.maintenance_resumed() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    portion CONSTANT int := 5000;
    before bigint := (SELECT u.cursor FROM larder_data.maintenance u WHERE u.task = 'resumed');
    looked_at bigint[] := ARRAY(
        SELECT p.job_id FROM larder_data.suspended p WHERE p.reason = 'paused' AND p.job_id > before ORDER BY p.job_id LIMIT portion);
    is_last boolean := cardinality(looked_at) < portion;
    moved int := larder_data.unsuspend(looked_at);
BEGIN
    IF before > 0 OR NOT is_last THEN
        UPDATE larder_data.maintenance u
        SET cursor = CASE WHEN is_last THEN 0 ELSE looked_at[portion] END, next_at = CASE WHEN moved > 0 THEN clock_timestamp() ELSE u.next_at END
        WHERE u.task = 'resumed';
    END IF;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_resumed IS 'Makes paused jobs ready that a batch wants which goes on; looks at 5,000, at once at the next ones when it found any.';

-- Retry and drop.

-- Planned anew each time: a plan made while a partition was empty would look for a record with the batch's number alone.
CREATE FUNCTION larder_data.mark_retried(batch_no bigint, ats timestamptz[], records bigint[], item_ids bigint[], jobs bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_custom_plan AS $$
BEGIN
    UPDATE larder_data.job_history h SET retried_as = m.job FROM unnest(ats, records, item_ids, jobs) AS m (at, record, item, job)
    WHERE m.item IS NULL AND h.finished_at = m.at AND h.batch_id = batch_no AND h.job_id = m.record;
    UPDATE larder_data.item_history h SET retried_as = m.job FROM unnest(ats, item_ids, jobs) AS m (at, item, job)
    WHERE h.finished_at = m.at AND h.batch_id = batch_no AND h.id = m.item;
END $$;
COMMENT ON FUNCTION larder_data.mark_retried IS 'Writes into records of a batch which job took their items along; where item is NULL the record is a job''s. The time finds the partition.';

-- The batch is locked by the caller: nobody else retries it, drops its failures or finishes it.
CREATE FUNCTION larder_data.reopen(b larder_data.batch, most int, only_job bigint DEFAULT NULL, OUT items bigint, OUT job bigint)
LANGUAGE plpgsql SET enable_nestloop = off SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ats timestamptz[];
    records bigint[];
    item_ids bigint[];
    jobs bigint[];
    joined bigint[];
    blocked bigint;
BEGIN
    WITH refused AS MATERIALIZED (
        SELECT i.finished_at, i.id, i.items, i.url, i.pipeline_id, i.domain, i.code FROM larder_data.item_history i
        WHERE i.batch_id = b.id AND i.outcome = 2 AND i.retried_as IS NULL AND i.discarded_at IS NULL AND i.reason = 'blocked' AND i.pipeline_id IS NOT NULL
          AND only_job IS NULL
        LIMIT most
    ), examined AS MATERIALIZED (
        SELECT g.ids, g.urls, e.origins
        FROM (SELECT array_agg(r.id) AS ids, array_agg(r.url) AS urls FROM refused r) AS g, LATERAL larder_data.validate(g.urls) AS e
    ), picked AS MATERIALIZED (
        (SELECT h.finished_at AS at, h.job_id AS record, NULL::bigint AS item, h.items, 0 AS blocked, h.url, h.pipeline_id, h.options, h.context, h.priority,
                h.origin_id, h.max_attempts, h.retry_base_ms, h.domain, h.code
         FROM larder_data.job_history h
         WHERE h.batch_id = b.id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL AND h.items > 0
           AND (only_job IS NULL OR h.job_id = only_job)
         LIMIT most)
        UNION ALL
        -- An item that rode on another batch's job: both records have the time of one transaction.
        (SELECT i.finished_at, i.job_id, i.id, i.items, 0, h.url, h.pipeline_id, h.options, h.context, h.priority, h.origin_id,
                h.max_attempts, h.retry_base_ms, i.domain, i.code
         FROM larder_data.item_history i, LATERAL (
            SELECT x.url, x.pipeline_id, x.options, x.context, x.priority, x.origin_id, x.max_attempts, x.retry_base_ms
            FROM larder_data.job_history x WHERE x.finished_at = i.finished_at AND x.job_id = i.job_id LIMIT 1) AS h
         WHERE i.batch_id = b.id AND i.outcome = 2 AND i.retried_as IS NULL AND i.discarded_at IS NULL AND i.reason = 'joined' AND only_job IS NULL
         LIMIT most)
        UNION ALL
        (SELECT r.finished_at, NULL, r.id, r.items, r.items, r.url, r.pipeline_id, 0, NULL, coalesce(b.priority, 4), o.id, NULL, NULL, r.domain, r.code
         FROM examined e, unnest(e.ids, e.origins) AS u (id, origin), refused r, LATERAL (
            SELECT x.id FROM larder_data.origin x WHERE x.name = u.origin OFFSET 0) AS o
         WHERE r.id = u.id)
        LIMIT most
    ), keyed AS MATERIALIZED (
        SELECT p.*, larder_data.job_key(p.url, p.pipeline_id) AS key FROM picked p
    ), distinct_jobs AS (
        SELECT DISTINCT ON (k.key) k.key, k.record, k.url, k.pipeline_id, k.options, k.context, k.origin_id,
               sum(k.items) OVER same AS riding, min(k.priority) OVER same AS lane,
               max(k.max_attempts) OVER same AS max_attempts, max(k.retry_base_ms) OVER same AS retry_base_ms
        FROM keyed k WINDOW same AS (PARTITION BY k.key) ORDER BY k.key, k.record
    ), numbered AS MATERIALIZED (
        SELECT nextval('larder_data.job_id') AS id, s.* FROM (SELECT * FROM distinct_jobs d ORDER BY d.record) AS s
    ), put AS (
        -- In order of keys and as enqueue does it: either a new job, or the live one takes the items along.
        INSERT INTO larder_data.job AS j
            (id, batch_id, options, pipeline_id, origin_id, items, retry_base_ms, queue_id, priority, max_attempts, key, url, context)
        SELECT n.id, b.id, n.options | 1, n.pipeline_id, n.origin_id, n.riding, n.retry_base_ms, b.queue_id, n.lane, coalesce(n.max_attempts, 4),
               n.key, n.url, n.context
        FROM numbered n ORDER BY n.key
        ON CONFLICT (key) DO UPDATE SET
            items = j.items + CASE WHEN j.batch_id = excluded.batch_id THEN excluded.items ELSE 0 END,
            has_subscribers = j.has_subscribers OR j.batch_id <> excluded.batch_id,
            priority = least(j.priority, excluded.priority),
            is_revived = j.is_revived OR j.cancelled_at IS NOT NULL, cancelled_at = NULL
        RETURNING j.id, j.key, j.batch_id
    ), placed AS MATERIALIZED (
        SELECT p.id, p.key, p.batch_id AS home, n.riding, n.lane, p.id <> n.id AS met FROM put p JOIN numbered n USING (key)
    ), to_ready AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id) SELECT b.queue_id, p.lane, p.id FROM placed p WHERE NOT p.met ORDER BY p.id
    ), follow AS (
        INSERT INTO larder_data.job_subscriber AS f (job_id, batch_id, items) SELECT p.id, b.id, p.riding FROM placed p WHERE p.met AND p.home <> b.id
        ON CONFLICT ON CONSTRAINT job_subscriber_pkey DO UPDATE SET items = f.items + excluded.items
    ), detail AS (
        INSERT INTO larder_data.batch_detail_delta (batch_id, n, code, domain)
        SELECT b.id, -sum(k.items), k.code, k.domain FROM keyed k GROUP BY k.domain, k.code
    )
    SELECT array_agg(k.at), array_agg(k.record), array_agg(k.item), array_agg(p.id), array_agg(DISTINCT p.id) FILTER (WHERE p.met),
           coalesce(sum(k.items), 0), coalesce(sum(k.blocked), 0), max(p.id)
    INTO ats, records, item_ids, jobs, joined, items, blocked, job
    FROM keyed k JOIN placed p USING (key);
    IF items = 0 THEN
        RETURN;
    END IF;
    PERFORM larder_data.mark_retried(b.id, ats, records, item_ids, jobs);
    IF joined IS NOT NULL THEN
        PERFORM larder_data.promote_joined(joined, NULL);
    END IF;
    INSERT INTO larder_data.batch_delta (batch_id, failed, blocked) VALUES (b.id, -items, -blocked);
    UPDATE larder_data.batch x SET finished_at = NULL WHERE x.id = b.id AND x.finished_at IS NOT NULL;
END $$;
COMMENT ON FUNCTION larder_data.reopen IS
    'Makes jobs of a batch''s failures again, at most so many records, or of one job''s; or lets live jobs take their items along. Answers the items and the last job.';

CREATE FUNCTION larder.batch_retry_failed(batch_id bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
BEGIN
    RETURN (larder_data.reopen(larder_data.batch_held(batch_id, false), 10000)).items;
END $$;
COMMENT ON FUNCTION larder.batch_retry_failed(bigint) IS
    'Reopens the failed items of a batch, blocked ones too, at most 10,000 records a call: call it while it answers as many. New jobs, with RetryFailed and fresh attempts. Answers how many items.';

CREATE FUNCTION larder.batch_retry_failed(batch text) RETURNS bigint
LANGUAGE sql AS $$ SELECT larder.batch_retry_failed(larder_data.find_batch(batch)) $$;
COMMENT ON FUNCTION larder.batch_retry_failed(text) IS 'Reopens the failed items of a batch, by name.';

CREATE FUNCTION larder.batch_discard_failed(batch_id bigint, most int DEFAULT 10000) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    dropped bigint;
    last_job bigint;
    last_item bigint;
BEGIN
    PERFORM FROM larder_data.batch b WHERE b.id = batch_discard_failed.batch_id FOR NO KEY UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no batch has the number %', batch_id USING ERRCODE = 'LA002';
    END IF;
    -- A portion is what is left up to some number, which the partitions' indexes give in order. Records without items, of
    -- jobs that ran for other batches alone, go along: a portion of nothing else would look like the end.
    SELECT max(x.job_id) INTO last_job FROM (
        SELECT h.job_id FROM larder_data.job_history h
        WHERE h.batch_id = batch_discard_failed.batch_id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL AND h.items > 0
        ORDER BY h.job_id LIMIT most) AS x;
    SELECT max(x.id) INTO last_item FROM (
        SELECT h.id FROM larder_data.item_history h
        WHERE h.batch_id = batch_discard_failed.batch_id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL AND h.items > 0
        ORDER BY h.id LIMIT most) AS x;
    WITH of_jobs AS (
        UPDATE larder_data.job_history h SET discarded_at = now()
        WHERE h.batch_id = batch_discard_failed.batch_id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL
          AND h.job_id <= last_job
        RETURNING h.items
    ), of_items AS (
        UPDATE larder_data.item_history h SET discarded_at = now()
        WHERE h.batch_id = batch_discard_failed.batch_id AND h.outcome = 2 AND h.retried_as IS NULL AND h.discarded_at IS NULL
          AND h.id <= last_item
        RETURNING h.items
    )
    SELECT coalesce(sum(x.items), 0) INTO dropped FROM (SELECT o.items FROM of_jobs o UNION ALL SELECT o.items FROM of_items o) AS x;
    RETURN dropped;
END $$;
COMMENT ON FUNCTION larder.batch_discard_failed(bigint, int) IS
    'Is done with the failures of a batch, at most so many records of jobs and of items a call: call it until it answers 0. They stay in its counts and its report, but are neither listed in larder.failed nor retried. Answers how many items.';

CREATE FUNCTION larder.batch_discard_failed(batch text, most int DEFAULT 10000) RETURNS bigint
LANGUAGE sql AS $$ SELECT larder.batch_discard_failed(larder_data.find_batch(batch), most) $$;
COMMENT ON FUNCTION larder.batch_discard_failed(text, int) IS 'Is done with the failures of a batch, by name.';

-- Priorities.

CREATE FUNCTION larder.batch_reprioritize(batch_id bigint, priority int, most int DEFAULT 100000) RETURNS bigint
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    b larder_data.batch;
    lane smallint := CASE WHEN batch_reprioritize.priority BETWEEN 0 AND 9 THEN batch_reprioritize.priority END;
    held bigint[];
    queues smallint[];
    lanes smallint[];
    back bigint[];
BEGIN
    IF lane IS NULL THEN
        RAISE EXCEPTION 'a priority is 0 to 9, not %', coalesce(batch_reprioritize.priority::text, 'NULL') USING ERRCODE = '22023';
    END IF;
    b := larder_data.batch_held(batch_reprioritize.batch_id, true);
    UPDATE larder_data.batch x SET priority = lane WHERE x.id = b.id AND x.daily IS NULL AND x.priority IS DISTINCT FROM lane;
    -- What another batch waits for, too, may only come sooner.
    SELECT array_agg(x.id) INTO held FROM (
        SELECT own.id FROM (
            SELECT j.id FROM larder_data.job j WHERE j.batch_id = b.id AND j.items > 0 AND (j.priority > lane
                OR j.priority < lane AND NOT EXISTS (SELECT FROM larder_data.job_subscriber f WHERE f.job_id = j.id)) FOR UPDATE SKIP LOCKED) AS own
        UNION ALL
        SELECT j.id FROM larder_data.job_subscriber f, LATERAL (
            SELECT x.id FROM larder_data.job x WHERE x.id = f.job_id AND x.priority > lane FOR UPDATE SKIP LOCKED) AS j
        WHERE f.batch_id = b.id
        LIMIT most) AS x;
    IF held IS NULL THEN
        RETURN 0;
    END IF;
    UPDATE larder_data.job j SET priority = lane WHERE j.id = ANY (held);
    WITH moved AS (
        DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(
            SELECT place.tid FROM unnest(held) AS h (id),
                LATERAL (SELECT x.id, x.queue_id FROM larder_data.job x WHERE x.id = h.id OFFSET 0) AS j,
                generate_series(0, 9) AS old (priority), LATERAL (
                    SELECT x.ctid AS tid FROM larder_data.ready x
                    WHERE x.queue_id = j.queue_id AND x.priority = old.priority AND x.job_id = j.id FOR UPDATE SKIP LOCKED) AS place
            WHERE old.priority <> lane))
        RETURNING r.queue_id, r.job_id
    ), again AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id) SELECT m.queue_id, lane, m.job_id FROM moved m ORDER BY m.job_id
    )
    SELECT array_agg(m.queue_id), array_agg(lane), array_agg(m.job_id) INTO queues, lanes, back FROM moved m;
    PERFORM larder_data.lower_cursors(back);
    RETURN cardinality(held);
END $$;
COMMENT ON FUNCTION larder.batch_reprioritize(bigint, int, int) IS
    'Gives a batch and its jobs another priority, 0 first to 9, at most so many jobs a call: call it until it answers 0. Jobs that another batch had first are only raised. Answers how many jobs.';

CREATE FUNCTION larder.batch_reprioritize(batch text, priority int, most int DEFAULT 100000) RETURNS bigint
LANGUAGE sql AS $$ SELECT larder.batch_reprioritize(larder_data.find_batch(batch), priority, most) $$;
COMMENT ON FUNCTION larder.batch_reprioritize(text, int, int) IS 'Gives a batch and its jobs another priority, by name.';

-- One job.

-- The job's row is locked by the caller. The row found is locked, but in running, and stays where it is; while
-- somebody is just moving it, the next look finds it where it came to.
CREATE FUNCTION larder_data.place_of(job_no bigint) RETURNS text
LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
    suspended_for text;
BEGIN
    FOR i IN 1 .. 1000 LOOP
        PERFORM FROM larder_data.scheduled d WHERE d.job_id = job_no FOR UPDATE;
        IF FOUND THEN
            RETURN 'scheduled';
        END IF;
        PERFORM FROM larder_data.job j, generate_series(0, 9) AS lane (p), LATERAL (
            SELECT x.job_id FROM larder_data.ready x WHERE x.queue_id = j.queue_id AND x.priority = lane.p AND x.job_id = j.id FOR UPDATE) AS r
        WHERE j.id = job_no;
        IF FOUND THEN
            RETURN 'ready';
        END IF;
        SELECT p.reason INTO suspended_for FROM larder_data.suspended p WHERE p.job_id = job_no FOR UPDATE;
        IF FOUND THEN
            RETURN suspended_for;
        END IF;
        PERFORM FROM larder_data.running r WHERE r.job_id = job_no;
        IF FOUND THEN
            RETURN 'running';
        END IF;
    END LOOP;
    RAISE EXCEPTION 'job % has no place, see larder.check()', job_no USING ERRCODE = 'data_corrupted';
END $$;
COMMENT ON FUNCTION larder_data.place_of IS 'Where a live job stands: ready, scheduled, running, or why it is suspended.';

CREATE FUNCTION larder.cancel(job bigint) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM larder_data.job j WHERE j.id = cancel.job FOR UPDATE;
    IF NOT FOUND THEN
        IF NOT EXISTS (SELECT FROM larder_data.job_history h WHERE h.job_id = cancel.job) THEN
            RAISE EXCEPTION 'no job has the number %', cancel.job USING ERRCODE = 'LA007';
        END IF;
        RETURN 'over';
    ELSIF larder_data.place_of(cancel.job) = 'running' THEN
        UPDATE larder_data.job j SET cancelled_at = now(), is_revived = false
        WHERE j.id = cancel.job AND j.cancelled_at IS NULL;
        RETURN 'told';
    END IF;
    PERFORM larder_data.ensure_today();
    PERFORM larder_data.end_jobs(ARRAY[cancel.job]);
    RETURN 'cancelled';
END $$;
COMMENT ON FUNCTION larder.cancel IS
    'Cancels one job for all batches that want it: cancelled (it did not run, its items are finished), told (it runs; its worker hears at the next heartbeat, and its items finish when it completes, or is given back or lost) or over (it had ended).';

CREATE FUNCTION larder.retry(job bigint) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    place text;
    ended larder_data.job_history;
    again bigint;
BEGIN
    PERFORM FROM larder_data.job j WHERE j.id = retry.job FOR UPDATE;
    IF FOUND THEN
        place := larder_data.place_of(retry.job);
        IF place = 'cancelled' THEN
            RAISE EXCEPTION 'job % is cancelled', retry.job USING ERRCODE = 'LA007';
        ELSIF place IN ('scheduled', 'crashed') THEN
            DELETE FROM larder_data.scheduled d WHERE d.job_id = retry.job;
            DELETE FROM larder_data.suspended p WHERE p.job_id = retry.job;
            UPDATE larder_data.job j SET rescues = CASE place WHEN 'crashed' THEN 0 ELSE j.rescues END, cancelled_at = NULL, is_revived = false
            WHERE j.id = retry.job AND (place = 'crashed' OR j.cancelled_at IS NOT NULL OR j.is_revived);
            INSERT INTO larder_data.ready (queue_id, priority, job_id) SELECT j.queue_id, j.priority, j.id FROM larder_data.job j WHERE j.id = retry.job;
            PERFORM larder_data.lower_cursors(ARRAY[retry.job]);
        END IF;
        RETURN retry.job;
    END IF;
    SELECT * INTO ended FROM larder_data.job_history h WHERE h.job_id = retry.job;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no job has the number %', retry.job USING ERRCODE = 'LA007';
    ELSIF ended.outcome <> 2 OR ended.discarded_at IS NOT NULL OR ended.items = 0 THEN
        RAISE EXCEPTION 'job % %', retry.job, CASE WHEN ended.outcome = 1 THEN 'succeeded' WHEN ended.outcome = 3 THEN 'was cancelled'
            WHEN ended.discarded_at IS NOT NULL THEN 'failed and was dropped' ELSE 'failed after its batch was cancelled' END USING ERRCODE = 'LA007';
    ELSIF ended.retried_as IS NOT NULL THEN
        RETURN larder.retry(ended.retried_as);
    END IF;
    again := (larder_data.reopen(larder_data.batch_held(ended.batch_id, false), 1, retry.job)).job;
    -- Somebody else may have retried it while this call waited for its batch.
    RETURN coalesce(again, larder.retry(retry.job));
END $$;
COMMENT ON FUNCTION larder.retry IS
    'Lets one job run again, and answers its number: a scheduled one is ready at once, one lost with its workers too often is ready again, a failed one becomes a new job. One that is ready or runs stays as it is.';

CREATE FUNCTION larder.job_status(job_id bigint) RETURNS TABLE (
    job bigint, state text, url text, batch_id bigint, batch text, pipeline text, version int, priority int, items int, attempt int, max_attempts int,
    rescues int, due timestamptz, worker bigint, worker_name text, created_at timestamptz, claimed_at timestamptz, finished_at timestamptz,
    cancelled_at timestamptz, retried_as bigint, domain text, code int, message text
)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT j.id, place.state, j.url, j.batch_id, b.name, p.name, p.version, j.priority::int, j.items, j.attempt + (place.state = 'running')::int,
           j.max_attempts::int, j.rescues::int, place.due, place.worker, w.name, j.created_at, place.claimed_at, NULL::timestamptz,
           j.cancelled_at, NULL::bigint, j.last_domain, j.last_code, j.last_message
    FROM larder_data.job j
    JOIN larder_data.batch b ON b.id = j.batch_id JOIN larder_data.pipeline p ON p.id = j.pipeline_id
    CROSS JOIN LATERAL (
        SELECT 'scheduled' AS state, d.run_at AS due, NULL::bigint AS worker, NULL::timestamptz AS claimed_at FROM larder_data.scheduled d WHERE d.job_id = j.id
        UNION ALL SELECT 'suspended (' || x.reason || ')', NULL, NULL, NULL FROM larder_data.suspended x WHERE x.job_id = j.id
        UNION ALL SELECT 'running', NULL, r.worker_id, r.claimed_at FROM larder_data.running r WHERE r.job_id = j.id
        UNION ALL SELECT 'ready', NULL, NULL, NULL FROM generate_series(0, 9) AS lane (p), LATERAL (
            SELECT FROM larder_data.ready r WHERE r.queue_id = j.queue_id AND r.priority = lane.p AND r.job_id = j.id OFFSET 0) AS r
        LIMIT 1) AS place
    LEFT JOIN larder_data.worker w ON w.id = place.worker
    WHERE j.id = job_status.job_id;
    IF FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT h.job_id, (ARRAY['succeeded', 'failed', 'cancelled'])[h.outcome], h.url, h.batch_id, b.name, p.name, p.version, h.priority::int, h.items,
           h.attempt::int, NULL::int, h.rescues::int, NULL::timestamptz, h.worker_id, w.name, h.created_at, h.created_at + h.queue_ms * interval '1 ms',
           h.finished_at, NULL::timestamptz, h.retried_as, h.domain, h.code, h.message
    FROM larder_data.job_history h
    LEFT JOIN larder_data.batch b ON b.id = h.batch_id LEFT JOIN larder_data.pipeline p ON p.id = h.pipeline_id
    LEFT JOIN larder_data.worker w ON w.id = h.worker_id
    WHERE h.job_id = job_status.job_id LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'no job has the number %', job_id USING ERRCODE = 'LA007';
    END IF;
END $$;
COMMENT ON FUNCTION larder.job_status IS
    'Where one job stands: ready, scheduled, running, suspended (and reason), succeeded, failed or cancelled. attempt: the one that runs, else attempts used up; the error is the last attempt''s.';

CREATE VIEW larder.attempt AS
SELECT a.job_id, a.attempt::int AS attempt, 'retried' AS outcome, a.worker_id AS worker, a.claimed_at, a.at AS ended_at, a.domain, a.code, a.message,
    a.http_status, a.fetch_ms, a.transcode_ms, a.store_ms, a.delay_ms
FROM larder_data.job_attempt a
UNION ALL
SELECT h.job_id, h.attempt, (ARRAY['succeeded', 'failed', 'cancelled'])[h.outcome], h.worker_id, h.created_at + h.queue_ms * interval '1 ms',
    h.finished_at, h.domain, h.code, h.message, h.http_status, h.fetch_ms, h.transcode_ms, h.store_ms, NULL
FROM larder_data.job_history h WHERE h.worker_id IS NOT NULL;
COMMENT ON VIEW larder.attempt IS 'The attempts that ended, of jobs live and over; ask for one job_id. delay_ms: how long the job was put off after it.';

-- Queues.

CREATE FUNCTION larder.queue_pause(queue text) RETURNS void
LANGUAGE sql AS $$ UPDATE larder_data.queue q SET paused_at = coalesce(q.paused_at, now()) WHERE q.id = larder_data.find_queue(queue_pause.queue) $$;
COMMENT ON FUNCTION larder.queue_pause IS 'Pauses a queue: it hands out nothing, and takes URLs as before. Pausing twice is fine.';

CREATE FUNCTION larder.queue_resume(queue text) RETURNS void
LANGUAGE sql AS $$ UPDATE larder_data.queue q SET paused_at = NULL WHERE q.id = larder_data.find_queue(queue_resume.queue) $$;
COMMENT ON FUNCTION larder.queue_resume IS 'Lets a paused queue hand out jobs again.';

CREATE FUNCTION larder.queue_set(queue text, lifo boolean DEFAULT NULL, low_every int DEFAULT NULL) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    IF coalesce(queue_set.queue, '') = '' OR octet_length(queue_set.queue) > 200 THEN
        RAISE EXCEPTION 'a queue name has 1 to 200 bytes' USING ERRCODE = '22023';
    ELSIF queue_set.low_every NOT BETWEEN 0 AND 1000 THEN
        RAISE EXCEPTION 'low_every is 0 to 1000, not %', queue_set.low_every USING ERRCODE = '22023';
    END IF;
    -- Looked for first: ON CONFLICT alone would use up one of the 32,767 numbers each time.
    INSERT INTO larder_data.queue (name) SELECT queue_set.queue WHERE NOT EXISTS (SELECT FROM larder_data.queue q WHERE q.name = queue_set.queue)
    ON CONFLICT (name) DO NOTHING;
    UPDATE larder_data.queue q SET lifo = coalesce(queue_set.lifo, q.lifo), low_every = coalesce(queue_set.low_every, q.low_every)
    WHERE q.name = queue_set.queue;
END $$;
COMMENT ON FUNCTION larder.queue_set IS
    'Makes a queue, or changes one; NULL leaves a setting as it is. lifo: newest first within a priority. low_every: each so-manieth claim looks at the lowest priorities first; 0 never.';

CREATE FUNCTION larder.notify(queue text DEFAULT 'default') RETURNS void
LANGUAGE sql AS $$ SELECT pg_notify('larder', queue) $$;
COMMENT ON FUNCTION larder.notify IS 'Tells whoever listens on channel larder that a queue has work.';

-- The blocklist, by hand. A block by hand is no failure: the next failure blocks for as long as it would have.

CREATE FUNCTION larder.block_many(urls text[], ttl interval DEFAULT '24 hours', reason text DEFAULT NULL) RETURNS bigint
LANGUAGE plpgsql AS $$
DECLARE
    blocked bigint;
    bad text := (SELECT coalesce(u.url, 'NULL') FROM unnest(urls) AS u (url) WHERE coalesce(u.url, '') = '' OR octet_length(u.url) > 8192 LIMIT 1);
BEGIN
    IF cardinality(urls) > 10000 THEN
        RAISE EXCEPTION 'at most 10000 URLs a call, not %', cardinality(urls) USING ERRCODE = '22023';
    ELSIF bad IS NOT NULL THEN
        RAISE EXCEPTION 'a URL has 1 to 8192 bytes, not %', octet_length(bad) USING ERRCODE = '22023';
    ELSIF ttl IS NULL OR ttl <= interval '0' THEN
        RAISE EXCEPTION 'a block lasts for some time, not %', coalesce(ttl::text, 'NULL') USING ERRCODE = '22023';
    END IF;
    INSERT INTO larder_data.blocklist AS x (url_hash, until, fails, code, url, domain, message)
    SELECT h.hash, now() + ttl, 0, 1003, min(h.url), 'SDWebImageErrorDomain', left(coalesce(reason, 'the URL is blocked by hand'), 2000)
    FROM (SELECT larder_data.url_hash(u.url) AS hash, u.url FROM unnest(urls) AS u (url)) AS h GROUP BY h.hash ORDER BY h.hash
    ON CONFLICT (url_hash) DO UPDATE SET
        until = greatest(x.until, excluded.until), last_at = now(), http_status = NULL,
        domain = excluded.domain, code = excluded.code, message = excluded.message;
    GET DIAGNOSTICS blocked = ROW_COUNT;
    RETURN blocked;
END $$;
COMMENT ON FUNCTION larder.block_many IS
    'Blocks up to 10,000 URLs for a time, 24 hours by default; a block that lasts longer already keeps its end. Answers how many URLs. What runs goes on; jobs that wait, without RetryFailed, are claimed as blocked and fail with 1003.';

CREATE FUNCTION larder.block_url(url text, ttl interval DEFAULT '24 hours', reason text DEFAULT NULL) RETURNS void
LANGUAGE sql AS $$ SELECT larder.block_many(ARRAY[url], ttl, reason) $$;
COMMENT ON FUNCTION larder.block_url IS 'Blocks one URL; as larder.block_many.';

CREATE FUNCTION larder.unblock_url(url text) RETURNS boolean
LANGUAGE sql AS $$
    WITH gone AS (DELETE FROM larder_data.blocklist b WHERE b.url_hash = larder_data.url_hash(unblock_url.url) RETURNING b.until)
    SELECT coalesce(bool_or(g.until > now()), false) FROM gone g
$$;
COMMENT ON FUNCTION larder.unblock_url IS 'Takes a URL from the blocklist and forgets its failures; answers whether it was blocked.';

CREATE FUNCTION larder.unblock_all(most int DEFAULT 10000, OUT unblocked bigint, OUT is_last boolean)
LANGUAGE sql AS $$
    WITH gone AS (
        DELETE FROM larder_data.blocklist b WHERE b.url_hash = ANY (ARRAY(
            SELECT x.url_hash FROM larder_data.blocklist x ORDER BY x.url_hash LIMIT most FOR UPDATE))
        RETURNING b.until
    )
    SELECT count(*) FILTER (WHERE g.until > now()), count(*) < most FROM gone g
$$;
COMMENT ON FUNCTION larder.unblock_all IS 'Empties the blocklist, at most so many rows a call, those whose time is over included; answers how many URLs were blocked, and whether that was the last call needed.';

CREATE FUNCTION larder.blocklist_page(after bytea, most int) RETURNS TABLE (
    url_hash bytea, url text, until timestamptz, fails int, domain text, code int, message text, http_status int
)
LANGUAGE sql STABLE AS $$
    SELECT b.url_hash, b.url, b.until, b.fails, b.domain, b.code, b.message, b.http_status
    FROM larder_data.blocklist b WHERE b.url_hash > after AND b.until > now() ORDER BY b.url_hash LIMIT most
$$;
COMMENT ON FUNCTION larder.blocklist_page IS 'The URLs that are blocked, page by page in the order of their digests; after: the last one''s, \x first.';

-- Waiting. Procedures, because each look is a transaction of its own: a waiting function would hold one snapshot, and
-- with it vacuum, to the end. Hence neither SECURITY DEFINER nor SET, which forbid a COMMIT, and no CALL within a
-- transaction block.

CREATE PROCEDURE larder.wait_batch(batch_id bigint, timeout interval DEFAULT '1 hour')
LANGUAGE plpgsql AS $$
DECLARE
    deadline timestamptz := pg_catalog.clock_timestamp() + timeout;
    now_is text;
    nap double precision := 0.02;
BEGIN
    LOOP
        SELECT p.state INTO now_is FROM larder.progress p WHERE p.batch_id = wait_batch.batch_id;
        IF now_is IS NULL THEN
            RAISE EXCEPTION 'no batch has the number %', batch_id USING ERRCODE = 'LA002';
        END IF;
        COMMIT;
        EXIT WHEN now_is IN ('finished', 'cancelled');
        IF pg_catalog.clock_timestamp() >= deadline THEN
            RAISE EXCEPTION 'batch % is not finished after %', batch_id, timeout USING ERRCODE = 'LA008';
        END IF;
        PERFORM pg_catalog.pg_sleep(nap);
        COMMIT;
        nap := least(nap * 2, 1, greatest(extract(epoch FROM deadline - pg_catalog.clock_timestamp()), 0.001));
    END LOOP;
END $$;
COMMENT ON PROCEDURE larder.wait_batch(bigint, interval) IS
    'Waits until a batch is finished or cancelled, with a look at most a second apart; LA008 when the time is up. CALL it outside a transaction block.';

CREATE PROCEDURE larder.wait_batch(batch text, timeout interval DEFAULT '1 hour')
LANGUAGE plpgsql AS $$
DECLARE
    number bigint;
BEGIN
    SELECT p.batch_id INTO number FROM larder.progress p WHERE p.batch = wait_batch.batch;
    IF number IS NULL THEN
        RAISE EXCEPTION 'no batch is called "%"', batch USING ERRCODE = 'LA002';
    END IF;
    CALL larder.wait_batch(number, timeout);
END $$;
COMMENT ON PROCEDURE larder.wait_batch(text, interval) IS 'Waits until a batch is finished or cancelled, by name.';
