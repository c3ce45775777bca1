-- The tables.
--
-- Schema larder holds the functions and views, which are the contract. Schema larder_data holds the tables and helper
-- functions, which any migration may change.
--
-- A job is one wide row of `job`. Its state is one narrow row in exactly one of four small tables: ready, scheduled,
-- running, suspended. A change of state moves the narrow row; the wide row changes only on a retry or a join. A job
-- that ends leaves these tables for job_history, partitioned by day.
--
-- Within a priority, ready jobs run in the order of their ids. A job that returns to ready keeps its id and therefore
-- its place.
--
-- Counts of a batch are a ledger: each transaction inserts rows of differences into batch_delta, and maintenance folds
-- them into batch_total. No transaction updates a shared row, and totals are exact because the differences commit with
-- the change that they count.
--
-- Each table has a replica identity, so that a publication of all tables does not refuse updates and deletes: its
-- primary key, or else the whole row, which costs nothing without a publication.
--
-- The tables that jobs pass through have no foreign keys, which would cost an index probe and a row lock per job;
-- larder.check() verifies the same. There are no triggers and no session state, so everything works through pgbouncer
-- in transaction mode. All times are the database's.

DO $$
BEGIN
    -- A URL is its bytes; only with UTF8 on both sides do they pass unchanged.
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'Larder needs a database in UTF8, this one is in %', current_setting('server_encoding');
    END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS larder_data;
COMMENT ON SCHEMA larder_data IS 'Tables and helper functions of Larder, private to it.';
CREATE SCHEMA larder;
COMMENT ON SCHEMA larder IS 'Functions and views of Larder, its contract.';

CREATE TABLE larder_data.settings (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    protocol_oldest int NOT NULL,
    protocol_newest int NOT NULL,
    lease_ms int NOT NULL DEFAULT 15000 CHECK (lease_ms >= 10000),
    rescue_limit int NOT NULL DEFAULT 5 CHECK (rescue_limit > 0),
    retry_base_ms int NOT NULL DEFAULT 1000 CHECK (retry_base_ms >= 0),
    retry_cap_ms int NOT NULL DEFAULT 900000 CHECK (retry_cap_ms >= 0),
    retry_after_cap_ms int NOT NULL DEFAULT 3600000 CHECK (retry_after_cap_ms >= 0),
    block_cap interval NOT NULL DEFAULT '30 days',
    keep_history interval NOT NULL DEFAULT '30 days' CHECK (keep_history >= '1 day'),
    keep_attempts interval NOT NULL DEFAULT '14 days' CHECK (keep_attempts >= '1 day'),
    held_after interval NOT NULL DEFAULT '60 s'
);
COMMENT ON TABLE larder_data.settings IS
    'One row: the worker protocols offered, and settings for all queues. lease_ms: at least two heartbeat intervals of '
    '5 s. held_after: health lists transactions older than this.';
INSERT INTO larder_data.settings (protocol_oldest, protocol_newest) VALUES (1, 1);

CREATE TABLE larder_data.queue (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    lifo boolean NOT NULL DEFAULT false,
    low_every smallint NOT NULL DEFAULT 8 CHECK (low_every >= 0),
    job_timeout interval NOT NULL DEFAULT '10 min' CHECK (job_timeout >= '1 s'),
    paused_at timestamptz,
    max_running int CHECK (max_running > 0),
    max_rate double precision CHECK (max_rate > 0 AND max_rate < 'Infinity')
);
COMMENT ON TABLE larder_data.queue IS
    'The queues. lifo: newest first within a priority. low_every: every Nth claim starts at one of the lower '
    'priorities, each in turn, 0 never. job_timeout: a worker that holds a job for longer loses it. max_running: jobs '
    'that run at once, with all workers; max_rate: jobs that are claimed per second; NULL without limit.';
INSERT INTO larder_data.queue (name) VALUES ('default');

CREATE TABLE larder_data.claim_limit (
    queue_id smallint PRIMARY KEY,
    tokens double precision NOT NULL DEFAULT 0,
    updated_at timestamptz NOT NULL DEFAULT 'epoch',
    before xid8
) WITH (fillfactor = 30);
COMMENT ON TABLE larder_data.claim_limit IS
    'One row per queue that has or had a limit. A claim of such a queue that may take jobs locks the row, and updates '
    'it when it takes some. tokens: jobs that max_rate allowed at updated_at. before: transactions below this may have '
    'claimed jobs without a limit that still run; NULL: none. Not the row of the queue, so that an open transaction of '
    'an operator delays no claim.';

