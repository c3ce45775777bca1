-- List URLs whose settings differ: one call of enqueue_many per distinct settings, in one transaction with the list's
-- progress.

-- JSON in JSON, or its text, which keeps the spelling.
CREATE FUNCTION larder_data.json_of(value json) RETURNS json
LANGUAGE sql IMMUTABLE RETURN CASE json_typeof(value) WHEN 'string' THEN (value #>> '{}')::json ELSE value END;

CREATE FUNCTION larder.enqueue_list(
    request json, urls text[], settings json[] DEFAULT NULL, metas json[] DEFAULT NULL, source text DEFAULT NULL,
    source_from bigint DEFAULT 0, dry_run boolean DEFAULT false
) RETURNS TABLE (ord int, answer text, job_id bigint, domain text, code int, message text)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    r record;
    n CONSTANT int := coalesce(cardinality(urls), 0);
BEGIN
    PERFORM larder_data.refuse(CASE
        WHEN json_typeof(request) IS DISTINCT FROM 'object' THEN 'the request is a JSON object'
        WHEN n > 10000 THEN 'at most 10000 URLs a call, not ' || n
        WHEN cardinality(settings) <> n THEN 'settings has ' || cardinality(settings) || ' elements, urls ' || n
        WHEN cardinality(metas) <> n THEN 'metas has ' || cardinality(metas) || ' elements, urls ' || n
        WHEN EXISTS (SELECT FROM unnest(settings) AS s (setting) WHERE json_typeof(s.setting) <> 'object')
            THEN 'a setting is a JSON object or NULL' END);
    IF dry_run THEN
        -- Does everything in a subtransaction that it rolls back, and keeps the answers.
        BEGIN
            PERFORM set_config('larder.dry_run', 'on', true);
            RETURN QUERY SELECT e.ord, e.answer, NULL::bigint, e.domain, e.code, e.message
            FROM larder.enqueue_list(request, urls, settings, metas) AS e;
            RAISE EXCEPTION 'dry run' USING ERRCODE = 'LA011';
        EXCEPTION WHEN SQLSTATE 'LA011' THEN
            RETURN;
        END;
    END IF;
    SELECT * INTO r FROM json_to_record(request) AS x (
        batch text, pipeline text, pipeline_spec json, priority int, at timestamptz, delay interval, options jsonb,
        context json, max_attempts int, retry_base interval, queue text, fresh_for interval, cache_id text,
        not_after timestamptz, valid_for interval, on_running text, traceparent text);
    PERFORM larder.pipeline_set(r.pipeline, larder_data.json_of(r.pipeline_spec)) WHERE r.pipeline_spec IS NOT NULL;
    PERFORM larder_data.advance_source(
        (larder_data.batch_for_enqueue(r.batch, r.pipeline, r.priority, coalesce(r.queue, 'default'))).id, source,
        source_from, urls) WHERE source IS NOT NULL;
    RETURN QUERY
    SELECT g.ords[e.ord]::int, e.answer, e.job_id, e.domain, e.code, e.message
    FROM (
        SELECT s.pipeline, s.priority, s.at, s.delay, array_agg(u.ord ORDER BY u.ord) AS ords,
            array_agg(u.url ORDER BY u.ord) AS urls, array_agg(u.meta ORDER BY u.ord) AS metas
        FROM unnest(urls, settings, metas) WITH ORDINALITY AS u (url, setting, meta, ord),
            json_to_record(coalesce(u.setting, '{}')) AS s (
                pipeline text, priority int, at timestamptz, delay interval)
        GROUP BY s.pipeline, s.priority, s.at, s.delay ORDER BY min(u.ord)) AS g,
        larder.enqueue_many(g.urls, r.batch, coalesce(g.pipeline, r.pipeline), coalesce(g.priority, r.priority),
            coalesce(g.at, now() + g.delay, r.at, now() + r.delay), larder_data.option_bits(r.options),
            larder_data.json_of(r.context), r.max_attempts, r.retry_base, coalesce(r.queue, 'default'), r.fresh_for,
            r.cache_id, metas => g.metas, not_after => coalesce(r.not_after, now() + r.valid_for),
            on_running => coalesce(r.on_running, 'join'), traceparent => r.traceparent) AS e
    ORDER BY 1;
END $$;
COMMENT ON FUNCTION larder.enqueue_list IS
    'Enqueues up to 10,000 URLs whose settings differ: settings has per URL a JSON object with any of pipeline, '
    'priority, at and delay, or NULL; metas as in larder.enqueue_many. request: a JSON object of the other arguments '
    'of larder.enqueue_many by name, with delay and valid_for (intervals, in place of at and not_after) and '
    'pipeline_spec, a pipeline that is set first. dry_run: answers the same and changes nothing. Costs one call of '
    'enqueue_many per distinct settings.';
