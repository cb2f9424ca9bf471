//! A layer in front of a store, which changes some of its operations.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::capability::{
    Act, Admin, AuditEntry, AuditLog, Beat, CancelOutcome, CheckpointOutcome, Control, Durability,
    Emission, ErrorGroups, EventFilter, EventPage, Exchange, Exchanged, ExtendOutcome, Fact,
    Finding, History, Inspect, KeepCheckpoints, Leases, Migration, Migrations, NewCheckpoint,
    Orders, Outbox, Report, ReportOutcome, RescheduleOutcome, RetryOutcome, ScheduleChange,
    ScheduleChanged, ScheduleQuery, ScheduleRows, Schedules, SchemaStatus, Settlement,
    StoredEvents, StoredSettings, Upkeep, UpkeepReport, Wakeup, Wakeups, Why, WorkerInfo,
    WorkerOrder, WorkerPage,
};
use queuekit_core::history::{HistoryQuery, RunsAdded, RunsRow, TotalsRow};
use queuekit_core::{
    Ack, AckOutcome, Backend, Bytes, Capabilities, CheckpointInfo, Checkpoints, DeadLetter,
    DeadLetterOutcome, EnqueueOutcome, ErrorGroup, Job, JobFilter, JobId, LeaseToken, LeaseTtl,
    Nack, NackOutcome, NewJob, Page, PageSize, Queue, QueueName, QueuePage, QueuePatch,
    QueueSettings, Reserve, Reserved, Result, State, WorkerId,
};

