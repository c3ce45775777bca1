-- Maintenance, without a leader: any number of sessions call larder.maintain(). A task that is due is run by the
-- first caller that locks its row of larder_data.maintenance; the others skip it, and the lock ends with the
-- transaction. Each task handles a bounded number of rows and skips rows that others hold.
--
-- Kinds of tasks. urgent: other work waits for them, so callers run them in statements of their own, never behind
-- routine ones. routine: all others. owner: statements that cannot run in a function, see
-- larder_data.owner_statements().

CREATE FUNCTION larder_data.run_again(task text, is_due boolean, delay interval DEFAULT '0 s') RETURNS void
LANGUAGE sql AS $$
    UPDATE larder_data.maintenance m SET next_at = clock_timestamp() + delay WHERE m.task = run_again.task AND is_due
$$;
COMMENT ON FUNCTION larder_data.run_again IS 'Makes a task due before its period ends, because it left rows over.';

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

-- The time of an outage does not count.
CREATE FUNCTION larder_data.overdue_claims(up timestamptz, portion int) RETURNS tid[]
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    shortest interval := (SELECT min(q.job_timeout) FROM larder_data.queue q);
BEGIN
    RETURN ARRAY(
        SELECT r.tid FROM larder_data.worker w,
            LATERAL (
                SELECT x.ctid AS tid, x.queue_id, x.claimed_at FROM larder_data.running x
                WHERE x.worker_id = w.id AND x.claim_no >= w.oldest_claim
                  AND x.claimed_at < clock_timestamp() - shortest OFFSET 0) AS r,
            LATERAL (SELECT x.job_timeout FROM larder_data.queue x WHERE x.id = r.queue_id OFFSET 0) AS q
        WHERE w.rescued_at IS NULL AND greatest(r.claimed_at, up) < clock_timestamp() - q.job_timeout
        LIMIT portion);
END $$;
COMMENT ON FUNCTION larder_data.overdue_claims IS
    'Rows of running, at most so many, that a worker has held for longer than the job_timeout of their queue.';

-- A worker is dead when its lease has ended, or it has stopped. Its row is locked, so a heartbeat at this moment either
-- counts or comes too late; what it completes later finds no claim. While the row that its claims lock is locked, too,
-- no claim of it is under way: if it holds no job then, it never will, and is not looked at again.
CREATE FUNCTION larder_data.dead_workers(up timestamptz) RETURNS bigint[]
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    dead bigint[] := ARRAY(
        SELECT w.id FROM larder_data.worker w
        WHERE w.rescued_at IS NULL AND (w.stopped_at IS NOT NULL
            OR greatest(w.heartbeat_at, up) + w.lease_ms * interval '1 ms' < clock_timestamp())
        FOR UPDATE SKIP LOCKED);
    idle bigint[];
BEGIN
    -- A snapshot older than the locks may lack a claim.
    IF dead <> '{}' AND current_setting('transaction_isolation') = 'read committed' THEN
        idle := ARRAY(
            SELECT l.worker_id FROM larder_data.claim_lock l WHERE l.worker_id = ANY (dead) FOR UPDATE SKIP LOCKED);
        UPDATE larder_data.worker w SET rescued_at = clock_timestamp()
        WHERE w.id = ANY (idle) AND NOT EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = w.id OFFSET 0);
    END IF;
    RETURN ARRAY(SELECT w.id FROM larder_data.worker w WHERE w.id = ANY (dead) AND w.rescued_at IS NULL);
END $$;
COMMENT ON FUNCTION larder_data.dead_workers IS
    'Locks the workers whose lease has ended, marks those that hold no job, and returns the others.';

-- The loss of a worker says nothing about an image: the attempt does not count, but after rescue_limit rescues the job
-- waits for an operator.
CREATE FUNCTION larder_data.maintenance_rescue() RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    up timestamptz;
    dead bigint[];
    held tid[];
    moved int;
    returned bigint[];
