//! A schema of an older version that has jobs is brought up to date, and nothing of it is lost; and
//! one that is a version newer is served.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::postgres::of_schema;
use crate::common::store_fixture::{
    Stage, all_jobs, assert_exact, client, complete, config, request_for, url,
};
use crate::common::upgrade::{add_events, add_schedule};
use queuekit_conformance::kit::{
    HOUR, build, carrying, consumer, deliveries_of, draft, keyed, request, unique,
};
use queuekit_conformance::this_test;
use queuekit_core::capability::{
    Admin, ErrorGroups, EventFilter, Leases, Migrations, Outbox, Report,
};
use queuekit_core::queue::{Order, QueuePatch, Totals};
use queuekit_core::{
    Backend, BackendExt, Client, DeadLetter, ErrorGroup, Job, JobId, Lease, Nack, NackKind,
    PageSize, Priority, Progress, QueueName, State,
};
use queuekit_postgres::PostgresStore;

/// The first versions that have schedules, and events; the last whose programs marked the jobs of
/// a fair queue that have no partition key.
const SCHEDULES: u32 = 3;
const EVENTS: u32 = 4;
const MARKED: u32 = 5;
const ERROR_GROUPS: u32 = 10;
/// The first whose completed jobs keep their bodies where they were.
const ENDED: u32 = 18;

/// From each version of the schema. What an older build would have stored is what this one stores,
/// without the tables and columns that came later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_2_a_schema_of_an_older_version_keeps_its_jobs() {
    let Some(stage) = Stage::with(this_test!(), "schema=newer&pool_size=2").await else { return };
    let running = fill(&stage.store).await;
    let states: Vec<State> = all_jobs(&stage.store).await.iter().map(|job| job.state).collect();
    for state in State::ALL {
        assert!(states.contains(&state), "no job is {state:?}");
    }
    let wanted = stage.store.status().await.unwrap().wanted;
    for version in 1..wanted {
        match version {
            SCHEDULES => add_schedule(&stage.store).await,
            EVENTS => add_events(&stage.store).await,
            _ => {}
        }
        let schema = format!("older_{version}");
        make_older(&stage, version, &schema).await;
        let older = stage.handle(&format!("schema={schema}&pool_size=2")).await;
        assert_eq!(older.status().await.unwrap().stored, wanted);
        let look = client(&stage.database.url()).await;
        assert_exact(&look, &schema).await;
        assert_eq!(shown(&older).await, shown(&stage.store).await, "from version {version}");
        let mut wanted = totals(&stage.store).await;
        if version < ERROR_GROUPS {
            // What failed was not counted.
            wanted.values_mut().for_each(|totals| totals.failed = 0);
        }
        assert_eq!(totals(&older).await, wanted, "from version {version}");
        if version >= ERROR_GROUPS {
            assert_eq!(errors(&older).await, errors(&stage.store).await, "from version {version}");
        }
        if version >= SCHEDULES {
            let schedule = Client::new(older.clone()).schedules().get("nightly").await.unwrap();
            assert!(schedule.is_some(), "from version {version}");
        }
        serve(&older, &running).await;
        assert_exact(&look, &schema).await;
        older.close().await.unwrap();
    }
    stage.end().await;
}

/// A program works with a schema that the next version has made, if that version says so.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn r11_2_a_schema_one_version_newer_is_served() {
    let Some(stage) = Stage::with(this_test!(), "schema=newer&pool_size=2").await else { return };
    let newer = of_schema(include_str!("../../sql/postgres_one_version_newer.sql"), "newer");
    stage.client().await.batch_execute(&newer).await.unwrap();
    for settings in ["schema=newer&pool_size=2", "schema=newer&pool_size=2&migrate=off"] {
        let store = stage.handle(settings).await;
        let status = store.status().await.unwrap();
        assert_eq!(status.stored, status.wanted + 1);
        let running = fill(&store).await;
        add_schedule(&store).await;
        add_events(&store).await;
        serve(&store, &running).await;
        stage.assert_exact().await;
        for queue in store.all_queues().await.unwrap() {
            assert!(store.remove_queue(&queue.name, true).await.unwrap());
        }
        store.close().await.unwrap();
    }
    stage.end().await;
}

fn fair() -> QueueName {
    QueueName::new("fair").unwrap()
}

