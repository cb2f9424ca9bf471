//! The outcomes of jobs that were enqueued together.

use std::slice;
use std::vec;

use crate::backend::{EnqueueOutcome, enqueued};
use crate::error::Result;
use crate::job::JobId;

/// The outcomes of [`Client::enqueue_all`](super::Client::enqueue_all), and of the stores'
/// `enqueue_in`, one per job, in order.
///
/// A batch that was stored may still have refused some of its jobs: their queue was full, or their
/// id belongs to another job. [`ids`](Self::ids) turns a refusal into an error; to handle refusals
/// one by one, iterate over the outcomes.
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
#[must_use = "some of the jobs may have been refused: `.ids()?` fails if one was"]
pub struct Enqueued(Vec<EnqueueOutcome>);

impl Enqueued {
    /// The id of each job, or that of its duplicate.
    ///
    /// # Errors
    /// `Conflict` or `QueueFull` for the first job that was refused, with its position. The other
    /// jobs of the batch are stored.
    pub fn ids(self) -> Result<Vec<JobId>> {
        let id = |(item, outcome)| {
            let refused = |error: crate::Error| error.on(format!("item {item}")).during("enqueue");
            enqueued(outcome).map_err(refused)
        };
        self.0.into_iter().enumerate().map(id).collect()
    }

    /// The outcomes.
    pub fn iter(&self) -> slice::Iter<'_, EnqueueOutcome> {
        self.0.iter()
    }
}

/// For stores: one outcome per job, in the order of the jobs.
impl From<Vec<EnqueueOutcome>> for Enqueued {
    fn from(outcomes: Vec<EnqueueOutcome>) -> Self {
        Self(outcomes)
    }
}

impl IntoIterator for Enqueued {
    type Item = EnqueueOutcome;
    type IntoIter = vec::IntoIter<EnqueueOutcome>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Enqueued {
    type Item = &'a EnqueueOutcome;
    type IntoIter = slice::Iter<'a, EnqueueOutcome>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::MemoryStore;
    use crate::{Client, ErrorKind, JobDraft, QueuePatch};

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
}
