//! Producers' transactions and partition keys: nothing is left behind (contract R7.3).
//!
//! A job that becomes visible only after the last job of its key has ended was seen by nobody who
//! looked for the key's next one.

use std::slice::from_ref;
use std::time::Duration;

use crate::common::key_load::{self, KeyStage};
use crate::common::store_fixture::{Stage, complete, create, lease};
use async_trait::async_trait;
use queuekit_conformance::kit::{build, keyed};
use queuekit_conformance::this_test;
use queuekit_core::capability::{Admin, CancelOutcome, RetryOutcome};
use queuekit_core::queue::{KeyOnDead, KeyOnWait, Order, QueuePatch};
use queuekit_core::{
    Ack, AckOutcome, Backend, DeadLetter, DeadLetterOutcome, ErrorKind, JobId, Lease, Nack,
    NackKind, NewJob, Priority, QueueName,
};
use queuekit_postgres::PostgresStore;
use tokio_postgres::Client;

#[async_trait]
impl KeyStage for Stage {
    type Store = PostgresStore;
    type Application = Client;

    fn store(&self) -> &PostgresStore {
        &self.store
    }

    async fn application(&self) -> Client {
        self.client().await
    }

    async fn enqueue_by(
        &self,
        app: &mut Client,
        jobs: &[NewJob],
        stored: &(dyn Fn() + Sync),
    ) -> bool {
        let tx = app.transaction().await.unwrap();
        while let Err(error) = self.store.enqueue_in(&tx, jobs).await {
            assert_eq!(*error.kind(), ErrorKind::Indeterminate, "{error}");
        }
        tokio::time::sleep(Duration::from_millis(fastrand::u64(..60))).await;
        if fastrand::u8(..5) == 0 {
            tx.rollback().await.unwrap();
            return false;
        }
        stored();
        tx.commit().await.unwrap();
        true
    }

    async fn terminate(&self) -> usize {
        let sql = include_str!("../../sql/postgres_terminate.sql");
        self.client().await.query(sql, &[&self.application, &0.3]).await.unwrap().len()
    }
}

/// How the last job of a key ends.
#[derive(Clone, Copy, Debug)]
enum End {
    Ack,
    AckInTransaction,
    Fatal,
    DeadLetter,
    CancelWhileRunning,
    DeleteByForce,
    CancelWaiting,
    DeleteWaiting,
    DeadLetterWaiting,
}

const ENDS: [End; 9] = [
    End::Ack,
    End::AckInTransaction,
    End::Fatal,
    End::DeadLetter,
    End::CancelWhileRunning,
    End::DeleteByForce,
    End::CancelWaiting,
    End::DeleteWaiting,
    End::DeadLetterWaiting,
];

impl End {
    fn waits(self) -> bool {
        matches!(self, Self::CancelWaiting | Self::DeleteWaiting | Self::DeadLetterWaiting)
    }

    async fn happens(self, stage: &Stage, id: JobId, lease: Option<Lease>) {
        let store = &stage.store;
        let token = lease.map(|lease| lease.token);
        match self {
            Self::Ack => {
                let acked = store.ack(&[Ack::new(token.unwrap())]).await.unwrap();
                assert_eq!(acked, [AckOutcome::Acked]);
            }
            Self::AckInTransaction => {
                let mut app = stage.client().await;
                let tx = app.transaction().await.unwrap();
                let acked = store.ack_in(&tx, &[Ack::new(token.unwrap())]).await.unwrap();
                assert_eq!(acked, [AckOutcome::Acked]);
                tx.commit().await.unwrap();
            }
            Self::Fatal => {
                let nack = Nack::new(token.unwrap(), NackKind::Fatal, "no", Duration::ZERO);
                let _ = store.nack(&[nack]).await.unwrap();
            }
            Self::DeadLetter => {
                let dead_letter = DeadLetter::of_lease(token.unwrap(), "bad");
                assert_eq!(
                    store.dead_letter(&[dead_letter]).await.unwrap(),
                    [DeadLetterOutcome::DeadLettered]
                );
            }
            Self::CancelWhileRunning => {
                let requested = store.cancel(&[id]).await.unwrap();
                assert_eq!(requested, [CancelOutcome::Requested]);
                let nack = Nack::new(token.unwrap(), NackKind::Cancelled, "", Duration::ZERO);
                let _ = store.nack(&[nack]).await.unwrap();
            }
            Self::DeleteByForce => assert!(store.delete_job(id, true).await.unwrap()),
            Self::DeleteWaiting => assert!(store.delete_job(id, false).await.unwrap()),
            Self::CancelWaiting => {
                let cancelled = store.cancel(&[id]).await.unwrap();
                assert_eq!(cancelled, [CancelOutcome::Cancelled]);
            }
            Self::DeadLetterWaiting => {
                let dead_letter = DeadLetter::of_job(id, "bad");
                assert_eq!(
                    store.dead_letter(&[dead_letter]).await.unwrap(),
                    [DeadLetterOutcome::DeadLettered]
                );
            }
        }
    }
}

