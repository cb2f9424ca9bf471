//! A store whose calls are measured. Every client puts its store behind one, so that all calls are
//! counted in one place. The ten operations are here, the others in `measured/capabilities.rs`.
//! Calls that can end jobs ring those who wait for them.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use async_trait::async_trait;
use metrics::{counter, gauge, histogram};

use crate::backend::*;
use crate::capability::*;
use crate::error::{Error, Result};
use crate::job::{Job, JobId, NewJob, State};
use crate::job_ends::JobEnds;
use crate::metrics::{
    POOL_CONNECTIONS, POOL_CONNECTIONS_MOST, POOL_WAITING, STORE_CALLS, STORE_ERRORS, STORE_ITEMS,
};
use crate::names::QueueName;
use crate::queue::Queue;

pub(crate) struct Measured {
    store: Arc<dyn Backend>,
    ends: Arc<JobEnds>,
}

/// Measures a call; the name of the operation is the value of a label.
macro_rules! measured {
    ($operation:literal, $call:expr) => {{
        let began = Instant::now();
        let answer = $call.await;
        histogram!(STORE_CALLS.name, "operation" => $operation).record(began.elapsed());
        if let Err(error) = &answer {
            failed($operation, error);
        }
        answer
    }};
    ($operation:literal, $items:expr, $call:expr) => {{
        histogram!(STORE_ITEMS.name, "operation" => $operation).record($items.len() as f64);
        measured!($operation, $call)
    }};
}

fn failed(operation: &'static str, error: &Error) {
    let kind = error.kind().as_str();
    counter!(STORE_ERRORS.name, "operation" => operation, "kind" => kind).increment(1);
}

mod capabilities;

impl Measured {
    pub(crate) fn new(store: Arc<dyn Backend>, ends: Arc<JobEnds>) -> Self {
        Self { store, ends }
    }

    /// Records how busy the store's connections are, if it has a pool of them.
    fn record_pool(&self) {
        let inspect = self.store.capabilities().inspect;
        let Some(PoolUse { most, used, idle, waiting }) = inspect.and_then(Inspect::pool) else {
            return;
        };
        gauge!(POOL_CONNECTIONS_MOST.name).set(most as f64);
        gauge!(POOL_CONNECTIONS.name, "state" => "used").set(used as f64);
        gauge!(POOL_CONNECTIONS.name, "state" => "idle").set(idle as f64);
        gauge!(POOL_WAITING.name).set(waiting as f64);
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Measured {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        let answer = measured!("enqueue", jobs, self.store.enqueue(jobs));
        self.record_pool();
        answer
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let answer = measured!("reserve", self.store.reserve(request));
        self.record_pool();
        if let Ok(reserved) = &answer {
            let leases = reserved.leases.len();
            histogram!(STORE_ITEMS.name, "operation" => "reserve").record(leases as f64);
        }
        answer
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        let answer = measured!("ack", acks, self.store.ack(acks));
        self.ends.ring(acks.iter().map(|ack| ack.lease.id));
        answer
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        let answer = measured!("nack", nacks, self.store.nack(nacks));
        self.ends.ring(nacks.iter().map(|nack| nack.lease.id));
        answer
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        let call = self.store.dead_letter(dead_letters);
        let answer = measured!("dead_letter", dead_letters, call);
        self.ends.ring(dead_letters.iter().map(|dead| dead.target.id()));
        answer
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        measured!("list_queues", self.store.list_queues(after, limit))
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        measured!("find_queues", self.store.find_queues(names))
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        measured!("list_jobs", self.store.list_jobs(filter))
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        measured!("get_job", self.store.get_job(id))
    }

    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        measured!("job_states", ids, self.store.job_states(ids))
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        let answer = measured!("delete_job", self.store.delete_job(id, force));
        self.ends.ring([id]);
        answer
    }

    async fn close(&self) -> Result<()> {
        measured!("close", self.store.close())
    }

    fn capabilities(&self) -> Capabilities<'_> {
        // Named one by one, so that a new capability is not passed on unmeasured.
        let Capabilities {
            leases,
            checkpoints,
            wakeups,
            upkeep,
            exchange,
            admin,
            inspect,
            migrations,
            schedules,
            outbox,
            audit,
            errors,
            history,
            control,
            atomic_across_queues,
            calls_at_once,
            limits,
        } = self.store.capabilities();
        Capabilities {
            leases: leases.map(|_| self as &dyn Leases),
            checkpoints: checkpoints.map(|_| self as &dyn KeepCheckpoints),
            // These two call no store, or only when an operator asks.
            wakeups,
            migrations,
            upkeep: upkeep.map(|_| self as &dyn Upkeep),
            exchange: exchange.map(|_| self as &dyn Exchange),
            admin: admin.map(|_| self as &dyn Admin),
            inspect: inspect.map(|_| self as &dyn Inspect),
            schedules: schedules.map(|_| self as &dyn Schedules),
            outbox: outbox.map(|_| self as &dyn Outbox),
            audit: audit.map(|_| self as &dyn AuditLog),
            errors: errors.map(|_| self as &dyn ErrorGroups),
            history: history.map(|_| self as &dyn History),
            control: control.map(|_| self as &dyn Control),
            atomic_across_queues,
            calls_at_once,
            limits,
        }
    }
}

/// As the store behind it.
impl fmt::Debug for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.store.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryStore;

    /// Guard: a capability that is not passed on is lost to every application.
    #[test]
    fn a_measured_store_can_do_all_that_the_store_can() {
        let store: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let measured = Measured::new(Arc::clone(&store), Arc::default());
        let shown = |store: &dyn Backend| {
            let can = store.capabilities();
            let names = (can.leases.is_some(), can.wakeups.is_some(), can.upkeep.is_some());
            let more = (can.exchange.is_some(), can.admin.is_some(), can.inspect.is_some());
            let rest = (
                can.migrations.is_some(),
                can.schedules.is_some(),
                can.outbox.is_some(),
                can.audit.is_some(),
                can.errors.is_some(),
                can.history.is_some(),
                can.control.is_some(),
                can.checkpoints.is_some(),
            );
            (names, more, rest, can.atomic_across_queues, can.calls_at_once, can.limits)
        };
        assert_eq!(shown(&measured), shown(&*store));
        assert!(shown(&measured).0.0, "the store in memory has leases");
    }
}
