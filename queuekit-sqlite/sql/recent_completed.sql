-- Purpose: lists the newest ends of completed jobs of a queue before a place.
-- Parameters: 1 name of the queue, 2 finished_at and 3 end_seq of the place, 4 how many.
-- Result: id, finished_at, end_seq.
-- Index: the unique index on the names of queues; queuekit_claims_finished; queuekit_runs_claim,
-- covering; the primary key.
SELECT jobs.id AS id, claims.finished_at AS at, runs.seq + claims.end_offset AS seq
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
CROSS JOIN queuekit_jobs AS jobs ON jobs.key = runs.job
WHERE
    claims.queue = (SELECT id FROM queuekit_queues WHERE name = ?1)
    AND claims.finished_at >= 0 AND claims.finished_at <= ?2
    AND (claims.finished_at < ?2 OR runs.seq < ?3 - claims.end_offset)
ORDER BY claims.finished_at DESC, claims.end_seq DESC, claims.claim DESC, runs.seq DESC LIMIT ?4;
