//! Jobs inside the application's own Postgres transactions (contract R2.6, R2.9, R3.4).

use std::slice::from_ref;
use std::time::Duration;

use crate::common::store_fixture::{Stage, complete, create, lease, promptly, request_for, state};
use queuekit_conformance::kit::{
    TTL, assert_invalid, build, carrying, draft, keyed, kind_of, queue, request, ttl, unique,
};
use queuekit_conformance::this_test;
use queuekit_core::capability::{Admin, CancelOutcome, ExtendOutcome, PoolUse};
use queuekit_core::queue::QueuePatch;
use queuekit_core::{
    Ack, AckOutcome, Backend, BackendExt, EnqueueOutcome, ErrorKind, Lease, Nack, NackKind,
    NackOutcome, State,
};
use tokio_postgres::Client;

const APP: &str = include_str!("../../sql/postgres_app.sql");
const INSERT: &str = include_str!("../../sql/postgres_app_insert.sql");
const COUNT: &str = include_str!("../../sql/postgres_app_count.sql");

/// A store, and an application's connection to the same database.
async fn beside(test: &str) -> Option<(Stage, Client)> {
    let stage = Stage::open(test).await?;
    let client = stage.client().await;
    client.batch_execute(APP).await.unwrap();
    Some((stage, client))
}

async fn orders(client: &Client) -> i64 {
    client.query_one(COUNT, &[]).await.unwrap().get(0)
}

