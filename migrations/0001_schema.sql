-- Where everything lies.
--
-- Two schemas: `larder` holds functions and views, the contract; `larder_data` holds tables, which may change under it.
--
-- A job is one wide row, written once. Where it stands is one narrow row in exactly one of four small tables: ready,
-- scheduled, running, suspended. So the rows that change hands thousands of times a second are short, the wide row is
-- touched only on a retry or a join, and what is over leaves the live tables for history, partitioned by day.
--
-- A job's number is also its place: within a priority, lower numbers go first, and a job that comes back (released,
-- rescued, retried) stands where it stood. Therefore `ready` needs one index and no other order.
--
-- Counts are a ledger: each transaction adds one row of differences per batch, nobody updates a shared row, and
-- whoever holds the maintenance row folds them. Totals are exact at any instant because the differences commit with the
-- change they count.
--
-- No foreign keys on the tables that jobs pass through: each would cost an index probe and a row lock per job, and
-- larder.check() proves the same. No triggers. No state in sessions: everything works through pgbouncer in transaction
-- mode. Time is the database's only.

DO $$
BEGIN
    -- A URL is its bytes; only with UTF8 on both sides do they pass unchanged.
    IF current_setting('server_encoding') <> 'UTF8' THEN
        RAISE EXCEPTION 'Larder needs a database in UTF8, this one is in %', current_setting('server_encoding');
    END IF;
END $$;

CREATE SCHEMA IF NOT EXISTS larder_data;
COMMENT ON SCHEMA larder_data IS 'Larder''s tables; may change under the functions and views of larder.';
CREATE SCHEMA larder;
COMMENT ON SCHEMA larder IS 'Larder''s functions and views: the contract.';

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
COMMENT ON TABLE larder_data.settings IS 'One row: the worker protocols offered, and the settings that hold for all queues. lease_ms: a heartbeat is due every 5 s, and one that is missed must not cost a lease. keep_*: how long what is over is kept. held_after: health names transactions older than this.';
COMMENT ON INDEX larder_data.settings_pkey IS 'Keeps it one row.';
INSERT INTO larder_data.settings (protocol_oldest, protocol_newest) VALUES (1, 1);

CREATE TABLE larder_data.queue (
    id smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    lifo boolean NOT NULL DEFAULT false,
    low_every smallint NOT NULL DEFAULT 8 CHECK (low_every >= 0),
    paused_at timestamptz
);
COMMENT ON TABLE larder_data.queue IS 'The queues; a paused one hands out nothing. lifo: newest first within a priority. low_every: each so-manieth claim of a worker looks at the lowest priorities first, so that none starves; 0 never.';
COMMENT ON INDEX larder_data.queue_pkey IS 'Jobs name their queue by number.';
COMMENT ON INDEX larder_data.queue_name_key IS 'Callers name a queue by name.';
INSERT INTO larder_data.queue (name) VALUES ('default');

CREATE TABLE larder_data.pipeline (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    version int NOT NULL DEFAULT 1,
    spec json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (name, version)
);
COMMENT ON TABLE larder_data.pipeline IS
    'Versions of pipelines; never changed, so that live jobs keep theirs. json, not jsonb: numbers keep their spelling, -0.0 included.';
COMMENT ON INDEX larder_data.pipeline_pkey IS 'Jobs name their pipeline version by number.';
COMMENT ON INDEX larder_data.pipeline_name_version_key IS 'Finds the newest version of a name.';
INSERT INTO larder_data.pipeline (name, spec) VALUES ('original', '{"name":"original","variants":[]}');

CREATE TABLE larder_data.origin (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);
COMMENT ON TABLE larder_data.origin IS 'Scheme, host and port in normal form, https://example.com:443.';
COMMENT ON INDEX larder_data.origin_pkey IS 'Jobs name their origin by number.';
COMMENT ON INDEX larder_data.origin_name_key IS 'Enqueue looks origins up by name.';

CREATE TABLE larder_data.batch (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text UNIQUE CHECK (name <> ''),
    queue_id smallint NOT NULL REFERENCES larder_data.queue,
    pipeline_id int REFERENCES larder_data.pipeline,
    priority smallint CHECK (priority BETWEEN 0 AND 9),
    daily date,
    notify boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL DEFAULT now(),
    sealed_at timestamptz,
    paused_at timestamptz,
    cancelled_at timestamptz,
    finished_at timestamptz
) WITH (fillfactor = 70);
COMMENT ON TABLE larder_data.batch IS
    'The jobs enqueued together: unit of progress and of cancel. daily is set for the default batch of a queue and day. notify: its number is sent on channel larder_batch when it is finished.';
