//! What a store can do beside its ten operations.

use crate::capability::{
    Admin, Exchange, Inspect, Leases, Migrations, Outbox, Schedules, Upkeep, Wakeups,
};
use crate::limits::Limits;

/// The capability traits a store implements: a field that is `Some` is the implementation, so
/// that claiming and having are the same thing.
///
/// A wrapper answers itself where its inner store has `Some`, and wraps each call.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct Capabilities<'a> {
    /// Leases can be extended and report progress; workers are listed. A worker needs it.
    pub leases: Option<&'a dyn Leases>,
    /// The store tells when there may be work.
    pub wakeups: Option<&'a dyn Wakeups>,
    /// Retention and repair.
    pub upkeep: Option<&'a dyn Upkeep>,
    /// A batch is settled and the next one reserved in one step.
    pub exchange: Option<&'a dyn Exchange>,
    /// Queue settings, cancel, retry, reschedule, why.
    pub admin: Option<&'a dyn Admin>,
    /// Facts and findings for `doctor`.
    pub inspect: Option<&'a dyn Inspect>,
    /// The version of its schema.
    pub migrations: Option<&'a dyn Migrations>,
    /// Schedules: cron and intervals.
    pub schedules: Option<&'a dyn Schedules>,
    /// Events, and deliveries of them.
    pub outbox: Option<&'a dyn Outbox>,
    /// Whether one enqueue call over several queues is one atomic step (R2.3).
    pub atomic_across_queues: bool,
    /// How many large calls at once are worth it; 0 and 1 mean that calls wait for each other.
    pub calls_at_once: usize,
    /// What one call may carry (R12).
    pub limits: Limits,
}
