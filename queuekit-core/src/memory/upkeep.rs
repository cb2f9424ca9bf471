//! Retention (contract R12), and what `doctor` and `migrate` ask.

use async_trait::async_trait;

use super::queue::QueueTable;
use super::tables::Tables;
use super::{MemoryStore, Operation};
use crate::capability::{
    Cause, Durability, Fact, Finding, Inspect, Migration, Migrations, SchemaStatus, Severity,
    Upkeep, UpkeepReport,
};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::job::{JobId, State};
use crate::lifecycle::Transition;
use crate::queue::Keep;

/// The most jobs that one step removes.
const STEP: usize = 1000;

#[async_trait]
impl Upkeep for MemoryStore {
    async fn prune(&self) -> Result<UpkeepReport> {
        self.step(Operation::Upkeep, Tables::prune)
    }

    /// Repair finds nothing: one lock guards derived data together with its source.
    async fn repair(&self) -> Result<UpkeepReport> {
        self.step(Operation::Upkeep, |_| Ok(UpkeepReport::default()))
    }
}

impl Tables {
    fn prune(&mut self) -> Result<UpkeepReport> {
        let now = self.now;
        let mut removed = 0;
        let names: Vec<_> = self.queues.keys().cloned().collect();
        for name in names {
            let beyond = |tables: &Self| tables.queues.get(&name)?.beyond_retention(now);
            while removed < STEP
                && let Some(id) = beyond(self)
            {
                self.apply(id, Transition::Prune, |_| {});
                removed += 1;
            }
        }
        let forgotten = self.keys.forget(now, STEP);
        let (events, more_events) = self.prune_events(STEP)?;
        let rows = self.history.forget(now, STEP);
        // A key that was freed is no row that people see, so it does not count as a change. A full
        // step of keys still asks for another one.
        let changed = (removed + events + rows) as u64;
        let full = [removed, forgotten, rows].contains(&STEP);
        Ok(UpkeepReport::new(changed, full || more_events))
    }
}

impl QueueTable {
    /// A job that retention no longer covers.
    fn beyond_retention(&self, now: Timestamp) -> Option<JobId> {
        let first = |ended: &std::collections::BTreeMap<(Timestamp, u64), JobId>| {
            ended.first_key_value().map(|(place, id)| (*place, *id))
        };
        let done = [first(&self.completed), first(&self.cancelled)];
        let retention = &self.settings.retention;
        let states = [State::Completed, State::Cancelled];
        self.oldest_beyond(done, &states, &retention.done, now).or_else(|| {
            self.oldest_beyond([first(&self.dead), None], &[State::Dead], &retention.dead, now)
        })
    }

    fn oldest_beyond(
        &self,
        oldest: [Option<((Timestamp, u64), JobId)>; 2],
        states: &[State],
        keep: &Keep,
        now: Timestamp,
    ) -> Option<JobId> {
        let ((ended_at, _), id) = oldest.into_iter().flatten().min()?;
        let sum = |of: &[u64]| states.iter().map(|state| of[*state as usize]).sum::<u64>();
        let (jobs, bytes) = (sum(&self.counts), sum(&self.bytes));
        keep.lets_go(now.since(ended_at), jobs, bytes).then_some(id)
    }
}

#[async_trait]
impl Inspect for MemoryStore {
    async fn check_writes(&self) -> Result<()> {
        self.step(Operation::Inspect, |_| Ok(()))
    }

    async fn durability(&self) -> Result<Durability> {
        self.step(Operation::Inspect, |_| Ok(Durability::Nothing))
    }

    async fn facts(&self) -> Result<Vec<Fact>> {
        self.step(Operation::Inspect, |tables| {
            let fact = |name, value: usize| Fact { name, value: value.to_string() };
            Ok(vec![fact("jobs", tables.jobs.len()), fact("queues", tables.queues.len())])
        })
    }

    async fn findings(&self) -> Result<Vec<Finding>> {
        self.step(Operation::Inspect, |_| {
            Ok(vec![Finding {
                severity: Severity::Note,
                cause: Cause::Setup,
                message: "jobs are kept in memory only: they are lost when the process ends"
                    .to_owned(),
                remedy: "use a durable store for anything but tests".to_owned(),
            }])
        })
    }
}

/// The store has no schema that could have another version.
#[async_trait]
impl Migrations for MemoryStore {
    async fn status(&self) -> Result<SchemaStatus> {
        let status = SchemaStatus::new(1, 1, 1);
        self.step(Operation::Inspect, |_| Ok(status))
    }

    async fn up(&self) -> Result<SchemaStatus> {
        self.status().await
    }

    fn pending(&self, _stored: u32) -> Vec<Migration> {
        Vec::new()
    }
}
