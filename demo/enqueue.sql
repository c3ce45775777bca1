-- Stores the pipeline and enqueues the URLs of a file in one transaction. Run by demo/run as
--   psql -v pipeline_file=... -v urls_file=... -f demo/enqueue.sql "$(larder db url)"
\set spec `cat :'pipeline_file'`
\set urls `cat :'urls_file'`
BEGIN;
SELECT version FROM larder.pipeline_set('demo', :'spec');
SELECT answer, count(*) FROM larder.enqueue_many(
    string_to_array(:'urls', E'\n'), batch => 'demo', pipeline => 'demo',
    max_attempts => 2, retry_base => '200 ms') GROUP BY answer;
COMMIT;