BEGIN
    UPDATE larder_data.server s SET timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8), since = clock_timestamp()
    WHERE s.timeline <> left(pg_walfile_name(pg_current_wal_lsn()), 8);
    up := larder_data.up_since();
    -- After the clock was set back, a heartbeat in the future would keep a dead worker alive.
    UPDATE larder_data.worker w SET heartbeat_at = clock_timestamp() WHERE w.id = ANY (ARRAY(
        SELECT x.id FROM larder_data.worker x
        WHERE x.heartbeat_at > clock_timestamp() + interval '1 s' FOR UPDATE SKIP LOCKED));
    dead := larder_data.dead_workers(up);
    held := ARRAY(SELECT x.ctid FROM larder_data.running x WHERE x.worker_id = ANY (dead) LIMIT 5000)
        || larder_data.overdue_claims(up, 5000);
    IF held = '{}' THEN
        RETURN 0;
    END IF;
    WITH lost AS MATERIALIZED (
        -- Rows of running are never updated, so the tuple ids stay valid.
        SELECT r.tid, j.id FROM (
            SELECT x.ctid AS tid, x.job_id FROM larder_data.running x WHERE x.ctid = ANY (held)
            FOR UPDATE SKIP LOCKED) AS r,
            LATERAL (SELECT x.id FROM larder_data.job x WHERE x.id = r.job_id FOR UPDATE SKIP LOCKED) AS j
    ), removed AS (
        DELETE FROM larder_data.running r WHERE r.ctid = ANY (ARRAY(SELECT l.tid FROM lost l))
    ), counted AS (
        -- By id, not by ctid: a join may have updated the row since the snapshot of this statement.
        UPDATE larder_data.job j SET rescues = j.rescues + 1 WHERE j.id = ANY (ARRAY(SELECT l.id FROM lost l))
        RETURNING j.id, CASE WHEN j.cancelled_at IS NOT NULL THEN 'cancelled'
            WHEN j.rescues >= (SELECT s.rescue_limit FROM larder_data.settings s) THEN 'crashed' END AS reason
    ), suspended AS (
        INSERT INTO larder_data.suspended (job_id, reason)
        SELECT c.id, c.reason FROM counted c WHERE c.reason IS NOT NULL
    )
    SELECT count(*), array_agg(c.id) FILTER (WHERE c.reason IS NULL) INTO moved, returned FROM counted c;
    PERFORM larder_data.make_ready(returned), larder_data.run_again('rescue', moved >= 5000);
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_rescue IS
    'Makes jobs of dead workers ready, and those that a worker has held for too long, or suspends them as crashed or '
    'cancelled, 5,000 of each a call.';

-- Claims start behind these positions. The last id given out is read first: nothing below it is ready in an empty
-- priority, except what an open transaction enqueues, which the next run includes.
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
            WHERE r.queue_id = c.queue_id AND r.priority = any_priority.p), last_id)
        FROM generate_series(0, 9) AS any_priority (p) ORDER BY any_priority.p), turns = ARRAY(
        SELECT coalesce((
            SELECT min(r.turn) - 1 FROM larder_data.ready r
            WHERE r.queue_id * 10 + r.priority = c.queue_id * 10 + any_priority.p),
            greatest(c.turns[any_priority.p + 1], last_id))
        FROM generate_series(0, 9) AS any_priority (p) ORDER BY any_priority.p)
    WHERE c.ctid = ANY (ARRAY(SELECT x.ctid FROM larder_data.claim_cursor x FOR UPDATE SKIP LOCKED));
    GET DIAGNOSTICS moved = ROW_COUNT;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_claims IS 'Updates the positions at which claims start.';

-- The ledger.
--
-- Folded entries are dead rows while an old snapshot is open, and a fold that started at the first row would read them
-- all. Each entry has the id of its transaction. At a fold all transactions before the oldest running one have ended,
-- so none of them inserts an entry later: the next fold starts at the oldest one of that time, or at the first entry
-- that it left. An id ahead of all given out is from another server, from which the database was restored.

CREATE VIEW larder_data.new_entry AS
SELECT d.* FROM larder_data.batch_delta d WHERE d.xid >= (
    SELECT CASE WHEN f.xid <= pg_snapshot_xmax(pg_current_snapshot()) THEN f.xid ELSE '0' END
    FROM larder_data.first_entry f);
COMMENT ON VIEW larder_data.new_entry IS 'The entries of the ledger that are not in batch_total.';

CREATE VIEW larder_data.new_error AS
SELECT d.* FROM larder_data.batch_detail_delta d WHERE d.xid >= (
    SELECT CASE WHEN f.xid <= pg_snapshot_xmax(pg_current_snapshot()) THEN f.xid ELSE '0' END
    FROM larder_data.first_entry f);
COMMENT ON VIEW larder_data.new_error IS 'The errors of the ledger that are not in batch_detail.';

