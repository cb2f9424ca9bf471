-- queuekit, schema version 16: errors of each group by hour and by day.
--
-- Purpose: a group says how many of its errors occurred lately (contract R8.11). Programs of version
-- 15 would count none of them. Where another schema than `queuekit` was chosen, each `queuekit.`
-- below is replaced by it.
-- Locks: the advisory lock of migrations, and ACCESS EXCLUSIVE on error_groups and error_deltas,
-- until the migration commits. Both are short.

-- As core writes it, for the hour and the day of `last` and those before.
ALTER TABLE queuekit.error_groups ADD COLUMN recent text NOT NULL DEFAULT '';

-- Failures and deaths together; a failure that ended its job dead is one.
ALTER TABLE queuekit.error_deltas ADD COLUMN errors int NOT NULL DEFAULT 0;

UPDATE queuekit.error_deltas SET errors = greatest(error_deltas.failures, error_deltas.deaths);
