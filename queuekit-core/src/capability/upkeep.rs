//! Retention and repair.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::error::Result;

/// Retention and repair. Any number of processes may run it at once. If none does, every rule but
/// retention still holds (contract R13.7).
#[async_trait]
pub trait Upkeep: Debug + Send + Sync {
    /// One short step of retention: removes at most 1,000 jobs.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn prune(&self) -> Result<UpkeepReport>;

    /// One short step of repair: compares what the store derives (indexes, counters) with what it
    /// stores, and corrects differences.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn repair(&self) -> Result<UpkeepReport>;
}

/// The result of one step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct UpkeepReport {
    /// Jobs removed, or entries corrected.
    pub changed: u64,
    /// Whether there is more to do: call again.
    pub more: bool,
    /// Whether open transactions hold something that is to be removed. The step skips it, and a
    /// later step removes it once they have ended; calling again at once does not help.
    pub held: bool,
}

impl UpkeepReport {
    /// A step that has made this number of changes and has skipped nothing.
    pub fn new(changed: u64, more: bool) -> Self {
        Self { changed, more, held: false }
    }

    /// The same, and whether open transactions hold something.
    #[must_use]
    pub fn held(self, held: bool) -> Self {
        Self { held, ..self }
    }

    /// The report of two parts of one step.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            changed: self.changed + other.changed,
            more: self.more || other.more,
            held: self.held || other.held,
        }
    }
}
