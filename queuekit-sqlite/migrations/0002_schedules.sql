-- Numbers that are never used twice: revisions of schedules, places of events in their log. They are
-- counted here and not by SQLite (AUTOINCREMENT), which would add a table of its own to that of an
-- application.
CREATE TABLE queuekit_numbers (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    last INTEGER NOT NULL
) STRICT;

INSERT INTO queuekit_numbers (only, last) VALUES (1, 0);

-- Schedules. Each change of one takes another number, also of one that was removed and made again.
CREATE TABLE queuekit_schedules (
    name TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    next_at INTEGER,
    body BLOB NOT NULL
) STRICT;

CREATE INDEX queuekit_schedules_due ON queuekit_schedules (next_at)
    WHERE next_at IS NOT NULL;
