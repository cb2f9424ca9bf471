//! The outcomes of what was stored together.

use std::slice;
use std::vec;

use crate::backend::{EnqueueOutcome, enqueued};
use crate::capability::{EmitOutcome, emitted};
use crate::error::{Error, Result};
use crate::event::EventId;
use crate::job::JobId;

/// The outcomes of [`Client::enqueue_all`](super::Client::enqueue_all), and of the stores'
/// `enqueue_in`.
pub type Enqueued = Outcomes<EnqueueOutcome>;

/// The outcomes of [`Client::emit_all`](super::Client::emit_all), and of the stores' `emit_in`.
pub type Emitted = Outcomes<EmitOutcome>;

/// One outcome for each job or event of a batch, in order.
///
/// A batch that was stored may still have refused some of its jobs or events: their queue was full,
/// or their id is taken by another one. `ids` turns a refusal into an error; to handle refusals one
/// by one, iterate over the outcomes.
///
/// ```
/// # use queuekit::{Client, EnqueueOutcome, JobDraft, memory::MemoryStore};
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// let drafts = ["a", "b"].map(|text| JobDraft::new("greet", text));
/// let ids = client.enqueue_all(drafts).await?.ids()?;
/// assert_eq!(ids.len(), 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use = "some of them may have been refused: `.ids()?` fails if one was"]
pub struct Outcomes<O>(Vec<O>);

impl Outcomes<EnqueueOutcome> {
    /// The id of each job, or that of its duplicate.
    ///
    /// # Errors
    /// `Conflict` or `QueueFull` for the first job that was refused, with its position. The other
    /// jobs of the batch are stored.
    pub fn ids(self) -> Result<Vec<JobId>> {
        self.each("enqueue", enqueued)
    }
}

impl Outcomes<EmitOutcome> {
    /// The id of each event, or that of its duplicate.
    ///
    /// # Errors
    /// `Conflict` for the first event that was refused, with its position. The other events of the
    /// batch are stored.
    pub fn ids(self) -> Result<Vec<EventId>> {
        self.each("emit", emitted)
    }
}

impl<O> Outcomes<O> {
    /// The outcomes.
    pub fn as_slice(&self) -> &[O] {
        &self.0
    }

    /// The outcomes, one after the other.
    pub fn iter(&self) -> slice::Iter<'_, O> {
        self.0.iter()
    }

    fn each<I>(self, operation: &'static str, id: fn(O) -> Result<I>) -> Result<Vec<I>> {
        let id = |(item, outcome)| {
            let refused = |error: Error| error.on(format!("item {item}")).during(operation);
            id(outcome).map_err(refused)
        };
        self.0.into_iter().enumerate().map(id).collect()
    }
}

/// For stores: one outcome per job or event, in their order.
impl<O> From<Vec<O>> for Outcomes<O> {
    fn from(outcomes: Vec<O>) -> Self {
        Self(outcomes)
    }
}

impl<O> IntoIterator for Outcomes<O> {
    type Item = O;
    type IntoIter = vec::IntoIter<O>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, O> IntoIterator for &'a Outcomes<O> {
    type Item = &'a O;
    type IntoIter = slice::Iter<'a, O>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::MemoryStore;
    use crate::{Client, ErrorKind, EventDraft, JobDraft, QueuePatch};

    #[tokio::test]
    async fn a_refusal_in_a_batch_is_an_error_that_names_the_item() {
        let client = Client::new(MemoryStore::new());
        let one = QueuePatch::default().max_pending(1);
        client.queues().configure("small", &one).await.unwrap();
        let drafts = || ["large", "small", "small"].map(|q| JobDraft::new("work", "").queue(q));
        let enqueued = client.enqueue_all(drafts()).await.unwrap();
        assert_eq!(enqueued.iter().filter(|outcome| outcome.is_created()).count(), 2);
        let error = enqueued.ids().unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::QueueFull { .. }), "{error}");
        assert!(error.to_string().contains("item 2"), "{error}");
    }

    #[tokio::test]
    async fn a_refused_event_in_a_batch_is_an_error_that_names_the_item() {
        let client = Client::new(MemoryStore::new());
        let id = client.emit(EventDraft::new("order.placed", "7")).await.unwrap();
        let other = |data: &'static str| EventDraft::new("order.placed", data);
        let events = [other("8"), other("9").id(id)];
        let error = client.emit_all(events).await.unwrap().ids().unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Conflict, "{error}");
        assert!(error.to_string().contains("item 1"), "{error}");
    }
}
