//! Subscriptions as applications and operators use them.

use std::time::Duration;

use super::subscription::Keys;
use super::{EventSettings, Subscription};
use crate::backend::{Backend, JobFilter, needed};
use crate::capability::Outbox;
use crate::declared::{Declared, digest_of};
use crate::error::{Error, ErrorKind, Result, parsed};
use crate::job::{Job, State, Status};
use crate::limits::SUBSCRIPTIONS;
use crate::names::{ConsumerName, QueueName};
use crate::queue::{KeyOnWait, Totals};

/// How often a change is tried again because other processes have changed the settings first.
const TRIES: usize = 20;
/// The number of ended deliveries, the latest ones, from which rates are computed.
const RECENT: usize = 100;

/// The consumers of a store's events.
#[derive(Clone, Copy, Debug)]
pub struct Consumers<'a> {
    pub(super) backend: &'a dyn Backend,
}

/// The figures of a consumer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ConsumerStats {
    /// Deliveries that are pending.
    pub depth: u64,
    /// Deliveries that are running.
    pub in_flight: u64,
    /// Deliveries that are dead.
    pub dead: u64,
    /// How deliveries have ended since the consumer first subscribed, including those that are no
    /// longer stored.
    pub totals: Totals,
    /// The share of dead deliveries, 0.0..=1.0, among the last 100 that ended and are still stored.
    pub failure_rate: f64,
    /// The time from emit to completion among these: the median and the 95th percentile.
    pub latency: Option<(Duration, Duration)>,
}

impl<'a> Consumers<'a> {
    /// The consumers of this store. Every call returns `Unsupported` if the store keeps no events.
    pub fn of(backend: &'a dyn Backend) -> Self {
        Self { backend }
    }

