//! A Redis store that waits for replicas, and servers that want some (contract R11.1).

use std::time::Duration;

use crate::common::redis_nodes::Hung;
use crate::common::redis_store_fixture::{RedisStage, command};
use crate::common::store_fixture::{create, lease, promptly, until};
use queuekit_conformance::kit::{build, draft, kind_of};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{Admin, Leases};
use queuekit_core::{Backend, BackendExt, ErrorKind, JobFilter, PageSize};
use queuekit_integration_tests::servers::{Mode, OwnRedis, Proxy};
use queuekit_redis::RedisStore;
use redis::cmd;

/// A master and its replica; none where there is no program, and a line on stderr says so.
async fn pair(test: &str) -> Option<(OwnRedis, OwnRedis)> {
    let Some(master) = OwnRedis::settings().start().await else {
        skip(test, "there is no program of Redis");
        return None;
    };
    let of = format!("127.0.0.1 {}", master.port());
    let replica = OwnRedis::settings().set("replicaof", of).start().await.expect("a second one");
    until("the replica follows", async || {
        let info: String = command(&master.url(), cmd("INFO").arg("replication")).await;
        info.contains("state=online")
    })
    .await;
    Some((master, replica))
}

#[tokio::test]
async fn r11_1_an_enqueue_that_is_made_again_is_waited_for_too() {
    let test = this_test!();
    let Some((master, replica)) = pair(test).await else { return };
    let stage = RedisStage::own(&master, "").await;
    let proxy = Proxy::start(&master.url()).await;
    let settings = "wait_replicas=1&wait_timeout_ms=100";
    let store = RedisStore::connect_url(&proxy.url(&stage.url(settings))).await.unwrap();
    create(&store, &build(draft())).await;
    let hung = Hung::new(&replica);
    // Its answer is lost, and with it the connection that has written the job.
    proxy.set(Mode::LoseReply { after: 0 });
    let job = build(draft());
    let stored = store.enqueue(std::slice::from_ref(&job)).await;
    assert_eq!(kind_of(stored), ErrorKind::Indeterminate, "no replica has it");
    assert_eq!(proxy.mode(), Mode::Pass, "an answer was lost");
    drop(hung);
    let again = store.enqueue(&[job.repeated()]).await.unwrap();
    assert!(!again[0].is_created(), "{again:?}");
    store.close().await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn r10_2_who_waits_for_replicas_holds_up_no_other() {
    let test = this_test!();
    let Some((master, replica)) = pair(test).await else { return };
    let stage = RedisStage::own(&master, "wait_replicas=1&wait_timeout_ms=5000").await;
    create(&stage.store, &build(draft())).await;
    let _hung = Hung::new(&replica);
    let store = stage.store.clone();
    let waits = tokio::spawn(async move { store.enqueue(&[build(draft())]).await });
    until("the job is stored", async || {
        stage.store.list_jobs(&JobFilter::default()).await.unwrap().items.len() == 2
    })
    .await;
    assert_eq!(promptly("a reserve", lease(&stage.store, 10)).await.len(), 2);
    assert!(!waits.is_finished(), "it waits for the replica");
    drop(waits);
    stage.end().await;
}

#[tokio::test]
async fn r10_2_reads_go_on_where_nothing_may_be_written() {
    let test = this_test!();
    let Some(server) = OwnRedis::settings().start().await else {
        return skip(test, "there is no program of Redis");
    };
    let stage = RedisStage::own(&server, "").await;
    let id = create(&stage.store, &build(draft())).await;
    let set = |replicas: u8| {
        cmd("CONFIG").arg("SET").arg("min-replicas-to-write").arg(replicas).to_owned()
    };
    let () = stage.ask(&set(1)).await;
    let stored = tokio::time::timeout(Duration::from_secs(1), create_another(&stage)).await;
    assert!(stored.is_err(), "nothing may be written");
    assert!(stage.store.get_job(id).await.unwrap().is_some());
    assert_eq!(stage.store.list_jobs(&JobFilter::default()).await.unwrap().items.len(), 1);
    assert_eq!(stage.store.all_queues().await.unwrap().len(), 1);
    assert!(stage.store.why(id).await.unwrap().is_some());
    assert!(stage.store.list_workers(None, PageSize::MAX).await.unwrap().workers.is_empty());
    let () = stage.ask(&set(0)).await;
    create_another(&stage).await;
    stage.end().await;
}

async fn create_another(stage: &RedisStage) {
    create(&stage.store, &build(draft())).await;
}