COMMENT ON INDEX larder_data.batch_pkey IS 'Jobs name their batch by number.';
COMMENT ON INDEX larder_data.batch_name_key IS 'Callers name a batch by name.';
CREATE INDEX batch_unfinished ON larder_data.batch (id) WHERE finished_at IS NULL;
COMMENT ON INDEX larder_data.batch_unfinished IS 'The few batches that maintenance looks at.';
CREATE INDEX batch_held ON larder_data.batch (id) WHERE finished_at IS NULL AND (paused_at IS NOT NULL OR cancelled_at IS NOT NULL);
COMMENT ON INDEX larder_data.batch_held IS 'The fewer whose jobs a claim must not hand out.';

CREATE TABLE larder_data.batch_source (
    batch_id bigint NOT NULL,
    urls bigint NOT NULL,
    name text NOT NULL,
    last_url text NOT NULL,
    PRIMARY KEY (batch_id, name)
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.batch_source IS
    'Lists that batches are being filled from: how many URLs of one are in, and the last. Written with each call that adds some, so a producer that died goes on where it was; gone once the list is through.';
COMMENT ON INDEX larder_data.batch_source_pkey IS 'A producer looks up its list.';

CREATE TABLE larder_data.batch_seal_wish (
    batch_id bigint PRIMARY KEY
);
COMMENT ON TABLE larder_data.batch_seal_wish IS 'Batches to be sealed as soon as nobody adds to them any more: two transactions that add to one batch and then seal it would wait for each other. Mostly empty.';
COMMENT ON INDEX larder_data.batch_seal_wish_pkey IS 'Each once.';

CREATE SEQUENCE larder_data.job_id AS bigint;
COMMENT ON SEQUENCE larder_data.job_id IS 'Numbers of jobs, given in the order in which hosts take turns.';

CREATE TABLE larder_data.job (
    id bigint PRIMARY KEY,
    batch_id bigint NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    options bigint NOT NULL DEFAULT 0,
    last_worker_id bigint,
    last_claim_no bigint,
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
    followed boolean NOT NULL DEFAULT false,
    key bytea NOT NULL UNIQUE,
    url text NOT NULL CHECK (octet_length(url) <= 8192),
    context json,
    last_domain text,
    last_message text
) WITH (fillfactor = 90);
COMMENT ON TABLE larder_data.job IS
    'Live jobs, one URL x one pipeline each. items: how many of its batch''s items ride on it; attempt: attempts used up; crashes: transcoders that died over it; last_*: the attempt before.';
COMMENT ON INDEX larder_data.job_pkey IS 'Complete and claim find jobs by number.';
COMMENT ON INDEX larder_data.job_key_key IS 'At most one live job per (URL, pipeline): 128 bits of SHA-256 over the URL''s bytes, then the pipeline''s number.';
CREATE INDEX job_batch ON larder_data.job (batch_id, id) WHERE items > 0;
COMMENT ON INDEX larder_data.job_batch IS 'Proves that no item of a batch is open; finds the jobs of a batch, for a claim of its jobs alone in their order. Jobs that a cancelled batch has left to others are not in it.';

CREATE INDEX job_left ON larder_data.job (id) WHERE items = 0;
COMMENT ON INDEX larder_data.job_left IS 'Jobs that their own batch, cancelled, has left to others or to nobody: tells claims whether there are any.';

CREATE TABLE larder_data.job_subscriber (
    job_id bigint NOT NULL,
    batch_id bigint NOT NULL,
    items int NOT NULL CHECK (items > 0),
    PRIMARY KEY (job_id, batch_id)
);
COMMENT ON TABLE larder_data.job_subscriber IS 'Other batches whose items ride on a job. Written only with the job''s row locked.';
COMMENT ON INDEX larder_data.job_subscriber_pkey IS 'Complete finds who follows a job.';
CREATE INDEX job_subscriber_batch ON larder_data.job_subscriber (batch_id, job_id);
COMMENT ON INDEX larder_data.job_subscriber_batch IS 'Proves that a batch follows no job any more; finds what it follows, in the jobs'' order.';

CREATE TABLE larder_data.ready (
    queue_id smallint NOT NULL,
    priority smallint NOT NULL,
    job_id bigint NOT NULL,
    PRIMARY KEY (queue_id, priority, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
COMMENT ON TABLE larder_data.ready IS 'Jobs that may be claimed. Rows are never updated, so a claim may delete them by tuple id.';
COMMENT ON INDEX larder_data.ready_pkey IS 'The order of claims, and the only way in.';

CREATE TABLE larder_data.claim_cursor (
    queue_id smallint PRIMARY KEY,
    floors bigint[] NOT NULL,
    known_at timestamptz NOT NULL
) WITH (fillfactor = 30);
COMMENT ON TABLE larder_data.claim_cursor IS
    'Per queue, and in it per priority 0 to 9: below this number nothing was ready at known_at. A hint that lets claims step over dead rows which an old snapshot keeps; one task looks for all, claims do not believe one that is old.';
COMMENT ON INDEX larder_data.claim_cursor_pkey IS 'One row per queue.';

CREATE TABLE larder_data.scheduled (
    run_at timestamptz NOT NULL,
    job_id bigint PRIMARY KEY
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
COMMENT ON TABLE larder_data.scheduled IS 'Jobs that wait for a time: scheduled, or put off after a failure.';
COMMENT ON INDEX larder_data.scheduled_pkey IS 'Finds a job''s place.';
CREATE INDEX scheduled_due ON larder_data.scheduled (run_at);
COMMENT ON INDEX larder_data.scheduled_due IS 'Finds what is due.';

CREATE TABLE larder_data.running (
    worker_id bigint NOT NULL,
    job_id bigint NOT NULL,
    claim_no bigint NOT NULL,
    claimed_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (worker_id, job_id)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
COMMENT ON TABLE larder_data.running IS 'Jobs that a worker holds, under the number of its claim: the fence that a late outcome does not pass.';
COMMENT ON INDEX larder_data.running_pkey IS 'Complete finds a worker''s claim, rescue all claims of a dead worker.';

CREATE TABLE larder_data.suspended (
    job_id bigint PRIMARY KEY,
    reason text NOT NULL CHECK (reason IN ('crashed', 'paused', 'cancelled')),
    suspended_at timestamptz NOT NULL DEFAULT now()
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
COMMENT ON TABLE larder_data.suspended IS 'Jobs set aside, by why: lost (with their worker too often; waits for an operator), paused (no batch that wants it goes on), cancelled (no batch wants it, or it was cancelled while it ran and came back; maintenance ends it).';
COMMENT ON INDEX larder_data.suspended_pkey IS 'Finds a job''s place.';
CREATE INDEX suspended_why ON larder_data.suspended (reason, job_id);
COMMENT ON INDEX larder_data.suspended_why IS 'Maintenance goes through the paused and the cancelled ones, in portions.';

CREATE TABLE larder_data.worker (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    heartbeat_at timestamptz NOT NULL DEFAULT now(),
    started_at timestamptz NOT NULL DEFAULT now(),
    stopped_at timestamptz,
    lease_ms int NOT NULL,
    pid int,
    slots int NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    version text NOT NULL,
    cache_id int
) WITH (fillfactor = 30);
COMMENT ON TABLE larder_data.worker IS
    'One row per start of a worker: a fresh identity each time. No index on heartbeat_at, so that a heartbeat stays within its page.';
COMMENT ON INDEX larder_data.worker_pkey IS 'Heartbeats and claims name their worker by number.';

CREATE TABLE larder_data.cache (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE
);
COMMENT ON TABLE larder_data.cache IS 'The cache roots that workers fill, by the random id that each root keeps.';
COMMENT ON INDEX larder_data.cache_pkey IS 'Workers and records name their cache by number.';
COMMENT ON INDEX larder_data.cache_name_key IS 'A worker''s start looks its cache up.';

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
    duration_class smallint
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
COMMENT ON TABLE larder_data.batch_delta IS
    'The ledger''s new entries, in items: one row or a few per batch and transaction, added, never updated. succeeded includes fresh; failed includes blocked and invalid. jobs: how many jobs took 2^(duration_class/2) to 2^((duration_class+1)/2) ms from claim to complete.';
CREATE INDEX batch_delta_batch ON larder_data.batch_delta (batch_id);
COMMENT ON INDEX larder_data.batch_delta_batch IS 'Progress adds up the entries of a batch.';

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
COMMENT ON TABLE larder_data.batch_total IS 'The ledger''s folded entries. Written only by whoever folds. rate: items finished per second at folded_at, a mean that forgets with a time constant of 30 s.';
COMMENT ON INDEX larder_data.batch_total_pkey IS 'One row per batch.';

CREATE TABLE larder_data.batch_detail_delta (
    batch_id bigint NOT NULL,
    n int NOT NULL,
    code int NOT NULL,
    domain text NOT NULL
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0, vacuum_truncate = off);
COMMENT ON TABLE larder_data.batch_detail_delta IS
    'The ledger''s new errors: how many items failed of which. Added, never updated.';
CREATE INDEX batch_detail_delta_batch ON larder_data.batch_detail_delta (batch_id);
COMMENT ON INDEX larder_data.batch_detail_delta_batch IS 'Progress adds up the details of a batch.';

CREATE TABLE larder_data.batch_detail (
    batch_id bigint NOT NULL,
    n bigint NOT NULL,
    code int NOT NULL,
    domain text,
    CONSTRAINT batch_detail_key UNIQUE NULLS NOT DISTINCT (batch_id, domain, code)
) WITH (fillfactor = 50);
COMMENT ON TABLE larder_data.batch_detail IS 'The folded details: items by error; where domain is NULL, jobs by duration_class, which is in code. Written only by whoever folds.';
COMMENT ON INDEX larder_data.batch_detail_key IS 'One row per batch and error, or class of duration.';

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
COMMENT ON TABLE larder_data.throughput IS 'What the ledger gained per minute, in items, all batches together. Written only by whoever folds.';
COMMENT ON INDEX larder_data.throughput_pkey IS 'One row per minute.';

CREATE TABLE larder_data.job_attempt (
    at timestamptz NOT NULL DEFAULT now(),
    job_id bigint NOT NULL,
    worker_id bigint,
    claimed_at timestamptz,
    attempt smallint NOT NULL,
    code int NOT NULL,
    http_status int,
    fetch_ms int,
    transcode_ms int,
    store_ms int,
    delay_ms bigint,
    domain text NOT NULL,
    message text
) PARTITION BY RANGE (at);
COMMENT ON TABLE larder_data.job_attempt IS 'Attempts that failed and were tried again, by day (UTC); the last attempt of a job is its record in job_history. delay_ms: how long it was put off.';
CREATE INDEX job_attempt_job ON larder_data.job_attempt (job_id);
COMMENT ON INDEX larder_data.job_attempt_job IS 'The attempts of one job.';

CREATE TABLE larder_data.job_history (
    finished_at timestamptz NOT NULL DEFAULT now(),
    created_at timestamptz NOT NULL,
    dropped_at timestamptz,
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
    stored json
) PARTITION BY RANGE (finished_at);
COMMENT ON TABLE larder_data.job_history IS
    'The one terminal record of each job, by day (UTC). outcome: 1 succeeded, 2 failed, 3 cancelled. queue_ms: enqueue to claim; wait_ms: claim to fetch. claim_no lets an outcome whose answer was lost be sent again. cache_id: the cache that has what was stored. retried_as: its items were taken along by this later job, and count there. dropped_at: somebody has looked at the failure and is done with it. max_attempts, retry_base_ms: of failures, for a retry.';
CREATE INDEX job_history_batch ON larder_data.job_history (batch_id, job_id);
COMMENT ON INDEX larder_data.job_history_batch IS 'The report of a batch, page by page.';
CREATE INDEX job_history_failed ON larder_data.job_history (batch_id, job_id) WHERE outcome = 2 AND retried_as IS NULL AND dropped_at IS NULL;
COMMENT ON INDEX larder_data.job_history_failed IS 'The failures of a batch that nobody has dealt with.';
CREATE INDEX job_history_stored ON larder_data.job_history (hashtextextended(url, 0)) WHERE outcome = 1 AND cache_id IS NOT NULL;
COMMENT ON INDEX larder_data.job_history_stored IS 'What a cache was given: asked for `fresh`. A short digest finds the rows, the URL itself decides.';
CREATE INDEX job_history_job ON larder_data.job_history (job_id);
COMMENT ON INDEX larder_data.job_history_job IS 'Finds the record of one job, or of those whose outcomes are sent again.';

CREATE TABLE larder_data.item_history (
    finished_at timestamptz NOT NULL DEFAULT now(),
    dropped_at timestamptz,
    retried_as bigint,
    id bigint NOT NULL,
    batch_id bigint NOT NULL,
    job_id bigint,
    items int NOT NULL DEFAULT 1,
    pipeline_id int,
    code int,
    outcome smallint NOT NULL CHECK (outcome BETWEEN 1 AND 3),
    attempt smallint NOT NULL DEFAULT 0,
    reason text NOT NULL CHECK (reason IN ('fresh', 'blocked', 'invalid', 'followed', 'cancelled')),
    url text NOT NULL,
    domain text,
    message text,
    stored json
) PARTITION BY RANGE (finished_at);
COMMENT ON TABLE larder_data.item_history IS
    'Items that ended without a job of their own batch: fresh, blocked, invalid, cancelled before their job ended, or riding on another batch''s job. By day (UTC). retried_as, dropped_at as in job_history. pipeline_id: of blocked ones, for a retry.';
CREATE INDEX item_history_batch ON larder_data.item_history (batch_id, id);
COMMENT ON INDEX larder_data.item_history_batch IS 'The report of a batch, page by page.';
CREATE INDEX item_history_failed ON larder_data.item_history (batch_id, id) WHERE outcome = 2 AND retried_as IS NULL AND dropped_at IS NULL;
COMMENT ON INDEX larder_data.item_history_failed IS 'The failures of a batch that nobody has dealt with.';
CREATE SEQUENCE larder_data.item_id AS bigint;
COMMENT ON SEQUENCE larder_data.item_id IS 'Numbers the records of items for paging.';

CREATE TABLE larder_data.blocklist (
    url_hash bytea PRIMARY KEY,
    until timestamptz NOT NULL,
    first_at timestamptz NOT NULL DEFAULT now(),
    last_at timestamptz NOT NULL DEFAULT now(),
    fails int NOT NULL DEFAULT 1,
    code int,
    http_status int,
    url text NOT NULL,
    domain text,
    message text
) WITH (fillfactor = 80);
COMMENT ON TABLE larder_data.blocklist IS 'Failed URLs (SDWebImage''s failedURLs) until a time. An expired row stays for a while: the next block lasts longer.';
COMMENT ON INDEX larder_data.blocklist_pkey IS '128 bits of SHA-256 of the URL''s bytes; enqueue probes it once per URL.';

CREATE TABLE larder_data.retry_rule (
    domain text NOT NULL,
    code int,
    http_status int,
    retried boolean NOT NULL,
    blocks boolean NOT NULL,
    block_for interval NOT NULL DEFAULT '24 hours',
    counts_for_origin boolean NOT NULL DEFAULT false,
    then_code int,
    what text NOT NULL,
    CONSTRAINT retry_rule_error UNIQUE NULLS NOT DISTINCT (domain, code, http_status)
);
COMMENT ON TABLE larder_data.retry_rule IS
    'What each error means, for operators to change. The row that says most wins: status, then code; code NULL = the rest of the domain. counts_for_origin: a failure that opens the origin''s breaker when it comes often enough in a row. block_for doubles with each block. then_code: what the error becomes, at once and for good, when it happens to a job a second time.';
COMMENT ON INDEX larder_data.retry_rule_error IS 'One rule per error.';

CREATE TABLE larder_data.maintenance (
    task text PRIMARY KEY,
    place int NOT NULL UNIQUE,
    every interval NOT NULL,
    next_at timestamptz NOT NULL DEFAULT '-infinity',
    cursor bigint NOT NULL DEFAULT 0,
    failed_at timestamptz,
    last_error text
);
COMMENT ON TABLE larder_data.maintenance IS
    'The maintenance tasks: whoever comes by when one is due does it, holding its row. place: what others wait for goes first. cursor: how far a task has come that looks at its rows in turns. failed_at, last_error: set while a task fails.';
COMMENT ON INDEX larder_data.maintenance_pkey IS 'One row per task.';
COMMENT ON INDEX larder_data.maintenance_place_key IS 'One order.';
INSERT INTO larder_data.maintenance (task, place, every) VALUES
    ('rescue', 1, '1 s'), ('promote', 2, '200 ms'), ('floors', 3, '1 s'), ('fold', 4, '1 s'), ('finish', 5, '1 s'),
    ('cancelled', 6, '1 s'), ('resumed', 7, '1 s'), ('partitions', 8, '1 h'), ('purge', 9, '10 min');
