//! The ten operations, and the capabilities that this store has.

use std::collections::BTreeSet;
use std::ops::Bound;

use async_trait::async_trait;
use queuekit_core::backend::*;
use queuekit_core::capability::{Exchange, Exchanged, Settlement};
use queuekit_core::{Error, ErrorKind, Job, JobId, NewJob, Queue, QueueName, Result, State};

use crate::RedisStore;
use crate::step::{Acted, Action};

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for RedisStore {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        self.for_one_call().enqueue_jobs(jobs).await.map_err(|error| error.during("enqueue"))
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        self.shared.check_open()?;
        self.reserve_jobs(request).await.map_err(|error| error.during("reserve"))
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.admit_results(acks).map_err(|error| error.during("ack"))?;
        Ok(self.for_one_call().settle("ack", acks, &[]).await?.0)
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        Ok(self.for_one_call().settle("nack", &[], nacks).await?.1)
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        let act = |dead_letter: &DeadLetter| match &dead_letter.target {
            DeadLetterTarget::Lease(lease) => {
                Action::dead_letter_lease(lease, dead_letter.reason.as_str())
            }
            DeadLetterTarget::Job { id, force: true } => {
                Action::dead_letter("dead_letter_forced", *id, dead_letter.reason.as_str())
            }
            DeadLetterTarget::Job { id, force: false } => {
                Action::dead_letter("dead_letter", *id, dead_letter.reason.as_str())
            }
        };
        let acts = dead_letters.iter().map(act).collect();
        let acted = self.for_one_call().act("dead_letter", acts).await?;
        let outcome = |acted| match acted {
            Acted::Done | Acted::Requested => DeadLetterOutcome::DeadLettered,
            Acted::Already => DeadLetterOutcome::AlreadyDone,
            Acted::Conflict => DeadLetterOutcome::Conflict,
            Acted::Lost => DeadLetterOutcome::LeaseLost,
            Acted::Unknown => DeadLetterOutcome::NotFound,
        };
        Ok(acted.into_iter().map(outcome).collect())
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        let store = self.for_one_call();
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let mut names = store.queues_from(from, limit.get() + 1).await?;
        let is_last = names.len() <= limit.get();
        names.truncate(limit.get());
        let last = names.last().filter(|_| !is_last).cloned();
        let (queues, ended_at) = store.page_shown(&names).await?;
        Ok(QueuePage { queues, after: ended_at.or(last) })
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let names: BTreeSet<QueueName> = names.iter().cloned().collect();
        self.for_one_call().queues_shown(&names.into_iter().collect::<Vec<_>>()).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        if filter.recent {
            let listed = recent(filter, &self.for_one_call()).await;
            return listed.map_err(|error| error.during("list_jobs"));
        }
        search(filter, async |filter| self.jobs_shown(&filter).await).await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        self.for_one_call().job_shown(id).await
    }

    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        self.for_one_call().states_of(ids).await
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        let what = if force { "delete_forced" } else { "delete" };
        let store = self.for_one_call();
        let acted = match store.act("delete_job", vec![Action::new(what, id)]).await {
            Err(error) if *error.kind() == ErrorKind::Corrupt => {
                return if store.clear(id).await? { Ok(true) } else { Err(error) };
            }
            acted => acted?,
        };
        match acted.first() {
            Some(Acted::Done) => Ok(true),
            Some(Acted::Conflict) => {
                let message = "it is running; delete it by force, or cancel it first";
                Err(Error::new(ErrorKind::Conflict, message).on(id).during("delete_job"))
            }
            _ => Ok(false),
        }
    }

    async fn close(&self) -> Result<()> {
        self.end().await;
        Ok(())
    }

    fn capabilities(&self) -> Capabilities<'_> {
        let mut capabilities = Capabilities::default();
        capabilities.leases = Some(self);
        capabilities.checkpoints = Some(self);
        capabilities.wakeups = Some(self);
        capabilities.upkeep = Some(self);
        capabilities.exchange = Some(self);
        capabilities.admin = Some(self);
        capabilities.inspect = Some(self);
        capabilities.migrations = Some(self);
        capabilities.schedules = Some(self);
        capabilities.audit = Some(self);
        capabilities.errors = Some(self);
        capabilities.history = Some(self);
        capabilities.control = Some(self);
        capabilities.outbox = Some(self);
        capabilities.atomic_across_queues = !self.shared.topology.is_cluster();
        capabilities.calls_at_once = 2;
        capabilities.limits = self.shared.limits;
        capabilities
    }
}

#[async_trait]
impl Exchange for RedisStore {
    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        self.admit_results(&settlement.acks).map_err(|error| error.during("exchange"))?;
        let exchanged = self.exchange_jobs("exchange", settlement, request).await;
        exchanged.map_err(|error| error.during("exchange"))
    }
}

impl RedisStore {
    /// Refuses a call on a closed handle, or with a result over its limit, before it takes effect.
    fn admit_results(&self, acks: &[Ack]) -> Result<()> {
        self.shared.check_open()?;
        self.shared.limits.admit_results(acks)
    }
}
