-- Events: who wants which, and how long they are kept; one row, changed as a whole.
CREATE TABLE queuekit_event_settings (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    version INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- The log. Numbers are those of queuekit_numbers: who lists goes on behind the last he has seen.
CREATE TABLE queuekit_events (
    seq INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    partition_key TEXT,
    idempotency_key TEXT,
    metadata TEXT,
    emitted_at INTEGER NOT NULL,
    data BLOB NOT NULL,
    UNIQUE (kind, idempotency_key)
) STRICT;

-- Of a delivery whose payload is large: its event, which has the payload.
ALTER TABLE queuekit_jobs ADD COLUMN event INTEGER;

-- Deliveries that keep their event.
CREATE INDEX queuekit_jobs_event ON queuekit_jobs (event)
    WHERE event IS NOT NULL AND state IN (0, 1, 3);

-- As before, with payloads of deliveries.
DROP VIEW queuekit_job_list;

CREATE VIEW queuekit_job_list AS
SELECT
    lower(
        substr(hex(jobs.id), 1, 8) || '-' || substr(hex(jobs.id), 9, 4) || '-'
        || substr(hex(jobs.id), 13, 4) || '-' || substr(hex(jobs.id), 17, 4) || '-'
        || substr(hex(jobs.id), 21)
    ) AS id,
    queues.name AS queue,
    jobs.kind,
    CASE jobs.state
        WHEN 0 THEN 'pending' WHEN 1 THEN 'running' WHEN 2 THEN 'completed'
        WHEN 3 THEN 'dead' WHEN 4 THEN 'cancelled'
    END AS state,
    31 - jobs.rank AS priority,
    jobs.attempts,
    jobs.max_attempts,
    nullif(jobs.lane, '') AS partition_key,
    jobs.idempotency_key,
    datetime(jobs.created_at / 1000, 'unixepoch') AS created_at,
    datetime(jobs.scheduled_at / 1000, 'unixepoch') AS scheduled_at,
    datetime(jobs.started_at / 1000, 'unixepoch') AS started_at,
    datetime(jobs.finished_at / 1000, 'unixepoch') AS finished_at,
    datetime(jobs.lease_expires_at / 1000, 'unixepoch') AS lease_expires_at,
    jobs.worker,
    jobs.reason,
    CASE
        WHEN json_valid(CAST(coalesce(jobs.payload, large.payload, events.data) AS TEXT))
        THEN CAST(coalesce(jobs.payload, large.payload, events.data) AS TEXT)
        ELSE 'x''' || hex(coalesce(jobs.payload, large.payload, events.data)) || ''''
    END AS payload
FROM queuekit_jobs AS jobs
JOIN queuekit_queues AS queues ON queues.id = jobs.queue
LEFT JOIN queuekit_payloads AS large ON large.job = jobs.key
LEFT JOIN queuekit_events AS events ON events.seq = jobs.event;
