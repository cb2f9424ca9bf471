-- The first jobs of several queues, queue by queue, and in each section by section, as list_leased,
-- list_waiting, list_lanes, list_dead and list_ended list those of one queue.
-- Parameters: a row per queue, in order: $1 queue; $2 whether it is fair. $3 the numbers of the
-- sections, in order: 0 running; 1 ready; 2 failed; 3 scheduled; 4 blocked; 5 dead; 6 cancelled; 7
-- completed. $4 most jobs in all; $5, $6 of the ended
-- ones only those that ended at this time or later, and at that or before.
-- Result: the number of the queue in the call, section, id, and the job's place in the section: up
-- to three numbers, and a key; of ended jobs the kind. Some of the waiting jobs may run by now.
-- Index: running_expiry, ready_order, ready_plain, jobs_keyed, jobs_lane, jobs_later, dead_order,
-- ended_order, jobs_pkey.
-- Locks: nothing.
SELECT
    asked.place, entry.section, entry.id, entry.one, entry.two, entry.three, entry.lane, entry.kind
FROM unnest($1::int[], $2::boolean[]) WITH ORDINALITY AS asked (id, is_fair, place)
CROSS JOIN LATERAL (
    SELECT section.number AS section, job.id, job.one, job.two, job.three, job.lane, job.kind
    FROM unnest($3::int[]) AS section (number)
    CROSS JOIN LATERAL (
        (
            SELECT
                running.id, running.lease_expires_at AS one, running.seq AS two,
                0::bigint AS three, ''::text AS lane, NULL::text AS kind
            FROM queuekit.running
            WHERE section.number = 0 AND running.queue = asked.id
            ORDER BY running.lease_expires_at, running.seq
            LIMIT $4::int
        )
        UNION ALL
        (
            SELECT waiting.id, waiting.rank, waiting.at, waiting.seq, '', NULL
            FROM (
                (
                    SELECT ready.id, ready.rank::bigint AS rank, ready.at, ready.seq
                    FROM queuekit.ready
                    WHERE
                        section.number BETWEEN 1 AND 3 AND NOT asked.is_fair
                        AND ready.queue = asked.id AND ready.slot IS NULL AND ready.rank >= 0
                    ORDER BY ready.rank, ready.at, ready.seq
                    LIMIT $4::int
                )
                UNION ALL
                (
                    SELECT jobs.id, jobs.rank::bigint, jobs.scheduled_at, jobs.seq
                    FROM queuekit.jobs
                    WHERE
                        section.number BETWEEN 1 AND 3 AND NOT asked.is_fair
                        AND jobs.queue = asked.id AND jobs.indexed AND jobs.lane > ''
                    ORDER BY jobs.rank, jobs.scheduled_at, jobs.seq
                    LIMIT $4::int
                )
            ) AS waiting
            ORDER BY waiting.rank, waiting.at, waiting.seq
            LIMIT $4::int
        )
        UNION ALL
        (
            SELECT keyed.id, 0, keyed.seq, 0, keyed.lane, NULL
            FROM (
                (
                    SELECT ready.id, ready.seq, ''::text AS lane
                    FROM queuekit.ready
                    WHERE
                        section.number BETWEEN 1 AND 3 AND asked.is_fair
                        AND ready.queue = asked.id AND coalesce(ready.slot, -1) = -1
                    ORDER BY ready.seq
                    LIMIT $4::int
                )
                UNION ALL
                (
                    SELECT jobs.id, jobs.seq, jobs.lane
                    FROM queuekit.jobs
                    WHERE
                        (section.number = 4 OR section.number BETWEEN 1 AND 3 AND asked.is_fair)
                        AND jobs.queue = asked.id AND jobs.indexed AND jobs.lane > ''
                        AND NOT jobs.later
                    ORDER BY jobs.lane, jobs.seq
                    LIMIT $4::int
                )
                UNION ALL
                (
                    SELECT jobs.id, jobs.seq, jobs.lane
                    FROM queuekit.jobs
                    WHERE
                        (section.number = 4 OR section.number BETWEEN 1 AND 3 AND asked.is_fair)
                        AND jobs.queue = asked.id AND jobs.indexed AND jobs.later
                    ORDER BY jobs.lane, jobs.seq
                    LIMIT $4::int
                )
            ) AS keyed
            ORDER BY keyed.lane COLLATE "C", keyed.seq
            LIMIT $4::int
        )
        UNION ALL
        (
            SELECT dead.id, dead.finished_at, dead.seq, 0, '', dead.kind
            FROM queuekit.dead
            WHERE
                section.number = 5 AND dead.queue = asked.id
                AND dead.finished_at >= $5::bigint AND dead.finished_at <= $6::bigint
            ORDER BY dead.finished_at DESC, dead.seq DESC
            LIMIT $4::int
        )
        UNION ALL
        (
            SELECT
                ended.id, ended.finished_at, ended.seq, 0, '',
                (SELECT jobs.kind FROM queuekit.jobs WHERE jobs.id = ended.id)
            FROM queuekit.ended
            WHERE
                section.number BETWEEN 6 AND 7 AND ended.queue = asked.id
                AND ended.state = CASE section.number WHEN 6 THEN 4 ELSE 2 END::smallint
                AND ended.finished_at >= $5::bigint AND ended.finished_at <= $6::bigint
            ORDER BY ended.finished_at DESC, ended.seq DESC
            LIMIT $4::int
        )
    ) AS job
    LIMIT $4::int
) AS entry
LIMIT $4::int
