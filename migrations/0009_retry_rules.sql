-- The meaning of each error, as rows that an operator may change or add. The seed follows SDWebImage 5.21.5
-- (SDWebImageManager, SDWebImageDownloader) where it has a rule. Sources/ImageModel/FailureClassification.swift holds
-- the same table. Codes treated like the rest of their domain have no row.

CREATE TABLE larder_data.retry_rule (
    domain text NOT NULL,
    code int,
    http_status int,
    retried boolean NOT NULL DEFAULT false,
    blocks boolean NOT NULL DEFAULT false,
    block_for interval NOT NULL DEFAULT '24 hours',
    counts_for_origin boolean NOT NULL DEFAULT false,
    then_code int,
    what text NOT NULL,
    CONSTRAINT retry_rule_error UNIQUE NULLS NOT DISTINCT (domain, code, http_status)
);
COMMENT ON TABLE larder_data.retry_rule IS
    'What each error means. The most specific row counts: by status, then by code; code NULL is the rest of the '
    'domain. blocks: the final failure blocks the URL for block_for, doubled with each block. counts_for_origin: the '
    'failure counts towards the breaker of the origin. then_code: the code that a second such failure of a job gets, '
    'which is final.';
ALTER TABLE larder_data.retry_rule REPLICA IDENTITY FULL;

INSERT INTO larder_data.retry_rule (domain, code, retried, blocks, counts_for_origin, what) VALUES
    ('SDWebImageErrorDomain', NULL, false, false, false, 'other SDWebImage errors'),
    ('SDWebImageErrorDomain', 1001, false, true, false, 'empty body, not an image, undecodable'),
    ('SDWebImageErrorDomain', 2001, false, false, false, 'HTTP status outside 200-299'),
    ('NSURLErrorDomain', NULL, false, true, false, 'other transport errors'),
    ('NSURLErrorDomain', -1001, true, false, true, 'timeout'),
    ('NSURLErrorDomain', -1003, true, false, false, 'name not found'),
    ('NSURLErrorDomain', -1004, true, false, true, 'cannot connect'),
    ('NSURLErrorDomain', -1005, true, false, false, 'connection lost or body cut short'),
    ('NSURLErrorDomain', -1200, true, true, false, 'TLS handshake failed'),
    -- Codes that SDWebImage's loader never blocks and that a worker could report.
    ('NSURLErrorDomain', -999, false, false, false, 'cancelled'),
    ('NSURLErrorDomain', -1009, false, false, false, 'not connected'),
    ('NSURLErrorDomain', -1018, false, false, false, 'roaming off'),
    ('NSURLErrorDomain', -1020, false, false, false, 'data not allowed'),
    ('LarderErrorDomain', NULL, false, false, false, 'other errors of Larder'),
    ('LarderErrorDomain', 106, true, false, false, 'the origin is held'),
    ('LarderErrorDomain', 403, true, false, false, 'store'),
    -- A worker returns such a job with snooze_v1 instead, and the attempt is not counted.
    ('LarderErrorDomain', 501, true, false, false, 'the worker''s own fault');

INSERT INTO larder_data.retry_rule (domain, code, http_status, retried, counts_for_origin, what) VALUES
    ('SDWebImageErrorDomain', 2001, 408, true, false, 'request timeout'),
    ('SDWebImageErrorDomain', 2001, 425, true, false, 'too early'),
    ('SDWebImageErrorDomain', 2001, 429, true, false, 'too many requests'),
    ('SDWebImageErrorDomain', 2001, 500, true, true, 'internal server error'),
    ('SDWebImageErrorDomain', 2001, 502, true, true, 'bad gateway'),
    ('SDWebImageErrorDomain', 2001, 503, true, true, 'service unavailable'),
    ('SDWebImageErrorDomain', 2001, 504, true, true, 'gateway timeout');

INSERT INTO larder_data.retry_rule (domain, code, blocks, block_for, what) VALUES
    ('LarderErrorDomain', 205, true, '30 days', 'limit of a worker: memory'),
    ('LarderErrorDomain', 206, true, '30 days', 'limit of a worker: time'),
    ('LarderErrorDomain', 302, true, '30 days', 'poison: the transcoder died twice on this image');

INSERT INTO larder_data.retry_rule (domain, code, retried, then_code, what) VALUES
    ('LarderErrorDomain', 301, true, 302, 'the transcoder died');
