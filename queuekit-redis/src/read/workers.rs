//! Presence of workers (contract R3.9).

use std::time::Duration;

use queuekit_core::capability::{Beat, Served, WorkerInfo};
use queuekit_core::{Kind, LeaseTtl, QueueName, Result, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};

use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, bytes_of, millis, number_of};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;

/// The stored content of a beat.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredBeat {
    name: String,
    queues: Vec<QueueName>,
    #[serde(default)]
    more_queues: bool,
    kinds: Vec<Kind>,
    #[serde(default)]
    more_kinds: bool,
    slots: u32,
    running: u32,
    ttl_ms: u64,
}

impl StoredBeat {
    pub(crate) fn of(beat: &Beat) -> Self {
        Self {
            name: beat.name.clone(),
            queues: beat.queues.names().to_vec(),
            more_queues: beat.queues.has_more(),
            kinds: beat.kinds.names().to_vec(),
            more_kinds: beat.kinds.has_more(),
            slots: beat.slots,
            running: beat.running,
            ttl_ms: millis(beat.ttl.get()),
        }
    }

    fn beat(self, id: WorkerId) -> Beat {
        let queues = Served::first(self.queues).or_more(self.more_queues);
        let kinds = Served::first(self.kinds).or_more(self.more_kinds);
        let ttl = LeaseTtl::for_tests(Duration::from_millis(self.ttl_ms));
        let mut beat = Beat::new(id, queues, kinds, ttl);
        beat.name = self.name;
        beat.slots = self.slots;
        beat.running = self.running;
        beat
    }
}

/// The live workers, by id. Skips a beat that cannot be read.
pub(crate) async fn workers(
    store: &RedisStore,
    operation: &'static str,
) -> Result<Vec<WorkerInfo>> {
    listed(store, operation, Vec::new()).await
}

pub(crate) async fn find_worker(store: &RedisStore, id: &WorkerId) -> Result<Option<WorkerInfo>> {
    Ok(listed(store, "find_worker", vec![id.as_str().into()]).await?.pop())
}

async fn listed(
    store: &RedisStore,
    operation: &'static str,
    args: Vec<Vec<u8>>,
) -> Result<Vec<WorkerInfo>> {
    let keys = vec![store.shared.keyspace.workers()];
    let request = Request::Script { script: Lua::Workers, keys, args };
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
        let age = now.since(Timestamp::from_millis(at));
        workers.push(WorkerInfo::new(said.beat(id), age));
    }
    workers.sort_by(|one, other| one.beat.id.cmp(&other.beat.id));
    Ok(workers)
}
