//! An order and the job that ships it, in one transaction: both are stored, or neither is.
//!
//! The jobs are in the application's own database, next to its tables. With two databases there
//! would be two commits. A process that dies between them leaves an order that nobody ships, or
//! ships an order that does not exist.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use queuekit::prelude::*;
use queuekit::sqlite::SqliteStore;
use queuekit::sqlite::rusqlite::{Connection, Transaction, TransactionBehavior};
use serde::{Deserialize, Serialize};

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
fn place(store: &SqliteStore, tx: &Transaction<'_>, item: &str) -> Result<(), Box<dyn Error>> {
    tx.execute("INSERT INTO orders (item) VALUES (?1)", [item])?;
    let order = tx.last_insert_rowid();
    let job = JobDraft::of(&ShipOrder { order }).build()?;
    store.enqueue_in(tx, &[job])?.ids()?;
    println!("  order {order}: {item}");
    Ok(())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let path = directory.path().join("shop.db");
    let mut shop = Connection::open(&path)?;
    shop.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, item TEXT NOT NULL)", [])?;

    // The shop created this file, so the URL must allow the store to add its tables and to turn on
    // the write-ahead log.
    let url = format!("sqlite://{}?create=tables&journal=wal", path.display());
    let store = SqliteStore::connect_url(&url).await?;

    println!("one that commits:");
    // An immediate transaction takes the write lock at once, so no other writer can get in between.
    let tx = shop.transaction_with_behavior(TransactionBehavior::Immediate)?;
    place(&store, &tx, "a kettle")?;
    // Do not call the client while the transaction is open: the call would wait for this lock.
    tx.commit()?;

    println!("one whose payment is refused:");
    let tx = shop.transaction_with_behavior(TransactionBehavior::Immediate)?;
    place(&store, &tx, "a piano")?;
    tx.rollback()?;

    println!("what a worker finds:");
    let summary = Worker::new(Client::new(store)).handle(ship).run_until_idle().await?;
    let orders: u64 = shop.query_row("SELECT count(*) FROM orders", [], |row| row.get(0))?;
    println!("{orders} order stored, {} shipped", summary.completed);
    Ok(())
}
