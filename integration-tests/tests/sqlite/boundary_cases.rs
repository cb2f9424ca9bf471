//! The SQLite store at the edges of what can be stored.

use std::time::Duration;

use crate::common::files::{File, Open, add, assert_exact, complete, lease};
use queuekit_conformance::kit::{
    DAY, HOUR, MINUTE, TTL, build, default_queue, draft, keyed, queue, ttl, unique, worker,
};
use queuekit_core::queue::{Keep, Order, QueuePatch, Retention};
use queuekit_core::{
    Backend, BackendExt, EnqueueOutcome, JobFilter, ManualClock, QueueName, Queues, Reserve,
    Status, Timestamp,
};
use queuekit_sqlite::SqliteStore;

async fn configure(store: &SqliteStore, patch: QueuePatch) {
    let admin = store.capabilities().admin.unwrap();
    admin.configure(&default_queue(), &patch).await.unwrap();
}

/// Quotes, blanks, numbers, letters that look or sort alike, and the longest.
fn odd_texts() -> Vec<String> {
    let odd = [
        "'", "\"", "\\", "%", "_", "\n", " ", "  ", "é", "e\u{301}", "\u{202e}", "\u{feff}", "ß",
        "ss", "SS", "-1", "0", "0.0", "null", "NULL", "\u{7f}", "\u{1}", "\u{fffd}",
    ];
    let long = "\u{10ffff}".repeat(64);
    odd.into_iter().map(str::to_owned).chain([long]).collect()
}

