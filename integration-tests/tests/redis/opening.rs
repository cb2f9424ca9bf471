//! What is refused when a store is opened, and who is warned (contract R11.2).

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{complete, create, lease, promptly};
use queuekit_conformance::kit::{build, draft, unique};
use queuekit_conformance::{skip, this_test};
use queuekit_core::{Backend, ErrorKind};
use queuekit_integration_tests::servers::OwnRedis;
use queuekit_redis::RedisStore;
use redis::cmd;

#[tokio::test]
async fn r11_2_a_server_that_may_lose_jobs_is_refused_unless_that_is_accepted() {
    let test = this_test!();
    let Some(server) = OwnRedis::settings().start().await else {
        return skip(test, "there is no program of Redis");
    };
    let stage = RedisStage::own(&server, "").await;
    let settings = [
        ("appendonly", "no", "yes", "set `appendonly yes`"),
        ("maxmemory-policy", "allkeys-lru", "noeviction", "set `maxmemory-policy noeviction`"),
        ("maxmemory-policy", "volatile-ttl", "noeviction", "allow_volatile=on"),
    ];
    for (name, bad, good, remedy) in settings {
        let set = async |value: &str| {
            let () = stage.ask(cmd("CONFIG").arg("SET").arg(name).arg(value)).await;
        };
        set(bad).await;
        let opened = RedisStore::connect_url(&stage.url("")).await;
        let error = opened.expect_err(name);
        assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
        assert!(error.to_string().contains(remedy), "{error}");
        let accepted = stage.handle("allow_volatile=on").await;
        create(&accepted, &build(draft())).await;
        set(good).await;
        stage.handle("").await;
    }
}

#[tokio::test]
async fn r11_2_what_a_newer_build_stored_is_always_refused() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let () = stage.ask(cmd("SET").arg(format!("{}:version", stage.prefix)).arg(2)).await;
    let marked = cmd("SET").arg(format!("{}:version", stage.prefix)).arg("2 1").to_owned();
    let () = stage.ask(&marked).await;
    let opened = RedisStore::connect_url(&stage.url("migrate=off")).await;
    opened.expect("it works with this build, it says").close().await.unwrap();
    let () = stage.ask(cmd("SET").arg(format!("{}:version", stage.prefix)).arg("2 2")).await;
    for settings in ["", "allow_volatile=on", "migrate=off"] {
        let opened = RedisStore::connect_url(&stage.url(settings)).await;
        let error = opened.expect_err("a newer version");
        assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("use a newer queuekit"), "{error}");
    }
    stage.end().await;
}

#[tokio::test]
async fn r11_2_a_user_who_may_not_ask_for_settings_is_warned_and_served() {
    let test = this_test!();
    let Some(server) = OwnRedis::settings().start().await else {
        return skip(test, "there is no program of Redis");
    };
    let stage = RedisStage::own(&server, "").await;
    let mut user = cmd("ACL");
    user.arg(&["SETUSER", "app", "on", ">secret", "~own:*", "+@all", "-@admin", "-info"]);
    let () = stage.ask(&user).await;
    let url = stage.url("").replace("redis://", "redis://app:secret@");
    let store = RedisStore::connect_url(&url).await.unwrap();
    let inspect = store.capabilities().inspect.unwrap();
    let findings = inspect.findings().await.unwrap();
    assert!(findings.iter().any(|finding| finding.remedy.contains("INFO")), "{findings:?}");
    create(&store, &build(unique("u").partition_key("k"))).await;
    complete(&store, lease(&store, 1).await).await;
    // It learns enough of the server to drain it when it is full.
    create(&store, &build(draft())).await;
    let () = stage.ask(cmd("CONFIG").arg("SET").arg("maxmemory").arg(1)).await;
    complete(&store, lease(&store, 1).await).await;
    stage.assert_exact().await;
}

#[tokio::test]
async fn r10_1_a_single_server_is_no_cluster_and_that_is_told_at_once() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let url = stage.url("").replace("redis://", "redis-cluster://");
    let opened = promptly("the answer", RedisStore::connect_url(&url)).await;
    let error = opened.expect_err("it is no Cluster");
    assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
    assert!(error.to_string().contains("open a single server as redis:"), "{error}");
    stage.end().await;
}
