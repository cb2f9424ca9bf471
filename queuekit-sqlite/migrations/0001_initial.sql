-- queuekit, schema version 1.
--
-- Purpose: everything the SQLite store keeps. One file, tables and indexes named queuekit_*, so
-- that it can live beside the tables of an application.
-- Locks: the file's write lock, until the migration commits.
--
-- States: 0 pending, 1 running, 2 completed, 3 dead, 4 cancelled. Times are milliseconds since
-- 1970 on the store's clock.

-- A queue: its settings and its counters. The counters change in the transaction that changes
-- the jobs, once per transaction and queue, whichever process makes it.
CREATE TABLE queuekit_queues (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- One JSON document; what is absent is at its default.
    settings TEXT NOT NULL DEFAULT '{}',
    -- Jobs by state, and bytes of payloads and results of those that have ended.
    pending INTEGER NOT NULL DEFAULT 0,
    running INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    completed_size INTEGER NOT NULL DEFAULT 0,
    dead_size INTEGER NOT NULL DEFAULT 0,
    cancelled_size INTEGER NOT NULL DEFAULT 0,
    -- The last place given out in the queue, and among the ended.
    last_seq INTEGER NOT NULL DEFAULT 0,
    last_end_seq INTEGER NOT NULL DEFAULT 0,
    -- Fair queues: the turn served last.
    last_turn INTEGER NOT NULL DEFAULT 0,
    corrupt INTEGER NOT NULL DEFAULT 0,
    -- Whether each of the last 1,000 ended jobs died: a ring of bits.
    last_ended BLOB NOT NULL
) STRICT;

-- A job, without what is large and rarely read.
CREATE TABLE queuekit_jobs (
    key INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    queue INTEGER NOT NULL,
    kind TEXT NOT NULL,
    state INTEGER NOT NULL,
    -- 31 - priority, so that an ascending index is in serving order.
    rank INTEGER NOT NULL,
    scheduled_at INTEGER NOT NULL,
    -- Place in the queue: rises with every enqueue and retry.
    seq INTEGER NOT NULL,
    -- Pending, and nothing but time stands between it and a lease: every job without a partition
    -- key, and the head of each key in a strict queue.
    open INTEGER NOT NULL,
    -- The partition key; '' for the jobs without one in a fair queue, which share a turn.
    lane TEXT,
    -- Pending with a key in a queue where waiting jobs are passed: whether its time had come
    -- when last looked.
    due INTEGER,
    -- Dead, and holds its key.
    holds INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    releases INTEGER NOT NULL DEFAULT 0,
    lease_seq INTEGER NOT NULL DEFAULT 0,
    nonce BLOB,
    lease_expires_at INTEGER,
    worker TEXT,
    started_at INTEGER,
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    finished_at INTEGER,
    -- Place among the ended: rises with every end.
    end_seq INTEGER,
    created_at INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL,
    deadline_ms INTEGER,
    deadline_at INTEGER,
    idempotency_key TEXT,
    unique_until_done INTEGER NOT NULL,
    moved_from BLOB,
    metadata TEXT,
    -- Bytes of payload and result, which count towards retention.
    size INTEGER NOT NULL,
    reason TEXT,
    progress REAL,
    progress_message TEXT,
    -- NULL if it is large: then it stands in queuekit_payloads, and is not written again with
    -- every change of the job.
    payload BLOB,
    result BLOB
) STRICT;

CREATE INDEX queuekit_jobs_pending ON queuekit_jobs (queue, open, rank, scheduled_at, seq)
    WHERE state = 0;
CREATE INDEX queuekit_jobs_leased ON queuekit_jobs (queue, lease_expires_at, seq)
    WHERE state = 1;
CREATE INDEX queuekit_jobs_ended ON queuekit_jobs (queue, state, finished_at, end_seq)
    WHERE state >= 2;
CREATE INDEX queuekit_jobs_lane ON queuekit_jobs (queue, lane, state, seq)
    WHERE lane IS NOT NULL AND state < 2;
CREATE INDEX queuekit_jobs_due ON queuekit_jobs (queue, lane, seq)
    WHERE due = 1;
CREATE INDEX queuekit_jobs_later ON queuekit_jobs (queue, lane, scheduled_at, seq)
    WHERE due = 0;
CREATE INDEX queuekit_jobs_held ON queuekit_jobs (queue, lane, seq)
    WHERE holds = 1;

CREATE TABLE queuekit_payloads (
    job INTEGER PRIMARY KEY,
    payload BLOB NOT NULL
) STRICT;

-- The last failures of a job. A lease fails at most once.
CREATE TABLE queuekit_failures (
    job INTEGER NOT NULL,
    lease_seq INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    at INTEGER NOT NULL,
    worker TEXT,
    error TEXT NOT NULL,
    PRIMARY KEY (job, lease_seq)
) STRICT, WITHOUT ROWID;

-- The last log lines of a job.
CREATE TABLE queuekit_logs (
    job INTEGER NOT NULL,
    n INTEGER NOT NULL,
    at INTEGER NOT NULL,
    line TEXT NOT NULL,
    PRIMARY KEY (job, n)
) STRICT, WITHOUT ROWID;

-- A partition key with jobs that wait, run, or hold it dead; '' stands for the jobs without a
-- key in a fair queue. It is where the key's next job is found without looking at its others.
CREATE TABLE queuekit_lanes (
    queue INTEGER NOT NULL,
    lane TEXT NOT NULL,
    waiting INTEGER NOT NULL,
    running INTEGER NOT NULL,
    held INTEGER NOT NULL,
    -- Strict: the open job of the key.
    head INTEGER,
    -- Fair: the turn in which it is served next, and whether that can be now.
    turn INTEGER NOT NULL,
    ready INTEGER,
    -- Not ready: when to look again which job is next. In a strict queue only where waiting jobs
    -- are passed, because time changes it there.
    next_at INTEGER,
    PRIMARY KEY (queue, lane)
) STRICT, WITHOUT ROWID;

CREATE INDEX queuekit_lanes_ready ON queuekit_lanes (queue, turn)
    WHERE ready = 1;
CREATE INDEX queuekit_lanes_later ON queuekit_lanes (queue, next_at)
    WHERE ready = 0;

-- Which job holds which idempotency key; the key can outlive its job.
-- The queue stands here by its name, because the key can outlive the queue too.
CREATE TABLE queuekit_idempotency (
    queue TEXT NOT NULL,
    key TEXT NOT NULL,
    job BLOB NOT NULL,
    free_at INTEGER,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;

CREATE INDEX queuekit_idempotency_freeing ON queuekit_idempotency (free_at)
    WHERE free_at IS NOT NULL;

-- Presence of workers.
CREATE TABLE queuekit_workers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    queues TEXT NOT NULL,
    kinds TEXT NOT NULL,
    slots INTEGER NOT NULL,
    running INTEGER NOT NULL,
    ttl_ms INTEGER NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- For people: jobs with names instead of numbers, ids and times as text, payloads as JSON.
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
        WHEN json_valid(CAST(coalesce(jobs.payload, large.payload) AS TEXT))
        THEN CAST(coalesce(jobs.payload, large.payload) AS TEXT)
        ELSE 'x''' || hex(coalesce(jobs.payload, large.payload)) || ''''
    END AS payload
FROM queuekit_jobs AS jobs
JOIN queuekit_queues AS queues ON queues.id = jobs.queue
LEFT JOIN queuekit_payloads AS large ON large.job = jobs.key;
