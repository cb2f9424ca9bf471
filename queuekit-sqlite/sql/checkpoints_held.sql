-- Purpose: what a job has of checkpoints before another is stored.
-- Parameters: 1 the job's key, 2 the name, 3 the result that is to be stored under it.
-- Result: how many it has, the bytes of their results, and whether the result of this name is the
--   same; NULL if there is none.
-- Index: queuekit_checkpoints_job.
SELECT
    count(*) AS count,
    coalesce(sum(length(result)), 0) AS bytes,
    max(CASE WHEN name = ?2 THEN result = ?3 END) AS same
FROM queuekit_checkpoints
WHERE job = ?1;
