//! The ten operations, and which capabilities there are.

use std::collections::BTreeSet;

use async_trait::async_trait;
use queuekit_core::backend::*;
use queuekit_core::capability::{Exchange, Exchanged, Settlement};
use queuekit_core::{Error, ErrorKind, Job, JobId, NewJob, Queue, QueueName, Result};

use crate::RedisStore;
use crate::step::{Act, Acted};

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for RedisStore {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        self.enqueue_jobs(jobs).await.map_err(|error| error.during("enqueue"))
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        self.shared.check_open()?;
        self.reserve_jobs(request).await.map_err(|error| error.during("reserve"))
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.admit_results(acks).map_err(|error| error.during("ack"))?;
        Ok(self.settle("ack", acks, &[]).await?.0)
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        Ok(self.settle("nack", &[], nacks).await?.1)
    }

    async fn move_to_dlq(&self, burials: &[Burial]) -> Result<Vec<BuryOutcome>> {
        let act = |burial: &Burial| match &burial.target {
            BurialTarget::Lease(lease) => Act::bury_lease(lease, burial.reason.as_str()),
            BurialTarget::Job { id, force: true } => {
                Act::new("bury_forced", *id).with(burial.reason.as_str())
            }
            BurialTarget::Job { id, force: false } => {
                Act::new("bury", *id).with(burial.reason.as_str())
            }
        };
        let acted = self.act("move_to_dlq", burials.iter().map(act).collect()).await?;
        let outcome = |acted| match acted {
            Acted::Done | Acted::Requested => BuryOutcome::Buried,
            Acted::Already => BuryOutcome::AlreadyDone,
            Acted::Conflict => BuryOutcome::Conflict,
            Acted::Lost => BuryOutcome::LeaseLost,
            Acted::Unknown => BuryOutcome::NotFound,
        };
        Ok(acted.into_iter().map(outcome).collect())
    }

    async fn list_queues(&self) -> Result<Vec<Queue>> {
        let names = self.all_queues().await?;
        self.queues_shown(&names).await
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        let names: BTreeSet<QueueName> = names.iter().cloned().collect();
        self.queues_shown(&names.into_iter().collect::<Vec<_>>()).await
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        self.jobs_shown(filter).await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        self.job_shown(id).await
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        let what = if force { "delete_forced" } else { "delete" };
        let acted = match self.act("delete_job", vec![Act::new(what, id)]).await {
            Err(error) if *error.kind() == ErrorKind::Corrupt => {
                return if self.clear(id).await? { Ok(true) } else { Err(error) };
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
        capabilities.wakeups = Some(self);
        capabilities.upkeep = Some(self);
        capabilities.exchange = Some(self);
        capabilities.admin = Some(self);
        capabilities.inspect = Some(self);
        capabilities.migrations = Some(self);
        capabilities.schedules = Some(self);
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
    /// Checks all before the first takes effect: an Invalid call changes nothing.
    fn admit_results(&self, acks: &[Ack]) -> Result<()> {
        self.shared.check_open()?;
        for (item, ack) in acks.iter().enumerate() {
            let bytes = ack.result.as_ref().map_or(0, bytes::Bytes::len);
            let admitted = self.shared.limits.admit_result(bytes);
            admitted.map_err(|error| error.at_item(item).on(ack.lease.id))?;
        }
        Ok(())
    }
}