#[tokio::test]
async fn r7_3_keys_of_any_text_are_kept_apart() {
    let file = File::new();
    let store = file.store().await;
    let texts = odd_texts();
    for order in [Order::Strict, Order::Fair] {
        configure(&store, QueuePatch::default().order(order)).await;
        let jobs: Vec<_> =
            texts.iter().flat_map(|key| [keyed(key), keyed(key)].map(build)).collect();
        store.enqueue(&jobs).await.unwrap();
        let first = lease(&store, 1000).await;
        assert_eq!(first.len(), texts.len(), "one of each key");
        let mut filter = JobFilter::default().status(Status::Blocked).limit(1);
        let mut blocked = 0;
        loop {
            let page = store.list_jobs(&filter).await.unwrap();
            blocked += page.items.len();
            let Some(next) = page.next else { break };
            filter.cursor = Some(next);
        }
        assert_eq!(blocked, texts.len(), "the others, page by page");
        complete(&store, first).await;
        let second = lease(&store, 1000).await;
        assert_eq!(second.len(), texts.len());
        complete(&store, second).await;
        assert_exact(&file.connection());
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_5_idempotency_keys_of_any_text_are_kept_apart() {
    let file = File::new();
    let store = file.store().await;
    let jobs: Vec<_> = odd_texts().iter().map(|key| build(unique(key))).collect();
    for outcome in store.enqueue(&jobs).await.unwrap() {
        assert!(matches!(outcome, EnqueueOutcome::Created { .. }), "{outcome:?}");
    }
    let again: Vec<_> = odd_texts().iter().map(|key| build(unique(key))).collect();
    for (outcome, job) in store.enqueue(&again).await.unwrap().into_iter().zip(jobs) {
        assert_eq!(outcome, EnqueueOutcome::Duplicate { existing: job.id() });
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_5_a_key_that_outlived_its_job_outlives_its_queue() {
    let file = File::new();
    let clock = ManualClock::default();
    let store = file.config().clock(clock.clone()).open().await;
    let done = Keep::ALL.max_age(10 * MINUTE);
    let retention = Retention::default().done(done);
    configure(&store, QueuePatch::default().retention(retention)).await;
    let [pruned, stored] = ["pruned", "stored"].map(unique).map(build);
    store.enqueue_one(pruned.clone()).await.unwrap();
    let leases = lease(&store, 1).await;
    complete(&store, leases).await;
    clock.advance(HOUR);
    store.capabilities().upkeep.unwrap().prune().await.unwrap();
    store.enqueue_one(stored).await.unwrap();
    assert!(
        store.capabilities().admin.unwrap().remove_queue(&default_queue(), true).await.unwrap()
    );
    // Another queue may get what the store called the first one.
    let elsewhere = build(unique("pruned").queue("elsewhere"));
    store.enqueue_one(elsewhere).await.unwrap();
    let again = ["pruned", "stored"].map(unique).map(build);
    let outcomes = store.enqueue(&again).await.unwrap();
    assert_eq!(outcomes[0], EnqueueOutcome::Duplicate { existing: pruned.id() });
    assert_eq!(outcomes[1], EnqueueOutcome::Created { id: again[1].id() });
    clock.advance(DAY);
    let outcomes = store.enqueue(&[build(unique("pruned"))]).await.unwrap();
    assert!(matches!(outcomes[0], EnqueueOutcome::Created { .. }), "its window has ended");
    store.close().await.unwrap();
}

#[tokio::test]
async fn r6_7_a_long_queue_is_removed_to_its_last_job() {
    let file = File::new();
    let store = file.store().await;
    for jobs in [999, 1000, 1001, 2000] {
        add(&store, jobs).await;
        let admin = store.capabilities().admin.unwrap();
        assert!(admin.remove_queue(&default_queue(), true).await.unwrap());
        assert_eq!(store.all_queues().await.unwrap(), []);
        assert_eq!(store.list_jobs(&JobFilter::default()).await.unwrap().items, []);
        assert_exact(&file.connection());
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn r9_4_the_ends_of_time_lose_no_job() {
    let year = 366 * DAY;
    for at in [i64::MIN, -1, 0, i64::MAX - 1, i64::MAX] {
        let file = File::new();
        let clock = ManualClock::at(Timestamp::from_millis(at));
        let store = file.config().clock(clock).open().await;
        let jobs = [draft().delay(year).deadline(year), draft().deadline(year), draft()].map(build);
        store.enqueue(&jobs).await.unwrap();
        let leases = lease(&store, 10).await;
        assert!(!leases.is_empty(), "at {at}");
        complete(&store, leases).await;
        let upkeep = store.capabilities().upkeep.unwrap();
        upkeep.prune().await.unwrap();
        upkeep.repair().await.unwrap();
        store.all_queues().await.unwrap();
        assert_eq!(store.list_jobs(&JobFilter::default()).await.unwrap().items.len(), 3, "at {at}");
        assert_exact(&file.connection());
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn r12_a_store_has_10_000_queues() {
    let file = File::new();
    let store = file.store().await;
    let names: Vec<QueueName> = (0..10_000).map(|at| queue(&format!("q{at}"))).collect();
    for slice in names.chunks(1000) {
        let jobs: Vec<_> = slice.iter().map(|name| build(draft().queue(name.as_str()))).collect();
        store.enqueue(&jobs).await.unwrap();
    }
    store.enqueue_one(build(draft().queue("one-more"))).await.unwrap_err();
    assert_eq!(store.all_queues().await.unwrap().len(), 10_000);
    let everywhere = Reserve::new(Queues::Strict(names), 1000, ttl(TTL), worker("w")).unwrap();
    assert_eq!(store.reserve(&everywhere).await.unwrap().leases.len(), 1000);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r13_7_repair_looks_at_each_queue_once() {
    let file = File::new();
    let store = file.store().await;
    let name = |at: usize| queue(&format!("q{at}"));
    let jobs: Vec<_> = (0..50).map(|at| build(draft().queue(name(at)))).collect();
    store.enqueue(&jobs).await.unwrap();
    let (upkeep, admin) =
        (store.capabilities().upkeep.unwrap(), store.capabilities().admin.unwrap());
    let mut steps = 0;
    while upkeep.repair().await.unwrap().more {
        steps += 1;
        // The queue it has just looked at may go.
        if steps == 10 {
            admin.remove_queue(&name(17), true).await.unwrap();
        }
    }
    assert_eq!(steps, 50);
    store.close().await.unwrap();
}

#[tokio::test]
async fn a_time_out_of_any_length_is_taken() {
    for timeout in [Duration::ZERO, Duration::MAX] {
        let file = File::new();
        let store = file.config().op_timeout(timeout).open().await;
        add(&store, 1).await;
        store.close().await.unwrap();
    }
}
