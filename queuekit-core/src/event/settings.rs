//! Subscriptions and retention: one small document, which is changed as a whole.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use serde::{Deserialize, Serialize};

use super::subscription::Keys;
use super::{NewEvent, Subscription};
use crate::capability::{Emission, StoredSettings};
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

/// The retry policy that the subscription of a delivery sets; none if it sets none, or if the job
/// is not a delivery (R14.7).
pub fn retry_of_delivery(queue: &QueueName, metadata: &Metadata) -> Option<RetryPolicy> {
    let subscribed = queue.is_reserved().then(|| metadata.get(RETRY)).flatten();
    subscribed.and_then(RetryPolicy::read)
}

/// All subscriptions, and how long events are kept.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventSettings {
    /// Subscriptions by consumer.
    pub subscriptions: BTreeMap<ConsumerName, Subscription>,
    /// Digests of the last declarations of applications.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) declared: BTreeMap<ConsumerName, String>,
    /// How the queue of each consumer was last set up to serve partition keys; missing if that has
    /// not been done yet.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) served: BTreeMap<ConsumerName, Keys>,
    /// How long the log keeps events.
    pub retention: EventRetention,
}

/// How long events stay in the log: an event that exceeds either limit is removed (R14.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRetention {
    age_ms: u64,
    events: u64,
}

/// Whether retention removes an event.
// Exhaustive: a store has to act on each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It exceeds the retention and is removed.
    Goes,
    /// It stays, and so do all events after it.
    Stays,
    /// Its time is in the future, because a clock was ahead: it stays, and events after it may be
    /// removed.
    WaitsForClock,
}

/// A week, and a million events.
impl Default for EventRetention {
    fn default() -> Self {
        Self { age_ms: 7 * 24 * 3600 * 1000, events: 1_000_000 }
    }
}

impl EventRetention {
    /// Keeps events for this time, at least 10 min, and at most this number of them. The number
    /// never removes an event that was emitted less than 60 s ago.
    ///
    /// # Errors
    /// `Invalid` if the age is under 10 min, if the number is 0, or if either exceeds what stores
    /// can count.
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

    /// The longest age of an event.
    pub fn age(&self) -> Duration {
        Duration::from_millis(self.age_ms)
    }

    /// Whether an event of this age is removed. `is_beyond_number` says that enough newer events
    /// exist.
    pub fn lets_go(&self, age: Duration, is_beyond_number: bool) -> bool {
        age >= self.age() || (is_beyond_number && age >= RETENTION_GRACE)
    }

    /// Whether an event of this time is removed. `is_beyond_number` says that enough newer events
    /// exist.
    pub fn fate(&self, emitted_at: Timestamp, now: Timestamp, is_beyond_number: bool) -> Fate {
        match self.lets_go(now.since(emitted_at), is_beyond_number) {
            true => Fate::Goes,
            false if emitted_at > now => Fate::WaitsForClock,
            false => Fate::Stays,
        }
    }

    /// The largest number of events.
    pub fn events(&self) -> u64 {
        self.events
    }
}

impl EventSettings {
    /// The document to store.
    ///
    /// # Errors
    /// `Corrupt` if the document cannot be written.
    pub fn write(&self) -> Result<Bytes> {
        serde_json::to_vec(self).map(Bytes::from).map_err(|error| corrupt().caused_by(error))
    }

    /// Reads the stored document; an empty one stands for the defaults.
    ///
    /// # Errors
    /// `Corrupt` if it cannot be read. Emits then fail, so that no consumer misses an event.
    pub fn read(body: &[u8]) -> Result<Self> {
        if body.is_empty() {
            return Ok(Self::default());
        }
        serde_json::from_slice(body).map_err(|error| corrupt().caused_by(error))
    }

    /// Finds the deliveries of events under these settings, which have this version (R14.1).
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

    /// A delivery for each subscription that matches the event.
    fn deliveries(&self, event: &NewEvent) -> Result<Vec<NewJob>> {
        let wants =
            |subscription: &&Subscription| subscription.enabled && subscription.wants(event);
        let wanting = self.subscriptions.values().filter(wants);
        wanting.map(|subscription| subscription.delivery(event, None)).collect()
    }
}

impl Emission {
    /// The same events with their deliveries under these settings; none if it was made under them.
    ///
    /// # Errors
    /// `Corrupt` if the settings cannot be read; those of [`EventSettings::emission`].
    pub fn under(&self, settings: &StoredSettings) -> Result<Option<Self>> {
        if self.version == settings.version {
            return Ok(None);
        }
        let events: Vec<NewEvent> = self.events.iter().map(|(event, _)| event.clone()).collect();
        EventSettings::read(&settings.body)?.emission(settings.version, &events).map(Some)
    }
}

impl Subscription {
    pub(super) fn wants(&self, event: &NewEvent) -> bool {
        self.events.matches(&event.kind)
    }

    /// The job that delivers an event. In a replay, which has a name, it has low priority and the
    /// partition key of the replay, so that live deliveries go first (R14.5).
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

/// One key for all events of a replay. So they run in the order of the log, and live keys wait for
/// only one turn of the replay, however many events it has.
fn replay_key(replay: &str) -> Result<PartitionKey> {
    PartitionKey::new(format!("replay:{}", digest::short(replay)))
}

fn corrupt() -> Error {
    let message = "the stored subscriptions cannot be read: use the newer version that wrote them, \
                   or undo a change that was made by hand";
    Error::new(ErrorKind::Corrupt, message)
}
