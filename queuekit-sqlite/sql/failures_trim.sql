-- failures_trim
-- Purpose: keeps the last failures of a job, or its last releases.
-- Parameters: 1 the job's key, 2 how many are kept, 3 whether of the releases.
-- Index: the primary key.
-- Locks: runs inside a step.
DELETE FROM queuekit_failures
WHERE job = ?1 AND (cause IS NOT NULL) = ?3 AND lease_seq <= (
    SELECT lease_seq FROM queuekit_failures WHERE job = ?1 AND (cause IS NOT NULL) = ?3
    ORDER BY lease_seq DESC LIMIT 1 OFFSET ?2
);
