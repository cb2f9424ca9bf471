-- Whether deliveries still need a part of the log: they wait or run, and have no copy of the data.
-- Parameters: $1 the first place, $2 the one behind the last.
-- Result: one boolean.
-- Index: jobs_event.
-- Locks: nothing.
SELECT EXISTS (
    SELECT
    FROM queuekit.jobs
    WHERE jobs.event >= $1::bigint AND jobs.event < $2::bigint AND jobs.indexed
) AS is_needed
