-- Purpose: finds where a slice of all jobs ends.
-- Parameters: 1 the key before the slice, 2 how many jobs.
-- Result: its last key, or NULL if no job is left; how many jobs it has.
-- Index: the primary key.
SELECT max(key) AS last, count(*) AS jobs
FROM (SELECT key FROM queuekit_jobs WHERE key > ?1 ORDER BY key LIMIT ?2);
