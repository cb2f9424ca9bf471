//! An outbox in a Postgres database: an order and its event in one transaction. One consumer ships
//! orders, another records every event.
//!
//! Needs a server: `cargo run --features postgres --example postgres_outbox URL`. Without the
//! argument it uses `QUEUEKIT_EXAMPLE_POSTGRES_URL`, or `postgres://localhost`. It creates two
//! schemas, and drops them at the end.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use queuekit::Bytes;
use queuekit::postgres::tokio_postgres::{NoTls, Transaction};
use queuekit::postgres::{PostgresConfig, PostgresStore, tokio_postgres};
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

const BEGIN: &str = "
    DROP SCHEMA IF EXISTS example_outbox, example_outbox_jobs CASCADE;
    CREATE SCHEMA example_outbox;
    CREATE TABLE example_outbox.orders (
        id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY, item text NOT NULL
    );";
const END: &str = "DROP SCHEMA example_outbox, example_outbox_jobs CASCADE";

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "order.placed")]
struct OrderPlaced {
    order: i64,
    item: String,
}

/// The type of the event is the kind of its payload.
async fn ship(event: OrderPlaced, _ctx: Ctx) -> JobResult {
    println!("  {} shipped", event.item);
    Ok(())
}

/// Handles events of every type, including types that are added later.
async fn record(data: Bytes, ctx: Ctx) -> JobResult<Option<Bytes>> {
    println!("  recorded: {} {}", ctx.kind(), String::from_utf8_lossy(&data));
    Ok(None)
}

/// Writes the order and its event; both are undone if the transaction does not commit.
async fn place(
    store: &PostgresStore,
    tx: &Transaction<'_>,
    item: &str,
) -> Result<(), Box<dyn Error>> {
    let insert = "INSERT INTO example_outbox.orders (item) VALUES ($1) RETURNING id";
    let order: i64 = tx.query_one(insert, &[&item]).await?.get(0);
    let event = OrderPlaced { order, item: item.to_owned() };
    let events = [EventDraft::of(&event).partition_key(format!("order-{order}")).build()?];
    store.emit_in(tx, &events).await?.ids()?;
    // Wakes consumers at the commit. Without this call they look within their poll interval.
    store.notify_events_in(tx, &events).await?;
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
    let config = PostgresConfig::from_url(&url)?.schema("example_outbox_jobs")?;
    let store = PostgresStore::connect(config).await?;
    let client = Client::new(store.clone());

    // Declare them at each start: declaring the same subscription again changes nothing.
    let shipping = SubscriptionDraft::new("shipping", "order.placed");
    let records = SubscriptionDraft::new("records", "*").ordered();
    for subscription in [shipping, records] {
        client.consumers().declare(subscription).await?;
    }

    println!("one that commits:");
    let tx = shop.transaction().await?;
    place(&store, &tx, "a kettle").await?;
    tx.commit().await?;

    println!("one whose payment is refused:");
    let tx = shop.transaction().await?;
    place(&store, &tx, "a piano").await?;
    tx.rollback().await?;

    println!("what the consumers do:");
    let worker = Worker::new(client.clone()).consume("shipping", ship);
    worker.consume_any("records", record).run_until_idle().await?;
    for name in ["shipping", "records"] {
        let stats = client.consumers().stats(name).await?;
        println!("{name}: {} delivered, {} dead", stats.totals.completed, stats.totals.dead);
        assert_eq!(stats.totals.completed, 1, "the order that was rolled back has no event");
    }
    client.close().await?;
    shop.batch_execute(END).await?;
    Ok(())
}