/// Which job the next reserve serves.
async fn next(stage: &Stage) -> Option<JobId> {
    let mut leases = lease(&stage.store, 10).await;
    assert!(leases.len() <= 1, "{leases:?}");
    leases.pop().map(|lease| lease.token.id)
}

/// A transaction that stores a job of key `k` commits, or not, after the last one has ended, and
/// after reserves have looked for others in vain or without that.
async fn race(stage: &Stage, app: &mut Client, end: End, commits: bool, looks: bool) {
    let what = format!("{end:?}, commits: {commits}, looks: {looks}");
    let last = create(&stage.store, &build(keyed("k"))).await;
    let lease = if end.waits() { None } else { lease(&stage.store, 1).await.pop() };
    let late = build(keyed("k"));
    let tx = app.transaction().await.unwrap();
    let _ = stage.store.enqueue_in(&tx, from_ref(&late)).await.unwrap();
    end.happens(stage, last, lease).await;
    if looks {
        assert_eq!(next(stage).await, None, "{what}");
    }
    if commits {
        tx.commit().await.unwrap();
        assert_eq!(next(stage).await, Some(late.id()), "{what}: it was left behind");
        assert!(stage.store.delete_job(late.id(), true).await.unwrap());
    } else {
        tx.rollback().await.unwrap();
        assert_eq!(next(stage).await, None, "{what}");
    }
    // Those to come are served as ever.
    let other = create(&stage.store, &build(keyed("k"))).await;
    assert_eq!(next(stage).await, Some(other), "{what}: the key is stuck");
    assert!(stage.store.delete_job(other, true).await.unwrap());
}

async fn races(test: &str, patch: QueuePatch) {
    let Some(stage) = Stage::open(test).await else { return };
    stage.store.configure(&QueueName::default(), &patch).await.unwrap();
    let mut app = stage.client().await;
    for end in ENDS {
        for (commits, looks) in [(true, true), (true, false), (false, true), (false, false)] {
            race(&stage, &mut app, end, commits, looks).await;
        }
    }
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r7_3_a_keyed_enqueue_that_commits_after_its_keys_last_job_ended_is_served() {
    let test = this_test!();
    races(test, QueuePatch::default()).await;
}

#[tokio::test]
async fn r7_3_likewise_where_several_of_a_key_may_run_and_waiting_ones_are_passed() {
    let test = this_test!();
    let patch = QueuePatch::default().per_key(2).key_on_wait(KeyOnWait::Skip);
    races(test, patch).await;
}

#[tokio::test]
async fn r7_4_likewise_in_a_fair_queue() {
    let test = this_test!();
    races(test, QueuePatch::default().order(Order::Fair)).await;
}

#[tokio::test]
async fn r7_3_two_producers_of_a_key_commit_in_either_order() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let (mut app, mut other_app) = (stage.client().await, stage.client().await);
    for first_commits_first in [false, true] {
        create(&stage.store, &build(keyed("k"))).await;
        let last = lease(&stage.store, 1).await;
        let [first, second] = [(); 2].map(|()| build(keyed("k")));
        let tx = app.transaction().await.unwrap();
        let _ = stage.store.enqueue_in(&tx, from_ref(&first)).await.unwrap();
        let other_tx = other_app.transaction().await.unwrap();
        let _ = stage.store.enqueue_in(&other_tx, from_ref(&second)).await.unwrap();
        complete(&stage.store, last).await;
        let (one, then) = match first_commits_first {
            true => ((tx, &first), (other_tx, &second)),
            false => ((other_tx, &second), (tx, &first)),
        };
        one.0.commit().await.unwrap();
        let leases = lease(&stage.store, 10).await;
        assert_eq!(leases.len(), 1);
        assert_eq!(leases[0].token.id, one.1.id());
        then.0.commit().await.unwrap();
        assert_eq!(next(&stage).await, None, "its key is held");
        complete(&stage.store, leases).await;
        let leases = lease(&stage.store, 10).await;
        assert_eq!(leases.len(), 1, "the one that came late was left behind");
        assert_eq!(leases[0].token.id, then.1.id());
        complete(&stage.store, leases).await;
    }
    stage.assert_exact().await;
    stage.end().await;
}

