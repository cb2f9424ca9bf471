-- queuekit, schema version 9: history.
--
-- Purpose: how things were an hour ago (contract R8.5): totals of queues and sums of runs, by
-- minute, ten minutes and hour (resolution 1, 10 and 60). How many jobs were enqueued is how many
-- are stored and how many were removed. Programs of version 8 would count no failures and no
-- removals.
-- Locks: the file's write lock, until the migration commits.

ALTER TABLE queuekit_queues ADD COLUMN total_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE queuekit_queues ADD COLUMN total_removed INTEGER NOT NULL DEFAULT 0;

-- What has ended and is gone was removed; a job that ended more than once counts each time.
UPDATE queuekit_queues
SET total_removed = max(0, last_end_seq - completed - dead - cancelled);

-- The totals of a queue that were recorded last; they go with it.
CREATE TABLE queuekit_history_recorded (
    queue INTEGER PRIMARY KEY,
    enqueued INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    cancelled INTEGER NOT NULL
) STRICT;

-- By name: these rows stay when their queue is removed.
CREATE TABLE queuekit_history_totals (
    resolution INTEGER NOT NULL,
    at INTEGER NOT NULL,
    queue TEXT NOT NULL,
    read_at INTEGER NOT NULL,
    enqueued INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    PRIMARY KEY (resolution, at, queue)
) STRICT, WITHOUT ROWID;

CREATE INDEX queuekit_history_totals_queue ON queuekit_history_totals (queue, resolution, at);

CREATE TABLE queuekit_history_runs (
    resolution INTEGER NOT NULL,
    at INTEGER NOT NULL,
    queue TEXT NOT NULL,
    -- Empty for all kinds that have no row of their own.
    kind TEXT NOT NULL,
    -- The numbers of core's Runs, without the zeros at the end.
    numbers TEXT NOT NULL,
    PRIMARY KEY (resolution, at, queue, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX queuekit_history_runs_queue ON queuekit_history_runs (queue, resolution, at, kind);

-- The kinds that have rows of their own, and when they were last added to.
CREATE TABLE queuekit_history_pairs (
    queue TEXT NOT NULL,
    kind TEXT NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (queue, kind)
) STRICT, WITHOUT ROWID;
