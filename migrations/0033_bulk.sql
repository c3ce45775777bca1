-- Calls that repeat a portion until nothing is left, and calls over all batches.

CREATE FUNCTION larder.retry_portion(
    origin text DEFAULT NULL, url_like text DEFAULT NULL, domain text DEFAULT NULL, code int DEFAULT NULL,
    before timestamptz DEFAULT NULL, after_batch bigint DEFAULT 0, dry_run boolean DEFAULT false, OUT items bigint,
    OUT last_batch bigint
)
LANGUAGE plpgsql SET enable_seqscan = off SET jit = off AS $$
#variable_conflict use_column
DECLARE
    f larder_data.failure_filter := (NULL, retry_portion.domain, retry_portion.code,
        CASE WHEN retry_portion.origin IS NOT NULL THEN larder_data.origin_name(retry_portion.origin) END,
        retry_portion.url_like, retry_portion.before);
BEGIN
    -- One batch per call: its lock is released before the next one is locked.
    SELECT b.id INTO last_batch FROM larder_data.batch b
    WHERE b.id > retry_portion.after_batch AND b.cancelled_at IS NULL AND NOT b.is_deleted
      AND (larder_data.is_operator() OR b.owner = ANY (ARRAY(SELECT larder_data.own_roles())))
      AND EXISTS (SELECT FROM larder_data.failures_of(b, 1, f))
    ORDER BY b.id LIMIT 1;
    IF FOUND AND retry_portion.dry_run THEN
        items := (
            SELECT sum(x.items) FROM larder_data.batch b, LATERAL larder_data.failures_of(b, 2147483647, f) AS x
            WHERE b.id = last_batch);
    ELSIF FOUND THEN
        items := (larder_data.reopen(larder_data.lock_batch(last_batch::text, '{cancelled}'), 10000, f)).items;
        -- The same batch again until it has none left.
        last_batch := last_batch - (items > 0)::int;
    END IF;
END $$;
COMMENT ON FUNCTION larder.retry_portion IS
    'Reopens failed items of the first batch behind after_batch that has some; answers how many, and the next '
    'after_batch (NULL: there is none). dry_run: only counts.';

CREATE FUNCTION larder.cancel_portion(
    origin text DEFAULT NULL, url_like text DEFAULT NULL, domain text DEFAULT NULL, code int DEFAULT NULL,
    before timestamptz DEFAULT NULL, after_job bigint DEFAULT 0, portion int DEFAULT 1000,
    dry_run boolean DEFAULT false, OUT jobs bigint, OUT last_job bigint
)
LANGUAGE plpgsql
SET enable_seqscan = off SET enable_bitmapscan = off SET enable_hashjoin = off SET enable_mergejoin = off
SET jit = off AS $$
#variable_conflict use_column
DECLARE
    wanted text := CASE WHEN cancel_portion.origin IS NOT NULL THEN larder_data.origin_name(cancel_portion.origin) END;
    searched bigint[] := ARRAY(
        SELECT j.id FROM larder_data.job j WHERE j.id > cancel_portion.after_job ORDER BY j.id LIMIT 10 * portion);
    matching bigint[];
    locked bigint[];
BEGIN
    PERFORM larder_data.refuse('which jobs: origin, url_like, domain, code or before')
    WHERE coalesce(origin, url_like, domain, code::text, before::text) IS NULL;
    matching := ARRAY(
        SELECT j.id FROM larder_data.job j
        WHERE j.id = ANY (searched) AND (wanted IS NULL OR j.origin_id IN (
                SELECT o.id FROM larder_data.origin o WHERE o.name = wanted))
          AND (cancel_portion.url_like IS NULL OR j.url LIKE cancel_portion.url_like)
          AND (cancel_portion.domain IS NULL OR j.last_domain = cancel_portion.domain)
          AND (cancel_portion.code IS NULL OR j.last_code = cancel_portion.code)
          AND (cancel_portion.before IS NULL OR j.created_at < cancel_portion.before)
          AND (larder_data.is_operator() OR NOT EXISTS (
              SELECT FROM larder_data.batch b WHERE b.id IN (
                  SELECT j.batch_id UNION ALL SELECT i.batch_id FROM larder_data.job_item i WHERE i.job_id = j.id)
                AND NOT larder_data.acts_as(b.owner)))
        ORDER BY j.id LIMIT portion);
    last_job := CASE WHEN cardinality(matching) = portion THEN matching[portion]
        ELSE searched[cardinality(searched)] END;
    IF cancel_portion.dry_run THEN
        jobs := cardinality(matching);
        RETURN;
    END IF;
    locked := ARRAY(
        SELECT j.id FROM larder_data.job j WHERE j.id = ANY (matching) ORDER BY j.id FOR UPDATE SKIP LOCKED);
    PERFORM larder_data.ensure_today();
    UPDATE larder_data.job j SET cancelled_at = now(), is_revived = false
    WHERE j.id = ANY (locked) AND j.cancelled_at IS NULL
      AND EXISTS (SELECT FROM larder_data.running r WHERE r.job_id = j.id);
    PERFORM larder_data.end_jobs(ARRAY(
        SELECT u.id FROM unnest(locked) AS u (id)
        WHERE NOT EXISTS (SELECT FROM larder_data.running r WHERE r.job_id = u.id)));
    jobs := cardinality(locked);
