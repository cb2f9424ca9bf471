//! Servers without room store nothing more, and their queues can be drained (contract R10.1).

use std::time::Duration;

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{complete, create, lease, state, until};
use crate::faults::server;
use queuekit_conformance::kit::{TTL, build, draft, keyed, kind_of, ttl, unique};
use queuekit_conformance::this_test;
use queuekit_core::capability::{ExtendOutcome, Inspect, Leases, Severity};
use queuekit_core::{Backend, ErrorKind, JobDraft, Nack, NackKind, NewJob, State};
use queuekit_integration_tests::servers::OwnRedis;
use redis::cmd;

/// An enqueue is refused and stores nothing.
async fn refused_as_full(stage: &RedisStage, job: NewJob) {
    let before = stage.raw_dump().await;
    let kind = kind_of(stage.store.enqueue(&[build(draft()), job]).await);
    assert_eq!(kind, ErrorKind::StorageFull);
    assert_eq!(stage.raw_dump().await, before, "a refused call should store nothing");
}

#[tokio::test]
async fn r10_1_a_full_server_stores_nothing_more_and_is_drained() {
    let test = this_test!();
    let Some(server) = server(test, OwnRedis::settings()).await else { return };
    let stage = RedisStage::own(&server, "").await;
    let store = &stage.store;
    let large = || JobDraft::new("work", "x".repeat(200_000)).max_attempts(9);
    create(store, &build(large().partition_key("k").idempotency_key("u"))).await;
    let info: String = stage.ask(cmd("INFO").arg("memory")).await;
    let used = info.lines().find_map(|line| line.strip_prefix("used_memory:")).unwrap();
    let most = used.trim().parse::<u64>().unwrap() + 6_000_000;
    let () = stage.ask(cmd("CONFIG").arg("SET").arg("maxmemory").arg(most)).await;
    let mut stored = 1;
    let full = loop {
        match store.enqueue(&[build(large().partition_key("k"))]).await {
            Ok(_) => stored += 1,
            Err(error) => break error,
        }
        assert!(stored < 100, "it is never full");
    };
    assert_eq!(*full.kind(), ErrorKind::StorageFull, "{full}");
    // What calls took for their time is given back, and a small job might have room in it.
    let () = stage.ask(cmd("CONFIG").arg("SET").arg("maxmemory").arg(most - 1_000_000)).await;
    refused_as_full(&stage, build(large())).await;
    refused_as_full(&stage, build(keyed("k").queue("new"))).await;
    refused_as_full(&stage, build(unique("new"))).await;
    store.check_writes().await.expect("what is stored can be worked off");
    let findings = store.findings().await.unwrap();
    let full = findings.iter().find(|finding| finding.message.contains("memory is full"));
    assert_eq!(full.expect("it is full").severity, Severity::Error, "{findings:?}");
    let mut done = 0;
    while let Some(first) = lease(store, 1).await.pop() {
        let again = [Nack::new(first.token.clone(), NackKind::Retry, "no", Duration::ZERO)];
        let alive = ExtendOutcome::Extended { ttl: TTL, cancel_requested: false };
        assert_eq!(store.extend(&[first.token], ttl(TTL)).await.unwrap(), [alive]);
        store.nack(&again).await.unwrap();
        let leases = lease(store, 1).await;
        let id = leases[0].token.id;
        complete(store, leases).await;
        done += 1;
        if done < stored {
            refused_as_full(&stage, build(large())).await;
        }
        // What was done is done; with it goes what it took.
        if done == stored {
            break;
        }
        assert_eq!(state(store, id).await, Some(State::Completed));
    }
    assert_eq!(done, stored, "everything was served");
    let jobs = crate::common::store_fixture::all_jobs(store).await;
    for job in jobs {
        assert!(store.delete_job(job.id, false).await.unwrap());
    }
    create(store, &build(large())).await;
    stage.assert_exact().await;
}

/// R10.2: a server that cannot save what it has is full: nothing is stored until it can.
/// Guard: MISCONF in the store's table of errors.
#[tokio::test]
async fn r10_2_a_server_that_cannot_write_its_disk_is_full() {
    let test = this_test!();
    let settings = OwnRedis::settings().set("save", "3600 1");
    let Some(server) = server(test, settings).await else { return };
    let stage = RedisStage::own(&server, "").await;
    create(&stage.store, &build(draft())).await;
    let directory: Vec<String> = stage.ask(cmd("CONFIG").arg("GET").arg("dir")).await;
    // A snapshot cannot take the place of a directory.
    let in_the_way = std::path::Path::new(&directory[1]).join("dump.rdb/in-the-way");
    std::fs::create_dir_all(&in_the_way).unwrap();
    let saved = async |how: &str| {
        let () = stage.ask(cmd("BGSAVE").arg("SCHEDULE")).await;
        let status = format!("rdb_last_bgsave_status:{how}");
        until(how, async || {
            let info: String = stage.ask(cmd("INFO").arg("persistence")).await;
            info.contains(&status)
        })
        .await;
    };
    saved("err").await;
    refused_as_full(&stage, build(keyed("k"))).await;
    let error = stage.store.check_writes().await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::StorageFull, "{error}");
    std::fs::remove_dir_all(in_the_way.parent().unwrap()).unwrap();
    saved("ok").await;
    stage.store.check_writes().await.expect("it can save again");
    create(&stage.store, &build(draft())).await;
    assert_eq!(lease(&stage.store, 10).await.len(), 2);
    stage.assert_exact().await;
}