    /// The store's events.
    pub(crate) fn outbox(&self) -> Result<&'a dyn Outbox> {
        needed(self.backend.capabilities().outbox, "Outbox")
    }

    /// Creates the subscription of a consumer, or changes it if the code has changed since the last
    /// declaration. Changes by an operator persist until then. An existing subscription stays
    /// enabled or disabled, as the operator has set it (R14.4).
    ///
    /// ```
    /// use queuekit::events::SubscriptionDraft;
    /// use queuekit::Client;
    /// use queuekit::memory::MemoryStore;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// let shipping = SubscriptionDraft::new("shipping", "order.*").ordered().max_attempts(10);
    /// client.consumers().declare(shipping).await?;
    /// assert!(client.consumers().get("shipping").await?.is_some());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Invalid` if a field breaks its limit, which the error names, or if there would be too many
    /// subscriptions; `Unavailable`, `Indeterminate` (declare it again), `Closed`.
    pub async fn declare<S>(&self, subscription: S) -> Result<Declared>
    where
        S: TryInto<Subscription, Error: Into<Error>>,
    {
        let subscription: Subscription = parsed(subscription)?;
        let consumer = &subscription.consumer;
        let digest = digest_of(&subscription.switched(true), b"")?;
        let declared = self.change(|settings| {
            let (declared, enabled) = match settings.subscriptions.get(consumer) {
                Some(_) if settings.declared.get(consumer) == Some(&digest) => {
                    return Ok((false, Declared::Unchanged));
                }
                Some(stored) => (Declared::Changed, stored.enabled),
                None => (Declared::Created, subscription.enabled),
            };
            settings.put(&subscription.switched(enabled))?;
            settings.declared.insert(consumer.clone(), digest.clone());
            Ok((true, declared))
        });
        let declared = declared.await?;
        self.set_up_queue(consumer).await?;
        Ok(declared)
    }

    /// Creates or replaces the whole subscription of a consumer. Returns true if it is new.
    ///
    /// # Errors
    /// Those of [`declare`](Self::declare).
    pub async fn put<S>(&self, subscription: S) -> Result<bool>
    where
        S: TryInto<Subscription, Error: Into<Error>>,
    {
        let subscription: Subscription = parsed(subscription)?;
        let is_new = self.change(|settings| Ok((true, settings.put(&subscription)?))).await?;
        self.set_up_queue(&subscription.consumer).await?;
        Ok(is_new)
    }

    /// Like [`put`](Self::put), but an existing subscription stays enabled or disabled. Returns
    /// what is stored, and true if it is new.
    ///
    /// # Errors
    /// Those of [`declare`](Self::declare).
    pub async fn put_keeping_enabled<S>(&self, subscription: S) -> Result<(Subscription, bool)>
    where
        S: TryInto<Subscription, Error: Into<Error>>,
    {
        let subscription: Subscription = parsed(subscription)?;
        let consumer = &subscription.consumer;
        let put = self.change(|settings| {
            let stored = settings.subscriptions.get(consumer);
            let put = subscription.switched(stored.is_none_or(|stored| stored.enabled));
            let is_new = settings.put(&put)?;
            Ok((true, (put, is_new)))
        });
        let put = put.await?;
        self.set_up_queue(consumer).await?;
        Ok(put)
    }

    /// The subscription of a consumer.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    pub async fn get<C>(&self, consumer: C) -> Result<Option<Subscription>>
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
    {
        let consumer = &parsed(consumer)?;
        Ok(self.settings().await?.subscriptions.remove(consumer))
    }

    /// All subscriptions, by consumer.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    pub async fn list(&self) -> Result<Vec<Subscription>> {
        Ok(self.settings().await?.subscriptions.into_values().collect())
    }

    /// Removes the subscription: events make no more deliveries for this consumer. Stored
    /// deliveries stay. Returns false if there was no subscription.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    pub async fn remove<C>(&self, consumer: C) -> Result<bool>
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
    {
        let consumer = &parsed(consumer)?;
        self.change(|settings| {
            settings.declared.remove(consumer);
            settings.served.remove(consumer);
            let was_there = settings.subscriptions.remove(consumer).is_some();
            Ok((was_there, was_there))
        })
        .await
    }

    /// Enables or disables the subscription. While it is disabled, events make no deliveries; a
    /// replay can deliver them later.
    ///
    /// # Errors
    /// `NotFound`; `Unavailable`, `Indeterminate`, `Closed`.
    pub async fn set_enabled<C>(&self, consumer: C, enabled: bool) -> Result<()>
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
    {
        let consumer = &parsed(consumer)?;
        self.change(|settings| {
            let found = settings.subscriptions.get_mut(consumer);
            let subscription = found.ok_or_else(|| unknown(consumer))?;
            let changes = subscription.enabled != enabled;
            subscription.enabled = enabled;
            Ok((changes, ()))
        })
        .await
    }

    /// The figures of a consumer.
    ///
    /// # Errors
    /// `NotFound` if the consumer never had a subscription; `Unavailable`, `Closed`.
    pub async fn stats<C>(&self, consumer: C) -> Result<ConsumerStats>
    where
        C: TryInto<ConsumerName, Error: Into<Error>>,
    {
        let consumer = &parsed(consumer)?;
        let queue = consumer.queue()?;
        let found = self.backend.find_queues(std::slice::from_ref(&queue)).await?.pop();
        if found.is_none() && self.get(consumer).await?.is_none() {
            return Err(unknown(consumer));
        }
        let count = |state| found.as_ref().map_or(0, |found| found.counts.of_state(state).value);
        let mut recent = Vec::new();
        for status in [Status::Completed, Status::Dead] {
            let filter = JobFilter::default().queue(queue.clone()).status(status).limit(RECENT);
            recent.extend(self.backend.list_jobs(&filter).await?.items);
        }
        let (failure_rate, latency) = rates(recent);
        let (depth, in_flight) = (count(State::Pending), count(State::Running));
        let totals = found.as_ref().map_or_else(Totals::default, |found| found.totals);
        let dead = count(State::Dead);
        Ok(ConsumerStats { depth, in_flight, dead, totals, failure_rate, latency })
    }

    pub(crate) async fn settings(&self) -> Result<EventSettings> {
        EventSettings::read(&self.outbox()?.event_settings().await?.body)
    }

    /// Creates the queue of a consumer, or makes it serve partition keys as the subscription says.
    /// Settings of an operator persist until the subscription changes, except that an ordered
    /// subscription always keeps its order. If this is interrupted, the next change or declaration
    /// completes it.
    async fn set_up_queue(&self, consumer: &ConsumerName) -> Result<()> {
        let Some(admin) = self.backend.capabilities().admin else { return Ok(()) };
        let queue = consumer.queue()?;
        let mut mine = None;
        for _ in 0..TRIES {
            let stored = self.outbox()?.event_settings().await?;
            let mut settings = EventSettings::read(&stored.body)?;
            let wanted = settings.subscriptions.get(consumer).map(Subscription::keys);
            let Some(wanted) = wanted else { return Ok(()) };
            let is_done = settings.served.get(consumer) == Some(&wanted)
                && (wanted != Keys::InOrder || self.keeps_order(&queue).await?);
            // Another process may have set up the queue before this one did.
            if is_done && mine.is_none_or(|mine| mine == wanted) {
                return Ok(());
            }
            admin.configure(&queue, &wanted.patch()).await?;
            mine = Some(wanted);
            settings.served.insert(consumer.clone(), wanted);
            // The next round of the loop sees whether another process was first.
            self.outbox()?.change_event_settings(stored.version, &settings.write()?).await?;
        }
        Err(contended())
    }

    /// Whether this queue runs one job of a key at a time. A process with an older subscription may
    /// have been delayed, and have set up the queue afterwards.
    async fn keeps_order(&self, queue: &QueueName) -> Result<bool> {
        let found = self.backend.find_queues(std::slice::from_ref(queue)).await?.pop();
        Ok(found.is_some_and(|found| {
            found.settings.per_key == 1 && found.settings.key_on_wait == KeyOnWait::Block
        }))
    }

    /// Makes queues ordered before their subscription is stored as ordered. The reverse change
    /// comes after the subscription has changed.
    async fn put_in_order(&self, settings: &EventSettings) -> Result<()> {
        let Some(admin) = self.backend.capabilities().admin else { return Ok(()) };
        for (consumer, subscription) in &settings.subscriptions {
            let keys = subscription.keys();
            if keys == Keys::InOrder && !settings.served.contains_key(consumer) {
                admin.configure(&consumer.queue()?, &keys.patch()).await?;
            }
        }
        Ok(())
    }

    /// Reads the settings, decides, and writes them. Starts again if another process has changed
    /// them meanwhile.
    pub(crate) async fn change<T>(
        &self,
        decide: impl Fn(&mut EventSettings) -> Result<(bool, T)>,
    ) -> Result<T> {
        for _ in 0..TRIES {
            let stored = self.outbox()?.event_settings().await?;
            let mut settings = EventSettings::read(&stored.body)?;
            let (changes, answer) = decide(&mut settings)?;
            if !changes {
                return Ok(answer);
            }
            self.put_in_order(&settings).await?;
            if self.outbox()?.change_event_settings(stored.version, &settings.write()?).await? {
                return Ok(answer);
            }
        }
        Err(contended())
    }
}

