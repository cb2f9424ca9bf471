//! A store whose calls are measured. Every client puts its store behind one, so that all calls are
//! counted in one place.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use metrics::{counter, gauge, histogram};

use crate::backend::*;
use crate::capability::*;
use crate::error::{Error, ErrorKind, Result};
use crate::error_group::ErrorGroup;
use crate::history::{HistoryQuery, RunsAdded, RunsRow, TotalsRow};
use crate::job::{Job, JobId, NewJob};
use crate::metrics::{
    POOL_CONNECTIONS, POOL_CONNECTIONS_MOST, POOL_WAITING, STORE_CALLS, STORE_ERRORS, STORE_ITEMS,
};
use crate::names::{QueueName, WorkerId};
use crate::queue::{Queue, QueuePatch, QueueSettings};

pub(crate) struct Measured(pub(crate) Arc<dyn Backend>);

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

impl Measured {
    /// Records how busy the store's connections are, if it has a pool of them.
    fn record_pool(&self) {
        let inspect = self.0.capabilities().inspect;
        let Some(PoolUse { most, used, idle, waiting }) = inspect.and_then(Inspect::pool) else {
            return;
        };
        gauge!(POOL_CONNECTIONS_MOST.name).set(most as f64);
        gauge!(POOL_CONNECTIONS.name, "state" => "used").set(used as f64);
        gauge!(POOL_CONNECTIONS.name, "state" => "idle").set(idle as f64);
        gauge!(POOL_WAITING.name).set(waiting as f64);
    }
}

/// The capability of the store behind; it is shown only where the store has it.
macro_rules! inner {
    ($self:ident, $capability:ident) => {
        $self.0.capabilities().$capability.ok_or_else(lacking)?
    };
}

