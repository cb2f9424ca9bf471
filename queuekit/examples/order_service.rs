//! An outbox: an order and its event in one transaction, and two consumers that each get every
//! event.
//!
//! One consumer is slow and falls behind. The other fails now and then, and its deliveries are
//! retried. Neither affects the other or the order service, which does not know its consumers.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use queuekit::prelude::*;
use queuekit::sqlite::SqliteStore;
use queuekit::sqlite::rusqlite::{Connection, TransactionBehavior};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "order.placed")]
struct OrderPlaced {
    order: i64,
    item: String,
}

/// The type of the event is the kind of its payload.
async fn write_invoice(event: OrderPlaced, _ctx: Ctx) -> JobResult {
    tokio::time::sleep(Duration::from_millis(100)).await;
    println!("  invoice for order {}", event.order);
    Ok(())
}

async fn ship(event: OrderPlaced, ctx: Ctx) -> JobResult {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    if CALLS.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
        println!("  no carrier for order {} (attempt {})", event.order, ctx.attempt());
        return Err(JobError::retry_after("no carrier", Duration::from_millis(50)));
    }
    println!("  {} shipped", event.item);
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("shop.db");
    let mut shop = Connection::open(&path)?;
    shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)", [])?;
    let url = format!("sqlite://{}?create=tables&journal=wal", path.display());
    let store = SqliteStore::connect_url(&url).await?;
    let client = Client::new(store.clone());

    // Declare them at each start: declaring the same subscription again changes nothing.
    let invoices = SubscriptionDraft::new("invoices", "order.*").ordered();
    let shipping = SubscriptionDraft::new("shipping", "order.placed").max_attempts(10);
    for subscription in [invoices, shipping] {
        client.consumers().declare(subscription).await?;
    }

    println!("orders:");
    for item in ["a kettle", "a piano", "a lamp"] {
        let tx = shop.transaction_with_behavior(TransactionBehavior::Immediate)?;
        tx.execute("INSERT INTO orders (item) VALUES (?1)", [item])?;
        let order = tx.last_insert_rowid();
        let event = OrderPlaced { order, item: item.to_owned() };
        let event = EventDraft::of(&event).partition_key(format!("order-{order}")).build()?;
        store.emit_in(&tx, &[event])?.ids()?;
        tx.commit()?;
        println!("  {order}: {item}");
    }

    println!("what the consumers do:");
    let worker = Worker::new(client.clone())
        .consume("invoices", write_invoice)
        .consume("shipping", ship)
        .start()
        .await?;
    for name in ["invoices", "shipping"] {
        loop {
            let stats = client.consumers().stats(name).await?;
            if stats.depth + stats.in_flight == 0 {
                let (median, _) = stats.latency.unwrap_or_default();
                println!("{name}: all delivered, half of them within {median:.0?}");
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    worker.drain(Duration::from_secs(5)).await;
    Ok(())
}
