//! Workers as operators see them.

use crate::backend::{Backend, PageSize};
use crate::capability::{Leases, WorkerInfo, WorkerOrder, WorkerPage};
use crate::error::{Error, ErrorKind, Result, parsed};
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
    /// use queuekit_core::capability::WorkerOrder;
    /// # use queuekit_core::{Client, WorkerId, memory::MemoryStore};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> queuekit_core::Result<()> {
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
        let control = self.backend.capabilities().control.ok_or_else(|| {
            let message = "this store gives no orders to workers; use a store of queuekit, all of \
                           which do";
            Error::new(ErrorKind::Unsupported, message)
        })?;
        let mut listed = Vec::with_capacity(workers.len());
        for part in workers.chunks(ORDERED_WORKERS) {
            listed.extend(control.control(part, order).await?);
        }
        Ok(listed)
    }

    fn leases(self) -> Result<&'a dyn Leases> {
        self.backend.capabilities().leases.ok_or_else(|| {
            let message = "this store lacks Leases; use a store of queuekit, all of which have it";
            Error::new(ErrorKind::Unsupported, message)
        })
    }
}
