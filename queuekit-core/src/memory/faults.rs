//! Faults on request, to prove that handlers are idempotent.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, ErrorKind, Result};

/// Requests faults of the store. Each fault happens once per request.
///
/// ```
/// use queuekit::memory::{MemoryStore, Operation, When};
///
/// let store = MemoryStore::new();
/// store.faults().crash_before_ack();
/// store.faults().fail(Operation::Enqueue, 2, When::After);
/// ```
#[derive(Debug, Default)]
pub struct Faults(Mutex<Pending>);

#[derive(Debug, Default)]
struct Pending {
    crashes_before_ack: u32,
    lost_leases: u32,
    double_deliveries: u32,
    /// The calls that are left until each failure.
    failures: HashMap<(Operation, When), Vec<u32>>,
}

/// An operation that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is the call of that name")]
pub enum Operation {
    Enqueue,
    Reserve,
    Ack,
    Nack,
    DeadLetter,
    ListQueues,
    FindQueues,
    ListJobs,
    GetJob,
    JobStates,
    DeleteJob,
    Extend,
    Report,
    PutCheckpoint,
    Checkpoints,
    ListCheckpoints,
    ForgetCheckpoints,
    Beat,
    ForgetWorker,
    ListWorkers,
    FindWorker,
    Exchange,
    Configure,
    RemoveQueue,
    Cancel,
    Retry,
    Reschedule,
    Why,
    Upkeep,
    Inspect,
    Subscribe,
    FindSchedules,
    ChangeSchedule,
    EventSettings,
    ChangeEventSettings,
    StoreEvents,
    ListEvents,
    DeliverAgain,
    RecordAct,
    ListActs,
    ListErrorGroups,
    RecordTotals,
    AddRuns,
    ListTotals,
    ListRuns,
    Control,
    Commit,
}

impl Operation {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Enqueue => "enqueue",
            Self::Reserve => "reserve",
            Self::Ack => "ack",
            Self::Nack => "nack",
            Self::DeadLetter => "dead_letter",
            Self::ListQueues => "list_queues",
            Self::FindQueues => "find_queues",
            Self::ListJobs => "list_jobs",
            Self::GetJob => "get_job",
            Self::JobStates => "job_states",
            Self::DeleteJob => "delete_job",
            Self::Extend => "extend",
            Self::Report => "report",
            Self::PutCheckpoint => "put_checkpoint",
            Self::Checkpoints => "checkpoints",
            Self::ListCheckpoints => "list_checkpoints",
            Self::ForgetCheckpoints => "forget_checkpoints",
            Self::Beat => "beat",
            Self::ForgetWorker => "forget_worker",
            Self::ListWorkers => "list_workers",
            Self::FindWorker => "find_worker",
            Self::Exchange => "exchange",
            Self::Configure => "configure",
            Self::RemoveQueue => "remove_queue",
            Self::Cancel => "cancel",
            Self::Retry => "retry",
            Self::Reschedule => "reschedule",
            Self::Why => "why",
            Self::Upkeep => "upkeep",
            Self::Inspect => "inspect",
            Self::Subscribe => "subscribe",
            Self::FindSchedules => "find_schedules",
            Self::ChangeSchedule => "change_schedule",
            Self::EventSettings => "event_settings",
            Self::ChangeEventSettings => "change_event_settings",
            Self::StoreEvents => "store_events",
            Self::ListEvents => "list_events",
            Self::DeliverAgain => "deliver_again",
            Self::RecordAct => "record_act",
            Self::ListActs => "list_acts",
            Self::ListErrorGroups => "list_error_groups",
            Self::RecordTotals => "record_totals",
            Self::AddRuns => "add_runs",
            Self::ListTotals => "list_totals",
            Self::ListRuns => "list_runs",
            Self::Control => "control",
            Self::Commit => "commit",
        }
    }
}

/// Whether a call fails before or after it takes effect.
// Exhaustive: a call fails before or after its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum When {
    /// Nothing took effect: the caller gets `Unavailable`.
    Before,
    /// The call took effect and its reply was lost: the caller gets `Indeterminate`.
    After,
}

impl Faults {
    /// The next ack is lost with its process: nothing is recorded, the lease expires immediately,
    /// and the caller gets `LeaseLost`.
    pub fn crash_before_ack(&self) {
        self.pending().crashes_before_ack += 1;
    }

    /// The next lease that is extended or settled is lost, as after a long pause of the process.
    pub fn lose_lease(&self) {
        self.pending().lost_leases += 1;
    }

    /// The next reserved job that has an attempt left is handed out a second time during its first
    /// run; only the second run can be acked.
    pub fn deliver_twice(&self) {
        self.pending().double_deliveries += 1;
    }

    /// The n-th call of an operation from now (1 for the next) fails before or after it took
    /// effect. An exchange counts as a reserve, and also as an ack and a nack if it has any.
    pub fn fail(&self, operation: Operation, nth: u32, when: When) {
        self.pending().failures.entry((operation, when)).or_default().push(nth.max(1));
    }

    pub(super) fn before(&self, operation: Operation) -> Result<()> {
        if self.due(operation, When::Before) {
            let message = "an injected fault: nothing took effect";
            return Err(Error::new(ErrorKind::Unavailable, message).during(operation.as_str()));
        }
        Ok(())
    }

    pub(super) fn after(&self, operation: Operation) -> Result<()> {
        if self.due(operation, When::After) {
            let message = "an injected fault: the call took effect, and its reply was lost";
            return Err(Error::new(ErrorKind::Indeterminate, message).during(operation.as_str()));
        }
        Ok(())
    }

    pub(super) fn take_crash_before_ack(&self) -> bool {
        take(&mut self.pending().crashes_before_ack)
    }

    pub(super) fn take_lost_lease(&self) -> bool {
        take(&mut self.pending().lost_leases)
    }

    pub(super) fn take_double_delivery(&self) -> bool {
        take(&mut self.pending().double_deliveries)
    }

    fn due(&self, operation: Operation, when: When) -> bool {
        let mut pending = self.pending();
        if pending.failures.is_empty() {
            return false;
        }
        let Some(calls) = pending.failures.get_mut(&(operation, when)) else { return false };
        let due = calls.contains(&1);
        calls.retain(|left| *left > 1);
        calls.iter_mut().for_each(|left| *left -= 1);
        if calls.is_empty() {
            pending.failures.remove(&(operation, when));
        }
        due
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn take(count: &mut u32) -> bool {
    let any = *count > 0;
    *count = count.saturating_sub(1);
    any
}
