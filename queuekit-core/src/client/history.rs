//! History as applications and operators use it.

use crate::backend::{Backend, needed};
use crate::capability;
use crate::error::Result;
use crate::history::{HistoryQuery, RunsRow, TotalsRow};

/// How things were an hour ago, from [`Client::history`](super::Client::history).
///
/// Workers record it about once a minute; nothing is recorded while none runs.
///
/// ```
/// use queuekit::history::{HistoryQuery, Resolution};
/// use queuekit::{Client, QueueName, Timestamp, memory::MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// let (from, to) = (Timestamp::from_millis(0), Timestamp::from_millis(i64::MAX));
/// let query = HistoryQuery::new(Resolution::Minute, from, to).queue(QueueName::new("emails")?);
/// for row in client.history().totals(&query).await? {
///     println!("{} jobs were enqueued until {}", row.totals.enqueued, row.at.as_millis());
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct History<'a> {
    backend: &'a dyn Backend,
}

impl<'a> History<'a> {
    pub(super) fn of(backend: &'a dyn Backend) -> Self {
        Self { backend }
    }

    /// The recorded totals of queues, by time, then queue. [`TotalsRow::place`] of the last row
    /// says where the next page begins; a page with fewer rows than its limit is the last.
    ///
    /// # Errors
    /// `Unsupported`; those of [`History::list_totals`](capability::History::list_totals).
    pub async fn totals(self, query: &HistoryQuery) -> Result<Vec<TotalsRow>> {
        self.store()?.list_totals(query).await
    }

    /// What runs were like, by time, then queue, then kind; in pages as [`totals`](Self::totals)
    /// are.
    ///
    /// # Errors
    /// `Unsupported`; those of [`History::list_runs`](capability::History::list_runs).
    pub async fn runs(self, query: &HistoryQuery) -> Result<Vec<RunsRow>> {
        self.store()?.list_runs(query).await
    }

    fn store(self) -> Result<&'a dyn capability::History> {
        needed(self.backend.capabilities().history, "History")
    }
}
