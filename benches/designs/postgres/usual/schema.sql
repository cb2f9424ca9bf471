-- Purpose: the usual design: one table, a status, and every change an update.
-- Locks: none.
CREATE TABLE jobs (
    id uuid PRIMARY KEY, seq bigint NOT NULL, queue int NOT NULL, rank smallint NOT NULL,
    scheduled_at bigint NOT NULL, created_at bigint NOT NULL, started_at bigint,
    finished_at bigint, lease_expires_at bigint, state smallint NOT NULL,
    attempts smallint NOT NULL, max_attempts smallint NOT NULL, worker text,
    kind text NOT NULL, payload bytea NOT NULL
);
CREATE INDEX jobs_ready ON jobs (queue, rank, scheduled_at, seq) WHERE state = 0;
CREATE INDEX jobs_running ON jobs (queue, lease_expires_at) WHERE state = 1;
CREATE INDEX jobs_finished ON jobs (queue, finished_at) WHERE state = 2;
