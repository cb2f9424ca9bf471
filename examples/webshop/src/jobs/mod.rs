//! The jobs of the shop: what they need in the store, and the worker that runs them.

mod confirm;
mod pack;
mod report;
mod restock;

use queuekit::prelude::*;
use queuekit::transactions::Functions;
use sqlx::PgPool;

pub use confirm::{Mailer, SendConfirmation};
pub use pack::{PackOrder, Warehouse};
pub use report::{Reports, SalesReport};
pub use restock::{Purchases, Restock};

use crate::orders::Failure;

/// Creates the queues. A transaction of the application can only enqueue into queues that exist.
pub async fn create_queues(pool: &PgPool) -> Result<(), Failure> {
    for queue in ["mail", "packing"] {
        // Both take partition keys.
        let create = Functions::default().create_queue(&queue.parse()?, true)?;
        let _: String =
            sqlx::query_scalar(create.sql()).bind(create.parameter()).fetch_one(pool).await?;
    }
    Ok(())
}

/// Declares settings and schedules. Every start does so: to declare them again changes nothing.
pub async fn declare(client: &Client) -> queuekit::Result<()> {
    // All mails have one partition key, so all workers together send at most two at once.
    client.queues().configure("mail", &QueuePatch::default().per_key(2)).await?;
    // The orders of a customer are packed one after the other, in the order of their enqueue.
    client.queues().configure("packing", &QueuePatch::default().per_key(1)).await?;

    let nightly = ScheduleDraft::cron("sales-report", "0 2 * * *", JobDraft::of(&SalesReport {}))
        .zone("Europe/Berlin")
        // If no worker ran at two o'clock, the next one that starts reports once.
        .catch_up(CatchUp::Once);
    client.schedule(nightly).await?;
    let weekly = ScheduleDraft::cron("restock", "0 6 * * 1", JobDraft::of(&Restock {}));
    client.schedule(weekly.zone("Europe/Berlin")).await?;
    Ok(())
}

/// The worker. Each handler is a struct whose fields are what its jobs share.
pub fn worker(client: &Client, mailer: Mailer, warehouse: Warehouse, pool: &PgPool) -> Worker {
    Worker::new(client.clone())
        .name("webshop")
        .queues(["mail", "packing", "default"])
        .handle(mailer)
        .handle(warehouse)
        .handle(Reports { pool: pool.clone() })
        .handle(Purchases { pool: pool.clone() })
}
