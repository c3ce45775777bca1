-- Webhooks: an HTTP POST to a URL when a batch is finished, sent by a worker at least once.
--
-- The payload has no URL, no error text and no secret. The signing secret is only in the workers' configuration.

CREATE TABLE larder_data.webhook (
    batch_id bigint PRIMARY KEY,
    url text NOT NULL,
    due_at timestamptz,
    attempts int NOT NULL DEFAULT 0,
    delivered_at timestamptz,
    http_status int,
    error text
) WITH (fillfactor = 70);
COMMENT ON TABLE larder_data.webhook IS
    'See larder.webhook. attempts, http_status, error: of the latest end of the batch.';
CREATE INDEX webhook_due ON larder_data.webhook (due_at) WHERE due_at IS NOT NULL;

CREATE FUNCTION larder_data.check_webhook(url text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    PERFORM larder_data.refuse('a webhook is an http or https URL of at most 2048 bytes')
    WHERE url !~* '^https?://[^\s/?#]+[^\s]*$' OR octet_length(url) > 2048;
END $$;

-- Under the batch's lock: a batch being finished would not see an uncommitted webhook.
CREATE FUNCTION larder.batch_on_finished(batch text, url text) RETURNS void
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    b larder_data.batch := larder_data.lock_batch(batch_on_finished.batch);
BEGIN
    PERFORM larder_data.check_webhook(batch_on_finished.url);
    BEGIN
        IF batch_on_finished.url IS NULL THEN
            DELETE FROM larder_data.webhook w WHERE w.batch_id = b.id;
            RETURN;
        END IF;
        INSERT INTO larder_data.webhook AS w (batch_id, url, due_at)
        VALUES (b.id, batch_on_finished.url, CASE WHEN b.finished_at IS NOT NULL THEN clock_timestamp() END)
        ON CONFLICT (batch_id) DO UPDATE SET url = excluded.url, due_at = excluded.due_at, attempts = 0,
            delivered_at = NULL, http_status = NULL, error = NULL;
    EXCEPTION WHEN lock_not_available THEN
        PERFORM larder_data.raise_locked(format('the webhook of batch "%s"', batch), 'larder_data.webhook');
    END;
END $$;
COMMENT ON FUNCTION larder.batch_on_finished IS
    'Sets the URL to which a worker posts the counts of a batch when it is finished, at least once; NULL for none.';

-- The attempt is counted before it is made and the next one is due in a minute: if the worker dies, another one sends
-- it again.
CREATE FUNCTION larder.take_webhook_v1(
    OUT batch_id bigint, OUT url text, OUT attempt int, OUT id text, OUT sent_at bigint, OUT payload text
) RETURNS SETOF record
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    due larder_data.webhook;
BEGIN
    PERFORM larder_data.require_read_committed();
    LOOP
        SELECT * INTO due FROM larder_data.webhook w
        WHERE w.due_at <= clock_timestamp() ORDER BY w.due_at LIMIT 1 FOR UPDATE SKIP LOCKED;
        IF NOT FOUND THEN
            RETURN;
        END IF;
        UPDATE larder_data.webhook w SET attempts = w.attempts + 1, due_at = clock_timestamp() + interval '1 min'
        WHERE w.batch_id = due.batch_id;
        RETURN QUERY
        SELECT due.batch_id, due.url, due.attempts + 1,
            format('batch-%s-%s', due.batch_id, (extract(epoch FROM b.finished_at) * 1000000)::bigint),
            extract(epoch FROM clock_timestamp())::bigint,
            json_build_object('type', 'batch.finished', 'timestamp', b.finished_at, 'data', json_build_object(
                'batch', p.batch, 'batchID', p.batch_id, 'run', p.run, 'state', p.state, 'total', p.total,
                'finished', p.finished, 'skipped', p.skipped, 'succeeded', p.succeeded, 'failed', p.failed,
                'cancelled', p.cancelled, 'downloads', p.downloads, 'variants', p.variants, 'bytesIn', p.bytes_in,
                'bytesOut', p.bytes_out, 'seconds', p.seconds, 'createdAt', p.created_at,
                'finishedAt', b.finished_at))::text
        FROM larder_data.batch b JOIN larder.progress p ON p.batch_id = b.id
        WHERE b.id = due.batch_id AND b.finished_at IS NOT NULL;
        IF FOUND THEN
            RETURN;
        END IF;
        -- A retry has reopened the batch: its next end makes the webhook due.
        UPDATE larder_data.webhook w SET due_at = NULL WHERE w.batch_id = due.batch_id;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder.take_webhook_v1 IS
    'The webhook that is most overdue, for one attempt to deliver it. sent_at: seconds since 1970. Without '
    'larder.webhook_done_v1() it is due again in a minute.';

CREATE FUNCTION larder.webhook_done_v1(
    batch_id bigint, attempt int, http_status int DEFAULT NULL, error text DEFAULT NULL
) RETURNS void
LANGUAGE sql AS $$
UPDATE larder_data.webhook w SET
    delivered_at = CASE WHEN webhook_done_v1.error IS NULL THEN clock_timestamp() END,
    -- 5 s, 10 s, 20 s … 1 h; with 32 attempts a day and two hours.
    due_at = CASE WHEN webhook_done_v1.error IS NOT NULL AND w.attempts < 32
        THEN clock_timestamp() + least(interval '5 s' * 2 ^ (w.attempts - 1), interval '1 h') END,
    http_status = webhook_done_v1.http_status, error = left(webhook_done_v1.error, 500)
WHERE w.batch_id = webhook_done_v1.batch_id AND w.attempts = webhook_done_v1.attempt AND w.due_at IS NOT NULL
$$;
COMMENT ON FUNCTION larder.webhook_done_v1 IS
    'Records how the latest attempt to deliver a webhook ended. After an error it is due again in 5 s, doubling to 1 '
    'h, at most 32 times.';

CREATE VIEW larder.webhook AS
SELECT w.batch_id, substring(w.url FROM '^[A-Za-z]+://') || substring(w.url FROM '^[A-Za-z]+://(?:[^/?#]*@)?([^/?#]*)')
    AS origin, w.due_at, w.attempts, w.delivered_at, w.http_status, w.error
FROM larder_data.webhook w;
COMMENT ON VIEW larder.webhook IS
    'The webhooks of batches. origin: of its URL, whose path may be a secret. due_at: of the next attempt, NULL if '
    'there is none.';
