-- How jobs become ready, and where claims start to look for them.
--
-- Dead rows: while any old snapshot is open, the index of `ready` keeps an entry of every claimed row, and a claim that
-- started at the head would read them all. So it starts behind claim_cursor, which one maintenance task moves every
-- second. Jobs that become ready below it (from an enqueue that was open for long) wait until another task has found
-- them, usually for a second; jobs that come back lower it, see make_ready.

CREATE FUNCTION larder_data.lower_cursors(jobs bigint[]) RETURNS void
LANGUAGE sql AS $$
    WITH back AS MATERIALIZED (
        SELECT j.queue_id, j.priority, min(j.id) AS id FROM unnest(jobs) AS h (id), LATERAL (
            SELECT x.queue_id, x.priority, x.id FROM larder_data.job x WHERE x.id = h.id OFFSET 0) AS j
        GROUP BY j.queue_id, j.priority
    )
    UPDATE larder_data.claim_cursor c SET positions = ARRAY(
        SELECT least(c.positions[p + 1], (SELECT b.id - 1 FROM back b WHERE b.queue_id = c.queue_id AND b.priority = p))
        FROM generate_series(0, 9) AS p ORDER BY p)
    -- A locked row is skipped: maintenance_skipped finds these jobs.
    WHERE c.ctid = ANY (ARRAY(
        SELECT x.ctid FROM larder_data.claim_cursor x
        WHERE EXISTS (SELECT FROM back b WHERE b.queue_id = x.queue_id AND b.id <= x.positions[b.priority + 1])
        FOR UPDATE SKIP LOCKED))
$$;
COMMENT ON FUNCTION larder_data.lower_cursors IS 'Makes claims start no later than at these jobs.';

CREATE FUNCTION larder_data.make_ready(jobs bigint[], ahead bigint DEFAULT 0) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
    IF coalesce(cardinality(jobs), 0) = 0 THEN
        RETURN 0;
    END IF;
    INSERT INTO larder_data.ready (queue_id, priority, job_id, turn)
    SELECT j.queue_id, j.priority, j.id, coalesce(c.turns[j.priority + 1], 0) + ahead + h.ord
    FROM unnest(jobs) WITH ORDINALITY AS h (id, ord)
    CROSS JOIN LATERAL (
        SELECT x.queue_id, x.priority, x.id FROM larder_data.job x WHERE x.id = h.id OFFSET 0) AS j
    LEFT JOIN LATERAL (
        SELECT x.turns FROM larder_data.claim_cursor x WHERE x.queue_id = j.queue_id OFFSET 0) AS c ON true;
    PERFORM larder_data.lower_cursors(jobs);
    RETURN cardinality(jobs);
END $$;
COMMENT ON FUNCTION larder_data.make_ready IS
    'Makes jobs ready that the caller has removed from their state''s table, or has inserted. Their turns begin where '
    'claims stand, behind so many turns ahead. Returns how many.';

-- A run starts 10 s before the last complete one, so that it does not read the dead rows of all jobs before. The first
-- run of each minute starts at the first row: a transaction may commit a time that has long passed.
CREATE FUNCTION larder_data.maintenance_promote() RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    portion CONSTANT int := 5000;
    second bigint := extract(epoch FROM now());
    complete bigint := (SELECT m.cursor FROM larder_data.maintenance m WHERE m.task = 'promote');
    start timestamptz := CASE WHEN complete / 60 = second / 60 THEN to_timestamp(complete - 10) ELSE '-infinity' END;
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
    UPDATE larder_data.maintenance m SET cursor = second
    WHERE m.task = 'promote' AND m.cursor <> second AND coalesce(cardinality(due), 0) < portion;
    RETURN coalesce(cardinality(due), 0);
END $$;
COMMENT ON FUNCTION larder_data.maintenance_promote IS 'Makes scheduled jobs ready that are due, 5,000 a call.';

-- Claims start behind these positions. Each run starts at the positions of the last one, so that it does not read the
-- dead rows before them. The last id given out is read first: nothing up to it is ready in a priority without a row,
-- except what maintenance_skipped finds.
CREATE FUNCTION larder_data.maintenance_claims() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    last_id bigint := (SELECT s.last_value FROM larder_data.job_id s);
    moved int;
BEGIN
    INSERT INTO larder_data.claim_cursor (queue_id, positions, turns, updated_at)
    SELECT q.id, '{0,0,0,0,0,0,0,0,0,0}', '{0,0,0,0,0,0,0,0,0,0}', '-infinity' FROM larder_data.queue q
    WHERE NOT q.lifo AND NOT EXISTS (SELECT FROM larder_data.claim_cursor c WHERE c.queue_id = q.id)
    ON CONFLICT (queue_id) DO NOTHING;
    -- A row that a long transaction holds is skipped: claims do not use an old cursor.
    UPDATE larder_data.claim_cursor c SET updated_at = clock_timestamp(), positions = ARRAY(
        SELECT coalesce((
            SELECT min(r.job_id) - 1 FROM larder_data.ready r
            WHERE r.queue_id = c.queue_id AND r.priority = any_priority.p
              AND r.job_id > c.positions[any_priority.p + 1]), last_id)
        FROM generate_series(0, 9) AS any_priority (p) ORDER BY any_priority.p), turns = ARRAY(
        SELECT coalesce((
            SELECT min(r.turn) - 1 FROM larder_data.ready r
            WHERE r.queue_id * 10 + r.priority = c.queue_id * 10 + any_priority.p
              AND r.turn > c.turns[any_priority.p + 1]),
            greatest(c.turns[any_priority.p + 1], last_id))
        FROM generate_series(0, 9) AS any_priority (p) ORDER BY any_priority.p)
    WHERE c.ctid = ANY (ARRAY(SELECT x.ctid FROM larder_data.claim_cursor x FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_claims IS 'Moves the positions at which claims start.';

-- A transaction that commits late makes jobs ready that claims have stepped over, and lower_cursors skips a row that is
-- locked. This task reads all dead rows before the positions. It locks a row only to lower it: what it has found may be
-- claimed by then, and maintenance_claims moves on.
CREATE FUNCTION larder_data.maintenance_skipped() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    began_at CONSTANT timestamptz := clock_timestamp();
    found record;
    moved int := 0;
BEGIN
    FOR found IN
        SELECT s.* FROM (
            SELECT c.queue_id, p + 1 AS place,
                (SELECT min(r.job_id) - 1 FROM larder_data.ready r
                 WHERE r.queue_id = c.queue_id AND r.priority = p AND r.job_id <= c.positions[p + 1]) AS position,
                (SELECT min(r.turn) - 1 FROM larder_data.ready r
                 WHERE r.queue_id * 10 + r.priority = c.queue_id * 10 + p AND r.turn <= c.turns[p + 1]) AS turn
            FROM larder_data.claim_cursor c CROSS JOIN generate_series(0, 9) AS p) AS s
        WHERE s.position IS NOT NULL OR s.turn IS NOT NULL
    LOOP
        UPDATE larder_data.claim_cursor c SET
            positions[found.place] = least(c.positions[found.place], found.position),
            turns[found.place] = least(c.turns[found.place], found.turn)
        WHERE c.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.claim_cursor x WHERE x.queue_id = found.queue_id FOR UPDATE SKIP LOCKED));
        moved := moved + 1;
    END LOOP;
    PERFORM larder_data.rest('skipped', began_at, '1 s');
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_skipped IS
    'Makes claims start no later than at ready jobs that they have stepped over.';
