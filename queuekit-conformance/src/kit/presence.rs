//! Beats of workers.

use queuekit_core::WorkerId;
use queuekit_core::capability::{Beat, Control, Orders, Served, WorkerInfo, WorkerOrder};

use super::{TTL, default_queue, kind, ttl, worker};
use crate::World;

/// The beat of a worker of the queue `default` and the kind `work`.
pub fn beat_of(id: &str) -> Beat {
    let (queues, kinds) = (Served::first([default_queue()]), Served::first([kind("work")]));
    let mut beat = Beat::new(worker(id), queues, kinds, ttl(TTL));
    beat.name = "w".to_owned();
    beat
}

impl<'w> dyn World + 'w {
    /// Sends the beat of a worker; what it is ordered to do.
    pub async fn beat(&self, beat: &Beat) -> Orders {
        self.leases().beat(beat).await.expect("beat")
    }

    /// The capability.
    pub fn orders(&self) -> &dyn Control {
        self.backend().capabilities().control.expect("orders to workers")
    }

    /// Gives an order to workers; which were listed.
    pub async fn control(&self, ids: &[&str], order: WorkerOrder) -> Vec<bool> {
        let ids: Vec<WorkerId> = ids.iter().map(|id| worker(id)).collect();
        self.orders().control(&ids, order).await.expect("control")
    }

    /// Takes a worker off the list; whether it was listed.
    pub async fn forget(&self, id: &str) -> bool {
        self.leases().forget_worker(&worker(id)).await.expect("forget_worker")
    }

    /// The listed workers.
    pub async fn workers(&self) -> Vec<WorkerInfo> {
        self.leases().all_workers().await.expect("list_workers")
    }

    /// The worker of this id, if it is listed.
    pub async fn worker(&self, id: &str) -> Option<WorkerInfo> {
        self.leases().find_worker(&worker(id)).await.expect("find_worker")
    }
}
