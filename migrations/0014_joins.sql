-- Joins: items of an enqueue whose URL has a live job already.
--
-- An enqueue only inserts. It locks no live job and no batch, so a producer's transaction stalls neither workers nor
-- operators, however long it stays open. For each live job that it finds it inserts a row into `job_join`, and the
-- ledger counts the item as open in the same transaction. Later the row is folded: its items are added to the job, or
-- to the subscription of their batch, with the job's row locked for a moment. Cancel folds the rows of the jobs that it
-- ends, completion those of jobs that failed, and maintenance all others, usually within a second.
--
-- The race: a job may end before the transaction that joins it commits, and then what ends the job cannot see the row.
-- Each row is used exactly once, because of two facts. First, rows of a live job are deleted only by a session that
-- holds the lock on the row of that job, in a statement that starts after the lock was granted: so two sessions never
-- use one row, and a row that was committed before the job's end is used or left, never lost. Second, a job leaves
-- `job` in the transaction that inserts its record: a snapshot that does not show the job shows the record. So a row
-- whose job is missing is settled by the one session that runs this task: its items end as the job ended. A completion
-- settles those that it sees itself, and the task sees the job as missing only after that has committed. Where the job
-- was cancelled, the join comes after that in the order of commits, and the batch gets a new job.
--
-- Above READ COMMITTED an enqueue may not see a live job of its URL, and could neither insert nor join it, or may not
-- see the origin of a URL. Then it leaves a row in `late_enqueue`, and maintenance enqueues the URLs. Under
-- SERIALIZABLE it does so with all URLs of the call and reads no key: a call that reads keys which another one inserts
-- fails if it has also opened a batch, because the other one has read the page on which the batch is. Maintenance opens
-- no batch, and reads keys at every level.

CREATE TABLE larder_data.job_join (
    id bigint GENERATED ALWAYS AS IDENTITY,
    job_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    due timestamptz,
    items int NOT NULL CHECK (items > 0),
    priority smallint NOT NULL,
    meta json,
    PRIMARY KEY (job_id, id)
);
COMMENT ON TABLE larder_data.job_join IS
    'Items that joined a live job and are not added to it yet, see larder_data.fold_joins(). due: when they are to '
    'run, NULL at once.';
CREATE INDEX job_join_batch ON larder_data.job_join (batch_id);

CREATE TABLE larder_data.late_enqueue (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    batch_id bigint NOT NULL,
    due timestamptz,
    template json NOT NULL,
    urls text[] NOT NULL,
    metas json[]
);
COMMENT ON TABLE larder_data.late_enqueue IS
    'URLs whose live job or origin a snapshot of REPEATABLE READ or SERIALIZABLE did not show: maintenance enqueues '
    'them, see larder_data.put_late(). template: the columns of larder_data.job that they share.';
CREATE INDEX late_enqueue_batch ON larder_data.late_enqueue (batch_id);

-- A join raises the job's priority if the new one is higher, and brings a job that was enqueued for later forward; a
-- delay between attempts is kept. All priorities are probed, because the ready row of a job may differ from the job's
-- priority while a join and maintenance run at once. OFFSET 0 fixes the order of the join: one index probe per job.
CREATE FUNCTION larder_data.promote_joined(jobs bigint[], due timestamptz) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET enable_nestloop = on
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    moved bigint[];
BEGIN
    WITH raised AS (
        DELETE FROM larder_data.ready r WHERE r.ctid = ANY (ARRAY(
            SELECT place.tid FROM larder_data.job j, generate_series(j.priority + 1, 9) AS old (priority), LATERAL (
                SELECT x.ctid AS tid FROM larder_data.ready x
                WHERE x.queue_id = j.queue_id AND x.priority = old.priority AND x.job_id = j.id
                FOR UPDATE SKIP LOCKED
            ) AS place
            WHERE j.id = ANY (jobs)))
        RETURNING r.job_id
    ), resumed AS (
        -- Suspended because all batches that wanted it were paused or cancelled.
        -- One that an open transaction resumes stays: it is ready when that commits, else the tasks resumed and
        -- cancelled find it.
        DELETE FROM larder_data.suspended s WHERE s.ctid = ANY (ARRAY(
            SELECT place.tid FROM unnest(jobs) AS u (id), LATERAL (
                SELECT x.ctid AS tid FROM larder_data.suspended x
                WHERE x.job_id = u.id AND x.reason <> 'crashed' FOR UPDATE SKIP LOCKED) AS place))
        RETURNING s.job_id
    )
    SELECT array_agg(t.job_id ORDER BY t.job_id) INTO moved
    FROM (SELECT r.job_id FROM raised r UNION ALL SELECT r.job_id FROM resumed r) AS t;
    PERFORM larder_data.add_ready(moved, 0) WHERE moved IS NOT NULL;
    UPDATE larder_data.scheduled s SET run_at = coalesce(due, now()) WHERE s.ctid = ANY (ARRAY(
        SELECT place.tid FROM larder_data.job j, LATERAL (
            SELECT x.ctid AS tid, x.run_at FROM larder_data.scheduled x WHERE x.job_id = j.id OFFSET 0
            FOR UPDATE SKIP LOCKED
        ) AS place
        WHERE j.id = ANY (jobs) AND j.attempt = 0 AND place.run_at > coalesce(due, now())));
