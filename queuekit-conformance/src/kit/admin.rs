//! Capabilities that the harness states for the store.

use std::time::Duration;

use queuekit_core::capability::{
    Admin, CancelOutcome, ErrorGroups, Exchange, ExtendOutcome, History, Inspect, Leases, Outbox,
    Report, ReportOutcome, RescheduleOutcome, RetryOutcome, Schedules, Upkeep, UpkeepReport,
    Wakeups,
};
use queuekit_core::{
    Capabilities, JobId, LeaseToken, Limits, QueueName, QueuePatch, QueueSettings,
};

use super::settle::only;
use super::ttl;
use crate::World;

/// More steps than any case needs.
const STEPS: usize = 1_000;

macro_rules! capability {
    ($($name:ident: $trait:ident)*) => {$(
        #[doc = concat!("The capability [`", stringify!($trait), "`].")]
        pub fn $name(&self) -> &dyn $trait {
            self.capabilities().$name.expect(concat!("the capability ", stringify!($trait)))
        }
    )*};
}

impl<'w> dyn World + 'w {
    /// The capabilities of the store, beside its ten operations.
    pub fn capabilities(&self) -> Capabilities<'_> {
        self.backend().capabilities()
    }

    /// What the store says that one call may carry, and that it keeps at most.
    pub fn limits(&self) -> Limits {
        self.capabilities().limits
    }

    capability! {
        leases: Leases
        wakeups: Wakeups
        upkeep: Upkeep
        exchange: Exchange
        admin: Admin
        inspect: Inspect
        schedules: Schedules
        outbox: Outbox
        errors: ErrorGroups
        history: History
    }

    /// Changes settings of a queue.
    pub async fn configure(&self, queue: &QueueName, patch: QueuePatch) -> QueueSettings {
        self.admin().configure(queue, &patch).await.expect("configure")
    }

    /// Cancels one job.
    pub async fn cancel(&self, id: JobId) -> CancelOutcome {
        only(self.admin().cancel(&[id]).await)
    }

    /// Asks a running job to stop.
    pub async fn request_cancel(&self, id: JobId) {
        assert_eq!(self.cancel(id).await, CancelOutcome::Requested);
    }

    /// Brings one job back.
    pub async fn retry(&self, id: JobId) -> RetryOutcome {
        only(self.admin().retry(&[id]).await)
    }

    /// Brings back one job that has ended.
    pub async fn bring_back(&self, id: JobId) {
        assert_eq!(self.retry(id).await, RetryOutcome::Retried);
    }

    /// Lets one pending job run after this delay.
    pub async fn reschedule(&self, id: JobId, delay: Duration) -> RescheduleOutcome {
        only(self.admin().reschedule(&[id], delay).await)
    }

    /// Extends one lease.
    pub async fn extend(&self, token: &LeaseToken, length: Duration) -> ExtendOutcome {
        only(self.leases().extend(std::slice::from_ref(token), ttl(length)).await)
    }

    /// Stores the report of one run.
    pub async fn report(&self, report: Report) -> ReportOutcome {
        only(self.leases().report(&[report]).await)
    }

    /// Runs retention until it has nothing more to do. Returns how many jobs it removed.
    pub async fn prune(&self) -> u64 {
        let mut changed = 0;
        for _ in 0..STEPS {
            let UpkeepReport { changed: step, more, .. } =
                self.upkeep().prune().await.expect("prune");
            assert!(step <= 1000, "one step removed {step} jobs");
            changed += step;
            if !more {
                return changed;
            }
        }
        panic!("retention never ends: {changed} jobs so far");
    }
}
