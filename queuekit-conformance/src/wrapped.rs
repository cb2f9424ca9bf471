//! A store in front of another one, which passes every operation on.

use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::*;
use queuekit_core::history::{HistoryQuery, RunsAdded, RunsRow, TotalsRow};
use queuekit_core::{
    Ack, AckOutcome, Backend, Bytes, Capabilities, CheckpointInfo, Checkpoints, DeadLetter,
    DeadLetterOutcome, EnqueueOutcome, ErrorGroup, Job, JobFilter, JobId, LeaseToken, LeaseTtl,
    Nack, NackOutcome, NewJob, Page, PageSize, Queue, QueueName, QueuePage, QueuePatch,
    QueueSettings, Reserve, Reserved, Result, State, WorkerId,
};

use crate::layer::Layer;

/// Makes a store of a [`Layer`]. It shows the capabilities of the inner store, with the layer in
/// front of each.
///
/// Every method of every trait is written out, and a missing one does not compile, so that none
/// can slip past the layer when a trait grows.
#[derive(Debug)]
pub struct Wrapped<L>(pub L);

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Backend for Wrapped<L> {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        self.0.called("enqueue");
        self.0.enqueue(jobs).await
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        self.0.called("reserve");
        self.0.reserve(request).await
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.0.called("ack");
        self.0.ack(acks).await
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        self.0.called("nack");
        self.0.nack(nacks).await
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        self.0.called("dead_letter");
        self.0.dead_letter(dead_letters).await
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        self.0.called("list_queues");
        self.0.list_queues(after, limit).await
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        self.0.called("find_queues");
        self.0.find_queues(names).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        self.0.called("list_jobs");
        self.0.list_jobs(filter).await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        self.0.called("get_job");
        self.0.get_job(id).await
    }

    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        self.0.called("job_states");
        self.0.job_states(ids).await
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        self.0.called("delete_job");
        self.0.delete_job(id, force).await
    }

    async fn close(&self) -> Result<()> {
        self.0.called("close");
        self.0.close().await
    }

    fn capabilities(&self) -> Capabilities<'_> {
        // What is no operation stays as it is: a wrapper must not make a store slower.
        let inner = self.0.capabilities();
        let mut own = inner;
        own.leases = inner.leases.map(|_| self as &dyn Leases);
        own.checkpoints = inner.checkpoints.map(|_| self as &dyn KeepCheckpoints);
        own.wakeups = inner.wakeups.map(|_| self as &dyn Wakeups);
        own.upkeep = inner.upkeep.map(|_| self as &dyn Upkeep);
        own.exchange = inner.exchange.map(|_| self as &dyn Exchange);
        own.admin = inner.admin.map(|_| self as &dyn Admin);
        own.inspect = inner.inspect.map(|_| self as &dyn Inspect);
        own.migrations = inner.migrations.map(|_| self as &dyn Migrations);
        own.outbox = inner.outbox.map(|_| self as &dyn Outbox);
        own.schedules = inner.schedules.map(|_| self as &dyn Schedules);
        own.audit = inner.audit.map(|_| self as &dyn AuditLog);
        own.errors = inner.errors.map(|_| self as &dyn ErrorGroups);
        own.history = inner.history.map(|_| self as &dyn History);
        own.control = inner.control.map(|_| self as &dyn Control);
        own
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> KeepCheckpoints for Wrapped<L> {
    async fn put_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<CheckpointOutcome> {
        self.0.called("put_checkpoint");
        self.0.put_checkpoint(checkpoint).await
    }

    async fn checkpoints(&self, lease: &LeaseToken) -> Result<Option<Checkpoints>> {
        self.0.called("checkpoints");
        self.0.checkpoints(lease).await
    }

    async fn list_checkpoints(&self, id: JobId) -> Result<Vec<CheckpointInfo>> {
        self.0.called("list_checkpoints");
        self.0.list_checkpoints(id).await
    }

    async fn forget_checkpoints(&self, ids: &[JobId]) -> Result<Vec<bool>> {
        self.0.called("forget_checkpoints");
        self.0.forget_checkpoints(ids).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Leases for Wrapped<L> {
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        self.0.called("extend");
        self.0.extend(leases, ttl).await
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        self.0.called("report");
        self.0.report(reports).await
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        self.0.called("beat");
        self.0.beat(beat).await
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        self.0.called("forget_worker");
        self.0.forget_worker(worker).await
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        self.0.called("list_workers");
        self.0.list_workers(after, limit).await
    }

    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        self.0.called("find_worker");
        self.0.find_worker(worker).await
    }
}

