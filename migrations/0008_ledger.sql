-- The ledger: the counts of batches.
--
-- Each transaction inserts rows of differences into batch_delta, and maintenance folds them into batch_total. No
-- transaction updates a shared row, and totals are exact because the differences commit with the change that they
-- count.
--
-- Folded entries are dead rows while an old snapshot is open, and a fold that started at the first row would read them
-- all. Each entry has the id of its transaction. At a fold all transactions before the oldest running one have ended,
-- so none of them inserts an entry later: the next fold starts at the oldest one of that time, or at the first entry
-- that it left. An id ahead of all given out is from another server, from which the database was restored.

-- The columns of the ledger are in items. succeeded includes fresh; failed includes blocked and invalid.
CREATE TABLE larder_data.batch_delta (
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    batch_id bigint NOT NULL,
    bytes_in bigint NOT NULL DEFAULT 0,
    bytes_out bigint NOT NULL DEFAULT 0,
    total int NOT NULL DEFAULT 0,
    succeeded int NOT NULL DEFAULT 0,
    failed int NOT NULL DEFAULT 0,
    cancelled int NOT NULL DEFAULT 0,
    fresh int NOT NULL DEFAULT 0,
    blocked int NOT NULL DEFAULT 0,
    invalid int NOT NULL DEFAULT 0,
    joined int NOT NULL DEFAULT 0,
    retries int NOT NULL DEFAULT 0,
    downloads int NOT NULL DEFAULT 0,
    variants int NOT NULL DEFAULT 0,
    jobs int NOT NULL DEFAULT 0,
    duration_class smallint,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE larder_data.batch_delta IS
    'New entries of the ledger, never updated; read them through larder_data.new_entry. xid: of the transaction that '
    'inserted it. jobs: how many took a time of duration_class from claim to completion, see '
    'larder_data.duration_class(). at: when it was inserted.';
CREATE INDEX batch_delta_batch ON larder_data.batch_delta (batch_id, xid);
CREATE INDEX batch_delta_xid ON larder_data.batch_delta (xid);
ALTER TABLE larder_data.batch_delta REPLICA IDENTITY FULL;

CREATE TABLE larder_data.first_entry (
    xid xid8 PRIMARY KEY
);
COMMENT ON TABLE larder_data.first_entry IS
    'One row: the transaction before which no entry of the ledger, and none of larder_data.new_ready, is left. It '
    'increases, see schema.sql.';
INSERT INTO larder_data.first_entry (xid) VALUES ('0');

CREATE TABLE larder_data.batch_total (
    batch_id bigint PRIMARY KEY,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    total bigint NOT NULL,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    fresh bigint NOT NULL,
    blocked bigint NOT NULL,
    invalid bigint NOT NULL,
    joined bigint NOT NULL,
    retries bigint NOT NULL,
    downloads bigint NOT NULL,
    variants bigint NOT NULL,
    rate double precision NOT NULL DEFAULT 0,
    folded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    worked_at timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.batch_total IS
    'Folded entries of the ledger. rate: items that jobs completed per second at folded_at, an exponential mean over '
    '30 s. last_at: when the last entry was inserted; worked_at: the last one by which a job ended or is tried again.';

CREATE TABLE larder_data.batch_detail_delta (
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    batch_id bigint NOT NULL,
    n int NOT NULL,
    code int NOT NULL,
    domain text NOT NULL
);
COMMENT ON TABLE larder_data.batch_detail_delta IS
    'New errors of the ledger: how many items failed with which. Never updated; read them through '
    'larder_data.new_error.';
CREATE INDEX batch_detail_delta_batch ON larder_data.batch_detail_delta (batch_id, xid);
CREATE INDEX batch_detail_delta_xid ON larder_data.batch_detail_delta (xid);
ALTER TABLE larder_data.batch_detail_delta REPLICA IDENTITY FULL;

CREATE TABLE larder_data.batch_detail (
    batch_id bigint NOT NULL,
    n bigint NOT NULL,
    code int NOT NULL,
    domain text,
    CONSTRAINT batch_detail_key UNIQUE NULLS NOT DISTINCT (batch_id, domain, code)
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.batch_detail IS
    'Folded details: items by error; where domain is NULL, jobs by duration class, which is in code.';
ALTER TABLE larder_data.batch_detail REPLICA IDENTITY FULL;

CREATE TABLE larder_data.throughput (
    at timestamptz PRIMARY KEY,
    bytes_in bigint NOT NULL,
    bytes_out bigint NOT NULL,
    enqueued bigint NOT NULL,
    succeeded bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    reopened bigint NOT NULL DEFAULT 0,
    retries bigint NOT NULL,
    downloads bigint NOT NULL,
    variants bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.throughput IS
    'What the ledger gained per minute, in items, all batches together. reopened: failed items that were retried.';

CREATE VIEW larder_data.first_new AS
SELECT CASE WHEN f.xid <= pg_snapshot_xmax(pg_current_snapshot()) THEN f.xid ELSE '0' END AS xid
FROM (SELECT x.xid FROM larder_data.first_entry x ORDER BY x.xid DESC LIMIT 1) AS f;
COMMENT ON VIEW larder_data.first_new IS
    'The transaction at which new entries start; 0 where first_entry is from another server.';

CREATE VIEW larder_data.new_entry AS
SELECT d.* FROM larder_data.batch_delta d WHERE d.xid >= (SELECT f.xid FROM larder_data.first_new f);
COMMENT ON VIEW larder_data.new_entry IS 'The entries of the ledger that are not in batch_total.';

CREATE VIEW larder_data.new_error AS
SELECT d.* FROM larder_data.batch_detail_delta d WHERE d.xid >= (SELECT f.xid FROM larder_data.first_new f);
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

CREATE FUNCTION larder_data.move_first_entry(start xid8, oldest_running xid8) RETURNS void
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off AS $$
DECLARE
    last_start xid8 := (SELECT f.xid FROM larder_data.first_entry f ORDER BY f.xid DESC LIMIT 1);
    next_start xid8 := least(oldest_running,
        (SELECT min(d.xid) FROM larder_data.batch_delta d WHERE d.xid >= start),
        (SELECT min(d.xid) FROM larder_data.batch_detail_delta d WHERE d.xid >= start),
        (SELECT min(n.xid) FROM larder_data.new_ready n WHERE n.xid >= start));
BEGIN
    IF next_start <> last_start THEN
        UPDATE larder_data.first_entry f SET xid = next_start WHERE f.xid = last_start;
    END IF;
END $$;
COMMENT ON FUNCTION larder_data.move_first_entry IS
    'Sets first_entry to this transaction, or to the first entry that is left from start on, if that is lower.';

CREATE FUNCTION larder_data.maintenance_counts() RETURNS int
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off AS $$
DECLARE
    start xid8 := (SELECT f.xid FROM larder_data.first_new f);
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
            at, bytes_in, bytes_out, enqueued, succeeded, failed, cancelled, reopened, retries, downloads, variants)
        SELECT date_trunc('minute', clock_timestamp()), sum(d.bytes_in), sum(d.bytes_out), sum(d.total),
            sum(d.succeeded), sum(greatest(d.failed, 0)), sum(d.cancelled), sum(greatest(-d.failed, 0)),
            sum(d.retries), sum(d.downloads), sum(d.variants)
        FROM d HAVING count(*) > 0
        ON CONFLICT (at) DO UPDATE SET
            bytes_in = t.bytes_in + excluded.bytes_in, bytes_out = t.bytes_out + excluded.bytes_out,
            enqueued = t.enqueued + excluded.enqueued, succeeded = t.succeeded + excluded.succeeded,
            failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled,
            reopened = t.reopened + excluded.reopened, retries = t.retries + excluded.retries,
            downloads = t.downloads + excluded.downloads, variants = t.variants + excluded.variants
    ), by_duration AS (
        INSERT INTO larder_data.batch_detail AS t (batch_id, n, code)
        SELECT d.batch_id, sum(d.jobs), d.duration_class FROM d WHERE d.duration_class IS NOT NULL
        GROUP BY d.batch_id, d.duration_class ORDER BY d.batch_id, d.duration_class
        ON CONFLICT ON CONSTRAINT batch_detail_key DO UPDATE SET n = t.n + excluded.n
    ), by_batch AS (
        -- The first rate of a batch is the mean since it was opened.
        INSERT INTO larder_data.batch_total AS t (
            batch_id, bytes_in, bytes_out, total, succeeded, failed, cancelled, fresh, blocked, invalid, joined,
            retries, downloads, variants, last_at, worked_at, rate)
        SELECT d.batch_id, sum(d.bytes_in), sum(d.bytes_out), sum(d.total), sum(d.succeeded), sum(d.failed),
            sum(d.cancelled), sum(d.fresh), sum(d.blocked), sum(d.invalid), sum(d.joined), sum(d.retries),
            sum(d.downloads), sum(d.variants), max(d.at),
            max(d.at) FILTER (WHERE d.succeeded + d.failed + d.retries > d.fresh + d.blocked + d.invalid),
            greatest(sum(d.succeeded + d.failed - d.fresh - d.blocked - d.invalid), 0)
                / greatest(extract(epoch FROM clock_timestamp() - min(b.created_at)), 0.1)
        FROM d JOIN larder_data.batch b ON b.id = d.batch_id GROUP BY d.batch_id ORDER BY d.batch_id
        ON CONFLICT (batch_id) DO UPDATE SET
            bytes_in = t.bytes_in + excluded.bytes_in, bytes_out = t.bytes_out + excluded.bytes_out,
            total = t.total + excluded.total, succeeded = t.succeeded + excluded.succeeded,
            failed = t.failed + excluded.failed, cancelled = t.cancelled + excluded.cancelled,
            fresh = t.fresh + excluded.fresh, blocked = t.blocked + excluded.blocked, folded_at = DEFAULT,
            invalid = t.invalid + excluded.invalid, joined = t.joined + excluded.joined,
            retries = t.retries + excluded.retries, downloads = t.downloads + excluded.downloads,
            variants = t.variants + excluded.variants, last_at = greatest(t.last_at, excluded.last_at),
            worked_at = greatest(t.worked_at, excluded.worked_at),
            rate = larder_data.rate_after(t.rate, clock_timestamp() - t.folded_at, greatest(excluded.succeeded
                + excluded.failed - excluded.fresh - excluded.blocked - excluded.invalid, 0))
    )
    SELECT count(*) INTO moved FROM d;
    PERFORM larder_data.fold_errors(start);
    PERFORM larder_data.move_first_entry(start, oldest_running);
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
        b.paused_by,
        b.cancelled_at, b.finished_at,
        c.total, c.succeeded, c.failed,
        CASE WHEN b.cancelled_at IS NULL THEN c.cancelled ELSE c.total - c.succeeded - c.failed END AS cancelled,
        c.fresh, c.blocked, c.invalid, c.joined, c.retries, c.downloads, c.variants, c.bytes_in, c.bytes_out,
        t.rate, t.folded_at, t.succeeded + t.failed - t.fresh - t.blocked - t.invalid AS folded,
        greatest(t.last_at, d.last_at) AS last_at
    FROM larder_data.batch b
    LEFT JOIN larder_data.batch_total t ON t.batch_id = b.id
    LEFT JOIN (
        SELECT x.batch_id, sum(x.total) AS total, sum(x.succeeded) AS succeeded, sum(x.failed) AS failed,
            sum(x.cancelled) AS cancelled, sum(x.fresh) AS fresh, sum(x.blocked) AS blocked, sum(x.invalid) AS invalid,
            sum(x.joined) AS joined, sum(x.retries) AS retries, sum(x.downloads) AS downloads,
            sum(x.variants) AS variants, sum(x.bytes_in)::bigint AS bytes_in, sum(x.bytes_out)::bigint AS bytes_out,
            max(x.at) AS last_at
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
    'Counts per batch, exact at this instant. rate, folded_at: as in batch_total. folded: items in batch_total that '
    'jobs completed. last_at: when the counts last changed.';
