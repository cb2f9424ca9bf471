//! An order and the job that ships it, in one transaction: both are stored, or neither is.
//!
//! The jobs are in the application's own database, beside its tables. With two databases there is
//! always a moment between the two commits, and whoever dies there has an order that nobody ships,
//! or ships one that nobody made.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use queuekit::JobDraft;
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

    // The shop made this file, so the store has to be told that it may add its tables and use the
    // write-ahead log there.
    let url = format!("sqlite://{}?create=tables&journal=wal", path.display());
    let store = SqliteStore::connect_url(&url).await?;

    println!("one that commits:");
    // Immediate: it takes the write lock at once, and cannot lose it to another writer midway.
    let tx = shop.transaction_with_behavior(TransactionBehavior::Immediate)?;
    place(&store, &tx, "a kettle")?;
    // No `.await` while it is open: a call of the client would wait for this very lock.
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
