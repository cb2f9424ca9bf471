-- Purpose: compares what each partition key's row counts with its jobs, and finds open jobs that
-- are not the next of their key.
-- Result: a text per difference.
SELECT printf('key %s: %d wait, %d run, %d hold', lane, waiting, running, held)
FROM queuekit_lanes AS lanes
WHERE waiting <> (
        SELECT count(*) FROM queuekit_jobs
        WHERE queue = lanes.queue AND lane = lanes.lane AND state = 0)
    OR (lane <> '' AND running <> (
        SELECT count(*) FROM queuekit_jobs
        WHERE queue = lanes.queue AND lane = lanes.lane AND state = 1))
    OR held <> (
        SELECT count(*) FROM queuekit_jobs
        WHERE queue = lanes.queue AND lane = lanes.lane AND holds = 1)
UNION ALL
SELECT printf('job %d of key %s: open is %d', jobs.key, jobs.lane, jobs.open)
FROM queuekit_jobs AS jobs
LEFT JOIN queuekit_lanes AS lanes ON lanes.queue = jobs.queue AND lanes.lane = jobs.lane
WHERE jobs.state = 0 AND jobs.open <> (
    coalesce(jobs.lane, '') = ''
    OR coalesce(jobs.key = lanes.head, 0));
