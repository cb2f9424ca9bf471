//! What a store knows of events beside the events: one small document, changed as a whole.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::subscription::Keys;
use super::{NewEvent, Subscription};
use crate::capability::Emission;
use crate::clock::Timestamp;
use crate::digest;
use crate::error::{Error, ErrorKind, Result};
use crate::job::{JobDraft, JobId, Metadata, NewJob, Priority};
use crate::limits::{DELAY, DELIVERIES_PER_CALL, RETENTION_AGE_MIN, RETENTION_GRACE, countable};
use crate::names::{ConsumerName, PartitionKey, QueueName};
use crate::retry::RetryPolicy;

/// In the metadata of a delivery: the id of its event.
pub const EVENT: &str = "queuekit.event";
/// In the metadata of a delivery: the retry policy of its subscription, if it has one.
pub const RETRY: &str = "queuekit.retry";

/// When a delivery that failed is tried again, by the subscription that it is of; none if that says
/// nothing, or if the job is no delivery (R14.7).
pub fn retry_of_delivery(queue: &QueueName, metadata: &Metadata) -> Option<RetryPolicy> {
    let subscribed = queue.is_reserved().then(|| metadata.get(RETRY)).flatten();
    subscribed.and_then(RetryPolicy::read)
}

/// All subscriptions, and how long events are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventSettings {
    /// By consumer.
    pub subscriptions: BTreeMap<ConsumerName, Subscription>,
    /// What the code of applications has declared last, as digests.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) declared: BTreeMap<ConsumerName, String>,
    /// How the queue of each consumer was last set up to serve partition keys; missing where that
    /// is still to be done.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) served: BTreeMap<ConsumerName, Keys>,
    /// How long the log keeps events.
    pub retention: EventRetention,
}

/// How long events stay in the log: one goes when it is beyond either bound (R14.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRetention {
    age_ms: u64,
    events: u64,
}

/// What becomes of an event of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is beyond the retention.
    Goes,
    /// It stays, as all do that stand behind it.
    Stays,
    /// A clock that was ahead has stored it: it stays, and others behind it may go.
    WaitsForClock,
}

/// A week, and a million events.
impl Default for EventRetention {
    fn default() -> Self {
        Self { age_ms: 7 * 24 * 3600 * 1000, events: 1_000_000 }
    }
}

impl EventRetention {
    /// Events stay for this long, at least 10 min, and at most this number of them; the number
    /// never removes an event that was emitted less than 60 s ago.
    ///
    /// # Errors
    /// `Invalid` if the age is under 10 min, the number 0, or either more than a store counts.
    pub fn new(age: Duration, events: u64) -> Result<Self> {
        if age < RETENTION_AGE_MIN {
            return Err(Error::invalid("retention age", "at least 10 min", format!("{age:?}")));
        }
        if events == 0 {
            return Err(Error::invalid("retention events", "at least 1", events));
        }
        let age_ms = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
        countable("retention age", Some(age_ms))?;
        countable("retention events", Some(events))?;
        Ok(Self { age_ms, events })
    }

    /// How long.
    pub fn age(&self) -> Duration {
        Duration::from_millis(self.age_ms)
    }

    /// Whether an event of this age goes, which is beyond the number or not.
    pub fn lets_go(&self, age: Duration, is_beyond_number: bool) -> bool {
        age >= self.age() || (is_beyond_number && age >= RETENTION_GRACE)
    }

    /// What becomes of an event of this time, which is beyond the number or not.
    pub fn fate(&self, emitted_at: Timestamp, now: Timestamp, is_beyond_number: bool) -> Fate {
        match self.lets_go(now.since(emitted_at), is_beyond_number) {
            true => Fate::Goes,
            false if emitted_at > now => Fate::WaitsForClock,
            false => Fate::Stays,
        }
    }

    /// How many.
    pub fn events(&self) -> u64 {
        self.events
    }
}

impl EventSettings {
    /// What is stored.
    ///
    /// # Errors
    /// `Corrupt` if it cannot be written.
    pub fn write(&self) -> Result<Bytes> {
        serde_json::to_vec(self).map(Bytes::from).map_err(|error| corrupt().caused_by(error))
    }

    /// What was stored; nothing at all says the default.
    ///
    /// # Errors
    /// `Corrupt` if it cannot be read: then nothing is emitted, so that no consumer misses
    /// anything.
    pub fn read(body: &[u8]) -> Result<Self> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_slice(body).map_err(|error| corrupt().caused_by(error))
    }

    /// Events with their deliveries, for a store whose settings are these, of this version (R14.1).
    ///
    /// # Errors
    /// `Invalid` if an event is too large to be delivered, or if the call makes too many
    /// deliveries.
    pub fn emission(&self, version: u64, events: &[NewEvent]) -> Result<Emission> {
        let mut emission = Emission { version, events: Vec::with_capacity(events.len()) };
        let mut count = 0;
        for (item, event) in events.iter().enumerate() {
            let at = |error: Error| error.at_item(item).on(event.id());
            let deliveries = self.deliveries(event).map_err(at)?;
            count += deliveries.len();
            emission.events.push((event.clone(), deliveries));
        }
        if count > DELIVERIES_PER_CALL && events.len() > 1 {
            let limit = format!("at most {DELIVERIES_PER_CALL} deliveries; emit fewer at once");
            return Err(Error::invalid("events per call", limit, count));
        }
        Ok(emission)
    }

    /// One per subscription that wants it.
    fn deliveries(&self, event: &NewEvent) -> Result<Vec<NewJob>> {
        let wants =
            |subscription: &&Subscription| subscription.enabled && subscription.wants(event);
        let wanting = self.subscriptions.values().filter(wants);
        wanting.map(|subscription| subscription.delivery(event, None)).collect()
    }
}

impl Subscription {
    pub(super) fn wants(&self, event: &NewEvent) -> bool {
        self.events.matches(&event.kind)
    }

    /// The job that delivers an event; of a replay, if it has a name, one that stays behind the
    /// live ones: of low priority, and under a partition key of the replay's own (R14.5).
    pub(super) fn delivery(&self, event: &NewEvent, replay: Option<&str>) -> Result<NewJob> {
        let queue = self.consumer.queue()?;
        let id = JobId::of_delivery(&queue, event.id, replay);
        let mut metadata = event.metadata.clone();
        metadata.insert(EVENT, event.id.to_string());
        if let Some(retry) = &self.retry {
            metadata.insert(RETRY, retry.as_str());
        }
        let mut draft = JobDraft::new(&event.kind, event.data.clone())
            .queue(queue)
            .max_attempts(self.max_attempts)
            .timeout(self.timeout())
            .delay((self.delay() + event.delay).min(DELAY))
            .metadata(metadata);
        if replay.is_some() {
            draft = draft.priority(Priority::LOW);
        }
        draft = match (replay, &event.partition_key) {
            (Some(name), _) if self.is_fair() => draft.partition_key(replay_key(name)?),
            (None, Some(key)) if self.is_fair() => draft.partition_key(key),
            _ => draft,
        };
        draft.delivery(event.id, id)
    }
}

/// One key for all events of a replay: they are in the order of the log, and however many they are,
/// live keys wait for one turn of theirs.
fn replay_key(replay: &str) -> Result<PartitionKey> {
    PartitionKey::new(format!("replay:{}", digest::short(replay)))
}

fn corrupt() -> Error {
    let message = "the stored subscriptions cannot be read: they were written by a newer version, \
                   which is to be used again, or by hand, which is to be undone";
    Error::new(ErrorKind::Corrupt, message)
}
