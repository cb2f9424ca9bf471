//! Work of other processes wakes idle workers (contract R13.6): each handle is as one of another
//! process, for nothing but the server tells it of what others do.

use std::time::Duration;

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{complete, create, lease, promptly, state, until};
use bytes::Bytes;
use queuekit_conformance::kit::{build, deliveries_of, draft, subscribed};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{Wakeup, Wakeups};
use queuekit_core::{Backend, Client, EventDraft, QueueName, State, SubscriptionDraft};
use queuekit_integration_tests::servers::OwnRedis;
use queuekit_redis::RedisStore;
use queuekit_worker::{Ctx, Worker};
use redis::cmd;
use tokio::sync::mpsc;

/// A worker that is not woken finds work only after this time.
const POLL: Duration = Duration::from_secs(60);

/// A server whose sleepers can be counted, for they are this test's.
async fn stage(test: &str) -> Option<(OwnRedis, RedisStage)> {
    let Some(server) = OwnRedis::settings().start().await else {
        skip(test, "there is no program of Redis");
        return None;
    };
    let stage = RedisStage::own(&server, "").await;
    Some((server, stage))
}

/// What the server says of this, in this section.
async fn told(stage: &RedisStage, section: &str, name: &str) -> String {
    let info: String = stage.ask(cmd("INFO").arg(section)).await;
    let line = info.lines().find(|line| line.starts_with(&format!("{name}:")));
    line.unwrap_or_default().to_owned()
}

/// Waits until this number of handles wait for a marker.
async fn until_asleep(stage: &RedisStage, sleepers: usize) {
    let wanted = format!("blocked_clients:{sleepers}");
    until(&wanted, async || told(stage, "clients", "blocked_clients").await == wanted).await;
}

/// One that has heard of everything up to now.
async fn subscribe(store: &RedisStore) -> Wakeup {
    subscribe_to(store, &QueueName::default()).await
}

async fn subscribe_to(store: &RedisStore, queue: &QueueName) -> Wakeup {
    let wakeup = store.subscribe(std::slice::from_ref(queue)).unwrap();
    // A connection rings when it is there, for what came before.
    promptly("the connection that waits for markers", wakeup.rung()).await;
    wakeup
}

#[tokio::test]
async fn r13_6_a_worker_is_woken_by_an_enqueue_of_another_process() {
    let test = this_test!();
    let Some((_server, stage)) = stage(test).await else { return };
    let (tell, mut told_of) = mpsc::unbounded_channel();
    let client = Client::new(stage.handle("").await);
    let worker = Worker::new(client).poll_interval(POLL).handle_raw("work", {
        move |_: Bytes, ctx: Ctx| {
            tell.send(ctx.id()).unwrap();
            async { queuekit_worker::JobResult::Ok(None) }
        }
    });
    let worker = worker.start().await.unwrap();
    for _ in 0..3 {
        until_asleep(&stage, 1).await;
        // What it has heard of before it has looked at: it does no more, and is not just about to.
        let calls = async || told(&stage, "commandstats", "cmdstat_evalsha").await;
        until("it asks no more", async || {
            let before = calls().await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            calls().await == before
        })
        .await;
        let job = create(&stage.store, &build(draft())).await;
        assert_eq!(promptly("the job runs", told_of.recv()).await, Some(job));
        let done = async || state(&stage.store, job).await == Some(State::Completed);
        until("it is told that it has run", done).await;
    }
    worker.drain(Duration::from_secs(5)).await;
    stage.end().await;
}

#[tokio::test]
async fn r13_6_a_consumer_is_woken_by_an_emit_of_another_process() {
    let test = this_test!();
    let Some((_server, stage)) = stage(test).await else { return };
    let client = Client::new(stage.store.clone());
    for name in ["one", "other"] {
        let wants = subscribed(SubscriptionDraft::new(name, "*"));
        client.consumers().declare(&wants).await.unwrap();
    }
    let stores = [stage.handle("").await, stage.handle("").await];
    let wakeups = [
        subscribe_to(&stores[0], &deliveries_of("one")).await,
        subscribe_to(&stores[1], &deliveries_of("other")).await,
    ];
    until_asleep(&stage, 2).await;
    client.emit(EventDraft::new("e", "1")).await.unwrap();
    for wakeup in wakeups {
        promptly("each consumer is woken", wakeup.rung()).await;
    }
    for store in stores {
        store.close().await.unwrap();
    }
    stage.end().await;
}

/// One marker wakes one sleeper, however many jobs came with it: who finds more than it takes
/// wakes the next.
#[tokio::test]
async fn r13_6_a_full_batch_wakes_the_next_who_sleeps() {
    let test = this_test!();
    let Some((_server, stage)) = stage(test).await else { return };
    let stores = [stage.handle("").await, stage.handle("").await];
    let wakeups = [subscribe(&stores[0]).await, subscribe(&stores[1]).await];
    until_asleep(&stage, 2).await;
    stage.store.enqueue(&[build(draft()), build(draft())]).await.unwrap();
    let first = async {
        tokio::select! {
            () = wakeups[0].rung() => 0,
            () = wakeups[1].rung() => 1,
        }
    };
    let first = promptly("one is woken", first).await;
    let leases = lease(&stores[first], 1).await;
    assert_eq!(leases.len(), 1);
    promptly("the other is woken", wakeups[1 - first].rung()).await;
    let rest = lease(&stores[1 - first], 1).await;
    assert_eq!(rest.len(), 1);
    complete(&stores[first], leases).await;
    complete(&stores[1 - first], rest).await;
    for store in stores {
        store.close().await.unwrap();
    }
    stage.end().await;
}