-- At least e^-100: after some hours without entries the exponential would raise an underflow error.
CREATE FUNCTION larder_data.rate_after(rate double precision, passed interval, finished bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE BEGIN ATOMIC
    SELECT rate * weight + finished / seconds * (1 - weight) FROM (
        SELECT seconds, exp(-least(seconds / 30, 100)) AS weight
        FROM (SELECT greatest(extract(epoch FROM passed)::double precision, 0.01) AS seconds) AS s) AS w;
END;
COMMENT ON FUNCTION larder_data.rate_after IS
    'An exponential mean per second over 30 s, updated with the items that finished in the time passed.';

CREATE FUNCTION larder_data.maintenance_counts() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    start xid8 := (
        SELECT CASE WHEN f.xid <= pg_snapshot_xmax(pg_current_snapshot()) THEN f.xid ELSE '0' END
        FROM larder_data.first_entry f);
    oldest_running xid8 := pg_snapshot_xmin(pg_current_snapshot());
    moved int;
BEGIN
    WITH d AS (
        DELETE FROM larder_data.batch_delta x WHERE x.ctid = ANY (ARRAY(
            SELECT y.ctid FROM larder_data.batch_delta y WHERE y.xid >= start ORDER BY y.xid LIMIT 20000
            FOR UPDATE SKIP LOCKED))
        RETURNING x.*
    ), by_minute AS (
        INSERT INTO larder_data.throughput AS t (
            at, bytes_in, bytes_out, enqueued, succeeded, failed, cancelled, retries, downloads, variants)
        SELECT date_trunc('minute', clock_timestamp()), sum(d.bytes_in), sum(d.bytes_out), sum(d.total),
            sum(d.succeeded), sum(greatest(d.failed, 0)), sum(d.cancelled), sum(d.retries), sum(d.downloads),
            sum(d.variants)
        FROM d HAVING count(*) > 0
        ON CONFLICT (at) DO UPDATE SET
            bytes_in = t.bytes_in + excluded.bytes_in, bytes_out = t.bytes_out + excluded.bytes_out,
            enqueued = t.enqueued + excluded.enqueued, succeeded = t.succeeded + excluded.succeeded,
            failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled,
            retries = t.retries + excluded.retries, downloads = t.downloads + excluded.downloads,
            variants = t.variants + excluded.variants
    ), by_duration AS (
        INSERT INTO larder_data.batch_detail AS t (batch_id, n, code)
        SELECT d.batch_id, sum(d.jobs), d.duration_class FROM d WHERE d.duration_class IS NOT NULL
        GROUP BY d.batch_id, d.duration_class ORDER BY d.batch_id, d.duration_class
        ON CONFLICT ON CONSTRAINT batch_detail_key DO UPDATE SET n = t.n + excluded.n
    ), by_batch AS (
        -- The first rate of a batch is the mean since it was opened.
        INSERT INTO larder_data.batch_total AS t (
            batch_id, bytes_in, bytes_out, total, succeeded, failed, cancelled, fresh, blocked, invalid, joined,
            retries, downloads, variants, rate)
        SELECT d.batch_id, sum(d.bytes_in), sum(d.bytes_out), sum(d.total), sum(d.succeeded), sum(d.failed),
            sum(d.cancelled), sum(d.fresh), sum(d.blocked), sum(d.invalid), sum(d.joined), sum(d.retries),
            sum(d.downloads), sum(d.variants), greatest(sum(d.succeeded + d.failed + d.cancelled), 0)
                / greatest(extract(epoch FROM clock_timestamp() - min(b.created_at))::double precision, 0.1)
        FROM d JOIN larder_data.batch b ON b.id = d.batch_id GROUP BY d.batch_id ORDER BY d.batch_id
        ON CONFLICT (batch_id) DO UPDATE SET
            bytes_in = t.bytes_in + excluded.bytes_in, bytes_out = t.bytes_out + excluded.bytes_out,
            total = t.total + excluded.total, succeeded = t.succeeded + excluded.succeeded,
            failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled,
            fresh = t.fresh + excluded.fresh, blocked = t.blocked + excluded.blocked,
            invalid = t.invalid + excluded.invalid, joined = t.joined + excluded.joined,
            retries = t.retries + excluded.retries, downloads = t.downloads + excluded.downloads,
            variants = t.variants + excluded.variants, folded_at = clock_timestamp(),
            rate = larder_data.rate_after(t.rate, clock_timestamp() - t.folded_at,
                greatest(excluded.succeeded + excluded.failed + excluded.cancelled, 0))
    )
    SELECT count(*) INTO moved FROM d;
    PERFORM larder_data.fold_errors(start);
    UPDATE larder_data.first_entry f SET xid = least(oldest_running,
        (SELECT min(d.xid) FROM larder_data.batch_delta d WHERE d.xid >= start),
        (SELECT min(d.xid) FROM larder_data.batch_detail_delta d WHERE d.xid >= start));
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_counts IS 'Adds new entries of the ledger to the totals, 20,000 a call.';

CREATE FUNCTION larder_data.fold_errors(start xid8) RETURNS void
LANGUAGE sql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
    WITH d AS (
        DELETE FROM larder_data.batch_detail_delta x WHERE x.ctid = ANY (ARRAY(
            SELECT y.ctid FROM larder_data.batch_detail_delta y WHERE y.xid >= start ORDER BY y.xid LIMIT 20000
            FOR UPDATE SKIP LOCKED))
        RETURNING x.*
    )
    INSERT INTO larder_data.batch_detail AS t (batch_id, n, code, domain)
    SELECT d.batch_id, sum(d.n), d.code, d.domain FROM d
    GROUP BY d.batch_id, d.domain, d.code ORDER BY d.batch_id, d.domain, d.code
    ON CONFLICT ON CONSTRAINT batch_detail_key DO UPDATE SET n = t.n + excluded.n
$$;
COMMENT ON FUNCTION larder_data.fold_errors IS
    'Adds new errors of the ledger, from this transaction on, to the details, 20,000 a call.';

-- Folded plus new entries. In a cancelled batch every open item counts as cancelled: maintenance ends its jobs later.
-- The new entries are added up in one pass, not by a look-up per batch; a condition on batch_id is applied in that
-- pass.
CREATE VIEW larder_data.ledger AS
SELECT s.*, s.total - s.succeeded - s.failed - s.cancelled AS open
FROM (
    SELECT b.id AS batch_id, b.name, b.run, b.owner, b.queue_id, b.created_at, b.sealed_at, b.paused_at,
        b.cancelled_at, b.finished_at,
        c.total, c.succeeded, c.failed,
        CASE WHEN b.cancelled_at IS NULL THEN c.cancelled ELSE c.total - c.succeeded - c.failed END AS cancelled,
        c.fresh, c.blocked, c.invalid, c.joined, c.retries, c.downloads, c.variants, c.bytes_in, c.bytes_out,
        t.rate, t.folded_at, t.succeeded + t.failed + t.cancelled AS folded
    FROM larder_data.batch b
    LEFT JOIN larder_data.batch_total t ON t.batch_id = b.id
    LEFT JOIN (
        SELECT x.batch_id, sum(x.total) AS total, sum(x.succeeded) AS succeeded, sum(x.failed) AS failed,
            sum(x.cancelled) AS cancelled, sum(x.fresh) AS fresh, sum(x.blocked) AS blocked, sum(x.invalid) AS invalid,
            sum(x.joined) AS joined, sum(x.retries) AS retries, sum(x.downloads) AS downloads,
            sum(x.variants) AS variants, sum(x.bytes_in)::bigint AS bytes_in, sum(x.bytes_out)::bigint AS bytes_out
        FROM larder_data.new_entry x GROUP BY x.batch_id) AS d ON d.batch_id = b.id
    CROSS JOIN LATERAL (SELECT
        coalesce(t.total, 0) + coalesce(d.total, 0) AS total,
        coalesce(t.succeeded, 0) + coalesce(d.succeeded, 0) AS succeeded,
        coalesce(t.failed, 0) + coalesce(d.failed, 0) AS failed,
        coalesce(t.cancelled, 0) + coalesce(d.cancelled, 0) AS cancelled,
        coalesce(t.fresh, 0) + coalesce(d.fresh, 0) AS fresh,
        coalesce(t.blocked, 0) + coalesce(d.blocked, 0) AS blocked,
        coalesce(t.invalid, 0) + coalesce(d.invalid, 0) AS invalid,
        coalesce(t.joined, 0) + coalesce(d.joined, 0) AS joined,
        coalesce(t.retries, 0) + coalesce(d.retries, 0) AS retries,
        coalesce(t.downloads, 0) + coalesce(d.downloads, 0) AS downloads,
        coalesce(t.variants, 0) + coalesce(d.variants, 0) AS variants,
        coalesce(t.bytes_in, 0) + coalesce(d.bytes_in, 0) AS bytes_in,
        coalesce(t.bytes_out, 0) + coalesce(d.bytes_out, 0) AS bytes_out) AS c
    WHERE NOT b.is_deleted
) AS s;
COMMENT ON VIEW larder_data.ledger IS
    'Counts per batch, exact at this instant. rate, folded_at: as in batch_total. folded: finished items in '
    'batch_total.';

-- Batches that are over.

-- A batch is finished when it is sealed, no open transaction adds to it (see 0015), the ledger has no open item, and no
-- live job, subscription or join is left. Each batch costs a few index probes, however many jobs are live.
CREATE FUNCTION larder_data.maintenance_finish() RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    candidates bigint[];
    finished larder_data.batch;
    moved int := 0;
BEGIN
    -- The default batches of past days.
    UPDATE larder_data.batch b SET sealed_at = now() WHERE b.id IN (
        SELECT x.id FROM larder_data.batch x
        WHERE x.finished_at IS NULL AND x.sealed_at IS NULL
          AND x.daily < (now() AT TIME ZONE 'UTC' - interval '1 h')::date
        FOR UPDATE SKIP LOCKED);
    candidates := ARRAY(
        SELECT b.id FROM larder_data.batch b, LATERAL (
            SELECT FROM larder_data.ledger x WHERE x.batch_id = b.id AND x.open = 0 OFFSET 0) AS l
        WHERE b.finished_at IS NULL AND b.sealed_at IS NOT NULL
          AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.batch_id = b.id AND j.items > 0 OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_subscriber s WHERE s.batch_id = b.id OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_join x WHERE x.batch_id = b.id OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.late_enqueue x WHERE x.batch_id = b.id OFFSET 0)
        LIMIT 1000 FOR UPDATE OF b SKIP LOCKED);
    -- A statement after the one that read them as sealed.
    candidates := ARRAY(SELECT c.id FROM unnest(candidates) AS c (id) WHERE NOT larder_data.is_being_added_to(c.id));
    -- Tested again under the lock: a retry or an enqueue may have added open items since the snapshot above.
    FOR finished IN
        UPDATE larder_data.batch b SET finished_at = now()
        WHERE b.id = ANY (candidates)
          AND (SELECT l.open = 0 FROM larder_data.ledger l WHERE l.batch_id = b.id)
          AND NOT EXISTS (SELECT FROM larder_data.job j WHERE j.batch_id = b.id AND j.items > 0 OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_subscriber s WHERE s.batch_id = b.id OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.job_join x WHERE x.batch_id = b.id OFFSET 0)
          AND NOT EXISTS (SELECT FROM larder_data.late_enqueue x WHERE x.batch_id = b.id OFFSET 0)
        RETURNING b.*
    LOOP
        moved := moved + 1;
        PERFORM pg_notify('larder_batch', finished.id::text)
        WHERE EXISTS (SELECT FROM larder_data.batch_notify x WHERE x.batch_id = finished.id);
    END LOOP;
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_finish IS
    'Seals and finishes batches, and notifies channel larder_batch if they ask for it.';

