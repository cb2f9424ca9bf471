//! The versions of the schema.

use queuekit_core::capability::{Migration, SchemaStatus};
use queuekit_core::{Error, ErrorKind, Result};
use rusqlite::Connection;

use crate::error::failed;
use crate::statements::{MIGRATION_INSERT, MIGRATION_TABLE, MIGRATION_VERSION, TABLES};

/// The migrations, oldest first: version, the oldest version whose programs work with it, and its
/// SQL. A published migration never changes.
const MIGRATIONS: [(u32, u32, &str); 1] =
    [(15, 15, include_str!("../migrations/0015_initial.sql"))];

/// The tables in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Tables {
    /// It has the table of migrations.
    pub(crate) own: bool,
    /// It has tables of another application.
    pub(crate) foreign: bool,
}

impl Tables {
    pub(crate) fn of(conn: &Connection) -> rusqlite::Result<Self> {
        let read =
            |row: &rusqlite::Row<'_>| Ok(Self { own: row.get("own")?, foreign: row.get("other")? });
        conn.query_row(TABLES, [], read)
    }
}

pub(crate) fn status(conn: &Connection) -> Result<SchemaStatus> {
    let wanted = MIGRATIONS[MIGRATIONS.len() - 1].0;
    if !Tables::of(conn).map_err(failed)?.own {
        return Ok(SchemaStatus::new(0, 0, wanted));
    }
    let read = |row: &rusqlite::Row<'_>| {
        Ok(SchemaStatus::new(row.get("stored")?, row.get("compatible_from")?, wanted))
    };
    let status = conn.query_row(MIGRATION_VERSION, [], read).map_err(failed)?;
    refuse_unpublished(status.stored)?;
    Ok(status)
}

/// Refuses a schema from before the first migration.
fn refuse_unpublished(stored: u32) -> Result<()> {
    let first = MIGRATIONS[0].0;
    if (1..first).contains(&stored) {
        let message = format!(
            "its schema has version {stored}, which was made by a build that was never published; \
             delete the file, or drop its tables queuekit_*, and open it again"
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

/// Brings the schema up to date, inside the transaction that has begun.
pub(crate) fn up(conn: &Connection, now_ms: i64) -> Result<SchemaStatus> {
    let before = status(conn)?;
    if before.stored > before.wanted {
        before.check()?;
    }
    conn.execute_batch(MIGRATION_TABLE).map_err(failed)?;
    for (version, from, sql) in MIGRATIONS.iter().filter(|(version, ..)| *version > before.stored) {
        conn.execute_batch(sql).map_err(failed)?;
        conn.execute(MIGRATION_INSERT, (version, from, now_ms)).map_err(failed)?;
    }
    status(conn)
}

/// The migrations that [`up`] runs on a schema of this version.
pub(crate) fn pending(stored: u32) -> Vec<Migration> {
    let of = |&(version, compatible_from, sql): &(u32, u32, &str)| {
        let table = if version == MIGRATIONS[0].0 { MIGRATION_TABLE } else { "" };
        // This row shows a store that is opened later which schema it finds.
        let insert = MIGRATION_INSERT
            .replace("?1", &version.to_string())
            .replace("?2", &compatible_from.to_string())
            .replace("?3", "unixepoch() * 1000");
        Migration { version, compatible_from, sql: format!("{table}{sql}\n{insert}") }
    };
    MIGRATIONS.iter().filter(|(version, ..)| *version > stored).map(of).collect()
}
