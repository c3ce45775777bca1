-- How jobs become ready, and where claims start to look for them.
--
-- Dead rows: while any old snapshot is open, the index of `ready` keeps an entry of every claimed row, and a claim that
-- started at the head would read them all. So it starts behind claim_cursor, which one maintenance task moves every
-- second, and a claim that had to pass many. A transaction that was open meanwhile may have made jobs ready below it.
-- Each transaction therefore inserts its lowest job into new_ready, and the task moves the cursor back to it once the
-- transaction has committed, usually within a second. Jobs that come back lower the cursor at once, see make_ready.

CREATE FUNCTION larder_data.lower_cursors(jobs bigint[]) RETURNS void
LANGUAGE sql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off AS $$
    WITH back AS MATERIALIZED (
        SELECT j.queue_id, j.priority, min(j.id) AS id FROM unnest(jobs) AS h (id), LATERAL (
            SELECT x.queue_id, x.priority, x.id FROM larder_data.job x WHERE x.id = h.id OFFSET 0) AS j
        GROUP BY j.queue_id, j.priority
    )
    UPDATE larder_data.claim_cursor c SET number = c.number + 1, positions = ARRAY(
        SELECT least(c.positions[p + 1], (SELECT b.id - 1 FROM back b WHERE b.queue_id = c.queue_id AND b.priority = p))
        FROM generate_series(0, 9) AS p ORDER BY p)
    -- A row that is locked, or was just updated, is skipped: the next run of maintenance_claims lowers it. While a
    -- transaction of several statements has it locked, that run skips it, too: claims by turn find the jobs, and after
    -- 10 s all claims ignore the row.
    WHERE c.ctid = ANY (ARRAY(
        SELECT y.tid FROM larder_data.current_cursor x, LATERAL (
            SELECT z.ctid AS tid FROM larder_data.claim_cursor z
            WHERE z.queue_id = x.queue_id AND z.number = x.number FOR UPDATE SKIP LOCKED) AS y
        WHERE EXISTS (SELECT FROM back b WHERE b.queue_id = x.queue_id AND b.id <= x.positions[b.priority + 1])))
$$;
COMMENT ON FUNCTION larder_data.lower_cursors IS 'Makes claims start no later than at these jobs.';

CREATE FUNCTION larder_data.add_ready(jobs bigint[], ahead bigint) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off AS $$
BEGIN
    WITH added AS (
        INSERT INTO larder_data.ready (queue_id, priority, job_id, turn)
        SELECT j.queue_id, j.priority, j.id, coalesce(c.turns[j.priority + 1], 0) + ahead + h.ord
        FROM unnest(jobs) WITH ORDINALITY AS h (id, ord)
        CROSS JOIN LATERAL (
            SELECT x.queue_id, x.priority, x.id FROM larder_data.job x WHERE x.id = h.id OFFSET 0) AS j
        LEFT JOIN LATERAL (
            SELECT x.turns FROM larder_data.current_cursor x WHERE x.queue_id = j.queue_id OFFSET 0) AS c ON true
        RETURNING queue_id, priority, job_id, turn
    )
    INSERT INTO larder_data.new_ready (queue_id, priority, job_id, turn)
    SELECT a.queue_id, a.priority, min(a.job_id), min(a.turn) FROM added a GROUP BY a.queue_id, a.priority;
END $$;
COMMENT ON FUNCTION larder_data.add_ready IS
    'Makes jobs ready that no state has. Their turns begin where claims stand, behind so many turns ahead.';

CREATE FUNCTION larder_data.make_ready(jobs bigint[], ahead bigint DEFAULT 0) RETURNS int
LANGUAGE plpgsql AS $$
BEGIN
    IF coalesce(cardinality(jobs), 0) = 0 THEN
        RETURN 0;
    END IF;
    PERFORM larder_data.add_ready(jobs, ahead);
    PERFORM larder_data.lower_cursors(jobs);
    RETURN cardinality(jobs);
END $$;
COMMENT ON FUNCTION larder_data.make_ready IS
    'As add_ready, for jobs that may be below the positions at which claims start. Returns how many.';

-- The totals are up to one second old.
CREATE FUNCTION larder_data.turns_ahead(batch_no bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT greatest(t.total - t.succeeded - t.failed - t.cancelled, 0)
        FROM larder_data.batch_total t WHERE t.batch_id = batch_no), 0);
END $$;
COMMENT ON FUNCTION larder_data.turns_ahead IS
    'How many turns the open items of a batch take, behind which it gets more.';

