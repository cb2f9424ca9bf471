//! The versions of the schema.

use async_trait::async_trait;
use queuekit_core::capability::{Migrations, SchemaStatus};
use queuekit_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, OptionalExtension};

use crate::SqliteStore;
use crate::error::failed;
use crate::statements::{MIGRATION_INSERT, MIGRATION_TABLE, MIGRATION_VERSION, TABLES};

/// By version, oldest first. One that was published never changes.
const MIGRATIONS: [(u32, &str); 4] = [
    (1, include_str!("../migrations/0001_initial.sql")),
    (2, include_str!("../migrations/0002_schedules.sql")),
    (3, include_str!("../migrations/0003_events.sql")),
    (4, include_str!("../migrations/0004_totals.sql")),
];

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
        let mut all = MIGRATION_TABLE.to_owned();
        for (version, sql) in MIGRATIONS {
            // A store that is opened on it knows by that what is there.
            let insert = MIGRATION_INSERT.replace("?1", &version.to_string());
            let insert = insert.replace("?2", "unixepoch() * 1000");
            all = format!("{all}\n{sql}\n{insert}");
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Create, SqliteConfig};

    #[tokio::test]
    async fn a_file_made_with_the_sql_of_all_migrations_opens() {
        let directory = tempfile::tempdir().unwrap();
        let store = SqliteStore::open(directory.path().join("first.db")).await.unwrap();
        let path = directory.path().join("second.db");
        let conn = Connection::open(&path).unwrap();
        conn.pragma_update(None, "journal_mode", "wal").unwrap();
        conn.execute_batch(&store.sql()).unwrap();
        let config = SqliteConfig::new(&path).create(Create::Nothing).migrate(false);
        SqliteStore::connect(config).await.unwrap();
    }
}
