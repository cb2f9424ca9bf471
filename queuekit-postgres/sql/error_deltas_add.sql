-- Appends what a call adds to error groups.
-- Parameters: a row per group: $1 queue, $2 kind, $3 signature, $4 failures, $5 deaths, $6 errors,
-- $7 the job that it was last counted for; $8 the time of the call.
-- Result: none.
-- Index: error_deltas_queue.
-- Locks: nothing that another call waits for.
INSERT INTO queuekit.error_deltas (queue, kind, signature, failures, deaths, errors, sample, at)
SELECT
    input.queue, input.kind, input.signature, input.failures, input.deaths, input.errors,
    input.sample, $8::bigint
FROM unnest(
    $1::int[], $2::text[], $3::text[], $4::int[], $5::int[], $6::int[], $7::uuid[]
) AS input (queue, kind, signature, failures, deaths, errors, sample)
