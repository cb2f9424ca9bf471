//! R6 and retention.

use std::collections::BTreeSet;
use std::time::Duration;

use queuekit_core::capability::{CancelOutcome, RescheduleOutcome, RetryOutcome};
use queuekit_core::lifecycle::{self, Transition};
use queuekit_core::queue::Keep;
use queuekit_core::{ErrorKind, JobId, QueueName, State};

use super::{KeyHold, Machine};

impl Machine {
    pub(in crate::model) fn cancel(&mut self, id: JobId) -> CancelOutcome {
        let Some(at) = self.position(id) else {
            return CancelOutcome::NotFound;
        };
        match (self.jobs[at].state, lifecycle::cancel(self.jobs[at].state)) {
            (_, Some(Transition::RequestCancel)) => {
                self.jobs[at].cancel_requested = true;
                self.coverage.took(Transition::RequestCancel);
                CancelOutcome::Requested
            }
            (_, Some(transition)) => {
                self.end(at, transition);
                CancelOutcome::Cancelled
            }
            (State::Cancelled, None) => CancelOutcome::AlreadyDone,
            (_, None) => CancelOutcome::Conflict,
        }
    }

    pub(in crate::model) fn retry(&mut self, id: JobId, delay: Duration) -> RetryOutcome {
        let Some(at) = self.position(id) else {
            return RetryOutcome::NotFound;
        };
        let job = &self.jobs[at];
        if lifecycle::retry(job.state).is_none() {
            return RetryOutcome::Conflict;
        }
        if let Some(key) = &job.idempotency_key {
            let scoped = (job.queue.clone(), key.clone());
            if self.key_holder(&scoped.0, &scoped.1).is_some_and(|holder| holder != id) {
                return RetryOutcome::Conflict;
            }
            self.keys.insert(scoped, KeyHold { job: id, free_at: None });
        }
        let seq = if self.jobs[at].holds_key { self.jobs[at].seq } else { self.count_up() };
        let due = self.now + i64::try_from(delay.as_millis()).expect("fits");
        let job = &mut self.jobs[at];
        job.seq = seq;
        job.state = State::Pending;
        job.attempts = 0;
        job.releases = 0;
        job.scheduled_at = due;
        job.deadline_at = job.deadline.map(|deadline| due + deadline);
        job.cancel_requested = false;
        job.reason = None;
        job.finished = None;
        job.token = None;
        job.holds_key = false;
        self.coverage.took(Transition::Retry);
        RetryOutcome::Retried
    }

    pub(in crate::model) fn reschedule(&mut self, id: JobId, delay: Duration) -> RescheduleOutcome {
        let Some(at) = self.position(id) else {
            return RescheduleOutcome::NotFound;
        };
        if self.jobs[at].state != State::Pending {
            return RescheduleOutcome::Conflict;
        }
        let delay = i64::try_from(delay.as_millis()).expect("fits");
        self.jobs[at].scheduled_at = self.now + delay;
        self.coverage.took(Transition::Reschedule);
        RescheduleOutcome::Rescheduled
    }

    pub(in crate::model) fn delete(&mut self, id: JobId, force: bool) -> Result<bool, ErrorKind> {
        let Some(at) = self.position(id) else {
            return Ok(false);
        };
        let Some(transition) = lifecycle::delete(self.jobs[at].state, force) else {
            return Err(ErrorKind::Conflict);
        };
        self.remove(at, transition);
        Ok(true)
    }

    /// Of jobs that ended in the same ms the contract does not say which goes first: those are
    /// gone that are not `left`.
    pub(in crate::model) fn prune(&mut self, left: &BTreeSet<JobId>) {
        let queues: Vec<_> = self.queues.keys().cloned().collect();
        for queue in queues {
            let retention = self.settings(&queue).retention;
            self.prune_class(&queue, &[State::Completed, State::Cancelled], &retention.done, left);
            self.prune_class(&queue, &[State::Dead], &retention.dead, left);
        }
    }

    fn prune_class(
        &mut self,
        queue: &QueueName,
        states: &[State],
        keep: &Keep,
        left: &BTreeSet<JobId>,
    ) {
        loop {
            let of_class = |at: &usize| {
                self.jobs[*at].queue == *queue && states.contains(&self.jobs[*at].state)
            };
            let ended: Vec<usize> = (0..self.jobs.len()).filter(of_class).collect();
            let ended_at = |at: usize| {
                self.jobs[at].finished.expect("an ended job should have a time of its end")
            };
            let place = |at: &usize| (ended_at(*at), left.contains(&self.jobs[*at].id));
            let Some(at) = ended.iter().copied().min_by_key(place) else { return };
            let age = self.now - ended_at(at);
            let millis = |age: Duration| i64::try_from(age.as_millis()).expect("fits");
            let too_old = keep.age().is_some_and(|most| age >= millis(most));
            let too_many = keep.jobs().is_some_and(|most| ended.len() as u64 > most);
            if !(too_old || too_many && age >= 60_000) {
                return;
            }
            // Retention, unlike deletion on request, leaves the idempotency key as it is.
            self.jobs.remove(at);
            self.coverage.took(Transition::Prune);
        }
    }
}