END $$;
COMMENT ON FUNCTION larder_data.promote_joined IS
    'Moves joined jobs to their raised priority and earlier time, and suspended ones back to ready.';

-- The caller has locked the rows of the jobs that are live, in an earlier statement.
CREATE FUNCTION larder_data.fold_joins(jobs bigint[]) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    ids bigint[];
    dues timestamptz[];
    wanted_due timestamptz;
BEGIN
    IF NOT EXISTS (SELECT FROM larder_data.job_join x WHERE x.job_id = ANY (jobs)) THEN
        RETURN 0;
    END IF;
    WITH taken AS (
        -- Not those of a job that has ended.
        DELETE FROM larder_data.job_join x WHERE x.job_id = ANY (ARRAY(
            SELECT j.id FROM larder_data.job j WHERE j.id = ANY (jobs))) RETURNING x.*
    ), by_batch AS MATERIALIZED (
        SELECT t.job_id, t.batch_id, sum(t.items) AS items, min(t.priority) AS priority,
            min(coalesce(t.due, '-infinity')) AS due,
            (array_agg(t.meta ORDER BY t.id) FILTER (WHERE t.meta IS NOT NULL))[1] AS meta
        FROM taken t GROUP BY t.job_id, t.batch_id
    ), met AS MATERIALIZED (
        SELECT b.*, b.batch_id = j.batch_id AS is_own FROM by_batch b, LATERAL (
            SELECT x.batch_id FROM larder_data.job x WHERE x.id = b.job_id OFFSET 0) AS j
    ), by_job AS MATERIALIZED (
        SELECT m.job_id, coalesce(sum(m.items) FILTER (WHERE m.is_own), 0) AS items, bool_or(NOT m.is_own) AS is_shared,
            min(m.priority) AS priority, min(m.due) AS due,
            (array_agg(m.meta) FILTER (WHERE m.is_own AND m.meta IS NOT NULL))[1] AS meta
        FROM met m GROUP BY m.job_id
    ), joined AS (
        UPDATE larder_data.job j SET items = j.items + g.items, has_subscribers = j.has_subscribers OR g.is_shared,
            priority = least(j.priority, g.priority), is_revived = j.is_revived OR j.cancelled_at IS NOT NULL,
            cancelled_at = NULL, meta = coalesce(j.meta, g.meta)
        FROM by_job g WHERE j.id = g.job_id
    ), subscribed AS (
        INSERT INTO larder_data.job_subscriber AS s (job_id, batch_id, items, meta)
        SELECT m.job_id, m.batch_id, m.items, m.meta FROM met m WHERE NOT m.is_own
        ON CONFLICT ON CONSTRAINT job_subscriber_pkey
        DO UPDATE SET items = s.items + excluded.items, meta = coalesce(s.meta, excluded.meta)
    )
    SELECT array_agg(g.job_id), array_agg(g.due) INTO ids, dues FROM by_job g;
    FOR wanted_due IN SELECT DISTINCT u.due FROM unnest(dues) AS u (due) LOOP
        PERFORM larder_data.promote_joined(ARRAY(
            SELECT u.id FROM unnest(ids, dues) AS u (id, due) WHERE u.due = wanted_due),
            nullif(wanted_due, '-infinity'));
    END LOOP;
    RETURN cardinality(ids);