/// A dead job that holds its key comes back while a producer's transaction is open.
#[tokio::test]
async fn r6_3_a_dead_job_that_is_retried_goes_before_one_that_commits_later() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let store = &stage.store;
    let patch = QueuePatch::default().key_on_dead(KeyOnDead::Hold);
    store.configure(&QueueName::default(), &patch).await.unwrap();
    let mut app = stage.client().await;
    let head = create(store, &build(keyed("k"))).await;
    let token = lease(store, 1).await.remove(0).token;
    let late = build(keyed("k"));
    let tx = app.transaction().await.unwrap();
    let _ = store.enqueue_in(&tx, from_ref(&late)).await.unwrap();
    let nacked = store.nack(&[Nack::new(token, NackKind::Fatal, "no", Duration::ZERO)]).await;
    drop(nacked.unwrap());
    assert_eq!(next(&stage).await, None);
    tx.commit().await.unwrap();
    assert_eq!(next(&stage).await, None, "a dead head holds the key");
    assert_eq!(store.retry(&[head]).await.unwrap(), [RetryOutcome::Retried]);
    assert_eq!(next(&stage).await, Some(head));
    assert!(store.delete_job(head, true).await.unwrap());
    assert_eq!(next(&stage).await, Some(late.id()));
    stage.assert_exact().await;
    stage.end().await;
}

/// The later job of a key stands where a reserve looks, and waits for its time; the earlier one
/// commits only then.
#[tokio::test]
async fn r5_6_a_job_that_commits_late_is_served_before_one_that_waits_for_its_time() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    for order in [Order::Strict, Order::Fair] {
        let patch = QueuePatch::default().order(order);
        stage.store.configure(&QueueName::default(), &patch).await.unwrap();
        let mut app = stage.client().await;
        let first = build(keyed("k"));
        let tx = app.transaction().await.unwrap();
        let _ = stage.store.enqueue_in(&tx, from_ref(&first)).await.unwrap();
        let later = create(&stage.store, &build(keyed("k").delay(Duration::from_secs(3600)))).await;
        assert_eq!(next(&stage).await, None, "its time has not come");
        tx.commit().await.unwrap();
        let leases = lease(&stage.store, 1).await;
        assert_eq!(leases.first().map(Lease::id), Some(first.id()));
        complete(&stage.store, leases).await;
        assert!(stage.store.delete_job(later, false).await.unwrap());
    }
    stage.assert_exact().await;
    stage.end().await;
}

/// It held its key, which the policy no longer asks for; the next one stands there by now.
#[tokio::test]
async fn r6_3_a_dead_head_that_is_retried_goes_before_the_one_it_held_up() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let store = &stage.store;
    let configure = async |policy| {
        let patch = QueuePatch::default().key_on_dead(policy);
        store.configure(&QueueName::default(), &patch).await.unwrap();
    };
    configure(KeyOnDead::Hold).await;
    let head = create(store, &build(keyed("k"))).await;
    let token = lease(store, 1).await.remove(0).token;
    let other = create(store, &build(keyed("other").priority(Priority::HIGH))).await;
    let next_one = create(store, &build(keyed("k"))).await;
    let nacked = store.nack(&[Nack::new(token, NackKind::Fatal, "no", Duration::ZERO)]).await;
    drop(nacked.unwrap());
    configure(KeyOnDead::Continue).await;
    assert_eq!(lease(store, 1).await.first().map(Lease::id), Some(other));
    assert_eq!(store.retry(&[head]).await.unwrap(), [RetryOutcome::Retried]);
    assert_eq!(next(&stage).await, Some(head));
    assert!(store.delete_job(head, true).await.unwrap());
    assert_eq!(next(&stage).await, Some(next_one));
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r7_3_keys_under_load_strand_nothing_and_keep_their_order() {
    let test = this_test!();
    let Some(stage) = Stage::with(test, "pool_size=6").await else { return };
    let end = async |stage: Stage| {
        stage.assert_exact().await;
        stage.assert_no_deadlocks().await;
        stage.end().await;
    };
    key_load::run(test, stage, end).await;
}
