//! Events inside the application's own transactions (contract R14.1), and consumers that a worker
//! serves (R14.7).

use std::sync::Arc;
use std::time::Duration;

use crate::common::files::{File, Open, assert_exact, begin};
use queuekit_core::capability::{EmitOutcome, EventFilter, Outbox};
use queuekit_core::event::NewEvent;
use queuekit_core::{
    Backend, Bytes, Client, ConsumerName, EventDraft, JobFilter, Payload, RetryPolicy,
    SubscriptionDraft,
};
use queuekit_sqlite::{SqliteStore, rusqlite};
use queuekit_worker::{Ctx, JobError, JobResult, Worker};
use rusqlite::Connection;
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

const APP: &str = include_str!("../../sql/sqlite_app.sql");
const INSERT: &str = include_str!("../../sql/sqlite_app_insert.sql");
const PATIENCE: Duration = Duration::from_secs(15);

/// A store with a consumer, and an application's connection to the same file.
async fn beside() -> (File, SqliteStore, Connection) {
    let file = File::new();
    let store = file.config().open().await;
    subscribe(&store, SubscriptionDraft::new("c", "*")).await;
    let conn = file.connection();
    conn.execute_batch(APP).unwrap();
    (file, store, conn)
}

async fn subscribe(store: &SqliteStore, draft: SubscriptionDraft) {
    let client = Client::new(store.clone());
    client.consumers().declare(&draft.build().unwrap()).await.unwrap();
}

fn event(data: &str) -> NewEvent {
    EventDraft::new("order.placed", data.to_owned()).build().unwrap()
}

async fn stored(store: &SqliteStore) -> (usize, usize) {
    let events = store.list_events(&EventFilter::default()).await.unwrap().events.len();
    let client = Client::new(store.clone());
    let consumer = ConsumerName::new("c").unwrap();
    let stats = client.consumers().stats(&consumer).await.unwrap();
    (events, usize::try_from(stats.depth).unwrap())
}

#[tokio::test]
async fn r14_1_an_event_of_a_transaction_exists_once_it_commits() {
    let (_file, store, mut conn) = beside().await;
    let event = event("1");
    let tx = begin(&mut conn);
    tx.execute(INSERT, []).unwrap();
    let outcomes = store.emit_in(&tx, std::slice::from_ref(&event)).unwrap();
    assert_eq!(outcomes.as_slice(), [EmitOutcome::Emitted { id: event.id() }]);
    assert_eq!(stored(&store).await, (0, 0), "visible before the commit");
    tx.commit().unwrap();
    assert_eq!(stored(&store).await, (1, 1));
    let again = Client::new(store.clone()).emit_all([EventDraft::new("order.placed", "1")]).await;
    assert!(matches!(again.unwrap().as_slice(), [EmitOutcome::Emitted { .. }]));
    assert_exact(&conn);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r14_1_an_event_of_a_transaction_that_is_rolled_back_never_existed() {
    let (_file, store, mut conn) = beside().await;
    let tx = begin(&mut conn);
    tx.execute(INSERT, []).unwrap();
    store.emit_in(&tx, &[event("1"), event(&"large".repeat(1000))]).unwrap().ids().unwrap();
    tx.rollback().unwrap();
    assert_eq!(stored(&store).await, (0, 0));
    assert_exact(&conn);
    store.close().await.unwrap();
}

#[derive(Serialize, Deserialize)]
struct OrderPlaced {
    order: u32,
}

impl Payload for OrderPlaced {
    const KIND: &'static str = "order.placed";
}

/// What a consumer's handler tells: who it is, the order, and the attempt.
type Told = (&'static str, u32, u32);

fn tells(
    name: &'static str,
    fails: bool,
    to: UnboundedSender<Told>,
) -> impl Fn(OrderPlaced, Ctx) -> std::future::Ready<JobResult> + Clone + Send + Sync + 'static {
    move |event, ctx| {
        to.send((name, event.order, ctx.attempt())).unwrap();
        std::future::ready(match fails && ctx.attempt() == 1 {
            true => Err(JobError::retry("not yet")),
            false => Ok(()),
        })
    }
}

/// Each consumer of a worker has a handler of its own for the same type of event, and one that
/// fails is tried again when its subscription says, not when the worker would.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r14_7_each_consumer_has_its_own_handler_and_retry_policy() {
    let file = File::new();
    let store = file.config().open().await;
    let at_once = RetryPolicy::Fixed(Duration::ZERO);
    subscribe(&store, SubscriptionDraft::new("bad", "order.*").retry(&at_once)).await;
    subscribe(&store, SubscriptionDraft::new("good", "order.placed").ordered()).await;
    let client = Client::new(store.clone());
    let (to, mut told) = unbounded_channel();
    let worker = Worker::new(client.clone())
        .retry(RetryPolicy::Fixed(Duration::from_secs(3600)))
        .consume("good", tells("good", false, to.clone()))
        .consume("bad", tells("bad", true, to))
        .start()
        .await
        .unwrap();
    for order in 0..3 {
        client.emit(OrderPlaced { order }).await.unwrap();
    }
    let mut all = Vec::new();
    while all.len() < 9 {
        all.push(tokio::time::timeout(PATIENCE, told.recv()).await.unwrap().unwrap());
    }
    all.sort_unstable();
    let good = (0..3).map(|order| ("good", order, 1));
    let bad = (0..3).flat_map(|order| [("bad", order, 1), ("bad", order, 2)]);
    assert_eq!(all, bad.chain(good).collect::<Vec<_>>());
    worker.drain(PATIENCE).await;
    let store: Arc<dyn Backend> = Arc::new(store);
    store.close().await.unwrap();
}

