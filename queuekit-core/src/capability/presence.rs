//! Presence of workers.

use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::about::About;
use super::control::Orders;
use crate::backend::{AnswerBytes, LeaseTtl, PageSize};
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{BEAT_NAMES, BEAT_TTL, ORDER_SEQ, QUIET};
use crate::names::{Kind, QueueName, WorkerId};

/// Says that a worker is alive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Beat {
    /// The id of the worker, new at each start.
    pub id: WorkerId,
    /// Its name; several workers may share one.
    pub name: String,
    /// The queues it serves.
    pub queues: Served<QueueName>,
    /// The kinds it has handlers for. The name of a consumer's queue among them means every event
    /// type of that consumer.
    pub kinds: Served<Kind>,
    /// How many jobs it can run at once.
    pub slots: u32,
    /// How many jobs it runs now.
    pub running: u32,
    /// Listed until 3 ttl after the beat.
    pub ttl: BeatTtl,
    /// Listed for this much longer: the worker makes no call meanwhile. More than [`QUIET`] counts
    /// as that.
    #[serde(default)]
    pub quiet_for: Duration,
    /// Its process, and the jobs that it runs.
    #[serde(default)]
    pub about: About,
    /// The number of the last order that the worker has obeyed ([`Orders::seq`]). A listed worker
    /// has its orders instead, and 0 here.
    #[serde(default)]
    pub obeyed: u64,
}

impl Beat {
    /// The beat of a worker without a name that runs one job at a time, and none now.
    pub fn new(
        id: WorkerId,
        queues: Served<QueueName>,
        kinds: Served<Kind>,
        ttl: impl Into<BeatTtl>,
    ) -> Self {
        let (name, ttl) = (String::new(), ttl.into());
        let (quiet_for, about, obeyed) = (Duration::ZERO, About::default(), 0);
        Self { id, name, queues, kinds, slots: 1, running: 0, ttl, quiet_for, about, obeyed }
    }

    /// For how long after this beat the worker is listed (contract R3.9).
    pub fn listed_for(&self) -> Duration {
        self.ttl.listed_for() + self.quiet_for()
    }

    /// How much longer than 3 ttl, within its limit.
    pub fn quiet_for(&self) -> Duration {
        self.quiet_for.min(QUIET)
    }

    /// The last order that it has obeyed, within what stores can compare: a number beyond twice
    /// [`ORDER_SEQ`] counts as that.
    pub fn obeyed(&self) -> u64 {
        self.obeyed.min(2 * ORDER_SEQ)
    }

    /// Whether the worker is listed now, if its last beat came at `at` (contract R3.9).
    pub fn is_listed(&self, at: Timestamp, now: Timestamp) -> bool {
        now.since(at) < self.listed_for()
    }

    /// Whether this worker serves the queue, or may do so.
    pub fn serves_queue(&self, queue: &QueueName) -> bool {
        self.queues.any(|named| named == queue)
    }

    /// Whether jobs of this kind in this queue are run by this worker, or may be.
    pub fn serves(&self, queue: &QueueName, kind: &Kind) -> bool {
        let all_of_consumer = |has: &Kind| queue.is_reserved() && has.as_str() == queue.as_str();
        self.serves_queue(queue) && self.kinds.any(|has| has == kind || all_of_consumer(has))
    }
}

/// The names that a worker serves: at most [`BEAT_NAMES`], and whether there are more. A worker
/// with more may serve any other name too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Served<N> {
    names: Vec<N>,
    more: bool,
}

impl<N> Served<N> {
    /// These names, and perhaps more.
    ///
    /// # Errors
    /// `Invalid` if these are more than [`BEAT_NAMES`].
    pub fn new(names: Vec<N>, more: bool) -> Result<Self> {
        if names.len() <= BEAT_NAMES {
            return Ok(Self { names, more });
        }
        let limit = format!("at most {BEAT_NAMES} names");
        let message = format!(
            "names: {} in one beat, {limit}; name {BEAT_NAMES}, and say that there are more",
            names.len()
        );
        Err(Error::new(ErrorKind::Invalid { item: None, field: "names", limit }, message))
    }

    /// The first [`BEAT_NAMES`] of these names, and whether there are more.
    pub fn first(names: impl IntoIterator<Item = N>) -> Self {
        let mut rest = names.into_iter();
        let names = rest.by_ref().take(BEAT_NAMES).collect();
        Self { names, more: rest.next().is_some() }
    }

    /// The same, with more than are named if so.
    #[must_use]
    pub fn or_more(mut self, more: bool) -> Self {
        self.more |= more;
        self
    }

    /// The names.
    pub fn names(&self) -> &[N] {
        &self.names
    }

    /// Whether there are more than are named.
    pub fn has_more(&self) -> bool {
        self.more
    }

    /// Whether the worker serves this name, or may do so.
    pub(super) fn any(&self, is: impl Fn(&N) -> bool) -> bool {
        self.more || self.names.iter().any(is)
    }
}

/// The mark after the names if there are more; it is not a valid name.
const MORE: &str = "+";

/// As one text, for stores that have no lists. No name contains a space.
impl<N: AsRef<str> + FromStr> Served<N> {
    /// The names, and a mark if there are more.
    pub fn to_text(&self) -> String {
        let names = self.names.iter().map(AsRef::as_ref);
        names.chain(self.more.then_some(MORE)).collect::<Vec<_>>().join(" ")
    }

