//! How much memory of the server a job takes.

use queuekit_benches::{fill, request, scaled};
use queuekit_core::{Ack, Backend, JobDraft};
use queuekit_redis::RedisStore;

use crate::server;

/// Jobs per call: as many as a store takes.
const BATCH: usize = 1000;

/// As many bytes as a file's path, an address or a few ids: what jobs usually carry.
const PAYLOAD: usize = 110;

pub(crate) async fn print() {
    let store = RedisStore::connect_url(&server::empty().await).await.expect("the store opens");
    let jobs = scaled(100_000);
    let empty = used(&store).await;
    fill(&store, jobs, |_| JobDraft::new("noop", vec![b'x'; PAYLOAD])).await;
    let waiting = used(&store).await;
    complete_all(&store).await;
    let completed = used(&store).await;
    let per_job = |bytes: u64| bytes.saturating_sub(empty) / jobs as u64;
    println!("\nmemory per job with {PAYLOAD} bytes of payload, over {jobs} jobs:");
    println!("  waiting: {} bytes", per_job(waiting));
    println!("  completed: {} bytes", per_job(completed));
}

async fn complete_all(store: &dyn Backend) {
    loop {
        let leases = store.reserve(&request(BATCH)).await.expect("reserve").leases;
        if leases.is_empty() {
            return;
        }
        let acks: Vec<Ack> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
        store.ack(&acks).await.expect("ack");
    }
}

async fn used(store: &dyn Backend) -> u64 {
    let inspect = store.capabilities().inspect.expect("the store has Inspect");
    let facts = inspect.facts().await.expect("the server tells");
    let used = facts.iter().find(|fact| fact.name == "used memory, bytes");
    used.and_then(|used| used.value.parse().ok()).expect("it tells its memory")
}
