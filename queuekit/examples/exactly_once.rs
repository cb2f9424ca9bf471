//! A job that takes effect exactly once: one transaction does its work and completes it.
//!
//! A job runs at least once: if a worker dies between the work and the ack, the job runs again. If
//! the work is a write to the same Postgres database, the handler can ack in its own transaction.
//! Then both take effect at the commit, or neither does. If another worker has the job by then, the
//! ack is refused and the handler rolls its transaction back.
//!
//! Needs a server: `cargo run --features postgres --example exactly_once URL`. Without the argument
//! it uses `QUEUEKIT_EXAMPLE_POSTGRES_URL`, or `postgres://localhost`. It creates two schemas, and
//! drops them at the end.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use queuekit::jobs::{Ack, AckOutcome};
use queuekit::postgres::tokio_postgres::NoTls;
use queuekit::postgres::{PostgresConfig, PostgresStore, tokio_postgres};
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};
use tokio::sync::Mutex;

const BEGIN: &str = "
    DROP SCHEMA IF EXISTS example_bank, example_bank_jobs CASCADE;
    CREATE SCHEMA example_bank;
    CREATE TABLE example_bank.accounts (name text PRIMARY KEY, cents bigint NOT NULL);
    INSERT INTO example_bank.accounts VALUES ('ada', 0);";
const END: &str = "DROP SCHEMA example_bank, example_bank_jobs CASCADE";

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "pay-in")]
struct PayIn {
    account: String,
    cents: i64,
}

#[derive(Clone)]
struct Bank {
    store: PostgresStore,
    /// A larger program would use a pool.
    database: Arc<Mutex<tokio_postgres::Client>>,
    runs: Arc<AtomicU32>,
}

impl Handler<PayIn> for Bank {
    type Output = ();

    async fn call(&self, job: PayIn, ctx: Ctx) -> JobResult {
        let run = self.runs.fetch_add(1, Ordering::Relaxed) + 1;
        let mut database = self.database.lock().await;
        let tx = database.transaction().await?;
        let update = "UPDATE example_bank.accounts SET cents = cents + $2 WHERE name = $1";
        tx.execute(update, &[&job.account, &job.cents]).await?;
        let acks = [Ack::new(ctx.lease_token().clone())];
        let outcomes = self.store.ack_in(&tx, &acks).await?;
        if outcomes != [AckOutcome::Acked] {
            // Dropping the transaction rolls it back: this run has paid nothing in.
            println!("  run {run}: somebody else has the job by now ({outcomes:?})");
            return Ok(());
        }
        if run == 1 {
            println!("  run 1: dies before its commit");
            return Err(JobError::retry_after("the connection broke", Duration::ZERO));
        }
        tx.commit().await?;
        println!("  run {run}: paid in and acked by one commit");
        if run == 2 {
            println!("  run 2: and fails after it, too late to matter");
            return Err(JobError::retry_after("the process was killed", Duration::ZERO));
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args().nth(1);
    let url = given.or_else(|| std::env::var("QUEUEKIT_EXAMPLE_POSTGRES_URL").ok());
    let url = url.unwrap_or_else(|| "postgres://localhost".to_owned());

    // The settings after the `?` are for the store.
    let address = url.split('?').next().unwrap_or_default();
    let (database, connection) = tokio_postgres::connect(address, NoTls).await?;
    tokio::spawn(connection);
    database.batch_execute(BEGIN).await?;
    let config = PostgresConfig::from_url(&url)?.schema("example_bank_jobs")?;
    let store = PostgresStore::connect(config).await?;
    let client = Client::new(store.clone());
    let database = Arc::new(Mutex::new(database));
    let bank = Bank { store, database: Arc::clone(&database), runs: Arc::default() };

    println!("a job that dies before the commit, and after it:");
    let id = client.enqueue(PayIn { account: "ada".into(), cents: 500 }).await?;
    Worker::new(client.clone()).handle(bank.clone()).run_until_idle().await?;
    let state = client.jobs().get(id).await?.map(|job| job.state);
    assert_eq!(state, Some(State::Completed));

    println!("one whose lease was taken from it while it ran:");
    let id = client.enqueue(PayIn { account: "ada".into(), cents: 70 }).await?;
    let thief = {
        let client = client.clone();
        move |_: PayIn, ctx: Ctx| {
            let (client, bank) = (client.clone(), bank.clone());
            async move {
                client.jobs().delete_forced(ctx.id()).await?;
                bank.call(PayIn { account: "ada".into(), cents: 70 }, ctx).await
            }
        }
    };
    Worker::new(client.clone()).handle(thief).run_until_idle().await?;
    assert_eq!(client.jobs().get(id).await?, None);

    let database = database.lock().await;
    let balance = "SELECT cents FROM example_bank.accounts WHERE name = 'ada'";
    let cents: i64 = database.query_one(balance, &[]).await?.get(0);
    println!("the account has {cents} cents: each job took effect once, or not at all");
    assert_eq!(cents, 500);
    client.close().await?;
    database.batch_execute(END).await?;
    Ok(())
}