END $$;
COMMENT ON FUNCTION larder_data.fold_joins IS
    'Adds the items that joined these jobs to them, and returns how many jobs got some.';

-- The items have the time of the job's record, as those of a subscription have.
CREATE FUNCTION larder_data.settle_joins(gone bigint[]) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off AS $$
BEGIN
    WITH judged AS MATERIALIZED (
        SELECT x.ctid AS tid, x.batch_id AS joined_by, x.items AS joined_items, x.job_id AS joined_job,
            x.meta AS joined_meta, h.*,
            b.cancelled_at IS NOT NULL OR h.job_id IS NULL AS is_void
        FROM larder_data.job_join x
        CROSS JOIN LATERAL (SELECT y.cancelled_at FROM larder_data.batch y WHERE y.id = x.batch_id OFFSET 0) AS b
        LEFT JOIN LATERAL (
            SELECT y.* FROM larder_data.job_history y WHERE y.job_id = x.job_id LIMIT 1) AS h ON true
        WHERE x.job_id = ANY (gone)
    ), ended AS MATERIALIZED (
        SELECT j.*, CASE WHEN j.is_void THEN 3 ELSE j.outcome END AS ends_as FROM judged j
        WHERE j.is_void OR j.outcome <> 3
    ), removed AS (
        DELETE FROM larder_data.job_join x WHERE x.ctid = ANY (ARRAY(SELECT e.tid FROM ended e))
    ), record AS (
        INSERT INTO larder_data.item_history (finished_at, id, batch_id, job_id, items, code, outcome, attempt, reason,
            url, meta, domain, message, stored)
        SELECT CASE WHEN e.is_void THEN now() ELSE e.finished_at END, nextval('larder_data.item_id'), e.joined_by,
            e.joined_job, e.joined_items, CASE WHEN e.is_void THEN 2002 ELSE e.code END, e.ends_as,
            coalesce(e.attempt, 0), CASE WHEN e.is_void THEN 'cancelled' ELSE 'joined' END, coalesce(e.url, ''),
            e.joined_meta, CASE WHEN e.is_void THEN 'SDWebImageErrorDomain' ELSE e.domain END,
            CASE WHEN e.is_void THEN 'the job was cancelled' ELSE e.message END,
            CASE WHEN NOT e.is_void THEN e.stored END
        FROM ended e
    ), detail AS (
        INSERT INTO larder_data.batch_detail_delta (batch_id, n, code, domain)
        SELECT e.joined_by, sum(e.joined_items), e.code, e.domain FROM ended e WHERE e.ends_as = 2
        GROUP BY e.joined_by, e.domain, e.code
    )
    INSERT INTO larder_data.batch_delta (batch_id, succeeded, failed, cancelled)
    SELECT e.joined_by, sum(e.joined_items * (e.ends_as = 1)::int), sum(e.joined_items * (e.ends_as = 2)::int),
        sum(e.joined_items * (e.ends_as = 3)::int)
    FROM ended e GROUP BY e.joined_by;
END $$;
COMMENT ON FUNCTION larder_data.settle_joins IS
    'Ends items whose job has ended, as the job ended. Those of a cancelled job stay, unless their batch is cancelled '
    'or the record was deleted.';

-- A producer's open transaction may have inserted the same key. Then the rows are left for a later call, and of many
-- rows only the hundred that it is among: in random order, so that the same ones do not always come first.
CREATE FUNCTION larder_data.renew_joins(gone bigint[]) RETURNS boolean
LANGUAGE plpgsql SET enable_seqscan = off SET enable_nestloop = on SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET lock_timeout = '100ms' AS $$
DECLARE
    portion CONSTANT int := 100;
    renewed bigint[];
    rest bigint[];
    late int := 0;
