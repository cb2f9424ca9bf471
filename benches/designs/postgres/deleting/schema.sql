-- Purpose: one table with a status, which a job leaves for history when it is done.
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
CREATE TABLE done (
    id uuid NOT NULL, seq bigint NOT NULL, queue int NOT NULL, rank smallint NOT NULL,
    scheduled_at bigint NOT NULL, created_at bigint NOT NULL, started_at bigint NOT NULL,
    finished_at bigint NOT NULL, state smallint NOT NULL, attempts smallint NOT NULL,
    max_attempts smallint NOT NULL, worker text NOT NULL, kind text NOT NULL,
    payload bytea NOT NULL
);
CREATE INDEX done_id ON done (id);
CREATE INDEX done_order ON done (queue, finished_at);
