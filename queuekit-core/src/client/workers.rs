//! Workers as operators see them.

use std::num::NonZeroU32;

use crate::backend::{Backend, PageSize, needed, only};
use crate::capability::{Leases, WorkerInfo, WorkerOrder, WorkerPage};
use crate::error::{Error, Result, parsed};
use crate::limits::ORDERED_WORKERS;
use crate::names::WorkerId;

/// The workers of a store; from [`Client::workers`](super::Client::workers).
#[derive(Clone, Copy, Debug)]
pub struct Workers<'a> {
    backend: &'a dyn Backend,
}

impl<'a> Workers<'a> {
    pub(super) fn of(backend: &'a dyn Backend) -> Self {
        Self { backend }
    }

    /// A page of the workers that are alive, by id: what they serve, and how busy they are. It has
    /// at most `limit` workers, as many as fit into an answer (R8.9), and begins after this id.
    ///
    /// # Errors
    /// `Invalid` if `limit` is not a [`PageSize`]; `Unsupported`; those of
    /// [`Leases::list_workers`].
    pub async fn list(self, after: Option<&WorkerId>, limit: usize) -> Result<WorkerPage> {
        let limit = PageSize::new(limit).map_err(|error| error.during("list_workers"))?;
        self.leases()?.list_workers(after, limit).await
    }

    /// The worker of this id, if it is alive.
    ///
    /// # Errors
    /// `Invalid` if the id is not a worker's; `Unsupported`; those of [`Leases::find_worker`].
    pub async fn get<W>(self, id: W) -> Result<Option<WorkerInfo>>
    where
        W: TryInto<WorkerId, Error: Into<Error>>,
    {
        let id = parsed(id).map_err(|error| error.during("get"))?;
        self.leases()?.find_worker(&id).await
    }

    /// Gives an order to each of these workers that is alive, and returns which were. Each obeys at
    /// the answer to its next beat, after at most 10 s (R3.9).
    ///
    /// ```
    /// use queuekit::workers::{WorkerId, WorkerOrder};
    /// # use queuekit::{Client, memory::MemoryStore};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// let gone = WorkerId::new("mailer-1")?;
    /// assert_eq!(client.workers().control(&[gone], WorkerOrder::Quiet).await?, [false]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Unsupported`; those of [`Control::control`](crate::capability::Control::control). An order
    /// may be repeated.
    pub async fn control(self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>> {
        let control = needed(self.backend.capabilities().control, "Control")?;
        let mut listed = Vec::with_capacity(workers.len());
        for part in workers.chunks(ORDERED_WORKERS) {
            listed.extend(control.control(part, order).await?);
        }
        Ok(listed)
    }

    /// Orders a worker to reserve no more jobs; running jobs continue. Returns false if it is not
    /// alive.
    ///
    /// # Errors
    /// `Invalid` if the id is not a worker's; those of [`control`](Self::control).
    pub async fn quiet<W>(self, id: W) -> Result<bool>
    where
        W: TryInto<WorkerId, Error: Into<Error>>,
    {
        self.order(id, WorkerOrder::Quiet).await
    }

    /// Orders a quiet worker to reserve jobs again. Returns false if it is not alive.
    ///
    /// # Errors
    /// Those of [`quiet`](Self::quiet).
    pub async fn resume<W>(self, id: W) -> Result<bool>
    where
        W: TryInto<WorkerId, Error: Into<Error>>,
    {
        self.order(id, WorkerOrder::Resume).await
    }

    /// Orders a worker to drain and end. Returns false if it is not alive.
    ///
    /// # Errors
    /// Those of [`quiet`](Self::quiet).
    pub async fn stop<W>(self, id: W) -> Result<bool>
    where
        W: TryInto<WorkerId, Error: Into<Error>>,
    {
        self.order(id, WorkerOrder::Stop).await
    }

    /// Orders a worker to run at most this many jobs at once; running jobs continue. More than the
    /// worker began with counts as that. Returns false if it is not alive.
    ///
    /// # Errors
    /// `Invalid` if `slots` is 0; those of [`quiet`](Self::quiet).
    pub async fn set_slots<W>(self, id: W, slots: u32) -> Result<bool>
    where
        W: TryInto<WorkerId, Error: Into<Error>>,
    {
        let slots = NonZeroU32::new(slots)
            .ok_or_else(|| Error::invalid("slots", "at least 1", slots).during("control"))?;
        self.order(id, WorkerOrder::Slots(slots)).await
    }

    /// Removes a worker that has died from the list at once. Returns false if it is not listed. A
    /// worker that still runs is listed again at its next beat.
    ///
    /// ```
    /// # use queuekit::{Client, memory::MemoryStore};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit::Result<()> {
    /// # let client = Client::new(MemoryStore::new());
    /// assert!(!client.workers().remove("mailer-1").await?, "it is not listed");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// `Invalid` if the id is not a worker's; `Unsupported`; those of [`Leases::forget_worker`].
    pub async fn remove<W>(self, id: W) -> Result<bool>
    where
        W: TryInto<WorkerId, Error: Into<Error>>,
    {
        let id = parsed(id).map_err(|error| error.during("forget_worker"))?;
        self.leases()?.forget_worker(&id).await
    }

    async fn order<W>(self, id: W, order: WorkerOrder) -> Result<bool>
    where
        W: TryInto<WorkerId, Error: Into<Error>>,
    {
        let id = parsed(id).map_err(|error| error.during("control"))?;
        only(self.control(&[id], order).await?, "control")
    }

    fn leases(self) -> Result<&'a dyn Leases> {
        needed(self.backend.capabilities().leases, "Leases")
    }
}

#[cfg(test)]
mod tests {
    use crate::capability::{Beat, OrderedMode, Served};
    use crate::memory::MemoryStore;
    use crate::{Backend, Client, LeaseTtl, WorkerId};

    #[tokio::test]
    async fn an_order_reaches_the_worker_that_it_names() {
        let store = MemoryStore::new();
        let client = Client::new(store.clone());
        let leases = store.capabilities().leases.unwrap();
        let id = WorkerId::new("mailer-1").unwrap();
        let beat = Beat::new(id, Served::first([]), Served::first([]), LeaseTtl::default());
        leases.beat(&beat).await.unwrap();
        let workers = client.workers();
        let mode = async || leases.beat(&beat).await.unwrap().mode;
        assert!(workers.quiet("mailer-1").await.unwrap());
        assert_eq!(mode().await, Some(OrderedMode::Quiet));
        assert!(workers.resume("mailer-1").await.unwrap());
        assert_eq!(mode().await, Some(OrderedMode::Resume));
        assert!(workers.stop("mailer-1").await.unwrap());
        assert_eq!(mode().await, Some(OrderedMode::Stop));
        assert!(workers.set_slots("mailer-1", 3).await.unwrap());
        assert_eq!(leases.beat(&beat).await.unwrap().slots.map(u32::from), Some(3));
        assert_eq!(workers.set_slots("mailer-1", 0).await.unwrap_err().kind().as_str(), "invalid");
        assert!(!workers.stop("mailer-2").await.unwrap(), "it is not alive");
        assert!(workers.remove("mailer-1").await.unwrap());
        assert!(!workers.remove("mailer-1").await.unwrap(), "it is listed no more");
    }
}
