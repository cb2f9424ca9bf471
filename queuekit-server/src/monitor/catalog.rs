//! The metrics of a server, and those of the libraries: all that `docs/observability.md` lists.

use queuekit::metrics::{CALL_BUCKETS, METRICS, Metric};

/// Answered requests.
pub(crate) const REQUESTS: Metric = Metric::counter(
    "queuekit_http_requests_total",
    &["method", "route", "status"],
    "Answered requests",
);
/// Their time.
pub(crate) const REQUEST_SECONDS: Metric = Metric::histogram(
    "queuekit_http_request_seconds",
    &["route"],
    CALL_BUCKETS,
    "Time to answer; long polls take longer than the last bucket",
);
/// Requests in progress.
pub(crate) const IN_FLIGHT: Metric =
    Metric::gauge("queuekit_http_requests_in_flight", &[], "Requests in progress");

/// Whether there are figures of queues.
pub(crate) const STORE_UP: Metric = Metric::gauge(
    "queuekit_store_up",
    &[],
    "1 if the store answered when the figures of queues were last read, at most about 2 s ago; \
     while it is 0, the metrics of queues are missing",
);
/// How many queues have no series of their own.
pub(crate) const SUMMED: Metric = Metric::gauge(
    "queuekit_queues_summed",
    &[],
    "Queues without series of their own: beyond the 100 with the most jobs that have not ended, \
     queues are summed as `_other`",
);
/// Jobs by status.
pub(crate) const QUEUE_JOBS: Metric = Metric::gauge(
    "queuekit_queue_jobs",
    &["queue", "status"],
    "Jobs by status: running, expired, ready, failed, scheduled, blocked, dead, cancelled, \
     completed; above 10,000 an estimate",
);
/// What to scale workers by.
pub(crate) const QUEUE_DEMAND: Metric = Metric::gauge(
    "queuekit_queue_demand",
    &["queue"],
    "Jobs that want a slot: those that run, and those that could run now and whose queue is not \
     paused",
);
/// How long jobs wait.
pub(crate) const QUEUE_OLDEST: Metric = Metric::gauge(
    "queuekit_queue_oldest_ready_seconds",
    &["queue"],
    "Age of the oldest job that could run now, 0 if there is none; of `_other` the largest",
);
/// Workers.
pub(crate) const QUEUE_WORKERS: Metric = Metric::gauge(
    "queuekit_queue_workers",
    &["queue"],
    "Live workers that serve the queue; none for `_other`",
);
/// Paused queues.
pub(crate) const QUEUE_PAUSED: Metric = Metric::gauge(
    "queuekit_queue_paused",
    &["queue"],
    "1 if the queue is paused; of `_other` 1 if any of them is",
);
/// Health.
pub(crate) const QUEUE_HEALTH: Metric = Metric::gauge(
    "queuekit_queue_health",
    &["queue"],
    "Health of the queue, 0 to 100; of `_other` the lowest. `queuekit queue show` gives the \
     reasons",
);
/// How jobs have ended.
pub(crate) const QUEUE_ENDED: Metric = Metric::counter(
    "queuekit_queue_ended_total",
    &["queue", "state"],
    "Jobs that ended completed, dead or cancelled since the queue was created; none for `_other`, \
     whose sum would fall when a queue leaves it",
);
/// Jobs enqueued.
pub(crate) const QUEUE_ENQUEUED: Metric = Metric::counter(
    "queuekit_queue_enqueued_total",
    &["queue"],
    "Jobs enqueued since the queue was created; none for `_other`",
);
/// Attempts that failed.
pub(crate) const QUEUE_FAILED: Metric = Metric::counter(
    "queuekit_queue_failed_attempts_total",
    &["queue"],
    "Attempts that failed since the queue was created, expired leases included; none for `_other`",
);

/// What a server tells about itself.
pub(crate) const SERVER: &[Metric] = &[REQUESTS, REQUEST_SECONDS, IN_FLIGHT];

/// What a server tells about its store; `api/metrics.rs` makes these at each scrape.
#[cfg(test)]
pub(crate) const STORE: &[Metric] = &[
    STORE_UP,
    SUMMED,
    QUEUE_JOBS,
    QUEUE_DEMAND,
    QUEUE_OLDEST,
    QUEUE_WORKERS,
    QUEUE_PAUSED,
    QUEUE_HEALTH,
    QUEUE_ENDED,
    QUEUE_ENQUEUED,
    QUEUE_FAILED,
];

/// What a process records, but for the figures of its store.
pub(crate) fn recorded() -> impl Iterator<Item = &'static Metric> {
    METRICS.iter().chain(SERVER)
}
