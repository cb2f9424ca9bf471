-- Purpose: stores a large payload beside its job.
-- Parameters: 1 the job's key, 2 payload.
-- Locks: runs inside a step.
INSERT INTO queuekit_payloads (job, payload) VALUES (?1, ?2);
