//! R2.

use queuekit_core::lifecycle::Transition;
use queuekit_core::{EnqueueOutcome, NewJob, QueueName, State};

use super::{KeyHold, Machine, ModelJob};

impl Machine {
    pub(in crate::model) fn enqueue(&mut self, job: &NewJob) -> Expected {
        self.queues.entry(job.queue().clone()).or_default();
        if let Some(stored) = self.job(job.id()) {
            let same = stored.kind == job.kind().as_str() && stored.payload == job.payload()[..];
            return Expected(if same {
                Some(EnqueueOutcome::Duplicate { existing: job.id() })
            } else {
                Some(EnqueueOutcome::Conflict { existing: job.id() })
            });
        }
        if let Some(key) = job.idempotency_key()
            && let Some(existing) = self.key_holder(job.queue(), key)
        {
            return Expected(Some(EnqueueOutcome::Duplicate { existing }));
        }
        if self.room(job.queue()) == 0 {
            return Expected(None);
        }
        self.coverage.took(Transition::Enqueue);
        let seq = self.count_up();
        self.store(ModelJob::new(job, seq, self.now));
        if let Some(key) = job.idempotency_key() {
            let hold = KeyHold { job: job.id(), free_at: None };
            self.keys.insert((job.queue().clone(), key.clone()), hold);
        }
        Expected(Some(EnqueueOutcome::Created { id: job.id() }))
    }

    /// How many more jobs its `max_pending` lets wait.
    pub(super) fn room(&self, queue: &QueueName) -> u64 {
        let is_pending = |job: &&ModelJob| job.queue == *queue && job.state == State::Pending;
        let pending = self.jobs.iter().filter(is_pending).count() as u64;
        self.settings(queue).max_pending.map_or(u64::MAX, |max| max.saturating_sub(pending))
    }
}

/// None stands for `QueueFull` with any hint.
#[derive(Debug)]
pub(in crate::model) struct Expected(Option<EnqueueOutcome>);

impl Expected {
    pub(in crate::model) fn fits(&self, outcome: EnqueueOutcome) -> bool {
        match self.0 {
            Some(expected) => expected == outcome,
            None => matches!(outcome, EnqueueOutcome::QueueFull { .. }),
        }
    }
}
