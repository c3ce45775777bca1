-- What operators change through the dashboard, with the name that a proxy gives its user. Changes by command and SQL
-- are in the log of the database (log_statement = 'mod').

CREATE TABLE larder_data.action (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    login text NOT NULL DEFAULT session_user,
    actor text,
    verb text NOT NULL,
    target text,
    error text
);
COMMENT ON TABLE larder_data.action IS
    'Changes that were asked for through the dashboard, for 90 days. login: of the database; actor: whom a proxy '
    'named; error: why it failed.';

-- Recorded before the change, in a transaction of its own, so that no change is without a record.
CREATE FUNCTION larder.action_begin(actor text, verb text, target text) RETURNS bigint
LANGUAGE sql VOLATILE AS $$
    INSERT INTO larder_data.action AS a (actor, verb, target)
    VALUES (left(action_begin.actor, 200), left(action_begin.verb, 200), left(action_begin.target, 2000))
    RETURNING a.id
$$;
COMMENT ON FUNCTION larder.action_begin IS 'Records a change that is about to be made; answers its number.';

CREATE FUNCTION larder.action_failed(action bigint, error text) RETURNS void
LANGUAGE sql VOLATILE AS $$
    UPDATE larder_data.action a SET error = left(action_failed.error, 2000) WHERE a.id = action_failed.action
$$;
COMMENT ON FUNCTION larder.action_failed IS 'Records that a change was refused or failed.';

CREATE VIEW larder.action AS
SELECT a.id AS action, a.at, a.login, a.actor, a.verb, a.target, a.error FROM larder_data.action a;
COMMENT ON VIEW larder.action IS
    'What was changed through the dashboard in the last 90 days: by whom (actor, else the login), what, and why it '
    'failed. ORDER BY action DESC.';
