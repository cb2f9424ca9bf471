//! Storing new jobs (contract R2).

use std::collections::BTreeMap;

use futures_util::future::join_all;
use queuekit_core::{EnqueueOutcome, NewJob, Result};
use redis::Value;
use tokio::time::Instant;

use crate::call::Request;
use crate::codec::is_word;
use crate::indeterminate::Answered;
use crate::keys::QueueKeys;
use crate::repeat::Call;
use crate::scripts::Lua;
use crate::step::{Grouped, Refusals, joined};
use crate::{RedisStore, Shared};

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

    /// Stores jobs with the short form of the script, or with the full one if the short one does
    /// not do for them.
    async fn store(&self, jobs: &[NewJob], part: &Grouped<'_>, anew: bool) -> Result<Answered> {
        let Shared { keyspace, known, .. } = &*self.shared;
        let mut doubt = None;
        let plain = part.plain_queue(jobs).filter(|queue| !anew && known.may_be_plain(queue));
        if let Some(queue) = plain {
            let (keys, args) = (vec![keyspace.plain(queue)], part.plain_args(jobs));
            let answer = self.send_jobs(Lua::EnqueuePlain, keys, args, None).await?;
            if is_refusal(&answer.value, b"settings") {
                known.learn_not_plain(queue);
            } else if !is_refusal(&answer.value, b"stored") {
                return Ok(answer);
            }
            // An attempt whose answer was lost may have stored the jobs.
            doubt = answer.doubt;
        }
        let keys = part.queues.iter().map(|queue| keyspace.of(queue)).collect();
        self.send_jobs(Lua::Enqueue, keys, part.args(jobs, anew), doubt).await
    }

    async fn send_jobs(
        &self,
        script: Lua,
        keys: Vec<QueueKeys>,
        args: Vec<Vec<u8>>,
        doubt: Option<Instant>,
    ) -> Result<Answered> {
        let waits = self.shared.wait_replicas.is_some();
        let call = if waits { Call::Stored } else { Call::Repeatable };
        self.call_told("enqueue", call, Request::Script { script, keys, args }, doubt).await
    }
}

/// Whether the short form has stored nothing, for this reason.
fn is_refusal(answer: &Value, reason: &[u8]) -> bool {
    matches!(answer, Value::Array(words) if is_word(words.first(), reason))
}
