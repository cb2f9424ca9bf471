//! What a worker has done, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use queuekit_core::metrics::STUCK;

use crate::run::outcome::Outcome;

/// The number of runs by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunSummary {
    /// The job is completed.
    pub completed: u64,
    /// The run failed and the job runs again later.
    pub failed: u64,
    /// The job is in the dead-letter queue.
    pub dead: u64,
    /// The job was released; no attempt was spent.
    pub released: u64,
    /// The job is cancelled.
    pub cancelled: u64,
    /// The lease no longer held, so the run changed nothing.
    pub lease_lost: u64,
    /// Handlers that kept running after their run was given up; counted in addition to the outcome.
    pub stuck: u64,
}

impl RunSummary {
    /// How many runs ended.
    pub fn total(&self) -> u64 {
        self.completed + self.failed + self.dead + self.released + self.cancelled + self.lease_lost
    }
}

/// The same, counting.
#[derive(Default)]
pub(crate) struct Counters {
    by_outcome: [AtomicU64; Outcome::NAMES.len()],
    stuck: AtomicU64,
}

impl Counters {
    pub(crate) fn add_stuck(&self) {
        self.stuck.fetch_add(1, Ordering::Relaxed);
        metrics::counter!(STUCK.name).increment(1);
    }

    pub(crate) fn read(&self) -> RunSummary {
        let [completed, failed, dead, released, cancelled, lease_lost] =
            self.by_outcome.each_ref().map(|count| count.load(Ordering::Relaxed));
        RunSummary {
            completed,
            failed,
            dead,
            released,
            cancelled,
            lease_lost,
            stuck: self.stuck.load(Ordering::Relaxed),
        }
    }
}

/// Outcomes of one batch: the counters change once per batch, not once per job.
#[derive(Default)]
pub(crate) struct Tally([u64; Outcome::NAMES.len()]);

impl Tally {
    pub(crate) fn add(&mut self, outcome: Outcome) {
        self.0[outcome.index()] += 1;
    }

    pub(crate) fn flush(self, counters: &Counters) {
        for (count, by_outcome) in self.0.into_iter().zip(&counters.by_outcome) {
            by_outcome.fetch_add(count, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_by_outcome() {
        let (mut tally, counters) = (Tally::default(), Counters::default());
        let after = std::time::Duration::ZERO;
        for outcome in [Outcome::Completed, Outcome::Completed, Outcome::Retrying { after }] {
            tally.add(outcome);
        }
        tally.flush(&counters);
        let read = counters.read();
        assert_eq!((read.completed, read.failed, read.total()), (2, 1, 3));
    }
}
