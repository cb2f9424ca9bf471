-- queuekit, schema version 11: history.
--
-- Purpose: how things were an hour ago (contract R8.5): totals of queues and sums of runs, by
-- minute, ten minutes and hour (resolution 1, 10 and 60). How many jobs were enqueued is how many
-- are stored and how many were removed; folding counts removals and failed attempts. Programs of
-- version 10 would count neither. Where another schema than `queuekit` was chosen, each `queuekit.`
-- below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits; ACCESS EXCLUSIVE on counts,
-- a row per queue.

ALTER TABLE queuekit.counts
    ADD COLUMN total_failed bigint NOT NULL DEFAULT 0,
    ADD COLUMN total_removed bigint NOT NULL DEFAULT 0,
    -- The totals that were recorded last: enqueued, completed, failed, dead, cancelled.
    ADD COLUMN recorded bigint[] NOT NULL DEFAULT '{0,0,0,0,0}';

-- What has ended and is gone was removed; a job that ended more than once counts each time.
UPDATE queuekit.counts
SET total_removed = greatest(
    0, counts.total_ended - counts.completed - counts.dead - counts.cancelled
);

-- One row: the minute that was recorded last.
CREATE TABLE queuekit.history_mark (
    minute bigint NOT NULL
);

INSERT INTO queuekit.history_mark (minute) VALUES (0);

-- By name: these rows stay when their queue is removed.
CREATE TABLE queuekit.history_totals (
    at bigint NOT NULL,
    read_at bigint NOT NULL,
    enqueued bigint NOT NULL,
    completed bigint NOT NULL,
    failed bigint NOT NULL,
    dead bigint NOT NULL,
    cancelled bigint NOT NULL,
    resolution smallint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    PRIMARY KEY (resolution, at, queue)
);

CREATE INDEX history_totals_queue ON queuekit.history_totals (queue, resolution, at);

CREATE TABLE queuekit.history_runs (
    at bigint NOT NULL,
    resolution smallint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    -- Empty for all kinds that have no row of their own.
    kind text COLLATE "C" NOT NULL,
    -- Those of core's Runs, in their order.
    numbers bigint[] NOT NULL,
    PRIMARY KEY (resolution, at, queue, kind)
);

CREATE INDEX history_runs_queue ON queuekit.history_runs (queue, resolution, at, kind);

-- The kinds that have rows of their own, and when they were last added to.
CREATE TABLE queuekit.history_pairs (
    last bigint NOT NULL,
    queue text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    PRIMARY KEY (queue, kind)
);
