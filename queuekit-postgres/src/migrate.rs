//! The versions of the schema.

use async_trait::async_trait;
use queuekit_core::capability::{Migrations, SchemaStatus};
use queuekit_core::{Error, ErrorKind, Result};

use crate::PostgresStore;
use crate::call::Call;
use crate::config::Schema;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::session::Session;
use crate::statements::Sql;

/// By version, oldest first. One that was published never changes.
const MIGRATIONS: [(i32, &str); 6] = [
    (1, include_str!("../migrations/0001_initial.sql")),
    (2, include_str!("../migrations/0002_for_sql.sql")),
    (3, include_str!("../migrations/0003_schedules.sql")),
    (4, include_str!("../migrations/0004_events.sql")),
    (5, include_str!("../migrations/0005_totals.sql")),
    (6, include_str!("../migrations/0006_pinned.sql")),
];
const TABLE: &str = include_str!("../migrations/0000_migrations.sql");

/// Brings the schema up to date where that is wanted, and refuses one that is not this build's.
pub(crate) async fn bring_up(store: &PostgresStore, migrate: bool) -> Result<()> {
    let SchemaStatus { stored, wanted } = store.status().await?;
    if stored > wanted {
        return Err(newer(stored, wanted));
    }
    if stored == wanted {
        return Ok(());
    }
    if migrate {
        return store.up().await.map(drop);
    }
    let message = format!(
        "its schema is version {stored}, this build needs {wanted}; run `queuekit migrate up`, \
         or open it with migrate=on"
    );
    Err(Error::new(ErrorKind::Unsupported, message))
}

/// Inside a transaction that holds the lock of migrations.
async fn up(session: &Session<'_>, schema: &Schema) -> Outcome<SchemaStatus> {
    let SchemaStatus { stored, wanted } = status(session).await?;
    if stored > wanted {
        return Err(newer(stored, wanted).into());
    }
    if stored == 0 {
        session.execute(&schema.apply(TABLE)).await?;
    }
    for (version, sql) in MIGRATIONS.iter().filter(|(version, _)| version.unsigned_abs() > stored) {
        session.execute(&schema.apply(sql)).await?;
        session.query(Sql::MigrationInsert, params![*version]).await?;
    }
    status(session).await
}

pub(crate) async fn status(session: &Session<'_>) -> Outcome<SchemaStatus> {
    let wanted = MIGRATIONS[MIGRATIONS.len() - 1].0.unsigned_abs();
    let there = session.query(Sql::MigrationTable, params![]).await?;
    let there = there.first().ok_or_else(|| unreadable("the schema"))?;
    if !there.try_get::<_, bool>(0)? {
        return Ok(SchemaStatus { stored: 0, wanted });
    }
    let version = session.query(Sql::MigrationVersion, params![]).await?;
    let version: i32 = version.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(SchemaStatus { stored: version.unsigned_abs(), wanted })
}

fn newer(stored: u32, wanted: u32) -> Error {
    let message = format!(
        "its schema is version {stored}, newer than the {wanted} this build knows; use a newer \
         queuekit"
    );
    Error::new(ErrorKind::Unsupported, message)
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
                // One at a time, whoever else opens the same new store.
                session
                    .query(Sql::LockQueue, params![crate::step::SCHEMA, shared.lock_class])
                    .await?;
                let status = up(session, &shared.schema).await?;
                session.commit().await?;
                Ok(status)
            })
        });
        let status = status.await?;
        // A store is ready for the day, whoever opens it next.
        self.add_days().await?;
        Ok(status)
    }

    fn sql(&self) -> String {
        let insert = include_str!("../sql/migration_insert.sql");
        // Functions and views keep what they find by the path of who makes them.
        let mut all = format!("SET search_path = pg_catalog, pg_temp;\n\n{TABLE}");
        for (version, sql) in MIGRATIONS {
            // A store that is opened on it knows by that what is there.
            let insert = insert.replace("$1::int", &version.to_string());
            all = format!("{all}\n{sql}\n{insert};\n");
        }
        self.shared.schema.apply(&format!("{all}\nRESET search_path;\n"))
    }
}
