//! Another connection holds the file's only write lock (contract R10.2, R10.4).

use std::time::{Duration, Instant};

use crate::common::files::{File, Open, add, begin, complete, lease};
use futures_util::future::join_all;
use queuekit_conformance::kit::{TTL, build, draft, kind_of, request, ttl};
use queuekit_conformance::time_limit::within;
use queuekit_core::capability::ExtendOutcome;
use queuekit_core::{Ack, Backend, BackendExt, Client, Error, ErrorKind, JobFilter, QueueName};
use tokio::time::{sleep, timeout};

const OP_TIMEOUT: Duration = Duration::from_millis(300);
/// By which everything must have been answered (contract R10.2).
const LATEST: Duration = Duration::from_millis(1300);

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
    let new = [build(draft())];
    let acks = [Ack::new(token.clone())];
    let request = request(QueueName::default(), 1);
    let leases_of = store.capabilities().leases.unwrap();
    let tokens = [token];
    let calls = || async {
        let begun = Instant::now();
        let answers = tokio::join!(
            store.enqueue(&new),
            store.reserve(&request),
            store.ack(&acks),
            leases_of.extend(&tokens, ttl(TTL)),
        );
        assert!(begun.elapsed() >= OP_TIMEOUT, "they gave up after {:?}", begun.elapsed());
        answers
    };
    let answers = within("four calls at once", LATEST, calls).await;
    let (enqueued, reserved, acked, extended) = answers;
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
        assert!(begun.elapsed() >= OP_TIMEOUT, "it gave up after {:?}", begun.elapsed());
    };
    // The later ones of a task begin as their predecessors give up.
    let three = || async {
        for _ in 0..3 {
            within("a call in the queue", LATEST, call).await;
        }
    };
    join_all((0..50).map(|_| three())).await;
    drop(lock);
    store.close().await.unwrap();
}

/// A client's call waits for the one before it, and not for a limit of its own again.
/// Guard: `give_up_behind` of the client's merging.
#[tokio::test]
async fn r10_2_a_call_merged_behind_a_lock_has_its_own_time() {
    let op_timeout = Duration::from_millis(1500);
    let file = File::new();
    let store = file.config().op_timeout(op_timeout).open().await;
    let client = Client::new(store.clone());
    let mut conn = file.connection();
    let lock = begin(&mut conn);
    let pauses = [0, 100, 200].map(Duration::from_millis);
    let calls = pauses.map(|pause| {
        let client = &client;
        async move {
            sleep(pause).await;
            let limit = op_timeout + Duration::from_secs(1);
            let call = || async { client.enqueue(draft()).await };
            let error = within("a call behind others", limit, call).await.unwrap_err();
            assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        }
    });
    join_all(calls).await;
    lock.commit().unwrap();
    client.enqueue(draft()).await.unwrap();
    assert_eq!(lease(&store, 9).await.len(), 1, "nothing else was stored");
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
