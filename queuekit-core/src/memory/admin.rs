//! Operations for operators (contract R6).

use std::time::Duration;

use async_trait::async_trait;

use super::tables::Tables;
use super::{MemoryStore, Operation};
use crate::capability::{
    Admin, CancelOutcome, RescheduleOutcome, RetryOutcome, Why, admit_retries,
};
use crate::error::{Error, Result};
use crate::job::{JobId, State};
use crate::lifecycle::{self, Transition};
use crate::limits::DELAY;
use crate::names::QueueName;
use crate::queue::{QueuePatch, QueueSettings, admit_removal};
use crate::store_limits::Limits;

#[async_trait]
impl Admin for MemoryStore {
    async fn configure(&self, queue: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        let limits = &self.shared.limits;
        self.step(Operation::Configure, |tables| tables.configure(queue, patch, limits))
    }

    async fn remove_queue(&self, queue: &QueueName, force: bool) -> Result<bool> {
        self.step(Operation::RemoveQueue, |tables| tables.remove_queue(queue, force))
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        self.step(Operation::Cancel, |tables| Ok(ids.iter().map(|id| tables.cancel(*id)).collect()))
    }

    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        self.step(Operation::Retry, |tables| {
            admit_retries(retries)?;
            Ok(retries.iter().map(|(id, delay)| tables.retry(*id, *delay)).collect())
        })
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        self.step(Operation::Reschedule, |tables| {
            if delay > DELAY {
                return Err(Error::invalid("delay", "at most 366 days", format!("{delay:?}")));
            }
            Ok(ids.iter().map(|id| tables.reschedule(*id, delay)).collect())
        })
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        self.step(Operation::Why, |tables| Ok(tables.why(id)))
    }
}

impl Tables {
    fn configure(
        &mut self,
        name: &QueueName,
        patch: &QueuePatch,
        limits: &Limits,
    ) -> Result<QueueSettings> {
        patch.check()?;
        let now = self.now;
        let queue = self.queue(name, limits)?;
        let settings = queue.settings.clone().at(now).patched(patch, now);
        queue.change_settings(settings.clone(), now);
        // The change may let jobs run: it may resume the queue, or raise `per_key`.
        self.stirred.insert(name.clone());
        Ok(settings)
    }

    fn remove_queue(&mut self, name: &QueueName, force: bool) -> Result<bool> {
        let Some(queue) = self.queues.get(name) else {
            return Ok(false);
        };
        let (jobs, running) = (queue.counts.iter().sum::<u64>(), queue.count(State::Running));
        admit_removal(name, jobs, running, force)?;
        let of_queue = self.jobs.values().filter(|record| record.queue == *name);
        let ids: Vec<JobId> = of_queue.map(|record| record.id).collect();
        // One by one, so that each frees its idempotency key.
        for id in ids {
            self.apply(id, Transition::Delete, |_| {});
        }
        self.queues.remove(name);
        self.error_groups.remove(name);
        Ok(true)
    }

    fn cancel(&mut self, id: JobId) -> CancelOutcome {
        let Some(record) = self.jobs.get(&id) else {
            return CancelOutcome::NotFound;
        };
        match record.check_cancel() {
            Ok(transition @ Transition::RequestCancel) => {
                self.cancel_requested.insert(record.queue.clone());
                self.apply(id, transition, |record| record.cancel_requested = true);
                CancelOutcome::Requested
            }
            Ok(transition) => {
                self.apply(id, transition, |_| {});
                CancelOutcome::Cancelled
            }
            Err(outcome) => outcome,
        }
    }

    fn retry(&mut self, id: JobId, delay: Duration) -> RetryOutcome {
        let Some(record) = self.jobs.get(&id) else {
            return RetryOutcome::NotFound;
        };
        let Some(transition) = lifecycle::retry(record.state) else {
            return RetryOutcome::Conflict;
        };
        // The key was freed after the job had ended. If another job took it since, a retry would
        // put two jobs under one key.
        let key = record.idempotency_key.as_ref();
        let holder = key.and_then(|key| self.keys.holder(&record.queue, key, self.now));
        if holder.is_some_and(|holder| holder != id) {
            return RetryOutcome::Conflict;
        }
        let now = self.now;
        self.apply(id, transition, |record| record.retry(now, delay));
        RetryOutcome::Retried
    }

    fn reschedule(&mut self, id: JobId, delay: Duration) -> RescheduleOutcome {
        match self.jobs.get(&id).map(|record| record.state) {
            None => RescheduleOutcome::NotFound,
            Some(State::Pending) => {
                let at = self.now + delay;
                self.apply(id, Transition::Reschedule, |record| record.scheduled_at = at);
                RescheduleOutcome::Rescheduled
            }
            Some(_) => RescheduleOutcome::Conflict,
        }
    }
}
