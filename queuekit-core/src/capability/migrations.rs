//! The version of a store's schema.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::error::{Error, ErrorKind, Result};

/// A store whose schema has versions.
#[async_trait]
pub trait Migrations: Debug + Send + Sync {
    /// The versions of the schema.
    ///
    /// # Errors
    /// `Conflict` if the database is another application's; `Unavailable`, `Closed`.
    async fn status(&self) -> Result<SchemaStatus>;

    /// Brings the schema to the version of this build. Several processes may do it at once.
    ///
    /// # Errors
    /// `Unsupported` if the schema is newer than this build; `Unavailable`, `Closed`.
    async fn up(&self) -> Result<SchemaStatus>;

    /// The steps that [`up`](Self::up) runs on a schema of this version, oldest first, for plans
    /// and for other migration tools. 0 is an empty store.
    fn pending(&self, stored: u32) -> Vec<Migration>;
}

/// One step from a version of the schema to the next.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Migration {
    /// The version it leads to.
    pub version: u32,
    /// Programs of this version of the schema and later work with what it leads to.
    pub compatible_from: u32,
    /// The SQL that it runs, including the record that it ran; empty if the store has no SQL.
    pub sql: String,
}

/// The versions of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SchemaStatus {
    /// The version that is stored; 0 if there is none.
    pub stored: u32,
    /// Programs of this schema version and later work with what is stored: the highest version that
    /// any of its migrations declared.
    pub compatible_from: u32,
    /// The version of this build.
    pub wanted: u32,
}

impl SchemaStatus {
    /// A stored schema, and the version that this build wants.
    pub fn new(stored: u32, compatible_from: u32, wanted: u32) -> Self {
        Self { stored, compatible_from, wanted }
    }

    /// Whether this build works with what is stored.
    pub fn fits(&self) -> bool {
        self.stored >= self.wanted && self.compatible_from <= self.wanted
    }

    /// Refuses what this build does not work with (contract R11.2).
    ///
    /// # Errors
    /// `NotFound` if nothing is stored, `Unsupported` if it is too old or too new.
    pub fn check(&self) -> Result<()> {
        let Self { stored, wanted, .. } = self;
        if self.fits() {
            return Ok(());
        }
        if *stored == 0 {
            let message = "no queuekit here: this URL has no store; correct the URL, or create the \
                           store: `queuekit migrate up`";
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        let message = if stored > wanted {
            format!(
                "its schema is version {stored}, newer than the {wanted} this build knows, and \
                 works with programs of version {} and later; use a newer queuekit",
                self.compatible_from
            )
        } else {
            format!(
                "its schema is version {stored}, this build needs {wanted}; run `queuekit migrate \
                 up`, or open it with migrate=on"
            )
        };
        Err(Error::new(ErrorKind::Unsupported, message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r11_2_a_newer_schema_fits_a_program_that_it_says_it_works_with() {
        for (stored, compatible_from, fits) in
            [(4, 4, true), (4, 1, true), (5, 4, true), (6, 4, true), (5, 5, false), (3, 3, false)]
        {
            let status = SchemaStatus::new(stored, compatible_from, 4);
            assert_eq!(status.check().is_ok(), fits, "{status:?}");
        }
        let nothing = SchemaStatus::new(0, 0, 4);
        assert_eq!(*nothing.check().unwrap_err().kind(), ErrorKind::NotFound);
    }
}
