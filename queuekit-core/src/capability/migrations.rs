//! The version of a store's schema.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::error::Result;

/// A store whose schema has versions.
#[async_trait]
pub trait Migrations: Debug + Send + Sync {
    /// Where the schema stands.
    ///
    /// # Errors
    /// `Unavailable`, `Closed`.
    async fn status(&self) -> Result<SchemaStatus>;

    /// Brings the schema to the version of this build; safe when several processes do it.
    ///
    /// # Errors
    /// `Unsupported` if the schema is newer than this build; `Unavailable`, `Closed`.
    async fn up(&self) -> Result<SchemaStatus>;

    /// What [`up`](Self::up) would run on an empty store, for people with migration tools of
    /// their own.
    fn sql(&self) -> String;
}

/// Where a schema stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemaStatus {
    /// The version that is stored.
    pub stored: u32,
    /// The version of this build.
    pub wanted: u32,
}
