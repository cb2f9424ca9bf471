//! Retention, and mending what was altered by hand (contract R12, R13.7).

use std::time::Duration;

use crate::common::files::{File, Open, add, assert_exact, begin, complete, figures, lease};
use futures_util::FutureExt;
use queuekit_conformance::kit::{DAY, HOUR, MINUTE, build, carrying, keyed, request};
use queuekit_core::queue::{Keep, KeyOnWait, Order, QueuePatch, Retention};
use queuekit_core::{
    Ack, AckOutcome, Backend, BackendExt, EnqueueOutcome, ManualClock, QueueName, Reserved, Status,
};
use queuekit_sqlite::SqliteStore;
use tokio::time::timeout;

async fn with_clock() -> (File, SqliteStore, ManualClock) {
    let file = File::new();
    let clock = ManualClock::default();
    let store = file.config().clock(clock.clone()).open().await;
    (file, store, clock)
}

async fn configure(store: &SqliteStore, patch: QueuePatch) {
    let admin = store.capabilities().admin.unwrap();
    admin.configure(&QueueName::default(), &patch).await.unwrap();
}

async fn keep_done(store: &SqliteStore, done: Keep) {
    let retention = Retention::default().done(done);
    configure(store, QueuePatch::default().retention(retention)).await;
}

/// Jobs that have run to their end, with a result of this many bytes.
async fn finish(store: &SqliteStore, n: usize, result: usize) {
    for _ in 0..n.div_ceil(1000) {
        add(store, n.min(1000)).await;
        let acks = lease(store, n.min(1000)).await.into_iter();
        let acks: Vec<Ack> =
            acks.map(|lease| Ack::new(lease.token).with_result(vec![7; result])).collect();
        store.ack(&acks).await.unwrap();
    }
}

async fn completed(store: &SqliteStore) -> u64 {
    figures(store).await.counts.get(Status::Completed).value
}

/// Repairs until there is no more to look at; how much was mended.
async fn repair(store: &SqliteStore) -> u64 {
    let upkeep = store.capabilities().upkeep.unwrap();
    let mut mended = 0;
    loop {
        let report = upkeep.repair().await.unwrap();
        mended += report.changed;
        if !report.more {
            return mended;
        }
    }
}

fn by_hand(file: &File, sql: &str) {
    file.connection().execute_batch(sql).unwrap();
}

#[tokio::test]
async fn r12_prune_goes_by_number_in_steps_of_1000() {
    let (file, store, clock) = with_clock().await;
    keep_done(&store, Keep::ALL.max_jobs(500)).await;
    finish(&store, 3000, 0).await;
    let upkeep = store.capabilities().upkeep.unwrap();
    assert_eq!(upkeep.prune().await.unwrap().changed, 0, "they ended a moment ago");
    clock.advance(MINUTE);
    for (changed, more) in [(1000, true), (1000, true), (500, false), (0, false)] {
        let report = upkeep.prune().await.unwrap();
        assert_eq!((report.changed, report.more), (changed, more));
    }
    assert_eq!(completed(&store).await, 500);
    assert_exact(&file.connection());
    store.close().await.unwrap();
}

#[tokio::test]
async fn r12_prune_goes_by_bytes_and_by_age() {
    let (file, store, clock) = with_clock().await;
    let upkeep = store.capabilities().upkeep.unwrap();
    // Seven bytes of payload and 93 of result.
    finish(&store, 100, 93).await;
    clock.advance(MINUTE);
    keep_done(&store, Keep::ALL.max_bytes(2500)).await;
    assert_eq!(upkeep.prune().await.unwrap().changed, 75);
    assert_eq!(completed(&store).await, 25);
    keep_done(&store, Keep::ALL.max_age(HOUR)).await;
    clock.advance(HOUR - MINUTE - Duration::from_millis(1));
    assert_eq!(upkeep.prune().await.unwrap().changed, 0);
    clock.advance(Duration::from_millis(1));
    assert_eq!(upkeep.prune().await.unwrap().changed, 25);
    assert_exact(&file.connection());
    store.close().await.unwrap();
}

#[tokio::test]
async fn r12_the_file_shrinks_after_pruning() {
    let (file, store, clock) = with_clock().await;
    let jobs: Vec<_> = (0..800).map(|_| build(carrying("x".repeat(8000)))).collect();
    let outcomes = store.enqueue(&jobs).await.unwrap();
    assert!(matches!(outcomes[0], EnqueueOutcome::Created { .. }));
    let leases = lease(&store, 800).await;
    complete(&store, leases).await;
    clock.advance(2 * DAY);
    let conn = file.connection();
    let pages = || conn.pragma_query_value(None, "page_count", |row| row.get::<_, i64>(0)).unwrap();
    let before = pages();
    let upkeep = store.capabilities().upkeep.unwrap();
    assert_eq!(upkeep.prune().await.unwrap().changed, 800);
    // A step frees a bounded number of pages: the later ones free the rest.
    upkeep.prune().await.unwrap();
    assert!(pages() < before / 5, "{} pages of {before} are left", pages());
    drop(conn);
    store.close().await.unwrap();
    assert!(file.bytes().len() < 4096 * before as usize / 5);
}

