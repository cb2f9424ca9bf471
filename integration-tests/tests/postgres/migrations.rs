//! Opening a Postgres store: its schema, and servers that are refused (contract R11.2).

use std::time::Duration;

use crate::common::postgres::of_schema;
use crate::common::store_fixture::{Stage, client, complete, create, database, lease, state, url};
use futures_util::future::{join_all, try_join_all};
use queuekit_conformance::kit::{assert_invalid, build, draft, keyed, kind_of};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{
    Admin, Durability, Inspect, Migrations, Severity, Upkeep, Wakeups,
};
use queuekit_core::queue::QueuePatch;
use queuekit_core::{Backend, BackendExt, ErrorKind, QueueName, State};
use queuekit_integration_tests::servers::OwnServer;
use queuekit_postgres::{PostgresConfig, PostgresStore};
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_handles_that_make_the_schema_at_once_all_open() {
    let test = this_test!();
    for _ in 0..5 {
        let Some(database) = database(test).await else { return };
        let url = url(&database.url(), "ten", "pool_size=2&listen=off");
        let open = || {
            let url = url.clone();
            tokio::spawn(async move { PostgresStore::connect_url(&url).await })
        };
        let stores = join_all((0..10).map(|_| open())).await;
        let stores = stores.into_iter().map(|store| store.unwrap().expect("each opens"));
        let stores: Vec<PostgresStore> = stores.collect();
        for store in &stores {
            let status = store.status().await.unwrap();
            assert_eq!(status.stored, status.wanted);
            create(store, &build(draft())).await;
        }
        assert_eq!(lease(&stores[0], 100).await.len(), 10, "one schema");
        for store in stores {
            store.close().await.unwrap();
        }
        database.drop().await;
    }
}

/// A process that slept over its partitions of history; all handles make the missing ones.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn days_of_history_that_are_missing_are_made_by_whoever_needs_them() {
    let test = this_test!();
    let Some(stage) = Stage::with(test, "pool_size=10").await else { return };
    let app = stage.client().await;
    let of = |sql: &str| of_schema(sql, stage.store.schema());
    app.batch_execute(&of(include_str!("../../sql/postgres_clock.sql"))).await.unwrap();
    for _ in 0..3 {
        for _ in 0..10 {
            create(&stage.store, &build(draft())).await;
        }
        let month = 30 * 24 * 3_600_000_i64;
        let jump = of(include_str!("../../sql/postgres_clock_move.sql"));
        app.execute(&jump, &[&month]).await.unwrap();
        let acks = join_all(lease(&stage.store, 10).await.into_iter().map(|lease| {
            let store = stage.store.clone();
            tokio::spawn(async move { complete(&store, vec![lease]).await })
        }));
        assert!(acks.await.into_iter().all(|acked| acked.is_ok()), "a job cannot be completed");
        try_join_all((0..4).map(|_| stage.store.prune())).await.unwrap();
    }
    stage.assert_exact().await;
    stage.end().await;
}

