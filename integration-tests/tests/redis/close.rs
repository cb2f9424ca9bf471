//! What is left of a handle after its end (contract R10.4).

use std::time::Duration;

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{create, lease, threads, until};
use queuekit_conformance::kit::{TTL, build, draft, kind_of, request, ttl};
use queuekit_conformance::{alone, skip, this_test};
use queuekit_core::capability::{Admin, Leases, Upkeep, Wakeups};
use queuekit_core::{Backend, BackendExt, EnqueueOutcome, ErrorKind, QueueName};
use queuekit_integration_tests::servers::OwnRedis;
use redis::cmd;
use tokio::time::timeout;

/// How many connections there are, but for the one that asks.
async fn connections(stage: &RedisStage) -> usize {
    let list: String = stage.ask(cmd("CLIENT").arg("LIST")).await;
    list.lines().filter(|line| !line.contains("cmd=client")).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r10_4_close_ends_calls_connections_and_the_thread() {
    let test = this_test!();
    if !alone(test) {
        return;
    }
    let Some(server) = OwnRedis::settings().start().await else {
        return skip(test, "there is no Redis server");
    };
    let stage = RedisStage::own(&server, "").await;
    let store = stage.store.clone();
    create(&store, &build(draft())).await;
    let token = [lease(&store, 1).await.remove(0).token];
    store.extend(&token, ttl(TTL)).await.unwrap();
    let wakeup = store.subscribe(&[QueueName::default()]).unwrap();
    until("calls, heartbeats, markers", async || connections(&stage).await >= 3).await;
    let busy = |_| {
        let (store, job) = (store.clone(), build(draft()));
        let call = async move { (job.id(), store.enqueue(std::slice::from_ref(&job)).await) };
        tokio::spawn(call)
    };
    let calls: Vec<_> = (0..50).map(busy).collect();
    // Blocked calls continue while the store is closed.
    let () = stage.ask(cmd("CLIENT").arg("PAUSE").arg(60_000).arg("WRITE")).await;
    let held: Vec<_> = (0..5).map(busy).collect();
    until("they are held up", async || {
        let info: String = stage.ask(cmd("INFO").arg("clients")).await;
        !info.contains("blocked_clients:0")
    })
    .await;
    let both = async { tokio::join!(store.close(), store.close()) };
    let (one, other) = timeout(Duration::from_secs(5), both).await.expect("closed within 5 s");
    one.unwrap();
    other.unwrap();
    for held in held {
        let (_, answer) = timeout(Duration::from_secs(1), held)
            .await
            .expect("the call should end in time")
            .unwrap();
        assert_eq!(kind_of(answer), ErrorKind::Closed);
    }
    timeout(Duration::from_secs(1), wakeup.rung()).await.expect("who sleeps is woken");
    let () = stage.ask(cmd("CLIENT").arg("UNPAUSE")).await;
    until("its connections are gone", async || connections(&stage).await == 0).await;
    if threads("queuekit-redis").is_none() {
        skip(test, "this system does not tell which threads there are");
    }
    until("its thread is gone", async || threads("queuekit-redis").unwrap_or(0) == 0).await;
    store.close().await.unwrap();
    assert_eq!(kind_of(store.enqueue(&[build(draft())]).await), ErrorKind::Closed);
    let reserved = store.reserve(&request(QueueName::default(), 1)).await;
    assert_eq!(kind_of(reserved), ErrorKind::Closed);
    assert_eq!(kind_of(store.all_queues().await), ErrorKind::Closed);
    assert_eq!(kind_of(store.extend(&token, ttl(TTL)).await), ErrorKind::Closed);
    assert_eq!(kind_of(store.cancel(&[token[0].id]).await), ErrorKind::Closed);
    assert_eq!(kind_of(store.prune().await), ErrorKind::Closed);
    assert!(store.subscribe(&[QueueName::default()]).is_err());

    // What was answered holds.
    let store = stage.handle("").await;
    for call in calls {
        let (id, answer) = call.await.unwrap();
        match answer {
            Ok(outcomes) => {
                assert_eq!(outcomes, [EnqueueOutcome::Created { id }]);
                assert!(store.get_job(id).await.unwrap().is_some(), "an acknowledged job is lost");
            }
            Err(error) => assert_eq!(*error.kind(), ErrorKind::Closed, "{error}"),
        }
    }
    // A handle that is dropped lets go by itself, though it waits for markers.
    store.subscribe(&[QueueName::default()]).unwrap();
    drop(store);
    until("its connections are gone", async || connections(&stage).await == 0).await;
    let gone = async || threads("queuekit-redis").is_none_or(|threads| threads == 0);
    until("its thread is gone", gone).await;
}