/// Jobs in every state, and one that runs.
async fn fill(store: &PostgresStore) -> Lease {
    let first = [build(draft()), build(draft()), build(draft().max_attempts(1)), build(draft())];
    store.enqueue(&first).await.unwrap();
    // Longer than the test takes on a busy machine: an expired lease shows another status.
    let mut leases = store.reserve(&request_for(HOUR, 4)).await.unwrap().leases;
    let running = leases.pop().unwrap();
    let report = Report::new(
        running.token.clone(),
        Some(Progress::new(0.5, "half way")),
        vec!["a line".to_owned()],
    );
    let _ = store.report(&[report]).await.unwrap();
    let dead = leases.pop().unwrap();
    let fails = |lease: Lease| Nack::new(lease.token, NackKind::Retry, "no", Duration::ZERO);
    let _ = store.nack(&[fails(dead), fails(leases.pop().unwrap())]).await.unwrap();
    complete(store, leases).await;
    store.configure(&fair(), &QueuePatch::default().order(Order::Fair)).await.unwrap();
    let waiting = [
        build(carrying("x".repeat(20_000))),
        build(draft().delay(HOUR)),
        build(unique("key")),
        build(keyed("a")),
        build(keyed("a")),
        build(keyed("b")),
        build(draft().priority(Priority::HIGH)),
        build(draft().queue("fair")),
        build(keyed("a").queue("fair")),
    ];
    store.enqueue(&waiting).await.unwrap();
    let (dead_lettered, cancelled) = (build(draft()), build(draft()));
    let ids = [dead_lettered.id(), cancelled.id()];
    store.enqueue(&[dead_lettered, cancelled]).await.unwrap();
    let _ = store.dead_letter(&[DeadLetter::of_job(ids[0], "dead_lettered")]).await.unwrap();
    let _ = store.cancel(&ids[1..]).await.unwrap();
    running
}

/// What runs ends, what waits is served, and the dead come back.
async fn serve(store: &PostgresStore, running: &Lease) {
    complete(store, vec![running.clone()]).await;
    let jobs = all_jobs(store).await;
    let dead: Vec<JobId> =
        jobs.iter().filter(|job| job.state == State::Dead).map(|job| job.id).collect();
    assert_eq!(dead.len(), 2);
    let _ = store.retry(&dead).await.unwrap();
    for queue in [QueueName::default(), fair(), deliveries_of("c")] {
        loop {
            let leases = store.reserve(&request(queue.clone(), 100)).await.unwrap().leases;
            if leases.is_empty() {
                break;
            }
            assert!(leases.iter().all(|lease| !lease.payload.is_empty()), "{leases:?}");
            complete(store, leases).await;
        }
    }
    let left = all_jobs(store).await.into_iter().filter(|job| !job.state.is_terminal());
    assert_eq!(left.count(), 1, "all but the one that is due in an hour");
    let again = store.enqueue(&[build(unique("key"))]).await.unwrap();
    assert!(!again[0].is_created(), "its key is taken: {again:?}");
    let events = store.list_events(&EventFilter::default()).await.unwrap().events;
    if !events.is_empty() {
        let known = Client::new(store.clone()).consumers().get(&consumer("c")).await.unwrap();
        assert!(known.is_some());
    }
}

/// A schema with the migrations up to this version, and the rows of the newer one.
async fn make_older(stage: &Stage, version: u32, schema: &str) {
    let settings = format!("schema={schema}&migrate=off");
    let looks = config(&url(&stage.database.url(), "makes", &settings));
    let looks = PostgresStore::connect_unchecked(looks).await.unwrap();
    let app = stage.client().await;
    for migration in looks.pending(0).into_iter().filter(|one| one.version <= version) {
        app.batch_execute(&migration.sql).await.unwrap();
    }
    looks.close().await.unwrap();
    let run = async |sql: &str| {
        let sql = sql.replace("{older}", schema).replace("{newer}", "newer");
        app.batch_execute(&of_schema(&sql, schema)).await.unwrap();
    };
    run(include_str!("../../sql/postgres_copied_days.sql")).await;
    if version >= EVENTS {
        run(include_str!("../../sql/postgres_copied_event_days.sql")).await;
    }
    run(include_str!("../../sql/postgres_copy_schema.sql")).await;
    if version < ENDED {
        run(include_str!("../../sql/postgres_done_of_version_17.sql")).await;
    }
    if version <= MARKED {
        run(include_str!("../../sql/postgres_fair_of_version_5.sql")).await;
    }
}

/// All jobs, without the time that leases have left: the one lease there is is used in the end.
async fn shown(store: &PostgresStore) -> Vec<Job> {
    let mut jobs = Vec::new();
    for job in all_jobs(store).await {
        let mut job = store.get_job(job.id).await.unwrap().unwrap();
        job.lease_expires_in = None;
        jobs.push(job);
    }
    assert!(jobs.len() < PageSize::MAX.get(), "they are few");
    jobs
}

async fn totals(store: &PostgresStore) -> BTreeMap<QueueName, Totals> {
    let queues = store.all_queues().await.unwrap();
    queues.into_iter().map(|queue| (queue.name, queue.totals)).collect()
}

/// Error groups: their failures and deaths, and how many errors are recent.
async fn errors(store: &PostgresStore) -> Vec<(String, u64, u64, u64)> {
    let groups = store.list_error_groups(&[QueueName::default()], PageSize::MAX).await.unwrap();
    assert!(!groups.is_empty(), "jobs have failed");
    let counts = |group: ErrorGroup| {
        let signature = group.key.signature.to_string();
        (signature, group.failures, group.deaths, group.recent.in_7_days())
    };
    let mut counts: Vec<_> = groups.into_iter().map(counts).collect();
    counts.sort_unstable();
    counts
}