-- Retention.

CREATE FUNCTION larder_data.maintenance_purge() RETURNS int
LANGUAGE plpgsql SET jit = off AS $$
DECLARE
    moved int;
    total int := 0;
BEGIN
    DELETE FROM larder_data.worker w WHERE w.id IN (
        SELECT x.id FROM larder_data.worker x
        WHERE x.heartbeat_at < now() - interval '1 day'
          AND (x.rescued_at IS NOT NULL
              OR NOT EXISTS (SELECT FROM larder_data.running r WHERE r.worker_id = x.id OFFSET 0))
        FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS moved = ROW_COUNT;
    total := total + moved;
    DELETE FROM larder_data.claim_lock l
    WHERE NOT EXISTS (SELECT FROM larder_data.worker w WHERE w.id = l.worker_id);
    DELETE FROM larder_data.throughput t WHERE t.at < now() - interval '30 days';
    GET DIAGNOSTICS moved = ROW_COUNT;
    total := total + moved;
    DELETE FROM larder_data.blocklist b WHERE b.url_hash IN (
        SELECT x.url_hash FROM larder_data.blocklist x
        WHERE x.until < now() - interval '30 days' LIMIT 5000 FOR UPDATE SKIP LOCKED);
    GET DIAGNOSTICS moved = ROW_COUNT;
    total := total + moved;
    DELETE FROM larder_data.batch_detail d WHERE d.ctid = ANY (ARRAY(
        SELECT x.ctid FROM larder_data.batch_detail x JOIN larder_data.batch b ON b.id = x.batch_id
        WHERE b.finished_at < now() - (SELECT s.keep_history FROM larder_data.settings s)
        LIMIT 5000 FOR UPDATE OF x SKIP LOCKED));
    GET DIAGNOSTICS moved = ROW_COUNT;
    PERFORM larder_data.run_again('purge', moved = 5000, '10 s');
    RETURN total + moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_purge IS
    'Deletes workers gone for a day, blocks that ended 30 days ago, throughput older than 30 days, and details of '
    'batches without history.';

CREATE FUNCTION larder_data.expired_partitions() RETURNS TABLE (
    parent text, part text, is_attached boolean, is_pending boolean
)
LANGUAGE sql STABLE AS $$
    SELECT k.parent, c.relname::text, i.inhrelid IS NOT NULL, coalesce(i.inhdetachpending, false)
    FROM larder_data.settings s
    CROSS JOIN LATERAL (VALUES ('job_history', s.keep_history), ('item_history', s.keep_history),
        ('job_attempt', s.keep_attempts)) AS k (parent, keep)
    JOIN pg_catalog.pg_class c ON c.relnamespace = 'larder_data'::regnamespace AND c.relkind = 'r'
        AND c.relname ~ ('^' || k.parent || '_[0-9]{8}$')
    LEFT JOIN pg_catalog.pg_inherits i ON i.inhrelid = c.oid
    WHERE to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= ((clock_timestamp() - k.keep) AT TIME ZONE 'UTC')::date
    ORDER BY right(c.relname, 8), k.parent
$$;
COMMENT ON FUNCTION larder_data.expired_partitions IS
    'Days of history past their retention, oldest first. is_pending: a concurrent detach was interrupted.';

-- DROP TABLE locks the parent exclusively, and every later statement waits behind it. So it waits at most 500 ms,
-- drops one day of one table per call, and leaves the work to workers that detach concurrently where there are any.
CREATE FUNCTION larder_data.maintenance_retention() RETURNS int
LANGUAGE plpgsql SET lock_timeout = '500ms' AS $$
DECLARE
    old record;
BEGIN
    PERFORM FROM larder_data.maintenance m WHERE m.task = 'vacuum'
        AND m.next_at BETWEEN clock_timestamp() - interval '90 s' AND clock_timestamp() + interval '30 s';
    IF FOUND THEN
        RETURN 0;
    END IF;
    FOR old IN
        SELECT e.part, e.is_more FROM (
            SELECT DISTINCT ON (x.parent) x.parent, x.part, count(*) OVER () > 1 AS is_more
            FROM larder_data.expired_partitions() x ORDER BY x.parent, x.part) AS e
        ORDER BY right(e.part, 8), e.parent
    LOOP
        BEGIN
            EXECUTE format('DROP TABLE larder_data.%I', old.part);
            PERFORM larder_data.run_again('retention', old.is_more, '10 s');
            RETURN 1;
        EXCEPTION
            -- In use, or being detached concurrently: the next table is tried.
            WHEN lock_not_available OR object_not_in_prerequisite_state OR object_in_use OR undefined_table THEN NULL;
        END;
    END LOOP;
    RETURN 0;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_retention IS 'Drops one day of history past its retention.';

-- Records of failures that other batches joined go to one of these batches, without items: a retry reads them.
CREATE FUNCTION larder_data.delete_jobs_of(batch bigint, portion int) RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    jobs bigint[] := ARRAY(
        SELECT h.job_id FROM larder_data.job_history h WHERE h.batch_id = batch ORDER BY h.job_id LIMIT portion);
BEGIN
    IF jobs = '{}' THEN
        RETURN 0;
    END IF;
    UPDATE larder_data.job_history h SET batch_id = j.joiner, items = 0
    FROM (
        SELECT i.job_id, min(i.batch_id) AS joiner FROM larder_data.item_history i
        WHERE i.job_id = ANY (jobs) AND i.outcome = 2 AND i.reason = 'joined' AND i.batch_id <> batch
          AND EXISTS (SELECT FROM larder_data.batch b WHERE b.id = i.batch_id AND NOT b.is_deleted OFFSET 0)
        GROUP BY i.job_id) AS j
    WHERE h.batch_id = batch AND h.job_id = j.job_id AND h.outcome = 2;
    DELETE FROM larder_data.job_attempt a WHERE a.job_id = ANY (jobs) AND NOT EXISTS (
        SELECT FROM larder_data.job_history h WHERE h.job_id = a.job_id AND h.batch_id <> batch);
    DELETE FROM larder_data.job_history h WHERE h.batch_id = batch AND h.job_id <= jobs[cardinality(jobs)];
    RETURN cardinality(jobs);
END $$;
COMMENT ON FUNCTION larder_data.delete_jobs_of IS
    'Deletes records of jobs of a batch, at most so many; answers how many.';

CREATE FUNCTION larder_data.delete_batch(batch bigint, portion int) RETURNS int
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_custom_plan AS $$
DECLARE
    jobs int := larder_data.delete_jobs_of(batch, portion);
    items int;
    last_item bigint := (SELECT max(x.id) FROM (
        SELECT i.id FROM larder_data.item_history i WHERE i.batch_id = batch ORDER BY i.id LIMIT portion) AS x);
BEGIN
    DELETE FROM larder_data.item_history i WHERE i.batch_id = batch AND i.id <= last_item;
    GET DIAGNOSTICS items = ROW_COUNT;
    -- A job that another batch joined leaves a record in the batch that it was enqueued into.
    IF greatest(jobs, items) >= portion OR EXISTS (
        SELECT FROM larder_data.job j WHERE j.items = 0 AND j.batch_id = batch) THEN
        RETURN jobs + items;
    END IF;
    DELETE FROM larder_data.batch_delta x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_total x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_detail_delta x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_detail x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_source x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch_notify x WHERE x.batch_id = batch;
    DELETE FROM larder_data.batch x WHERE x.id = batch;
    RETURN jobs + items + 1;
END $$;
COMMENT ON FUNCTION larder_data.delete_batch IS
    'Deletes records of a batch, at most so many of jobs and of items, and the batch after the last; answers how many.';

-- Rows of history and of batches that are over, which no claim locks.
CREATE FUNCTION larder_data.maintenance_deleted() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    portion CONSTANT int := 5000;
    moved int := 0;
    batch bigint;
BEGIN
    -- By age: two days later than its records, whose days are dropped as a whole.
    UPDATE larder_data.batch b SET is_deleted = true WHERE b.id = ANY (ARRAY(
        SELECT x.id FROM larder_data.batch x
        WHERE x.finished_at < now() - interval '2 days' - (SELECT s.keep_history FROM larder_data.settings s)
          AND NOT x.is_deleted
        ORDER BY x.finished_at LIMIT 1000 FOR UPDATE SKIP LOCKED));
    FOR batch IN SELECT b.id FROM larder_data.batch b WHERE b.is_deleted ORDER BY b.id LIMIT 1000 LOOP
        moved := moved + larder_data.delete_batch(batch, portion - moved);
        EXIT WHEN moved >= portion;
    END LOOP;
    PERFORM larder_data.run_again('deleted', moved >= portion);
    RETURN moved;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_deleted IS
    'Deletes batches that finished long ago or were deleted by an operator, with their records, 5,000 rows a call.';

CREATE FUNCTION larder_data.owner_statements() RETURNS TABLE (statement text, next_statement text)
LANGUAGE plpgsql AS $$
BEGIN
    UPDATE larder_data.maintenance m SET next_at = clock_timestamp() + m.every
    WHERE m.task = (
        SELECT x.task FROM larder_data.maintenance x
        WHERE x.task = 'vacuum'
          AND x.next_at NOT BETWEEN clock_timestamp() AND clock_timestamp() + x.every + interval '1 s'
        FOR UPDATE SKIP LOCKED);
    IF NOT FOUND THEN
        RETURN;
    END IF;
    RETURN QUERY
    SELECT format('VACUUM (SKIP_LOCKED, TRUNCATE off) larder_data.%I', s.relname), NULL
    FROM pg_catalog.pg_stat_all_tables s JOIN pg_catalog.pg_class c ON c.oid = s.relid
    WHERE s.schemaname = 'larder_data' AND 'vacuum_truncate=off' = ANY (c.reloptions) AND s.n_dead_tup > 20000
      AND coalesce(greatest(s.last_vacuum, s.last_autovacuum), '-infinity') < clock_timestamp() - interval '30 s';
    RETURN QUERY
    SELECT format('ALTER TABLE larder_data.%I DETACH PARTITION larder_data.%I %s', e.parent, e.part,
        CASE WHEN e.is_pending THEN 'FINALIZE' ELSE 'CONCURRENTLY' END), format('DROP TABLE larder_data.%I', e.part)
    FROM larder_data.expired_partitions() e
    -- Postgres allows one concurrent detach per table.
    WHERE e.is_attached AND e.part = (
        SELECT min(x.part) FROM larder_data.expired_partitions() x
        WHERE x.parent = e.parent AND x.is_attached AND x.is_pending >= e.is_pending);
    RETURN QUERY
    SELECT format('DROP TABLE larder_data.%I', e.part), NULL
    FROM larder_data.expired_partitions() e WHERE NOT e.is_attached;
END $$;
COMMENT ON FUNCTION larder_data.owner_statements IS
    'Statements that are due and that only a login acting as the owner of the tables can run, at top level: VACUUM and '
    'concurrent DETACH, each with the statement to run after it. None if another worker asked within 25 s.';

-- The run.

-- Each task fails alone: its error is recorded and answered, and the task runs again when it is next due. No task
-- waits longer than lock_timeout for a lock. Also due is a task whose next run lies more than a period ahead: the
-- clock was set back. What a call did is visible when the whole call has ended, and its locks on tasks last as long,
-- so urgent tasks come last in a call for all.
CREATE FUNCTION larder.maintain(force boolean DEFAULT false, kind text DEFAULT NULL)
RETURNS TABLE (task text, moved int, error text, error_code text)
LANGUAGE plpgsql SET lock_timeout = '2s' AS $$
#variable_conflict use_column
DECLARE
    has_failed boolean;
BEGIN
    IF maintain.kind NOT IN ('urgent', 'routine') THEN
        RAISE EXCEPTION 'the kind is urgent or routine, not "%"', maintain.kind USING ERRCODE = '22023';
    END IF;
    FOR task IN
        SELECT m.task FROM larder_data.maintenance m
        WHERE m.kind <> 'owner' AND m.kind = coalesce(maintain.kind, m.kind)
        ORDER BY m.kind = 'urgent', m.place
    LOOP
        -- Locked one by one, so that no task is held before its turn.
        SELECT m.failed_at IS NOT NULL INTO has_failed FROM larder_data.maintenance m
        WHERE m.task = maintain.task AND (force OR m.next_at NOT BETWEEN clock_timestamp()
            AND clock_timestamp() + m.every + interval '1 s') FOR UPDATE SKIP LOCKED;
        CONTINUE WHEN NOT FOUND;
        UPDATE larder_data.maintenance m SET next_at = clock_timestamp() + m.every WHERE m.task = maintain.task;
        moved := NULL;
        error := NULL;
        error_code := NULL;
        BEGIN
            EXECUTE format('SELECT larder_data.%I()', 'maintenance_' || task) INTO moved;
            UPDATE larder_data.maintenance m SET failed_at = NULL, last_error = NULL
            WHERE m.task = maintain.task AND has_failed;
        EXCEPTION
            -- Above READ COMMITTED: the task begins anew in the next call.
            WHEN serialization_failure THEN
                UPDATE larder_data.maintenance m SET next_at = clock_timestamp() WHERE m.task = maintain.task;
            WHEN OTHERS OR query_canceled THEN
                GET STACKED DIAGNOSTICS error = MESSAGE_TEXT, error_code = RETURNED_SQLSTATE;
                UPDATE larder_data.maintenance m
                SET failed_at = clock_timestamp(), last_error = left(error_code || ': ' || error, 2000)
                WHERE m.task = maintain.task;
        END;
        RETURN NEXT;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder.maintain IS
    'Runs the maintenance tasks that are due, see larder.maintenance; force: also those that are not. kind: urgent '
    '(rescue, promote, claims, joins) or routine (the others); by default all. Any number of callers. A call is one '
    'transaction, so call it for the urgent tasks in a statement of its own. Answers per task how many rows it moved, '
    'or its error.';
