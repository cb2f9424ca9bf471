export type Status = "ready" | "scheduled" | "failed" | "blocked" | "running" | "expired" | "completed" | "dead" | "cancelled";
export type State = "pending" | "running" | "completed" | "dead" | "cancelled";
export type Priority = "low" | "normal" | "high" | "critical";
export type NackKind = "retry" | "release" | "fatal" | "cancelled";
export type ReleaseCause = "shutdown" | "snooze" | "unknown_kind" | "undecodable" | "throttle" | "sleep";
export type KeyOnWait = "block" | "skip";
export type KeyOnDead = "continue" | "hold";
export type Order = "strict" | "fair";
export type Mode = "quiet" | "resume" | "stop";
/** RFC 3339, or a `Date`. */
export type Time = string | Date;
/** Queues in the order in which they are served, or with weights of 1 to 100. */
export type Queues = readonly string[] | Record<string, number>;
/** What can be set for a new job, beside its kind and payload. */
export interface JobOptions {
    queue?: string;
    priority?: number | Priority;
    max_attempts?: number;
    delay_ms?: number;
    run_at?: Time;
    idempotency_key?: string;
    unique_until_done?: boolean;
    partition_key?: string;
    timeout_ms?: number;
    deadline_ms?: number;
    metadata?: Record<string, string>;
    id?: string;
}
/** A job to store. A payload of bytes (`Uint8Array`) is stored as it is, anything else as JSON. */
export interface NewJob extends JobOptions {
    kind: string;
    payload?: any;
}
export interface Failure {
    attempt: number;
    lease_seq: number;
    at: string;
    error: string;
    started_at?: string;
    worker?: string;
}
/** What could not be read of a payload, since when, and how often. */
export interface Mark {
    error: string;
    since: string;
    times: number;
}
export interface Released {
    lease_seq: number;
    at: string;
    started_at?: string;
    worker?: string;
    cause?: ReleaseCause;
    undecodable?: Mark;
}
export interface Progress {
    fraction: number;
    message: string;
}
export interface LogLine {
    at: string;
    text: string;
}
/** The job of a lease. */
export interface LeasedJob {
    id: string;
    queue: string;
    kind: string;
    status: Status;
    attempts: number;
    max_attempts: number;
    releases: number;
    lease_seq: number;
    priority: number;
    timeout_ms: number;
    created_at: string;
    scheduled_at: string;
    metadata: Record<string, string>;
    payload?: any;
    payload_base64?: string;
    partition_key?: string;
    deadline_in_ms?: number;
}
export interface Job extends LeasedJob {
    errors: Failure[];
    logs: LogLine[];
    released?: Released[];
    undecodable?: Mark;
    started_at?: string;
    finished_at?: string;
    lease_expires_in_ms?: number;
    worker?: string;
    idempotency_key?: string;
    result?: any;
    result_base64?: string;
    reason?: string;
    progress?: Progress;
    cancel_requested?: boolean;
    moved_from?: string;
}
export interface Enqueued {
    id: string;
    outcome: "created" | "duplicate";
    status?: Status;
    job?: Job;
}
/** What became of one job of several. If its queue is full, `retry_after_ms` is set, not `id`. */
export interface EnqueueOutcome {
    outcome: "created" | "duplicate" | "conflict" | "queue_full";
    id?: string;
    retry_after_ms?: number;
}
/** What can be set for a new event, beside its type and data. */
export interface EventOptions {
    delay_ms?: number;
    idempotency_key?: string;
    partition_key?: string;
    metadata?: Record<string, string>;
    id?: string;
}
export interface EmitOutcome {
    id: string;
    outcome: "emitted" | "duplicate" | "conflict";
}
/** Which jobs to list: those that match all that is set. */
export interface Filter {
    queue?: string;
    status?: Status | State | readonly (Status | State)[];
    kind?: string;
    partition_key?: string;
    worker?: string;
    error?: string;
    group?: string;
    id?: string;
    metadata?: string;
    payload?: string;
    created_from?: Time;
    created_to?: Time;
    finished_from?: Time;
    finished_to?: Time;
    recent?: boolean;
    limit?: number;
    within_ms?: number;
}
export interface PageFilter extends Filter {
    cursor?: string;
}
export interface Examined {
    jobs: number;
    up_to?: string;
}
export interface JobPage {
    jobs: Job[];
    examined: Examined;
    cursor?: string;
}
export interface Lease {
    token: string;
    job: LeasedJob;
}
export interface Reserved {
    leases: Lease[];
    more: boolean;
    next_due_in_ms?: number;
}
/** A result of bytes (`Uint8Array`) is stored as it is, anything else as JSON. */
export interface Ack {
    token: string;
    result?: any;
}
export interface Nack {
    token: string;
    kind?: NackKind;
    error?: string;
    delay_ms?: number;
    cause?: ReleaseCause;
}
export interface NewProgress {
    fraction: number;
    message?: string;
}
export interface Report {
    token: string;
    progress?: NewProgress;
    lines?: readonly string[];
}
/** The result of a step. Bytes (`Uint8Array`) are stored as they are, anything else as JSON. */
export interface NewCheckpoint {
    token: string;
    name: string;
    result?: any;
}
export interface Checkpoint {
    name: string;
    at: string;
    result?: any;
    result_base64?: string;
}
/** What the runs of a job have stored, or nothing if the lease is lost. */
export interface Checkpoints {
    outcome: "held" | "lease_lost";
    now?: string;
    checkpoints: Checkpoint[];
}
/** What an ack, nack, extend, report or checkpoint did to one lease. */
export interface Outcome {
    outcome: "acked" | "already_done" | "retrying" | "released" | "dead" | "cancelled" | "extended" | "settling" | "unknown" | "reported" | "stored" | "conflict" | "full" | "lease_lost" | "not_found";
    in_ms?: number;
    lease_ms?: number;
    cancel_requested?: boolean;
}
export type CancelOutcome = "cancelled" | "requested" | "already_done";
export interface Count {
    value: number;
    exact: boolean;
}
export interface Totals {
    completed: number;
    dead: number;
    cancelled: number;
    enqueued?: number;
    failed?: number;
}
export interface Health {
    score: number;
    reasons: string[];
}
export interface Keep {
    age_ms?: number | null;
    jobs?: number | null;
    bytes?: number | null;
}
export interface Retention {
    done: Keep;
    dead: Keep;
}
export interface QueueSettings {
    paused: boolean;
    pause_reason?: string;
    paused_until?: string;
    max_pending?: number | null;
    per_key: number;
    key_on_wait: KeyOnWait;
    key_on_dead: KeyOnDead;
    order: Order;
    dedup_window_ms: number;
    retention: Retention;
    description: string;
}
export interface Queue {
    name: string;
    paused: boolean;
    counts: Record<Status, Count>;
    totals: Totals;
    oldest_ready_age_ms?: number;
    health: Health;
    workers: number;
    corrupt: number;
    settings: QueueSettings;
    as_of: string;
}
export interface QueuePage {
    queues: Queue[];
    after?: string;
}
export interface Note {
    text: string;
    by: string;
    at: string;
}
export interface ErrorGroup {
    id: string;
    queue: string;
    kind: string;
    signature: string;
    failures: number;
    deaths: number;
    first: string;
    last: string;
    sample: string;
    recent: RecentErrors;
    note?: Note;
}
/** How many errors occurred in each of the last 24 hours, and on each of the last 7 days. */
export interface RecentErrors {
    hours: number[];
    days: number[];
}
/** What a worker is asked to do. */
export interface Orders {
    seq: number;
    mode?: Mode;
    slots?: number;
}
export interface RunningJob {
    id: string;
    kind: string;
    since: string;
}
/** A kind of which a worker could not read every payload. */
export interface UndecodableKind {
    kind: string;
    times: number;
    first: string;
    last: string;
    error: string;
}
/** What a worker says of itself. */
export interface Beat {
    id: string;
    name: string;
    queues: readonly string[];
    kinds: readonly string[];
    slots: number;
    running: number;
    ttl_ms: number;
    more_queues?: boolean;
    more_kinds?: boolean;
    quiet_ms?: number;
    host?: string;
    version?: string;
    pid?: number;
    started_at?: string;
    jobs?: readonly RunningJob[];
    undecodable?: readonly UndecodableKind[];
    obeyed?: number;
}
/** An error of the server, as `application/problem+json`. */
export interface Problem {
    type: string;
    title: string;
    status: number;
    detail: string;
    field?: string;
    limit?: string;
    item?: number;
    outcomes?: any[];
}
