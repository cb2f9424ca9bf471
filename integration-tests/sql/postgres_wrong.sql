-- Purpose: finds what is derived from jobs and contradicts them: counters, what reserve reads,
-- partition keys that would never be served, idempotency keys. It reads one snapshot, so its answer
-- is right at any time, also while other calls run.
-- Parameters: none; the schema's name is put in.
WITH waiting AS MATERIALIZED (
    SELECT jobs.*
    FROM queuekit.jobs
    WHERE NOT EXISTS (SELECT FROM queuekit.running WHERE running.id = jobs.id)
),
found AS MATERIALIZED (
    SELECT queue, 'pending' AS state, count(*) AS jobs FROM waiting GROUP BY queue
    UNION ALL
    SELECT queue, 'running', count(*) FROM queuekit.running GROUP BY queue
    UNION ALL
    SELECT queue, CASE state WHEN 2 THEN 'completed' ELSE 'cancelled' END, count(*)
    FROM queuekit.done
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
SELECT format('%s does not hold its idempotency key', jobs.id)
FROM queuekit.jobs
JOIN queuekit.queues ON queues.id = jobs.queue
WHERE
    jobs.idempotency_key IS NOT NULL
    AND NOT EXISTS (
        SELECT FROM queuekit.idempotency AS held
        WHERE
            held.queue = queues.name AND held.key = jobs.idempotency_key
            AND held.job = jobs.id AND held.free_at IS NULL
    )
UNION ALL
SELECT format('%s has left its payload with an event that is not there', jobs.id)
FROM queuekit.jobs
WHERE
    jobs.event IS NOT NULL
    AND NOT EXISTS (SELECT FROM queuekit.events WHERE events.seq = jobs.event)
UNION ALL
SELECT format('the event %s cannot be found by its id', events.id)
FROM queuekit.events
WHERE
    NOT EXISTS (
        SELECT FROM queuekit.event_ids AS ids WHERE ids.id = events.id AND ids.seq = events.seq
    )
