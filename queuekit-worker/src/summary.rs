//! What a worker has done, in numbers.

use std::sync::atomic::{AtomicU64, Ordering};

use queuekit_core::QueueName;

use crate::hooks::Outcome;

/// How many runs ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunSummary {
    /// The job is completed.
    pub completed: u64,
    /// The run failed and the job runs again later.
    pub failed: u64,
    /// The job is in the dead-letter queue.
    pub dead: u64,
    /// The job was given back unfinished, no attempt spent.
    pub released: u64,
    /// The job is cancelled.
    pub cancelled: u64,
    /// The lease no longer held, so the run changed nothing.
    pub lease_lost: u64,
    /// Handlers that went on after their run was given up; counted beside the outcome.
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
    by_outcome: [AtomicU64; 6],
    stuck: AtomicU64,
}

impl Counters {
    pub(crate) fn add_stuck(&self) {
        self.stuck.fetch_add(1, Ordering::Relaxed);
        metrics::counter!("queuekit_stuck_total").increment(1);
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

/// Outcomes of one batch: metrics are told once per queue and outcome, not once per job.
#[derive(Default)]
pub(crate) struct Tally(Vec<(QueueName, Outcome, u64)>);

impl Tally {
    pub(crate) fn add(&mut self, queue: &QueueName, outcome: Outcome) {
        let same = |(name, kind, _): &&mut (QueueName, Outcome, u64)| {
            kind.index() == outcome.index() && name == queue
        };
        match self.0.iter_mut().find(same) {
            Some((_, _, count)) => *count += 1,
            None => self.0.push((queue.clone(), outcome, 1)),
        }
    }

    pub(crate) fn flush(&mut self, counters: &Counters) {
        for (queue, outcome, count) in self.0.drain(..) {
            counters.by_outcome[outcome.index()].fetch_add(count, Ordering::Relaxed);
            let queue = queue.as_str().to_owned();
            metrics::counter!(
                "queuekit_jobs_total", "queue" => queue, "outcome" => outcome.as_str()
            )
            .increment(count);
        }
    }
}

impl Outcome {
    const fn index(self) -> usize {
        match self {
            Self::Completed => 0,
            Self::Retrying { .. } => 1,
            Self::Dead => 2,
            Self::Released { .. } => 3,
            Self::Cancelled => 4,
            Self::LeaseLost => 5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_counts_by_queue_and_outcome() {
        let (mut tally, counters) = (Tally::default(), Counters::default());
        let after = std::time::Duration::ZERO;
        for outcome in [Outcome::Completed, Outcome::Completed, Outcome::Retrying { after }] {
            tally.add(&QueueName::default(), outcome);
        }
        assert_eq!(tally.0.len(), 2);
        tally.flush(&counters);
        let read = counters.read();
        assert_eq!((read.completed, read.failed, read.total()), (2, 1, 3));
    }
}
