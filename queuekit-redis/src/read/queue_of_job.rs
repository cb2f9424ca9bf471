//! Which queue has a job.

use std::collections::{BTreeMap, HashMap};

use queuekit_core::{JobId, QueueName, Result, Timestamp};

use super::view::Shown;
use crate::RedisStore;

impl RedisStore {
    /// The queues that may have each of these jobs. If several of them have a job with the id, only
    /// the one that stored it first is returned: a client that may create queues easily finds a
    /// name with the tag of another queue, and could hide that queue's job behind a copy.
    pub(crate) async fn candidates(
        &self,
        ids: impl Iterator<Item = JobId>,
    ) -> Result<HashMap<JobId, Vec<QueueName>>> {
        let mut candidates: HashMap<JobId, Vec<QueueName>> =
            ids.map(|id| (id, self.shared.known.of_job(id))).collect();
        let mut shared: BTreeMap<QueueName, Vec<JobId>> = BTreeMap::new();
        for (id, names) in candidates.iter().filter(|(_, names)| names.len() > 1) {
            names.iter().for_each(|name| shared.entry(name.clone()).or_default().push(*id));
        }
        let mut oldest: HashMap<JobId, (Timestamp, QueueName)> = HashMap::new();
        for (name, ids) in shared {
            let mut left = &ids[..];
            while !left.is_empty() {
                let read = self.some_jobs_at(self.time_left(), "get_job", &name, left);
                let (shown, looked_at) = read.await?;
                for Shown { job, .. } in shown {
                    let first = (job.created_at, name.clone());
                    let known = oldest.entry(job.id).or_insert_with(|| first.clone());
                    *known = first.min(known.clone());
                }
                left = &left[looked_at..];
            }
        }
        for (id, (_, name)) in oldest {
            candidates.insert(id, vec![name]);
        }
        Ok(candidates)
    }
}
