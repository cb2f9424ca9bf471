-- queuekit, schema version 10: error groups.
--
-- Purpose: a row per group of errors of a queue that look alike (contract R8.4). A call that
-- records failures or deaths appends what they add to error_deltas, and upkeep adds that up in
-- error_groups: no call waits for the row of a group. Programs of version 9 would count nothing.
-- Where another schema than `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits.
CREATE TABLE queuekit.error_deltas (
    id bigint GENERATED ALWAYS AS IDENTITY,
    at bigint NOT NULL,
    queue int NOT NULL,
    failures int NOT NULL,
    deaths int NOT NULL,
    -- The last job that it was counted for.
    sample uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    -- The version of core's rules, a space, and the masked first line of the error.
    signature text COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX error_deltas_queue ON queuekit.error_deltas (queue);

CREATE TABLE queuekit.error_groups (
    failures bigint NOT NULL,
    deaths bigint NOT NULL,
    first bigint NOT NULL,
    last bigint NOT NULL,
    queue int NOT NULL,
    sample uuid NOT NULL,
    kind text COLLATE "C" NOT NULL,
    signature text COLLATE "C" NOT NULL,
    PRIMARY KEY (queue, kind, signature)
);
