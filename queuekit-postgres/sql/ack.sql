-- Completes jobs whose leases hold.
-- Parameters: a column each, a row per job, sorted by id: $1 id; $2 lease_seq; $3 nonce; $4 result;
-- $5 the queue's name. If $2, $3 or $5 has the same value for all jobs, one element is enough; if
-- all of $4 is NULL, it may be empty.
-- Result: one row: how many were completed; if not all, their ids.
-- Index: running_pkey, jobs_pkey, idempotency_pkey, queues_pkey, queues_name_key.
-- Locks: the leases and bodies it removes; those who settle the same leases wait.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
lease AS (
    DELETE FROM queuekit.running
    USING unnest($1::uuid[], $2::bigint[], $3::uuid[], $4::bytea[], $5::text[])
        AS input (id, lease_seq, nonce, result, queue)
    WHERE
        running.id = input.id
        AND running.nonce = coalesce(input.nonce, ($3::uuid[])[1])
        AND running.lease_seq = coalesce(input.lease_seq, ($2::bigint[])[1])
        -- An id ends in two bytes of the hash of its queue's name, which two queues may share, so
        -- the queue is compared too. A queue that all acks share is looked up once.
        AND running.queue = CASE cardinality($5::text[])
            WHEN 1 THEN (SELECT id FROM queuekit.queues WHERE name = ($5::text[])[1])
            ELSE (SELECT id FROM queuekit.queues WHERE name = input.queue)
        END
    RETURNING running.*, input.result
),
body AS (
    DELETE FROM queuekit.jobs
    USING lease
    WHERE jobs.id = lease.id
    RETURNING
        jobs.id, jobs.seq, jobs.scheduled_at, jobs.created_at, jobs.timeout_ms, jobs.deadline_ms,
        jobs.deadline_at, jobs.queue, jobs.releases, jobs.rank, jobs.max_attempts,
        jobs.unique_until_done, jobs.kind, jobs.lane, jobs.idempotency_key, jobs.moved_from,
        jobs.metadata, jobs.errors, jobs.payload, jobs.event, lease.nonce, lease.lease_seq,
        lease.started_at, lease.attempts, lease.cancel_requested, lease.worker, lease.result
),
ended AS (
    INSERT INTO queuekit.done (
        id, nonce, finished_at, seq, lease_seq, scheduled_at, created_at, timeout_ms, deadline_ms,
        deadline_at, started_at, queue, releases, state, rank, attempts, max_attempts,
        unique_until_done, cancel_requested, kind, lane, idempotency_key, worker, moved_from,
        metadata, errors, result, payload, event
    )
    SELECT
        body.id, body.nonce, clock.now, body.seq, body.lease_seq, body.scheduled_at,
        body.created_at, body.timeout_ms, body.deadline_ms, body.deadline_at, body.started_at,
        body.queue, body.releases, 2, body.rank, body.attempts, body.max_attempts,
        body.unique_until_done, body.cancel_requested, body.kind, body.lane, body.idempotency_key,
        body.worker, body.moved_from, body.metadata, body.errors, body.result, body.payload,
        body.event
    FROM body
    CROSS JOIN clock
),
key AS MATERIALIZED (
    SELECT held.queue, held.key, held.job, held.window_ms
    FROM (
        SELECT
            queues.name, body.idempotency_key, body.id,
            CASE WHEN NOT body.unique_until_done THEN queues.dedup_window_ms END AS window_ms
        FROM body
        JOIN queuekit.queues ON queues.id = body.queue
        WHERE body.idempotency_key IS NOT NULL
    ) AS named
    CROSS JOIN LATERAL (
        -- One look-up per key: with a join the planner may read all keys of a queue.
        SELECT idempotency.queue, idempotency.key, idempotency.job, named.window_ms
        FROM queuekit.idempotency
        WHERE
            idempotency.queue = named.name
            AND idempotency.key = named.idempotency_key
            AND idempotency.job = named.id
        OFFSET 0
    ) AS held
    ORDER BY held.queue, held.key
),
freed AS (
    DELETE FROM queuekit.idempotency
    USING key
    WHERE
        idempotency.queue = key.queue AND idempotency.key = key.key
        AND idempotency.job = key.job AND key.window_ms IS NULL
),
freeing AS (
    UPDATE queuekit.idempotency
    SET free_at = clock.now + key.window_ms
    FROM key
    CROSS JOIN clock
    WHERE
        idempotency.queue = key.queue AND idempotency.key = key.key
        AND idempotency.job = key.job AND key.window_ms IS NOT NULL
),
visited AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT DISTINCT clock.now, body.queue, body.lane
    FROM body
    CROSS JOIN clock
    WHERE body.lane > ''
),
counted AS (
    INSERT INTO queuekit.deltas (queue, running, completed, completed_size, ended)
    SELECT
        body.queue, - count(*), count(*),
        sum(length(body.payload) + coalesce(length(body.result), 0)), count(*)
    FROM body
    GROUP BY body.queue
    RETURNING completed
),
total AS (
    SELECT coalesce(sum(counted.completed), 0)::bigint AS acked
    FROM counted
)
SELECT
    total.acked,
    CASE WHEN total.acked < cardinality($1::uuid[]) THEN ARRAY(SELECT body.id FROM body) END AS ids
FROM total
