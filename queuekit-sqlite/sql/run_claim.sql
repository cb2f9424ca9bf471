-- Purpose: finds the claim under which a job stands.
-- Parameters: 1 the job's key.
-- Result: a claim, or none.
-- Index: the primary key.
SELECT claim FROM queuekit_runs WHERE job = ?1;
