//! The audit log as applications and operators use it.

use crate::backend::{Backend, PageSize, needed};
use crate::capability::{Act, AuditEntry, AuditLog};
use crate::error::{Error, Result};

/// The audit log of a store: what operators changed; from [`Client::audit`](super::Client::audit).
///
/// The server and the commands add entries. What an application changes through its client has an
/// entry only if the application adds it.
///
/// ```
/// use queuekit::audit::Act;
/// use queuekit::{Client, memory::MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// client.queues().pause("emails").await?;
/// client.audit().record(&Act::new("ada@example.com", "pause", "queue emails")).await?;
/// let entries = client.audit().list(None, 10).await?;
/// assert_eq!(entries[0].act.action, "pause");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Audit<'a> {
    backend: &'a dyn Backend,
}

impl<'a> Audit<'a> {
    pub(super) fn of(backend: &'a dyn Backend) -> Self {
        Self { backend }
    }

    /// The entries, newest first: those whose number is below `before`, or the newest. Fewer than
    /// `limit` are the last.
    ///
    /// # Errors
    /// `Invalid` if `limit` is not a [`PageSize`]; `Unsupported`; those of
    /// [`AuditLog::list_acts`].
    pub async fn list(self, before: Option<u64>, limit: usize) -> Result<Vec<AuditEntry>> {
        let list = async {
            let limit = PageSize::new(limit)?;
            self.log()?.list_acts(before, limit).await
        };
        list.await.map_err(|error: Error| error.during("list_acts"))
    }

    /// Adds an entry, at the store's present time. The store keeps the latest 10,000.
    ///
    /// # Errors
    /// `Unsupported`; those of [`AuditLog::record_act`].
    pub async fn record(self, act: &Act) -> Result<()> {
        self.log().map_err(|error| error.during("record_act"))?.record_act(act).await
    }

    fn log(self) -> Result<&'a dyn AuditLog> {
        needed(self.backend.capabilities().audit, "AuditLog")
    }
}
