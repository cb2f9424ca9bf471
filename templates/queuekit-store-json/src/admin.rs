//! The capability `Admin`: settings, cancel, retry, reschedule, why (R6).

use std::time::Duration;

use queuekit_core::capability::{
    Admin, CancelOutcome, RescheduleOutcome, RetryOutcome, Why, WhyFacts, admit_retries,
};
use queuekit_core::lifecycle::{self, Record, Transition};
use queuekit_core::limits::DELAY;
use queuekit_core::queue::{Order, admit_removal};
use queuekit_core::{
    Error, JobId, QueueName, QueuePatch, QueueSettings, Result, State, Status, async_trait,
};

use crate::JsonStore;
use crate::data::Data;

#[async_trait]
impl Admin for JsonStore {
    async fn configure(&self, name: &QueueName, patch: &QueuePatch) -> Result<QueueSettings> {
        patch.check()?;
        self.step("configure", |data| {
            data.open_queues([name], &self.limits)?;
            data.changed = true;
            let now = data.now;
            let queue = data.queues.entry(name.clone()).or_default();
            queue.settings = queue.settings.clone().at(now).patched(patch, now);
            Ok(queue.settings.clone())
        })
    }

    async fn remove_queue(&self, name: &QueueName, force: bool) -> Result<bool> {
        self.step("remove_queue", |data| data.remove_queue(name, force))
    }

    async fn cancel(&self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        self.step("cancel", |data| Ok(ids.iter().map(|id| data.cancel(*id)).collect()))
    }

    async fn retry_after(&self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        self.step("retry", |data| {
            admit_retries(retries)?;
            Ok(retries.iter().map(|(id, delay)| data.retry(*id, *delay)).collect())
        })
    }

    async fn reschedule(&self, ids: &[JobId], delay: Duration) -> Result<Vec<RescheduleOutcome>> {
        self.step("reschedule", |data| {
            if delay > DELAY {
                return Err(Error::invalid("delay", "at most 366 days", format!("{delay:?}")));
            }
            Ok(ids.iter().map(|id| data.reschedule(*id, delay)).collect())
        })
    }

    async fn why(&self, id: JobId) -> Result<Option<Why>> {
        self.step("why", |data| Ok(data.why(id)))
    }
}

impl Data {
    fn remove_queue(&mut self, name: &QueueName, force: bool) -> Result<bool> {
        if !self.queues.contains_key(name) {
            return Ok(false);
        }
        let jobs: Vec<JobId> = self.of_queue(name).map(|record| record.id).collect();
        let running = self.of_queue(name).filter(|one| one.state == State::Running).count();
        admit_removal(name, jobs.len() as u64, running as u64, force)?;
        jobs.into_iter().for_each(|id| self.apply(id, Transition::Delete, |_| {}));
        self.queues.remove(name);
        self.changed = true;
        Ok(true)
    }

    fn cancel(&mut self, id: JobId) -> CancelOutcome {
        let Some(record) = self.jobs.get(&id) else { return CancelOutcome::NotFound };
        match record.check_cancel() {
            Ok(Transition::RequestCancel) => {
                self.apply(id, Transition::RequestCancel, |record| record.cancel_requested = true);
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
        let now = self.now;
        let Some(record) = self.jobs.get(&id) else { return RetryOutcome::NotFound };
        let Some(transition) = lifecycle::retry(record.state) else {
            return RetryOutcome::Conflict;
        };
        let key = record.idempotency_key.as_ref();
        let holder = key.and_then(|key| self.key_holder(&record.queue, key));
        if holder.is_some_and(|holder| holder != id) {
            return RetryOutcome::Conflict;
        }
        self.apply(id, transition, |record| record.retry(now, delay));
        RetryOutcome::Retried
    }

    fn reschedule(&mut self, id: JobId, delay: Duration) -> RescheduleOutcome {
        let at = self.now + delay;
        match self.jobs.get(&id).map(|record| record.state) {
            None => RescheduleOutcome::NotFound,
            Some(State::Pending) => {
                self.apply(id, Transition::Reschedule, |record| record.scheduled_at = at);
                RescheduleOutcome::Rescheduled
            }
            Some(_) => RescheduleOutcome::Conflict,
        }
    }

    fn why(&self, id: JobId) -> Option<Why> {
        let record = self.jobs.get(&id)?;
        let settings = &self.queues.get(&record.queue)?.settings;
        let mut why = Why::of(WhyFacts {
            job: &record.view(self.status(record), self.now),
            now: self.now,
            overdue: self.now.since(record.lease_expires_at),
            settings,
            has_live_worker: self.live_workers().any(|one| one.serves(&record.queue, &record.kind)),
        });
        match &mut why {
            Why::Blocked { key, behind } => {
                let partitions = self.partitions(&record.queue);
                let blocker = partitions.get(key).and_then(|partition| partition.blocker());
                *behind = blocker.map(|blocker| blocker.id).filter(|blocker| *blocker != id);
            }
            Why::Ready { jobs_before } if settings.order == Order::Strict => {
                *jobs_before = Some(self.jobs_before(record));
            }
            _ => {}
        }
        Some(why)
    }

    fn jobs_before(&self, record: &Record) -> u64 {
        let before = |other: &&Record| {
            let ready = self.status(other) == Status::Ready;
            ready && other.serving_place() < record.serving_place()
        };
        self.of_queue(&record.queue).filter(before).count() as u64
    }
}
