//! What workers say of themselves.

use std::str::FromStr;
use std::time::Duration;

use crate::backend::LeaseTtl;
use crate::error::{Error, ErrorKind, Result};
use crate::limits::{BEAT_NAMES, BEAT_TTL};
use crate::names::{Kind, QueueName, WorkerId};

/// A worker says that it is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Beat {
    /// This incarnation.
    pub id: WorkerId,
    /// The name it was given; several may share one.
    pub name: String,
    /// The queues it serves.
    pub queues: Served<QueueName>,
    /// The kinds it has handlers for. The name of a consumer's queue among them stands for every
    /// type of event of that consumer.
    pub kinds: Served<Kind>,
    /// Jobs it can run at once.
    pub slots: u32,
    /// Jobs it runs.
    pub running: u32,
    /// Listed until 3 ttl after the beat.
    pub ttl: BeatTtl,
}

impl Beat {
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

/// What a worker serves, by name: at most [`BEAT_NAMES`] names, and whether there are more. A
/// worker that has more may serve any other name, too.
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

    /// The first [`BEAT_NAMES`] of these names, and that there are more if so.
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

    /// Those that are named.
    pub fn names(&self) -> &[N] {
        &self.names
    }

    /// Whether there are more than are named.
    pub fn has_more(&self) -> bool {
        self.more
    }

    /// Whether one of them is such a name, or may be.
    fn any(&self, is: impl Fn(&N) -> bool) -> bool {
        self.more || self.names.iter().any(is)
    }
}

/// What no name is: it stands behind them where there are more.
const MORE: &str = "+";

/// As one text, for stores that have no lists: no name has a space in it.
impl<N: AsRef<str> + FromStr> Served<N> {
    /// The names, and a mark if there are more.
    pub fn to_text(&self) -> String {
        let names = self.names.iter().map(AsRef::as_ref);
        names.chain(self.more.then_some(MORE)).collect::<Vec<_>>().join(" ")
    }

    /// What [`to_text`](Self::to_text) wrote; what is no name is passed over.
    pub fn from_text(text: &str) -> Self {
        let words = || text.split_whitespace();
        Self::first(words().flat_map(N::from_str)).or_more(words().any(|word| word == MORE))
    }
}

/// How long a beat counts: the worker is listed for three times as long. A ttl above [`BEAT_TTL`]
/// counts as that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BeatTtl(Duration);

impl BeatTtl {
    /// The length.
    pub fn get(self) -> Duration {
        self.0
    }

    /// For how long after its beat a worker is listed (contract R3.9).
    pub fn listed_for(self) -> Duration {
        self.0 * 3
    }
}

impl From<LeaseTtl> for BeatTtl {
    fn from(ttl: LeaseTtl) -> Self {
        Self(ttl.get().min(BEAT_TTL))
    }
}

/// A worker that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerInfo {
    /// Its last beat.
    pub beat: Beat,
    /// How long ago that was.
    pub age: Duration,
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
        Beat {
            id: WorkerId::new("w").unwrap(),
            name: String::new(),
            queues: Served::first(queues.iter().map(|name| queue(name))),
            kinds: Served::first(kinds.iter().map(|name| kind(name))),
            slots: 1,
            running: 0,
            ttl: LeaseTtl::default().into(),
        }
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
