-- queuekit, schema version 15.
--
-- Purpose: everything the SQLite store keeps. One file, tables and indexes named queuekit_*, so
-- that it can live beside the tables of an application.
-- Locks: the file's write lock, until the migration commits.
--
-- States: 0 pending, running or completed, 3 dead, 4 cancelled. Times are milliseconds since 1970 on
-- the store's clock.

-- A queue: its settings and its counters. The counters change in the transaction that changes
-- the jobs, once per transaction and queue, whichever process makes it.
CREATE TABLE queuekit_queues (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    -- One JSON document; what is absent is at its default.
    settings TEXT NOT NULL DEFAULT '{}',
    -- After a change of the order or of the rules for keys, how far jobs and keys are placed anew,
    -- as JSON of this crate's Moving. Until it is NULL again nothing of the queue is leased.
    moving TEXT,
    -- Jobs by state, and bytes of payloads and results of those that have ended.
    pending INTEGER NOT NULL DEFAULT 0,
    running INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0,
    dead INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0,
    completed_size INTEGER NOT NULL DEFAULT 0,
    dead_size INTEGER NOT NULL DEFAULT 0,
    cancelled_size INTEGER NOT NULL DEFAULT 0,
    -- The last place given out in the queue, and among the ended, which may leave places out.
    last_seq INTEGER NOT NULL DEFAULT 0,
    last_end_seq INTEGER NOT NULL DEFAULT 0,
    -- Fair queues: the turn served last.
    last_turn INTEGER NOT NULL DEFAULT 0,
    corrupt INTEGER NOT NULL DEFAULT 0,
    -- How many jobs have ended so far, and how, those that are gone included.
    total_completed INTEGER NOT NULL DEFAULT 0,
    total_dead INTEGER NOT NULL DEFAULT 0,
    total_cancelled INTEGER NOT NULL DEFAULT 0,
    -- How many attempts have failed, and how many jobs are no longer stored.
    total_failed INTEGER NOT NULL DEFAULT 0,
    total_removed INTEGER NOT NULL DEFAULT 0,
    -- Whether each of the last 1,000 ended jobs died: a ring of bits.
    last_ended BLOB NOT NULL
) STRICT;

-- A job, without what is large and rarely read. A job that is neither dead nor cancelled has one more
-- row: in queuekit_ready or queuekit_waiting while it is pending, in queuekit_runs while it runs and
-- once it has completed. A run that completes its job changes nothing here but the result.
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
    -- The partition key.
    lane TEXT,
    -- Dead, and holds its key.
    holds INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL,
    releases INTEGER NOT NULL DEFAULT 0,
    -- How many leases have counted as attempts, and the last lease. While the job runs and once it
    -- has completed, these are as they were before its last lease.
    attempts INTEGER NOT NULL DEFAULT 0,
    lease_seq INTEGER NOT NULL DEFAULT 0,
    nonce BLOB,
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
    result BLOB,
    -- Of a delivery whose payload is large: its event, which has the payload.
    event INTEGER
) STRICT;

CREATE INDEX queuekit_jobs_ended ON queuekit_jobs (queue, state, finished_at, end_seq)
    WHERE state >= 3;
CREATE INDEX queuekit_jobs_held ON queuekit_jobs (queue, lane, seq)
    WHERE holds = 1;
-- Deliveries that keep their event, and those that have completed.
CREATE INDEX queuekit_jobs_event ON queuekit_jobs (event)
    WHERE event IS NOT NULL AND state IN (0, 3);