#[tokio::test]
async fn r13_7_repair_mends_counters() {
    let (file, store, _clock) = with_clock().await;
    finish(&store, 10, 5).await;
    add(&store, 10).await;
    assert_eq!(repair(&store).await, 0, "nothing is to be mended");
    by_hand(&file, include_str!("../../sql/sqlite_wrong_counters.sql"));
    assert!(repair(&store).await > 0);
    assert_exact(&file.connection());
    assert_eq!(repair(&store).await, 0);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r13_7_two_that_repair_at_once_mend_counters_once() {
    let (file, store, _clock) = with_clock().await;
    let other = file.store().await;
    add(&store, 10).await;
    by_hand(&file, include_str!("../../sql/sqlite_wrong_counters.sql"));
    let mut conn = file.connection();
    let lock = begin(&mut conn);
    let repairs = [&store, &other].map(|store| store.capabilities().upkeep.unwrap().repair());
    let mut repairs = futures_util::future::join_all(repairs);
    // Both have found it when both wait for the lock: when reading answers and they still wait.
    for _ in 0..100 {
        assert!((&mut repairs).now_or_never().is_none());
        store.all_queues().await.unwrap();
        other.all_queues().await.unwrap();
    }
    lock.commit().unwrap();
    repairs.await.into_iter().for_each(|report| assert!(report.is_ok()));
    assert_exact(&file.connection());
    store.close().await.unwrap();
    other.close().await.unwrap();
}

/// Whatever the order of the queue and what waiting jobs do in it.
fn policies() -> [QueuePatch; 4] {
    let [a, b, c, d] = std::array::from_fn(|_| QueuePatch::default());
    let skip = |patch: QueuePatch| patch.key_on_wait(KeyOnWait::Skip);
    [a, skip(b), c.order(Order::Fair), skip(d).order(Order::Fair)]
}

/// Alters the keys of a queue, repairs, and serves all of it one by one.
async fn assert_mended(name: &str, sql: &str) {
    for (at, policy) in policies().into_iter().enumerate() {
        let (file, store, clock) = with_clock().await;
        configure(&store, policy).await;
        let jobs: Vec<_> = (0..12).map(|n| build(keyed(&format!("k{}", n % 4)))).collect();
        store.enqueue(&jobs).await.unwrap();
        add(&store, 3).await;
        let running = lease(&store, 2).await;
        by_hand(&file, sql);
        repair(&store).await;
        assert_exact(&file.connection());
        assert_eq!(repair(&store).await, 0, "{name}, policy {at}: repair changes it once");
        complete(&store, running).await;
        for served in 2..15 {
            clock.advance(Duration::from_millis(1));
            let Reserved { leases, .. } =
                store.reserve(&request(QueueName::default(), 1)).await.unwrap();
            assert_eq!(leases.len(), 1, "{name}, policy {at}: {served} of 15 were served");
            complete(&store, leases).await;
        }
        assert_exact(&file.connection());
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn r13_7_repair_mends_keys_that_count_wrong() {
    assert_mended("counts", include_str!("../../sql/sqlite_wrong_lanes.sql")).await;
}

#[tokio::test]
async fn r13_7_repair_mends_keys_that_are_gone() {
    assert_mended("gone", include_str!("../../sql/sqlite_no_lanes.sql")).await;
}

#[tokio::test]
async fn r13_7_repair_mends_which_jobs_are_ready() {
    assert_mended("none", include_str!("../../sql/sqlite_all_closed.sql")).await;
    assert_mended("all", include_str!("../../sql/sqlite_all_open.sql")).await;
}

#[tokio::test]
async fn r13_7_repair_brings_back_a_job_that_stands_nowhere() {
    assert_mended("nowhere", include_str!("../../sql/sqlite_nowhere.sql")).await;
}

#[tokio::test]
async fn r13_7_repair_clears_the_places_of_jobs_that_were_deleted_by_hand() {
    for (at, policy) in policies().into_iter().enumerate() {
        let (file, store, clock) = with_clock().await;
        configure(&store, policy).await;
        let jobs: Vec<_> = (0..12).map(|n| build(keyed(&format!("k{}", n % 4)))).collect();
        store.enqueue(&jobs).await.unwrap();
        add(&store, 4).await;
        by_hand(&file, include_str!("../../sql/sqlite_delete_pending.sql"));
        assert!(repair(&store).await > 0);
        assert_exact(&file.connection());
        assert_eq!(repair(&store).await, 0, "policy {at}: repair changes it once");
        for served in 0..8 {
            clock.advance(Duration::from_millis(1));
            let leases = lease(&store, 1).await;
            assert_eq!(leases.len(), 1, "policy {at}: {served} of 8 were served");
            complete(&store, leases).await;
        }
        store.close().await.unwrap();
    }
}

#[tokio::test]
async fn r13_7_repair_brings_back_a_job_whose_claim_is_gone() {
    let (file, store, _clock) = with_clock().await;
    add(&store, 5).await;
    let lost = lease(&store, 3).await;
    by_hand(&file, include_str!("../../sql/sqlite_no_claims.sql"));
    assert!(repair(&store).await > 0);
    assert_exact(&file.connection());
    assert_eq!(repair(&store).await, 0, "repair changes it once");
    let acks: Vec<Ack> = lost.into_iter().map(|lease| Ack::new(lease.token)).collect();
    assert_eq!(store.ack(&acks).await.unwrap(), [AckOutcome::LeaseLost; 3]);
    let leases = lease(&store, 5).await;
    assert_eq!(leases.len(), 5);
    complete(&store, leases).await;
    store.close().await.unwrap();
}

#[tokio::test]
async fn r13_7_repair_ends_the_leases_of_jobs_that_were_deleted_by_hand() {
    let (file, store, clock) = with_clock().await;
    add(&store, 5).await;
    lease(&store, 3).await;
    by_hand(&file, include_str!("../../sql/sqlite_delete_running.sql"));
    clock.advance(HOUR);
    assert_eq!(lease(&store, 1).await.len(), 1, "what ran out stops nobody");
    assert!(repair(&store).await > 0);
    assert_exact(&file.connection());
    assert_eq!(repair(&store).await, 0, "repair changes it once");
    store.close().await.unwrap();
}

/// Retention begins with the first that completed, of which only the run is left.
#[tokio::test]
async fn r12_prune_removes_what_is_left_of_jobs_that_were_deleted_by_hand() {
    let (file, store, clock) = with_clock().await;
    keep_done(&store, Keep::ALL.max_jobs(1)).await;
    finish(&store, 5, 0).await;
    by_hand(&file, include_str!("../../sql/sqlite_delete_completed.sql"));
    clock.advance(MINUTE);
    store.capabilities().upkeep.unwrap().prune().await.unwrap();
    repair(&store).await;
    assert_exact(&file.connection());
    assert_eq!(completed(&store).await, 1);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r13_7_repair_leaves_a_running_job_to_its_lease_alone() {
    let (file, store, _clock) = with_clock().await;
    add(&store, 5).await;
    let running = lease(&store, 3).await;
    by_hand(&file, include_str!("../../sql/sqlite_run_twice.sql"));
    assert!(repair(&store).await > 0);
    assert_exact(&file.connection());
    complete(&store, running).await;
    assert_eq!(lease(&store, 5).await.len(), 2);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r5_8_a_job_that_is_not_pending_stays_so_though_it_stands_among_the_ready() {
    let (file, store, _clock) = with_clock().await;
    add(&store, 5).await;
    let mut running = lease(&store, 3).await;
    complete(&store, running.split_off(1)).await;
    by_hand(&file, include_str!("../../sql/sqlite_run_twice.sql"));
    assert_eq!(lease(&store, 5).await.len(), 2);
    assert!(repair(&store).await > 0);
    assert_exact(&file.connection());
    complete(&store, running).await;
    store.close().await.unwrap();
}

/// Ready jobs are leased in runs; a place of no job stands in the middle of one.
#[tokio::test]
async fn r5_8_a_reserve_leases_jobs_on_both_sides_of_one_that_was_deleted_by_hand() {
    let (file, store, _clock) = with_clock().await;
    add(&store, 9).await;
    by_hand(&file, include_str!("../../sql/sqlite_delete_pending.sql"));
    let leases = lease(&store, 9).await;
    assert_eq!(leases.len(), 5);
    complete(&store, leases).await;
    repair(&store).await;
    assert_exact(&file.connection());
    assert_eq!(figures(&store).await.counts.get(Status::Running).value, 0);
    store.close().await.unwrap();
}

/// Also before anything is mended a reserve comes to its end.
#[tokio::test]
async fn r5_1_a_reserve_ends_whatever_is_open() {
    for (at, policy) in policies().into_iter().enumerate() {
        let (file, store, _clock) = with_clock().await;
        configure(&store, policy).await;
        let is_fair = figures(&store).await.settings.order == Order::Fair;
        let jobs: Vec<_> = (0..12).map(|n| build(keyed(&format!("k{}", n % 4)))).collect();
        store.enqueue(&jobs).await.unwrap();
        by_hand(&file, include_str!("../../sql/sqlite_all_open.sql"));
        let leases = timeout(Duration::from_secs(10), lease(&store, 1)).await;
        // In a fair queue, jobs with a key are looked for only where they should wait.
        let found = usize::from(!is_fair);
        assert_eq!(leases.expect("the call should end in time").len(), found, "policy {at}");
        let leases = timeout(Duration::from_secs(10), lease(&store, 1000)).await;
        assert!(leases.expect("the call should end in time").len() <= 11, "policy {at}");
        store.close().await.unwrap();
    }
}
