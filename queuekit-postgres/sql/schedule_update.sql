-- Changes a schedule, if it is still of this revision.
-- Parameters: $1 name; $2 revision; $3 next_at; $4 body.
-- Result: a row if it was.
-- Index: schedules_pkey.
-- Locks: its row.
UPDATE queuekit.schedules
SET revision = nextval('queuekit.schedule_revisions'), next_at = $3::bigint, body = $4::bytea
WHERE schedules.name = $1::text AND schedules.revision = $2::bigint
RETURNING schedules.name
