//! What is refused when a store is opened, and who is warned (contract R11.2).

use std::time::Duration;

use crate::common::redis_store_fixture::RedisStage;
use crate::common::store_fixture::{complete, create, lease, promptly};
use queuekit_conformance::kit::{build, draft, unique};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{ErrorGroups, Migrations};
use queuekit_core::{
    Backend, BackendExt, DeadLetter, ErrorKind, Nack, NackKind, PageSize, QueueName,
};
use queuekit_integration_tests::servers::{Mode, OwnRedis, Proxy};
use queuekit_redis::{RedisConfig, RedisStore};
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
async fn r11_2_a_newer_version_is_refused_unless_it_says_that_this_build_works_with_it() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let () = stage.ask(cmd("SET").arg(format!("{}:version", stage.prefix)).arg(9)).await;
    let marked = cmd("SET").arg(format!("{}:version", stage.prefix)).arg("10 9").to_owned();
    let () = stage.ask(&marked).await;
    let opened = RedisStore::connect_url(&stage.url("migrate=off")).await;
    opened.expect("it works with this build, it says").close().await.unwrap();
    let () = stage.ask(cmd("SET").arg(format!("{}:version", stage.prefix)).arg("10 10")).await;
    for settings in ["", "allow_volatile=on", "migrate=off"] {
        let opened = RedisStore::connect_url(&stage.url(settings)).await;
        let error = opened.expect_err("a newer version");
        assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
        assert!(error.to_string().contains("use a newer queuekit"), "{error}");
    }
    stage.end().await;
}

/// R11.2: data of version 1 is brought to this version: what it lacks is shown as absent.
/// Guard: the length of an entry says what it has.
#[tokio::test]
async fn r11_2_what_version_1_stored_is_migrated() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let id = create(&stage.store, &build(draft())).await;
    let token = lease(&stage.store, 1).await.remove(0).token;
    let nack = Nack::new(token, NackKind::Retry, "no", Duration::ZERO);
    let _ = stage.store.nack_one(nack).await.unwrap();
    // Version 1 had no instant of the start, 11 digits after NUL.
    let (notes, field) = (stage.key("default", "notes"), [id.as_bytes(), &b"e"[..]].concat());
    let entry: Vec<u8> = stage.ask(cmd("HGET").arg(&notes).arg(&field)).await;
    let old = &entry[8..entry.len() - 12];
    let old = [format!("{:08}", old.len()).as_bytes(), old].concat();
    let () = stage.ask(cmd("HSET").arg(&notes).arg(&field).arg(old)).await;
    let version = format!("{}:version", stage.prefix);
    let () = stage.ask(cmd("SET").arg(&version).arg("1 1")).await;

    let opened = RedisStore::connect_url(&stage.url("migrate=off")).await;
    let error = opened.expect_err("an older version");
    assert!(error.to_string().contains("queuekit migrate up"), "{error}");
    let store = stage.handle("").await;
    assert_eq!(stage.ask::<String>(cmd("GET").arg(&version)).await, "9 9");
    let errors = store.get_job(id).await.unwrap().unwrap().errors;
    assert_eq!((errors.len(), errors[0].error.as_str()), (1, "no"));
    assert_eq!(errors[0].started_at, None);
    stage.end().await;
}

/// R11.2: a group of version 7, which had no hours, is kept, and begins to count them.
/// Guard: what follows the head of a record may be missing.
#[tokio::test]
async fn r11_2_an_error_group_of_version_7_begins_to_count_hours() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let die = async || {
        let id = create(&stage.store, &build(draft())).await;
        stage.store.dead_letter_one(DeadLetter::of_job(id, "boom")).await.unwrap();
    };
    let counts = async || {
        let groups = stage.store.list_error_groups(&[QueueName::default()], PageSize::MAX).await;
        let group = groups.unwrap().remove(0);
        (group.deaths, group.recent.in_7_days())
    };
    die().await;
    assert_eq!(counts().await, (1, 1));
    let groups = stage.key("default", "groups");
    let field: Vec<Vec<u8>> = stage.ask(cmd("HKEYS").arg(&groups)).await;
    let record: Vec<u8> = stage.ask(cmd("HGET").arg(&groups).arg(&field[0])).await;
    let tail = b"1;1";
    assert!(record.ends_with(tail), "{record:?}");
    let head = &record[..record.len() - tail.len()];
    let () = stage.ask(cmd("HSET").arg(&groups).arg(&field[0]).arg(head)).await;
    assert_eq!(counts().await, (1, 0));
    die().await;
    assert_eq!(counts().await, (2, 1));
    stage.end().await;
}

/// R11.2: the queues of version 2, which kept them in a set, are listed after the migration, also
/// if another process migrates at the same time.
/// Guard: the set is sorted only if it is one.
#[tokio::test]
async fn r11_2_the_queues_of_version_2_are_listed_after_the_migration() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let names = ["b", "c", "a"];
    for name in names {
        create(&stage.store, &build(draft().queue(name))).await;
    }
    let (registry, version) =
        (format!("{}:queues", stage.prefix), format!("{}:version", stage.prefix));
    for _ in 0..2 {
        let () = stage.ask(cmd("DEL").arg(&registry)).await;
        let () = stage.ask(cmd("SADD").arg(&registry).arg(&names)).await;
        let () = stage.ask(cmd("SET").arg(&version).arg("2 2")).await;
        let (one, other) = tokio::join!(stage.handle(""), stage.handle(""));
        assert_eq!(stage.ask::<String>(cmd("GET").arg(&version)).await, "9 9");
        for store in [one, other] {
            let queues = store.all_queues().await.unwrap();
            assert_eq!(
                queues.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(),
                ["a", "b", "c"]
            );
            store.up().await.unwrap();
        }
    }
    stage.end().await;
}

/// R11.2: a migration leaves a version that another program has raised meanwhile.
/// Guard: the version is set only if it is still the one that was read.
#[tokio::test]
async fn r11_2_a_version_that_was_raised_during_a_migration_stays() {
    let test = this_test!();
    let Some(stage) = RedisStage::open(test).await else { return };
    let version = format!("{}:version", stage.prefix);
    let proxy = Proxy::start(&stage.server).await;
    let config = RedisConfig::from_url(&proxy.url(&stage.url(""))).unwrap();
    let store = RedisStore::connect_unchecked(config).await.unwrap();
    for stored in ["2 2", ""] {
        let () = stage.ask(cmd("DEL").arg(&version)).await;
        if !stored.is_empty() {
            let () = stage.ask(cmd("SET").arg(&version).arg(stored)).await;
        }
        store.status().await.unwrap();
        proxy.set(Mode::Slow(Duration::from_millis(500)));
        // The answers to reading the version and to sorting the queues; the version is set next.
        let answers = if stored.is_empty() { "$-1\r\n" } else { "$3\r\n2 2\r\n" }.len() + 5;
        let from = proxy.counts().to_client;
        let raise = async {
            proxy.until(|counts| counts.to_client >= from + answers as u64).await;
            let () = stage.ask(cmd("SET").arg(&version).arg("10 10")).await;
        };
        let (migrated, ()) = tokio::join!(store.up(), raise);
        proxy.set(Mode::Pass);
        assert_eq!(stage.ask::<String>(cmd("GET").arg(&version)).await, "10 10", "from `{stored}`");
        let error = migrated.expect_err("a newer version");
        assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
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
