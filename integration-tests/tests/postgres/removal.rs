//! A queue that is removed while a job is stored in it: the job is not lost (contract R0.2), and
//! nothing is left of the queue in the end.

use std::slice::from_ref;

use crate::common::gated_handler::Gated;
use crate::common::store_fixture::{complete, create, lease, state};
use queuekit_conformance::kit::{build, draft, keyed, kind_of};
use queuekit_conformance::this_test;
use queuekit_core::capability::{Admin, ExtendOutcome, Leases};
use queuekit_core::{
    Backend, EnqueueOutcome, ErrorKind, JobDraft, Lease, LeaseTtl, QueueName, State,
};
use tokio_postgres::IsolationLevel;

/// The enqueue has seen its queue; the queue is removed, and only then is the job stored.
async fn removed_under_an_enqueue(test: &str, draft: fn() -> JobDraft) {
    let Some(gated) = Gated::open(test, draft).await else { return };
    let job = build(draft());
    gated.close(1).await;
    let (store, stored) = (gated.stage.store.clone(), job.clone());
    let enqueue = tokio::spawn(async move { store.enqueue(&[stored]).await });
    gated.until_someone_is_at(1).await;
    gated.remove_queue().await;
    gated.close(2).await;
    gated.unlock(1).await;
    gated.until_someone_is_at(2).await;
    // Upkeep continues while the enqueue has not ended.
    gated.keep_up().await;
    gated.unlock(2).await;
    let outcomes = enqueue.await.unwrap().unwrap();
    assert_eq!(outcomes, [EnqueueOutcome::Created { id: job.id() }]);
    gated.judge(&job).await;
}

#[tokio::test]
async fn r0_2_a_job_that_is_stored_while_its_queue_is_removed_is_served() {
    let test = this_test!();
    removed_under_an_enqueue(test, draft).await;
}

#[tokio::test]
async fn r0_2_a_job_with_a_partition_key_likewise() {
    let test = this_test!();
    removed_under_an_enqueue(test, || keyed("k")).await;
}

#[tokio::test]
async fn r0_2_a_job_of_an_open_transaction_likewise() {
    let test = this_test!();
    for draft in [draft, || keyed("k")] {
        let Some(gated) = Gated::open(test, draft).await else { return };
        let job = build(draft());
        let mut app = gated.stage.client().await;
        let tx = app.transaction().await.unwrap();
        let _ = gated.stage.store.enqueue_in(&tx, from_ref(&job)).await.unwrap();
        gated.remove_queue().await;
        gated.keep_up().await;
        tx.commit().await.unwrap();
        gated.judge(&job).await;
    }
}

/// A call that removes the queue has begun, and found it empty. Returns its outcome when it
/// continues.
async fn removed_when_empty(
    gated: &Gated,
    force: bool,
    meanwhile: impl AsyncFn(),
) -> queuekit_core::Result<bool> {
    gated.close(3).await;
    let store = gated.stage.store.clone();
    let remove = async move { store.remove_queue(&QueueName::default(), force).await };
    let remove = tokio::spawn(remove);
    gated.until_someone_is_at(3).await;
    meanwhile().await;
    gated.unlock(3).await;
    remove.await.unwrap()
}

#[tokio::test]
async fn r6_7_a_job_that_comes_while_an_empty_queue_is_removed_keeps_it() {
    let test = this_test!();
    for draft in [draft, || keyed("k")] {
        let Some(gated) = Gated::open(test, draft).await else { return };
        let (store, job) = (&gated.stage.store, build(draft()));
        let removed = removed_when_empty(&gated, false, async || {
            create(store, &job).await;
        });
        assert_eq!(kind_of(removed.await), ErrorKind::Conflict);
        assert_eq!(state(store, job.id()).await, Some(State::Pending));
        gated.judge(&job).await;
    }
}

#[tokio::test]
async fn r6_7_a_job_that_comes_while_its_queue_is_removed_by_force_goes_with_it() {
    let test = this_test!();
    let Some(gated) = Gated::open(test, draft).await else { return };
    let (store, job) = (&gated.stage.store, build(draft()));
    let removed = removed_when_empty(&gated, true, async || {
        create(store, &job).await;
    });
    assert!(removed.await.unwrap());
    assert_eq!(state(store, job.id()).await, None);
    let again = build(draft());
    create(store, &again).await;
    gated.judge(&again).await;
}

