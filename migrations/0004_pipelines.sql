-- Pipelines: each change adds a version, so that live jobs and records keep the text that they were made with.
--
-- Error codes: LA003 unknown pipeline, LA010 locked by another transaction, 22023 argument.

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

CREATE FUNCTION larder_data.find_pipeline(name text) RETURNS int
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id int;
BEGIN
    SELECT p.id INTO found_id FROM larder_data.pipeline p WHERE p.name = find_pipeline.name
    ORDER BY p.version DESC LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown pipeline "%"', name USING ERRCODE = 'LA003',
            HINT = 'larder.pipeline lists them, larder.pipeline_set() adds one';
    END IF;
    RETURN found_id;
END $$;
COMMENT ON FUNCTION larder_data.find_pipeline IS 'The newest version of a pipeline.';

CREATE FUNCTION larder.pipeline_set(name text, spec json) RETURNS TABLE (pipeline_id int, version int)
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    newest larder_data.pipeline;
BEGIN
    IF name = 'original' THEN
        RAISE EXCEPTION 'the pipeline "original" cannot be changed' USING ERRCODE = '22023';
    ELSIF coalesce(name, '') = '' OR octet_length(name) > 200 OR spec IS NULL THEN
        RAISE EXCEPTION 'a pipeline needs a name of at most 200 bytes and a spec' USING ERRCODE = '22023';
    END IF;
    LOOP
        SELECT * INTO newest FROM larder_data.pipeline p WHERE p.name = pipeline_set.name
        ORDER BY p.version DESC LIMIT 1;
        EXIT WHEN newest.spec::text = spec::text;
        INSERT INTO larder_data.pipeline (name, version, spec)
        VALUES (pipeline_set.name, coalesce(newest.version, 0) + 1, pipeline_set.spec)
        ON CONFLICT ON CONSTRAINT pipeline_name_version_key DO NOTHING
        RETURNING * INTO newest;
        EXIT WHEN FOUND;
    END LOOP;
    RETURN QUERY SELECT newest.id, newest.version;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('pipeline "%s"', name), 'larder_data.pipeline');
END $$;
COMMENT ON FUNCTION larder.pipeline_set IS
    'Adds a version of a pipeline, unless the newest version has the same text. Live jobs keep their version.';
