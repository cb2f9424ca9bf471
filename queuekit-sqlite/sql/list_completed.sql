-- Purpose: lists jobs that completed at a time or later, newest first, after a place.
-- Parameters: 1 queue, 2 finished_at and 3 end_seq of the place, 4 how many, 5 the time.
-- Result: key, finished_at, end_seq.
-- Index: queuekit_claims_finished; queuekit_runs_claim, covering.
SELECT runs.job AS key, claims.finished_at AS at, runs.seq + claims.end_offset AS seq
FROM queuekit_claims AS claims
CROSS JOIN queuekit_runs AS runs ON runs.claim = claims.claim
WHERE
    claims.queue = ?1 AND claims.finished_at >= ?5 AND claims.finished_at <= ?2
    AND (claims.finished_at < ?2 OR runs.seq < ?3 - claims.end_offset)
ORDER BY claims.finished_at DESC, claims.end_seq DESC, claims.claim DESC, runs.seq DESC LIMIT ?4;
