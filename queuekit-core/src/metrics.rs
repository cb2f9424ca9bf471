//! Every metric of the libraries.
//!
//! They are recorded through the crate [`metrics`](https://docs.rs/metrics). Install a recorder of
//! your choice before you start a worker, and call [`describe`] for the units and help texts.
//! Without a recorder they cost next to nothing.

/// A metric. The list in `docs/observability.md` is made from these.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Metric {
    /// The name, which ends with the unit if there is one.
    pub name: &'static str,
    /// How it behaves.
    pub kind: MetricKind,
    /// The names of its labels.
    pub labels: &'static [&'static str],
    /// The help text.
    pub help: &'static str,
}

/// How a metric behaves.
// Exhaustive: an exporter has to write each.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MetricKind {
    /// It only rises while the process runs.
    Counter,
    /// It rises and falls.
    Gauge,
    /// How values are distributed, with the upper bounds of its buckets.
    Histogram(&'static [f64]),
}

/// What a metric counts or measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum MetricUnit {
    /// A number of things.
    Count,
    /// Time.
    Seconds,
}

impl Metric {
    /// A counter.
    pub const fn counter(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { name, kind: MetricKind::Counter, labels, help }
    }

    /// A gauge.
    pub const fn gauge(
        name: &'static str,
        labels: &'static [&'static str],
        help: &'static str,
    ) -> Self {
        Self { name, kind: MetricKind::Gauge, labels, help }
    }

    /// A histogram with these upper bounds.
    pub const fn histogram(
        name: &'static str,
        labels: &'static [&'static str],
        buckets: &'static [f64],
        help: &'static str,
    ) -> Self {
        Self { name, kind: MetricKind::Histogram(buckets), labels, help }
    }

    /// Its unit, by its name.
    pub fn unit(&self) -> MetricUnit {
        if self.name.ends_with("_seconds") { MetricUnit::Seconds } else { MetricUnit::Count }
    }
}

/// The value of a label that stands for all those that have none of their own. It is not a valid
/// name of a queue or kind.
pub const OTHER: &str = "_other";

/// Most kinds that are labels in one process; jobs of further kinds count as [`OTHER`]. A job may
/// be of any kind, and a series is kept forever.
pub const KIND_LABELS: usize = 200;

/// In seconds: a call of a store, or a request.
pub const CALL_BUCKETS: &[f64] =
    &[0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];
/// In seconds: a job, from instantaneous ones to those of an hour.
pub const JOB_BUCKETS: &[f64] =
    &[0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 900.0, 3600.0];
/// Items of one call; those of the first bucket had nothing to do.
pub const ITEM_BUCKETS: &[f64] = &[0.0, 1.0, 10.0, 50.0, 100.0, 250.0, 500.0, 1000.0];

/// Runs that ended.
pub const JOBS: Metric = Metric::counter(
    "queuekit_jobs_total",
    &["queue", "kind", "outcome"],
    "Runs that ended, by outcome: completed, failed (retried later), dead, released, cancelled or \
     lease_lost",
);
/// From due to leased.
pub const JOB_WAIT: Metric = Metric::histogram(
    "queuekit_job_wait_seconds",
    &["queue"],
    JOB_BUCKETS,
    "Time from when a job became due, at its enqueue or later, to its lease; by the clocks of the \
     store and of the worker",
);
/// From the start of a handler to its end.
pub const JOB_RUN: Metric = Metric::histogram(
    "queuekit_job_run_seconds",
    &["queue", "kind"],
    JOB_BUCKETS,
    "Time that a handler ran",
);
/// From the end of a handler to the answer of the store.
pub const JOB_SETTLE: Metric = Metric::histogram(
    "queuekit_job_settle_seconds",
    &[],
    CALL_BUCKETS,
    "Time from the end of a handler until the store had recorded its outcome",
);
/// Jobs that the workers of this process can run.
pub const SLOTS: Metric =
    Metric::gauge("queuekit_slots", &[], "Jobs that the workers of this process can run at once");
/// Slots in use.
pub const RUNNING: Metric = Metric::gauge(
    "queuekit_running",
    &[],
    "Slots in use: handlers that have not returned, and jobs that wait for their kind's limit",
);
/// Handlers that do not stop.
pub const STUCK: Metric = Metric::counter(
    "queuekit_stuck_total",
    &[],
    "Handlers that did not return when their run was given up",
);
/// Leases that were extended.
pub const LEASES_EXTENDED: Metric =
    Metric::counter("queuekit_leases_extended_total", &[], "Leases that were extended");
/// Leases that were lost.
pub const LEASES_LOST: Metric = Metric::counter(
    "queuekit_leases_lost_total",
    &[],
    "Leases that were lost while their job ran, or before its outcome was recorded",
);
/// Calls of the store.
pub const STORE_CALLS: Metric = Metric::histogram(
    "queuekit_store_call_seconds",
    &["operation"],
    CALL_BUCKETS,
    "Time of a call of the store, answered or failed",
);
/// Items of calls of the store.
pub const STORE_ITEMS: Metric = Metric::histogram(
    "queuekit_store_call_items",
    &["operation"],
    ITEM_BUCKETS,
    "Items of a call of the store; for reserve, and for the operation exchange_reserve of an \
     exchange, the jobs that it leased",
);
/// Calls of the store that failed.
pub const STORE_ERRORS: Metric = Metric::counter(
    "queuekit_store_errors_total",
    &["operation", "kind"],
    "Calls of the store that failed, by kind of error",
);

/// Connections of the store's pool.
pub const POOL_CONNECTIONS: Metric = Metric::gauge(
    "queuekit_pool_connections",
    &["state"],
    "Open connections of the store's pool, by state: used or idle; of Postgres only",
);
/// The most connections of the pool.
pub const POOL_CONNECTIONS_MOST: Metric = Metric::gauge(
    "queuekit_pool_connections_most",
    &[],
    "The most connections that the store's pool opens (pool_size)",
);
/// Calls that wait for a connection.
pub const POOL_WAITING: Metric = Metric::gauge(
    "queuekit_pool_waiting",
    &[],
    "Calls that wait for a connection of the store's pool, as of the last reserve, exchange or \
     enqueue",
);

/// Every metric that a client or a worker records.
pub const METRICS: &[Metric] = &[
    JOBS,
    JOB_WAIT,
    JOB_RUN,
    JOB_SETTLE,
    SLOTS,
    RUNNING,
    STUCK,
    LEASES_EXTENDED,
    LEASES_LOST,
    STORE_CALLS,
    STORE_ITEMS,
    STORE_ERRORS,
    POOL_CONNECTIONS,
    POOL_CONNECTIONS_MOST,
    POOL_WAITING,
];

/// Tells the recorder the units and help texts of [`METRICS`].
pub fn describe() {
    describe_all(METRICS);
}

/// The same for other metrics.
pub fn describe_all(metrics: &[Metric]) {
    for metric in metrics {
        let unit = match metric.unit() {
            MetricUnit::Count => ::metrics::Unit::Count,
            MetricUnit::Seconds => ::metrics::Unit::Seconds,
        };
        match metric.kind {
            MetricKind::Counter => ::metrics::describe_counter!(metric.name, unit, metric.help),
            MetricKind::Gauge => ::metrics::describe_gauge!(metric.name, unit, metric.help),
            MetricKind::Histogram(_) => {
                ::metrics::describe_histogram!(metric.name, unit, metric.help);
            }
        }
    }
}
