//! An order and the job that ships it, in one transaction of a Postgres database: both are stored,
//! or neither is.
//!
//! Needs a server: `cargo run --features postgres --example postgres_transactional_enqueue URL`.
//! Without the argument it uses `QUEUEKIT_EXAMPLE_POSTGRES_URL`, or `postgres://localhost`. It
//! creates two schemas, and drops them at the end.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use queuekit::postgres::tokio_postgres::{NoTls, Transaction};
use queuekit::postgres::{PostgresConfig, PostgresStore, tokio_postgres};
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

const BEGIN: &str = "
    DROP SCHEMA IF EXISTS example_shop, example_shop_jobs CASCADE;
    CREATE SCHEMA example_shop;
    CREATE TABLE example_shop.orders (
        id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, item text NOT NULL
    );";
const END: &str = "DROP SCHEMA example_shop, example_shop_jobs CASCADE";

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "ship-order")]
struct ShipOrder {
    order: i64,
}

async fn ship(job: ShipOrder, _ctx: Ctx) -> JobResult {
    println!("  shipping order {}", job.order);
    Ok(())
}

/// Writes the order and its job; both are undone if the transaction does not commit.
async fn place(
    store: &PostgresStore,
    tx: &Transaction<'_>,
    item: &str,
) -> Result<(), Box<dyn Error>> {
    let insert = "INSERT INTO example_shop.orders (item) VALUES ($1) RETURNING id";
    let order: i64 = tx.query_one(insert, &[&item]).await?.get(0);
    let jobs = [JobDraft::of(&ShipOrder { order }).build()?];
    store.enqueue_in(tx, &jobs).await?.ids()?;
    // Wakes workers at the commit. Without this call they look within their poll interval.
    store.notify_in(tx, &jobs).await?;
    println!("  order {order}: {item}");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given = std::env::args().nth(1);
    let url = given.or_else(|| std::env::var("QUEUEKIT_EXAMPLE_POSTGRES_URL").ok());
    let url = url.unwrap_or_else(|| "postgres://localhost".to_owned());

    // The settings after the `?` are for the store.
    let address = url.split('?').next().unwrap_or_default();
    let (mut shop, connection) = tokio_postgres::connect(address, NoTls).await?;
    tokio::spawn(connection);
    shop.batch_execute(BEGIN).await?;
    let config = PostgresConfig::from_url(&url)?.schema("example_shop_jobs")?;
    let store = PostgresStore::connect(config).await?;

    println!("one that commits:");
    let tx = shop.transaction().await?;
    place(&store, &tx, "a kettle").await?;
    tx.commit().await?;

    println!("one whose payment is refused:");
    let tx = shop.transaction().await?;
    place(&store, &tx, "a piano").await?;
    tx.rollback().await?;

    println!("one by plain SQL, as any language can do it:");
    let tx = shop.transaction().await?;
    let sql =
        "WITH placed AS (INSERT INTO example_shop.orders (item) VALUES ('a lamp') RETURNING id)
               SELECT example_shop_jobs.enqueue(
                   'default', 'ship-order', json_build_object('order', id)
               ) FROM placed";
    tx.batch_execute(sql).await?;
    tx.commit().await?;

    println!("what a worker finds:");
    let client = Client::new(store);
    let summary = Worker::new(client.clone()).handle(ship).run_until_idle().await?;
    let count = "SELECT count(*) FROM example_shop.orders";
    let orders: i64 = shop.query_one(count, &[]).await?.get(0);
    println!("{orders} orders, {} shipped", summary.completed);
    client.close().await?;
    shop.batch_execute(END).await?;
    Ok(())
}
