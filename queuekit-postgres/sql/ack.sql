-- Completes jobs whose leases hold.
-- Parameters: a column each, a row per job, sorted by id: $1 id; $2 lease_seq; $3 nonce; $4 result;
-- $5 the queue's name. If $2, $3 or $5 has the same value for all jobs, one element is enough; if
-- all of $4 is NULL, it may be empty.
-- Result: one row: how many were completed; if not all, their ids.
-- Index: running_pkey, jobs_pkey, idempotency_pkey, queues_pkey, queues_name_key.
-- Locks: the leases it removes, and the bodies it writes; those who settle the same leases wait.
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
    -- Of the others, no index holds the body, and they have no idempotency key.
    UPDATE queuekit.jobs
    SET indexed = false
    FROM lease
    WHERE jobs.id = lease.id AND NOT lease.plain
    RETURNING
        lease.*, jobs.idempotency_key, jobs.unique_until_done,
        -- A delivery may have got a copy of its event's data meanwhile.
        length(jobs.payload) AS bytes
),
run AS MATERIALIZED (
    SELECT
        lease.id, lease.queue, lease.nonce, lease.lease_seq, lease.started_at, lease.seq,
        lease.attempts, lease.cancel_requested, lease.worker, lease.result,
        lease.size + coalesce(length(lease.result), 0) AS size
    FROM lease
    WHERE lease.plain
    UNION ALL
    SELECT
        body.id, body.queue, body.nonce, body.lease_seq, body.started_at, body.seq,
        body.attempts, body.cancel_requested, body.worker, body.result,
        body.bytes + coalesce(length(body.result), 0)
    FROM body
),
ended AS (
    INSERT INTO queuekit.ended (
        id, nonce, finished_at, started_at, seq, lease_seq, queue, size, state, attempts,
        cancel_requested, worker, result
    )
    SELECT
        run.id, run.nonce, clock.now, run.started_at, run.seq, run.lease_seq, run.queue, run.size,
        2, run.attempts, run.cancel_requested, run.worker, run.result
    FROM run
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
    SELECT run.queue, - count(*), count(*), sum(run.size), count(*)
    FROM run
    GROUP BY run.queue
    RETURNING completed
),
total AS (
    SELECT coalesce(sum(counted.completed), 0)::bigint AS acked
    FROM counted
)
SELECT
    total.acked,
    CASE WHEN total.acked < cardinality($1::uuid[]) THEN ARRAY(SELECT run.id FROM run) END AS ids
FROM total