CREATE TABLE larder_data.pipeline (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    version int NOT NULL DEFAULT 1,
    spec json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (name, version)
);
COMMENT ON TABLE larder_data.pipeline IS
    'Versions of pipelines, never updated. spec is json because jsonb would change the spelling of numbers (-0.0).';
INSERT INTO larder_data.pipeline (name, spec) VALUES ('original', '{"name":"original","variants":[]}');

CREATE TABLE larder_data.origin (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);
COMMENT ON TABLE larder_data.origin IS 'Scheme, host and port in normal form, https://example.com:443.';

CREATE TABLE larder_data.batch (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text CHECK (name <> ''),
    run int NOT NULL DEFAULT 1 CHECK (run > 0),
    owner text,
    queue_id smallint NOT NULL,
    pipeline_id int,
    priority smallint CHECK (priority BETWEEN 0 AND 9),
    daily date,
    created_at timestamptz NOT NULL DEFAULT now(),
    sealed_at timestamptz,
    paused_at timestamptz,
    cancelled_at timestamptz,
    finished_at timestamptz,
    is_deleted boolean NOT NULL DEFAULT false,
    UNIQUE (name, run)
) WITH (fillfactor = 70);
COMMENT ON TABLE larder_data.batch IS
    'The jobs enqueued together. run: a name is used again when its batch is over; it means the highest run. owner: '
    'the role that opened the batch, NULL for a daily batch. daily: set for the default batch of a queue and day. '
    'is_deleted: hidden, to be deleted.';

CREATE TABLE larder_data.batch_notify (
    batch_id bigint NOT NULL,
    id bigint GENERATED ALWAYS AS IDENTITY,
    PRIMARY KEY (batch_id, id)
);
COMMENT ON TABLE larder_data.batch_notify IS
    'Batches whose id is sent on channel larder_batch when they are finished. Rows of their own, so that no producer '
    'locks a batch.';
