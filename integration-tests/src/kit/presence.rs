//! Workers that say that they are there.

use queuekit_core::capability::{Beat, Served, WorkerInfo};

use super::{TTL, default_queue, kind, ttl, worker};
use crate::World;

/// What a worker of the queue `default` and the kind `work` says.
pub fn beat_of(id: &str) -> Beat {
    Beat {
        id: worker(id),
        name: "w".to_owned(),
        queues: Served::first([default_queue()]),
        kinds: Served::first([kind("work")]),
        slots: 1,
        running: 0,
        ttl: ttl(TTL).into(),
    }
}

impl<'w> dyn World + 'w {
    /// A worker says that it is there.
    pub async fn beat(&self, beat: &Beat) {
        self.leases().beat(beat).await.expect("beat");
    }

    /// Takes a worker off the list; whether it was listed.
    pub async fn forget(&self, id: &str) -> bool {
        self.leases().forget_worker(&worker(id)).await.expect("forget_worker")
    }

    /// The workers that are there.
    pub async fn workers(&self) -> Vec<WorkerInfo> {
        self.leases().list_workers().await.expect("list_workers")
    }
}
