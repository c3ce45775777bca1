-- Pipelines: each change adds a version, so that live jobs and records keep their text.
--
-- A version not enqueued for longer than history is kept is first retired, which hides it, and deleted two days later:
-- any transaction that found it before has ended by then.

CREATE TABLE larder_data.pipeline (
    id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name text NOT NULL CHECK (name <> ''),
    version int NOT NULL DEFAULT 1,
    owner regrole,
    spec json NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    used_on date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date,
    retired_on date,
    UNIQUE (name, version)
);
COMMENT ON TABLE larder_data.pipeline IS
    'Versions of pipelines. owner: the role that set it. spec is json because jsonb would change the spelling of '
    'numbers (-0.0). used_on: a day (UTC) within a week of the last enqueue that named it. retired_on: see above.';
INSERT INTO larder_data.pipeline (name, spec) VALUES ('original', '{"name":"original","variants":[]}');

CREATE FUNCTION larder_data.find_pipeline(name text) RETURNS int
LANGUAGE plpgsql STABLE AS $$
DECLARE
    found_id int;
BEGIN
    SELECT p.id INTO found_id FROM larder_data.pipeline p WHERE p.name = find_pipeline.name AND p.retired_on IS NULL
    ORDER BY p.version DESC LIMIT 1;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'unknown pipeline "%"', name USING ERRCODE = 'LA003',
            HINT = 'larder.pipeline lists them, larder.pipeline_set() adds one';
    END IF;
    RETURN found_id;
END $$;

CREATE FUNCTION larder_data.is_pipeline(spec json) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    RETURN jsonb_typeof(spec::jsonb) = 'object' AND json_typeof(spec -> 'variants') = 'array'
        AND json_array_length(spec -> 'variants') <= 32 AND NOT EXISTS (
            SELECT FROM json_array_elements(spec -> 'variants') AS v WHERE json_typeof(v) <> 'object');
EXCEPTION WHEN data_exception THEN
    RETURN false;
END $$;

CREATE FUNCTION larder.pipeline_set(name text, spec json) RETURNS TABLE (pipeline_id int, version int)
LANGUAGE plpgsql SET lock_timeout = '1500ms' AS $$
DECLARE
    newest larder_data.pipeline;
BEGIN
    PERFORM larder_data.check_name('a pipeline name', name);
    PERFORM larder_data.refuse(CASE WHEN name = 'original' THEN 'the pipeline "original" cannot be changed'
        WHEN coalesce(octet_length(spec::text) > 262144 OR NOT larder_data.is_pipeline(spec), true)
        THEN 'a pipeline is an object of at most 262144 bytes with an array "variants" of at most 32 objects' END);
    LOOP
        SELECT * INTO newest FROM larder_data.pipeline p WHERE p.name = pipeline_set.name
        ORDER BY p.version DESC LIMIT 1;
        EXIT WHEN newest.spec::text = spec::text AND newest.retired_on IS NULL;
        IF newest.id IS NOT NULL AND NOT larder_data.acts_as(newest.owner) THEN
            RAISE EXCEPTION 'pipeline "%" belongs to role %', name, newest.owner USING ERRCODE = '42501';
        END IF;
        INSERT INTO larder_data.pipeline (name, version, owner, spec)
        VALUES (pipeline_set.name, coalesce(newest.version, 0) + 1, coalesce(newest.owner, larder_data.caller()),
            pipeline_set.spec)
        ON CONFLICT ON CONSTRAINT pipeline_name_version_key DO NOTHING
        RETURNING * INTO newest;
        EXIT WHEN FOUND;
    END LOOP;
    RETURN QUERY SELECT newest.id, newest.version;
EXCEPTION WHEN lock_not_available THEN
    PERFORM larder_data.raise_locked(format('pipeline "%s"', name), 'larder_data.pipeline');
END $$;
COMMENT ON FUNCTION larder.pipeline_set IS
    'Adds a version of a pipeline, unless the newest version has the same text. Live jobs keep their version. Only its '
    'owner and larder_admin may change a pipeline; spec has at most 262,144 bytes and 32 variants.';
