-- History: the records of jobs and items that ended and of attempts that failed, in one partition per day, so that a
-- day past its retention is dropped as a whole.

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

CREATE TABLE larder_data.job_history (
    finished_at timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL,
    discarded_at timestamptz,
    retried_as bigint,
    job_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    worker_id bigint,
    claim_no bigint,
    options bigint NOT NULL,
    bytes_in bigint NOT NULL DEFAULT 0,
    bytes_out bigint NOT NULL DEFAULT 0,
    pipeline_id int NOT NULL,
    origin_id int NOT NULL,
    items int NOT NULL,
    queue_ms int,
    wait_ms int,
    fetch_ms int,
    transcode_ms int,
    store_ms int,
    code int,
    http_status int,
    cache_id int,
    retry_base_ms int,
    outcome smallint NOT NULL CHECK (outcome BETWEEN 1 AND 3),
    priority smallint NOT NULL,
    attempt smallint NOT NULL,
    max_attempts smallint,
    rescues smallint NOT NULL,
    downloads smallint NOT NULL DEFAULT 0,
    variants smallint NOT NULL DEFAULT 0,
    url text NOT NULL,
    context json,
    meta json,
    domain text,
    message text,
    stored json,
    PRIMARY KEY (job_id, finished_at)
) PARTITION BY RANGE (finished_at);
COMMENT ON TABLE larder_data.job_history IS
    'The one record of each completed job, by day (UTC). outcome: 1 succeeded, 2 failed, 3 cancelled. queue_ms: from '
    'enqueue to claim; wait_ms: from claim to fetch. cache_id: the cache that holds what was stored. retried_as: the '
    'later job that took its items over. discarded_at: when an operator dismissed the failure. max_attempts, '
    'retry_base_ms: of failures only.';
CREATE INDEX job_history_batch ON larder_data.job_history (batch_id, job_id);
CREATE INDEX job_history_failed ON larder_data.job_history (batch_id, job_id)
    WHERE outcome = 2 AND retried_as IS NULL AND discarded_at IS NULL;
CREATE INDEX job_history_failures ON larder_data.job_history (finished_at, job_id)
    WHERE outcome = 2 AND retried_as IS NULL AND discarded_at IS NULL;
COMMENT ON INDEX larder_data.job_history_failures IS 'The newest failures of all batches, with item_history_failures.';
CREATE INDEX job_history_stored ON larder_data.job_history (hashtextextended(url, 0))
    WHERE outcome = 1 AND cache_id IS NOT NULL;

CREATE SEQUENCE larder_data.item_id AS bigint;

CREATE TABLE larder_data.item_history (
    finished_at timestamptz NOT NULL DEFAULT now(),
    discarded_at timestamptz,
    retried_as bigint,
    id bigint NOT NULL,
    batch_id bigint NOT NULL,
    job_id bigint,
    items int NOT NULL DEFAULT 1,
    pipeline_id int,
    code int,
    outcome smallint NOT NULL CHECK (outcome BETWEEN 1 AND 3),
    attempt smallint NOT NULL DEFAULT 0,
    reason text NOT NULL CHECK (reason IN ('fresh', 'blocked', 'invalid', 'joined', 'cancelled')),
    url text NOT NULL,
    meta json,
    domain text,
    message text,
    stored json,
    PRIMARY KEY (batch_id, id, finished_at)
) PARTITION BY RANGE (finished_at);
COMMENT ON TABLE larder_data.item_history IS
    'Items that ended without a job of their own batch, by day (UTC): fresh, blocked, invalid, cancelled before their '
    'job ended, or joined to another batch''s job. Columns as in job_history. pipeline_id: of blocked items only.';
CREATE INDEX item_history_failed ON larder_data.item_history (batch_id, id)
    WHERE outcome = 2 AND retried_as IS NULL AND discarded_at IS NULL;
CREATE INDEX item_history_failures ON larder_data.item_history (finished_at, id)
    WHERE outcome = 2 AND retried_as IS NULL AND discarded_at IS NULL;
CREATE INDEX item_history_joined ON larder_data.item_history (job_id) WHERE outcome = 2 AND reason = 'joined';
COMMENT ON INDEX larder_data.item_history_joined IS
    'Failures that can be retried only with the record of the job that another batch''s items joined.';

-- The tables of history have one partition per day and no default partition. A partition is created beside its parent
-- and then attached, because CREATE TABLE ... PARTITION OF would lock the parent exclusively.
CREATE FUNCTION larder_data.maintenance_partitions() RETURNS int
LANGUAGE plpgsql AS $$
DECLARE
    today date := (clock_timestamp() AT TIME ZONE 'UTC')::date;
    parent text;
    part text;
    created int := 0;
BEGIN
    PERFORM FROM larder_data.task t WHERE t.task = 'partitions' FOR UPDATE;
    FOREACH parent IN ARRAY '{job_history,item_history,job_attempt}'::text[] LOOP
        FOR i IN -1 .. 7 LOOP
            part := parent || '_' || to_char(today + i, 'YYYYMMDD');
            CONTINUE WHEN to_regclass('larder_data.' || part) IS NOT NULL;
            EXECUTE format('CREATE TABLE larder_data.%I (LIKE larder_data.%I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)',
                part, parent);
            EXECUTE format('ALTER TABLE larder_data.%I ATTACH PARTITION larder_data.%I FOR VALUES FROM (%L) TO (%L)',
                parent, part, to_char(today + i, 'YYYY-MM-DD "00:00:00+00"'),
                to_char(today + i + 1, 'YYYY-MM-DD "00:00:00+00"'));
            created := created + 1;
        END LOOP;
    END LOOP;
    RETURN created;
END $$;
COMMENT ON FUNCTION larder_data.maintenance_partitions IS
    'Creates the missing partitions from yesterday to seven days ahead.';
SELECT larder_data.maintenance_partitions();

-- After a pause of weeks an enqueue or a completion may come before maintenance. Another open transaction may be
-- creating the partitions: its end is awaited no longer than an operator's call waits for a lock.
CREATE FUNCTION larder_data.ensure_today() RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    deadline timestamptz := clock_timestamp() + interval '1500 ms';
BEGIN
    WHILE to_regclass('larder_data.item_history_' || to_char(now() AT TIME ZONE 'UTC', 'YYYYMMDD')) IS NULL LOOP
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
COMMENT ON FUNCTION larder_data.ensure_today IS
    'Creates the partitions for this transaction''s day if they are missing; LA010 if another transaction does so and '
    'does not end.';
