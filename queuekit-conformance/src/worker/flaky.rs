//! A store that breaks on command.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use queuekit_core::backend::*;
use queuekit_core::capability::{
    Beat, CheckpointOutcome, Exchanged, ExtendOutcome, Leases, NewCheckpoint, Orders, Report,
    ReportOutcome, Settlement, UpkeepReport, WorkerInfo, WorkerPage,
};
use queuekit_core::{
    Checkpoints, Error, ErrorKind, Job, JobId, LeaseToken, NewJob, Queue, QueueName, Result, State,
    WorkerId,
};
use tokio::runtime::Handle;

use crate::Layer;

/// A layer that breaks what its switches say. Calls of [`Leases`], settling calls and the ten
/// operations of [`Backend`] break; those of operators do not.
#[derive(Debug)]
pub struct Flaky {
    inner: Arc<dyn Backend>,
    /// The runtime for late calls; not that of a worker's heartbeat, which ends with it.
    runtime: Handle,
    switches: Arc<Switches>,
}

/// What is broken now, and what was called. Each switch breaks something until it is turned off.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Switches {
    /// Every call fails, and is certainly not applied.
    pub outage: AtomicBool,
    /// Extending leases fails: with an error per call, or without an outcome for any lease.
    pub extend_fails: AtomicBool,
    /// Settling fails, and is certainly not applied.
    pub settling_fails: AtomicBool,
    /// Reading a job fails.
    pub reads_fail: AtomicBool,
    /// This number of settling calls fail, and are certainly not applied.
    pub settling_failures: AtomicU32,
    /// This number of settling calls take effect, and their replies are lost.
    pub replies_lost: AtomicU32,
    /// This number of calls fail to store a checkpoint, or to read those of a job.
    pub checkpoint_failures: AtomicU32,
    /// This number of calls store a checkpoint, and their replies are lost.
    pub checkpoint_replies_lost: AtomicU32,
    /// Reads of checkpoints.
    pub checkpoint_reads: AtomicU64,
    /// A batch with more than one ack is refused as a whole, as if one item were poison.
    pub refuses_batches: AtomicBool,
    /// No wake-up is ever rung.
    pub silent: AtomicBool,
    /// Settling and reserving are separate calls.
    pub no_exchange: AtomicBool,
    /// Two exchanges may be under way at once.
    pub two_at_once: AtomicBool,
    /// Exchanges of at least this number of acks wait; with 0, none does.
    pub waits_from: AtomicUsize,
    /// The numbers of acks of the exchanges that wait.
    pub waiting: Mutex<Vec<usize>>,
    /// A beat takes effect this number of milliseconds late, even if its caller no longer waits.
    pub beats_late_ms: AtomicU64,
    /// This number of beats take effect, and their replies are lost.
    pub beat_replies_lost: AtomicU32,
    /// Calls that extend leases.
    pub extends: AtomicU64,
    /// Beats.
    pub beats: AtomicU64,
    /// Beats that have taken effect or failed.
    pub beats_done: AtomicU64,
    /// Reserve calls answered.
    pub reserves: AtomicU64,
}

impl Flaky {
    pub(super) fn new(inner: Arc<dyn Backend>, switches: Arc<Switches>) -> Self {
        Self { inner, runtime: Handle::current(), switches }
    }

    fn up(&self) -> Result<()> {
        self.switches.up()
    }

    fn inner_leases(&self) -> &dyn Leases {
        self.inner.capabilities().leases.expect("the inner store has Leases")
    }
}

impl Switches {
    fn up(&self) -> Result<()> {
        unavailable_if(self.outage.load(Ordering::SeqCst))
    }

    fn before_settling(&self, acks: usize) -> Result<()> {
        self.up()?;
        unavailable_if(self.settling_fails.load(Ordering::SeqCst))?;
        unavailable_if(take(&self.settling_failures))?;
        if acks > 1 && self.refuses_batches.load(Ordering::SeqCst) {
            return Err(Error::invalid("result", "what this store takes", "poison"));
        }
        Ok(())
    }

    async fn wait(&self, acks: usize) {
        let has_to = || (1..=acks).contains(&self.waits_from.load(Ordering::SeqCst));
        if !has_to() {
            return;
        }
        self.waiting.lock().expect("the lock").push(acks);
        while has_to() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let mut waiting = self.waiting.lock().expect("the lock");
        let at = waiting.iter().position(|waits| *waits == acks).expect("it waits");
        waiting.swap_remove(at);
    }

    fn after_settling(&self) -> Result<()> {
        lost_if(take(&self.replies_lost))
    }
}

/// One less, if there is one.
fn take(left: &AtomicU32) -> bool {
    let less = |left: u32| left.checked_sub(1);
    left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, less).is_ok()
}

fn lost_if(lost: bool) -> Result<()> {
    if lost {
        return Err(Error::new(ErrorKind::Indeterminate, "the reply was lost on purpose"));
    }
    Ok(())
}

