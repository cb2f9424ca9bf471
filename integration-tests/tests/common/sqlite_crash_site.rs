//! The SQLite store in crash tests.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use queuekit_core::Backend;
use queuekit_integration_tests::crash::Site;
use queuekit_sqlite::{SqliteConfig, SqliteStore, Synchronous};

use super::files::{assert_exact, connection};

/// One file, in the directory it is given.
#[derive(Debug, Default)]
pub(crate) struct SqliteSite {
    pub(crate) synchronous: Synchronous,
}

#[async_trait]
impl Site for SqliteSite {
    async fn create(&self, directory: &Path) -> String {
        directory.join("jobs.db").display().to_string()
    }

    async fn open(&self, place: &str) -> Arc<dyn Backend> {
        let config = SqliteConfig::new(place).synchronous(self.synchronous);
        Arc::new(SqliteStore::connect(config).await.expect("the store opens"))
    }

    /// Asserts that the file is sound and that derived data agrees with the jobs.
    async fn check(&self, place: &str) {
        let conn = connection(Path::new(place));
        let found = conn.pragma_query_value(None, "integrity_check", |row| row.get(0));
        assert_eq!(found, Ok("ok".to_owned()), "{place}");
        // The power may have gone before there were tables.
        if conn.table_exists(None, "queuekit_jobs").expect("tables are listed") {
            assert_exact(&conn);
        }
    }
}
