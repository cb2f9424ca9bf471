//! The ten operations, and the capabilities that this store has.

use async_trait::async_trait;
use queuekit_core::backend::*;
use queuekit_core::capability::{Exchange, Exchanged, Settlement};
use queuekit_core::{Job, JobId, NewJob, Queue, QueueName, Result, State};

use crate::SqliteStore;

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for SqliteStore {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let jobs = jobs.to_vec();
        self.write("enqueue", move |step| step.enqueue(&jobs)).await
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        let request = request.clone();
        self.write("reserve", move |step| step.reserve(&request)).await
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        if acks.is_empty() {
            return Ok(Vec::new());
        }
        let acks = acks.to_vec();
        self.write("ack", move |step| step.ack(&acks)).await
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        if nacks.is_empty() {
            return Ok(Vec::new());
        }
        let nacks = nacks.to_vec();
        self.write("nack", move |step| step.nack(&nacks)).await
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        if dead_letters.is_empty() {
            return Ok(Vec::new());
        }
        let dead_letters = dead_letters.to_vec();
        self.write("dead_letter", move |step| step.dead_letter(&dead_letters)).await
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        let after = after.cloned();
        self.read("list_queues", move |step| step.list_queues(after.as_ref(), limit)).await
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let names = names.to_vec();
        self.read("find_queues", move |step| step.find_queues(&names)).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        if filter.recent {
            return recent(filter, self).await;
        }
        search(filter, |filter| self.read("list_jobs", move |step| step.list_jobs(&filter))).await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        self.read("get_job", move |step| step.get_job(id)).await
    }

    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        let ids = ids.to_vec();
        self.read("job_states", move |step| step.job_states(&ids)).await
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        self.write("delete_job", move |step| step.delete_job(id, force)).await
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
        capabilities.atomic_across_queues = true;
        capabilities.limits = self.shared.config.limits;
        capabilities
    }
}

#[async_trait]
impl Exchange for SqliteStore {
    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        let (settlement, request) = (settlement.clone(), request.clone());
        let exchange = move |step: &mut crate::Step<'_>| {
            step.limits.admit_reserve(request.limit)?;
            Ok(Exchanged {
                acks: step.ack(&settlement.acks)?,
                nacks: step.nack(&settlement.nacks)?,
                reserved: step.reserve(&request)?,
            })
        };
        self.write("exchange", exchange).await
    }
}
