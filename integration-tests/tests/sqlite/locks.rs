//! Somebody else holds the file's only write lock (contract R10.2, R10.4).

use std::time::{Duration, Instant};

use crate::common::files::{File, Open, add, begin, complete, lease};
use futures_util::future::join_all;
use queuekit_core::capability::ExtendOutcome;
use queuekit_core::{Ack, Backend, BackendExt, Error, ErrorKind, JobFilter, QueueName};
use queuekit_integration_tests::kit::{TTL, build, draft, kind_of, request, ttl};
use tokio::time::timeout;

const OP_TIMEOUT: Duration = Duration::from_millis(300);
/// By which everything must have been answered (contract R10.2).
const LATEST: Duration = Duration::from_millis(3300);
/// After which an answer never comes.
const HANGS: Duration = Duration::from_secs(20);

#[tokio::test]
async fn r10_2_an_enqueue_waits_for_the_write_lock() {
    let file = File::new();
    let store = file.store().await;
    let mut conn = file.connection();
    let lock = begin(&mut conn);
    let job = build(draft());
    let id = job.id();
    let mut enqueue = Box::pin(store.enqueue_one(job));
    // A read is answered meanwhile, and what waits is not seen.
    tokio::select! {
        biased;
        answer = &mut enqueue => panic!("answered under a foreign lock: {answer:?}"),
        read = store.get_job(id) => assert_eq!(read.unwrap(), None),
    }
    lock.commit().unwrap();
    assert_eq!(enqueue.await.unwrap(), id);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r10_2_a_lock_that_is_not_released_makes_every_call_unavailable() {
    let file = File::new();
    let store = file.config().op_timeout(OP_TIMEOUT).open().await;
    add(&store, 3).await;
    let leases = lease(&store, 1).await;
    let token = leases[0].token.clone();
    let mut conn = file.connection();
    let lock = begin(&mut conn);
    let begun = Instant::now();
    let new = [build(draft())];
    let acks = [Ack::new(token.clone())];
    let request = request(QueueName::default(), 1);
    let leases_of = store.capabilities().leases.unwrap();
    let tokens = [token];
    let calls = async {
        tokio::join!(
            store.enqueue(&new),
            store.reserve(&request),
            store.ack(&acks),
            leases_of.extend(&tokens, ttl(TTL)),
        )
    };
    let (enqueued, reserved, acked, extended) = timeout(HANGS, calls).await.expect("an answer");
    assert!(begun.elapsed() >= OP_TIMEOUT && begun.elapsed() < LATEST, "{:?}", begun.elapsed());
    assert_locked(&enqueued.unwrap_err());
    assert_locked(&reserved.unwrap_err());
    assert_locked(&acked.unwrap_err());
    assert_locked(&extended.unwrap_err());
    let jobs = store.list_jobs(&JobFilter::default()).await.unwrap().items;
    assert_eq!(jobs.len(), 3, "nothing was applied");
    lock.commit().unwrap();
    let extended = leases_of.extend(&tokens, ttl(TTL)).await.unwrap();
    assert!(matches!(extended[..], [ExtendOutcome::Extended { .. }]), "{extended:?}");
    complete(&store, leases).await;
    assert_eq!(lease(&store, 9).await.len(), 2, "the refused reserve leased nothing");
    assert_eq!(store.get_job(new[0].id()).await.unwrap(), None);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r10_2_each_call_in_the_queue_has_its_own_time() {
    let file = File::new();
    let store = file.config().op_timeout(OP_TIMEOUT).open().await;
    let mut conn = file.connection();
    let lock = begin(&mut conn);
    let call = || async {
        let begun = Instant::now();
        let error = store.enqueue_one(build(draft())).await.unwrap_err();
        assert_locked(&error);
        begun.elapsed()
    };
    // The later ones of a task begin as their predecessors give up.
    let three = || async { [call().await, call().await, call().await] };
    let calls = join_all((0..50).map(|_| three()));
    for took in timeout(HANGS, calls).await.expect("answers").into_iter().flatten() {
        assert!(took >= OP_TIMEOUT && took < LATEST, "answered after {took:?}");
    }
    drop(lock);
    store.close().await.unwrap();
}

#[tokio::test]
async fn r10_4_close_does_not_wait_for_a_foreign_lock() {
    let file = File::new();
    let store = file.config().op_timeout(Duration::from_secs(600)).open().await;
    let mut conn = file.connection();
    let lock = begin(&mut conn);
    let job = [build(draft())];
    let (enqueued, closed) =
        timeout(Duration::from_secs(5), async { tokio::join!(store.enqueue(&job), store.close()) })
            .await
            .expect("threads are gone within 5 s");
    closed.unwrap();
    assert_eq!(kind_of(enqueued), ErrorKind::Closed);
    drop(lock);
    let store = file.store().await;
    assert_eq!(store.get_job(job[0].id()).await.unwrap(), None, "Closed means not applied");
    store.close().await.unwrap();
}

#[tokio::test]
async fn r10_4_close_lets_a_call_finish_that_waits_for_a_short_lock() {
    let file = File::new();
    let store = file.store().await;
    let mut conn = file.connection();
    let lock = begin(&mut conn);
    let job = [build(draft())];
    let mut both = Box::pin(async { tokio::join!(store.enqueue(&job), store.close()) });
    // Both have been asked for when this is answered.
    let refused = tokio::select! {
        biased;
        answers = &mut both => panic!("answered under a foreign lock: {answers:?}"),
        refused = store.get_job(job[0].id()) => refused,
    };
    assert_eq!(kind_of(refused), ErrorKind::Closed);
    drop(lock);
    let (enqueued, closed) = both.await;
    closed.unwrap();
    assert_eq!(enqueued.unwrap().len(), 1);
}

#[track_caller]
fn assert_locked(error: &Error) {
    assert_eq!(*error.kind(), ErrorKind::Unavailable);
    assert!(error.is_retryable());
    let text = error.to_string();
    assert!(text.contains("write lock") && text.contains("end the long transaction"), "{text}");
}
