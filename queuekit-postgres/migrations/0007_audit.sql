-- queuekit, schema version 7: the audit log.
--
-- Purpose: a row per administrative act (contract R8.6). Where another schema than `queuekit` was
-- chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits.
CREATE TABLE queuekit.audit (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at bigint NOT NULL,
    act text NOT NULL
);
