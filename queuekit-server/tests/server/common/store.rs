//! A store for one test, which ends with it.

use std::sync::atomic::{AtomicU32, Ordering};

use queuekit_conformance::skip;
use queuekit_integration_tests::servers::{self, Database};
use tempfile::TempDir;

use super::Server;

/// Where jobs are, for one test.
pub struct Store {
    pub url: String,
    pub directory: TempDir,
    database: Option<Database>,
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
        let mut database = None;
        let url = match kind {
            "memory" => "memory:".to_owned(),
            "sqlite" => format!("sqlite://{}", directory.path().join("jobs.db").display()),
            "postgres" => {
                let server = servers::postgres()?;
                let runtime = tokio::runtime::Runtime::new().expect("a runtime");
                let made = runtime.block_on(server.database());
                let url = made.url();
                database = Some(made);
                let joint = if url.contains('?') { '&' } else { '?' };
                format!("{url}{joint}allow_volatile=on")
            }
            "redis" => {
                static NUMBER: AtomicU32 = AtomicU32::new(0);
                let server = servers::redis()?;
                let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                let (url, process) = (server.url(), std::process::id());
                format!("{url}?prefix=http{process}_{number}&allow_volatile=on")
            }
            _ => panic!("no such kind of store: {kind}"),
        };
        Some(Self { url, directory, database })
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Some(database) = self.database.take() {
            let runtime = tokio::runtime::Runtime::new().expect("a runtime");
            runtime.block_on(database.drop());
        }
    }
}
