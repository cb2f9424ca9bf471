-- Lets jobs that ran wait again.
-- Parameters: a column each, a row per job, sorted by id: $1 id; $2 when due; $3 attempts; $4
-- releases; $5 failures and releases to add, as a JSON array, or NULL. $6 most failures and $7 most
-- releases that are kept.
-- Result: none.
-- Index: running_pkey, jobs_pkey.
-- Locks: the leases it removes, which the caller has locked, and the bodies.
WITH clock AS MATERIALIZED (
    SELECT queuekit.now_ms() AS now
),
lease AS (
    DELETE FROM queuekit.running
    USING unnest($1::uuid[], $2::bigint[], $3::smallint[], $4::int[], $5::text[])
        AS input (id, scheduled_at, attempts, releases, added)
    WHERE running.id = input.id
    RETURNING
        input.*, running.lease_seq, running.worker, running.started_at, running.queue, running.lane
),
body AS (
    UPDATE queuekit.jobs
    SET
        scheduled_at = lease.scheduled_at,
        attempts = lease.attempts,
        releases = lease.releases,
        lease_seq = lease.lease_seq,
        worker = lease.worker,
        started_at = lease.started_at,
        errors = queuekit.run_ends(jobs.errors, lease.added::jsonb, $6::int, $7::int),
        later = coalesce(lease.lane, '') > '' AND lease.scheduled_at > clock.now
    FROM lease
    CROSS JOIN clock
    WHERE jobs.id = lease.id
    RETURNING jobs.id, jobs.scheduled_at, jobs.seq, jobs.queue, jobs.rank, jobs.lane
),
placed AS (
    INSERT INTO queuekit.ready (id, at, seq, queue, rank, lane)
    SELECT body.id, body.scheduled_at, body.seq, body.queue, body.rank, body.lane
    FROM body
    WHERE body.lane IS NULL OR body.lane = ''
),
visited AS (
    INSERT INTO queuekit.agenda (at, queue, lane)
    SELECT DISTINCT clock.now, body.queue, body.lane
    FROM body
    CROSS JOIN clock
    WHERE body.lane > ''
)
INSERT INTO queuekit.deltas (queue, running, pending)
SELECT body.queue, - count(*), count(*)
FROM body
GROUP BY body.queue
