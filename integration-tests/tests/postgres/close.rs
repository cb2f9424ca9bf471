//! A handle after its close (contract R10.4).

use std::time::Duration;

use crate::common::store_fixture::{Stage, create, lease, threads, until};
use queuekit_conformance::kit::{TTL, build, draft, kind_of, request, ttl, unique};
use queuekit_conformance::{alone, skip, this_test};
use queuekit_core::capability::{Admin, Leases, Upkeep, Wakeups};
use queuekit_core::{Backend, BackendExt, EnqueueOutcome, ErrorKind, QueueName};
use tokio::task::JoinHandle;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_4_close_ends_calls_connections_and_the_thread() {
    let test = this_test!();
    if !alone(test) {
        return;
    }
    // A call that waits for its turn longer than op_timeout allows would end before the close.
    let settings = "pool_size=4&op_timeout_ms=60000";
    let Some(stage) = Stage::with(test, settings).await else { return };
    let store = stage.store.clone();
    create(&store, &build(draft())).await;
    let token = [lease(&store, 1).await.remove(0).token];
    store.extend(&token, ttl(TTL)).await.unwrap();
    assert!(stage.connections("%").await >= 3, "one each for calls, heartbeats, notifications");
    // Blocked calls continue while the store is closed, and others begin and end. There are many,
    // because each could mistake a cut connection for a time limit that has passed.
    let mut app = stage.client().await;
    let tx = app.transaction().await.unwrap();
    let _ = stage.store.enqueue_in(&tx, &[build(unique("held"))]).await.unwrap();
    let busy = |_| {
        let (store, job) = (store.clone(), build(draft()));
        let call = async move { (job.id(), store.enqueue(std::slice::from_ref(&job)).await) };
        tokio::spawn(call)
    };
    let calls: Vec<_> = (0..50).map(busy).collect();
    let waits = |_| {
        let store = store.clone();
        tokio::spawn(async move { store.enqueue(&[build(unique("held"))]).await })
    };
    let held: Vec<_> = (0..256).map(waits).collect();
    stage.until_blocked(1).await;
    until("a call has ended", async || calls.iter().any(JoinHandle::is_finished)).await;
    let both = async { tokio::join!(store.close(), store.close()) };
    let (one, other) = timeout(Duration::from_secs(5), both).await.expect("closed within 5 s");
    one.unwrap();
    other.unwrap();
    for call in held {
        let left = timeout(Duration::from_secs(1), call).await.expect("no call outlives it");
        let error = left.unwrap().expect_err("the transaction is still open");
        assert_eq!(*error.kind(), ErrorKind::Closed, "{error:?}");
    }
    tx.rollback().await.unwrap();
    until("its connections are gone", async || stage.connections("%").await == 0).await;
    let thread_is_gone = async || threads("queuekit-postgr").unwrap_or(0) == 0;
    if threads("queuekit-postgr").is_none() {
        skip(test, "this system does not tell which threads there are");
    }
    until("its thread is gone", thread_is_gone).await;
    store.close().await.unwrap();
    assert_eq!(kind_of(store.enqueue(&[build(draft())]).await), ErrorKind::Closed);
    let reserved = store.reserve(&request(QueueName::default(), 1)).await;
    assert_eq!(kind_of(reserved), ErrorKind::Closed);
    assert_eq!(kind_of(store.all_queues().await), ErrorKind::Closed);
    assert_eq!(kind_of(store.extend(&token, ttl(TTL)).await), ErrorKind::Closed);
    assert_eq!(kind_of(store.cancel(&[token[0].id]).await), ErrorKind::Closed);
    assert_eq!(kind_of(store.prune().await), ErrorKind::Closed);
    assert!(store.subscribe(&[QueueName::default()]).is_err());

    // What was answered holds, and what was refused has not happened.
    let store = stage.handle("pool_size=2").await;
    let mut acknowledged = 0;
    for call in calls {
        let (id, answer) = call.await.unwrap();
        let stored = store.get_job(id).await.unwrap().is_some();
        match answer {
            Ok(outcomes) => {
                assert_eq!(outcomes, [EnqueueOutcome::Created { id }]);
                assert!(stored, "every acknowledged job should be stored");
                acknowledged += 1;
            }
            Err(error) => {
                assert_eq!(*error.kind(), ErrorKind::Closed, "{error}");
                // The close can cut a connection whose call is just taking effect.
                let is_unknown = error.to_string().contains("unknown");
                assert!(is_unknown || !stored, "no refused job should be stored: {error}");
            }
        }
    }
    assert!(acknowledged > 0, "calls that were under way may end");
    // A handle that is dropped lets go by itself.
    drop(store);
    until("its connections are gone", async || stage.connections("%").await == 0).await;
    until("its thread is gone", thread_is_gone).await;
    stage.database.drop().await;
}