CREATE INDEX batch_over ON larder_data.batch (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX batch_deleted ON larder_data.batch (id) WHERE is_deleted;
CREATE INDEX batch_unfinished ON larder_data.batch (id) WHERE finished_at IS NULL;
CREATE INDEX batch_held ON larder_data.batch (id)
    WHERE finished_at IS NULL AND (paused_at IS NOT NULL OR cancelled_at IS NOT NULL);

CREATE TABLE larder_data.batch_source (
    batch_id bigint NOT NULL,
    urls bigint NOT NULL,
    name text NOT NULL,
    last_url text NOT NULL,
    PRIMARY KEY (batch_id, name)
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.batch_source IS
    'Lists that are being enqueued in several calls: how many of their URLs are enqueued, and the last one. Updated in '
    'the transaction of each call, so that a producer can resume; deleted at the end of the list.';

CREATE TABLE larder_data.adding (
    bucket smallint NOT NULL,
    place smallint NOT NULL,
    PRIMARY KEY (bucket, place)
);
COMMENT ON TABLE larder_data.adding IS
    'Row locks only, see 0015: a transaction that adds to batch b locks one row of bucket b % 256, or of bucket 256 '
    'while those are locked.';
INSERT INTO larder_data.adding SELECT b, p FROM generate_series(0, 255) AS b, generate_series(1, 16) AS p
UNION ALL SELECT 256, p FROM generate_series(1, 256) AS p;

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
    last_domain text,
    last_message text
) WITH (fillfactor = 90);
COMMENT ON TABLE larder_data.job IS
    'Live jobs. items: items of its own batch that wait for it. attempt: attempts used. crashes: transcoders that died '
    'on it. cancelled_at: cancelled while running, for its worker to stop. is_revived: joined after that, so a worker '
    'that reports it cancelled returns it to ready. last_*: the previous attempt. key: larder_data.job_key().';
CREATE INDEX job_batch ON larder_data.job (batch_id, id) WHERE items > 0;
CREATE INDEX job_without_items ON larder_data.job (id) WHERE items = 0;
COMMENT ON INDEX larder_data.job_without_items IS
    'Running jobs whose own batch was cancelled. Claims test whether there are any; mostly there are none.';

CREATE TABLE larder_data.job_subscriber (
    job_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    items int NOT NULL CHECK (items > 0),
    PRIMARY KEY (job_id, batch_id)
);
COMMENT ON TABLE larder_data.job_subscriber IS
    'Items of other batches that joined a job. Written only while the job''s row is locked.';
CREATE INDEX job_subscriber_batch ON larder_data.job_subscriber (batch_id, job_id);

CREATE TABLE larder_data.job_join (
    id bigint GENERATED ALWAYS AS IDENTITY,
    job_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    due timestamptz,
    items int NOT NULL CHECK (items > 0),
    priority smallint NOT NULL,
    PRIMARY KEY (job_id, id)
);
COMMENT ON TABLE larder_data.job_join IS
    'Items that joined a live job and are not added to it yet, see 0015. due: when they are to run, NULL at once.';
CREATE INDEX job_join_batch ON larder_data.job_join (batch_id);

CREATE TABLE larder_data.late_enqueue (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    batch_id bigint NOT NULL,
    due timestamptz,
    template json NOT NULL,
    urls text[] NOT NULL,
    keys bytea[] NOT NULL,
    origin_ids int[] NOT NULL
);
COMMENT ON TABLE larder_data.late_enqueue IS
    'URLs whose live job a snapshot of REPEATABLE READ or SERIALIZABLE did not show: maintenance enqueues them, see '
    '0016. template: the columns of larder_data.job that they share.';
CREATE INDEX late_enqueue_batch ON larder_data.late_enqueue (batch_id);

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
CREATE INDEX ready_turn ON larder_data.ready ((queue_id * 10 + priority), turn, job_id);
COMMENT ON INDEX larder_data.ready_turn IS
    'An expression, so that no plan looks up a job here, where its id comes behind the turn.';

CREATE TABLE larder_data.claim_cursor (
    queue_id smallint PRIMARY KEY,
    positions bigint[] NOT NULL,
    turns bigint[] NOT NULL,
    updated_at timestamptz NOT NULL
) WITH (fillfactor = 30);
COMMENT ON TABLE larder_data.claim_cursor IS
    'Per queue and priority 0 to 9 the id, and the turn, up to which nothing was ready at updated_at. Claims start '
    'behind it, so that they step over dead rows that an old snapshot keeps from vacuum.';

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
    'Jobs that do not run. paused: every batch that wants it is paused. cancelled: no batch wants it, or it was '
    'cancelled while running and came back; maintenance ends it. crashed: lost with its worker rescue_limit times; '
    'larder.retry() or larder.cancel() decide. Rows are never updated.';
CREATE INDEX suspended_reason ON larder_data.suspended (reason, job_id);

CREATE TABLE larder_data.cache (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);
COMMENT ON TABLE larder_data.cache IS 'Cache roots that workers fill; name is the random id kept in the root.';

CREATE TABLE larder_data.worker (
    id bigint PRIMARY KEY,
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz NOT NULL DEFAULT now(),
    stopped_at timestamptz,
    rescued_at timestamptz,
    oldest_claim bigint NOT NULL DEFAULT 0,
    lease_ms int NOT NULL,
    pid int,
    slots int NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    version text NOT NULL,
    cache_id int
) WITH (fillfactor = 30);
COMMENT ON TABLE larder_data.worker IS
    'One row per start of a worker. id: random, because a sequence goes back when a standby takes over that lacks '
    'the last transactions, and a second worker would pass the fence of the first. rescued_at: its lease has ended and '
    'it holds no job; it can claim none any more. oldest_claim: as the worker reports, it holds no job of a claim with '
    'a lower number. No index on heartbeat_at, so that heartbeats are HOT updates.';

CREATE TABLE larder_data.server (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    timeline text NOT NULL,
    since timestamptz NOT NULL
);
COMMENT ON TABLE larder_data.server IS
    'One row: the timeline of the write-ahead log, and when a maintenance run first found it. It changes when a '
    'standby takes over. See larder_data.up_since().';
INSERT INTO larder_data.server (timeline, since)
SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8), '-infinity';

