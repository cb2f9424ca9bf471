//! `queuekit doctor` on a Postgres that others use too.

use queuekit::postgres::tokio_postgres::{Client, NoTls, connect};
use queuekit_conformance::skip;
use serde_json::Value;
use tokio::runtime::Runtime;

use crate::common::Store;
use crate::sandbox::Sandbox;

/// A store, the commands that check it, and another connection to its database.
struct Shared {
    other: Client,
    runtime: Runtime,
    sandbox: Sandbox,
    _store: Store,
}

impl Shared {
    /// None if there is no server for it.
    fn new(case: &str) -> Option<Self> {
        let Some(store) = Store::of("postgres") else {
            skip(case, "there is no postgres");
            return None;
        };
        let sandbox = Sandbox::new().env("QUEUEKIT_URL", &store.url);
        sandbox.run(&["migrate", "up"]).ok();
        let url = store.url.replace("allow_volatile=on", "");
        let runtime = Runtime::new().unwrap();
        let (other, connection) = runtime.block_on(connect(&url, NoTls)).unwrap();
        runtime.spawn(connection);
        Some(Self { other, runtime, sandbox, _store: store })
    }

    fn says(&self, sql: &str) {
        self.runtime.block_on(self.other.batch_execute(sql)).unwrap();
    }

    fn report(&self) -> Value {
        self.sandbox.run(&["doctor", "--json"]).json()
    }
}

#[test]
fn an_idle_transaction_that_has_written_is_seen() {
    let case = "an_idle_transaction_that_has_written_is_seen";
    let Some(shared) = Shared::new(case) else { return };
    // Between statements it has no snapshot: only its id holds vacuum back.
    shared.says("BEGIN; SELECT pg_current_xact_id(), pg_sleep(1.1)");
    let report = shared.report();
    let mut facts = report["facts"].as_array().unwrap().iter();
    let oldest = facts.find(|fact| fact["name"] == "oldest transaction, s").expect("the fact");
    assert_ne!(oldest["value"], "0", "{report}");
}

#[test]
fn what_the_server_has_not_written_survives_no_crash_of_it() {
    let case = "what_the_server_has_not_written_survives_no_crash_of_it";
    let Some(shared) = Shared::new(case) else { return };
    shared.says(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off',
            current_database()); END $$",
    );
    // Servers of tests do not sync either: what promises less counts.
    assert_eq!(shared.report()["durability"], "nothing");
    let told = shared.sandbox.run(&["doctor"]).stdout;
    assert!(
        told.contains("a successful call survives  nothing: jobs are lost if the store's"),
        "{told}"
    );
    let bench = shared.sandbox.run(&["bench", "--jobs", "20", "--json"]).json();
    let verdict = bench["verdict"][0].as_str().unwrap();
    assert!(verdict.starts_with("a successful call survives nothing"), "{verdict}");
}
