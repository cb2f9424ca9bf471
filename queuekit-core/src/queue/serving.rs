//! How many live workers serve each queue.

use std::collections::{BTreeSet, HashMap};

use crate::capability::Beat;
use crate::names::QueueName;

/// How many of some workers serve a queue, counted once for all queues. With thousands of queues
/// and workers, comparing each with each would take seconds.
#[derive(Clone, Debug, Default)]
pub struct WorkerCounts {
    /// Workers that may serve any queue.
    any: u64,
    /// The other workers, by the queues that they name.
    naming: HashMap<QueueName, u64>,
}

impl WorkerCounts {
    /// Counts the workers that sent these beats.
    pub fn of<'a>(beats: impl IntoIterator<Item = &'a Beat>) -> Self {
        let mut counts = Self::default();
        beats.into_iter().for_each(|beat| counts.add(beat));
        counts
    }

    /// Counts the worker that sent this beat too.
    pub fn add(&mut self, Beat { queues, .. }: &Beat) {
        if queues.has_more() {
            self.any += 1;
            return;
        }
        // A worker may name a queue twice.
        for queue in queues.names().iter().collect::<BTreeSet<_>>() {
            *self.naming.entry(queue.clone()).or_default() += 1;
        }
    }

    /// How many workers serve this queue, or may do so.
    pub fn serving(&self, queue: &QueueName) -> u64 {
        self.any + self.naming.get(queue).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capability::Served;
    use crate::{LeaseTtl, WorkerId};

    #[test]
    fn r8_3_a_worker_counts_once_for_each_queue_that_it_serves() {
        let beat = |names: &[&str], more| {
            let names = names.iter().map(|name| QueueName::new(*name).unwrap()).collect();
            let (id, kinds) = (WorkerId::new("w").unwrap(), Served::first([]));
            Beat::new(id, Served::new(names, more).unwrap(), kinds, LeaseTtl::default())
        };
        let beats = [beat(&["a", "a", "b"], false), beat(&["a"], true), beat(&[], false)];
        let counts = WorkerCounts::of(&beats);
        for (queue, serving) in [("a", 2), ("b", 2), ("c", 1)] {
            let queue = QueueName::new(queue).unwrap();
            assert_eq!(counts.serving(&queue), serving, "{queue}");
            let compared = beats.iter().filter(|beat| beat.serves_queue(&queue)).count();
            assert_eq!(compared as u64, serving, "{queue}");
        }
    }
}
