//! What a store can do besides its ten operations.

use crate::capability::{
    Admin, AuditLog, Control, ErrorGroups, Exchange, History, Inspect, KeepCheckpoints, Leases,
    Migrations, Outbox, Schedules, Upkeep, Wakeups,
};
use crate::error::{Error, ErrorKind, Result};
use crate::store_limits::Limits;

/// The capability traits that a store implements. A field that is `Some` is the implementation, so
/// a store cannot claim a capability that it lacks.
///
/// A wrapper returns itself where its inner store has `Some`, and wraps each call.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Capabilities<'a> {
    /// Extends leases, stores progress, and lists workers. A worker needs it.
    pub leases: Option<&'a dyn Leases>,
    /// Keeps the results of the steps of a run for later runs of its job.
    pub checkpoints: Option<&'a dyn KeepCheckpoints>,
    /// Rings when there may be work.
    pub wakeups: Option<&'a dyn Wakeups>,
    /// Retention and repair.
    pub upkeep: Option<&'a dyn Upkeep>,
    /// Settles a batch and reserves the next one in one step.
    pub exchange: Option<&'a dyn Exchange>,
    /// Queue settings, cancel, retry, reschedule, why.
    pub admin: Option<&'a dyn Admin>,
    /// Facts and findings for `doctor`.
    pub inspect: Option<&'a dyn Inspect>,
    /// Shows and changes the version of its schema.
    pub migrations: Option<&'a dyn Migrations>,
    /// Schedules: cron and intervals.
    pub schedules: Option<&'a dyn Schedules>,
    /// Events, and deliveries of them.
    pub outbox: Option<&'a dyn Outbox>,
    /// The audit log of changes by operators.
    pub audit: Option<&'a dyn AuditLog>,
    /// Groups of errors that look alike.
    pub errors: Option<&'a dyn ErrorGroups>,
    /// How things were an hour ago.
    pub history: Option<&'a dyn History>,
    /// Orders to workers.
    pub control: Option<&'a dyn Control>,
    /// Whether one enqueue call over several queues is one atomic step (R2.3).
    pub atomic_across_queues: bool,
    /// How many large calls the store gains by running at once; 0 and 1 mean that calls wait for
    /// each other.
    pub calls_at_once: usize,
    /// The limits of one call (R12).
    pub limits: Limits,
}

/// A capability that a call needs.
///
/// # Errors
/// `Unsupported`, with the name of the capability, if the store lacks it.
pub(crate) fn needed<C>(capability: Option<C>, name: &str) -> Result<C> {
    capability.ok_or_else(|| {
        let message = format!(
            "this store lacks {name}; use a store that has it, as all stores of queuekit do"
        );
        Error::new(ErrorKind::Unsupported, message)
    })
}
