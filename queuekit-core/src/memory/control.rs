//! Orders to workers (contract R3.9).

use async_trait::async_trait;

use super::tables::Tables;
use super::{MemoryStore, Operation};
use crate::capability::{Control, WorkerOrder, admit_ordered};
use crate::error::Result;
use crate::names::WorkerId;

#[async_trait]
impl Control for MemoryStore {
    async fn control(&self, workers: &[WorkerId], order: WorkerOrder) -> Result<Vec<bool>> {
        admit_ordered(workers).map_err(|error| error.during("control"))?;
        self.step(Operation::Control, |tables| {
            Ok(workers.iter().map(|worker| tables.control(worker, order)).collect())
        })
    }
}

impl Tables {
    fn control(&mut self, worker: &WorkerId, order: WorkerOrder) -> bool {
        let now = self.now;
        let listed = self.workers.get_mut(worker).filter(|worker| worker.is_listed(now));
        let Some(worker) = listed else {
            return false;
        };
        worker.orders = worker.orders.with(order);
        true
    }
}
