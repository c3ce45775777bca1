-- The tables of live jobs.
--
-- A job is one wide row of `job`. Its state is one narrow row in exactly one of four small tables: ready, scheduled,
-- running, suspended. A change of state moves the narrow row; the wide row changes only on a retry or a join. A job
-- that ends leaves these tables for job_history.
--
-- Within a priority, ready jobs run in the order of their ids. A job that returns to ready keeps its id and therefore
-- its place.

CREATE TABLE larder_data.origin (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);
COMMENT ON TABLE larder_data.origin IS
    'Scheme, host and port in normal form, https://example.com:443; or a bucket, s3://images.';

CREATE SEQUENCE larder_data.job_id AS bigint;

CREATE TABLE larder_data.job (
    id bigint PRIMARY KEY,
    batch_id bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    options bigint NOT NULL DEFAULT 0,
    cancelled_at timestamptz,
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
    has_subscribers boolean NOT NULL DEFAULT false,
    is_revived boolean NOT NULL DEFAULT false,
    key bytea NOT NULL UNIQUE,
    url text NOT NULL CHECK (octet_length(url) <= 8192),
    context json,
    meta json,
    last_domain text,
    last_message text
) WITH (fillfactor = 90);
COMMENT ON TABLE larder_data.job IS
    'Live jobs. items: items of its own batch that wait for it. attempt: attempts used. crashes: transcoders that died '
    'on it. cancelled_at: cancelled while running, for its worker to stop. is_revived: joined after that, so a worker '
    'that reports it cancelled returns it to ready. last_*: the previous attempt. key: larder_data.job_key(). meta: '
    'the producer''s, of the first item of its batch that has one; nothing reads it.';
CREATE INDEX job_batch ON larder_data.job (batch_id, id) WHERE items > 0;
CREATE INDEX job_without_items ON larder_data.job (id) WHERE items = 0;
COMMENT ON INDEX larder_data.job_without_items IS
    'Running jobs whose own batch was cancelled. Claims test whether there are any; mostly there are none.';

CREATE TABLE larder_data.job_subscriber (
    job_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    items int NOT NULL CHECK (items > 0),
    meta json,
    PRIMARY KEY (job_id, batch_id)
);
COMMENT ON TABLE larder_data.job_subscriber IS
    'Items of other batches that joined a job. Written only while the job''s row is locked.';
CREATE INDEX job_subscriber_batch ON larder_data.job_subscriber (batch_id, job_id);

CREATE TABLE larder_data.ready (
    queue_id smallint NOT NULL,
    priority smallint NOT NULL,
    job_id bigint NOT NULL,
    turn bigint NOT NULL,
    PRIMARY KEY (queue_id, priority, job_id)
);
COMMENT ON TABLE larder_data.ready IS
    'Jobs that may be claimed. turn: the jobs of a batch have consecutive turns, from where claims stand when they are '
    'enqueued, so that batches of one priority take turns. Rows are never updated, so that a locked row keeps its '
    'ctid.';
CREATE INDEX ready_turn ON larder_data.ready ((queue_id * 10 + priority), turn, (job_id + 0));
COMMENT ON INDEX larder_data.ready_turn IS
    'Expressions, so that no plan looks up a job, or a range of jobs, here, where its id comes behind the turn: such a '
    'search would read the whole index.';

CREATE TABLE larder_data.claim_cursor (
    queue_id smallint NOT NULL,
    number bigint NOT NULL DEFAULT 0,
    positions bigint[] NOT NULL,
    turns bigint[] NOT NULL,
    updated_at timestamptz NOT NULL,
    PRIMARY KEY (queue_id, number)
);
COMMENT ON TABLE larder_data.claim_cursor IS
    'One row per queue: per priority 0 to 9 the id, and the turn, up to which nothing was ready at updated_at, except '
    'what larder_data.new_ready names. Claims start behind it, so that they do not read the dead rows that an old '
    'snapshot keeps from vacuum. number: increases with each update, see schema.sql.';

CREATE VIEW larder_data.current_cursor AS
SELECT q.id AS queue_id, c.number, c.positions, c.turns, c.updated_at FROM larder_data.queue q, LATERAL (
    SELECT * FROM larder_data.claim_cursor x WHERE x.queue_id = q.id ORDER BY x.number DESC LIMIT 1) AS c;
COMMENT ON VIEW larder_data.current_cursor IS 'The cursors of the queues that have one.';

CREATE TABLE larder_data.new_ready (
    xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
    queue_id smallint NOT NULL,
    priority smallint NOT NULL,
    job_id bigint NOT NULL,
    turn bigint NOT NULL
);
COMMENT ON TABLE larder_data.new_ready IS
    'Per transaction, queue and priority the lowest job and turn that it made ready. Never updated. The task '
    '''claims'' reads it once the transaction has committed, from larder_data.first_entry on, and starts claims no '
    'later.';
CREATE INDEX new_ready_xid ON larder_data.new_ready (xid);
ALTER TABLE larder_data.new_ready REPLICA IDENTITY FULL;

CREATE TABLE larder_data.scheduled (
    run_at timestamptz NOT NULL,
    job_id bigint PRIMARY KEY
);
COMMENT ON TABLE larder_data.scheduled IS
    'Jobs that become ready at a time: enqueued for later, or between two attempts.';
CREATE INDEX scheduled_due ON larder_data.scheduled (run_at);

CREATE TABLE larder_data.running (
    worker_id bigint NOT NULL,
    job_id bigint NOT NULL,
    claim_no bigint NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    queue_id smallint NOT NULL,
    is_limited boolean NOT NULL,
    PRIMARY KEY (worker_id, claim_no, job_id)
);
COMMENT ON TABLE larder_data.running IS
    'Jobs that a worker holds. (worker_id, job_id, claim_no) is the fence: a result that names another claim is stale. '
    'In the order of the claims, so that what a worker holds is found behind the dead rows of its earlier claims, see '
    'worker.oldest_claim. queue_id: the queue of the job. is_limited: claimed while the queue had a limit. Rows are '
    'never updated.';
CREATE INDEX running_limited ON larder_data.running (queue_id) WHERE is_limited;
COMMENT ON INDEX larder_data.running_limited IS
    'Counts the running jobs of a queue. Partial, so that a queue without limits does not pay for it.';

CREATE TABLE larder_data.suspended (
    job_id bigint PRIMARY KEY,
    reason text NOT NULL CHECK (reason IN ('paused', 'cancelled', 'crashed')),
    suspended_at timestamptz NOT NULL DEFAULT now()
);
COMMENT ON TABLE larder_data.suspended IS
    'Jobs that do not run. paused: every batch that has it is paused. cancelled: no batch has it, or it was '
    'cancelled while running and came back; maintenance ends it. crashed: lost with its worker rescue_limit times; '
    'larder.retry() or larder.cancel() decide. Rows are never updated.';
CREATE INDEX suspended_reason ON larder_data.suspended (reason, job_id);
