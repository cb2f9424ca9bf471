-- Stores jobs.
-- Parameters: $1 ids; $2 the payload of each.
-- Result: none.
-- Index: jobs_pkey.
-- Locks: nothing.
INSERT INTO jobs (
    id, seq, queue, rank, scheduled_at, created_at, state, attempts, max_attempts, kind, payload
)
SELECT input.id, input.seq, 1, 21, clock.now, clock.now, 0, 0, 3, 'noop', $2::bytea
FROM unnest($1::uuid[]) WITH ORDINALITY AS input (id, seq)
CROSS JOIN (
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now OFFSET 0
) AS clock
