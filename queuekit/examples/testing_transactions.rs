//! Testing a route that stores an order and its job in one transaction, without a database: the
//! transaction is hidden behind a trait, of which the test has an implementation over the memory
//! store. This example is a program. In your own project, write a `#[tokio::test]` for each case.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::{Mutex, PoisonError};

use queuekit::NewJob;
use queuekit::jobs::JobFilter;
use queuekit::memory::{MemoryStore, Operation, When};
use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq)]
struct Order {
    id: u64,
}

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "ship-order")]
struct ShipOrder {
    order: u64,
}

trait Orders {
    /// Stores an order and its jobs: all of it, or nothing.
    async fn place(&self, order: &Order, jobs: &[NewJob]) -> queuekit::Result<()>;
}

struct InMemory {
    store: MemoryStore,
    orders: Mutex<Vec<Order>>,
}

impl Orders for InMemory {
    async fn place(&self, order: &Order, jobs: &[NewJob]) -> queuekit::Result<()> {
        let tx = self.store.begin();
        self.store.enqueue_in(&tx, jobs).await?.ids()?;
        tx.commit().await?;
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).push(order.clone());
        Ok(())
    }
}

impl InMemory {
    fn placed(&self) -> Vec<Order> {
        self.orders.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// What the route does, over whatever stores the orders.
async fn place_order(orders: &impl Orders, id: u64) -> queuekit::Result<()> {
    let job = JobDraft::of(&ShipOrder { order: id }).build()?;
    orders.place(&Order { id }, &[job]).await
}

async fn jobs(store: &MemoryStore) -> queuekit::Result<usize> {
    Ok(Client::new(store.clone()).jobs().list(&JobFilter::default()).await?.items.len())
}

#[tokio::main]
async fn main() -> queuekit::Result<()> {
    let store = MemoryStore::new();
    let tx = store.begin();
    store.enqueue_in(&tx, &[JobDraft::of(&ShipOrder { order: 7 }).build()?]).await?.ids()?;
    assert_eq!(jobs(&store).await?, 0, "before the commit");
    tx.commit().await?;
    assert_eq!(jobs(&store).await?, 1);
    println!("a job exists once its transaction has committed");

    let store = MemoryStore::new();
    let shop = InMemory { store: store.clone(), orders: Mutex::default() };
    store.faults().fail(Operation::Commit, 1, When::Before);
    assert!(place_order(&shop, 7).await.is_err());
    assert_eq!((shop.placed(), jobs(&store).await?), (vec![], 0));
    println!("the commit fails: neither the order nor its job exists");

    place_order(&shop, 7).await?;
    assert_eq!((shop.placed(), jobs(&store).await?), (vec![Order { id: 7 }], 1));
    println!("the commit succeeds: both exist");
    Ok(())
}
