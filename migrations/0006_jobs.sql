-- The tables of live jobs.
--
-- A job is one wide row of `job`. Its state is one narrow row in exactly one of four small tables: ready, scheduled,
-- running, suspended. A state change moves the narrow row; the wide row changes only on a retry or join. An ended job
-- leaves these tables for job_history. State rows are only inserted and deleted, so a row found by its key can be
-- deleted by its ctid.

CREATE TABLE larder_data.origin (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    used_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
    name text NOT NULL UNIQUE
);
COMMENT ON TABLE larder_data.origin IS
    'Scheme, host and port in normal form, https://example.com:443; or a bucket, s3://images; or file://. used_on: a '
    'day (UTC) within a week of the last enqueue that named it. A job whose origin was purged takes the name from its '
    'URL.';

CREATE SEQUENCE larder_data.job_id AS bigint;

CREATE TABLE larder_data.job (
    id bigint PRIMARY KEY,
    batch_id bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    options bigint NOT NULL DEFAULT 0,
    cancelled_at timestamptz,
    not_after timestamptz,
    pipeline_id int NOT NULL,
    origin_id int NOT NULL,
    items int NOT NULL CHECK (items >= 0),
    retry_base_ms int,
    last_code int,
    queue_id smallint NOT NULL,
    priority smallint NOT NULL CHECK (priority BETWEEN 0 AND 9),
    attempt smallint NOT NULL DEFAULT 0,
    max_attempts smallint NOT NULL CHECK (max_attempts BETWEEN 1 AND 100),
    rescues smallint NOT NULL DEFAULT 0,
    crashes smallint NOT NULL DEFAULT 0,
    is_revived boolean NOT NULL DEFAULT false,
    key bytea NOT NULL UNIQUE,
    url text NOT NULL CHECK (octet_length(url) <= 8192),
    context json,
    meta json,
    traceparent text,
    last_domain text,
    last_message text
) WITH (fillfactor = 90);
COMMENT ON TABLE larder_data.job IS
    'Live jobs. items: items of the enqueue that made it; all others are in job_item. attempt: attempts used. crashes: '
    'transcoders that died on it. cancelled_at: cancelled while running, for its worker to stop. is_revived: joined '
    'after that, so a worker that reports it cancelled returns it to ready. not_after: it is not started later. '
    'last_*: the previous attempt. key: larder_data.job_key(). meta: the producer''s, which nothing reads. '
    'traceparent: the producer''s span, as W3C Trace Context writes it.';
CREATE INDEX job_batch ON larder_data.job (batch_id, id) WHERE items > 0;
-- Jobs needed only by items of job_item. Claims test whether there are any; mostly there are none.
CREATE INDEX job_without_items ON larder_data.job (id) WHERE items = 0;
CREATE INDEX job_not_after ON larder_data.job (not_after) WHERE not_after IS NOT NULL;

CREATE TABLE larder_data.ready (
    job_id bigint PRIMARY KEY,
    turn bigint NOT NULL,
    lane int NOT NULL,
    origin_id int NOT NULL
);
COMMENT ON TABLE larder_data.ready IS
    'Jobs that may be claimed, in the order of their turns. lane: ten times the queue, plus the priority. turn: the '
    'jobs of a batch have consecutive turns, from where claims stand when they are enqueued, so that batches of one '
    'priority take turns; in a lifo queue less than 0, the newest job first.';
CREATE INDEX ready_turn ON larder_data.ready (lane, turn, job_id);

CREATE TABLE larder_data.claim_cursor (
    queue_id smallint NOT NULL,
    number bigint NOT NULL DEFAULT 0,
    turns bigint[] NOT NULL,
    last_job bigint NOT NULL DEFAULT 0,
    valid_until timestamptz NOT NULL,
    PRIMARY KEY (queue_id, number)
);
COMMENT ON TABLE larder_data.claim_cursor IS
    'One versioned row per queue, see schema.sql: per priority 0 to 9 the turn up to which nothing was ready. Claims '
    'start behind it, so that they do not read the dead rows that an old snapshot keeps from vacuum. Not used after '
    'valid_until, when maintenance does not run. last_job: the last id given out at that walk.';

CREATE VIEW larder_data.current_cursor AS
SELECT q.id AS queue_id, c.number, c.turns, c.last_job, c.valid_until FROM larder_data.queue q, LATERAL (
    SELECT * FROM larder_data.claim_cursor x WHERE x.queue_id = q.id ORDER BY x.number DESC LIMIT 1) AS c;

CREATE TABLE larder_data.scheduled (
    run_at timestamptz NOT NULL,
    job_id bigint PRIMARY KEY
);
COMMENT ON TABLE larder_data.scheduled IS
    'Jobs that become ready at a time: enqueued for later, or between two attempts.';
CREATE INDEX scheduled_due ON larder_data.scheduled (run_at);

CREATE TABLE larder_data.running (
    job_id bigint PRIMARY KEY,
    worker_id bigint NOT NULL,
    claim_no bigint NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    origin_id int NOT NULL,
    queue_id smallint NOT NULL
);
COMMENT ON TABLE larder_data.running IS
    'Jobs that a worker holds. (job_id, worker_id, claim_no) is the fence: a result that names another claim is stale.';
-- In claim order, so that a worker's jobs are found behind the dead rows of its earlier claims, see
-- worker.oldest_claim.
CREATE INDEX running_claim ON larder_data.running (worker_id, claim_no);

CREATE TABLE larder_data.suspended (
    job_id bigint PRIMARY KEY,
    reason text NOT NULL CHECK (reason IN ('paused', 'cancelled', 'crashed')),
    suspended_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE larder_data.suspended IS
    'Jobs that do not run. paused: every batch that has it is paused. cancelled: no batch has it, or it was '
    'cancelled while running and came back, or its not_after has passed; maintenance ends it. crashed: lost with its '
    'worker rescue_limit times; larder.retry() or larder.cancel() decide.';
CREATE INDEX suspended_reason ON larder_data.suspended (reason, job_id);
