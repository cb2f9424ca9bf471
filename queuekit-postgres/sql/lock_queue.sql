-- Takes a lock of the store's, until the transaction ends: that of a queue with partition keys, or
-- another by its number. Whoever holds it waits for no row for long, so that this may wait for as
-- long as statements may take: lock_timeout is for rows.
-- Parameters: $1 number; $2 the schema's number.
-- Result: none that matters.
-- Index: none.
-- Locks: the advisory lock (schema, number). It is taken before any row.
SELECT set_config('lock_timeout', held.patience, true) AS patience
FROM (
    SELECT
        asked.patience, set_config('lock_timeout', '0', true),
        pg_advisory_xact_lock($2::int, $1::int)
    -- One after the other: OFFSET 0 keeps them apart.
    FROM (SELECT current_setting('lock_timeout') AS patience OFFSET 0) AS asked
    OFFSET 0
) AS held