/// Every operation of a store and of its capabilities. Each is passed on to the inner store unless
/// it is overridden; [`Wrapped`](crate::Wrapped) turns a layer into a store.
#[async_trait]
#[expect(missing_docs, reason = "each is the operation of that name")]
pub trait Layer: Debug + Send + Sync + 'static {
    /// The store behind it.
    fn inner(&self) -> &Arc<dyn Backend>;

    /// Called at each call, with the operation's name.
    fn called(&self, operation: &'static str) {
        let _ = operation;
    }

    /// The capabilities that the layer shows: those of the inner store.
    fn capabilities(&self) -> Capabilities<'_> {
        self.inner().capabilities()
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        self.inner().enqueue(jobs).await
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        self.inner().reserve(request).await
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.inner().ack(acks).await
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        self.inner().nack(nacks).await
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        self.inner().dead_letter(dead_letters).await
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        self.inner().list_queues(after, limit).await
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        self.inner().find_queues(names).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        self.inner().list_jobs(filter).await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        self.inner().get_job(id).await
    }

    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        self.inner().job_states(ids).await
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        self.inner().delete_job(id, force).await
    }

    async fn close(&self) -> Result<()> {
        self.inner().close().await
    }

    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        self.leases().extend(leases, ttl).await
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        self.leases().report(reports).await
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        self.leases().beat(beat).await
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        self.leases().forget_worker(worker).await
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        self.leases().list_workers(after, limit).await
    }

    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        self.leases().find_worker(worker).await
    }

    async fn put_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<CheckpointOutcome> {
        self.keeps_checkpoints().put_checkpoint(checkpoint).await
    }

    async fn checkpoints(&self, lease: &LeaseToken) -> Result<Option<Checkpoints>> {
        self.keeps_checkpoints().checkpoints(lease).await
    }

    async fn list_checkpoints(&self, id: JobId) -> Result<Vec<CheckpointInfo>> {
        self.keeps_checkpoints().list_checkpoints(id).await
    }

    async fn forget_checkpoints(&self, ids: &[JobId]) -> Result<Vec<bool>> {
        self.keeps_checkpoints().forget_checkpoints(ids).await
    }

    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.wakeups().subscribe(queues)
    }

    fn subscribe_cancels(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.wakeups().subscribe_cancels(queues)
    }

    async fn prune(&self) -> Result<UpkeepReport> {
        self.upkeep().prune().await
    }

    async fn repair(&self) -> Result<UpkeepReport> {
        self.upkeep().repair().await
    }

    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        self.exchanges().exchange(settlement, request).await
    }

    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        self.admin().configure(queue, patch).await
    }

    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool> {
        self.admin().remove_queue(queue, force).await
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        self.admin().cancel(ids).await
    }

    async fn retry(&self, ids: &[JobId]) -> Result<Vec<RetryOutcome>> {
        self.admin().retry(ids).await
    }

    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        self.admin().retry_after(retries).await
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        self.admin().reschedule(ids, delay).await
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        self.admin().why(id).await
    }

    async fn check_writes(&self) -> Result<()> {
        self.inspect().check_writes().await
    }

    async fn durability(&self) -> Result<Durability> {
        self.inspect().durability().await
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        self.inspect().facts().await
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        self.inspect().findings().await
    }

    async fn status(&self) -> Result<SchemaStatus> {
        self.migrations().status().await
    }

    async fn up(&self) -> Result<SchemaStatus> {
        self.migrations().up().await
    }

    fn pending(&self, stored: u32) -> Vec<Migration> {
        self.migrations().pending(stored)
    }

    async fn find_schedules(&self, query: &ScheduleQuery) -> Result<ScheduleRows> {
        self.schedules().find_schedules(query).await
    }

    async fn change_schedule(&self, change: &ScheduleChange) -> Result<ScheduleChanged> {
        self.schedules().change_schedule(change).await
    }

    async fn record_act(&self, act: &Act) -> Result<()> {
        self.audit().record_act(act).await
    }

    async fn list_acts(&self, before: Option<u64>, limit: PageSize) -> Result<Vec<AuditEntry>> {
        self.audit().list_acts(before, limit).await
    }

    async fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: PageSize,
    ) -> Result<Vec<ErrorGroup>> {
        self.errors().list_error_groups(queues, limit).await
    }

    async fn record_totals(&self) -> Result<bool> {
        self.history().record_totals().await
    }

    async fn add_runs(&self, runs: &[RunsAdded]) -> Result<()> {
        self.history().add_runs(runs).await
    }

    async fn list_totals(&self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        self.history().list_totals(query).await
    }

    async fn list_runs(&self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        self.history().list_runs(query).await
    }

    async fn control(&self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>> {
        self.orders().control(workers, order).await
    }

    async fn event_settings(&self) -> Result<StoredSettings> {
        self.outbox().event_settings().await
    }

    async fn change_event_settings(&self, seen: u64, to: &Bytes) -> Result<bool> {
        self.outbox().change_event_settings(seen, to).await
    }

    async fn store_events(&self, emission: &Emission) -> Result<StoredEvents> {
        self.outbox().store_events(emission).await
    }

    async fn list_events(&self, filter: &EventFilter) -> Result<EventPage> {
        self.outbox().list_events(filter).await
    }

    async fn deliver_again(&self, deliveries: &[NewJob]) -> Result<Vec<bool>> {
        self.outbox().deliver_again(deliveries).await
    }

    /// The inner store's; shown only where it has it.
    fn leases(&self) -> &dyn Leases {
        self.inner().capabilities().leases.expect("the inner store's Leases")
    }

    /// The inner store's; shown only where it has it.
    fn keeps_checkpoints(&self) -> &dyn KeepCheckpoints {
        self.inner().capabilities().checkpoints.expect("the inner store's KeepCheckpoints")
    }

    /// The inner store's; shown only where it has it.
    fn wakeups(&self) -> &dyn Wakeups {
        self.inner().capabilities().wakeups.expect("the inner store's Wakeups")
    }

    /// The inner store's; shown only where it has it.
    fn upkeep(&self) -> &dyn Upkeep {
        self.inner().capabilities().upkeep.expect("the inner store's Upkeep")
    }

    /// The inner store's; shown only where it has it.
    fn exchanges(&self) -> &dyn Exchange {
        self.inner().capabilities().exchange.expect("the inner store's Exchange")
    }

    /// The inner store's; shown only where it has it.
    fn admin(&self) -> &dyn Admin {
        self.inner().capabilities().admin.expect("the inner store's Admin")
    }

    /// The inner store's; shown only where it has it.
    fn inspect(&self) -> &dyn Inspect {
        self.inner().capabilities().inspect.expect("the inner store's Inspect")
    }

    /// The inner store's; shown only where it has it.
    fn migrations(&self) -> &dyn Migrations {
        self.inner().capabilities().migrations.expect("the inner store's Migrations")
    }

    /// The inner store's; shown only where it has it.
    fn schedules(&self) -> &dyn Schedules {
        self.inner().capabilities().schedules.expect("the inner store's Schedules")
    }

    /// The inner store's; shown only where it has it.
    fn audit(&self) -> &dyn AuditLog {
        self.inner().capabilities().audit.expect("the inner store's AuditLog")
    }

    /// The inner store's; shown only where it has it.
    fn errors(&self) -> &dyn ErrorGroups {
        self.inner().capabilities().errors.expect("the inner store's ErrorGroups")
    }

    /// The inner store's; shown only where it has it.
    fn history(&self) -> &dyn History {
        self.inner().capabilities().history.expect("the inner store's History")
    }

    /// The inner store's; shown only where it has it.
    fn orders(&self) -> &dyn Control {
        self.inner().capabilities().control.expect("the inner store's Control")
    }

    /// The inner store's; shown only where it has it.
    fn outbox(&self) -> &dyn Outbox {
        self.inner().capabilities().outbox.expect("the inner store's Outbox")
    }
}
