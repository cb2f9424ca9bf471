"""The objects of the HTTP API. docs/http.md says what their fields mean.

A field that is `NotRequired` is left out by the server if it is not set.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict

Status = Literal["ready", "scheduled", "failed", "blocked", "running", "expired", "completed",
                 "dead", "cancelled"]
State = Literal["pending", "running", "completed", "dead", "cancelled"]
Priority = Literal["low", "normal", "high", "critical"]
NackKind = Literal["retry", "release", "fatal", "cancelled"]
ReleaseCause = Literal["shutdown", "snooze", "unknown_kind", "undecodable", "throttle", "sleep"]
KeyOnWait = Literal["block", "skip"]
KeyOnDead = Literal["continue", "hold"]
Order = Literal["strict", "fair"]
Mode = Literal["quiet", "resume", "stop"]
Time = str | datetime
Queues = Sequence[str] | Mapping[str, int]
"""Queues in the order in which they are served, or with weights of 1 to 100."""


class JobOptions(TypedDict, total=False):
    """What can be set for a new job, beside its kind and payload."""

    queue: str
    priority: int | Priority
    max_attempts: int
    delay_ms: int
    run_at: Time
    idempotency_key: str
    unique_until_done: bool
    partition_key: str
    timeout_ms: int
    deadline_ms: int
    metadata: Mapping[str, str]
    id: str


class NewJob(JobOptions):
    """A job to store. A payload of `bytes` is stored as it is, anything else as JSON."""

    kind: str
    payload: NotRequired[Any]


class Failure(TypedDict):
    attempt: int
    lease_seq: int
    at: str
    error: str
    started_at: NotRequired[str]
    worker: NotRequired[str]


class Mark(TypedDict):
    """What could not be read of a payload, since when, and how often."""

    error: str
    since: str
    times: int


class Released(TypedDict):
    lease_seq: int
    at: str
    started_at: NotRequired[str]
    worker: NotRequired[str]
    cause: NotRequired[ReleaseCause]
    undecodable: NotRequired[Mark]


class Progress(TypedDict):
    fraction: float
    message: str


class LogLine(TypedDict):
    at: str
    text: str


class LeasedJob(TypedDict):
    """The job of a lease."""

    id: str
    queue: str
    kind: str
    status: Status
    attempts: int
    max_attempts: int
    releases: int
    lease_seq: int
    priority: int
    timeout_ms: int
    created_at: str
    scheduled_at: str
    metadata: dict[str, str]
    payload: NotRequired[Any]
    payload_base64: NotRequired[str]
    partition_key: NotRequired[str]
    deadline_in_ms: NotRequired[int]


class Job(LeasedJob):
    errors: list[Failure]
    logs: list[LogLine]
    released: NotRequired[list[Released]]
    undecodable: NotRequired[Mark]
    started_at: NotRequired[str]
    finished_at: NotRequired[str]
    lease_expires_in_ms: NotRequired[int]
    worker: NotRequired[str]
    idempotency_key: NotRequired[str]
    result: NotRequired[Any]
    result_base64: NotRequired[str]
    reason: NotRequired[str]
    progress: NotRequired[Progress]
    cancel_requested: NotRequired[bool]
    moved_from: NotRequired[str]


class Enqueued(TypedDict):
    id: str
    outcome: Literal["created", "duplicate"]
    status: NotRequired[Status]
    job: NotRequired[Job]


class EnqueueOutcome(TypedDict):
    """What became of one job of several: `id` is missing, and `retry_after_ms` set, if its queue
    is full."""

    outcome: Literal["created", "duplicate", "conflict", "queue_full"]
    id: NotRequired[str]
    retry_after_ms: NotRequired[int]


class EventOptions(TypedDict, total=False):
    """What can be set for a new event, beside its type and data."""

    delay_ms: int
    idempotency_key: str
    partition_key: str
    metadata: Mapping[str, str]
    id: str


class EmitOutcome(TypedDict):
    id: str
    outcome: Literal["emitted", "duplicate", "conflict"]


class Filter(TypedDict, total=False):
    """Which jobs to list: those that match all that is set."""

    queue: str
    status: Status | State | Sequence[Status | State]
    kind: str
    partition_key: str
    worker: str
    error: str
    group: str
    id: str
    metadata: str
    payload: str
    created_from: Time
    created_to: Time
    finished_from: Time
    finished_to: Time
    recent: bool
    limit: int
    within_ms: int


class PageFilter(Filter, total=False):
    cursor: str


class Examined(TypedDict):
    jobs: int
    up_to: NotRequired[str]


class JobPage(TypedDict):
    jobs: list[Job]
    examined: Examined
    cursor: NotRequired[str]


class Lease(TypedDict):
    token: str
    job: LeasedJob


class Reserved(TypedDict):
    leases: list[Lease]
    more: bool
    next_due_in_ms: NotRequired[int]


class Ack(TypedDict):
    """A result of `bytes` is stored as it is, anything else as JSON."""

    token: str
    result: NotRequired[Any]


class Nack(TypedDict):
    token: str
    kind: NotRequired[NackKind]
    error: NotRequired[str]
    delay_ms: NotRequired[int]
    cause: NotRequired[ReleaseCause]


class NewProgress(TypedDict):
    fraction: float
    message: NotRequired[str]


class Report(TypedDict):
    token: str
    progress: NotRequired[NewProgress]
    lines: NotRequired[Sequence[str]]


class NewCheckpoint(TypedDict):
    """The result of a step. `bytes` are stored as they are, anything else as JSON."""

    token: str
    name: str
    result: NotRequired[Any]


class Checkpoint(TypedDict):
    name: str
    at: str
    result: NotRequired[Any]
    result_base64: NotRequired[str]


class Checkpoints(TypedDict):
    """What the runs of a job have stored, or nothing if the lease is lost."""

    outcome: Literal["held", "lease_lost"]
    now: NotRequired[str]
    checkpoints: list[Checkpoint]


class Outcome(TypedDict):
    """What an ack, nack, extend, report or checkpoint did to one lease."""

    outcome: Literal["acked", "already_done", "retrying", "released", "dead", "cancelled",
                     "extended", "settling", "unknown", "reported", "stored", "conflict", "full",
                     "lease_lost", "not_found"]
    in_ms: NotRequired[int]
    lease_ms: NotRequired[int]
    cancel_requested: NotRequired[bool]


CancelOutcome = Literal["cancelled", "requested", "already_done"]


class Count(TypedDict):
    value: int
    exact: bool


class Totals(TypedDict):
    completed: int
    dead: int
    cancelled: int
    enqueued: NotRequired[int]
    failed: NotRequired[int]


class Health(TypedDict):
    score: int
    reasons: list[str]


class Keep(TypedDict, total=False):
    age_ms: int | None
    jobs: int | None
    bytes: int | None


class Retention(TypedDict):
    done: Keep
    dead: Keep


class QueueSettings(TypedDict):
    paused: bool
    pause_reason: NotRequired[str]
    paused_until: NotRequired[str]
    max_pending: NotRequired[int | None]
    per_key: int
    key_on_wait: KeyOnWait
    key_on_dead: KeyOnDead
    order: Order
    dedup_window_ms: int
    retention: Retention
    description: str


class Queue(TypedDict):
    name: str
    paused: bool
    counts: dict[Status, Count]
    totals: Totals
    oldest_ready_age_ms: NotRequired[int]
    health: Health
    workers: int
    corrupt: int
    settings: QueueSettings
    as_of: str


class QueuePage(TypedDict):
    queues: list[Queue]
    after: NotRequired[str]


class Note(TypedDict):
    text: str
    by: str
    at: str


class RecentErrors(TypedDict):
    """How many errors occurred in each of the last 24 hours, and on each of the last 7 days."""

    hours: list[int]
    days: list[int]


class ErrorGroup(TypedDict):
    id: str
    queue: str
    kind: str
    signature: str
    failures: int
    deaths: int
    first: str
    last: str
    sample: str
    recent: RecentErrors
    note: NotRequired[Note]


class Orders(TypedDict):
    """What a worker is asked to do."""

    seq: int
    mode: NotRequired[Mode]
    slots: NotRequired[int]


class RunningJob(TypedDict):
    id: str
    kind: str
    since: str


class UndecodableKind(TypedDict):
    """A kind of which a worker could not read every payload."""

    kind: str
    times: int
    first: str
    last: str
    error: str


class Beat(TypedDict):
    """What a worker says of itself."""

    id: str
    name: str
    queues: Sequence[str]
    kinds: Sequence[str]
    slots: int
    running: int
    ttl_ms: int
    more_queues: NotRequired[bool]
    more_kinds: NotRequired[bool]
    quiet_ms: NotRequired[int]
    host: NotRequired[str]
    version: NotRequired[str]
    pid: NotRequired[int]
    started_at: NotRequired[str]
    jobs: NotRequired[Sequence[RunningJob]]
    undecodable: NotRequired[Sequence[UndecodableKind]]
    obeyed: NotRequired[int]


class Problem(TypedDict, total=False):
    """An error of the server, as `application/problem+json`; a proxy may have answered less."""

    type: str
    title: str
    status: int
    detail: str
    field: str
    limit: str
    item: int
    outcomes: list[Any]
