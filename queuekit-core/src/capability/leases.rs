//! Extending leases, reporting progress, and presence.

use std::fmt::Debug;
use std::time::Duration;

use async_trait::async_trait;

use super::control::Orders;
use super::presence::{Beat, WorkerInfo, WorkerPage};
use crate::backend::{LeaseToken, LeaseTtl, PageSize};
use crate::error::Result;
use crate::job::Progress;
use crate::names::WorkerId;

/// Extending leases, reporting progress, presence of workers. A worker needs it.
#[async_trait]
pub trait Leases: Debug + Send + Sync {
    /// Sets each lease's expiry to now + ttl, if it still holds (contract R3.7). Waits for no
    /// row lock.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn extend(&self, leases: &[LeaseToken], ttl: LeaseTtl) -> Result<Vec<ExtendOutcome>>;

    /// Stores progress and log lines of runs whose lease still holds (contract R3.8).
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn report(&self, reports: &[Report]) -> Result<Vec<ReportOutcome>>;

    /// Presence of a worker (contract R3.9): listed until 3 ttl after its last beat. Answers the
    /// orders that it has not obeyed yet; the default of `Orders` if the store lacks
    /// [`Control`](super::Control).
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn beat(&self, beat: &Beat) -> Result<Orders>;

    /// Takes a worker off the list at once (contract R3.9). Returns whether it was listed. A worker
    /// that still beats comes back with its next beat.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`.
    async fn forget_worker(&self, worker: &WorkerId) -> Result<bool>;

    /// One page of the live workers, by id, from the first after this id, which also ends at its
    /// bytes (contract R8.9). [`all_workers`](#method.all_workers) reads all pages.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn list_workers(&self, after: Option<&WorkerId>, limit: PageSize) -> Result<WorkerPage>;

    /// The live worker of this id. A store reads no other (contract R3.9); this default lists all
    /// of them.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn find_worker(&self, worker: &WorkerId) -> Result<Option<WorkerInfo>> {
        let mut after = None;
        loop {
            let page = self.list_workers(after.as_ref(), PageSize::MAX).await?;
            let found = page.workers.into_iter().find(|live| live.beat.id == *worker);
            after = page.after;
            if found.is_some() || after.is_none() {
                return Ok(found);
            }
        }
    }
}

impl dyn Leases + '_ {
    /// All live workers, by id, read page by page.
    ///
    /// # Errors
    /// Those of [`list_workers`](Leases::list_workers).
    pub async fn all_workers(&self) -> Result<Vec<WorkerInfo>> {
        let mut page = self.list_workers(None, PageSize::MAX).await?;
        let mut workers = page.workers;
        while let Some(after) = page.after.take() {
            page = self.list_workers(Some(&after), PageSize::MAX).await?;
            workers.append(&mut page.workers);
        }
        Ok(workers)
    }
}

/// The outcome for one extended lease.
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum ExtendOutcome {
    /// The lease lasts for `ttl` from now.
    Extended {
        /// The time that was granted.
        ttl: Duration,
        /// Whether a cancel was requested.
        cancel_requested: bool,
    },
    /// The lease is being settled in an open transaction, so it was not extended. No other worker
    /// can get the job until that transaction ends; ask again soon.
    Settling,
    /// The part of the store that has the lease did not answer, such as its node of a Redis
    /// Cluster. The lease may expire; ask again soon.
    Unknown,
    /// The lease no longer holds; nothing changed.
    LeaseLost,
    /// No such job; nothing changed.
    NotFound,
}

/// Progress and log lines of a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// The lease it runs under.
    pub lease: LeaseToken,
    /// Its progress; `None` keeps what was reported before.
    pub progress: Option<Progress>,
    /// Lines to append. Each is truncated to 1 KiB, and the last 100 are kept.
    pub lines: Vec<String>,
}

impl Report {
    /// A report of the run under this lease.
    pub fn new(lease: LeaseToken, progress: Option<Progress>, lines: Vec<String>) -> Self {
        Self { lease, progress, lines }
    }
}

/// The outcome for one report.
// Exhaustive: code that passes outcomes on, such as a worker or a server, must handle each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
pub enum ReportOutcome {
    /// It is stored.
    Reported,
    /// The lease no longer holds; nothing changed.
    LeaseLost,
    /// No such job; nothing changed.
    NotFound,
}
