-- Purpose: tables that have rows of a queue that is not there.
-- Parameters: none; the schema's name is put in.
SELECT DISTINCT part.name
FROM (
    SELECT 'jobs' AS name, queue FROM queuekit.jobs
    UNION ALL
    SELECT 'ready', queue FROM queuekit.ready
    UNION ALL
    SELECT 'running', queue FROM queuekit.running
    UNION ALL
    SELECT 'agenda', queue FROM queuekit.agenda
    UNION ALL
    SELECT 'ended', queue FROM queuekit.ended
    UNION ALL
    SELECT 'dead', queue FROM queuekit.dead
    UNION ALL
    SELECT 'deltas', queue FROM queuekit.deltas
    UNION ALL
    SELECT 'counts', queue FROM queuekit.counts
    UNION ALL
    SELECT 'error_groups', queue FROM queuekit.error_groups
    UNION ALL
    SELECT 'error_deltas', queue FROM queuekit.error_deltas
) AS part
WHERE NOT EXISTS (SELECT FROM queuekit.queues WHERE queues.id = part.queue)
