//! Error groups as applications and operators use them.

use std::time::Duration;

use super::jobs::{admin, bulk_pages};
use crate::backend::{Backend, JobFilter, PageSize, needed};
use crate::bulk::{BulkAction, BulkTotals};
use crate::capability;
use crate::error::{Error, Result, parsed};
use crate::error_group::{ErrorGroup, GroupId, GroupNote};
use crate::limits::PAGE_JOBS;
use crate::names::QueueName;
use crate::queue::QueuePatch;

/// The error groups of a store; from [`Client::error_groups`](super::Client::error_groups).
///
/// ```
/// use queuekit::{Client, JobDraft, memory::MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// let id = client.enqueue(JobDraft::new("export", "{}")).await?;
/// client.jobs().dead_letter(id, "order 42 is gone").await?;
/// let groups = client.error_groups().list(50).await?;
/// assert_eq!(groups[0].key.signature.as_str(), "order <n> is gone");
/// assert_eq!(client.error_groups().retry(groups[0].key.id()).await?.changed, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct ErrorGroups<'a> {
    backend: &'a dyn Backend,
}

impl<'a> ErrorGroups<'a> {
    pub(super) fn of(backend: &'a dyn Backend) -> Self {
        Self { backend }
    }

    /// The most recent groups of all queues, at most `limit`, the most recent first.
    ///
    /// # Errors
    /// `Invalid` if `limit` is not a [`PageSize`]; `Unsupported`; those of
    /// [`list_error_groups`](capability::ErrorGroups::list_error_groups).
    pub async fn list(self, limit: usize) -> Result<Vec<ErrorGroup>> {
        let list = async {
            let limit = PageSize::new(limit)?;
            let mut latest = Vec::new();
            let mut pages = QueuePages::of(self.backend);
            while let Some(queues) = pages.next().await? {
                latest.extend(self.store()?.list_error_groups(&queues, limit).await?);
                ErrorGroup::keep_latest(&mut latest, limit.get());
            }
            Ok(latest)
        };
        list.await.map_err(|error: Error| error.during("list_error_groups"))
    }

    /// The most recent groups of one queue, at most `limit`, the most recent first.
    ///
    /// # Errors
    /// `Invalid` if the name is not a queue's; those of [`list`](Self::list).
    pub async fn list_of<Q>(self, queue: Q, limit: usize) -> Result<Vec<ErrorGroup>>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        let list = async {
            let (queue, limit) = (parsed(queue)?, PageSize::new(limit)?);
            self.store()?.list_error_groups(&[queue], limit).await
        };
        list.await.map_err(|error: Error| error.during("list_error_groups"))
    }

    /// The group of this id in each queue that has it; empty if none has it, or none any more. The
    /// store is asked for all groups, a few queues at a time.
    ///
    /// # Errors
    /// `Invalid` if the id is not a group's; `Unsupported`; those of
    /// [`list_error_groups`](capability::ErrorGroups::list_error_groups).
    pub async fn get<G>(self, id: G) -> Result<Vec<ErrorGroup>>
    where
        G: TryInto<GroupId, Error: Into<Error>>,
    {
        let get = async {
            let id = parsed(id)?;
            // All groups of this number of queues fit on a page.
            let of_queue = self.backend.capabilities().limits.error_groups();
            let at_once = (PAGE_JOBS / of_queue).max(1);
            let mut found = Vec::new();
            let mut pages = QueuePages::of(self.backend);
            while let Some(queues) = pages.next().await? {
                for queues in queues.chunks(at_once) {
                    let groups = self.store()?.list_error_groups(queues, PageSize::MAX).await?;
                    found.extend(groups.into_iter().filter(|group| group.key.id() == id));
                }
            }
            Ok(found)
        };
        get.await.map_err(|error: Error| error.during("get"))
    }

    /// Retries the dead jobs of a group, in all queues, with all their attempts.
    ///
    /// # Errors
    /// `Invalid` if the id is not a group's; those of [`Jobs::bulk`](super::Jobs::bulk).
    pub async fn retry<G>(self, id: G) -> Result<BulkTotals>
    where
        G: TryInto<GroupId, Error: Into<Error>>,
    {
        self.act(id, BulkAction::Retry).await
    }

    /// Retries the dead jobs of a group, each at a random time within this duration, so that what
    /// has just recovered does not get all of them at once.
    ///
    /// # Errors
    /// `Invalid` if the id is not a group's; those of [`Jobs::bulk`](super::Jobs::bulk).
    pub async fn retry_over<G>(self, id: G, over: Duration) -> Result<BulkTotals>
    where
        G: TryInto<GroupId, Error: Into<Error>>,
    {
        self.act(id, BulkAction::RetryOver(over)).await
    }

    /// Deletes the dead jobs of a group, in all queues.
    ///
    /// # Errors
    /// `Invalid` if the id is not a group's; those of [`Jobs::bulk`](super::Jobs::bulk).
    pub async fn purge<G>(self, id: G) -> Result<BulkTotals>
    where
        G: TryInto<GroupId, Error: Into<Error>>,
    {
        self.act(id, BulkAction::Delete).await
    }

    /// Writes a note on the group of this id in a queue, in place of an earlier one; an empty text
    /// removes it. `by` is who wrote it. The group need not be known: the note is shown if it
    /// occurs.
    ///
    /// # Errors
    /// `Invalid` if the id is not a group's, or if the text is too long or has control characters;
    /// `Unsupported`; those of [`Admin::configure`](capability::Admin::configure).
    pub async fn write_note<Q, G>(
        self,
        queue: Q,
        id: G,
        text: impl Into<String>,
        by: &str,
    ) -> Result<()>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
        G: TryInto<GroupId, Error: Into<Error>>,
    {
        let write = async {
            let (queue, patch) =
                (parsed(queue)?, QueuePatch::default().note(parsed(id)?, text, by));
            admin(self.backend)?.configure(&queue, &patch).await.map(drop)
        };
        write.await.map_err(|error: Error| error.during("write_note"))
    }

    /// The note on the group of this id in a queue.
    ///
    /// # Errors
    /// `Invalid` if the id is not a group's; those of [`Backend::find_queues`].
    pub async fn note<Q, G>(self, queue: Q, id: G) -> Result<Option<GroupNote>>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
        G: TryInto<GroupId, Error: Into<Error>>,
    {
        let read = async {
            let (queue, id) = (parsed(queue)?, parsed(id)?);
            let queue = self.backend.find_queues(&[queue]).await?.pop();
            Ok(queue.and_then(|queue| queue.settings.note(id).cloned()))
        };
        read.await.map_err(|error: Error| error.during("note"))
    }

    async fn act<G>(self, id: G, action: BulkAction) -> Result<BulkTotals>
    where
        G: TryInto<GroupId, Error: Into<Error>>,
    {
        bulk_pages(self.backend, JobFilter::default().group(id), action).await
    }

    fn store(self) -> Result<&'a dyn capability::ErrorGroups> {
        needed(self.backend.capabilities().errors, "ErrorGroups")
    }
}

