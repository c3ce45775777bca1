-- After a logical subscriber has taken over: sets each sequence to the highest number in use. As the owner.
DO $$
DECLARE
    s record;
    last bigint;
BEGIN
    FOR s IN
        SELECT format('larder_data.%I', c.table_name) AS place, c.column_name AS name,
            pg_get_serial_sequence(format('larder_data.%I', c.table_name), c.column_name) AS sequence
        FROM information_schema.columns c WHERE c.table_schema = 'larder_data' AND c.is_identity = 'YES'
        UNION ALL VALUES ('larder_data.job', 'id', 'larder_data.job_id'),
            ('larder_data.job_history WHERE NOT larder_data.is_item(job_id)', 'job_id', 'larder_data.job_id'),
            ('larder_data.job_history WHERE larder_data.is_item(job_id)', 'job_id', 'larder_data.item_id')
    LOOP
        EXECUTE format('SELECT greatest(max(%I), (SELECT last_value FROM %s)) FROM %s', s.name, s.sequence, s.place)
        INTO last;
        PERFORM setval(s.sequence, last);
    END LOOP;
END $$;
