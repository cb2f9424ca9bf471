//! A store for one test, which ends with it.

use std::sync::atomic::{AtomicU32, Ordering};

use queuekit_conformance::skip;
use queuekit_integration_tests::raw_dump;
use queuekit_integration_tests::servers::{self, Database};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use super::Server;

/// Where jobs are, for one test.
pub struct Store {
    pub url: String,
    pub directory: TempDir,
    database: Option<Database>,
    /// The address of a Redis server, and the prefix of the keys.
    keys: Option<(String, String)>,
}

/// Runs a case against a server over a store of this kind, or reports that the store is missing.
pub fn on(kind: &str, case: &str, run: fn(&mut Server)) {
    let Some(store) = Store::of(kind) else {
        return skip(case, &format!("there is no {kind}"));
    };
    let mut server = Server::start(store, &[]);
    run(&mut server);
}

impl Store {
    /// None if there is no server for it.
    pub fn of(kind: &str) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let (mut database, mut keys) = (None, None);
        let url = match kind {
            "memory" => "memory:".to_owned(),
            "sqlite" => format!("sqlite://{}", directory.path().join("jobs.db").display()),
            "postgres" => {
                let server = servers::postgres()?;
                let made = Runtime::new().expect("a runtime").block_on(server.database());
                let url = made.url();
                database = Some(made);
                let joint = if url.contains('?') { '&' } else { '?' };
                format!("{url}{joint}allow_volatile=on")
            }
            "redis" => {
                static NUMBER: AtomicU32 = AtomicU32::new(0);
                let server = servers::redis()?;
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                let prefix = format!("http{}_{number}", std::process::id());
                let url = format!("{}?prefix={prefix}&allow_volatile=on", server.url());
                keys = Some((server.url().to_owned(), prefix));
                url
            }
            _ => panic!("no such kind of store: {kind}"),
        };
        Some(Self { url, directory, database, keys })
    }

    /// All that calls store, as it is stored; none of a store in memory.
    pub fn raw_dump(&self) -> Option<Vec<String>> {
        let mut rows = self.rows()?;
        // The server's upkeep writes it at each full minute.
        rows.retain(|row| !row.contains("history"));
        Some(rows)
    }

    fn rows(&self) -> Option<Vec<String>> {
        let runtime = Runtime::new().expect("a runtime");
        let file = self.directory.path().join("jobs.db");
        if let Some(database) = &self.database {
            let mut rows = runtime.block_on(raw_dump::postgres_at(&database.url(), "queuekit"));
            // The server's upkeep adds up counters at any time.
            let added_up = ["deltas ", "counts ", "error_deltas ", "error_groups "];
            rows.retain(|row| !added_up.iter().any(|table| row.starts_with(table)));
            return Some(rows);
        }
        if let Some((url, prefix)) = &self.keys {
            return Some(runtime.block_on(raw_dump::redis_at(url, prefix)));
        }
        file.exists().then(|| raw_dump::sqlite_at(&file))
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(database) = self.database.take() {
            Runtime::new().expect("a runtime").block_on(database.drop());
        }
    }
}