#[tokio::test]
async fn r2_9_jobs_of_a_transaction_exist_once_it_commits() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let store = &stage.store;
    let jobs = [build(draft()), build(keyed("k")), build(unique("u"))];
    let tx = client.transaction().await.unwrap();
    tx.execute(INSERT, &[]).await.unwrap();
    let outcomes = store.enqueue_in(&tx, &jobs).await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.is_created()), "{outcomes:?}");
    for job in &jobs {
        assert_eq!(state(store, job.id()).await, None, "visible before the commit");
    }
    assert_eq!(lease(store, 10).await.len(), 0, "leased before the commit");
    tx.commit().await.unwrap();
    for job in &jobs {
        assert_eq!(state(store, job.id()).await, Some(State::Pending));
    }
    let leases = lease(store, 10).await;
    assert_eq!((leases.len(), orders(&client).await), (3, 1));
    complete(store, leases).await;
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r2_9_jobs_of_a_transaction_that_is_rolled_back_never_existed() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let store = &stage.store;
    let jobs = [build(draft()), build(unique("once").partition_key("k"))];
    let tx = client.transaction().await.unwrap();
    tx.execute(INSERT, &[]).await.unwrap();
    let _ = store.enqueue_in(&tx, &jobs).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(orders(&client).await, 0);
    for job in &jobs {
        assert_eq!(state(store, job.id()).await, None);
    }
    assert_eq!(lease(store, 10).await.len(), 0);
    let counts = store.all_queues().await.unwrap().remove(0).counts;
    assert_eq!(counts.of_state(State::Pending).value, 0, "a counter tells of a job that never was");
    create(store, &build(unique("once").partition_key("k"))).await;
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r2_6_who_waits_for_a_transaction_with_the_same_key_is_created_if_it_rolls_back() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    for commits in [false, true] {
        let key = format!("once {commits}");
        let [ours, theirs] = [unique(&key), unique(&key)].map(build);
        let (created, duplicate) = (
            EnqueueOutcome::Created { id: theirs.id() },
            EnqueueOutcome::Duplicate { existing: ours.id() },
        );
        let tx = client.transaction().await.unwrap();
        let _ = stage.store.enqueue_in(&tx, from_ref(&ours)).await.unwrap();
        let store = stage.store.clone();
        let waiting = tokio::spawn(async move { store.enqueue(&[theirs]).await });
        stage.until_blocked(1).await;
        assert!(!waiting.is_finished());
        if commits {
            tx.commit().await.unwrap()
        } else {
            tx.rollback().await.unwrap()
        };
        let outcomes =
            promptly("the call that waited for the transaction", waiting).await.unwrap().unwrap();
        assert_eq!(outcomes, [if commits { duplicate } else { created }]);
    }
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r2_6_of_transactions_with_the_same_id_the_second_waits_for_the_first() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    for commits in [false, true] {
        let job = build(draft());
        let tx = client.transaction().await.unwrap();
        let _ = stage.store.enqueue_in(&tx, from_ref(&job)).await.unwrap();
        let (store, again) = (stage.store.clone(), [job.clone()]);
        let waiting = tokio::spawn(async move { store.enqueue(&again).await });
        stage.until_blocked(1).await;
        if commits {
            tx.commit().await.unwrap()
        } else {
            tx.rollback().await.unwrap()
        };
        let outcomes =
            promptly("the call that waited for the transaction", waiting).await.unwrap().unwrap();
        let (created, duplicate) = (
            EnqueueOutcome::Created { id: job.id() },
            EnqueueOutcome::Duplicate { existing: job.id() },
        );
        assert_eq!(outcomes, [if commits { duplicate } else { created }]);
    }
    assert_eq!(lease(&stage.store, 10).await.len(), 2, "each once");
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r2_6_transactions_that_wait_for_each_other_take_turns() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let mut other = stage.client().await;
    let [ours, theirs] = [unique("once"), unique("once")].map(build);
    let tx = client.transaction().await.unwrap();
    let _ = stage.store.enqueue_in(&tx, from_ref(&ours)).await.unwrap();
    let (store, job) = (stage.store.clone(), theirs.clone());
    let waiting = tokio::spawn(async move {
        let tx = other.transaction().await.unwrap();
        let outcomes = store.enqueue_in(&tx, from_ref(&job)).await.unwrap();
        tx.commit().await.unwrap();
        outcomes.into_iter().collect::<Vec<_>>()
    });
    tx.rollback().await.unwrap();
    let outcomes = promptly("the second transaction", waiting).await.unwrap();
    assert_eq!(outcomes, [EnqueueOutcome::Created { id: theirs.id() }]);
    assert_eq!(state(&stage.store, ours.id()).await, None);
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r2_9_a_call_that_fails_leaves_the_transaction_as_it_was() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let store = &stage.store;
    let mut other = stage.client().await;
    let held = build(unique("held"));
    let holder = other.transaction().await.unwrap();
    let _ = store.enqueue_in(&holder, from_ref(&held)).await.unwrap();

    let tx = client.transaction().await.unwrap();
    tx.execute(INSERT, &[]).await.unwrap();
    let large = build(carrying("x".repeat(2 << 20)));
    assert_invalid(store.enqueue_in(&tx, &[build(draft()), large]).await, "payload");
    tx.batch_execute("SET LOCAL lock_timeout = 50").await.unwrap();
    let failed = [build(draft()), build(unique("held"))];
    let refused = store.enqueue_in(&tx, &failed).await;
    assert_eq!(kind_of(refused), ErrorKind::Unavailable);
    let kept = build(keyed("k"));
    let _ = store.enqueue_in(&tx, from_ref(&kept)).await.unwrap();
    tx.execute(INSERT, &[]).await.unwrap();
    tx.commit().await.unwrap();

    assert_eq!(orders(&client).await, 2);
    assert_eq!(state(store, kept.id()).await, Some(State::Pending));
    assert_eq!(state(store, failed[0].id()).await, None, "of a call that failed");
    holder.commit().await.unwrap();
    assert_eq!(state(store, held.id()).await, Some(State::Pending));
    stage.assert_exact().await;
    stage.end().await;
}

/// The store creates queues on its own connection, so an open transaction does not hold up others
/// that use the same new queue.
#[tokio::test]
async fn r2_9_a_new_queue_is_made_without_holding_up_others() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let store = &stage.store;
    let mut other = stage.client().await;
    let first = client.transaction().await.unwrap();
    let fresh = || build(draft().queue("fresh"));
    let _ = store.enqueue_in(&first, &[fresh()]).await.unwrap();
    let handle = stage.handle("pool_size=2").await;
    let second = other.transaction().await.unwrap();
    let _ = promptly("another transaction", handle.enqueue_in(&second, &[fresh()])).await.unwrap();
    promptly("a plain enqueue", handle.enqueue(&[fresh()])).await.unwrap();
    let admin = handle.capabilities().admin.unwrap();
    let patch = QueuePatch::default().max_pending(10);
    promptly("configure", admin.configure(&queue("fresh"), &patch)).await.unwrap();
    let request = request(queue("fresh"), 10);
    let reserved = promptly("a reserve", handle.reserve(&request)).await.unwrap();
    assert_eq!(reserved.leases.len(), 1, "of jobs that are committed");
    first.rollback().await.unwrap();
    second.rollback().await.unwrap();
    let queues = store.all_queues().await.unwrap();
    let names: Vec<_> = queues.iter().map(|queue| queue.name.as_str()).collect();
    assert_eq!(names, ["fresh"]);
    handle.close().await.unwrap();
    stage.assert_exact().await;
    stage.end().await;
}

