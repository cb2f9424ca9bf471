//! Jobs inside the application's own transactions (contract R2.6, R2.9, R3.4).

use std::time::Duration;

use crate::common::files::{File, Open, add, assert_exact, begin, lease};
use futures_util::FutureExt;
use queuekit_conformance::kit::{assert_invalid, build, carrying, draft, keyed, kind_of, unique};
use queuekit_conformance::time_limit::within;
use queuekit_core::{
    Ack, AckOutcome, Backend, BackendExt, EnqueueOutcome, ErrorKind, JobDraft, Limits, Nack,
    NackKind, NackOutcome, QueueName, State,
};
use queuekit_sqlite::{SqliteStore, rusqlite};
use rusqlite::{Connection, TransactionBehavior};

const OP_TIMEOUT: Duration = Duration::from_millis(300);

const APP: &str = include_str!("../../sql/sqlite_app.sql");
const INSERT: &str = include_str!("../../sql/sqlite_app_insert.sql");
const COUNT: &str = include_str!("../../sql/sqlite_app_count.sql");

/// A store, and an application's connection to the same file.
async fn beside() -> (File, SqliteStore, Connection) {
    let file = File::new();
    let store = file.config().op_timeout(OP_TIMEOUT).open().await;
    let conn = file.connection();
    conn.execute_batch(APP).unwrap();
    (file, store, conn)
}

