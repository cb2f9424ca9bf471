-- Purpose: reads a job's large payload.
-- Parameters: 1 the job's key.
-- Result: payload, or none.
-- Index: the primary key.
SELECT payload FROM queuekit_payloads WHERE job = ?1;
