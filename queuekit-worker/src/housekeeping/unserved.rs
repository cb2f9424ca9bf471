//! Names queues whose jobs no worker takes, which is most often a misspelt name.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, Instant};

use queuekit_core::queue::Queue;
use queuekit_core::retry::{chance, jittered};
use queuekit_core::{Backend, PageSize, QueueName, Result, Status};
use tokio_util::sync::CancellationToken;

use crate::state::shared::Shared;

/// When the first look comes: by then the workers that start together are listed.
const FIRST: Duration = Duration::from_secs(10);
/// The time between two rounds.
const EVERY: Duration = Duration::from_secs(300);
/// How many of the listed workers look in a round, on average.
const LOOKING: f64 = 2.0;
/// The most listed workers that are counted. Of more than these, some more look.
const COUNTED: usize = 100;
/// How many queues a look reads at once.
const PAGE: usize = 100;
/// After a page, a look rests this many times as long as the page took, so that it takes little of
/// the store's time.
const RESTS: u32 = 9;
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
        let Some(_call) = stop.run_until_cancelled(shared.rest.call()).await else { return };
        // Advice only: if the store does not answer, the next round may find it.
        let look = unserved.take_turn(&**shared.backend(), chance(), |queue, ready| {
            tracing::warn!(
                worker = %shared.id(), %queue, ready,
                "jobs are ready in a queue that no listed worker serves; start a worker for it, \
                 or correct the name of the queue"
            );
        });
        drop(stop.run_until_cancelled(look).await);
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
    /// Looks, if it is this worker's turn. A look reads the figures of all queues, so few of many
    /// workers take one.
    async fn take_turn(
        &mut self,
        store: &dyn Backend,
        chance: f64,
        warn: impl Fn(&QueueName, u64),
    ) -> Result<()> {
        if let Some(leases) = store.capabilities().leases {
            let listed = leases.list_workers(None, PageSize::new(COUNTED)?).await?.workers.len();
            if chance * listed as f64 >= LOOKING {
                return Ok(());
            }
        }
        self.look(store, warn).await
    }

    /// Warns of the queues that are unserved and not yet named, each with the number of its ready
    /// jobs.
    async fn look(&mut self, store: &dyn Backend, warn: impl Fn(&QueueName, u64)) -> Result<()> {
        let (limit, mut after) = (PageSize::new(PAGE)?, None);
        loop {
            let began = Instant::now();
            let page = store.list_queues(after.as_ref(), limit).await?;
            for queue in page.queues.into_iter().filter(is_unserved) {
                if self.named.len() < NAMED && self.named.insert(queue.name.clone()) {
                    warn(&queue.name, queue.counts.get(Status::Ready).value);
                }
            }
            after = page.after;
            if after.is_none() || self.named.len() >= NAMED {
                return Ok(());
            }
            tokio::time::sleep(began.elapsed() * RESTS).await;
        }
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

    /// What a look of this worker names.
    async fn named(unserved: &mut Unserved, store: &dyn Backend) -> Vec<(QueueName, u64)> {
        let named = std::cell::RefCell::new(Vec::new());
        let warn = |queue: &QueueName, ready| named.borrow_mut().push((queue.clone(), ready));
        unserved.look(store, warn).await.unwrap();
        named.into_inner()
    }

    #[tokio::test]
    async fn a_queue_whose_ready_jobs_no_worker_takes_is_named_once() {
        let (store, clock) = store().await;
        let mut unserved = Unserved::default();
        clock.advance(PATIENCE - Duration::from_millis(1));
        assert_eq!(named(&mut unserved, &store).await, []);
        clock.advance(Duration::from_millis(1));
        let name = QueueName::new("unserved").unwrap();
        assert_eq!(named(&mut unserved, &store).await, [(name, 1)]);
        assert_eq!(named(&mut unserved, &store).await, []);
    }

    #[tokio::test(start_paused = true)]
    async fn queues_behind_the_first_page_are_named_and_no_more_than_the_bound_says() {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let client = Client::new(store.clone());
        for n in 0..PAGE {
            client.enqueue(JobDraft::new("work", "{}")).queue(format!("a{n}")).await.unwrap();
            client.queues().pause(format!("a{n}")).await.unwrap();
        }
        for n in 0..=NAMED {
            client.enqueue(JobDraft::new("work", "{}")).queue(format!("q{n}")).await.unwrap();
        }
        clock.advance(PATIENCE);
        let mut unserved = Unserved::default();
        assert_eq!(named(&mut unserved, &store).await.len(), NAMED);
        assert_eq!(named(&mut unserved, &store).await, []);
    }

    /// Guard: each worker reading the figures of all queues is load for the store.
    #[tokio::test]
    async fn of_many_workers_few_look_in_a_round() {
        let (store, clock) = store().await;
        clock.advance(PATIENCE);
        // How many of 1,000 workers would look, by their chances.
        let looking = async || {
            let mut looked = 0;
            for chance in (0..1000).map(|part| f64::from(part) / 1000.0) {
                let warned = std::cell::Cell::new(0);
                let mut unserved = Unserved::default();
                let warn = |_: &QueueName, _| warned.set(1);
                unserved.take_turn(&store, chance, warn).await.unwrap();
                looked += warned.get();
            }
            looked
        };
        assert_eq!(looking().await, 1000, "the only worker always looks");
        for (listed, of_thousand) in [(2, 1000), (4, 500), (50, 40), (100, 20), (110, 20)] {
            for n in 1..listed {
                let id = WorkerId::new(format!("w{n}")).unwrap();
                let queues = Served::first([QueueName::new("served").unwrap()]);
                let beat = Beat::new(id, queues, Served::first([]), LeaseTtl::default());
                store.capabilities().leases.unwrap().beat(&beat).await.unwrap();
            }
            assert_eq!(looking().await, of_thousand, "of {listed} workers");
        }
    }
}