    /// Reads what [`to_text`](Self::to_text) wrote, and skips invalid names.
    pub fn from_text(text: &str) -> Self {
        let words = || text.split_whitespace();
        Self::first(words().flat_map(N::from_str)).or_more(words().any(|word| word == MORE))
    }
}

impl<N: AsRef<str> + FromStr> Serialize for Served<N> {
    fn serialize<S: Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        to.serialize_str(&self.to_text())
    }
}

impl<'de, N: AsRef<str> + FromStr> Deserialize<'de> for Served<N> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        String::deserialize(from).map(|text| Self::from_text(&text))
    }
}

/// How long a beat counts: the worker is listed for three times as long. A ttl above [`BEAT_TTL`]
/// counts as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct BeatTtl(Duration);

impl<'de> Deserialize<'de> for BeatTtl {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        Duration::deserialize(from).map(|ttl| Self(ttl.min(BEAT_TTL)))
    }
}

impl BeatTtl {
    /// The length.
    pub fn get(self) -> Duration {
        self.0
    }

    /// For how long after its beat a worker is listed that makes calls (contract R3.9).
    pub fn listed_for(self) -> Duration {
        self.0 * 3
    }
}

impl From<LeaseTtl> for BeatTtl {
    fn from(ttl: LeaseTtl) -> Self {
        Self(ttl.get().min(BEAT_TTL))
    }
}

/// A live worker.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerInfo {
    /// Its last beat.
    pub beat: Beat,
    /// How long ago that was.
    pub age: Duration,
    /// What it was ordered to do and has not obeyed yet.
    pub orders: Orders,
}

impl WorkerInfo {
    /// A worker without orders whose last beat came this long ago.
    pub fn new(mut beat: Beat, age: Duration) -> Self {
        beat.obeyed = 0;
        Self { beat, age, orders: Orders::default() }
    }

    /// The same with these orders.
    #[must_use]
    pub fn with_orders(self, orders: Orders) -> Self {
        Self { orders, ..self }
    }

    /// The bytes that count towards those of an answer (contract R8.9).
    pub fn bytes(&self) -> usize {
        let Beat { name, queues, kinds, about, .. } = &self.beat;
        let queues: usize = queues.names().iter().map(|queue| queue.as_str().len()).sum();
        let kinds: usize = kinds.names().iter().map(|kind| kind.as_str().len()).sum();
        name.len() + queues + kinds + about.bytes()
    }
}

/// One page of the live workers.
// Exhaustive: a page is its items and where the next begins.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkerPage {
    /// By id; may be short or empty though more pages follow.
    pub workers: Vec<WorkerInfo>,
    /// The id after which the next page begins; none at the end.
    pub after: Option<WorkerId>,
}

impl WorkerPage {
    /// Takes the next worker by id. False if it is beyond the limit or the bytes of an answer: it
    /// and those behind it are left to the next page.
    pub fn take(&mut self, limit: PageSize, bytes: &mut AnswerBytes, worker: WorkerInfo) -> bool {
        let fits = self.workers.len() < limit.get() && bytes.admit(worker.bytes());
        match fits {
            true => self.workers.push(worker),
            false => self.end(),
        }
        fits
    }

    /// Notes that there are more workers than these.
    pub fn end(&mut self) {
        self.after = self.workers.last().map(|last| last.beat.id.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(name: &str) -> QueueName {
        QueueName::new(name).unwrap()
    }

    fn kind(name: &str) -> Kind {
        Kind::new(name).unwrap()
    }

    fn beat(queues: &[&str], kinds: &[&str]) -> Beat {
        let queues = Served::first(queues.iter().map(|name| queue(name)));
        let kinds = Served::first(kinds.iter().map(|name| kind(name)));
        Beat::new(WorkerId::new("w").unwrap(), queues, kinds, LeaseTtl::default())
    }

    #[test]
    fn r6_9_a_consumers_queue_among_the_kinds_stands_for_all_its_types() {
        let exact = beat(&["event.a", "work"], &["order.paid"]);
        let paid = kind("order.paid");
        assert!(exact.serves(&queue("event.a"), &paid) && exact.serves(&queue("work"), &paid));
        let any = beat(&["event.a", "event.b", "work"], &["event.a", "work"]);
        assert!(any.serves(&queue("event.a"), &paid));
        assert!(!any.serves(&queue("event.b"), &paid) && !any.serves(&queue("work"), &paid));
    }

    #[test]
    fn r3_9_what_is_served_survives_its_text() {
        let named = |more| Served::new(vec![queue("a"), queue("b:c")], more).unwrap();
        assert_eq!(named(false).to_text(), "a b:c");
        assert_eq!(named(true).to_text(), "a b:c +");
        for served in [named(false), named(true), Served::first([])] {
            assert_eq!(Served::from_text(&served.to_text()), served);
        }
        let many: Vec<String> = (0..=BEAT_NAMES).map(|n| format!("q{n}")).collect();
        let read = Served::<QueueName>::from_text(&many.join(" "));
        assert_eq!(
            (read.names().len(), read.has_more()),
            (BEAT_NAMES, true),
            "of before the bound"
        );
    }
}