fn orders(conn: &Connection) -> i64 {
    conn.query_row(COUNT, [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn r2_9_a_job_of_a_transaction_exists_once_it_commits() {
    let (_file, store, mut conn) = beside().await;
    let job = build(keyed("k"));
    let tx = begin(&mut conn);
    tx.execute(INSERT, []).unwrap();
    let outcomes = store.enqueue_in(&tx, std::slice::from_ref(&job)).unwrap();
    assert_eq!(outcomes.ids().unwrap(), [job.id()]);
    assert_eq!(store.get_job(job.id()).await.unwrap(), None, "visible before the commit");
    tx.commit().unwrap();
    assert_eq!(store.get_job(job.id()).await.unwrap().unwrap().state, State::Pending);
    assert_eq!(lease(&store, 10).await.len(), 1);
    assert_eq!(orders(&conn), 1);
    assert_exact(&conn);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_9_a_job_of_a_transaction_that_is_rolled_back_never_existed() {
    let (_file, store, mut conn) = beside().await;
    let job = build(unique("once").partition_key("k").queue("orders"));
    let tx = begin(&mut conn);
    tx.execute(INSERT, []).unwrap();
    let _ = store.enqueue_in(&tx, std::slice::from_ref(&job)).unwrap();
    tx.rollback().unwrap();
    assert_eq!(store.get_job(job.id()).await.unwrap(), None);
    assert_eq!(store.all_queues().await.unwrap(), [], "its queue never existed either");
    assert_eq!(orders(&conn), 0);
    let other = build(unique("once").partition_key("k").queue("orders"));
    let outcomes = store.enqueue(&[other.clone(), job]).await.unwrap();
    let [first, second] = &outcomes[..] else { panic!("{outcomes:?}") };
    assert_eq!(*first, EnqueueOutcome::Created { id: other.id() }, "the key was free");
    assert_eq!(*second, EnqueueOutcome::Duplicate { existing: other.id() });
    assert_exact(&conn);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_6_who_waits_for_a_transaction_with_the_same_key_is_created_if_it_rolls_back() {
    let (_file, store, mut conn) = beside().await;
    for commits in [false, true] {
        let key = format!("once {commits}");
        let [ours, theirs] = [unique(&key), unique(&key)].map(build);
        let tx = begin(&mut conn);
        let _ = store.enqueue_in(&tx, std::slice::from_ref(&ours)).unwrap();
        let waits = [theirs];
        let mut waiting = store.enqueue(&waits);
        assert!((&mut waiting).now_or_never().is_none());
        if commits {
            tx.commit().unwrap()
        } else {
            tx.rollback().unwrap()
        };
        let outcome = waiting.await.unwrap().remove(0);
        let created = EnqueueOutcome::Created { id: waits[0].id() };
        let duplicate = EnqueueOutcome::Duplicate { existing: ours.id() };
        assert_eq!(outcome, if commits { duplicate } else { created });
    }
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_9_a_call_that_fails_leaves_the_transaction_as_it_was() {
    let file = File::new();
    let limits = Limits::default().with_payload_bytes(100);
    let store = file.config().limits(limits).open().await;
    let mut conn = file.connection();
    conn.execute_batch(APP).unwrap();
    conn.execute_batch(include_str!("../../sql/sqlite_refuse.sql")).unwrap();
    let tx = begin(&mut conn);
    tx.execute(INSERT, []).unwrap();
    let good = build(draft());
    let large = build(carrying("x".repeat(101)));
    let refused = store.enqueue_in(&tx, &[good.clone(), large]);
    assert_invalid(refused, "payload");
    let poison = build(JobDraft::new("poison", "").queue("fresh"));
    let failed = store.enqueue_in(&tx, &[good.clone(), poison]);
    assert_eq!(kind_of(failed), ErrorKind::Unavailable);
    let kept = build(draft());
    let _ = store.enqueue_in(&tx, std::slice::from_ref(&kept)).unwrap();
    tx.execute(INSERT, []).unwrap();
    tx.commit().unwrap();
    assert_eq!(orders(&conn), 2);
    assert_eq!(store.get_job(good.id()).await.unwrap(), None, "of a call that failed");
    assert!(store.get_job(kept.id()).await.unwrap().is_some());
    let queues: Vec<_> = store.all_queues().await.unwrap();
    assert_eq!(queues.len(), 1, "a queue of a call that failed");
    assert_exact(&conn);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_9_a_transaction_on_another_file_is_refused() {
    let (_file, store, _conn) = beside().await;
    let other = File::new();
    let other_store = other.store().await;
    let mut memory = Connection::open_in_memory().unwrap();
    for conn in [&mut other.connection(), &mut memory] {
        let tx = begin(conn);
        assert_invalid(store.enqueue_in(&tx, &[build(draft())]), "transaction");
        assert_invalid(store.ack_in(&tx, &[]), "transaction");
    }
    store.close().await.unwrap();
    other_store.close().await.unwrap();
    let tx = memory.transaction().unwrap();
    assert_eq!(kind_of(store.enqueue_in(&tx, &[build(draft())])), ErrorKind::Closed);
}

#[tokio::test]
async fn r2_9_the_client_inside_an_open_transaction_is_unavailable_and_does_not_hang() {
    let (_file, store, mut conn) = beside().await;
    let job = build(draft());
    let tx = begin(&mut conn);
    let _ = store.enqueue_in(&tx, std::slice::from_ref(&job)).unwrap();
    let call = || store.enqueue_one(build(draft()));
    let error =
        within("a call inside", OP_TIMEOUT + Duration::from_secs(1), call).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(error.to_string().contains("never call the client while"), "{error}");
    tx.commit().unwrap();
    assert_eq!(lease(&store, 10).await.len(), 1);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_9_a_deferred_transaction_that_came_too_late_to_write_is_unavailable() {
    let (_file, store, mut conn) = beside().await;
    let tx = conn.transaction_with_behavior(TransactionBehavior::Deferred).unwrap();
    assert_eq!(orders(&tx), 0);
    add(&store, 1).await;
    let late = store.enqueue_in(&tx, &[build(draft())]);
    let late = late.unwrap_err();
    assert_eq!(*late.kind(), ErrorKind::Unavailable);
    assert!(late.to_string().contains("begin it as Immediate"), "{late}");
    assert_eq!(orders(&tx), 0, "what was read can still be read");
    tx.rollback().unwrap();
    assert_exact(&conn);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r3_4_an_ack_and_the_applications_row_are_one() {
    let (_file, store, mut conn) = beside().await;
    add(&store, 1).await;
    let lease = lease(&store, 1).await.remove(0);
    let ack = [Ack::new(lease.token.clone()).with_result("done")];
    for commits in [false, true] {
        let tx = begin(&mut conn);
        tx.execute(INSERT, []).unwrap();
        assert_eq!(store.ack_in(&tx, &ack).unwrap(), [AckOutcome::Acked]);
        let seen = store.get_job(lease.token.id).await.unwrap().unwrap();
        assert_eq!(seen.state, State::Running, "seen before the commit");
        if commits {
            tx.commit().unwrap()
        } else {
            tx.rollback().unwrap()
        };
        let seen = store.get_job(lease.token.id).await.unwrap().unwrap();
        let wanted = if commits { State::Completed } else { State::Running };
        assert_eq!((seen.state, orders(&conn)), (wanted, i64::from(commits)));
    }
    assert_eq!(store.ack(&ack).await.unwrap(), [AckOutcome::AlreadyDone]);
    assert_exact(&conn);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r3_4_an_ack_in_a_transaction_shows_that_its_lease_was_lost() {
    let (_file, store, mut conn) = beside().await;
    add(&store, 1).await;
    let lease = lease(&store, 1).await.remove(0);
    let release = Nack::new(lease.token.clone(), NackKind::Release, "", Duration::ZERO);
    let nacked = store.nack(&[release]).await.unwrap();
    assert!(matches!(nacked[..], [NackOutcome::Released { .. }]), "{nacked:?}");
    let tx = begin(&mut conn);
    let ack = [Ack::new(lease.token)];
    assert_eq!(store.ack_in(&tx, &ack).unwrap(), [AckOutcome::LeaseLost]);
    tx.rollback().unwrap();
    store.close().await.unwrap();
}

#[tokio::test]
async fn r2_9_counters_stay_exact_beside_the_clients_of_two_handles() {
    let (file, store, mut conn) = beside().await;
    let other = file.config().open().await;
    for round in 0..30 {
        let tx = begin(&mut conn);
        let _ = store.enqueue_in(&tx, &[build(keyed("k")), build(draft())]).unwrap();
        let mine = build(unique(&format!("{round}")));
        let calls = async { tokio::join!(store.enqueue_one(mine), lease(&other, 2)) };
        let end = async { if round % 3 == 0 { tx.rollback() } else { tx.commit() } };
        let ((enqueued, leases), ended) = tokio::join!(calls, end);
        enqueued.unwrap();
        ended.unwrap();
        let tx = begin(&mut conn);
        let acks: Vec<Ack> = leases.into_iter().map(|lease| Ack::new(lease.token)).collect();
        other.ack_in(&tx, &acks).unwrap();
        if round % 2 == 0 {
            tx.commit().unwrap()
        } else {
            tx.rollback().unwrap()
        };
    }
    assert_exact(&conn);
    let default = QueueName::default();
    let queues = store.all_queues().await.unwrap();
    assert_eq!(queues.iter().map(|queue| &queue.name).collect::<Vec<_>>(), [&default]);
    store.close().await.unwrap();
    other.close().await.unwrap();
}
