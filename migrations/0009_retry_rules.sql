-- What each error means, as rows that an operator may change. The seed follows SDWebImage 5.21.5 (SDWebImageManager,
-- SDWebImageDownloader) where it has a rule. Sources/ImageModel/FailureClassification.swift holds the same table.

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
    ('SDWebImageErrorDomain', 1000, false, false, false, 'empty or unparsable URL'),
    ('SDWebImageErrorDomain', 1001, false, true, false, 'empty body, not an image, undecodable'),
    ('SDWebImageErrorDomain', 1003, false, false, false, 'blocked URL'),
    ('SDWebImageErrorDomain', 2001, false, false, false, 'HTTP status outside 200-299'),
    ('SDWebImageErrorDomain', 2002, false, false, false, 'cancelled'),
    ('NSURLErrorDomain', NULL, false, true, false, 'other transport errors'),
    ('NSURLErrorDomain', -1001, true, false, true, 'timeout'),
    ('NSURLErrorDomain', -1002, false, true, false, 'scheme not supported'),
    ('NSURLErrorDomain', -1003, true, false, false, 'name not found'),
    ('NSURLErrorDomain', -1004, true, false, true, 'cannot connect'),
    ('NSURLErrorDomain', -1005, true, false, false, 'connection lost or body cut short'),
    ('NSURLErrorDomain', -1007, false, true, false, 'too many redirects'),
    ('NSURLErrorDomain', -1200, true, true, false, 'TLS handshake failed'),
    ('NSURLErrorDomain', -1202, false, true, false, 'certificate not trusted'),
    -- Codes that SDWebImage's loader never blocks and that a worker could report.
    ('NSURLErrorDomain', -999, false, false, false, 'cancelled'),
    ('NSURLErrorDomain', -1009, false, false, false, 'not connected'),
    ('NSURLErrorDomain', -1018, false, false, false, 'roaming off'),
    ('NSURLErrorDomain', -1020, false, false, false, 'data not allowed'),
    ('LarderErrorDomain', NULL, false, false, false, 'other errors of Larder'),
    ('LarderErrorDomain', 101, false, false, false, 'policy: address'),
    ('LarderErrorDomain', 102, false, false, false, 'policy: port'),
    ('LarderErrorDomain', 103, false, false, false, 'policy: https to http'),
    ('LarderErrorDomain', 104, false, false, false, 'policy: robots'),
    ('LarderErrorDomain', 105, false, false, false, 'the worker lacks what the context asks for'),
    ('LarderErrorDomain', 106, true, false, false, 'the origin is held'),
    ('LarderErrorDomain', 201, false, false, false, 'limit of a worker: body'),
    ('LarderErrorDomain', 202, false, false, false, 'limit of a worker: pixels'),
    ('LarderErrorDomain', 203, false, false, false, 'limit of a worker: edge'),
    ('LarderErrorDomain', 204, false, false, false, 'limit of a worker: frames'),
    ('LarderErrorDomain', 401, false, false, false, 'transform'),
    ('LarderErrorDomain', 402, false, false, false, 'encode'),
    ('LarderErrorDomain', 403, true, false, false, 'store'),
    ('LarderErrorDomain', 404, false, false, false, 'the file name of another image'),
    ('LarderErrorDomain', 502, false, false, false, 'the database refused the result of an attempt'),
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
