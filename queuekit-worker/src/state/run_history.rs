//! What the runs of this worker were like, until the store has it (contract R8.5).

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use queuekit_core::history::{BUCKETS, Histogram, Runs, RunsAdded};
use queuekit_core::{Kind, QueueName};

use crate::run::outcome::Outcome;

/// More pairs of queue and kind are not told apart.
const MOST: usize = 1000;

/// Runs by queue and kind.
#[derive(Default)]
pub(crate) struct RunHistory(Mutex<Known>);

type Known = HashMap<(QueueName, Option<Kind>), Arc<RunCounts>>;

/// Counts of one queue and kind. Jobs share them, so that none takes a lock.
#[derive(Default)]
pub(crate) struct RunCounts {
    /// By the places of outcomes.
    outcomes: [AtomicU64; Outcome::NAMES.len()],
    wait: [AtomicU64; BUCKETS],
    run: [AtomicU64; BUCKETS],
}

impl RunHistory {
    /// The counts of a queue and kind.
    pub(crate) fn of(&self, queue: &QueueName, kind: Option<&Kind>) -> Arc<RunCounts> {
        let mut known = self.lock();
        let mut pair = (queue.clone(), kind.cloned());
        if known.len() >= MOST && !known.contains_key(&pair) {
            pair.1 = None;
        }
        Arc::clone(known.entry(pair).or_default())
    }

    /// Takes what has been counted since the last time, and forgets pairs that no job has.
    pub(crate) fn take(&self) -> Vec<RunsAdded> {
        let mut taken = Vec::new();
        self.lock().retain(|(queue, kind), counts| {
            let runs = counts.take();
            // Jobs that run hold these counts: without the entry, nobody would take what they
            // count.
            let is_used = Arc::strong_count(counts) > 1 || !runs.is_empty();
            if !runs.is_empty() {
                taken.push(RunsAdded { queue: queue.clone(), kind: kind.clone(), runs });
            }
            is_used
        });
        taken
    }

    /// Whether nothing has been counted since it was last taken.
    pub(crate) fn is_empty(&self) -> bool {
        let counted = |count: &AtomicU64| count.load(Ordering::Relaxed) > 0;
        !self.lock().values().any(|counts| counts.outcomes.iter().any(counted))
    }

    /// These were not added after all.
    pub(crate) fn put_back(&self, added: &[RunsAdded]) {
        for RunsAdded { queue, kind, runs } in added {
            self.of(queue, kind.as_ref()).add(runs);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RunCounts {
    pub(crate) fn waited(&self, time: Duration) {
        self.wait[Histogram::bucket(time)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ran(&self, time: Duration) {
        self.run[Histogram::bucket(time)].fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn ended(&self, outcome: Outcome) {
        self.outcomes[outcome.index()].fetch_add(1, Ordering::Relaxed);
    }

    /// All counts, in the order of [`Runs::to_numbers`].
    fn all(&self) -> impl Iterator<Item = &AtomicU64> {
        self.outcomes.iter().chain(&self.wait).chain(&self.run)
    }

    fn take(&self) -> Runs {
        let numbers: Vec<u64> = self.all().map(|count| count.swap(0, Ordering::Relaxed)).collect();
        Runs::from_numbers(&numbers)
    }

    fn add(&self, runs: &Runs) {
        for (count, number) in self.all().zip(runs.to_numbers()) {
            count.fetch_add(number, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_5_counts_are_those_of_their_outcome_and_bucket() {
        let history = RunHistory::default();
        let (queue, kind) = (QueueName::default(), Kind::new("mail").unwrap());
        let counts = history.of(&queue, Some(&kind));
        counts.waited(Duration::from_millis(3));
        counts.ran(Duration::ZERO);
        counts.ended(Outcome::Completed);
        counts.ended(Outcome::Retrying { after: Duration::ZERO });
        counts.ended(Outcome::LeaseLost);
        let taken = history.take();
        let mut runs = Runs { completed: 1, failed: 1, lost: 1, ..Runs::default() };
        runs.wait.add(Duration::from_millis(3));
        runs.run.add(Duration::ZERO);
        assert_eq!(taken, [RunsAdded { queue, kind: Some(kind), runs }]);
        assert_eq!(history.take(), [], "they are taken once");
        history.put_back(&taken);
        assert_eq!(history.take(), taken);
    }

    #[test]
    fn r8_5_kinds_beyond_the_bound_are_not_told_apart() {
        let history = RunHistory::default();
        let queue = QueueName::default();
        for n in 0..MOST + 5 {
            let kind = Kind::new(format!("kind-{n}")).unwrap();
            history.of(&queue, Some(&kind)).ended(Outcome::Completed);
        }
        let taken = history.take();
        assert_eq!(taken.len(), MOST + 1);
        let rest = taken.iter().find(|added| added.kind.is_none()).unwrap();
        assert_eq!(rest.runs.completed, 5);
        history.take();
        assert_eq!(history.lock().len(), 0, "what no job has is forgotten");
    }
}
