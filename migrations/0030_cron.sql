-- Cron expressions: when a schedule is due next.

CREATE FUNCTION larder_data.cron_field(field text, low int, high int, names text DEFAULT '') RETURNS int[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    item text;
    m text[];
    first int;
    last int;
    step int;
    found int[] := '{}'::int[];
BEGIN
    FOREACH item IN ARRAY string_to_array(lower(field), ',') LOOP
        -- Names become their numbers: 'sun mon …' from low.
        SELECT coalesce(string_agg(coalesce((low + p.place - 1)::text, p.part), '' ORDER BY p.ord), '') INTO item
        FROM regexp_matches(item, '[a-z]+|[^a-z]+', 'g') WITH ORDINALITY AS r (parts, ord),
            LATERAL (SELECT r.parts[1], array_position(string_to_array(names, ' '), r.parts[1]), r.ord)
                AS p (part, place, ord);
        m := regexp_match(item, '^(?:\*|(\d{1,2})(?:-(\d{1,2}))?)(?:/(\d{1,2}))?$');
        first := coalesce(m[1]::int, low);
        last := coalesce(m[2]::int, CASE WHEN m[1] IS NULL THEN high ELSE first END);
        step := coalesce(m[3]::int, 1);
        IF m IS NULL OR step = 0 OR first < low OR last > high OR last < first
            OR m[3] IS NOT NULL AND m[1] IS NOT NULL AND m[2] IS NULL THEN
            RAISE EXCEPTION 'cron: "%" is not *, N, N-M, */STEP or N-M/STEP with numbers from % to %', field, low, high
                USING ERRCODE = '22023';
        END IF;
        found := found || ARRAY(SELECT generate_series(first, last, step));
    END LOOP;
    RETURN ARRAY(SELECT DISTINCT n FROM unnest(found) AS n ORDER BY n);
END $$;
COMMENT ON FUNCTION larder_data.cron_field IS 'The numbers that a field of a cron expression allows.';

CREATE FUNCTION larder_data.cron_fields(cron text) RETURNS text[]
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
    fields text[] := regexp_split_to_array(btrim(CASE lower(btrim(cron))
        WHEN '@hourly' THEN '0 * * * *' WHEN '@daily' THEN '0 0 * * *' WHEN '@midnight' THEN '0 0 * * *'
        WHEN '@weekly' THEN '0 0 * * 0' WHEN '@monthly' THEN '0 0 1 * *' WHEN '@yearly' THEN '0 0 1 1 *'
        WHEN '@annually' THEN '0 0 1 1 *' ELSE cron END), '\s+');
BEGIN
    IF cardinality(fields) <> 5 THEN
        RAISE EXCEPTION 'cron: "%" does not have five fields: minute hour day month weekday', cron
            USING ERRCODE = '22023',
                HINT = 'such as 0 2 * * * for 02:00 each day, or @hourly, @daily, @weekly, @monthly';
    END IF;
    RETURN fields;
END $$;
COMMENT ON FUNCTION larder_data.cron_fields IS
    'The five fields of a cron expression, with @daily and its like written out.';

-- As in Vixie's cron a day counts if it matches the day or the weekday when both are restricted. On a day on which the
-- clock is changed, a time with a fixed hour is run once: one that the clock skips an hour later, one that it repeats
-- at the second time. With * as the hour, each real minute counts.
CREATE FUNCTION larder_data.cron_next(cron text, time_zone text, after timestamptz) RETURNS timestamptz
LANGUAGE plpgsql STABLE AS $$
DECLARE
    fields text[] := larder_data.cron_fields(cron);
    minutes int[] := larder_data.cron_field(fields[1], 0, 59);
    hours int[] := larder_data.cron_field(fields[2], 0, 23);
    days int[] := larder_data.cron_field(fields[3], 1, 31);
    months int[] := larder_data.cron_field(fields[4], 1, 12, 'jan feb mar apr may jun jul aug sep oct nov dec');
    -- 7 is Sunday too.
    weekdays int[] := ARRAY(
        SELECT n % 7 FROM unnest(larder_data.cron_field(fields[5], 0, 7, 'sun mon tue wed thu fri sat')) AS n);
    either boolean := left(fields[3], 1) <> '*' AND left(fields[5], 1) <> '*';
    found timestamptz;
    day date;
BEGIN
    FOR day IN
        SELECT d::date FROM generate_series((after AT TIME ZONE time_zone)::date::timestamp,
            (after AT TIME ZONE time_zone)::date + interval '8 years', interval '1 day') AS d
        WHERE extract(month FROM d) = ANY (months) AND CASE WHEN either
            THEN extract(day FROM d) = ANY (days) OR extract(dow FROM d) = ANY (weekdays)
            ELSE extract(day FROM d) = ANY (days) AND extract(dow FROM d) = ANY (weekdays) END
    LOOP
        IF left(fields[2], 1) = '*' THEN
            SELECT min(t) INTO found
            FROM generate_series(day::timestamp AT TIME ZONE time_zone,
                (day + 1)::timestamp AT TIME ZONE time_zone - interval '1 min', interval '1 min') AS t
            WHERE t > after AND extract(minute FROM t AT TIME ZONE time_zone) = ANY (minutes)
              AND extract(hour FROM t AT TIME ZONE time_zone) = ANY (hours);
        ELSE
            SELECT min(t) INTO found
            FROM unnest(hours) AS h, unnest(minutes) AS m,
                LATERAL (SELECT (day + make_time(h, m, 0)) AT TIME ZONE time_zone) AS x (t)
            WHERE t > after;
        END IF;
        EXIT WHEN found IS NOT NULL;
    END LOOP;
    RETURN found;
END $$;
COMMENT ON FUNCTION larder_data.cron_next IS
    'The first time after `after` that a cron expression means in a time zone; NULL if there is none within 8 years.';
