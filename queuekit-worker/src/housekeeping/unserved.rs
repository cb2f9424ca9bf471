//! Names queues whose jobs no worker takes, which is most often a misspelt name.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use queuekit_core::queue::Queue;
use queuekit_core::retry::{chance, jittered};
use queuekit_core::{Backend, BackendExt, QueueName, Result, Status};
use tokio_util::sync::CancellationToken;

use crate::state::shared::Shared;

/// When the first look comes: by then the workers that start together are listed.
const FIRST: Duration = Duration::from_secs(10);
/// How often a worker looks after that. One look reads the figures of all queues.
const EVERY: Duration = Duration::from_secs(300);
/// A job that has been ready for less may be about to be reserved.
const PATIENCE: Duration = Duration::from_secs(5);
/// Most queues that the log of one worker names.
const NAMED: usize = 100;

/// Warns of each queue once, until the worker ends.
pub(crate) async fn warn_of_unserved(shared: Arc<Shared>, stop: CancellationToken) {
    let mut unserved = Unserved::default();
    let mut wait = FIRST;
    while stop.run_until_cancelled(tokio::time::sleep(jittered(wait, chance()))).await.is_some() {
        wait = EVERY;
        // Advice only: if the store does not answer, the next look may find it.
        let look = stop.run_until_cancelled(unserved.look(&**shared.backend())).await;
        for (queue, ready) in look.and_then(Result::ok).unwrap_or_default() {
            tracing::warn!(
                worker = %shared.id(), %queue, ready,
                "jobs are ready in a queue that no listed worker serves; start a worker for it, \
                 or correct the name of the queue"
            );
        }
        if unserved.named.len() >= NAMED {
            return;
        }
    }
}

/// Queues that the log has named.
#[derive(Default)]
struct Unserved {
    named: HashSet<QueueName>,
}

impl Unserved {
    /// The queues that are unserved and not yet named, each with the number of its ready jobs.
    async fn look(&mut self, store: &dyn Backend) -> Result<Vec<(QueueName, u64)>> {
        let queues = store.all_queues().await?;
        let mut found: Vec<(QueueName, u64)> = Vec::new();
        for queue in queues.into_iter().filter(is_unserved) {
            if self.named.len() < NAMED && self.named.insert(queue.name.clone()) {
                found.push((queue.name, queue.counts.get(Status::Ready).value));
            }
        }
        Ok(found)
    }
}

fn is_unserved(queue: &Queue) -> bool {
    queue.workers == 0
        && !queue.settings.paused
        && queue.oldest_ready_age.is_some_and(|age| age >= PATIENCE)
}

#[cfg(test)]
mod tests {
    use queuekit_core::capability::{Beat, Served};
    use queuekit_core::memory::MemoryStore;
    use queuekit_core::{Client, JobDraft, LeaseTtl, ManualClock, WorkerId};

    use super::*;

    /// A store whose queues `served`, `unserved` and `paused` have a ready job each.
    async fn store() -> (MemoryStore, ManualClock) {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let client = Client::new(store.clone());
        for queue in ["served", "unserved", "paused"] {
            client.enqueue(JobDraft::new("work", "{}")).queue(queue).await.unwrap();
        }
        client.queues().pause("paused").await.unwrap();
        let queues = Served::first([QueueName::new("served").unwrap()]);
        let id = WorkerId::new("w").unwrap();
        let beat = Beat::new(id, queues, Served::first([]), LeaseTtl::default());
        store.capabilities().leases.unwrap().beat(&beat).await.unwrap();
        (store, clock)
    }

    #[tokio::test]
    async fn a_queue_whose_ready_jobs_no_worker_takes_is_named_once() {
        let (store, clock) = store().await;
        let mut unserved = Unserved::default();
        clock.advance(PATIENCE - Duration::from_millis(1));
        assert_eq!(unserved.look(&store).await.unwrap(), []);
        clock.advance(Duration::from_millis(1));
        let name = QueueName::new("unserved").unwrap();
        assert_eq!(unserved.look(&store).await.unwrap(), [(name, 1)]);
        assert_eq!(unserved.look(&store).await.unwrap(), []);
    }

    #[tokio::test]
    async fn no_more_queues_are_named_than_the_bound_says() {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let client = Client::new(store.clone());
        for n in 0..=NAMED {
            client.enqueue(JobDraft::new("work", "{}")).queue(format!("q{n}")).await.unwrap();
        }
        clock.advance(PATIENCE);
        let mut unserved = Unserved::default();
        assert_eq!(unserved.look(&store).await.unwrap().len(), NAMED);
        assert_eq!(unserved.look(&store).await.unwrap(), []);
    }
}
