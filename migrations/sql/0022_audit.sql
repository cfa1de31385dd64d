-- Who changed what by hand, and why. A command writes its line in the transaction of its change, so that neither is there without
-- the other. Changes by plain SQL leave no line here; those of the settings row are in its own history whatever made them.
CREATE TABLE tidemark.operator_actions (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    acted_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    command text NOT NULL,
    subject text NOT NULL,
    rows_changed bigint NOT NULL CONSTRAINT operator_actions_rows_changed CHECK (rows_changed >= 0),
    operator text NOT NULL,
    database_role text NOT NULL DEFAULT session_user,
    client_address inet DEFAULT inet_client_addr(),
    note text NOT NULL
);
COMMENT ON TABLE tidemark.operator_actions IS 'What was done with the command line: one line for each command that changed anything.';
COMMENT ON COLUMN tidemark.operator_actions.command IS 'The command without its operands, as in "jobs requeue".';
COMMENT ON COLUMN tidemark.operator_actions.subject IS 'What it was done to: ids, settings with their new values, or the options that chose the rows.';
COMMENT ON COLUMN tidemark.operator_actions.rows_changed IS 'How many rows or users; of a command in several transactions, the sum of those that were committed.';
COMMENT ON COLUMN tidemark.operator_actions.operator IS 'The login name on the machine of the command, as it says itself.';
COMMENT ON COLUMN tidemark.operator_actions.database_role IS 'The role that was logged in, as the server knows it.';
COMMENT ON COLUMN tidemark.operator_actions.client_address IS 'From where; null for a socket of the server''s own machine.';
COMMENT ON COLUMN tidemark.operator_actions.note IS 'Why, in the operator''s words.';
CREATE INDEX operator_actions_acted_at ON tidemark.operator_actions (acted_at);

-- Writes a line (p_id NULL) and returns its id, or adds p_rows to a line of the same role, for a command in several transactions.
-- Lines older than 400 days go, a few with each new one.
CREATE FUNCTION tidemark.action_record_v1(p_id bigint, p_command text, p_subject text, p_rows bigint, p_operator text, p_note text) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    v_id bigint := p_id;
BEGIN
    IF p_id IS NOT NULL THEN
        UPDATE tidemark.operator_actions AS action
        SET rows_changed = action.rows_changed + p_rows
        WHERE action.id = p_id AND action.database_role = session_user;
        RETURN p_id;
    END IF;
    WITH old AS MATERIALIZED (
        SELECT action.id FROM tidemark.operator_actions AS action
        WHERE action.acted_at < clock_timestamp() - interval '400 days'
        ORDER BY action.acted_at LIMIT 10 FOR UPDATE SKIP LOCKED
    )
    DELETE FROM tidemark.operator_actions AS action USING old WHERE action.id = old.id;
    INSERT INTO tidemark.operator_actions (command, subject, rows_changed, operator, note)
    VALUES (left(p_command, 100), left(p_subject, 2000), p_rows, left(p_operator, 200), left(coalesce(p_note, ''), 2000))
    RETURNING id INTO v_id;
    RETURN v_id;
END
$$;
COMMENT ON FUNCTION tidemark.action_record_v1(bigint, text, text, bigint, text, text) IS 'Remembers what an operator does, in the transaction that does it.';
