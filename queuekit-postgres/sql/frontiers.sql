-- The last job of each partition key that is not blocked: the unblocked jobs of a key are always
-- its first.
-- Parameters: a row per key: $1 queue; $2 partition key.
-- Result: a row per key: queue; key; the sequence, 0 if all are blocked.
-- Index: queues_pkey, running_slot, dead_holds, jobs_lane, jobs_later, jobs_coming.
-- Locks: nothing.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
key AS MATERIALIZED (
    SELECT
        lane.queue, lane.lane, queues.skips_waiting,
        CASE
            WHEN queues.holds_dead AND EXISTS (
                SELECT
                FROM queuekit.dead
                WHERE dead.queue = lane.queue AND dead.lane = lane.lane AND dead.holds
            ) THEN 0
            ELSE greatest(0, queues.per_key - (
                SELECT count(*)
                FROM queuekit.running
                WHERE running.queue = lane.queue AND running.lane = lane.lane
                    AND running.slot IS NOT NULL
            ))
        END AS free
    FROM unnest($1::int[], $2::text[]) AS lane (queue, lane)
    JOIN queuekit.queues ON queues.id = lane.queue
)
SELECT
    key.queue,
    key.lane,
    CASE
        WHEN key.free = 0 THEN 0
        WHEN key.skips_waiting THEN coalesce((
            -- All jobs after the last one that may start now are blocked; if there is no such last
            -- job, none is blocked.
            SELECT job.seq
            FROM clock
            CROSS JOIN LATERAL (
                -- If many jobs came due since the last reserve, the first of them are found sooner
                -- in the order of sequence.
                SELECT ARRAY(
                    SELECT first.seq
                    FROM (
                        SELECT jobs.id, jobs.seq, jobs.scheduled_at
                        FROM queuekit.jobs
                        WHERE
                            jobs.queue = key.queue AND jobs.lane = key.lane AND jobs.indexed
                            AND jobs.later
                        ORDER BY jobs.seq
                        LIMIT key.free + 100
                    ) AS first
                    WHERE
                        first.scheduled_at <= clock.now
                        AND NOT EXISTS (
                            SELECT FROM queuekit.running WHERE running.id = first.id
                        )
                    ORDER BY first.seq
                    LIMIT key.free
                ) AS seqs
            ) AS early
            CROSS JOIN LATERAL (
                (
                    SELECT jobs.seq
                    FROM queuekit.jobs
                    WHERE
                        jobs.queue = key.queue AND jobs.lane = key.lane
                        AND jobs.lane IS NOT NULL AND jobs.indexed AND NOT jobs.later
                        AND jobs.scheduled_at <= clock.now
                        AND NOT EXISTS (
                            SELECT FROM queuekit.running WHERE running.id = jobs.id
                        )
                    ORDER BY jobs.seq
                    LIMIT key.free
                )
                UNION ALL
                SELECT first.seq
                FROM unnest(early.seqs) AS first (seq)
                WHERE cardinality(early.seqs) = key.free
                UNION ALL
                (
                    -- As many as place_due.sql marks.
                    SELECT jobs.seq
                    FROM queuekit.jobs
                    WHERE
                        jobs.queue = key.queue AND jobs.lane = key.lane AND jobs.indexed
                        AND jobs.later
                        AND jobs.scheduled_at <= clock.now
                        AND cardinality(early.seqs) < key.free
                        AND NOT EXISTS (
                            SELECT FROM queuekit.running WHERE running.id = jobs.id
                        )
                    ORDER BY jobs.scheduled_at
                    LIMIT greatest(1000, key.free)
                )
            ) AS job
            ORDER BY job.seq
            OFFSET key.free - 1
            LIMIT 1
        ), 9223372036854775807)
        ELSE coalesce((
            SELECT max(first.seq)
            FROM (
                SELECT
                    part.seq,
                    bool_and(part.is_due) OVER (
                        ORDER BY part.seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
                    ) AS is_reachable
                FROM (
                    SELECT job.seq, job.scheduled_at <= clock.now AS is_due
                    FROM clock
                    CROSS JOIN (
                        (
                            SELECT jobs.seq, jobs.scheduled_at
                            FROM queuekit.jobs
                            WHERE
                                jobs.queue = key.queue AND jobs.lane = key.lane
                                AND jobs.lane IS NOT NULL AND jobs.indexed AND NOT jobs.later
                                AND NOT EXISTS (
                                    SELECT FROM queuekit.running WHERE running.id = jobs.id
                                )
                            ORDER BY jobs.seq
                            LIMIT key.free
                        )
                        UNION ALL
                        (
                            SELECT jobs.seq, jobs.scheduled_at
                            FROM queuekit.jobs
                            WHERE
                                jobs.queue = key.queue AND jobs.lane = key.lane AND jobs.indexed
                                AND jobs.later
                                AND NOT EXISTS (
                                    SELECT FROM queuekit.running WHERE running.id = jobs.id
                                )
                            ORDER BY jobs.seq
                            LIMIT key.free
                        )
                    ) AS job
                    ORDER BY job.seq
                    LIMIT key.free
                ) AS part
            ) AS first
            WHERE coalesce(first.is_reachable, true)
        ), 0)
    END AS frontier
FROM key
