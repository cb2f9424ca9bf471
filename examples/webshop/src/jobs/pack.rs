//! The packing of an order, which takes a while and can be cancelled.

use std::time::Duration;

use queuekit::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Payload)]
#[payload(kind = "pack-order", queue = "packing", timeout = "10m")]
pub struct PackOrder {
    pub order: i64,
    pub item: String,
}

/// Packs orders, a customer's one after the other: the customer is their partition key.
#[derive(Clone)]
pub struct Warehouse {
    /// How long each step takes.
    pub step: Duration,
}

const STEPS: [&str; 5] = ["fetching", "checking", "wrapping", "labelling", "handing over"];

impl Handler<PackOrder> for Warehouse {
    type Output = String;

    async fn call(&self, job: PackOrder, ctx: Ctx) -> JobResult<String> {
        for (done, step) in (0_u8..).zip(STEPS) {
            ctx.progress(f32::from(done) / 5.0, step);
            tokio::select! {
                () = tokio::time::sleep(self.step) => {}
                // The customer has cancelled the order, or this worker is about to stop. In the
                // first case the job ends as cancelled, in the second another worker runs it.
                () = ctx.cancelled() => return Err("stopped between two steps".into()),
            }
        }
        ctx.log(format!("{} is on its way", job.item));
        Ok(format!("parcel {}", job.order))
    }
}

#[cfg(test)]
mod tests {
    use queuekit::State;
    use queuekit::jobs::CancelOutcome;
    use queuekit::memory::MemoryStore;

    use super::*;
    use crate::jobs;

    fn pack(order: i64) -> PackOrder {
        PackOrder { order, item: "a kettle".into() }
    }

    #[tokio::test]
    async fn a_running_job_that_is_cancelled_ends_soon() -> queuekit::Result<()> {
        let client = Client::new(MemoryStore::new());
        let id = client.enqueue(pack(1)).await?;
        let hour = Duration::from_secs(3600);
        let warehouse = Warehouse { step: hour };
        let worker = Worker::new(client.clone()).queue("packing").handle(warehouse).start().await?;
        while client.jobs().get(id).await?.is_none_or(|job| job.state == State::Pending) {
            tokio::task::yield_now().await;
        }

        assert_eq!(client.jobs().cancel(id).await?, CancelOutcome::Requested);
        let job = client.jobs().wait(id).await?;
        assert_eq!(job.state, State::Cancelled);
        worker.stop().await;
        Ok(())
    }

    #[tokio::test]
    async fn the_orders_of_a_customer_are_packed_in_turn() -> queuekit::Result<()> {
        let client = Client::new(MemoryStore::new());
        jobs::declare(&client).await?;
        let mut ids = Vec::new();
        for order in 1..=3 {
            ids.push(client.enqueue(pack(order)).partition_key("ada@example.org").await?);
        }
        let warehouse = Warehouse { step: Duration::from_millis(1) };
        Worker::new(client.clone())
            .queue("packing")
            .concurrency(10)
            .handle(warehouse)
            .run_until_idle()
            .await?;

        let mut packed = Vec::new();
        for id in ids {
            let job = client.jobs().get(id).await?.expect("the job is stored");
            packed.push((job.started_at, job.finished_at));
        }
        assert!(packed.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{packed:?}");
        Ok(())
    }
}
