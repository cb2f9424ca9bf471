-- Creates a schedule, if there is none of its name.
-- Parameters: $1 name; $2 next_at; $3 body.
-- Result: a row if there was none.
-- Index: schedules_pkey.
-- Locks: its row.
INSERT INTO queuekit.schedules (name, revision, next_at, body)
VALUES ($1::text, nextval('queuekit.schedule_revisions'), $2::bigint, $3::bytea)
ON CONFLICT (name) DO NOTHING
RETURNING schedules.name
