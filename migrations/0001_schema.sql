-- The schemas and the settings.
--
-- Schema larder holds the functions and views, which are the contract. Schema larder_data holds the tables and helper
-- functions, which any migration may change.
--
-- The files follow the way of a job: what an operator sets up (queues, pipelines, batches), the tables, enqueue, the
-- worker's calls, the calls of operators, the tasks of maintenance, and what people read. A file holds one subject: its
-- tables, its functions and its maintenance task.
--
-- Each table has a replica identity, so that a publication of all tables does not refuse updates and deletes: its
-- primary key, or else the whole row, which costs nothing without a publication.
--
-- While an old snapshot is open every version of a row stays, and an index finds the versions with one key from the
-- oldest on. So the key of a row that is updated every second or more often ends with a column that each update
-- increases (maintenance, worker, claim_cursor, first_entry), and readers take the row with the highest one, which the
-- index read backwards finds first, however many versions there are. There is one such row per task, worker or queue
-- nevertheless: an update that leaves the column, or a reader that ignores it, is slower but not wrong. A function that
-- reads them often excludes bitmap scans, which the planner takes for few rows and which read all versions. What these
-- tables list is read from tables of which no row is updated (task, queue), or once (claim_lock).
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