END $$;
COMMENT ON FUNCTION larder.cancel_portion IS
    'Cancels at most `portion` live jobs behind after_job; answers how many, and the next after_job (NULL: there is '
    'none). dry_run: only counts.';

-- The procedures commit after every portion, so they are CALLed outside a transaction block, and can have neither
-- SECURITY DEFINER nor SET: they set search_path themselves until the next COMMIT, and rely on the rights of the
-- functions that they call. A portion returns how many, and where the next one begins: NULL if nothing is left.
DO $$
DECLARE
    p record;
BEGIN
    FOR p IN SELECT * FROM (VALUES
        ('retry_matching', 'items', 'origin text DEFAULT NULL, url_like text DEFAULT NULL, domain text DEFAULT NULL, '
            'code int DEFAULT NULL, before timestamptz DEFAULT NULL, dry_run boolean DEFAULT false',
            'larder.retry_portion(origin, url_like, domain, code, before, last, dry_run)'),
        ('cancel_matching', 'jobs', 'origin text DEFAULT NULL, url_like text DEFAULT NULL, domain text DEFAULT NULL, '
            'code int DEFAULT NULL, before timestamptz DEFAULT NULL, dry_run boolean DEFAULT false',
            'larder.cancel_portion(origin, url_like, domain, code, before, last, dry_run => dry_run)'),
        ('batch_retry_failed', 'items', 'batch text, domain text DEFAULT NULL, code int DEFAULT NULL, '
            'origin text DEFAULT NULL, url_like text DEFAULT NULL, before timestamptz DEFAULT NULL',
            '(SELECT m, nullif(m, 0) FROM larder.batch_retry_portion(batch, domain, code, origin, url_like, before) '
            'AS m)'),
        ('batch_discard_failed', 'items', 'batch text',
            '(SELECT m, nullif(m, 0) FROM larder.batch_discard_portion(batch) AS m)'),
        ('batch_reprioritize', 'jobs', 'batch text, priority int',
            '(SELECT m, nullif(m, 0) FROM larder.batch_reprioritize_portion(batch, priority) AS m)'),
        ('unblock_all', 'unblocked', NULL,
            '(SELECT x.unblocked, nullif(x.is_last, true)::int FROM larder.unblock_portion() AS x)')
    ) AS v (name, counted, arguments, portion)
    LOOP
        EXECUTE format($f$CREATE PROCEDURE larder.%1$I(%2$s INOUT %3$I bigint DEFAULT 0) LANGUAGE plpgsql AS $p$
            DECLARE
                total pg_catalog.int8 := 0;
                n pg_catalog.int8;
                last pg_catalog.int8 := 0;
            BEGIN
                LOOP
                    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
                    SELECT p.* INTO n, last FROM %4$s AS p;
                    total := total + coalesce(n, 0);
                    EXIT WHEN last IS NULL;
                    COMMIT;
                END LOOP;
                %3$I := total;
            END $p$ $f$, p.name, p.arguments || ',', p.counted, p.portion);
    END LOOP;
END $$;
COMMENT ON PROCEDURE larder.retry_matching IS
    'Reopens failed items of all batches, of a producer only of its own, by origin, LIKE pattern, error or time of '
    'the failure. Answers how many.';
COMMENT ON PROCEDURE larder.cancel_matching IS
    'Cancels live jobs of all batches, of a producer only of its own, by origin, LIKE pattern, error of the last '
    'attempt or time of the enqueue. Answers how many.';
COMMENT ON PROCEDURE larder.batch_retry_failed IS
    'Reopens the failed items of a batch as new jobs, with RetryFailed and unused attempts. Answers how many items.';
COMMENT ON PROCEDURE larder.batch_discard_failed IS
    'Discards the failures of a batch: they count, but are neither in larder.failed nor retried. Answers how many '
    'items.';
COMMENT ON PROCEDURE larder.batch_reprioritize IS
    'Sets the priority of a batch and its jobs, 0 first to 9. Answers how many jobs.';
COMMENT ON PROCEDURE larder.unblock_all IS 'Empties the blocklist. Answers how many URLs were blocked.';