CREATE TABLE larder_data.claim_lock (
    worker_id bigint PRIMARY KEY
);
COMMENT ON TABLE larder_data.claim_lock IS
    'One row per worker. Its claims lock the row, so that one that is sent again waits for the first. Not the row of '
    'the worker, because heartbeats do not wait for claims; not an advisory lock, because any login can take those.';

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
    duration_class smallint
);
COMMENT ON TABLE larder_data.batch_delta IS
    'New entries of the ledger, never updated; read them through larder_data.new_entry. xid: of the transaction that '
    'inserted it. jobs: how many took a time of duration_class from claim to completion, see '
    'larder_data.duration_class().';
CREATE INDEX batch_delta_batch ON larder_data.batch_delta (batch_id, xid);
CREATE INDEX batch_delta_xid ON larder_data.batch_delta (xid);
ALTER TABLE larder_data.batch_delta REPLICA IDENTITY FULL;

CREATE TABLE larder_data.first_entry (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    xid xid8 NOT NULL
) WITH (fillfactor = 30);
COMMENT ON TABLE larder_data.first_entry IS
    'One row: the transaction before which no entry of the ledger is left, see larder_data.new_entry.';
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
    folded_at timestamptz NOT NULL DEFAULT clock_timestamp()
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.batch_total IS
    'Folded entries of the ledger. rate: items finished per second at folded_at, an exponential mean over 30 s.';

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
    retries bigint NOT NULL,
    downloads bigint NOT NULL,
    variants bigint NOT NULL
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.throughput IS 'What the ledger gained per minute, in items, all batches together.';

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
CREATE INDEX item_history_joined ON larder_data.item_history (job_id) WHERE outcome = 2 AND reason = 'joined';
COMMENT ON INDEX larder_data.item_history_joined IS
    'Failures that can be retried only with the record of the job that another batch''s items joined.';

CREATE TABLE larder_data.blocklist (
    url_hash bytea PRIMARY KEY,
    until timestamptz NOT NULL,
    operator_until timestamptz,
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    fails int NOT NULL DEFAULT 1,
    code int,
    http_status int,
    url text NOT NULL,
    domain text,
    message text
) WITH (fillfactor = 80);
COMMENT ON TABLE larder_data.blocklist IS
    'Failed URLs (SDWebImage''s failedURLs), blocked until a time. operator_until: the part of it that an operator '
    'set, which no option passes and no success ends. Expired rows are kept for a while, because the next block of the '
    'same URL lasts twice as long.';

CREATE TABLE larder_data.maintenance (
    task text PRIMARY KEY,
    kind text NOT NULL CHECK (kind IN ('urgent', 'routine', 'owner')),
    place int NOT NULL UNIQUE,
    every interval NOT NULL,
    next_at timestamptz NOT NULL DEFAULT '-infinity',
    cursor bigint NOT NULL DEFAULT 0,
    failed_at timestamptz,
    last_error text
);
COMMENT ON TABLE larder_data.maintenance IS
    'The maintenance tasks. The caller of maintain() that locks a row runs the task. place: the order. cursor: where a '
    'task that works in portions continues; for promote the second before which no job is left. failed_at, last_error: '
    'set while a task fails.';
INSERT INTO larder_data.maintenance (task, kind, place, every) VALUES
    ('rescue', 'urgent', 1, '1 s'), ('promote', 'urgent', 2, '200 ms'), ('claims', 'urgent', 3, '1 s'),
    ('counts', 'routine', 4, '1 s'), ('finish', 'routine', 5, '1 s'), ('cancelled', 'routine', 6, '1 s'),
    ('resumed', 'routine', 7, '1 s'), ('partitions', 'routine', 8, '1 h'), ('purge', 'routine', 9, '10 min'),
    ('retention', 'routine', 10, '1 h'), ('deleted', 'routine', 11, '10 s'), ('vacuum', 'owner', 12, '25 s'),
    ('joins', 'urgent', 13, '200 ms');

-- Rows pass through these tables at the rate of the jobs, so they are vacuumed by count, not by share.
DO $$
DECLARE
    hot text;
BEGIN
    FOREACH hot IN ARRAY '{ready,scheduled,running,suspended,job_join,batch_delta,batch_detail_delta}'::text[] LOOP
        EXECUTE format(
            'ALTER TABLE larder_data.%I SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, '
            'autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off)', hot);
    END LOOP;
END $$;