BEGIN
    WITH wanted AS MATERIALIZED (
        SELECT DISTINCT ON (h.key) x.batch_id, x.priority AS wanted_priority, b.queue_id AS wanted_queue, h.*
        FROM larder_data.job_join x
        CROSS JOIN LATERAL (SELECT y.queue_id FROM larder_data.batch y WHERE y.id = x.batch_id OFFSET 0) AS b
        CROSS JOIN LATERAL (
            SELECT larder_data.job_key(y.url, y.pipeline_id) AS key, y.url, y.pipeline_id, y.options, y.origin_id,
                y.retry_base_ms, y.max_attempts, y.context
            FROM larder_data.job_history y WHERE y.job_id = x.job_id LIMIT 1) AS h
        WHERE x.job_id = ANY (gone) ORDER BY h.key
    ), created AS (
        -- Without items: folding adds them.
        INSERT INTO larder_data.job (id, batch_id, options, pipeline_id, origin_id, items, retry_base_ms, queue_id,
            priority, max_attempts, key, url, context)
        SELECT nextval('larder_data.job_id'), w.batch_id, w.options, w.pipeline_id, w.origin_id, 0, w.retry_base_ms,
            w.wanted_queue, w.wanted_priority, coalesce(w.max_attempts, 4), w.key, w.url, w.context
        FROM wanted w ORDER BY w.key ON CONFLICT (key) DO NOTHING RETURNING id
    )
    SELECT array_agg(c.id) INTO renewed FROM created c;
    UPDATE larder_data.job_join x SET job_id = j.id
    FROM unnest(gone) AS g (id), LATERAL (
        SELECT larder_data.job_key(y.url, y.pipeline_id) AS key FROM larder_data.job_history y
        WHERE y.job_id = g.id LIMIT 1) AS h, LATERAL (
        SELECT y.id FROM larder_data.job y WHERE y.key = h.key OFFSET 0) AS j
    WHERE x.job_id = g.id;
    PERFORM larder_data.make_ready(renewed), larder_data.fold_joins(renewed);
    RETURN true;
EXCEPTION WHEN lock_not_available THEN
    IF cardinality(gone) <= portion THEN
        RETURN false;
    END IF;
    FOR rest IN
        SELECT gone[start : start + portion - 1] FROM generate_series(1, cardinality(gone), portion) AS start
        ORDER BY random()
    LOOP
        late := late + (NOT larder_data.renew_joins(rest))::int;
        EXIT WHEN late = 5;
    END LOOP;
    RETURN false;
END $$;
COMMENT ON FUNCTION larder_data.renew_joins IS
    'Makes new jobs for items that joined a job after it was cancelled, or lets them join the live job of their URL; '
    'false if a lock kept some of them for a later call.';

-- An enqueue.

CREATE FUNCTION larder_data.put_jobs(
    template larder_data.job, due timestamptz, urls text[], keys bytea[], origin_ids int[], metas json[],
    reads_keys boolean, OUT jobs bigint[], OUT are_new boolean[]
)
LANGUAGE plpgsql AS $$
DECLARE
    level text := current_setting('transaction_isolation');
    is_late boolean := level IN ('repeatable read', 'serializable') AND EXISTS (
        SELECT FROM unnest(keys, origin_ids) AS k (key, origin_id) WHERE k.key IS NOT NULL AND k.origin_id IS NULL);
    live_ids bigint[];
    live_keys bytea[];
BEGIN
    FOR try IN 1 .. 100 LOOP
        BEGIN
            IF reads_keys THEN
                SELECT array_agg(j.id), array_agg(j.key) INTO live_ids, live_keys
                FROM larder_data.job j WHERE j.key = ANY (keys);
            END IF;
            IF is_late THEN
                INSERT INTO larder_data.late_enqueue (batch_id, due, template, urls, metas)
                SELECT template.batch_id, due, row_to_json(template), array_agg(k.url), array_agg(k.meta)
                FROM unnest(urls, keys, metas) AS k (url, key, meta)
                WHERE k.key IS NOT NULL AND k.key NOT IN (SELECT unnest(live_keys)) HAVING count(*) > 0;
                jobs := array_fill(NULL::bigint, ARRAY[cardinality(keys)]);
            ELSE
                SELECT i.jobs, i.are_new INTO jobs, are_new
                FROM larder_data.insert_jobs(template, due, urls, keys, origin_ids, live_keys, metas) i;
            END IF;
            EXIT;
        EXCEPTION WHEN unique_violation THEN
            -- Another call has inserted one of the keys since: now it is live.
            IF try = 100 THEN
                RAISE;
            END IF;
            is_late := level IN ('repeatable read', 'serializable');
        END;
    END LOOP;
    IF live_ids IS NULL THEN
        RETURN;
    END IF;
    INSERT INTO larder_data.job_join (job_id, batch_id, due, items, priority, meta)
    SELECT l.id, template.batch_id, due, count(*), template.priority,
        (array_agg(k.meta) FILTER (WHERE k.meta IS NOT NULL))[1]
    FROM unnest(live_ids, live_keys) AS l (id, key) JOIN unnest(keys, metas) AS k (key, meta) USING (key) GROUP BY l.id;
    jobs := ARRAY(
        SELECT coalesce(g.job, l.id) FROM unnest(keys, jobs) WITH ORDINALITY AS g (key, job, ord)
        LEFT JOIN unnest(live_ids, live_keys) AS l (id, key) USING (key) ORDER BY g.ord);
