//! The schema of a store as applications and operators migrate it.

use crate::backend::{Backend, needed};
use crate::capability::{Migration, Migrations, SchemaStatus};
use crate::error::Result;

/// The versions of a store's schema; from [`Client::schema`](super::Client::schema).
///
/// `queuekit::connect` migrates on its own and, with `migrate=off` in the URL, refuses an older
/// schema. A program that decides when to migrate opens the store with `connect_unchecked`:
///
/// ```no_run
/// # async fn migrate() -> queuekit::Result<()> {
/// let client = queuekit::connect_unchecked("postgres://localhost/app").await?;
/// let status = client.schema().migrate().await?;
/// println!("the schema has version {}", status.stored);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Schema<'a> {
    backend: &'a dyn Backend,
}

impl<'a> Schema<'a> {
    pub(super) fn of(backend: &'a dyn Backend) -> Self {
        Self { backend }
    }

    /// The versions of the schema.
    ///
    /// # Errors
    /// `Unsupported` if the store's schema has no versions; those of [`Migrations::status`].
    pub async fn status(self) -> Result<SchemaStatus> {
        self.migrations()?.status().await
    }

    /// Brings the schema to the version of this build. Several processes may do it at once.
    ///
    /// # Errors
    /// `Unsupported` if the store's schema has no versions; those of [`Migrations::up`].
    pub async fn migrate(self) -> Result<SchemaStatus> {
        self.migrations()?.up().await
    }

    /// The steps that [`migrate`](Self::migrate) runs on a schema of this version, oldest first. 0
    /// is an empty store.
    ///
    /// # Errors
    /// `Unsupported` if the store's schema has no versions.
    pub fn pending(self, stored: u32) -> Result<Vec<Migration>> {
        Ok(self.migrations()?.pending(stored))
    }

    fn migrations(self) -> Result<&'a dyn Migrations> {
        needed(self.backend.capabilities().migrations, "Migrations")
    }
}
