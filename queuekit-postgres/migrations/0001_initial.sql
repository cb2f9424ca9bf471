-- queuekit, schema version 1.
--
-- Purpose: everything the Postgres store keeps, in a schema of its own. Where another name than
-- `queuekit` was chosen, each `queuekit.` below is replaced by it.
-- Locks: the advisory lock of migrations, until the migration commits.
--
-- States: 0 pending, 1 running, 2 completed, 3 dead, 4 cancelled. Times are milliseconds since
-- 1970 on the server's clock, as now_ms() tells it.

-- The store's clock. Tests replace it.
CREATE FUNCTION queuekit.now_ms() RETURNS bigint
LANGUAGE sql VOLATILE PARALLEL SAFE
AS $$ SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint $$;

-- Places in queues: one number per call, with room behind it for its 1,000 jobs, 1,024 apart, so
-- that the sequence is asked once per call and its jobs keep their order. The room behind a job is
-- for those of its partition key that are served right after it (place.sql).
CREATE SEQUENCE queuekit.places AS bigint INCREMENT BY 1048576;

CREATE TABLE queuekit.queues (
    id int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text COLLATE "C" NOT NULL UNIQUE,
    -- The transaction that removed it. A producer that had begun before may still store jobs in
    -- it: it is there until no transaction can.
    removed_by xid8,
    -- Upkeep has seen it removed, and stamped it anew: a statement that saw it before the removal
    -- committed has its number by then.
    removal_seen boolean NOT NULL DEFAULT false,
    -- Whether it may hold jobs with partition keys, or is fair: only then reserve takes the
    -- queue's lock. Set before the first such job, never reset.
    keyed boolean NOT NULL DEFAULT false,
    -- One document; what is absent is at its default. Below is what statements look at.
    settings jsonb NOT NULL DEFAULT '{}',
    paused boolean NOT NULL GENERATED ALWAYS AS (
        coalesce((settings ->> 'paused')::boolean, false)
    ) STORED,
    max_pending bigint GENERATED ALWAYS AS ((settings ->> 'max_pending')::bigint) STORED,
    per_key int NOT NULL GENERATED ALWAYS AS (coalesce((settings ->> 'per_key')::int, 1)) STORED,
    skips_waiting boolean NOT NULL GENERATED ALWAYS AS (
        coalesce(settings ->> 'key_on_wait' = 'skip', false)
    ) STORED,
    holds_dead boolean NOT NULL GENERATED ALWAYS AS (
        coalesce(settings ->> 'key_on_dead' = 'hold', false)
    ) STORED,
    is_fair boolean NOT NULL GENERATED ALWAYS AS (
        coalesce(settings ->> 'order' = 'fair', false)
    ) STORED,
    dedup_window_ms bigint NOT NULL GENERATED ALWAYS AS (
        coalesce((settings ->> 'dedup_window_ms')::bigint, 86400000)
    ) STORED,
    done_age_ms bigint GENERATED ALWAYS AS (
        CASE
            WHEN settings -> 'retention' IS NULL THEN 86400000
            ELSE (settings #>> '{retention,done,age_ms}')::bigint
        END
    ) STORED
);

-- A job that waits or runs: the body, written once and not touched by a run that succeeds. What
-- a lease changes stands in running; a failed run writes it back here.
CREATE TABLE queuekit.jobs (
    id uuid PRIMARY KEY,
    seq bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    created_at bigint NOT NULL,
    timeout_ms bigint NOT NULL,
    lease_seq bigint NOT NULL DEFAULT 0,
    deadline_ms bigint,
    deadline_at bigint,
    started_at bigint,
    queue int NOT NULL,
    releases int NOT NULL DEFAULT 0,
    -- 31 - priority, so that an ascending index is in serving order.
    rank smallint NOT NULL,
    attempts smallint NOT NULL DEFAULT 0,
    max_attempts smallint NOT NULL,
    unique_until_done boolean NOT NULL,
    -- Has a partition key, and its time had not come when last looked.
    later boolean NOT NULL DEFAULT false,
    kind text NOT NULL,
    -- The partition key; '' for the jobs without one in a fair queue, which share a turn.
    lane text COLLATE "C",
    idempotency_key text COLLATE "C",
    worker text,
    moved_from uuid,
    metadata text,
    errors jsonb,
    payload bytea NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX jobs_lane ON queuekit.jobs (queue, lane, seq) WHERE lane IS NOT NULL AND NOT later;
CREATE INDEX jobs_keyed ON queuekit.jobs (queue, rank, scheduled_at, seq) WHERE lane > '';
CREATE INDEX jobs_later ON queuekit.jobs (queue, lane, seq) WHERE later;
CREATE INDEX jobs_coming ON queuekit.jobs (queue, lane, scheduled_at) WHERE later;

-- A job that a reserve may take, or may once its time has come: every job without a partition
-- key, and of each key the jobs that its free leases allow. Rows are inserted and deleted, never
-- updated, so that there are no chains of versions to wait on.
CREATE TABLE queuekit.ready (
    id uuid NOT NULL,
    -- When it is due; a turn where rank is -1.
    at bigint NOT NULL,
    seq bigint NOT NULL,
    queue int NOT NULL,
    -- That of the job, or -1: placed by turn, in a fair queue.
    rank smallint NOT NULL,
    -- Jobs with a partition key: which of the key's leases it will be.
    slot smallint,
    lane text COLLATE "C"
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX ready_order ON queuekit.ready (queue, rank, at, seq);
CREATE INDEX ready_lane ON queuekit.ready (queue, lane) WHERE slot IS NOT NULL;

-- A lease: whoever holds id, lease_seq and nonce may settle the job. This is the fence.
CREATE TABLE queuekit.running (
    id uuid PRIMARY KEY,
    nonce uuid NOT NULL,
    lease_expires_at bigint NOT NULL,
    seq bigint NOT NULL,
    lease_seq bigint NOT NULL,
    started_at bigint NOT NULL,
    queue int NOT NULL,
    attempts smallint NOT NULL,
    slot smallint,
    cancel_requested boolean NOT NULL DEFAULT false,
    worker text NOT NULL,
    lane text COLLATE "C"
) WITH (
    fillfactor = 90, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX running_expiry ON queuekit.running (queue, lease_expires_at);
-- A slot of a key has at most one lease: this enforces the exclusion of partition keys.
CREATE UNIQUE INDEX running_slot ON queuekit.running (queue, lane, slot) WHERE slot IS NOT NULL;

-- The agenda: partition keys that a reserve has to look at, from a time on. Whoever changes which
-- jobs of a key may be leased adds an entry in the same transaction; the next reserve of the queue
-- reads it under the queue's lock.
CREATE TABLE queuekit.agenda (
    at bigint NOT NULL,
    queue int NOT NULL,
    lane text COLLATE "C" NOT NULL
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX agenda_order ON queuekit.agenda (queue, at);

-- Which job holds which idempotency key. The queue is stored by its name, because the key can
-- outlive job and queue.
CREATE TABLE queuekit.idempotency (
    queue text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    job uuid NOT NULL,
    free_at bigint,
    PRIMARY KEY (queue, key)
);

CREATE INDEX idempotency_freeing ON queuekit.idempotency (free_at) WHERE free_at IS NOT NULL;

-- Completed and cancelled jobs, a partition per day (history_add_day). There is no default
-- partition: it would keep others from being detached beside their users.
CREATE TABLE queuekit.done (
    id uuid NOT NULL,
    nonce uuid,
    finished_at bigint NOT NULL,
    seq bigint NOT NULL,
    lease_seq bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    created_at bigint NOT NULL,
    timeout_ms bigint NOT NULL,
    deadline_ms bigint,
    deadline_at bigint,
    started_at bigint,
    queue int NOT NULL,
    releases int NOT NULL,
    state smallint NOT NULL,
    rank smallint NOT NULL,
    attempts smallint NOT NULL,
    max_attempts smallint NOT NULL,
    unique_until_done boolean NOT NULL,
    cancel_requested boolean NOT NULL,
    kind text NOT NULL,
    lane text COLLATE "C",
    idempotency_key text COLLATE "C",
    worker text,
    moved_from uuid,
    metadata text,
    errors jsonb,
    result bytea,
    payload bytea NOT NULL
) PARTITION BY RANGE (finished_at);

CREATE INDEX done_id ON queuekit.done (id);
CREATE INDEX done_order ON queuekit.done (queue, state, finished_at);

-- The dead-letter queue.
CREATE TABLE queuekit.dead (
    id uuid PRIMARY KEY,
    nonce uuid,
    finished_at bigint NOT NULL,
    seq bigint NOT NULL,
    lease_seq bigint NOT NULL,
    scheduled_at bigint NOT NULL,
    created_at bigint NOT NULL,
    timeout_ms bigint NOT NULL,
    deadline_ms bigint,
    deadline_at bigint,
    started_at bigint,
    queue int NOT NULL,
    releases int NOT NULL,
    rank smallint NOT NULL,
    attempts smallint NOT NULL,
    max_attempts smallint NOT NULL,
    unique_until_done boolean NOT NULL,
    cancel_requested boolean NOT NULL,
    -- It was the head of its partition key in a queue where a dead head holds the key.
    holds boolean NOT NULL,
    kind text NOT NULL,
    lane text COLLATE "C",
    idempotency_key text COLLATE "C",
    worker text,
    moved_from uuid,
    reason text NOT NULL,
    metadata text,
    errors jsonb,
    payload bytea NOT NULL
);

CREATE INDEX dead_order ON queuekit.dead (queue, finished_at, seq);
CREATE INDEX dead_holds ON queuekit.dead (queue, lane) WHERE holds;

-- What runs have reported; goes with its job.
CREATE TABLE queuekit.reports (
    job uuid PRIMARY KEY,
    fraction real,
    message text,
    lines jsonb
);

-- Presence of workers.
CREATE TABLE queuekit.workers (
    id text COLLATE "C" PRIMARY KEY,
    name text NOT NULL,
    queues text NOT NULL,
    kinds text NOT NULL,
    slots int NOT NULL,
    running int NOT NULL,
    ttl_ms bigint NOT NULL,
    at bigint NOT NULL
);

-- How the jobs of queues changed, a row per statement and queue: no row is waited for. Upkeep
-- folds them into counts.
CREATE TABLE queuekit.deltas (
    id bigint GENERATED ALWAYS AS IDENTITY,
    -- Fair queues: the turn served last.
    turn bigint,
    completed_size bigint NOT NULL DEFAULT 0,
    dead_size bigint NOT NULL DEFAULT 0,
    cancelled_size bigint NOT NULL DEFAULT 0,
    queue int NOT NULL,
    pending int NOT NULL DEFAULT 0,
    running int NOT NULL DEFAULT 0,
    completed int NOT NULL DEFAULT 0,
    dead int NOT NULL DEFAULT 0,
    cancelled int NOT NULL DEFAULT 0,
    -- Jobs that ended, and those of them that died.
    ended int NOT NULL DEFAULT 0,
    died int NOT NULL DEFAULT 0,
    corrupt int NOT NULL DEFAULT 0
) WITH (
    autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
    autovacuum_vacuum_cost_delay = 0
);

CREATE INDEX deltas_queue ON queuekit.deltas (queue, id);
CREATE INDEX deltas_turn ON queuekit.deltas (queue, turn) WHERE turn IS NOT NULL;

CREATE TABLE queuekit.counts (
    queue int PRIMARY KEY,
    turn bigint NOT NULL DEFAULT 0,
    pending bigint NOT NULL DEFAULT 0,
    running bigint NOT NULL DEFAULT 0,
    completed bigint NOT NULL DEFAULT 0,
    dead bigint NOT NULL DEFAULT 0,
    cancelled bigint NOT NULL DEFAULT 0,
    completed_size bigint NOT NULL DEFAULT 0,
    dead_size bigint NOT NULL DEFAULT 0,
    cancelled_size bigint NOT NULL DEFAULT 0,
    corrupt bigint NOT NULL DEFAULT 0,
    -- Whether each of the last 1,000 ended jobs died: a ring of bits.
    last_ended bytea NOT NULL DEFAULT ''
);

-- Makes the partition of history that holds this instant, if it is missing. CREATE .. PARTITION
-- OF would lock out everybody who ends a job; attaching does not.
CREATE FUNCTION queuekit.history_add_day(instant_ms bigint) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    day bigint := floor(instant_ms / 86400000.0)::bigint;
    name text := format('done_%s', to_char(to_timestamp(day * 86400) AT TIME ZONE 'UTC',
                                           'YYYYMMDD'));
    -- Not whoever happens to be the first of a day: somebody else may have to drop it.
    owner text := (
        SELECT pg_get_userbyid(class.relowner)
        FROM pg_class AS class
        WHERE class.oid = 'queuekit.done'::regclass
    );
BEGIN
    IF to_regclass(format('%I.%I', 'queuekit', name)) IS NOT NULL THEN
        RETURN;
    END IF;
    EXECUTE format(
        'CREATE TABLE %1$I.%2$I (LIKE %1$I.done, CHECK (finished_at >= %3$s AND finished_at < %4$s))',
        'queuekit', name, day * 86400000, (day + 1) * 86400000);
    EXECUTE format('ALTER TABLE %I.%I OWNER TO %I', 'queuekit', name, owner);
    EXECUTE format(
        'ALTER TABLE %1$I.done ATTACH PARTITION %1$I.%2$I FOR VALUES FROM (%3$s) TO (%4$s)',
        'queuekit', name, day * 86400000, (day + 1) * 86400000);
END
$$;
