-- Takes an advisory lock of the store until the transaction ends: that of a queue with partition
-- keys, or another by its number. No holder of it waits long for a row, so this statement may wait
-- for as long as the statement timeout allows: lock_timeout is for rows.
-- Parameters: $1 number; $2 the schema's number.
-- Result: none that matters.
-- Index: none.
-- Locks: the advisory lock (schema, number). It is taken before any row.
SELECT set_config('lock_timeout', held.patience, true) AS patience
FROM (
    SELECT
        asked.patience, set_config('lock_timeout', '0', true),
        pg_advisory_xact_lock($2::int, $1::int)
    -- One after the other: OFFSET 0 keeps the planner from merging the steps.
    FROM (SELECT current_setting('lock_timeout') AS patience OFFSET 0) AS asked
    OFFSET 0
) AS held
