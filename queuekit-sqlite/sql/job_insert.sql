-- Purpose: stores a new job.
-- Parameters: in the order of the columns.
-- Result: one changed row, or none if the id is taken.
-- Index: the unique index on id.
-- Locks: runs inside a step.
INSERT INTO queuekit_jobs (
    id, queue, kind, state, rank, scheduled_at, seq, lane,
    max_attempts, created_at, timeout_ms, deadline_ms, deadline_at,
    idempotency_key, unique_until_done, moved_from, metadata, size, payload, event
)
VALUES (
    ?1, ?2, ?3, 0, ?4, ?5, ?6, ?7, ?8, ?9,
    ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19
)
ON CONFLICT (id) DO NOTHING;