END $$;
COMMENT ON FUNCTION larder_data.put_jobs IS
    'Inserts or joins a job for each key that is not NULL. Per URL: the job, and whether it is a new one. reads_keys: '
    'whether live jobs are looked for; without that, URLs of live jobs are left to maintenance.';

-- A producer's open transaction may have inserted the same key. Then the row is left for a later call.
CREATE FUNCTION larder_data.put_late() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET lock_timeout = '100ms' AS $$
DECLARE
    late larder_data.late_enqueue;
    template larder_data.job;
    ids record;
    moved int := 0;
BEGIN
    FOR late IN SELECT y.* FROM larder_data.late_enqueue y ORDER BY y.id LIMIT 10 FOR UPDATE SKIP LOCKED LOOP
        BEGIN
            template := json_populate_record(NULL::larder_data.job, late.template);
            ids := larder_data.identify(late.urls, template.pipeline_id);
            PERFORM larder_data.put_jobs(template, late.due, late.urls, ids.keys, ids.origin_ids, late.metas, true);
            DELETE FROM larder_data.late_enqueue x WHERE x.id = late.id;
            moved := moved + cardinality(late.urls);
        EXCEPTION WHEN lock_not_available THEN
            CONTINUE;
        END;
    END LOOP;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.put_late IS
    'Enqueues the URLs of 10 calls of larder.enqueue_many that did not see a live job.';

CREATE FUNCTION larder_data.maintenance_joins() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_nestloop = on SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    began_at CONSTANT timestamptz := clock_timestamp();
    portion CONSTANT int := 5000;
    start bigint := larder_data.task_cursor('joins');
    -- First, so that what it joins is folded in the same call.
    late int := larder_data.put_late();
    wanted bigint[] := ARRAY(
        SELECT x.job_id FROM larder_data.job_join x WHERE x.job_id > start ORDER BY x.job_id LIMIT portion);
    is_last boolean := cardinality(wanted) < portion;
    jobs bigint[] := ARRAY(SELECT DISTINCT u.id FROM unnest(wanted) AS u (id));
    locked bigint[] := ARRAY(SELECT j.id FROM larder_data.job j WHERE j.id = ANY (jobs) FOR UPDATE SKIP LOCKED);
    moved int := late + larder_data.fold_joins(locked);
    -- Read after the locks: a job that ended meanwhile has its record.
    gone bigint[] := ARRAY(
        SELECT u.id FROM unnest(jobs) AS u (id)
        WHERE u.id <> ALL (locked) AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.id = u.id OFFSET 0));
BEGIN
    IF gone <> '{}' THEN
        PERFORM larder_data.ensure_today();
        PERFORM larder_data.settle_joins(gone);
        PERFORM larder_data.renew_joins(gone);
    END IF;
    IF start > 0 OR NOT is_last THEN
        PERFORM larder_data.change_task(
            'joins', clock_timestamp(), CASE WHEN is_last THEN 0 ELSE wanted[portion] END);
    ELSE
        PERFORM larder_data.reschedule('joins', began_at, '200 ms');
    END IF;
    RETURN moved + cardinality(gone);
END $$;
COMMENT ON FUNCTION larder_data.maintenance_joins IS
    'Adds items that joined live jobs to them, and ends those whose job has ended, 5,000 a call.';
