//! Error groups (contract R8.4).

use std::collections::BTreeSet;

use async_trait::async_trait;

use super::tables::Tables;
use super::{MemoryStore, Operation};
use crate::backend::PageSize;
use crate::capability::ErrorGroups;
use crate::error::Result;
use crate::error_group::{ErrorGroup, GroupDelta, GroupKey};
use crate::job::{ErrorText, JobId};
use crate::lifecycle::Transition;
use crate::names::QueueName;

#[async_trait]
impl ErrorGroups for MemoryStore {
    async fn list_error_groups(
        &self,
        queues: &[QueueName],
        limit: PageSize,
    ) -> Result<Vec<ErrorGroup>> {
        if queues.is_empty() {
            return Ok(Vec::new());
        }
        self.step(Operation::ListErrorGroups, |tables| {
            let names: BTreeSet<_> = queues.iter().collect();
            let mut groups = Vec::new();
            for of_queue in names.into_iter().filter_map(|name| tables.error_groups.get(name)) {
                groups.extend(of_queue.values().cloned());
                ErrorGroup::keep_latest(&mut groups, limit.get());
            }
            groups.iter_mut().for_each(|group| group.recent.roll(tables.now));
            Ok(groups)
        })
    }
}

impl Tables {
    /// Counts what a transition of a job adds to the group of this error.
    pub(super) fn count_error(
        &mut self,
        id: JobId,
        transition: Transition,
        failed: bool,
        error: &ErrorText,
    ) {
        let (Some(record), Some(delta)) =
            (self.jobs.get(&id), GroupDelta::of(transition, failed, id))
        else {
            return;
        };
        let (queue, at) = (record.queue.clone(), self.now);
        if let Some(table) = self.queues.get_mut(&queue).filter(|_| failed) {
            table.failed();
        }
        let key = GroupKey::of(record.kind.clone(), error.as_str());
        let groups = self.error_groups.entry(queue.clone()).or_default();
        match groups.get_mut(&key) {
            Some(group) => group.add(delta, at),
            None => {
                groups.insert(key.clone(), ErrorGroup::begun(queue, key, delta, at));
            }
        }
        while groups.len() > self.most_error_groups {
            let oldest = groups.values().min_by_key(|group| (group.last, &group.key));
            let Some(oldest) = oldest.map(|group| group.key.clone()) else { break };
            groups.remove(&oldest);
        }
    }
}