#[tokio::test]
async fn r6_7_a_queue_whose_job_runs_by_now_is_not_removed_by_force_either() {
    let test = this_test!();
    let Some(gated) = Gated::open(test, draft).await else { return };
    let (store, job) = (&gated.stage.store, build(draft()));
    let removed = removed_when_empty(&gated, true, async || {
        create(store, &job).await;
        assert_eq!(lease(store, 1).await.len(), 1);
    });
    assert_eq!(kind_of(removed.await), ErrorKind::Conflict);
    assert_eq!(state(store, job.id()).await, Some(State::Running));
    gated.stage.assert_exact().await;
    gated.stage.end().await;
}

/// What a process knows of a queue is out of date: another has removed it, and made it again.
#[tokio::test]
async fn r3_2_leases_of_a_queue_that_was_made_again_hold_for_who_knew_the_old_one() {
    let test = this_test!();
    for draft in [draft, || keyed("k")] {
        let Some(gated) = Gated::open(test, draft).await else { return };
        let (store, other) = (&gated.stage.store, gated.stage.handle("pool_size=2").await);
        gated.forget_queue(&other).await;
        let id = create(&other, &build(draft())).await;
        let leases = lease(store, 10).await;
        assert_eq!(leases.iter().map(Lease::id).collect::<Vec<_>>(), [id]);
        let ttl = LeaseTtl::default();
        let extended = store.extend(&[leases[0].token.clone()], ttl).await.unwrap();
        assert!(matches!(extended[..], [ExtendOutcome::Extended { .. }]), "{extended:?}");
        complete(store, leases).await;
        gated.stage.assert_exact().await;
        other.close().await.unwrap();
        gated.stage.end().await;
    }
}

#[tokio::test]
async fn r2_9_a_transaction_stores_in_a_queue_that_another_process_has_removed() {
    let test = this_test!();
    let Some(gated) = Gated::open(test, draft).await else { return };
    let (store, other) = (&gated.stage.store, gated.stage.handle("pool_size=2").await);
    gated.forget_queue(&other).await;
    let (mut app, job) = (gated.stage.client().await, build(draft()));
    let tx = app.transaction().await.unwrap();
    let stored = store.enqueue_in(&tx, from_ref(&job)).await.unwrap();
    assert_eq!(stored.ids().unwrap(), [job.id()]);
    tx.commit().await.unwrap();
    other.close().await.unwrap();
    gated.judge(&job).await;
}

/// A transaction that looks at the past sees the queue, though it was removed since.
#[tokio::test]
async fn r0_2_what_a_transaction_of_the_past_stores_in_a_removed_queue_is_served() {
    let test = this_test!();
    let Some(gated) = Gated::open(test, draft).await else { return };
    let (mut app, job) = (gated.stage.client().await, build(draft()));
    let tx = app.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
    let tx = tx.start().await.unwrap();
    tx.query(&gated.sql(include_str!("../../sql/postgres_queue_rows.sql")), &[]).await.unwrap();
    let other = gated.stage.handle("pool_size=2").await;
    assert!(other.remove_queue(&QueueName::default(), true).await.unwrap());
    other.close().await.unwrap();
    // The store that is asked does not know of it.
    let _ = gated.stage.store.enqueue_in(&tx, from_ref(&job)).await.unwrap();
    gated.keep_up().await;
    tx.commit().await.unwrap();
    gated.judge(&job).await;
}

#[tokio::test]
async fn r0_2_a_transaction_of_the_past_cannot_store_in_a_forgotten_queue() {
    let test = this_test!();
    let Some(gated) = Gated::open(test, draft).await else { return };
    let (store, mut app) = (&gated.stage.store, gated.stage.client().await);
    let look = gated.sql(include_str!("../../sql/postgres_queue_rows.sql"));
    let by_psql = gated.sql("SELECT queuekit.enqueue('default', 'greet', '1')");
    for by_sql in [false, true] {
        create(store, &build(draft())).await;
        let tx = app.build_transaction().isolation_level(IsolationLevel::RepeatableRead);
        let tx = tx.start().await.unwrap();
        tx.query(&look, &[]).await.unwrap();
        let other = gated.stage.handle("pool_size=2").await;
        gated.forget_queue(&other).await;
        other.close().await.unwrap();
        if by_sql {
            let refused = tx.execute(&by_psql, &[]).await.unwrap_err();
            assert_eq!(refused.code().map(|code| code.code()), Some("40001"));
        } else {
            let stored = store.enqueue_in(&tx, from_ref(&build(draft()))).await;
            assert_eq!(kind_of(stored), ErrorKind::Unavailable);
        }
        tx.rollback().await.unwrap();
    }
    gated.assert_owned().await;
    gated.stage.end().await;
}
