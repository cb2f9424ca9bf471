//! Which jobs of a queue's partition keys may run now (R7.3).

use std::collections::BTreeMap;

use queuekit_core::lifecycle::Record;
use queuekit_core::{PartitionKey, QueueName, State};

use crate::data::Data;

/// The jobs of one key, by sequence.
#[derive(Default)]
pub(crate) struct Partition<'a> {
    waiting: BTreeMap<u64, &'a Record>,
    running: BTreeMap<u64, &'a Record>,
    /// Dead heads that hold the key.
    holding: BTreeMap<u64, &'a Record>,
}

pub(crate) type Partitions<'a> = BTreeMap<&'a PartitionKey, Partition<'a>>;

impl Data {
    /// The waiting jobs that are not blocked; some may not be due yet.
    pub(crate) fn free(&self, name: &QueueName) -> Vec<&Record> {
        let Some(queue) = self.queues.get(name) else { return Vec::new() };
        let plain =
            |record: &&Record| record.state == State::Pending && record.partition_key.is_none();
        let mut free: Vec<&Record> = self.of_queue(name).filter(plain).collect();
        for partition in self.partitions(name).values() {
            let waiting = partition.waiting.values().copied();
            let due = waiting.clone().map(|record| record.scheduled_at <= self.now);
            let (held, running) = (!partition.holding.is_empty(), partition.running.len());
            free.extend(waiting.take(queue.settings.unblocked(held, running, due)));
        }
        free
    }

    pub(crate) fn partitions(&self, name: &QueueName) -> Partitions<'_> {
        let mut partitions = Partitions::new();
        for record in self.of_queue(name) {
            let Some(key) = &record.partition_key else { continue };
            let partition: &mut Partition<'_> = partitions.entry(key).or_default();
            match record.state {
                State::Pending => partition.waiting.insert(record.seq, record),
                State::Running => partition.running.insert(record.seq, record),
                _ if self.holding.contains(&record.id) => {
                    partition.holding.insert(record.seq, record)
                }
                _ => None,
            };
        }
        partitions
    }
}

impl<'a> Partition<'a> {
    /// The job that a blocked one waits for.
    pub(crate) fn blocker(&self) -> Option<&'a Record> {
        let mut jobs = self.holding.values().chain(self.running.values());
        jobs.next().or_else(|| self.waiting.values().next()).copied()
    }
}