fn unavailable_if(broken: bool) -> Result<()> {
    if broken {
        return Err(Error::new(ErrorKind::Unavailable, "broken on purpose"));
    }
    Ok(())
}

#[async_trait]
impl Layer for Flaky {
    fn inner(&self) -> &Arc<dyn Backend> {
        &self.inner
    }

    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        self.up()?;
        self.inner.enqueue(jobs).await
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        self.up()?;
        let reserved = self.inner.reserve(request).await?;
        self.switches.reserves.fetch_add(1, Ordering::SeqCst);
        Ok(reserved)
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.switches.before_settling(acks.len())?;
        let outcomes = self.inner.ack(acks).await?;
        self.switches.after_settling()?;
        Ok(outcomes)
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        self.switches.before_settling(0)?;
        let outcomes = self.inner.nack(nacks).await?;
        self.switches.after_settling()?;
        Ok(outcomes)
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        self.up()?;
        self.inner.dead_letter(dead_letters).await
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        self.up()?;
        self.inner.list_queues(after, limit).await
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        self.up()?;
        self.inner.find_queues(names).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        self.up()?;
        self.inner.list_jobs(filter).await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        self.up()?;
        if self.switches.reads_fail.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Unavailable, "the store cannot read jobs"));
        }
        self.inner.get_job(id).await
    }

    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        self.up()?;
        self.inner.job_states(ids).await
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        self.up()?;
        self.inner.delete_job(id, force).await
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut capabilities = self.inner.capabilities();
        let silent = self.switches.silent.load(Ordering::SeqCst);
        capabilities.wakeups = capabilities.wakeups.filter(|_| !silent);
        let fused = !self.switches.no_exchange.load(Ordering::SeqCst);
        capabilities.exchange = capabilities.exchange.filter(|_| fused);
        if self.switches.two_at_once.load(Ordering::SeqCst) {
            capabilities.calls_at_once = 2;
        }
        capabilities
    }

    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>> {
        let calls = self.switches.extends.fetch_add(1, Ordering::SeqCst);
        self.up()?;
        if self.switches.extend_fails.load(Ordering::SeqCst) {
            unavailable_if(calls.is_multiple_of(2))?;
            return Ok(vec![ExtendOutcome::Unknown; leases.len()]);
        }
        self.inner_leases().extend(leases, ttl).await
    }

    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>> {
        self.up()?;
        self.inner_leases().report(reports).await
    }

    async fn put_checkpoint(&self, checkpoint: &NewCheckpoint) -> Result<CheckpointOutcome> {
        self.up()?;
        unavailable_if(take(&self.switches.checkpoint_failures))?;
        let outcome = self.keeps_checkpoints().put_checkpoint(checkpoint).await?;
        lost_if(take(&self.switches.checkpoint_replies_lost))?;
        Ok(outcome)
    }

    async fn checkpoints(&self, lease: &LeaseToken) -> Result<Option<Checkpoints>> {
        self.switches.checkpoint_reads.fetch_add(1, Ordering::SeqCst);
        self.up()?;
        unavailable_if(take(&self.switches.checkpoint_failures))?;
        self.keeps_checkpoints().checkpoints(lease).await
    }

    async fn beat(&self, beat: &Beat) -> Result<Orders> {
        self.switches.beats.fetch_add(1, Ordering::SeqCst);
        self.up()?;
        let late = Duration::from_millis(self.switches.beats_late_ms.load(Ordering::SeqCst));
        let (inner, beat) = (Arc::clone(&self.inner), beat.clone());
        let switches = Arc::clone(&self.switches);
        let beating = self.runtime.spawn(async move {
            tokio::time::sleep(late).await;
            let leases = inner.capabilities().leases.expect("the inner store has Leases");
            let answer = leases.beat(&beat).await;
            switches.beats_done.fetch_add(1, Ordering::SeqCst);
            answer
        });
        let orders = beating.await.expect("a beat does not panic")?;
        lost_if(take(&self.switches.beat_replies_lost))?;
        Ok(orders)
    }

    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool> {
        self.up()?;
        self.inner_leases().forget_worker(worker).await
    }

    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage> {
        self.up()?;
        self.inner_leases().list_workers(after, limit).await
    }

    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        self.up()?;
        self.inner_leases().find_worker(worker).await
    }

    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        self.switches.before_settling(settlement.acks.len())?;
        self.switches.wait(settlement.acks.len()).await;
        let exchange = self.inner.capabilities().exchange.expect("the inner store has Exchange");
        let exchanged = exchange.exchange(settlement, request).await?;
        self.switches.reserves.fetch_add(1, Ordering::SeqCst);
        self.switches.after_settling()?;
        Ok(exchanged)
    }

    async fn prune(&self) -> Result<UpkeepReport> {
        self.up()?;
        let upkeep = self.inner.capabilities().upkeep.expect("the inner store has Upkeep");
        upkeep.prune().await
    }

    async fn repair(&self) -> Result<UpkeepReport> {
        self.up()?;
        let upkeep = self.inner.capabilities().upkeep.expect("the inner store has Upkeep");
        upkeep.repair().await
    }
}
