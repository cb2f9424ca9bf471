//! Queues as applications and operators use them.

use crate::backend::{Backend, PageSize, QueuePage};
use crate::error::{Error, Result, parsed};
use crate::names::QueueName;
use crate::queue::{Queue, QueuePatch, QueueSettings};

use super::jobs::admin;

/// The queues of a store; from [`Client::queues`](super::Client::queues).
///
/// ```
/// use queuekit::queues::QueuePatch;
/// use queuekit::Client;
/// use queuekit::memory::MemoryStore;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// client.queues().configure("emails", &QueuePatch::default().max_pending(10_000)).await?;
/// client.queues().pause("emails").await?;
/// assert!(client.queues().list(None, 100).await?.queues[0].settings.paused);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Queues<'a> {
    backend: &'a dyn Backend,
}

impl<'a> Queues<'a> {
    pub(super) fn of(backend: &'a dyn Backend) -> Self {
        Self { backend }
    }

    /// A page of the queues that were ever used or configured, by name, with their settings and
    /// figures: at most `limit` queues, beginning after this name.
    ///
    /// # Errors
    /// `Invalid` if `limit` is not a [`PageSize`]; those of [`Backend::list_queues`].
    pub async fn list(self, after: Option<&QueueName>, limit: usize) -> Result<QueuePage> {
        let limit = PageSize::new(limit).map_err(|error| error.during("list_queues"))?;
        self.backend.list_queues(after, limit).await
    }

    /// The queue of this name, if it was ever used or configured.
    ///
    /// # Errors
    /// `Invalid` if the name is not a queue's; those of [`Backend::find_queues`].
    pub async fn get<Q>(self, queue: Q) -> Result<Option<Queue>>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        let queue = parsed(queue).map_err(|error| error.during("get"))?;
        Ok(self.backend.find_queues(&[queue]).await?.pop())
    }

    /// Changes settings of a queue, and creates the queue if it does not exist. Returns the
    /// settings in force.
    ///
    /// # Errors
    /// `Invalid` if the name is not valid or if there would be too many queues; `Unsupported`;
    /// those of [`Admin::configure`](crate::capability::Admin::configure).
    pub async fn configure<Q>(self, queue: Q, patch: &QueuePatch) -> Result<QueueSettings>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        let configure = async {
            let queue = parsed(queue)?;
            admin(self.backend)?.configure(&queue, patch).await
        };
        configure.await.map_err(|error: Error| error.during("configure"))
    }

    /// Pauses a queue: no worker reserves its jobs until it is resumed. Running jobs continue.
    ///
    /// # Errors
    /// Those of [`configure`](Self::configure).
    pub async fn pause<Q>(self, queue: Q) -> Result<()>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        self.configure(queue, &QueuePatch::default().paused(true)).await.map(drop)
    }

    /// Resumes a queue.
    ///
    /// # Errors
    /// Those of [`configure`](Self::configure).
    pub async fn resume<Q>(self, queue: Q) -> Result<()>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        self.configure(queue, &QueuePatch::default().paused(false)).await.map(drop)
    }

    /// Removes a queue without jobs. Returns false if it does not exist.
    ///
    /// # Errors
    /// `Conflict` if it has jobs; those of
    /// [`Admin::remove_queue`](crate::capability::Admin::remove_queue).
    pub async fn remove<Q>(self, queue: Q) -> Result<bool>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        self.remove_with(queue, false).await
    }

    /// Removes a queue and deletes all its jobs. Returns false if it does not exist.
    ///
    /// # Errors
    /// `Conflict` if one of its jobs is running; those of
    /// [`Admin::remove_queue`](crate::capability::Admin::remove_queue).
    pub async fn remove_with_jobs<Q>(self, queue: Q) -> Result<bool>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        self.remove_with(queue, true).await
    }

    async fn remove_with<Q>(self, queue: Q, force: bool) -> Result<bool>
    where
        Q: TryInto<QueueName, Error: Into<Error>>,
    {
        let remove = async {
            let queue = parsed(queue)?;
            admin(self.backend)?.remove_queue(&queue, force).await
        };
        remove.await.map_err(|error: Error| error.during("remove_queue"))
    }
}
