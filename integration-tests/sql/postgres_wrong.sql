-- Purpose: finds what is derived from jobs and contradicts them: counters, what reserve reads,
-- partition keys that would never be served, idempotency keys. It reads one snapshot, so its answer
-- is right at any time, also while other calls run.
-- Parameters: none; the schema's name is put in.
WITH waiting AS MATERIALIZED (
    SELECT jobs.*
    FROM queuekit.jobs
    WHERE
        NOT EXISTS (SELECT FROM queuekit.running WHERE running.id = jobs.id)
        AND NOT EXISTS (SELECT FROM queuekit.ended WHERE ended.id = jobs.id)
),
open AS MATERIALIZED (
    SELECT jobs.*
    FROM queuekit.jobs
    WHERE NOT EXISTS (SELECT FROM queuekit.ended WHERE ended.id = jobs.id)
),
found AS MATERIALIZED (
    SELECT queue, 'pending' AS state, count(*) AS jobs FROM waiting GROUP BY queue
    UNION ALL
    SELECT queue, 'running', count(*) FROM queuekit.running GROUP BY queue
    UNION ALL
    SELECT queue, CASE state WHEN 2 THEN 'completed' ELSE 'cancelled' END, count(*)
    FROM queuekit.ended
    GROUP BY queue, state
    UNION ALL
    SELECT queue, 'dead', count(*) FROM queuekit.dead GROUP BY queue
),
written AS (
    SELECT queue, pending, running, completed, dead, cancelled FROM queuekit.counts
    UNION ALL
    SELECT queue, pending, running, completed, dead, cancelled FROM queuekit.deltas
),
counted AS MATERIALIZED (
    SELECT written.queue, count.state, sum(count.jobs) AS jobs
    FROM written
    CROSS JOIN LATERAL (VALUES
        ('pending', written.pending), ('running', written.running),
        ('completed', written.completed), ('dead', written.dead),
        ('cancelled', written.cancelled)
    ) AS count (state, jobs)
    GROUP BY written.queue, count.state
)
SELECT
    format('queue %s: %s %s counted, %s found', queue, coalesce(counted.jobs, 0), state,
           coalesce(found.jobs, 0)) AS what
FROM counted
FULL JOIN found USING (queue, state)
WHERE coalesce(counted.jobs, 0) <> coalesce(found.jobs, 0)
UNION ALL
SELECT format('%s waits where no reserve looks', waiting.id)
FROM waiting
WHERE
    coalesce(waiting.lane, '') = ''
    AND NOT EXISTS (SELECT FROM queuekit.ready WHERE ready.id = waiting.id)
UNION ALL
SELECT format('%s may be leased and does not wait', ready.id)
FROM queuekit.ready
WHERE NOT EXISTS (SELECT FROM waiting WHERE waiting.id = ready.id)
UNION ALL
SELECT format('%s stands in ready %s times', ready.id, count(*))
FROM queuekit.ready
GROUP BY ready.id
HAVING count(*) > 1
UNION ALL
SELECT format('%s runs and has no body', running.id)
FROM queuekit.running
WHERE NOT EXISTS (SELECT FROM queuekit.jobs WHERE jobs.id = running.id)
UNION ALL
SELECT format('%s has ended and has no body', ended.id)
FROM queuekit.ended
WHERE NOT EXISTS (SELECT FROM queuekit.jobs WHERE jobs.id = ended.id)
UNION ALL
SELECT format('%s has ended and runs', ended.id)
FROM queuekit.ended
WHERE EXISTS (SELECT FROM queuekit.running WHERE running.id = ended.id)
UNION ALL
SELECT format('%s has ended and is dead', ended.id)
FROM queuekit.ended
WHERE EXISTS (SELECT FROM queuekit.dead WHERE dead.id = ended.id)
UNION ALL
SELECT format('%s waits or runs, and no index holds it', open.id)
FROM open
WHERE NOT open.indexed
UNION ALL
SELECT format('%s has ended, and an index of waiting jobs holds it', jobs.id)
FROM queuekit.jobs
JOIN queuekit.ended ON ended.id = jobs.id
WHERE
    jobs.indexed AND (jobs.lane IS NOT NULL OR jobs.event IS NOT NULL OR jobs.attempts > 0)
UNION ALL
SELECT format('%s has ended with %s bytes, not %s', ended.id, part.size, ended.size)
FROM queuekit.ended
JOIN queuekit.jobs ON jobs.id = ended.id
CROSS JOIN LATERAL (
    SELECT length(jobs.payload) + coalesce(length(ended.result), 0) AS size
) AS part
WHERE part.size <> ended.size
UNION ALL
SELECT format('nobody will look at key %s of queue %s', key.lane, key.queue)
FROM (SELECT DISTINCT waiting.queue, waiting.lane FROM waiting WHERE waiting.lane > '') AS key
WHERE
    NOT EXISTS (
        SELECT FROM queuekit.agenda
        WHERE agenda.queue = key.queue AND agenda.lane = key.lane
    )
    AND NOT EXISTS (
        SELECT FROM queuekit.ready WHERE ready.queue = key.queue AND ready.lane = key.lane
    )
    AND NOT EXISTS (
        SELECT FROM queuekit.running
        WHERE running.queue = key.queue AND running.lane = key.lane
    )
    AND NOT EXISTS (
        SELECT FROM queuekit.dead
        WHERE dead.queue = key.queue AND dead.lane = key.lane AND dead.holds
    )
UNION ALL
SELECT format('%s does not hold its idempotency key', open.id)
FROM open
JOIN queuekit.queues ON queues.id = open.queue
WHERE
    open.idempotency_key IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM queuekit.idempotency AS held
        WHERE
            held.queue = queues.name AND held.key = open.idempotency_key
            AND held.job = open.id AND held.free_at IS NULL
    )
UNION ALL
SELECT format('%s has left its payload with an event that is not there', open.id)
FROM open
WHERE
    open.event IS NOT NULL
    AND NOT EXISTS (SELECT FROM queuekit.events WHERE events.seq = open.event)
UNION ALL
SELECT format('the event %s cannot be found by its id', events.id)
FROM queuekit.events
WHERE
    NOT EXISTS (
        SELECT FROM queuekit.event_ids AS ids WHERE ids.id = events.id AND ids.seq = events.seq
    )
