-- History: records of ended jobs and items and of failed attempts, in one partition per day, so that an expired day is
-- dropped as a whole.

CREATE TABLE larder_data.job_attempt (
    at timestamptz NOT NULL DEFAULT now(),
    job_id bigint NOT NULL,
    worker_id bigint NOT NULL,
    claim_no bigint NOT NULL,
    claimed_at timestamptz,
    attempt smallint NOT NULL,
    code int NOT NULL,
    http_status int,
    fetch_ms int,
    transcode_ms int,
    store_ms int,
    delay_ms bigint NOT NULL,
    domain text NOT NULL,
    message text,
    PRIMARY KEY (job_id, worker_id, claim_no, at)
) PARTITION BY RANGE (at);
COMMENT ON TABLE larder_data.job_attempt IS
    'Attempts that failed and were retried after delay_ms, by day (UTC), and those that ended as cancelled when their '
    'job was wanted again. The last attempt of a job is in job_history.';

CREATE TYPE larder_data.outcome AS ENUM ('succeeded', 'failed', 'cancelled');

-- 2^52, which a double holds and no job's id reaches. So one index separates the jobs and items of a batch.
CREATE SEQUENCE larder_data.item_id AS bigint MINVALUE 4503599627370496;
CREATE FUNCTION larder_data.is_item(record bigint) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN record >= 4503599627370496;

CREATE TABLE larder_data.job_history (
    finished_at timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL DEFAULT now(),
    discarded_at timestamptz,
    retried_as bigint,
    job_id bigint NOT NULL,
    of_job bigint,
    batch_id bigint NOT NULL,
    worker_id bigint,
    claim_no bigint,
    options bigint NOT NULL DEFAULT 0,
    bytes_in bigint NOT NULL DEFAULT 0,
    bytes_out bigint NOT NULL DEFAULT 0,
    pipeline_id int,
    origin_id int,
    items int NOT NULL DEFAULT 1,
    queue_ms int,
    wait_ms int,
    connection_wait_ms int,
    dns_ms int,
    fetch_ms int,
    transcoder_wait_ms int,
    transcode_ms int,
    store_ms int,
    code int,
    http_status int,
    cache_id int,
    retry_base_ms int,
    outcome larder_data.outcome NOT NULL,
    priority smallint,
    attempt smallint NOT NULL DEFAULT 0,
    max_attempts smallint,
    rescues smallint NOT NULL DEFAULT 0,
    downloads smallint NOT NULL DEFAULT 0,
    variants smallint NOT NULL DEFAULT 0,
    reason text CHECK (reason IN ('fresh', 'blocked', 'invalid', 'joined', 'cancelled')),
    url text NOT NULL,
    context json,
    meta json,
    traceparent text,
    domain text,
    message text,
    stored json,
    PRIMARY KEY (job_id, finished_at)
) PARTITION BY RANGE (finished_at);
COMMENT ON TABLE larder_data.job_history IS
    'The one record of each completed job, and of items that ended without a job of their own batch, by day (UTC). '
    'queue_ms: from enqueue to claim; wait_ms: from claim to load. cache_id: the cache that holds what was stored. '
    'retried_as: the later job that took its items over. discarded_at: when an operator dismissed the failure. '
    'max_attempts, retry_base_ms: of failures only. Of items: job_id is from the sequence item_id; reason is fresh, '
    'blocked, invalid, cancelled before their job ended, or joined to a job; of_job: that job, or the one that stored '
    'the files of a fresh item.';
CREATE INDEX job_history_batch ON larder_data.job_history (batch_id, job_id);
CREATE INDEX job_history_failed ON larder_data.job_history (batch_id, job_id)
    WHERE outcome = 'failed' AND retried_as IS NULL AND discarded_at IS NULL;
-- The newest failures of all batches.
CREATE INDEX job_history_failures ON larder_data.job_history (finished_at, job_id)
    WHERE outcome = 'failed' AND retried_as IS NULL AND discarded_at IS NULL;
CREATE INDEX job_history_url ON larder_data.job_history (hashtextextended(url, 0)) WHERE reason IS NULL;

-- The history tables have one partition per day and no default partition. A partition is created alone and then
-- attached, because CREATE TABLE ... PARTITION OF would lock the parent exclusively.
CREATE FUNCTION larder_data.maintenance_partitions() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    command text;
    created int := 0;
BEGIN
    PERFORM FROM larder_data.task t WHERE t.task = 'partitions' FOR UPDATE;
    FOR command IN
        SELECT format(
            'CREATE TABLE larder_data.%1$I (LIKE larder_data.%2$I INCLUDING DEFAULTS INCLUDING CONSTRAINTS); '
            'ALTER TABLE larder_data.%2$I ATTACH PARTITION larder_data.%1$I FOR VALUES FROM (%3$L) TO (%4$L)',
            n.part, k.parent, to_char(d.day, 'YYYY-MM-DD "00:00:00+00"'),
            to_char(d.day + 1, 'YYYY-MM-DD "00:00:00+00"'))
        FROM unnest('{job_history,job_attempt}'::text[]) AS k (parent), generate_series(-1, 35) AS i,
            LATERAL (SELECT (clock_timestamp() AT TIME ZONE 'UTC')::date + i AS day) AS d,
            LATERAL (SELECT k.parent || to_char(d.day, '_YYYYMMDD') AS part) AS n
        WHERE to_regclass('larder_data.' || n.part) IS NULL
    LOOP
        EXECUTE command;
        created := created + 1;
    END LOOP;
    RETURN created;
END $$;
SELECT larder_data.maintenance_partitions();

-- Creates the partitions for this transaction's day if missing: after a pause of weeks an enqueue or completion may
-- come before maintenance. LA010 if another open transaction is creating them and does not end within the time that an
-- operator's call waits for a lock.
CREATE FUNCTION larder_data.ensure_today() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    deadline timestamptz := clock_timestamp() + interval '1500 ms';
BEGIN
    WHILE to_regclass('larder_data.job_history_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NULL LOOP
        PERFORM FROM larder_data.task t WHERE t.task = 'partitions' FOR UPDATE SKIP LOCKED;
        IF FOUND THEN
            PERFORM larder_data.maintenance_partitions();
            RETURN;
        ELSIF clock_timestamp() > deadline THEN
            PERFORM larder_data.raise_locked('the table of today''s records', 'larder_data.task');
        ELSE
            PERFORM pg_sleep(0.01);
        END IF;
    END LOOP;
END $$;
