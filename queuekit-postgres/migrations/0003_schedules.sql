-- queuekit, schema version 3: schedules.
--
-- Purpose: a row per schedule, of which the store reads no more than its name and when it is due.
-- Where another schema than `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits.

-- Each change of a schedule takes a number that is never used twice, also of one that was removed.
CREATE SEQUENCE queuekit.schedule_revisions;

CREATE TABLE queuekit.schedules (
    name text COLLATE "C" PRIMARY KEY,
    revision bigint NOT NULL,
    next_at bigint,
    body bytea NOT NULL
);

CREATE INDEX schedules_due ON queuekit.schedules (next_at) WHERE next_at IS NOT NULL;