#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Wakeups for Wrapped<L> {
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.0.called("subscribe");
        self.0.subscribe(queues)
    }

    fn subscribe_cancels(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.0.called("subscribe_cancels");
        self.0.subscribe_cancels(queues)
    }

    fn are_heard(&self, queues: &[QueueName]) -> bool {
        self.0.wakeups().are_heard(queues)
    }

    fn rest(&self) -> Option<RestGuard> {
        self.0.wakeups().rest()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Upkeep for Wrapped<L> {
    async fn prune(&self) -> Result<UpkeepReport> {
        self.0.called("prune");
        self.0.prune().await
    }

    async fn repair(&self) -> Result<UpkeepReport> {
        self.0.called("repair");
        self.0.repair().await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Exchange for Wrapped<L> {
    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        self.0.called("exchange");
        self.0.exchange(settlement, request).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Admin for Wrapped<L> {
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        self.0.called("configure");
        self.0.configure(queue, patch).await
    }

    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool> {
        self.0.called("remove_queue");
        self.0.remove_queue(queue, force).await
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        self.0.called("cancel");
        self.0.cancel(ids).await
    }

    async fn retry(&self, ids: &[JobId]) -> Result<Vec<RetryOutcome>> {
        self.0.called("retry");
        self.0.retry(ids).await
    }

    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        self.0.called("retry_after");
        self.0.retry_after(retries).await
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        self.0.called("reschedule");
        self.0.reschedule(ids, delay).await
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        self.0.called("why");
        self.0.why(id).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Inspect for Wrapped<L> {
    async fn check_writes(&self) -> Result<()> {
        self.0.called("check_writes");
        self.0.check_writes().await
    }

    async fn durability(&self) -> Result<Durability> {
        self.0.called("durability");
        self.0.durability().await
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        self.0.called("facts");
        self.0.facts().await
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        self.0.called("findings");
        self.0.findings().await
    }

    fn pool(&self) -> Option<PoolUse> {
        self.0.inspect().pool()
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Migrations for Wrapped<L> {
    async fn status(&self) -> Result<SchemaStatus> {
        self.0.called("status");
        self.0.status().await
    }

    async fn up(&self) -> Result<SchemaStatus> {
        self.0.called("up");
        self.0.up().await
    }

    fn pending(&self, stored: u32) -> Vec<Migration> {
        self.0.called("pending");
        self.0.pending(stored)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Schedules for Wrapped<L> {
    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        self.0.called("find_schedules");
        self.0.find_schedules(query).await
    }

    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        self.0.called("change_schedule");
        self.0.change_schedule(change).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> AuditLog for Wrapped<L> {
    async fn record_act(&self, act: &Act) -> Result<()> {
        self.0.called("record_act");
        self.0.record_act(act).await
    }

    async fn list_acts(&self, before: Option<u64>, limit: PageSize) -> Result<Vec<AuditEntry>> {
        self.0.called("list_acts");
        self.0.list_acts(before, limit).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> ErrorGroups for Wrapped<L> {
    async fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: PageSize,
    ) -> Result<Vec<ErrorGroup>> {
        self.0.called("list_error_groups");
        self.0.list_error_groups(queues, limit).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> History for Wrapped<L> {
    async fn record_totals(&self) -> Result<bool> {
        self.0.called("record_totals");
        self.0.record_totals().await
    }

    async fn add_runs(&self, runs: &[RunsAdded]) -> Result<()> {
        self.0.called("add_runs");
        self.0.add_runs(runs).await
    }

    async fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        self.0.called("list_totals");
        self.0.list_totals(query).await
    }

    async fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        self.0.called("list_runs");
        self.0.list_runs(query).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Control for Wrapped<L> {
    async fn control(&self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>> {
        self.0.called("control");
        self.0.control(workers, order).await
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<L: Layer> Outbox for Wrapped<L> {
    async fn event_settings(&self) -> Result<StoredSettings> {
        self.0.called("event_settings");
        self.0.event_settings().await
    }

    async fn change_event_settings(&self, seen: u64, to: &Bytes) -> Result<bool> {
        self.0.called("change_event_settings");
        self.0.change_event_settings(seen, to).await
    }

    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents> {
        self.0.called("store_events");
        self.0.store_events(emission).await
    }

    async fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        self.0.called("list_events");
        self.0.list_events(filter).await
    }

    async fn deliver_again(&self, deliveries: &[NewJob]) -> Result<Vec<bool>> {
        self.0.called("deliver_again");
        self.0.deliver_again(deliveries).await
    }
}
