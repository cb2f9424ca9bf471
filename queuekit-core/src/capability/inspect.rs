//! What `doctor` asks a store.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::error::Result;

/// Facts about a store, and findings about them.
#[async_trait]
pub trait Inspect: Debug + Send + Sync {
    /// Checks that the store accepts writes now, at least those that settle jobs. It is cheap, so
    /// that a probe may ask once a second, and changes no job.
    ///
    /// # Errors
    /// Why it accepts none: `StorageFull`, `Unavailable`, `Indeterminate`, `Closed`.
    async fn check_writes(&self) -> Result<()>;

    /// What a successful call survives, as the store is set up now (contract R11).
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn durability(&self) -> Result<Durability>;

    /// Versions, settings, sizes.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn facts(&self) -> Result<Vec<Fact>>;

    /// Problems and what to do about them; empty if there are none.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn findings(&self) -> Result<Vec<Finding>>;

    /// How busy the store's connections are now; none if it has no pool of them. It contacts
    /// nothing.
    fn pool(&self) -> Option<PoolUse> {
        None
    }
}

/// How busy a pool of connections is.
// Exhaustive: code that records it must record every field.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PoolUse {
    /// The most connections that it opens.
    pub most: usize,
    /// Those that a call uses.
    pub used: usize,
    /// Those that are open and unused.
    pub idle: usize,
    /// Calls that wait for a connection.
    pub waiting: usize,
}

/// What an acknowledged write survives, from least to most. "The process" keeps the store: it is
/// the server, or the program itself if it has the store in its memory or in a file.
// Exhaustive: code that warns about possible losses must know each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// Nothing: when the process ends, all jobs or the last ones are lost.
    Nothing,
    /// The end of the process, but not power loss.
    ProcessKill,
    /// Power loss.
    PowerLoss,
}

/// One fact.
// Exhaustive: a fact is a name and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// Its name.
    pub name: &'static str,
    /// Its value.
    pub value: String,
}

/// One problem.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Where it comes from.
    pub cause: Cause,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// Where a finding comes from.
// Exhaustive: code that warns must know each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// How the store is set up; the finding stays until an operator changes that.
    Setup,
    /// What happens to the store now, such as a transaction that stays open; the finding comes and
    /// goes while the store is in use.
    Operation,
}

/// How bad a finding is.
// Exhaustive: code that sorts findings must know each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Should be changed.
    Warning,
    /// Jobs are at risk.
    Error,
}
