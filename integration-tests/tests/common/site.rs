//! What crash tests need to know of the SQLite store.

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

    /// The file is sound, and what is derived of jobs is as they are.
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