fn lacking() -> Error {
    Error::new(ErrorKind::Unsupported, "the store no longer has this capability")
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for Measured {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        let answer = measured!("enqueue", jobs, self.0.enqueue(jobs));
        self.record_pool();
        answer
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let answer = measured!("reserve", self.0.reserve(request));
        self.record_pool();
        if let Ok(reserved) = &answer {
            let leases = reserved.leases.len();
            histogram!(STORE_ITEMS.name, "operation" => "reserve").record(leases as f64);
        }
        answer
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        measured!("ack", acks, self.0.ack(acks))
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        measured!("nack", nacks, self.0.nack(nacks))
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        measured!("dead_letter", dead_letters, self.0.dead_letter(dead_letters))
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        measured!("list_queues", self.0.list_queues(after, limit))
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        measured!("find_queues", self.0.find_queues(names))
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        measured!("list_jobs", self.0.list_jobs(filter))
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        measured!("get_job", self.0.get_job(id))
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        measured!("delete_job", self.0.delete_job(id, force))
    }

    async fn close(&self) -> Result<()> {
        measured!("close", self.0.close())
    }

    fn capabilities(&self) -> Capabilities<'_> {
        // Named one by one, so that a new capability is not passed on unmeasured.
        let Capabilities {
            leases,
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
        } = self.0.capabilities();
        Capabilities {
            leases: leases.map(|_| self as &dyn Leases),
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

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Leases for Measured {
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        measured!("extend", leases, inner!(self, leases).extend(leases, ttl))
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        measured!("report", reports, inner!(self, leases).report(reports))
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        measured!("beat", inner!(self, leases).beat(beat))
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        measured!("forget_worker", inner!(self, leases).forget_worker(worker))
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        measured!("list_workers", inner!(self, leases).list_workers(after, limit))
    }

    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        measured!("find_worker", inner!(self, leases).find_worker(worker))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Exchange for Measured {
    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        let settled = settlement.acks.len() + settlement.nacks.len();
        histogram!(STORE_ITEMS.name, "operation" => "exchange").record(settled as f64);
        let answer = measured!("exchange", inner!(self, exchange).exchange(settlement, request));
        self.record_pool();
        if let Ok(exchanged) = &answer {
            let leases = exchanged.reserved.leases.len();
            histogram!(STORE_ITEMS.name, "operation" => "exchange_reserve").record(leases as f64);
        }
        answer
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Upkeep for Measured {
    async fn prune(&self) -> Result<UpkeepReport> {
        measured!("prune", inner!(self, upkeep).prune())
    }

    async fn repair(&self) -> Result<UpkeepReport> {
        measured!("repair", inner!(self, upkeep).repair())
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Admin for Measured {
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        measured!("configure", inner!(self, admin).configure(queue, patch))
    }

    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool> {
        measured!("remove_queue", inner!(self, admin).remove_queue(queue, force))
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        measured!("cancel", ids, inner!(self, admin).cancel(ids))
    }

    async fn retry(&self, ids: &[JobId]) -> Result<Vec<RetryOutcome>> {
        measured!("retry", ids, inner!(self, admin).retry(ids))
    }

    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        measured!("retry_after", retries, inner!(self, admin).retry_after(retries))
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        measured!("reschedule", ids, inner!(self, admin).reschedule(ids, delay))
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        measured!("why", inner!(self, admin).why(id))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Inspect for Measured {
    async fn check_writes(&self) -> Result<()> {
        measured!("check_writes", inner!(self, inspect).check_writes())
    }

    async fn durability(&self) -> Result<Durability> {
        measured!("durability", inner!(self, inspect).durability())
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        measured!("facts", inner!(self, inspect).facts())
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        measured!("findings", inner!(self, inspect).findings())
    }

    fn pool(&self) -> Option<PoolUse> {
        self.0.capabilities().inspect.and_then(Inspect::pool)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Schedules for Measured {
    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        measured!("find_schedules", inner!(self, schedules).find_schedules(query))
    }

    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        measured!("change_schedule", inner!(self, schedules).change_schedule(change))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Outbox for Measured {
    async fn event_settings(&self) -> Result<StoredSettings> {
        measured!("event_settings", inner!(self, outbox).event_settings())
    }

    async fn change_event_settings(&self, seen: u64, to: &bytes::Bytes) -> Result<bool> {
        let outbox = inner!(self, outbox);
        measured!("change_event_settings", outbox.change_event_settings(seen, to))
    }

    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents> {
        measured!("store_events", inner!(self, outbox).store_events(emission))
    }

    async fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        measured!("list_events", inner!(self, outbox).list_events(filter))
    }

    async fn deliver_again(&self, deliveries: &[NewJob]) -> Result<Vec<bool>> {
        measured!("deliver_again", deliveries, inner!(self, outbox).deliver_again(deliveries))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl AuditLog for Measured {
    async fn record_act(&self, act: &Act) -> Result<()> {
        measured!("record_act", inner!(self, audit).record_act(act))
    }

    async fn list_acts(&self, before: Option<u64>, limit: PageSize) -> Result<Vec<AuditEntry>> {
        measured!("list_acts", inner!(self, audit).list_acts(before, limit))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ErrorGroups for Measured {
    async fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: PageSize,
    ) -> Result<Vec<ErrorGroup>> {
        measured!("list_error_groups", inner!(self, errors).list_error_groups(queues, limit))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl History for Measured {
    async fn record_totals(&self) -> Result<bool> {
        measured!("record_totals", inner!(self, history).record_totals())
    }

    async fn add_runs(&self, runs: &[RunsAdded]) -> Result<()> {
        measured!("add_runs", runs, inner!(self, history).add_runs(runs))
    }

    async fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        measured!("list_totals", inner!(self, history).list_totals(query))
    }

    async fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        measured!("list_runs", inner!(self, history).list_runs(query))
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Control for Measured {
    async fn control(&self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>> {
        measured!("control", workers, inner!(self, control).control(workers, order))
    }
}

/// As the store behind it.
impl fmt::Debug for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
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
        let measured = Measured(Arc::clone(&store));
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
            );
            (names, more, rest, can.atomic_across_queues, can.calls_at_once, can.limits)
        };
        assert_eq!(shown(&measured), shown(&*store));
        assert!(shown(&measured).0.0, "the store in memory has leases");
    }
}
