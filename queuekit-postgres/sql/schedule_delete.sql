-- Removes a schedule, if it is still of this revision.
-- Parameters: $1 name; $2 revision.
-- Result: a row if it was.
-- Index: schedules_pkey.
-- Locks: its row.
DELETE FROM queuekit.schedules
WHERE schedules.name = $1::text AND schedules.revision = $2::bigint
RETURNING schedules.name