/// One that is far behind does not keep the others of its worker waiting.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r14_7_a_consumer_with_a_backlog_holds_up_no_other_of_its_worker() {
    let file = File::new();
    let store = file.config().open().await;
    for consumer in ["a-behind", "b-idle"] {
        subscribe(&store, SubscriptionDraft::new(consumer, "*")).await;
    }
    let client = Client::new(store.clone());
    for order in 0..40 {
        client.emit(OrderPlaced { order }).await.unwrap();
    }
    let (to, mut told) = unbounded_channel();
    let worker = Worker::new(client)
        .concurrency(1)
        .consume("a-behind", tells("behind", false, to.clone()))
        .consume("b-idle", tells("idle", false, to))
        .start()
        .await
        .unwrap();
    let mut first = Vec::new();
    while first.len() < 40 {
        first.push(tokio::time::timeout(PATIENCE, told.recv()).await.unwrap().unwrap().0);
    }
    let of_idle = first.iter().filter(|name| **name == "idle").count();
    assert!((10..=30).contains(&of_idle), "half its share at least: {of_idle} of 40");
    worker.drain(PATIENCE).await;
    store.close().await.unwrap();
}

/// A type of event for which a consumer has no handler is not run by a job's handler of that kind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r14_7_a_delivery_goes_to_no_handler_of_jobs() {
    let file = File::new();
    let store = file.config().open().await;
    subscribe(&store, SubscriptionDraft::new("c", "*")).await;
    let client = Client::new(store.clone());
    let (to, mut told) = unbounded_channel();
    let worker = Worker::new(client.clone())
        .handle(tells("job", false, to.clone()))
        .consume_raw("c", "order.shipped", |_: Bytes, _: Ctx| async { JobResult::Ok(None) })
        .start()
        .await
        .unwrap();
    client.emit(OrderPlaced { order: 1 }).await.unwrap();
    let queue = ConsumerName::new("c").unwrap().queue().unwrap();
    let filter = JobFilter::default().queue(queue);
    let released = async {
        loop {
            let jobs = store.list_jobs(&filter).await.unwrap().items;
            if jobs.iter().any(|job| job.releases > 0 && job.attempts == 0) {
                return;
            }
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(PATIENCE, released).await.unwrap();
    client.enqueue(OrderPlaced { order: 2 }).await.unwrap();
    let ran = tokio::time::timeout(PATIENCE, told.recv()).await.unwrap().unwrap();
    assert_eq!(ran, ("job", 2, 1));
    worker.drain(PATIENCE).await;
    store.close().await.unwrap();
}
