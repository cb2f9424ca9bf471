-- Purpose: compares what each partition key's row counts with its jobs. Finds jobs that are neither
-- dead nor cancelled and do not stand in exactly one place, ready jobs that are not the head of
-- their key, places that belong to no such job, and claims under which no job stands.
-- Result: a text per difference.
SELECT printf('key %s: %d wait, %d run, %d hold', lane, waiting, running, held)
FROM queuekit_lanes AS lanes
WHERE waiting <> (
        SELECT count(*) FROM queuekit_jobs
        WHERE queue = lanes.queue AND coalesce(lane, '') = lanes.lane AND state = 0
            AND key NOT IN (SELECT job FROM queuekit_runs))
    OR (lane <> '' AND running <> (
        SELECT count(*) FROM queuekit_runs
        WHERE queue = lanes.queue AND lane = lanes.lane))
    OR held <> (
        SELECT count(*) FROM queuekit_jobs
        WHERE queue = lanes.queue AND lane = lanes.lane AND holds = 1)
UNION ALL
SELECT printf('job %d of key %s stands in %d places', jobs.key, jobs.lane, places.n)
FROM (
    SELECT
        jobs.key, jobs.lane,
        (
            SELECT count(*) FROM queuekit_ready AS ready
            WHERE ready.queue = jobs.queue AND ready.rank = jobs.rank
                AND ready.at = jobs.scheduled_at AND ready.seq = jobs.seq
                AND ready.job = jobs.key AND coalesce(ready.lane, '') = coalesce(jobs.lane, '')
        ) + (
            SELECT count(*) FROM queuekit_waiting AS waiting
            WHERE waiting.queue = jobs.queue AND waiting.rank = jobs.rank
                AND waiting.at = jobs.scheduled_at AND waiting.seq = jobs.seq
                AND waiting.job = jobs.key AND waiting.lane = jobs.lane
        ) + (
            SELECT count(*) FROM queuekit_runs AS runs
            JOIN queuekit_claims AS claims ON claims.claim = runs.claim
            WHERE runs.job = jobs.key AND runs.queue = jobs.queue
                AND claims.queue = jobs.queue AND runs.seq = jobs.seq
                AND (claims.finished_at IS NOT NULL OR runs.lane IS jobs.lane)
        ) AS n
    FROM queuekit_jobs AS jobs
    WHERE jobs.state = 0
) AS places
JOIN queuekit_jobs AS jobs ON jobs.key = places.key
WHERE places.n <> 1
UNION ALL
SELECT printf('job %d is ready and not the head of key %s', ready.job, ready.lane)
FROM queuekit_ready AS ready
LEFT JOIN queuekit_lanes AS lanes ON lanes.queue = ready.queue AND lanes.lane = ready.lane
WHERE ready.lane <> '' AND lanes.head IS NOT ready.seq
UNION ALL
SELECT printf('a place belongs to job %d, which has ended', places.job)
FROM (
    SELECT job FROM queuekit_ready
    UNION ALL
    SELECT job FROM queuekit_waiting
    UNION ALL
    SELECT job FROM queuekit_runs
) AS places
LEFT JOIN queuekit_jobs AS jobs ON jobs.key = places.job
WHERE jobs.state IS NOT 0
UNION ALL
SELECT printf('no job stands under claim %d', claims.claim)
FROM queuekit_claims AS claims
WHERE claims.claim NOT IN (SELECT claim FROM queuekit_runs);
