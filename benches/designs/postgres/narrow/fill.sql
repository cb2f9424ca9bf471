-- Stores jobs.
-- Parameters: $1 ids; $2 the payload of each.
-- Result: none.
-- Index: jobs_pkey.
-- Locks: nothing.
WITH body AS (
    INSERT INTO jobs (id, seq, queue, rank, scheduled_at, created_at, max_attempts, kind, payload)
    SELECT input.id, input.seq, 1, 21, clock.now, clock.now, 3, 'noop', $2::bytea
    FROM unnest($1::uuid[]) WITH ORDINALITY AS input (id, seq)
    CROSS JOIN (
        SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now OFFSET 0
    ) AS clock
    RETURNING id, scheduled_at, seq, queue, rank
)
INSERT INTO ready (id, at, seq, queue, rank)
SELECT body.id, body.scheduled_at, body.seq, body.queue, body.rank
FROM body
