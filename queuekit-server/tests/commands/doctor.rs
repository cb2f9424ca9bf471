//! `queuekit doctor` on a Postgres that others use too.

use queuekit::postgres::tokio_postgres::{Client, NoTls, connect};
use serde_json::Value;

use crate::common::Store;
use crate::sandbox::Sandbox;

/// A store, what asks about it, and a connection of somebody else to its database.
async fn postgres(case: &str) -> Option<(Store, Sandbox, Client)> {
    let made = tokio::task::spawn_blocking(|| Store::of("postgres")).await.unwrap();
    let Some(store) = made else {
        eprintln!("SKIPPED {case}: there is no postgres");
        return None;
    };
    let sandbox = Sandbox::new().env("QUEUEKIT_URL", &store.url);
    sandbox.run(&["migrate", "up"]).ok();
    let url = store.url.replace("?allow_volatile=on", "").replace("&allow_volatile=on", "");
    let (client, connection) = connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    Some((store, sandbox, client))
}

fn fact(report: &Value, name: &str) -> Option<String> {
    let facts = report["facts"].as_array()?;
    let fact = facts.iter().find(|fact| fact["name"] == name)?;
    Some(fact["value"].as_str()?.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_transaction_that_has_written_is_seen() {
    let case = "an_idle_transaction_that_has_written_is_seen";
    let Some((store, sandbox, client)) = postgres(case).await else { return };
    // Between statements it has no snapshot: only its id holds vacuum back.
    client.batch_execute("BEGIN; SELECT pg_current_xact_id()").await.unwrap();
    client.batch_execute("SELECT pg_sleep(1.1)").await.unwrap();
    let report = sandbox.run(&["doctor", "--json"]).json();
    let oldest = fact(&report, "oldest transaction, s").expect("the fact");
    assert!(oldest.parse::<u64>().unwrap() >= 1, "{report}");
    drop(client);
    tokio::task::spawn_blocking(|| drop(store)).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_server_has_not_written_survives_no_crash_of_it() {
    let case = "what_the_server_has_not_written_survives_no_crash_of_it";
    let Some((store, sandbox, client)) = postgres(case).await else { return };
    let relax = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off',
        current_database()); END $$";
    client.batch_execute(relax).await.unwrap();
    // Servers of tests do not sync either: what promises less counts.
    let report = sandbox.run(&["doctor", "--json"]).json();
    assert_eq!(report["durability"], "nothing", "{report}");
    let told = sandbox.run(&["doctor"]).stdout;
    assert!(told.contains("an Ok survives         no crash of the process that keeps"), "{told}");
    let bench = sandbox.run(&["bench", "--jobs", "20", "--json"]).json();
    let verdict = bench["verdict"][0].as_str().unwrap();
    assert!(verdict.starts_with("an Ok survives no crash") && verdict.contains("its server"));
    drop(client);
    tokio::task::spawn_blocking(|| drop(store)).await.unwrap();
}
