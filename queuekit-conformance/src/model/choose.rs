//! Which lease, job or id an operation is tried on: mostly one that fits, now and then not.

use queuekit_core::{JobId, LeaseToken, QueueName, Timestamp};

use super::lockstep::Lockstep;
use super::sequence::QUEUES;

impl Lockstep<'_> {
    /// Up to three leases of any age, the same one twice now and then.
    pub(super) fn some_leases(&mut self) -> Vec<LeaseToken> {
        let recent = self.leases.len().saturating_sub(6);
        let count = self.rng.usize(1..=3);
        let pick = |_| {
            let from = if self.rng.u8(..5) == 0 { 0 } else { recent };
            let at = (from < self.leases.len()).then(|| self.rng.usize(from..self.leases.len()));
            at.map(|at| self.leases[at].clone())
        };
        (0..count).filter_map(pick).collect()
    }

    /// Mostly a job that is stored, now and then one that never was.
    pub(super) fn some_id(&mut self) -> Option<JobId> {
        if self.rng.u8(..20) == 0 {
            let queue = QueueName::new(QUEUES[0]).expect("a name");
            return Some(JobId::generate(&queue, Timestamp::default()));
        }
        let stored = self.machine.jobs.len();
        (stored > 0).then(|| self.machine.jobs[self.rng.usize(..stored)].id)
    }

    /// One that exists, also of a consumer.
    pub(super) fn some_queue(&mut self) -> QueueName {
        let at = self.rng.usize(..self.machine.queues.len());
        self.machine.queues.keys().nth(at).expect("in range").clone()
    }

    /// Mostly one that has a lease out, or had one not long ago.
    pub(super) fn some_queue_in_use(&mut self) -> QueueName {
        match self.some_leases().pop() {
            Some(lease) if self.rng.u8(..4) > 0 => lease.queue,
            _ => self.some_queue(),
        }
    }

    pub(super) fn pick<T: Clone>(&mut self, of: impl Fn(&Self) -> &Vec<T>) -> Option<T> {
        let count = of(self).len();
        (count > 0).then(|| self.rng.usize(..count)).map(|at| of(self)[at].clone())
    }
}