-- A batch of a million jobs whose calls all began at one turn would have a hundred jobs in each, and another batch one.
-- The last job of the batch has its last turn, also within the second in which neither the cursor nor the totals
-- change. Calls that run at once do not see each other and share turns: exact ones would need a row that every enqueue
-- into a batch locks. The search ends at the position of the cursor, below which only dead rows are. Under SERIALIZABLE
-- reading what another call inserts would make one of the two fail.
CREATE FUNCTION larder_data.turns_before(template larder_data.job) RETURNS bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    k CONSTANT int := template.priority + 1;
    position bigint;
    turn bigint;
    last bigint;
BEGIN
    SELECT c.positions[k], c.turns[k] INTO position, turn
    FROM larder_data.claim_cursor c WHERE c.queue_id = template.queue_id ORDER BY c.number DESC LIMIT 1;
    IF current_setting('transaction_isolation') <> 'serializable' THEN
        SELECT r.turn INTO last FROM (
            SELECT j.id FROM larder_data.job j
            WHERE (j.batch_id, j.id) > (template.batch_id, coalesce(position, 0)) AND j.batch_id <= template.batch_id
              AND j.items > 0
            ORDER BY j.batch_id DESC, j.id DESC LIMIT 1) AS j, LATERAL (
            SELECT x.turn FROM larder_data.ready x
            WHERE x.queue_id = template.queue_id AND x.priority = template.priority AND x.job_id = j.id OFFSET 0) AS r;
    END IF;
    IF last IS NULL THEN
        RETURN coalesce(turn, 0) + larder_data.turns_ahead(template.batch_id);
    END IF;
    RETURN greatest(turn, last);
END $$;
COMMENT ON FUNCTION larder_data.turns_before IS
    'The turn behind which the jobs of an enqueue begin: that of the last job of their batch, or else of as many turns '
    'as it has open items, from where claims stand.';

-- A run starts 10 s before the last complete one, so that it does not read the dead rows of all jobs before. The first
-- run of each minute starts at the first row: a transaction may commit a time that has long passed.
CREATE FUNCTION larder_data.promote_start(complete bigint) RETURNS timestamptz
LANGUAGE sql STABLE
RETURN CASE WHEN complete / 60 = extract(epoch FROM now())::bigint / 60 THEN to_timestamp(complete - 10)
    ELSE '-infinity' END;
COMMENT ON FUNCTION larder_data.promote_start IS
    'From which time on scheduled jobs are looked for; complete: the second before which no job was left.';

CREATE FUNCTION larder_data.maintenance_promote() RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    portion CONSTANT int := 5000;
    second bigint := extract(epoch FROM now());
    complete bigint := larder_data.task_cursor('promote');
    start timestamptz := larder_data.promote_start(complete);
    due bigint[];
BEGIN
    WITH removed AS (
        DELETE FROM larder_data.scheduled s WHERE s.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.scheduled x
            WHERE x.run_at BETWEEN start AND now() ORDER BY x.run_at LIMIT portion FOR UPDATE SKIP LOCKED))
        RETURNING s.job_id
    )
    SELECT array_agg(r.job_id) INTO due FROM removed r;
    PERFORM larder_data.make_ready(due), larder_data.run_again('promote', cardinality(due) >= portion);
    IF complete <> second AND coalesce(cardinality(due), 0) < portion THEN
        PERFORM larder_data.change_task('promote', NULL, second);
    END IF;
    RETURN coalesce(cardinality(due), 0);
END $$;
COMMENT ON FUNCTION larder_data.maintenance_promote IS 'Makes scheduled jobs ready that are due, 5,000 a call.';

-- last_id: the last id given out, read before: nothing up to it is ready in a priority without a row, except what
-- new_ready will name.
CREATE FUNCTION larder_data.search_start(
    queue_no smallint, last_id bigint, INOUT positions bigint[], INOUT turns bigint[]
)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
    SELECT array_agg(coalesce((
            SELECT min(r.job_id) - 1 FROM larder_data.ready r
            WHERE r.queue_id = queue_no AND r.priority = p AND r.job_id > search_start.positions[p + 1]), last_id)
            ORDER BY p),
        array_agg(coalesce((
            SELECT min(r.turn) - 1 FROM larder_data.ready r
            WHERE r.queue_id * 10 + r.priority = queue_no * 10 + p AND r.turn > search_start.turns[p + 1]),
            greatest(search_start.turns[p + 1], last_id)) ORDER BY p)
    INTO positions, turns FROM generate_series(0, 9) AS p;
END $$;
COMMENT ON FUNCTION larder_data.search_start IS
    'Per priority the id, and the turn, up to which nothing is ready in a queue, searched from these on.';

