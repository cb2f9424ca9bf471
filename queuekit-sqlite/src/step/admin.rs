//! Operations of an operator (contract R6).

use std::time::Duration;

use queuekit_core::capability::{CancelOutcome, RescheduleOutcome, RetryOutcome, admit_retries};
use queuekit_core::lifecycle::{self, Transition};
use queuekit_core::limits::DELAY;
use queuekit_core::queue::{QueuePatch, QueueSettings, admit_removal};
use queuekit_core::{Error, JobId, QueueName, Result, State};
use rusqlite::params;

use super::Step;
use crate::statements::*;

/// The most jobs that one step of removing a queue deletes.
const SLICE: usize = 1000;

impl Step<'_> {
    /// Changes the settings of a queue. Returns them, and whether keys are left to be placed anew.
    pub(crate) fn configure(
        &mut self,
        name: &QueueName,
        patch: &QueuePatch,
    ) -> Result<(QueueSettings, bool)> {
        patch.check()?;
        let at = self.open_queue(name)?;
        let was = self.queues[at].settings.clone().at(self.now);
        let settings = was.clone().patched(patch, self.now);
        self.queues[at].settings = settings.clone();
        self.execute(QUEUE_CONFIGURE, params![self.queues[at].id, settings.to_json()])?;
        self.begin_move(at, &was)?;
        self.stir(at);
        Ok((settings, self.queues[at].moving.is_some()))
    }

    /// Removes up to a slice of a queue's jobs, and the queue once it has none. Returns true when
    /// the queue is gone; none if there is no such queue.
    pub(crate) fn remove_queue(&mut self, name: &QueueName, force: bool) -> Result<Option<bool>> {
        let Some(at) = self.queue(name)? else {
            return Ok(None);
        };
        let (jobs, running) =
            (self.queues[at].counts.iter().sum::<i64>(), self.queues[at].count(State::Running));
        admit_removal(name, jobs.cast_unsigned(), running, force)?;
        let id = self.queues[at].id;
        let keys = self.keys(JOBS_OF_QUEUE, params![id, SLICE])?;
        let more = keys.len() == SLICE;
        for key in keys {
            if let Some(mut record) = self.job_of_key(key)? {
                self.apply(&mut record, Transition::Delete, |_| {})?;
            }
        }
        if more {
            return Ok(Some(false));
        }
        self.execute(LANES_OF_QUEUE_DELETE, [id])?;
        self.execute(ERROR_GROUPS_DELETE, [id])?;
        self.execute(HISTORY_RECORDED_DELETE, [id])?;
        self.execute(QUEUE_DELETE, [id])?;
        self.forget(at);
        Ok(Some(true))
    }

    pub(crate) fn cancel(&mut self, ids: &[JobId]) -> Result<Vec<CancelOutcome>> {
        ids.iter().map(|id| self.cancel_one(*id)).collect()
    }

    pub(crate) fn retry(&mut self, retries: &[(JobId, Duration)]) -> Result<Vec<RetryOutcome>> {
        admit_retries(retries)?;
        retries.iter().map(|(id, delay)| self.retry_one(*id, *delay)).collect()
    }

    pub(crate) fn reschedule(
        &mut self,
        ids: &[JobId],
        delay: Duration,
    ) -> Result<Vec<RescheduleOutcome>> {
        if delay > DELAY {
            return Err(Error::invalid("delay", "at most 366 days", format!("{delay:?}")));
        }
        ids.iter().map(|id| self.reschedule_one(*id, delay)).collect()
    }

    fn cancel_one(&mut self, id: JobId) -> Result<CancelOutcome> {
        let Some(mut record) = self.job(id)? else {
            return Ok(CancelOutcome::NotFound);
        };
        match lifecycle::cancel(record.state) {
            Some(Transition::RequestCancel) => {
                self.execute(RUN_CANCEL, [record.key])?;
                let queue = self.queue_of(&record)?;
                self.cancel_requested.insert(self.queues[queue].name.clone());
                Ok(CancelOutcome::Requested)
            }
            Some(transition) => {
                self.apply(&mut record, transition, |_| {})?;
                Ok(CancelOutcome::Cancelled)
            }
            None if record.state == State::Cancelled => Ok(CancelOutcome::AlreadyDone),
            None => Ok(CancelOutcome::Conflict),
        }
    }

    fn retry_one(&mut self, id: JobId, delay: Duration) -> Result<RetryOutcome> {
        let Some(mut record) = self.job(id)? else {
            return Ok(RetryOutcome::NotFound);
        };
        let Some(transition) = lifecycle::retry(record.state) else {
            return Ok(RetryOutcome::Conflict);
        };
        if let Some(key) = &record.idempotency_key {
            let queue = self.queue_of(&record)?;
            if self.key_holder(queue, key)?.is_some_and(|holder| holder != id) {
                return Ok(RetryOutcome::Conflict);
            }
        }
        // A cancelled delivery that has outlived its event has nothing to run with (R14.6).
        if self.is_there(PAYLOAD_GONE, [record.key])? {
            return Ok(RetryOutcome::Conflict);
        }
        let due = self.now + delay;
        self.apply(&mut record, transition, |record| {
            record.attempts = 0;
            record.releases = 0;
            record.scheduled_at = due;
            record.deadline_at = record.deadline.map(|deadline| due + deadline);
            record.cancel_requested = false;
            record.reason = None;
        })?;
        Ok(RetryOutcome::Retried)
    }

    fn reschedule_one(&mut self, id: JobId, delay: Duration) -> Result<RescheduleOutcome> {
        let Some(mut record) = self.job(id)? else {
            return Ok(RescheduleOutcome::NotFound);
        };
        if record.state != State::Pending {
            return Ok(RescheduleOutcome::Conflict);
        }
        let at = self.now + delay;
        self.apply(&mut record, Transition::Reschedule, |record| record.scheduled_at = at)?;
        Ok(RescheduleOutcome::Rescheduled)
    }
}
