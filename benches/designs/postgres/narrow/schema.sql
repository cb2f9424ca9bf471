-- Purpose: the design of the store, bare: a body that is written once, a narrow row while a job
-- waits, a narrow row while it runs, and history that the body is moved to.
-- Locks: none.
CREATE TABLE jobs (
    id uuid PRIMARY KEY, seq bigint NOT NULL, queue int NOT NULL, rank smallint NOT NULL,
    scheduled_at bigint NOT NULL, created_at bigint NOT NULL, max_attempts smallint NOT NULL,
    kind text NOT NULL, payload bytea NOT NULL
);
CREATE TABLE ready (
    id uuid NOT NULL, at bigint NOT NULL, seq bigint NOT NULL, queue int NOT NULL,
    rank smallint NOT NULL
);
CREATE INDEX ready_order ON ready (queue, rank, at, seq);
CREATE TABLE running (
    id uuid PRIMARY KEY, lease_expires_at bigint NOT NULL, started_at bigint NOT NULL,
    queue int NOT NULL, attempts smallint NOT NULL, worker text NOT NULL
);
CREATE INDEX running_expiry ON running (queue, lease_expires_at);
CREATE TABLE done (
    id uuid NOT NULL, seq bigint NOT NULL, queue int NOT NULL, rank smallint NOT NULL,
    scheduled_at bigint NOT NULL, created_at bigint NOT NULL, started_at bigint NOT NULL,
    finished_at bigint NOT NULL, state smallint NOT NULL, attempts smallint NOT NULL,
    max_attempts smallint NOT NULL, worker text NOT NULL, kind text NOT NULL,
    payload bytea NOT NULL
);
CREATE INDEX done_id ON done (id);
CREATE INDEX done_order ON done (queue, finished_at);
