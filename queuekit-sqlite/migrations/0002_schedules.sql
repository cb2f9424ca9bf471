-- Schedules. Each change of one is a new row in place of the old, whose number is the schedule's
-- revision: numbers are never used twice, also of a schedule that was removed.
CREATE TABLE queuekit_schedules (
    revision INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL UNIQUE,
    next_at INTEGER,
    body BLOB NOT NULL
) STRICT;

CREATE INDEX queuekit_schedules_due ON queuekit_schedules (next_at)
    WHERE next_at IS NOT NULL;
