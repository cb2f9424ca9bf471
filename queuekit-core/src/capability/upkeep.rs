//! Work that keeps a store small.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::error::Result;

/// Retention and repair. Any number of processes may run it at once, and without it every rule
/// but retention still holds (contract R13.7).
#[async_trait]
pub trait Upkeep: Debug + Send + Sync {
    /// One short step of retention: removes at most 1,000 jobs.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn prune(&self) -> Result<UpkeepReport>;

    /// One short step of checking what the store derives (indexes, counters) against what it
    /// stores, mending what differs.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn repair(&self) -> Result<UpkeepReport>;
}

/// What one step did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpkeepReport {
    /// Jobs removed, or entries mended.
    pub changed: u64,
    /// There is more to do: call again.
    pub more: bool,
    /// Open transactions hold something that is to go. A step passes over it, and one that comes
    /// after their end removes it: calling again at once does not help.
    pub held: bool,
}