#[tokio::test]
async fn r11_2_a_newer_schema_is_refused() {
    let test = this_test!();
    let Some(stage) = Stage::open(test).await else { return };
    let newer = of_schema(include_str!("../../sql/postgres_newer.sql"), stage.store.schema());
    stage.client().await.batch_execute(&newer).await.unwrap();
    for compatible_from in [1, 99] {
        let marked = include_str!("../../sql/postgres_compatible_from.sql");
        let marked = of_schema(marked, stage.store.schema());
        stage.client().await.execute(&marked, &[&compatible_from]).await.unwrap();
        let opened = PostgresStore::connect_url(&stage.url("")).await;
        assert_eq!(opened.is_ok(), compatible_from == 1, "{opened:?}");
    }
    for settings in ["", "migrate=off", "allow_volatile=on"] {
        let error = PostgresStore::connect_url(&stage.url(settings)).await.unwrap_err();
        assert_eq!(*error.kind(), ErrorKind::Unsupported, "{error}");
        let text = error.to_string();
        assert!(text.contains("version 99") && text.contains("use a newer"), "{text}");
    }
    // `doctor` and `migrate` can look at it, and change nothing.
    let config = crate::common::store_fixture::config(&stage.url("migrate=off"));
    let looks = PostgresStore::connect_unchecked(config).await.unwrap();
    assert_eq!(looks.status().await.unwrap().stored, 99);
    assert_eq!(kind_of(looks.up().await), ErrorKind::Unsupported);
    looks.close().await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn without_migrations_an_empty_database_is_refused_with_the_command() {
    let test = this_test!();
    let Some(database) = database(test).await else { return };
    let url = url(&database.url(), "off", "migrate=off&schema=jobs_of_ours");
    let error = PostgresStore::connect_url(&url).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::NotFound, "{error}");
    assert!(error.to_string().contains("`queuekit migrate up`"), "{error}");
    let config = crate::common::store_fixture::config(&url);
    let migrates = PostgresStore::connect_unchecked(config).await.unwrap();
    // What the application's own tool would run is all there is to run.
    let sql: String = migrates.pending(0).into_iter().map(|one| one.sql).collect();
    client(&database.url()).await.batch_execute(&sql).await.unwrap();
    let status = migrates.up().await.unwrap();
    assert_eq!(status.stored, status.wanted);
    migrates.close().await.unwrap();
    let store = PostgresStore::connect_url(&url).await.unwrap();
    assert_eq!(store.schema(), "jobs_of_ours");
    create(&store, &build(draft())).await;
    store.close().await.unwrap();
    database.drop().await;
}

#[tokio::test]
async fn two_schemas_in_one_database_do_not_see_each_other() {
    let test = this_test!();
    let Some(stage) = Stage::with(test, "schema=one").await else { return };
    let (one, two) = (&stage.store, stage.handle("schema=two").await);
    let wakeup = two.subscribe(&[QueueName::default()]).unwrap();
    let jobs = [build(draft()), build(keyed("k").idempotency_key("u"))];
    one.enqueue(&jobs).await.unwrap();
    assert_eq!(state(&two, jobs[0].id()).await, None);
    assert_eq!(lease(&two, 10).await.len(), 0);
    assert!(two.all_queues().await.unwrap().is_empty());
    let patch = QueuePatch::default().paused(true);
    two.configure(&QueueName::default(), &patch).await.unwrap();
    let outcomes = two.enqueue(&jobs).await.unwrap();
    assert!(outcomes.iter().all(|outcome| outcome.is_created()), "{outcomes:?}");
    let leases = lease(one, 10).await;
    assert_eq!(leases.len(), 2, "paused is the other one's queue");
    complete(one, leases).await;
    assert_eq!(state(one, jobs[0].id()).await, Some(State::Completed));
    assert_eq!(state(&two, jobs[0].id()).await, Some(State::Pending));
    // Rung by its own jobs; by no others.
    wakeup.rung().await;
    while timeout(Duration::from_millis(300), wakeup.rung()).await.is_ok() {}
    create(one, &build(draft())).await;
    let rung = timeout(Duration::from_millis(300), wakeup.rung()).await;
    assert!(rung.is_err(), "a wake-up of the other schema");
    for name in ["", "Upper", "pg_catalog", "a b", "a\"b", "a;b", &"x".repeat(49)] {
        let config = PostgresConfig::from_url("postgres://localhost/app").unwrap();
        assert_invalid(config.schema(name), "schema");
    }
    two.close().await.unwrap();
    stage.end().await;
}

#[tokio::test]
async fn tables_of_the_application_are_never_touched() {
    let test = this_test!();
    let Some(database) = database(test).await else { return };
    let app = client(&database.url()).await;
    app.batch_execute(include_str!("../../sql/postgres_in_schema.sql")).await.unwrap();
    let look = async || {
        let rows = app.query(include_str!("../../sql/postgres_not_ours.sql"), &[]).await.unwrap();
        rows.iter().map(|row| row.get(0)).collect::<Vec<String>>()
    };
    let before = look().await;
    assert!(before.len() > 6, "{before:?}");
    let store = PostgresStore::connect_url(&url(&database.url(), "app", "")).await.unwrap();
    create(&store, &build(draft())).await;
    let leases = lease(&store, 10).await;
    complete(&store, leases).await;
    store.prune().await.unwrap();
    store.repair().await.unwrap();
    assert!(store.remove_queue(&QueueName::default(), true).await.unwrap());
    store.close().await.unwrap();
    assert_eq!(look().await, before);
    database.drop().await;
}

