//! Migrations, as the trait of core has them.

use async_trait::async_trait;
use queuekit_core::Result;
use queuekit_core::capability::{Migration, Migrations, SchemaStatus};

use crate::SqliteStore;
use crate::open;
use crate::schema::{pending, status};

impl SqliteStore {
    /// All migrations of the schema, oldest first, for programs that create the file with other
    /// tools.
    pub fn migrations() -> Vec<Migration> {
        pending(0)
    }
}

#[async_trait]
impl Migrations for SqliteStore {
    async fn status(&self) -> Result<SchemaStatus> {
        let config = self.shared.config.clone();
        self.read("migrations", move |step| {
            open::refuse_foreign(&config, step.conn)?;
            status(step.conn)
        })
        .await
    }

    async fn up(&self) -> Result<SchemaStatus> {
        self.check_open().map_err(|error| error.during("migrate"))?;
        let made = open::bring_up_to_date(self.shared.config.clone()).await;
        made.map_err(|error| error.during("migrate"))?;
        self.status().await
    }

    fn pending(&self, stored: u32) -> Vec<Migration> {
        pending(stored)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;
    use crate::{Create, SqliteConfig};

    #[tokio::test]
    async fn a_file_made_with_the_sql_of_all_migrations_opens() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("jobs.db");
        let conn = Connection::open(&path).unwrap();
        conn.pragma_update(None, "journal_mode", "wal").unwrap();
        for migration in SqliteStore::migrations() {
            conn.execute_batch(&migration.sql).unwrap();
        }
        let config = SqliteConfig::new(&path).create(Create::Nothing).migrate(false);
        SqliteStore::connect(config).await.unwrap();
    }
}
