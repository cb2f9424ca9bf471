-- queuekit, schema version 14: pauses with an end.
--
-- Purpose: the document of a queue's settings may say when its pause ends (contract R16.10).
-- `paused_until` says it to statements, in ms since 1970: 0 if the queue is not paused, and the
-- largest number if its pause has no end. Programs of version 13 would keep the queue paused. Where
-- another schema than `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits; ACCESS EXCLUSIVE on queues,
-- for as long as it takes to update the paused ones.

ALTER TABLE queuekit.queues ADD COLUMN paused_until bigint NOT NULL DEFAULT 0;
UPDATE queuekit.queues SET paused_until = 9223372036854775807 WHERE queues.paused;

-- As before, but a pause that has ended is over.
CREATE OR REPLACE VIEW queuekit.queue_list AS
SELECT
    queues.name AS queue,
    queues.paused_until > extract(epoch FROM clock_timestamp()) * 1000 AS paused,
    queues.keyed,
    queues.is_fair,
    queues.per_key,
    queues.max_pending,
    total.pending,
    total.running,
    total.completed,
    total.dead,
    total.cancelled,
    total.corrupt
FROM queuekit.queues
CROSS JOIN LATERAL (
    SELECT
        coalesce(sum(part.pending), 0)::bigint AS pending,
        coalesce(sum(part.running), 0)::bigint AS running,
        coalesce(sum(part.completed), 0)::bigint AS completed,
        coalesce(sum(part.dead), 0)::bigint AS dead,
        coalesce(sum(part.cancelled), 0)::bigint AS cancelled,
        coalesce(sum(part.corrupt), 0)::bigint AS corrupt
    FROM (
        SELECT
            counts.pending, counts.running, counts.completed, counts.dead, counts.cancelled,
            counts.corrupt
        FROM queuekit.counts
        WHERE counts.queue = queues.id
        UNION ALL
        SELECT
            deltas.pending, deltas.running, deltas.completed, deltas.dead, deltas.cancelled,
            deltas.corrupt
        FROM queuekit.deltas
        WHERE deltas.queue = queues.id
    ) AS part
) AS total
WHERE queues.removed_by IS NULL;

ALTER TABLE queuekit.queues DROP COLUMN paused;
