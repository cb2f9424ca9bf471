//! The store itself as applications and operators see it.

use crate::backend::{Backend, BackendExt, needed};
use crate::capability::{Durability, Fact, Finding, Inspect, PoolUse};
use crate::error::Result;

/// What a store says about itself; from [`Client::inspect`](super::Client::inspect).
///
/// ```
/// use queuekit::inspect::Durability;
/// use queuekit::{Client, memory::MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// client.inspect().check_writes().await?;
/// assert_eq!(client.inspect().durability().await?, Durability::Nothing);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Inspection<'a> {
    backend: &'a dyn Backend,
}

impl<'a> Inspection<'a> {
    pub(super) fn of(backend: &'a dyn Backend) -> Self {
        Self { backend }
    }

    /// Checks that the store accepts writes now. It is cheap, and changes no job.
    ///
    /// # Errors
    /// `Unsupported`; those of [`Inspect::check_writes`].
    pub async fn check_writes(self) -> Result<()> {
        self.store()?.check_writes().await
    }

    /// What a successful call survives, as the store is set up now (contract R11).
    ///
    /// # Errors
    /// `Unsupported`; those of [`Inspect::durability`].
    pub async fn durability(self) -> Result<Durability> {
        self.store()?.durability().await
    }

    /// Versions, settings, sizes.
    ///
    /// # Errors
    /// `Unsupported`; those of [`Inspect::facts`].
    pub async fn facts(self) -> Result<Vec<Fact>> {
        self.store()?.facts().await
    }

    /// Problems and what to do about them, also kinds of jobs whose payloads live workers cannot
    /// read; empty if there are none.
    ///
    /// # Errors
    /// `Unsupported`; those of [`BackendExt::all_findings`].
    pub async fn findings(self) -> Result<Vec<Finding>> {
        self.store()?;
        self.backend.all_findings().await
    }

    /// How busy the store's connections are now; none if it has no pool of them.
    pub fn pool(self) -> Option<PoolUse> {
        self.backend.capabilities().inspect.and_then(Inspect::pool)
    }

    fn store(self) -> Result<&'a dyn Inspect> {
        needed(self.backend.capabilities().inspect, "Inspect")
    }
}