/// Metrics show it, so that a pool that is too small is found.
#[tokio::test]
async fn the_pool_says_how_many_calls_wait_for_a_connection() {
    let Some((stage, mut client)) = beside(this_test!()).await else { return };
    let tx = client.transaction().await.unwrap();
    let _ = stage.store.enqueue_in(&tx, &[build(unique("theirs"))]).await.unwrap();
    let handle = stage.handle("pool_size=1").await;
    let pool = || handle.capabilities().inspect.unwrap().pool().unwrap();
    // The first call waits for the transaction, and the others for its connection.
    let (same, others) = ([build(unique("theirs"))], [build(draft())]);
    let waiting = async {
        while pool() != (PoolUse { most: 1, used: 1, idle: 0, waiting: 2 }) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        tx.rollback().await.unwrap();
    };
    let first = handle.enqueue(&same);
    let asked = request(queue("default"), 1);
    let (second, third) = (handle.enqueue(&others), handle.reserve(&asked));
    let calls = async { tokio::join!(first, second, third, waiting) };
    let (first, second, third, ()) = promptly("the calls", calls).await;
    assert!(first.is_ok() && second.is_ok() && third.is_ok());
    assert_eq!(pool(), PoolUse { most: 1, used: 0, idle: 1, waiting: 0 });
    handle.close().await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn r2_9_an_open_transaction_of_a_producer_blocks_nobody() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let store = &stage.store;
    // The same queue, partition key and shape as what the transaction has stored.
    let jobs = || [build(draft()), build(keyed("k")), build(keyed("k")), build(unique("mine"))];
    promptly("before", store.enqueue(&jobs())).await.unwrap();
    let tx = client.transaction().await.unwrap();
    let held = [build(draft()), build(keyed("k")), build(unique("theirs"))];
    let _ = store.enqueue_in(&tx, &held).await.unwrap();

    let others = [build(draft()), build(keyed("k")), build(unique("other"))];
    let created = promptly("another producer", store.enqueue(&others)).await.unwrap();
    assert!(created.iter().all(|outcome| outcome.is_created()), "{created:?}");
    let mut served = 0;
    loop {
        let leases = promptly("a reserve", lease(store, 10)).await;
        if leases.is_empty() {
            break;
        }
        served += leases.len();
        let extend = store.capabilities().leases.unwrap();
        let tokens: Vec<_> = leases.iter().map(|lease| lease.token.clone()).collect();
        let extended = promptly("an extend", extend.extend(&tokens, ttl(TTL))).await.unwrap();
        let alive = |outcome: &ExtendOutcome| matches!(outcome, ExtendOutcome::Extended { .. });
        assert!(extended.iter().all(alive), "{extended:?}");
        promptly("an ack", complete(store, leases)).await;
    }
    assert_eq!(served, 4 + 3, "all that is committed");
    let upkeep = store.capabilities().upkeep.unwrap();
    promptly("upkeep", upkeep.prune()).await.unwrap();
    promptly("repair", upkeep.repair()).await.unwrap();
    promptly("a look at the queues", store.all_queues()).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(lease(store, 10).await.len(), 3, "what the transaction has stored");
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r3_4_an_ack_and_the_applications_row_are_one() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let store = &stage.store;
    let id = create(store, &build(keyed("k").idempotency_key("u"))).await;
    let next = create(store, &build(keyed("k"))).await;
    let lease_of = lease(store, 1).await.remove(0);
    let ack = [Ack::new(lease_of.token.clone()).with_result("done")];
    for commits in [false, true] {
        let tx = client.transaction().await.unwrap();
        tx.execute(INSERT, &[]).await.unwrap();
        assert_eq!(store.ack_in(&tx, &ack).await.unwrap(), [AckOutcome::Acked]);
        assert_eq!(state(store, id).await, Some(State::Running), "seen before the commit");
        assert_eq!(lease(store, 1).await.len(), 0, "its key is free before the commit");
        if commits {
            tx.commit().await.unwrap()
        } else {
            tx.rollback().await.unwrap()
        };
        let wanted = if commits { State::Completed } else { State::Running };
        assert_eq!(state(store, id).await, Some(wanted));
        assert_eq!(orders(&client).await, i64::from(commits));
    }
    assert_eq!(store.ack(&ack).await.unwrap(), [AckOutcome::AlreadyDone]);
    let job = store.get_job(id).await.unwrap().unwrap();
    assert_eq!(job.result.as_deref(), Some(&b"done"[..]));
    assert_eq!(lease(store, 1).await[0].token.id, next, "the next of its key goes");
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r3_4_an_ack_in_a_transaction_shows_that_its_lease_was_lost() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let store = &stage.store;
    create(store, &build(draft())).await;
    let lease = lease(store, 1).await.remove(0);
    let release = Nack::new(lease.token.clone(), NackKind::Release, "", Duration::ZERO);
    let nacked = store.nack(&[release]).await.unwrap();
    assert!(matches!(nacked[..], [NackOutcome::Released { .. }]), "{nacked:?}");
    let tx = client.transaction().await.unwrap();
    let outcomes = store.ack_in(&tx, &[Ack::new(lease.token)]).await.unwrap();
    assert_eq!(outcomes, [AckOutcome::LeaseLost]);
    tx.rollback().await.unwrap();
    stage.assert_exact().await;
    stage.end().await;
}

