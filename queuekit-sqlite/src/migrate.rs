//! The versions of the schema.

use async_trait::async_trait;
use queuekit_core::capability::{Migrations, SchemaStatus};
use queuekit_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, OptionalExtension};

use crate::SqliteStore;
use crate::error::failed;
use crate::statements::{MIGRATION_INSERT, MIGRATION_TABLE, MIGRATION_VERSION, TABLES};

/// By version, oldest first. One that was published never changes.
const MIGRATIONS: [(u32, &str); 1] = [(1, include_str!("../migrations/0001_initial.sql"))];

/// What stands in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    /// The table of migrations is there.
    pub(crate) own: bool,
    /// Tables of somebody else are there.
    pub(crate) foreign: bool,
}

impl Tables {
    pub(crate) fn of(conn: &Connection) -> rusqlite::Result<Self> {
        let read = |row: &rusqlite::Row<'_>| Ok(Self { own: row.get(0)?, foreign: row.get(1)? });
        conn.query_row(TABLES, [], read)
    }
}

pub(crate) fn status(conn: &Connection) -> Result<SchemaStatus> {
    let wanted = MIGRATIONS[MIGRATIONS.len() - 1].0;
    if !Tables::of(conn).map_err(failed)?.own {
        return Ok(SchemaStatus { stored: 0, wanted });
    }
    let stored = conn.query_row(MIGRATION_VERSION, [], |row| row.get(0)).optional();
    Ok(SchemaStatus { stored: stored.map_err(failed)?.unwrap_or(0), wanted })
}

/// Brings the schema up to date, inside the transaction that has begun.
pub(crate) fn up(conn: &Connection, now_ms: i64) -> Result<SchemaStatus> {
    let SchemaStatus { stored, wanted } = status(conn)?;
    if stored > wanted {
        return Err(newer(stored, wanted));
    }
    conn.execute_batch(MIGRATION_TABLE).map_err(failed)?;
    for (version, sql) in MIGRATIONS.iter().filter(|(version, _)| *version > stored) {
        conn.execute_batch(sql).map_err(failed)?;
        conn.execute(MIGRATION_INSERT, (version, now_ms)).map_err(failed)?;
    }
    status(conn)
}

/// Refuses a schema that is not this build's.
pub(crate) fn check(status: SchemaStatus) -> Result<()> {
    let SchemaStatus { stored, wanted } = status;
    if stored > wanted {
        return Err(newer(stored, wanted));
    }
    if stored == wanted {
        return Ok(());
    }
    let message = format!(
        "its schema is version {stored}, this build needs {wanted}; run `queuekit migrate up`, \
         or open it with migrate=on"
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}

fn newer(stored: u32, wanted: u32) -> Error {
    let message = format!(
        "its schema is version {stored}, newer than the {wanted} this build knows; use a newer \
         queuekit"
    );
    Error::new(ErrorKind::Unsupported, message)
}

#[async_trait]
impl Migrations for SqliteStore {
    async fn status(&self) -> Result<SchemaStatus> {
        self.read("migrations", |step| status(step.conn)).await
    }

    async fn up(&self) -> Result<SchemaStatus> {
        self.write("migrate", |step| up(step.conn, step.now.as_millis())).await
    }

    fn sql(&self) -> String {
        let texts = MIGRATIONS.iter().map(|(_, sql)| *sql);
        std::iter::once(MIGRATION_TABLE).chain(texts).collect::<Vec<_>>().join("\n")
    }
}
