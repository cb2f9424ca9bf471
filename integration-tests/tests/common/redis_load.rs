//! Load that runs while a test changes the servers.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use queuekit_conformance::kit::{build, draft};
use queuekit_core::{Backend, Client, EnqueueOutcome, JobId, QueueName, State};
use queuekit_redis::RedisStore;
use queuekit_worker::{Ctx, RunningWorker, Worker};
use tokio::task::JoinHandle;

use super::store_fixture::until;

/// One caller for each queue, and one worker, each with a handle of its own.
pub(crate) struct Load {
    worker: RunningWorker,
    callers: Vec<JoinHandle<()>>,
    over: Arc<AtomicBool>,
    /// The jobs that the store has accepted.
    accepted: Arc<Mutex<Vec<JobId>>>,
    runs: Arc<Mutex<HashMap<JobId, (QueueName, u32)>>>,
    store: RedisStore,
}

impl Load {
    pub(crate) async fn begin(url: &str, queues: &[QueueName], lease: Duration) -> Self {
        let open = async || RedisStore::connect_url(url).await.expect("a handle opens");
        let runs: Arc<Mutex<HashMap<JobId, (QueueName, u32)>>> = Arc::default();
        let counted = Arc::clone(&runs);
        let worker =
            Worker::new(Client::new(open().await)).queues(queues.to_vec()).lease_ttl(lease);
        let worker = worker.handle_raw("work", move |_: Bytes, ctx: Ctx| {
            let mut runs = counted.lock().unwrap();
            runs.entry(ctx.id()).or_insert((ctx.queue().clone(), 0)).1 += 1;
            async { queuekit_worker::JobResult::Ok(None) }
        });
        let worker = worker.start().await.expect("a worker");
        let over = Arc::new(AtomicBool::new(false));
        let accepted: Arc<Mutex<Vec<JobId>>> = Arc::default();
        let store = open().await;
        let caller = |queue: &QueueName| {
            let (over, accepted) = (Arc::clone(&over), Arc::clone(&accepted));
            tokio::spawn(enqueue(store.clone(), queue.clone(), over, accepted))
        };
        let callers = queues.iter().map(caller).collect();
        Self { worker, callers, over, accepted, runs, store }
    }

    /// Waits until more jobs of this queue have run.
    pub(crate) async fn goes_on(&self, queue: &QueueName) {
        let count = || {
            let runs = self.runs.lock().unwrap();
            runs.values().filter(|(of, _)| of == queue).count()
        };
        let before = count();
        until(&format!("jobs of {queue} run"), async || count() >= before + 20).await;
    }

    /// Everything that was accepted has run and is completed; how often each job has run.
    pub(crate) async fn end(self) -> Vec<u32> {
        self.over.store(true, Ordering::Relaxed);
        for caller in self.callers {
            caller.await.expect("a caller ends");
        }
        let accepted = std::mem::take(&mut *self.accepted.lock().unwrap());
        let completed = async |id: &JobId| {
            let job = self.store.get_job(*id).await.expect("an answer").expect("it is not lost");
            job.state == State::Completed
        };
        for id in &accepted {
            until(&format!("{id} is completed"), async || completed(id).await).await;
        }
        self.worker.drain(Duration::from_secs(5)).await;
        let runs = self.runs.lock().unwrap();
        accepted.iter().map(|id| runs.get(id).map_or(0, |(_, runs)| *runs)).collect()
    }
}

/// One job after the other, each until it is accepted.
async fn enqueue(
    store: RedisStore,
    queue: QueueName,
    over: Arc<AtomicBool>,
    accepted: Arc<Mutex<Vec<JobId>>>,
) {
    while !over.load(Ordering::Relaxed) {
        let mut job = build(draft().queue(queue.as_str()).max_attempts(100));
        loop {
            match store.enqueue(std::slice::from_ref(&job)).await.as_deref() {
                Ok([EnqueueOutcome::Created { .. } | EnqueueOutcome::Duplicate { .. }]) => break,
                Ok(outcome) => panic!("{outcome:?}"),
                Err(error) => assert!(error.is_retryable(), "{error}"),
            }
            job = job.repeated();
        }
        accepted.lock().unwrap().push(job.id());
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