#[tokio::test]
async fn a_role_without_rights_is_told_which_it_needs() {
    let test = this_test!();
    let Some(database) = database(test).await else { return };
    let role = database.name().replace("queuekit_test", "role");
    let sql = include_str!("../../sql/postgres_role.sql").replace("{role}", &role);
    client(&database.url()).await.batch_execute(&sql).await.unwrap();
    let as_role = database.url().replace("postgres@", &format!("{role}@"));
    let error = PostgresStore::connect_url(&url(&as_role, "role", "")).await.unwrap_err();
    let text = error.to_string();
    assert!(text.contains("42501") && text.contains("docs/postgres.md"), "{text}");
    database.drop().await;
}

/// Each refusal of R11.2 with what can be done about it.
#[tokio::test]
async fn r11_2_a_server_that_may_lose_jobs_is_refused() {
    let test = this_test!();
    let Some(server) = OwnServer::settings().set("fsync", "off").start().await else {
        return skip(test, "there are no programs of Postgres");
    };
    let error = PostgresStore::connect_url(&server.url()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    let text = error.to_string();
    assert!(text.contains("fsync") && text.contains("allow_volatile=on"), "{text}");
    // `doctor` says so, too, though there is no schema yet.
    let config = PostgresConfig::from_url(&server.url()).unwrap();
    let looks = PostgresStore::connect_unchecked(config).await.unwrap();
    assert_eq!(looks.durability().await.unwrap(), Durability::ProcessKill);
    assert!(looks.facts().await.unwrap().iter().any(|fact| fact.name == "fsync"));
    assert_eq!(errors_found(&looks).await, ["fsync"]);
    looks.close().await.unwrap();
    let config = PostgresConfig::from_url(&server.url()).unwrap().allow_volatile(true);
    let store = PostgresStore::connect(config).await.unwrap();
    create(&store, &build(draft())).await;
    store.close().await.unwrap();
}

/// The first words of what puts jobs at risk.
async fn errors_found(store: &PostgresStore) -> Vec<String> {
    let findings = store.findings().await.unwrap().into_iter();
    let errors = findings.filter(|finding| finding.severity == Severity::Error);
    errors.map(|error| error.message.split(' ').next().unwrap().to_owned()).collect()
}

/// What some services set when a disk is full.
#[tokio::test]
async fn r11_2_a_database_that_takes_no_writes_is_refused() {
    let test = this_test!();
    let Some(server) = OwnServer::settings().set("fsync", "on").start().await else {
        return skip(test, "there are no programs of Postgres");
    };
    PostgresStore::connect_url(&server.url()).await.unwrap().close().await.unwrap();
    let read_only = "ALTER DATABASE postgres SET default_transaction_read_only = on";
    client(&server.url()).await.batch_execute(read_only).await.unwrap();
    let error = PostgresStore::connect_url(&server.url()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("default_transaction_read_only is on"), "{error}");
    let config = PostgresConfig::from_url(&server.url()).unwrap().allow_volatile(true);
    let store = PostgresStore::connect(config.op_timeout(Duration::from_secs(1))).await.unwrap();
    assert_eq!(errors_found(&store).await, ["default_transaction_read_only"]);
    let error = store.enqueue(&[build(draft())]).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("accepts no writes"), "{error}");
    store.close().await.unwrap();
}

#[tokio::test]
async fn r11_2_a_standby_is_refused() {
    let test = this_test!();
    let standby = OwnServer::settings().file("standby.signal", "");
    let Some(server) = standby.start().await else {
        return skip(test, "there are no programs of Postgres");
    };
    let error = PostgresStore::connect_url(&server.url()).await.unwrap_err();
    assert_eq!(*error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.to_string().contains("standby"), "{error}");
}
