//! Presence of workers (contract R3.9).

use std::time::Duration;

use queuekit_core::capability::{About, Beat, Served, WorkerInfo, WorkerPage};
use queuekit_core::limits::ANSWER_BYTES;
use queuekit_core::queue::WorkerCounts;
use queuekit_core::{Kind, LeaseTtl, PageSize, QueueName, Result, Timestamp, WorkerId};
use serde::{Deserialize, Serialize};

use crate::RedisStore;
use crate::call::Request;
use crate::codec::{array_of, bytes_of, millis, number_of};
use crate::control::orders_of;
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
    #[serde(default)]
    quiet_ms: u64,
    #[serde(default)]
    about: About,
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
            quiet_ms: millis(beat.quiet_for()),
            about: beat.about.clone(),
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
        beat.quiet_for = Duration::from_millis(self.quiet_ms);
        beat.about = self.about;
        beat
    }
}

/// A page of the live workers, by id. Skips a beat that cannot be read.
pub(crate) async fn list_workers(
    store: &RedisStore,
    operation: &'static str,
    after: Option<&WorkerId>,
    limit: PageSize,
) -> Result<WorkerPage> {
    let after = after.map_or("", WorkerId::as_str);
    let numbers = [limit.get(), ANSWER_BYTES].map(|number| number.to_string().into_bytes());
    let [most, most_bytes] = numbers;
    read(store, operation, vec![b"a".to_vec(), after.into(), most, most_bytes]).await
}

pub(crate) async fn find_worker(store: &RedisStore, id: &WorkerId) -> Result<Option<WorkerInfo>> {
    let args = vec![b"n".to_vec(), id.as_str().into()];
    Ok(read(store, "find_worker", args).await?.workers.pop())
}

/// How many live workers serve each queue.
pub(super) async fn worker_counts(store: &RedisStore) -> Result<WorkerCounts> {
    let (mut counts, mut after) = (WorkerCounts::default(), None);
    loop {
        let page = list_workers(store, "list_queues", after.as_ref(), PageSize::MAX).await?;
        page.workers.iter().for_each(|worker| counts.add(&worker.beat));
        after = page.after;
        if after.is_none() {
            return Ok(counts);
        }
    }
}

/// Whether a live worker sent such a beat.
pub(super) async fn any_worker(store: &RedisStore, is: impl Fn(&Beat) -> bool) -> Result<bool> {
    let mut after = None;
    loop {
        let page = list_workers(store, "why", after.as_ref(), PageSize::MAX).await?;
        let found = page.workers.iter().any(|worker| is(&worker.beat));
        after = page.after;
        if found || after.is_none() {
            return Ok(found);
        }
    }
}

async fn read(
    store: &RedisStore,
    operation: &'static str,
    args: Vec<Vec<u8>>,
) -> Result<WorkerPage> {
    let keys = vec![store.shared.keyspace.workers()];
    let request = Request::Script { script: Lua::Workers, keys, args };
    let answer = store.call(operation, Call::Read, request).await?;
    let broken = || unreadable("the workers");
    let mut parts = array_of(answer).ok_or_else(broken)?.into_iter();
    let now = parts.next().and_then(number_of).ok_or_else(broken)?;
    let now = Timestamp::from_millis(now);
    let after = parts.next().and_then(bytes_of).ok_or_else(broken)?;
    let mut page = WorkerPage { workers: Vec::new(), after: worker_id(after) };
    while let (Some(id), Some(at), Some(said), Some(orders)) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    {
        let said = bytes_of(said).and_then(|said| serde_json::from_slice(&said).ok());
        let (Some(id), Some(at), Some(said)): (_, _, Option<StoredBeat>) =
            (bytes_of(id).and_then(worker_id), number_of(at), said)
        else {
            continue;
        };
        let age = now.since(Timestamp::from_millis(at));
        let orders = orders_of(&bytes_of(orders).unwrap_or_default());
        page.workers.push(WorkerInfo::new(said.beat(id), age).with_orders(orders));
    }
    Ok(page)
}

fn worker_id(bytes: Vec<u8>) -> Option<WorkerId> {
    WorkerId::new(String::from_utf8(bytes).ok()?).ok()
}
