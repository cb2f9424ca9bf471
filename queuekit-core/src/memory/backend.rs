//! The ten operations, and the list of capabilities.

use async_trait::async_trait;

use super::{MemoryStore, Operation};
use crate::backend::*;
use crate::capability::{Exchange, Exchanged, Settlement, Wakeup, Wakeups};
use crate::error::{Error, ErrorKind, Result};
use crate::job::{Job, JobId, NewJob, State};
use crate::lifecycle;
use crate::names::QueueName;
use crate::queue::Queue;

use super::tables::Tables;

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl Backend for MemoryStore {
    async fn enqueue(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        if jobs.is_empty() {
            return Ok(Vec::new());
        }
        let limits = &self.shared.limits;
        self.step(Operation::Enqueue, |tables| tables.enqueue(jobs, limits))
    }

    async fn reserve(&self, request: &Reserve) -> Result<Reserved> {
        self.step(Operation::Reserve, |tables| self.reserve_step(tables, request))
    }

    async fn ack(&self, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        if acks.is_empty() {
            return Ok(Vec::new());
        }
        self.step(Operation::Ack, |tables| self.ack_step(tables, acks))
    }

    async fn nack(&self, nacks: &[Nack]) -> Result<Vec<NackOutcome>> {
        if nacks.is_empty() {
            return Ok(Vec::new());
        }
        self.step(Operation::Nack, |tables| Ok(self.nack_step(tables, nacks)))
    }

    async fn dead_letter(&self, dead_letters: &[DeadLetter]) -> Result<Vec<DeadLetterOutcome>> {
        if dead_letters.is_empty() {
            return Ok(Vec::new());
        }
        self.step(Operation::DeadLetter, |tables| {
            Ok(dead_letters.iter().map(|dead_letter| tables.dead_letter(dead_letter)).collect())
        })
    }

    async fn list_queues(&self, after: Option<&QueueName>, limit: PageSize) -> Result<QueuePage> {
        self.step(Operation::ListQueues, |tables| Ok(tables.list_queues(after, limit)))
    }

    async fn find_queues(&self, names: &[QueueName]) -> Result<Vec<Queue>> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        self.step(Operation::FindQueues, |tables| Ok(tables.find_queues(names)))
    }

    async fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        if filter.recent {
            return recent(filter, self).await;
        }
        search(filter, async |filter| {
            self.step(Operation::ListJobs, |tables| tables.list_jobs(&filter))
        })
        .await
    }

    async fn get_job(&self, id: JobId) -> Result<Option<Job>> {
        self.step(Operation::GetJob, |tables| Ok(tables.get_job(id)))
    }

    async fn job_states(&self, ids: &[JobId]) -> Result<Vec<Option<State>>> {
        self.step(Operation::JobStates, |tables| {
            let state = |id| tables.jobs.get(id).map(|record| record.state);
            Ok(ids.iter().map(state).collect())
        })
    }

    async fn delete_job(&self, id: JobId, force: bool) -> Result<bool> {
        self.step(Operation::DeleteJob, |tables| {
            let Some(record) = tables.jobs.get(&id) else {
                return Ok(false);
            };
            let Some(transition) = lifecycle::delete(record.state, force) else {
                let message = "it is running; delete it by force, or cancel it first";
                return Err(Error::new(ErrorKind::Conflict, message).on(id));
            };
            Ok(tables.apply(id, transition, |_| {}).is_some())
        })
    }

    async fn close(&self) -> Result<()> {
        let mut tables =
            self.shared.tables.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        tables.closed = true;
        drop(tables);
        self.shared.wakeups.ring_all();
        Ok(())
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            leases: Some(self),
            checkpoints: Some(self),
            wakeups: Some(self),
            upkeep: Some(self),
            exchange: Some(self),
            admin: Some(self),
            inspect: Some(self),
            migrations: Some(self),
            schedules: Some(self),
            outbox: Some(self),
            audit: Some(self),
            errors: Some(self),
            history: Some(self),
            control: Some(self),
            atomic_across_queues: true,
            calls_at_once: 1,
            limits: self.shared.limits,
        }
    }
}

impl Wakeups for MemoryStore {
    fn subscribe(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.step(Operation::Subscribe, |_| Ok(self.shared.wakeups.subscribe(queues)))
    }

    fn subscribe_cancels(&self, queues: &[QueueName]) -> Result<Wakeup> {
        self.step(Operation::Subscribe, |_| Ok(self.shared.wakeups.subscribe_cancels(queues)))
    }
}

#[async_trait]
impl Exchange for MemoryStore {
    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged> {
        let faults = &self.shared.faults;
        let parts = [
            (Operation::Ack, !settlement.acks.is_empty()),
            (Operation::Nack, !settlement.nacks.is_empty()),
            (Operation::Reserve, request.limit > 0),
        ];
        let parts = || parts.iter().filter(|(_, present)| *present).map(|(part, _)| *part);
        parts().try_for_each(|part| faults.before(part))?;
        let exchanged = self.step(Operation::Exchange, |tables| {
            self.shared.limits.admit_reserve(request.limit)?;
            Ok(Exchanged {
                acks: self.ack_step(tables, &settlement.acks)?,
                nacks: self.nack_step(tables, &settlement.nacks),
                reserved: self.reserve_step(tables, request)?,
            })
        })?;
        parts().try_for_each(|part| faults.after(part))?;
        Ok(exchanged)
    }
}

impl MemoryStore {
    fn reserve_step(&self, tables: &mut Tables, request: &Reserve) -> Result<Reserved> {
        let reserved = tables.reserve(request, &self.shared.limits)?;
        let again = |lease: &&Lease| lease.attempt < lease.max_attempts;
        if let Some(lease) = reserved.leases.iter().find(again)
            && self.shared.faults.take_double_delivery()
        {
            tables.expire(lease.id());
        }
        Ok(reserved)
    }

    fn ack_step(&self, tables: &mut Tables, acks: &[Ack]) -> Result<Vec<AckOutcome>> {
        self.shared.limits.admit_results(acks)?;
        Ok(acks.iter().map(|ack| tables.ack(ack, &self.shared.faults)).collect())
    }

    fn nack_step(&self, tables: &mut Tables, nacks: &[Nack]) -> Vec<NackOutcome> {
        nacks.iter().map(|nack| tables.nack(nack, &self.shared.faults)).collect()
    }
}
