-- How jobs become ready, and where claims start to search for them.
--
-- Dead rows: while an old snapshot is open, the index of `ready` keeps an entry of every claimed row, and a claim that
-- started at the head would read them all. So it starts behind a floor, the turn up to which nothing is ready. The task
-- claims finds it by a walk from the first entry: usually each second, less often while the walk is long. A job
-- committed behind the floor waits for the next walk.

CREATE FUNCTION larder_data.make_ready(jobs bigint[], ahead bigint DEFAULT 0) RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off
SET enable_mergejoin = off SET jit = off AS $$
BEGIN
    IF coalesce(cardinality(jobs), 0) = 0 THEN
        RETURN 0;
    END IF;
    INSERT INTO larder_data.ready (job_id, turn, lane, origin_id)
    SELECT j.id, CASE WHEN q.lifo THEN -j.id ELSE coalesce(c.turns[j.priority + 1], 0) + ahead + h.ord END,
        j.queue_id * 10 + j.priority, j.origin_id
    FROM unnest(jobs) WITH ORDINALITY AS h (id, ord)
    CROSS JOIN LATERAL (
        SELECT x.queue_id, x.priority, x.origin_id, x.id FROM larder_data.job x WHERE x.id = h.id OFFSET 0) AS j
    CROSS JOIN LATERAL (SELECT x.lifo FROM larder_data.queue x WHERE x.id = j.queue_id OFFSET 0) AS q
    LEFT JOIN LATERAL (
        SELECT x.turns FROM larder_data.current_cursor x WHERE x.queue_id = j.queue_id OFFSET 0) AS c ON true;
    RETURN cardinality(jobs);
END $$;

-- The totals are some seconds old.
CREATE FUNCTION larder_data.turns_ahead(batch_no bigint) RETURNS bigint
LANGUAGE plpgsql STABLE AS $$
BEGIN
    RETURN coalesce((
        SELECT greatest(t.total - t.succeeded - t.failed - t.cancelled, 0)
        FROM larder_data.batch_total t WHERE t.batch_id = batch_no), 0);
END $$;

-- The turn behind which an enqueue's jobs begin; NULL in a lifo queue. If all calls began at one turn, a batch of a
-- million jobs would have a hundred jobs in each, and another batch one. So a call begins behind its batch's last job
-- that the totals do not count yet, or else behind as many turns as the batch has open items. Concurrent calls do not
-- see each other and share turns: exact ones would need a row locked by every enqueue into a batch.
CREATE FUNCTION larder_data.turns_before(template larder_data.job) RETURNS bigint
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    is_lifo boolean;
    floor_turn bigint;
    last bigint;
BEGIN
    SELECT q.lifo, (
        SELECT c.turns[template.priority + 1] FROM larder_data.claim_cursor c
        WHERE c.queue_id = q.id ORDER BY c.number DESC LIMIT 1)
    INTO is_lifo, floor_turn FROM larder_data.queue q WHERE q.id = template.queue_id;
    IF is_lifo THEN
        RETURN NULL;
    END IF;
    SELECT r.turn INTO last FROM (
        SELECT j.id FROM larder_data.job j
        WHERE (j.batch_id, j.id) > (template.batch_id, coalesce((
                SELECT t.last_job FROM larder_data.batch_total t WHERE t.batch_id = template.batch_id), 0))
          AND j.batch_id <= template.batch_id AND j.items > 0
        ORDER BY j.batch_id DESC, j.id DESC LIMIT 1) AS j, LATERAL (
        SELECT x.turn FROM larder_data.ready x
        WHERE x.job_id = j.id AND x.lane = template.queue_id * 10 + template.priority OFFSET 0) AS r;
    RETURN greatest(floor_turn, last, CASE WHEN last IS NULL
        THEN coalesce(floor_turn, 0) + larder_data.turns_ahead(template.batch_id) END);
END $$;

-- A run starts 10 s before the last complete one, to skip the dead rows of earlier jobs. Each minute's first run starts
-- at the first row: a transaction may commit a time long past.
CREATE FUNCTION larder_data.maintenance_promote() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    portion CONSTANT int := 5000;
    second bigint := extract(epoch FROM now());
    complete bigint := (SELECT t.cursor FROM larder_data.current_task t WHERE t.task = 'promote');
    start timestamptz := CASE WHEN complete / 60 = second / 60 THEN to_timestamp(complete - 10) ELSE '-infinity' END;
    due bigint[];
BEGIN
    WITH removed AS (
        DELETE FROM larder_data.scheduled s WHERE s.ctid = ANY (ARRAY(
            SELECT x.ctid FROM larder_data.scheduled x
            WHERE x.run_at BETWEEN start AND now() ORDER BY x.run_at LIMIT portion FOR UPDATE SKIP LOCKED))
        RETURNING s.run_at, s.job_id
    )
    SELECT array_agg(r.job_id ORDER BY r.run_at) INTO due FROM removed r;
    IF coalesce(cardinality(due), 0) < portion THEN
        PERFORM larder_data.change_task('promote', NULL, second) WHERE complete <> second;
    ELSE
        PERFORM larder_data.change_task('promote', clock_timestamp());
    END IF;
    RETURN larder_data.make_ready(due);
END $$;

-- An empty lane's floor is the last id given out at the previous walk: no job of that time has a higher turn, except
-- some that have come back, and a concurrent enqueue has not been overtaken.
CREATE FUNCTION larder_data.maintenance_claims() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    began_at CONSTANT timestamptz := clock_timestamp();
    last_id CONSTANT bigint := (SELECT CASE WHEN s.is_called THEN s.last_value ELSE 0 END FROM larder_data.job_id s);
    moved int;
BEGIN
    INSERT INTO larder_data.claim_cursor (queue_id, turns, valid_until)
    SELECT q.id, '{0,0,0,0,0,0,0,0,0,0}', '-infinity' FROM larder_data.queue q
    WHERE NOT q.lifo AND NOT EXISTS (SELECT FROM larder_data.current_cursor x WHERE x.queue_id = q.id OFFSET 0)
    ON CONFLICT (queue_id, number) DO NOTHING;
    WITH walk AS MATERIALIZED (
        SELECT c.queue_id, c.number, ARRAY(
            SELECT coalesce((SELECT min(r.turn) - 1 FROM larder_data.ready r WHERE r.lane = c.queue_id * 10 + p),
                greatest(c.turns[p + 1], c.last_job))
            FROM generate_series(0, 9) AS p ORDER BY p) AS turns
        FROM larder_data.current_cursor c
    )
    UPDATE larder_data.claim_cursor x SET number = w.number + 1, turns = w.turns, last_job = last_id,
        -- Three times the pause until the next walk, at most a minute.
        valid_until = clock_timestamp() + least(interval '10 s' + 150 * (clock_timestamp() - began_at), '1 min')
    FROM walk w WHERE (x.queue_id, x.number) = (w.queue_id, w.number);
    GET DIAGNOSTICS moved = ROW_COUNT;
    PERFORM larder_data.reschedule('claims', began_at, '1 s');
    RETURN moved;
END $$;
