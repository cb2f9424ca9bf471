//! What `doctor` asks a store.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::error::Result;

/// Facts about a store and what is wrong with them.
#[async_trait]
pub trait Inspect: Debug + Send + Sync {
    /// Whether the store takes writes now, at least those that settle jobs: one cheap question,
    /// asked once a second by whoever watches a server. It changes no job.
    ///
    /// # Errors
    /// Why it takes none: `StorageFull`, `Unavailable`, `Indeterminate`, `Closed`.
    async fn check_writes(&self) -> Result<()>;

    /// What an Ok survives, as the store is set up now (contract R11).
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn durability(&self) -> Result<Durability>;

    /// Versions, settings, sizes.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn facts(&self) -> Result<Vec<Fact>>;

    /// What should be changed; empty if all is well.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn findings(&self) -> Result<Vec<Finding>>;
}

/// What an acknowledged write survives, from least to most. The process is the one that keeps the
/// store: a server's, or that of the program itself where it has the store in its memory or a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Durability {
    /// Nothing: it is gone with the process, or its last part is.
    Nothing,
    /// The end of the process, not of the machine's power.
    ProcessKill,
    /// Loss of power.
    PowerLoss,
}

/// One fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is about.
    pub name: &'static str,
    /// What it is.
    pub value: String,
}

/// One thing to change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub remedy: String,
}

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// Should be changed.
    Warning,
    /// Jobs are at risk.
    Error,
}