/// The names of all queues, page by page.
struct QueuePages<'a> {
    backend: &'a dyn Backend,
    after: Option<QueueName>,
    ended: bool,
}

impl<'a> QueuePages<'a> {
    fn of(backend: &'a dyn Backend) -> Self {
        Self { backend, after: None, ended: false }
    }

    async fn next(&mut self) -> Result<Option<Vec<QueueName>>> {
        if self.ended {
            return Ok(None);
        }
        let page = self.backend.list_queues(self.after.as_ref(), PageSize::MAX).await?;
        self.after = page.after;
        self.ended = self.after.is_none();
        Ok(Some(page.queues.into_iter().map(|queue| queue.name).collect()))
    }
}

#[cfg(test)]
mod tests {
    use crate::memory::MemoryStore;
    use crate::{Client, JobDraft, JobFilter, Limits, ManualClock, State};

    /// Two jobs that died of the same in two queues, and one that died of something else.
    async fn died(store: MemoryStore) -> Client {
        let client = Client::new(store);
        for (queue, reason) in [("a", "order 1 is gone"), ("b", "order 2 is gone"), ("b", "full")] {
            let id = client.enqueue(JobDraft::new("work", "{}")).queue(queue).await.unwrap();
            client.jobs().dead_letter(id, reason).await.unwrap();
        }
        client
    }

    #[tokio::test]
    async fn a_group_is_found_in_each_of_its_queues_and_in_no_other() {
        for at_most in [1000, 500, 2] {
            let limits = Limits::default().with_error_groups(at_most);
            let client =
                died(MemoryStore::with_clock_and_limits(ManualClock::default(), limits)).await;
            assert_eq!(client.error_groups().list(10).await.unwrap().len(), 3);
            let of_a = client.error_groups().list_of("a", 10).await.unwrap();
            let found = client.error_groups().get(of_a[0].key.id()).await.unwrap();
            let mut queues: Vec<_> = found.iter().map(|group| group.queue.as_str()).collect();
            queues.sort_unstable();
            assert_eq!((of_a.len(), queues), (1, vec!["a", "b"]));
        }
    }

    #[tokio::test]
    async fn an_action_on_a_group_leaves_the_jobs_of_others() {
        let client = died(MemoryStore::new()).await;
        let groups = client.error_groups();
        let id = groups.list_of("a", 1).await.unwrap()[0].key.id();
        assert_eq!(groups.retry(id).await.unwrap().changed, 2);
        assert_eq!(groups.retry_over(id, std::time::Duration::ZERO).await.unwrap().changed, 0);
        let other = groups.list_of("b", 10).await.unwrap();
        let other = other.iter().find(|group| group.key.id() != id).unwrap().key.id();
        assert_eq!(groups.purge(other).await.unwrap().changed, 1);
        let left = client.jobs().list(&JobFilter::default()).await.unwrap().items;
        assert!(left.len() == 2 && left.iter().all(|job| job.state == State::Pending));
    }

    #[tokio::test]
    async fn r8_10_a_note_is_read_as_it_was_written() {
        let client = died(MemoryStore::new()).await;
        let groups = client.error_groups();
        let id = groups.list_of("a", 1).await.unwrap()[0].key.id();
        groups.write_note("a", id, "known, ticket 123", "ops").await.unwrap();
        let note = groups.note("a", id).await.unwrap().unwrap();
        assert_eq!((note.text.as_str(), note.by.as_str()), ("known, ticket 123", "ops"));
        assert_eq!(groups.note("b", id).await.unwrap(), None, "the same group of another queue");
        groups.write_note("a", id, "", "ops").await.unwrap();
        assert_eq!(groups.note("a", id).await.unwrap(), None);
        let refused = groups.write_note("a", id, "a\nb", "ops").await.unwrap_err();
        assert_eq!(refused.kind().as_str(), "invalid");
    }

    #[tokio::test]
    async fn what_is_no_id_of_a_group_is_refused_and_not_taken_for_all() {
        let client = died(MemoryStore::new()).await;
        let refused = client.error_groups().purge("no-id").await.unwrap_err();
        assert_eq!(refused.kind().as_str(), "invalid");
        assert_eq!(client.jobs().list(&JobFilter::default()).await.unwrap().items.len(), 3);
    }
}
