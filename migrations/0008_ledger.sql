-- The ledger: the counts of batches.
--
-- Each transaction inserts rows of differences into batch_delta, and maintenance folds them into batch_total. No
-- transaction updates a shared row, and totals are exact because the differences commit with the change that they
-- count. While an old snapshot is open, folded entries are dead rows, and the fold, which reads all of them, slows
-- down.
--
-- A batch whose entries cannot be summed is kept in batch_fault, for health, and retried every minute; the other
-- batches continue.

-- Columns are in items. succeeded includes fresh; failed includes blocked and invalid.
CREATE TABLE larder_data.batch_delta (
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
    code int,
    domain text,
    at timestamptz NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON TABLE larder_data.batch_delta IS
    'New entries of the ledger, never updated. jobs: how many took a time of duration_class from claim to completion, '
    'see larder_data.duration_class(). domain, code: the error of the failed items. at: when it was inserted.';
CREATE INDEX batch_delta_batch ON larder_data.batch_delta (batch_id);
ALTER TABLE larder_data.batch_delta REPLICA IDENTITY FULL;

CREATE TABLE larder_data.batch_fault (
    batch_id bigint PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    error text NOT NULL
);
COMMENT ON TABLE larder_data.batch_fault IS 'Batches whose entries cannot be added up, and why, as of the last try.';

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
    last_job bigint NOT NULL DEFAULT 0,
    rate double precision NOT NULL DEFAULT 0,
    folded_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    last_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    worked_at timestamptz
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.batch_total IS
    'Folded entries of the ledger. rate: items that jobs completed per second at folded_at, an exponential mean over '
    '30 s. last_at: when the last entry was inserted; worked_at: the last one by which a job ended or is tried again. '
    'last_job: the last id of a job given out before the fold, see larder_data.turns_before().';

CREATE TABLE larder_data.batch_detail (
    batch_id bigint NOT NULL,
    n bigint NOT NULL,
    code int NOT NULL,
    domain text,
    CONSTRAINT batch_detail_key UNIQUE NULLS NOT DISTINCT (batch_id, domain, code)
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.batch_detail IS
    'Folded details: failed items by error; where domain is NULL, jobs by duration class, which is in code.';
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

-- An exponential mean per second over 30 s, updated with the items finished in the passed time. At least e^-100: after
-- some hours without entries the exponential would raise an underflow error.
CREATE FUNCTION larder_data.rate_after(rate double precision, passed interval, finished bigint) RETURNS double precision
LANGUAGE sql IMMUTABLE BEGIN ATOMIC
    SELECT rate * weight + finished / seconds * (1 - weight) FROM (
        SELECT seconds, exp(-least(seconds / 30, 100)) AS weight
        FROM (SELECT greatest(extract(epoch FROM passed)::double precision, 0.01) AS seconds) AS s) AS w;
END;

-- only_batch: the entries of one batch; else of all but those in batch_fault.
CREATE FUNCTION larder_data.fold_entries(only_batch bigint DEFAULT NULL) RETURNS int
LANGUAGE plpgsql SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
DECLARE
    last_job CONSTANT bigint := (SELECT s.last_value FROM larder_data.job_id s);
    moved int;
BEGIN
    WITH d AS (
        DELETE FROM larder_data.batch_delta x WHERE x.ctid = ANY (ARRAY(
            SELECT y.ctid FROM larder_data.batch_delta y
            WHERE CASE WHEN only_batch IS NOT NULL THEN y.batch_id = only_batch
                ELSE y.batch_id <> ALL (ARRAY(SELECT f.batch_id FROM larder_data.batch_fault f)) END
            LIMIT 20000 FOR UPDATE SKIP LOCKED))
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
    ), by_detail AS (
        INSERT INTO larder_data.batch_detail AS t (batch_id, n, code, domain)
        SELECT d.batch_id, sum(coalesce(nullif(d.jobs, 0), d.failed)), coalesce(d.duration_class, d.code) AS code,
            d.domain
        FROM d WHERE d.duration_class IS NOT NULL OR d.domain IS NOT NULL
        GROUP BY d.batch_id, d.domain, 3 ORDER BY d.batch_id, d.domain, 3
        ON CONFLICT ON CONSTRAINT batch_detail_key DO UPDATE SET n = t.n + excluded.n
    ), by_batch AS (
        -- A batch's first rate is the mean since it was opened.
        INSERT INTO larder_data.batch_total AS t (
            batch_id, bytes_in, bytes_out, total, succeeded, failed, cancelled, fresh, blocked, invalid, joined,
            retries, downloads, variants, last_job, last_at, worked_at, rate)
        SELECT d.batch_id, sum(d.bytes_in), sum(d.bytes_out), sum(d.total), sum(d.succeeded), sum(d.failed),
            sum(d.cancelled), sum(d.fresh), sum(d.blocked), sum(d.invalid), sum(d.joined), sum(d.retries),
            sum(d.downloads), sum(d.variants), last_job, max(d.at),
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
            variants = t.variants + excluded.variants, last_job = excluded.last_job,
            last_at = greatest(t.last_at, excluded.last_at), worked_at = greatest(t.worked_at, excluded.worked_at),
            rate = larder_data.rate_after(t.rate, clock_timestamp() - t.folded_at, greatest(excluded.succeeded
                + excluded.failed - excluded.fresh - excluded.blocked - excluded.invalid, 0))
    )
    SELECT count(*) INTO moved FROM d;
    RETURN moved;
END $$;

CREATE FUNCTION larder_data.maintenance_counts() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    began_at CONSTANT timestamptz := clock_timestamp();
    moved int := 0;
    alone bigint[] := ARRAY(
        SELECT f.batch_id FROM larder_data.batch_fault f WHERE f.at < clock_timestamp() - interval '1 min' LIMIT 10);
    batch_no bigint;
BEGIN
    BEGIN
        moved := larder_data.fold_entries();
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
        alone := alone || ARRAY(SELECT DISTINCT d.batch_id FROM larder_data.batch_delta d LIMIT 1000);
    END;
    FOREACH batch_no IN ARRAY alone LOOP
        BEGIN
            moved := moved + larder_data.fold_entries(batch_no);
            DELETE FROM larder_data.batch_fault f WHERE f.batch_id = batch_no;
        EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN
            INSERT INTO larder_data.batch_fault AS f (batch_id, error) VALUES (batch_no, left(SQLERRM, 500))
            ON CONFLICT (batch_id) DO UPDATE SET at = excluded.at, error = excluded.error;
        END;
    END LOOP;
    IF moved >= 20000 THEN
        PERFORM larder_data.change_task('counts', clock_timestamp());
    ELSE
        PERFORM larder_data.reschedule('counts', began_at, '1 s', 10);
    END IF;
    RETURN moved;
END $$;

-- Counts per batch, exact at this instant: folded plus new entries. rate, folded_at: as in batch_total. folded: items
-- in batch_total completed by jobs. last_at: when the counts last changed. In a cancelled batch every open item counts
-- as cancelled: maintenance ends its jobs later. The new entries are summed in one pass instead of a lookup per batch;
-- a condition on batch_id is applied in that pass.
CREATE VIEW larder_data.ledger AS
SELECT b.id AS batch_id, b.name, b.run, b.owner, b.daily, b.queue_id, b.created_at, b.sealed_at, b.paused_at,
    b.paused_by, b.cancelled_at, b.finished_at, c.total, c.succeeded, c.failed,
    c.cancelled + CASE WHEN b.cancelled_at IS NULL THEN 0 ELSE c.open END AS cancelled,
    CASE WHEN b.cancelled_at IS NULL THEN c.open ELSE 0 END AS open,
    coalesce(t.fresh, 0) + coalesce(d.fresh, 0) AS fresh, coalesce(t.blocked, 0) + coalesce(d.blocked, 0) AS blocked,
    coalesce(t.invalid, 0) + coalesce(d.invalid, 0) AS invalid, coalesce(t.joined, 0) + coalesce(d.joined, 0) AS joined,
    coalesce(t.retries, 0) + coalesce(d.retries, 0) AS retries,
    coalesce(t.downloads, 0) + coalesce(d.downloads, 0) AS downloads,
    coalesce(t.variants, 0) + coalesce(d.variants, 0) AS variants,
    coalesce(t.bytes_in, 0) + coalesce(d.bytes_in, 0) AS bytes_in,
    coalesce(t.bytes_out, 0) + coalesce(d.bytes_out, 0) AS bytes_out,
    t.rate, t.folded_at, t.succeeded + t.failed - t.fresh - t.blocked - t.invalid AS folded,
    greatest(t.last_at, d.last_at) AS last_at
FROM larder_data.batch b
LEFT JOIN larder_data.batch_total t ON t.batch_id = b.id
LEFT JOIN (
    SELECT x.batch_id, sum(x.total) AS total, sum(x.succeeded) AS succeeded, sum(x.failed) AS failed,
        sum(x.cancelled) AS cancelled, sum(x.fresh) AS fresh, sum(x.blocked) AS blocked, sum(x.invalid) AS invalid,
        sum(x.joined) AS joined, sum(x.retries) AS retries, sum(x.downloads) AS downloads, sum(x.variants) AS variants,
        sum(x.bytes_in)::bigint AS bytes_in, sum(x.bytes_out)::bigint AS bytes_out, max(x.at) AS last_at
    FROM larder_data.batch_delta x GROUP BY x.batch_id) AS d ON d.batch_id = b.id
CROSS JOIN LATERAL (
    SELECT s.*, s.total - s.succeeded - s.failed - s.cancelled AS open
    FROM (SELECT coalesce(t.total, 0) + coalesce(d.total, 0) AS total,
        coalesce(t.succeeded, 0) + coalesce(d.succeeded, 0) AS succeeded,
        coalesce(t.failed, 0) + coalesce(d.failed, 0) AS failed,
        coalesce(t.cancelled, 0) + coalesce(d.cancelled, 0) AS cancelled) AS s) AS c
WHERE NOT b.is_deleted;