-- Where an old snapshot keeps dead rows, a claim reads all that became dead since the cursor was moved; in a second
-- these may be 20,000. So a claim that has passed many moves the cursor of their priority. It takes nothing from
-- new_ready, which lowers the cursor later, and leaves updated_at, which says when that was last done. Above READ
-- COMMITTED a cursor that another claim has moved would make the claim fail.
CREATE FUNCTION larder_data.advance_cursor(queue_no smallint, cursor_no bigint, passed_priority int) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    k CONSTANT int := passed_priority + 1;
    last_id bigint := (SELECT s.last_value FROM larder_data.job_id s);
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('repeatable read', 'serializable') THEN
        -- As search_start, for one priority.
        UPDATE larder_data.claim_cursor x
        SET number = x.number + 1, positions[k] = coalesce((
                SELECT min(r.job_id) - 1 FROM larder_data.ready r
                WHERE r.queue_id = queue_no AND r.priority = k - 1 AND r.job_id > x.positions[k]), last_id),
            turns[k] = coalesce((
                SELECT min(r.turn) - 1 FROM larder_data.ready r
                WHERE r.queue_id * 10 + r.priority = queue_no * 10 + k - 1 AND r.turn > x.turns[k]),
                greatest(x.turns[k], last_id))
        WHERE x.ctid = ANY (ARRAY(
            SELECT z.ctid FROM larder_data.claim_cursor z
            WHERE z.queue_id = queue_no AND z.number = cursor_no FOR UPDATE SKIP LOCKED));
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.advance_cursor IS
    'Moves the positions at which claims of a queue and a priority start behind the jobs that have been claimed since, '
    'unless they were moved since they had this number.';

-- Each run starts at the positions of the last one, or at a job that was committed since, so that it does not read the
-- dead rows before them. The cursors are locked before the statement that reads new_ready and ready: whatever another
-- run has taken from new_ready is in the positions that this one starts at.
CREATE FUNCTION larder_data.maintenance_claims() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    last_id bigint := (SELECT s.last_value FROM larder_data.job_id s);
    start xid8 := (SELECT f.xid FROM larder_data.first_new f);
    locked smallint[];
    next record;
    moved int := 0;
BEGIN
    INSERT INTO larder_data.claim_cursor (queue_id, positions, turns, updated_at)
    SELECT q.id, '{0,0,0,0,0,0,0,0,0,0}', '{0,0,0,0,0,0,0,0,0,0}', '-infinity' FROM larder_data.queue q
    WHERE NOT q.lifo AND NOT EXISTS (SELECT FROM larder_data.current_cursor c WHERE c.queue_id = q.id OFFSET 0)
    ON CONFLICT (queue_id, number) DO NOTHING;
    -- A row that a long transaction holds is skipped, with its entries: claims do not use an old cursor.
    locked := ARRAY(
        SELECT y.queue_id FROM larder_data.current_cursor x, LATERAL (
            SELECT z.queue_id FROM larder_data.claim_cursor z
            WHERE z.queue_id = x.queue_id AND z.number = x.number FOR UPDATE SKIP LOCKED) AS y);
    FOR next IN
        WITH entry AS (
            DELETE FROM larder_data.new_ready n WHERE n.ctid = ANY (ARRAY(
                SELECT y.ctid FROM larder_data.new_ready y
                WHERE y.xid >= start
                  AND y.queue_id = ANY (locked || ARRAY(SELECT q.id FROM larder_data.queue q WHERE q.lifo))
                ORDER BY y.xid LIMIT 20000))
            RETURNING n.queue_id, n.priority, n.job_id, n.turn
        ), lowest AS (
            SELECT e.queue_id, e.priority, min(e.job_id) - 1 AS job_id, min(e.turn) - 1 AS turn FROM entry e
            GROUP BY e.queue_id, e.priority
        ), started AS MATERIALIZED (
            SELECT c.queue_id, c.number, array_agg(least(c.positions[p + 1], l.job_id) ORDER BY p) AS positions,
                array_agg(least(c.turns[p + 1], l.turn) ORDER BY p) AS turns
            FROM larder_data.current_cursor c CROSS JOIN generate_series(0, 9) AS p
            LEFT JOIN lowest l ON l.queue_id = c.queue_id AND l.priority = p
            WHERE c.queue_id = ANY (locked) GROUP BY c.queue_id, c.number
        )
        SELECT s.queue_id, s.number, n.positions, n.turns
        FROM started s, LATERAL larder_data.search_start(s.queue_id, last_id, s.positions, s.turns) AS n
    LOOP
        UPDATE larder_data.claim_cursor c
        SET number = c.number + 1, updated_at = clock_timestamp(), positions = next.positions, turns = next.turns
        WHERE c.queue_id = next.queue_id AND c.number = next.number;
        moved := moved + 1;
    END LOOP;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_claims IS 'Moves the positions at which claims start.';
