-- URLs of a list whose settings differ: one call of enqueue_many per distinct settings, in one transaction with the
-- progress of the list.

CREATE FUNCTION larder_data.enqueue_groups(request json, urls text[], settings json[], metas json[])
RETURNS TABLE (ord bigint, answer text, job_id bigint, domain text, code int, message text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    g record;
    r record;
BEGIN
    SELECT * INTO r FROM json_to_record(request) AS x (
        batch text, pipeline text, pipeline_spec text, priority int, run_at timestamptz, delay_ms float8,
        options bigint, context text, max_attempts int, retry_base_ms float8, queue text, fresh_for_ms float8,
        cache_id text);
    PERFORM larder.pipeline_set(r.pipeline, r.pipeline_spec::json) WHERE r.pipeline_spec IS NOT NULL;
    FOR g IN
        SELECT s.pipeline, s.priority, s.run_at, s.delay_ms, array_agg(u.ord ORDER BY u.ord) AS ords,
            array_agg(u.url ORDER BY u.ord) AS urls, array_agg(u.meta ORDER BY u.ord) AS metas
        FROM unnest(urls, settings, metas) WITH ORDINALITY AS u (url, setting, meta, ord),
            json_to_record(coalesce(u.setting, '{}')) AS s (
                pipeline text, priority int, run_at timestamptz, delay_ms float8)
        GROUP BY s.pipeline, s.priority, s.run_at, s.delay_ms ORDER BY min(u.ord)
    LOOP
        RETURN QUERY SELECT g.ords[e.ord], e.answer, e.job_id, e.domain, e.code, e.message
        FROM larder.enqueue_many(g.urls, r.batch, coalesce(g.pipeline, r.pipeline), coalesce(g.priority, r.priority),
            coalesce(g.run_at, now() + g.delay_ms * interval '1 ms', r.run_at, now() + r.delay_ms * interval '1 ms'),
            coalesce(r.options, 0), r.context::json, r.max_attempts,
            r.retry_base_ms * interval '1 ms', coalesce(r.queue, 'default'), r.fresh_for_ms * interval '1 ms',
            r.cache_id, metas => g.metas) AS e;
    END LOOP;
END $$;
COMMENT ON FUNCTION larder_data.enqueue_groups IS
    'Enqueues the URLs of one call of larder.enqueue_list, grouped by their settings.';

CREATE FUNCTION larder.enqueue_list(
    request json, urls text[], settings json[] DEFAULT NULL, metas json[] DEFAULT NULL, source text DEFAULT NULL,
    source_from bigint DEFAULT 0, dry_run boolean DEFAULT false
) RETURNS TABLE (ord int, answer text, job_id bigint, domain text, code int, message text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    b larder_data.batch;
    answers json;
BEGIN
    IF cardinality(urls) > 10000 THEN
        RAISE EXCEPTION 'at most 10000 URLs a call, not %', cardinality(urls) USING ERRCODE = '22023';
    ELSIF source IS NOT NULL AND NOT dry_run THEN
        b := larder_data.batch_for_enqueue(request ->> 'batch', request ->> 'pipeline', (request ->> 'priority')::int,
            coalesce(request ->> 'queue', 'default'));
        PERFORM larder_data.advance_source(b.id, source, source_from, urls);
    END IF;
    -- A dry run does everything in a subtransaction that it rolls back.
    BEGIN
        SELECT json_agg(row_to_json(e)) INTO answers
        FROM larder_data.enqueue_groups(request, urls, settings, metas) AS e;
        IF dry_run THEN
            RAISE EXCEPTION 'dry run' USING ERRCODE = 'LA011';
        END IF;
    EXCEPTION WHEN SQLSTATE 'LA011' THEN
        NULL;
    END;
    RETURN QUERY
    SELECT e.ord, e.answer, CASE WHEN NOT dry_run THEN e.job_id END, e.domain, e.code, e.message
    FROM json_to_recordset(answers) AS e (ord int, answer text, job_id bigint, domain text, code int, message text)
    ORDER BY e.ord;
END $$;
COMMENT ON FUNCTION larder.enqueue_list IS
    'Enqueues up to 10,000 URLs whose settings differ: settings has per URL a JSON object with any of pipeline, '
    'priority, run_at and delay_ms, or NULL; metas as in larder.enqueue_many. request: a JSON object of the other '
    'arguments of larder.enqueue_many by name, with delay_ms, retry_base_ms and fresh_for_ms in ms, and pipeline_spec, '
    'a pipeline to be set first. dry_run: answers the same and changes '
    'nothing. Costs one call of enqueue_many per distinct settings.';
