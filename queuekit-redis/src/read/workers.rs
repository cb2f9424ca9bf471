//! Presence of workers (contract R3.9).

use std::time::Duration;

use queuekit_core::capability::{Beat, WorkerInfo};
use queuekit_core::{Kind, LeaseTtl, QueueName, Result, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};

use crate::RedisStore;
use crate::call::{Call, Request};
use crate::codec::{array_of, bytes_of, millis, number_of};
use crate::error::unreadable;
use crate::scripts::Lua;

/// What a worker says of itself.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredBeat {
    name: String,
    queues: Vec<QueueName>,
    kinds: Vec<Kind>,
    slots: u32,
    running: u32,
    ttl_ms: u64,
}

impl StoredBeat {
    pub(crate) fn of(beat: &Beat) -> Self {
        Self {
            name: beat.name.clone(),
            queues: beat.queues.clone(),
            kinds: beat.kinds.clone(),
            slots: beat.slots,
            running: beat.running,
            ttl_ms: millis(beat.ttl.get()),
        }
    }
}

/// The live ones, by id. What is no worker's is passed over.
pub(crate) async fn workers(
    store: &RedisStore,
    operation: &'static str,
) -> Result<Vec<WorkerInfo>> {
    let keys = vec![store.shared.keyspace.workers()];
    let request = Request::Script { script: Lua::Workers, keys, args: Vec::new() };
    let answer = store.call(operation, Call::Read, request).await?;
    let mut parts = array_of(answer).ok_or_else(|| unreadable("the workers"))?.into_iter();
    let now = parts.next().and_then(number_of).ok_or_else(|| unreadable("the workers"))?;
    let now = Timestamp::from_millis(now);
    let mut workers = Vec::new();
    while let (Some(id), Some(at), Some(said)) = (parts.next(), parts.next(), parts.next()) {
        let id = bytes_of(id).and_then(|id| WorkerId::new(String::from_utf8(id).ok()?).ok());
        let said = bytes_of(said).and_then(|said| serde_json::from_slice(&said).ok());
        let (Some(id), Some(at), Some(said)): (_, _, Option<StoredBeat>) =
            (id, number_of(at), said)
        else {
            continue;
        };
        let beat = Beat {
            id,
            name: said.name,
            queues: said.queues,
            kinds: said.kinds,
            slots: said.slots,
            running: said.running,
            ttl: LeaseTtl::for_tests(Duration::from_millis(said.ttl_ms)),
        };
        workers.push(WorkerInfo { beat, age: now.since(Timestamp::from_millis(at)) });
    }
    workers.sort_by(|one, other| one.beat.id.cmp(&other.beat.id));
    Ok(workers)
}
