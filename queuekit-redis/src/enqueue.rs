//! Storing new jobs (contract R2).

use std::collections::BTreeMap;

use futures_util::future::join_all;
use queuekit_core::{EnqueueOutcome, NewJob, Result};

use crate::RedisStore;
use crate::call::{Answered, Request};
use crate::repeat::Call;
use crate::scripts::Lua;
use crate::step::{Grouped, Refusals, joined};

impl RedisStore {
    /// Stores jobs in one step; in a Cluster, in one step per slot.
    pub(crate) async fn enqueue_jobs(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        self.shared.limits.admit_jobs(jobs)?;
        let created = jobs.iter().map(|job| EnqueueOutcome::Created { id: job.id() });
        let mut outcomes: Vec<EnqueueOutcome> = created.collect();
        let parts = self.by_slot(Grouped::of(jobs));
        let answers = join_all(parts.iter().map(|part| self.enqueue_part(jobs, part))).await;
        for (part, answer) in parts.iter().zip(joined(answers)?) {
            part.put(jobs, answer, &mut outcomes)?;
            self.stir(part.queues.iter().copied());
        }
        Ok(outcomes)
    }

    async fn enqueue_part(&self, jobs: &[NewJob], part: &Grouped<'_>) -> Result<Refusals> {
        let store = |anew| self.store(jobs, part, anew);
        part.read(jobs, self.in_queues(&part.queues, store).await?)
    }

    fn by_slot<'a>(&self, all: Grouped<'a>) -> Vec<Grouped<'a>> {
        let shared = &*self.shared;
        if !shared.topology.is_cluster() || all.queues.len() == 1 {
            return vec![all];
        }
        let mut parts: BTreeMap<Option<u16>, Grouped<'a>> = BTreeMap::new();
        for (queue, jobs) in all.queues.into_iter().zip(all.jobs) {
            let slot = shared.topology.group_of(&shared.keyspace.marker(queue));
            let part = parts.entry(slot).or_default();
            part.queues.push(queue);
            part.jobs.push(jobs);
        }
        parts.into_values().collect()
    }

    async fn store(&self, jobs: &[NewJob], grouped: &Grouped<'_>, anew: bool) -> Result<Answered> {
        let shared = &*self.shared;
        let keys = grouped.queues.iter().map(|queue| shared.keyspace.of(queue)).collect();
        let args = grouped.args(jobs, anew);
        let request = Request::Script { script: Lua::Enqueue, keys, args };
        let waits = shared.wait_replicas.is_some();
        self.call_told("enqueue", if waits { Call::Stored } else { Call::Repeatable }, request)
            .await
    }
}