fn contended() -> Error {
    let message = format!("subscriptions changed {TRIES} times during the call; try again");
    Error::new(ErrorKind::Unavailable, message)
}

impl EventSettings {
    fn put(&mut self, subscription: &Subscription) -> Result<bool> {
        let consumer = subscription.consumer.clone();
        let is_new = !self.subscriptions.contains_key(&consumer);
        if is_new && self.subscriptions.len() >= SUBSCRIPTIONS {
            let limit = format!("at most {SUBSCRIPTIONS} subscriptions");
            return Err(Error::invalid("subscriptions", limit, "one more").on(consumer));
        }
        if self.served.get(&consumer) != Some(&subscription.keys()) {
            self.served.remove(&consumer);
        }
        self.subscriptions.insert(consumer, subscription.clone());
        Ok(is_new)
    }
}

pub(super) fn unknown(consumer: &ConsumerName) -> Error {
    let message = "this consumer has no subscription; subscribe it first";
    Error::new(ErrorKind::NotFound, message).on(consumer)
}

/// The share that died among the latest ended deliveries, and how long the others took.
fn rates(mut ended: Vec<Job>) -> (f64, Option<(Duration, Duration)>) {
    ended.sort_by_key(|job| std::cmp::Reverse(job.finished_at));
    ended.truncate(RECENT);
    let completed = ended.iter().filter(|job| job.state == State::Completed);
    let mut latencies: Vec<Duration> =
        completed.filter_map(|job| Some(job.finished_at?.since(job.created_at))).collect();
    latencies.sort_unstable();
    let died = ended.len() - latencies.len();
    let failure_rate = if ended.is_empty() { 0.0 } else { died as f64 / ended.len() as f64 };
    let at = |share: usize| latencies.get((latencies.len() * share / 100).min(latencies.len() - 1));
    let latency = match latencies.is_empty() {
        true => None,
        false => at(50).copied().zip(at(95).copied()),
    };
    (failure_rate, latency)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::BackendExt;
    use crate::event::SubscriptionDraft;
    use crate::memory::{MemoryStore, Operation, When};

    async fn per_key(store: &MemoryStore) -> u32 {
        let queues = store.all_queues().await.unwrap();
        queues.iter().find(|queue| queue.name.as_str() == "event.c").unwrap().settings.per_key
    }

    #[tokio::test]
    async fn r14_4_order_is_kept_by_a_change_that_was_broken_off_and_finished_by_the_next() {
        let store = MemoryStore::new();
        let consumers = Consumers::of(&store);
        let wants = || SubscriptionDraft::new("c", "*");
        let [ordered, fair] = [wants().ordered(), wants().fair()].map(|one| one.build().unwrap());
        consumers.declare(&ordered).await.unwrap();
        store.faults().fail(Operation::ChangeEventSettings, 1, When::Before);
        consumers.declare(&fair).await.unwrap_err();
        assert_eq!(per_key(&store).await, 1, "it is ordered still");
        assert_eq!(consumers.declare(&ordered).await.unwrap(), Declared::Unchanged);
        assert_eq!(per_key(&store).await, 1);
        store.faults().fail(Operation::Configure, 1, When::Before);
        consumers.declare(&fair).await.unwrap_err();
        assert_eq!(consumers.declare(&fair).await.unwrap(), Declared::Unchanged);
        assert!(per_key(&store).await > 1, "what was broken off is finished");
        store.faults().fail(Operation::ChangeEventSettings, 1, When::Before);
        consumers.declare(&ordered).await.unwrap_err();
        assert_eq!(per_key(&store).await, 1, "order is there before it is wanted");
        consumers.declare(&ordered).await.unwrap();
        let late = Keys::InTurn.patch();
        let queue = ordered.consumer().queue().unwrap();
        store.capabilities().admin.unwrap().configure(&queue, &late).await.unwrap();
        consumers.declare(&ordered).await.unwrap();
        assert_eq!(per_key(&store).await, 1, "who was held up has not the last word");
    }
}