/// A transaction that holds an ack and a keyed enqueue keeps up no other ack, not even of the
/// next job of a key that it does not touch.
#[tokio::test]
async fn r2_9_an_open_ack_blocks_no_other() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let store = &stage.store;
    for key in ["a", "b", "c"] {
        create(store, &build(keyed(key))).await;
    }
    let mut leases = store.reserve(&request_for(TTL, 3)).await.unwrap().leases;
    let tx = client.transaction().await.unwrap();
    let ours = Ack::new(leases.remove(0).token);
    assert_eq!(store.ack_in(&tx, &[ours]).await.unwrap(), [AckOutcome::Acked]);
    let retry = leases.remove(0).token;
    let retry = Nack::new(retry, NackKind::Retry, "no", Duration::ZERO);
    promptly("a nack", store.nack(&[retry])).await.unwrap();
    promptly("an ack", complete(store, leases)).await;
    create(store, &build(keyed("a"))).await;
    let next = promptly("a reserve", lease(store, 10)).await;
    assert_eq!(next.len(), 1, "the one that is tried again, and not the key that is held");
    tx.commit().await.unwrap();
    assert_eq!(lease(store, 10).await.len(), 1, "the key that was held");
    stage.assert_exact().await;
    stage.end().await;
}

/// A call that waits for a lease which a transaction settles releases the queue in between.
#[tokio::test]
async fn r2_9_who_waits_for_an_open_ack_keeps_no_other_from_its_queue() {
    let test = this_test!();
    let Some((stage, mut client)) = beside(test).await else { return };
    let store = &stage.store;
    let held = create(store, &build(keyed("a"))).await;
    let ours = lease(store, 1).await.remove(0).token;
    let tx = client.transaction().await.unwrap();
    assert_eq!(store.ack_in(&tx, &[Ack::new(ours)]).await.unwrap(), [AckOutcome::Acked]);
    let asked = store.clone();
    let cancel = tokio::spawn(async move { asked.cancel(&[held]).await });
    stage.until_blocked(1).await;
    for _ in 0..5 {
        let id = create(store, &build(keyed("b"))).await;
        let next = promptly("a reserve", lease(store, 1)).await;
        assert_eq!(next.iter().map(Lease::id).collect::<Vec<_>>(), [id]);
        complete(store, next).await;
    }
    assert!(!cancel.is_finished(), "the call was answered while the transaction was open");
    tx.commit().await.unwrap();
    let answer =
        promptly("the call that waited for the transaction", cancel).await.unwrap().unwrap();
    assert_eq!(answer, [CancelOutcome::Conflict]);
    stage.assert_exact().await;
    stage.end().await;
}