-- The pending jobs that can be leased once they are due: every job without a partition key, and the
-- head of each key in a strict queue. Only the lane of a row ever changes.
CREATE TABLE queuekit_ready (
    queue INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    at INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    job INTEGER NOT NULL,
    -- The partition key; '' for the jobs without one in a fair queue, which share a turn.
    lane TEXT,
    PRIMARY KEY (queue, rank, at, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX queuekit_ready_lane ON queuekit_ready (queue, lane, seq)
    WHERE lane IS NOT NULL;

-- The other pending jobs: those behind the head of their key, and in a fair queue all with a key.
CREATE TABLE queuekit_waiting (
    queue INTEGER NOT NULL,
    lane TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    -- In a queue where waiting jobs are passed: whether its time had come when last looked. NULL if
    -- nobody has looked.
    due INTEGER,
    job INTEGER NOT NULL,
    PRIMARY KEY (queue, lane, seq)
) STRICT, WITHOUT ROWID;

CREATE INDEX queuekit_waiting_order ON queuekit_waiting (queue, rank, at, seq);
CREATE INDEX queuekit_waiting_due ON queuekit_waiting (queue, lane, seq)
    WHERE due = 1;
CREATE INDEX queuekit_waiting_later ON queuekit_waiting (queue, lane, at, seq)
    WHERE due = 0;

-- Leases that one reserve call granted and that have the same number and the same end; or, once
-- finished_at is set, jobs that they completed at that time. The row is deleted with the last of
-- them.
CREATE TABLE queuekit_claims (
    claim INTEGER PRIMARY KEY,
    queue INTEGER NOT NULL,
    nonce BLOB NOT NULL,
    lease_seq INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    worker TEXT NOT NULL,
    finished_at INTEGER,
    -- Of completed jobs: the last of their places among the ended. That of each is its sequence and
    -- end_offset.
    end_seq INTEGER,
    end_offset INTEGER
) STRICT;

CREATE INDEX queuekit_claims_expiry ON queuekit_claims (queue, finished_at, expires_at)
    WHERE finished_at IS NULL;
CREATE INDEX queuekit_claims_finished ON queuekit_claims (queue, finished_at, end_seq)
    WHERE finished_at IS NOT NULL;

-- A row per job that runs or has completed, with its claim.
CREATE TABLE queuekit_runs (
    job INTEGER PRIMARY KEY,
    claim INTEGER NOT NULL,
    queue INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    -- The partition key, while the job runs.
    lane TEXT,
    -- 1 while a running job is asked to stop, 2 if it has completed nevertheless.
    cancel_requested INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX queuekit_runs_claim ON queuekit_runs (claim, seq);
CREATE INDEX queuekit_runs_lane ON queuekit_runs (queue, lane, seq)
    WHERE lane IS NOT NULL;
-- Running jobs that were asked to stop. Each process looks at them when another one has written
-- (contract R13.1).
CREATE INDEX queuekit_runs_cancels ON queuekit_runs (job)
    WHERE cancel_requested = 1;

CREATE TABLE queuekit_payloads (
    job INTEGER PRIMARY KEY,
    payload BLOB NOT NULL
) STRICT;

-- The last failures and releases of a job. A lease fails or is released at most once, and never
-- both.
CREATE TABLE queuekit_failures (
    job INTEGER NOT NULL,
    lease_seq INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    at INTEGER NOT NULL,
    worker TEXT,
    error TEXT NOT NULL,
    started_at INTEGER,
    -- NULL: a failure. Else a release, and why: a word of core's ReleaseCause, or empty if the
    -- worker did not say.
    cause TEXT,
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

-- The results of steps of a job, for its later runs.
CREATE TABLE queuekit_checkpoints (
    -- In the order in which they were stored.
    key INTEGER PRIMARY KEY,
    job INTEGER NOT NULL,
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    result BLOB NOT NULL
) STRICT;

CREATE INDEX queuekit_checkpoints_job ON queuekit_checkpoints (job);

-- A partition key with jobs that wait, run, or hold it dead; '' stands for the jobs without a
-- key in a fair queue. It is where the key's next job is found without looking at its others.
CREATE TABLE queuekit_lanes (
    queue INTEGER NOT NULL,
    lane TEXT NOT NULL,
    waiting INTEGER NOT NULL,
    running INTEGER NOT NULL,
    held INTEGER NOT NULL,
    -- Strict: the sequence of the job that stands in queuekit_ready for the key.
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

-- Presence of workers, and orders to them (contract R3.9).
CREATE TABLE queuekit_workers (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    queues TEXT NOT NULL,
    kinds TEXT NOT NULL,
    slots INTEGER NOT NULL,
    running INTEGER NOT NULL,
    ttl_ms INTEGER NOT NULL,
    at INTEGER NOT NULL,
    -- JSON, of core's About.
    about TEXT NOT NULL DEFAULT '{}',
    -- How much longer than 3 ttl it is listed.
    quiet_ms INTEGER NOT NULL DEFAULT 0,
    -- The number of the last order, and what is not obeyed yet.
    order_seq INTEGER NOT NULL DEFAULT 0,
    order_mode TEXT,
    order_slots INTEGER
) STRICT, WITHOUT ROWID;

-- Numbers that are never used twice: revisions of schedules, places of events in their log. They
-- are counted here and not by SQLite (AUTOINCREMENT), which would add a table of its own to that of
-- an application.
CREATE TABLE queuekit_numbers (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    last INTEGER NOT NULL
) STRICT;

INSERT INTO queuekit_numbers (only, last) VALUES (1, 0);

-- Schedules. Each change of one takes another number, also of one that was removed and made again.
CREATE TABLE queuekit_schedules (
    name TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    next_at INTEGER,
    body BLOB NOT NULL
) STRICT;

CREATE INDEX queuekit_schedules_due ON queuekit_schedules (next_at)
    WHERE next_at IS NOT NULL;

-- Events: who wants which, and how long they are kept; one row, changed as a whole.
CREATE TABLE queuekit_event_settings (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    version INTEGER NOT NULL,
    body BLOB NOT NULL
) STRICT;

-- The log. Its numbers are those of queuekit_numbers: a list continues behind the last one seen.
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

-- The audit log: a row per administrative act (contract R8.6). The newest is never removed, so the
-- next number is the largest plus one.
CREATE TABLE queuekit_audit (
    seq INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    act TEXT NOT NULL
) STRICT;

-- A row per group of errors of a queue that look alike (contract R8.4).
CREATE TABLE queuekit_error_groups (
    queue INTEGER NOT NULL,
    kind TEXT NOT NULL,
    -- The version of core's rules, a space, and the masked first line of the error.
    signature TEXT NOT NULL,
    failures INTEGER NOT NULL,
    deaths INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    -- The job that it was last added to for.
    sample BLOB NOT NULL,
    -- Its errors by hour and by day before the last one, as core writes them (contract R8.11).
    recent TEXT NOT NULL,
    PRIMARY KEY (queue, kind, signature)
) STRICT, WITHOUT ROWID;

-- History: how things were an hour ago (contract R8.5), as totals of queues and sums of runs, by
-- minute, ten minutes and hour (resolution 1, 10 and 60). How many jobs were enqueued is how many
-- are stored and how many were removed.

-- The totals of a queue that were recorded last; they go with it.
CREATE TABLE queuekit_history_recorded (
    queue INTEGER PRIMARY KEY,
    enqueued INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    cancelled INTEGER NOT NULL
) STRICT;

-- By name: these rows stay when their queue is removed.
CREATE TABLE queuekit_history_totals (
    resolution INTEGER NOT NULL,
    at INTEGER NOT NULL,
    queue TEXT NOT NULL,
    read_at INTEGER NOT NULL,
    enqueued INTEGER NOT NULL,
    completed INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    dead INTEGER NOT NULL,
    cancelled INTEGER NOT NULL,
    PRIMARY KEY (resolution, at, queue)
) STRICT, WITHOUT ROWID;

CREATE INDEX queuekit_history_totals_queue ON queuekit_history_totals (queue, resolution, at);

CREATE TABLE queuekit_history_runs (
    resolution INTEGER NOT NULL,
    at INTEGER NOT NULL,
    queue TEXT NOT NULL,
    -- Empty for all kinds that have no row of their own.
    kind TEXT NOT NULL,
    -- The numbers of core's Runs, without the zeros at the end.
    numbers TEXT NOT NULL,
    PRIMARY KEY (resolution, at, queue, kind)
) STRICT, WITHOUT ROWID;

CREATE INDEX queuekit_history_runs_queue ON queuekit_history_runs (queue, resolution, at, kind);

-- The kinds that have rows of their own, and when they were last added to.
CREATE TABLE queuekit_history_pairs (
    queue TEXT NOT NULL,
    kind TEXT NOT NULL,
    last INTEGER NOT NULL,
    PRIMARY KEY (queue, kind)
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
    CASE
        WHEN claims.finished_at IS NOT NULL THEN 'completed'
        WHEN claims.claim IS NOT NULL THEN 'running'
        WHEN jobs.state = 0 THEN 'pending'
        WHEN jobs.state = 3 THEN 'dead'
        WHEN jobs.state = 4 THEN 'cancelled'
    END AS state,
    31 - jobs.rank AS priority,
    jobs.attempts + (claims.claim IS NOT NULL) AS attempts,
    jobs.max_attempts,
    jobs.lane AS partition_key,
    jobs.idempotency_key,
    datetime(jobs.created_at / 1000, 'unixepoch') AS created_at,
    datetime(jobs.scheduled_at / 1000, 'unixepoch') AS scheduled_at,
    datetime(coalesce(claims.started_at, jobs.started_at) / 1000, 'unixepoch') AS started_at,
    datetime(coalesce(claims.finished_at, jobs.finished_at) / 1000, 'unixepoch') AS finished_at,
    CASE
        WHEN claims.finished_at IS NULL THEN datetime(claims.expires_at / 1000, 'unixepoch')
    END AS lease_expires_at,
    coalesce(claims.worker, jobs.worker) AS worker,
    jobs.reason,
    CASE
        WHEN json_valid(CAST(coalesce(jobs.payload, large.payload, events.data) AS TEXT))
        THEN CAST(coalesce(jobs.payload, large.payload, events.data) AS TEXT)
        ELSE 'x''' || hex(coalesce(jobs.payload, large.payload, events.data)) || ''''
    END AS payload
FROM queuekit_jobs AS jobs
JOIN queuekit_queues AS queues ON queues.id = jobs.queue
LEFT JOIN queuekit_runs AS runs ON runs.job = jobs.key AND jobs.state = 0
LEFT JOIN queuekit_claims AS claims ON claims.claim = runs.claim
LEFT JOIN queuekit_payloads AS large ON large.job = jobs.key
LEFT JOIN queuekit_events AS events ON events.seq = jobs.event;
