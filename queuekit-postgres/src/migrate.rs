//! The versions of the schema.

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{Migration, Migrations, SchemaStatus};

use crate::PostgresStore;
use crate::call::Call;
use crate::config::Schema;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

/// The migrations, oldest first: version, the oldest version whose programs work with it, and its
/// SQL. A published migration never changes.
const MIGRATIONS: [(i32, i32, &str); 18] = [
    (1, 1, include_str!("../migrations/0001_initial.sql")),
    (2, 2, include_str!("../migrations/0002_for_sql.sql")),
    (3, 3, include_str!("../migrations/0003_schedules.sql")),
    (4, 4, include_str!("../migrations/0004_events.sql")),
    (5, 5, include_str!("../migrations/0005_totals.sql")),
    (6, 6, include_str!("../migrations/0006_pinned.sql")),
    (7, 6, include_str!("../migrations/0007_audit.sql")),
    (8, 6, include_str!("../migrations/0008_event_bytes.sql")),
    (9, 9, include_str!("../migrations/0009_releases.sql")),
    (10, 10, include_str!("../migrations/0010_error_groups.sql")),
    (11, 11, include_str!("../migrations/0011_history.sql")),
    (12, 12, include_str!("../migrations/0012_orders.sql")),
    (13, 12, include_str!("../migrations/0013_failed.sql")),
    (14, 14, include_str!("../migrations/0014_pauses.sql")),
    (15, 14, include_str!("../migrations/0015_in_transactions.sql")),
    (16, 16, include_str!("../migrations/0016_recent_errors.sql")),
    (17, 17, include_str!("../migrations/0017_checkpoints.sql")),
    (18, 18, include_str!("../migrations/0018_ended.sql")),
];
const TABLE: &str = include_str!("../migrations/0000_migrations.sql");
/// Functions and views resolve names by the search path of the role that creates them, so a
/// migration sets it. The setting lasts for the transaction, or for the session where there is
/// none.
const PINNED: &str = "SET search_path = pg_catalog, pg_temp;";

/// Brings the schema up to date where that is wanted, and refuses one that is not this build's.
pub(crate) async fn bring_up(store: &PostgresStore, migrate: bool) -> Result<()> {
    let status = store.status().await?;
    if migrate && status.stored < status.wanted {
        return store.up().await.map(drop);
    }
    status.check()
}

/// Runs inside a transaction that holds the lock of migrations.
async fn up(session: &Session<'_>, schema: &Schema) -> Outcome<SchemaStatus> {
    let before = status(session).await?;
    if before.stored > before.wanted {
        before.check()?;
    }
    if before.stored == 0 {
        session.execute(&schema.apply(TABLE)).await?;
    }
    for (version, compatible_from, sql) in after(before.stored) {
        session.execute(&schema.apply(sql)).await?;
        session.query(Sql::MigrationInsert, params![*version, *compatible_from]).await?;
    }
    status(session).await
}

pub(crate) async fn status(session: &Session<'_>) -> Outcome<SchemaStatus> {
    let wanted = MIGRATIONS[MIGRATIONS.len() - 1].0.unsigned_abs();
    let there = session.query(Sql::MigrationTable, params![]).await?;
    let there = there.first().ok_or_else(|| unreadable("the schema"))?;
    if !there.try_get::<_, bool>("is_there")? {
        return Ok(SchemaStatus::new(0, 0, wanted));
    }
    let found = session.query(Sql::MigrationVersion, params![]).await?;
    let found = found.first().ok_or_else(|| unreadable("the schema"))?;
    let number =
        |name| Ok::<_, tokio_postgres::Error>(found.try_get::<_, i32>(name)?.unsigned_abs());
    Ok(SchemaStatus::new(number("version")?, number("compatible_from")?, wanted))
}

fn after(stored: u32) -> impl Iterator<Item = &'static (i32, i32, &'static str)> {
    MIGRATIONS.iter().filter(move |(version, ..)| version.unsigned_abs() > stored)
}

#[async_trait]
impl Migrations for PostgresStore {
    async fn status(&self) -> Result<SchemaStatus> {
        self.call("migrations", Call::Repeatable, (), |(), session| Box::pin(status(session))).await
    }

    async fn up(&self) -> Result<SchemaStatus> {
        let status = self.call("migrate", Call::Repeatable, &*self.shared, |shared, session| {
            Box::pin(async move {
                session.begin().await?;
                // One migration at a time, also if several processes open the same new store.
                session.lock(crate::partitions::SCHEMA).await?;
                let status = up(session, &shared.statements.schema).await?;
                session.commit().await?;
                Ok(status)
            })
        });
        let status = status.await?;
        // The partitions of the next days exist before anybody uses the store.
        self.add_partitions().await?;
        Ok(status)
    }

    fn pending(&self, stored: u32) -> Vec<Migration> {
        let of = |&(version, compatible_from, sql): &(i32, i32, &str)| {
            let table = if version == MIGRATIONS[0].0 { TABLE } else { "" };
            // This row shows a store that is opened later which schema it finds.
            let insert = include_str!("../sql/migration_insert.sql")
                .replace("$1::int", &version.to_string())
                .replace("$2::int", &compatible_from.to_string());
            Migration {
                version: version.unsigned_abs(),
                compatible_from: compatible_from.unsigned_abs(),
                sql: self
                    .shared
                    .statements
                    .schema
                    .apply(&format!("{PINNED}\n{table}\n{sql}\n{insert};\n")),
            }
        };
        after(stored).map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Write as _;
    use std::fs;
    use std::path::Path;

    use sha2::{Digest as _, Sha256};

    /// The list says in its head when and how it may be changed.
    #[test]
    fn r11_2_no_migration_that_landed_is_edited() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations");
        let mut found = BTreeMap::new();
        for entry in fs::read_dir(&folder).expect("the folder of migrations") {
            let path = entry.expect("an entry").path();
            if path.extension().is_some_and(|of| of == "sql") {
                let name = path.file_name().expect("a file").to_string_lossy().into_owned();
                let digest = Sha256::digest(fs::read(&path).expect("a migration"));
                let hex = digest.iter().fold(String::new(), |mut hex, byte| {
                    write!(hex, "{byte:02x}").expect("a text takes what is written");
                    hex
                });
                found.insert(name, hex);
            }
        }
        let listed = fs::read_to_string(folder.join("SHA256SUMS")).expect("the list");
        let lines = listed.lines().filter(|line| !line.starts_with('#'));
        let listed: BTreeMap<String, String> = lines
            .filter_map(|line| line.split_once("  "))
            .map(|(hex, name)| (name.to_owned(), hex.to_owned()))
            .collect();
        assert_eq!(found, listed, "see migrations/SHA256SUMS");
    }
}
