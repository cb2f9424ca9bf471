//! A file of an older schema that has jobs is brought up to date, and nothing of it is lost.

use std::time::Duration;

use crate::common::files::{File, assert_exact, complete, connection, figures, lease};
use crate::common::upgrade::{add_events, add_schedule};
use queuekit_conformance::kit::{
    HOUR, build, carrying, consumer, deliveries_of, draft, keyed, request, unique,
};
use queuekit_core::capability::{Admin, EventFilter, Leases, Migrations, Outbox, Report};
use queuekit_core::{
    Backend, Client, DeadLetter, Job, JobFilter, JobId, Lease, Nack, NackKind, PageSize, Priority,
    Progress, QueueName, State,
};
use queuekit_sqlite::{SqliteStore, rusqlite::Connection};

/// The first versions that have schedules, and events, and that count failed attempts.
const SCHEDULES: u32 = 2;
const EVENTS: u32 = 3;
const HISTORY: u32 = 9;

/// From each schema that was published. What an older build would have stored is what this one
/// stores, without the tables and columns that came later.
#[tokio::test]
async fn r11_2_a_file_of_an_older_schema_keeps_its_jobs() {
    let newer = File::new();
    let store = newer.store().await;
    let running = fill(&store).await;
    let states: Vec<State> = all_jobs(&store).await.iter().map(|job| job.state).collect();
    for state in State::ALL {
        assert!(states.contains(&state), "no job is {state:?}");
    }
    let wanted = store.status().await.unwrap().wanted;
    let sql: String = SqliteStore::migrations().into_iter().map(|one| one.sql).collect();
    for version in 1..wanted {
        match version {
            SCHEDULES => add_schedule(&store).await,
            EVENTS => add_events(&store).await,
            _ => {}
        }
        let jobs = all_jobs(&store).await;
        let older = File::new();
        make_older(&older.connection(), version, &sql, &newer);
        let upgraded = older.store().await;
        assert_eq!(upgraded.status().await.unwrap().stored, wanted);
        assert_exact(&connection(&older.path));
        assert_eq!(all_jobs(&upgraded).await, as_of(version, &jobs), "from version {version}");
        let mut totals = figures(&store).await.totals;
        if version < HISTORY {
            // What failed was not counted.
            totals.failed = 0;
        }
        assert_eq!(figures(&upgraded).await.totals, totals, "from version {version}");
        let client = Client::new(upgraded.clone());
        if version >= SCHEDULES {
            let schedule = client.schedules().get("nightly").await.unwrap();
            assert!(schedule.is_some(), "from version {version}");
        }
        serve(&upgraded, &running).await;
        if version >= EVENTS {
            let events = upgraded.list_events(&EventFilter::default()).await.unwrap().events;
            assert_eq!(events.len(), 2, "from version {version}");
            let known = client.consumers().get(&consumer("c")).await.unwrap();
            assert!(known.is_some(), "from version {version}");
        }
        assert_exact(&connection(&older.path));
        upgraded.close().await.unwrap();
    }
    store.close().await.unwrap();
}

/// Jobs in every state, and one that runs.
async fn fill(store: &SqliteStore) -> Lease {
    let large = "x".repeat(20_000);
    let first = [build(draft()), build(draft()), build(draft().max_attempts(1)), build(draft())];
    store.enqueue(&first).await.unwrap();
    let mut leases = lease(store, 4).await;
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
    let waiting = [
        build(carrying(large)),
        build(draft().delay(HOUR)),
        build(unique("key")),
        build(keyed("a")),
        build(keyed("a")),
        build(keyed("b")),
        build(draft().priority(Priority::HIGH)),
    ];
    store.enqueue(&waiting).await.unwrap();
    let (dead_lettered, cancelled) = (build(draft()), build(draft()));
    let ids = [dead_lettered.id(), cancelled.id()];
    store.enqueue(&[dead_lettered, cancelled]).await.unwrap();
    let _ = store.dead_letter(&[DeadLetter::of_job(ids[0], "dead_lettered")]).await.unwrap();
    let _ = store.cancel(&ids[1..]).await.unwrap();
    running
}

/// The jobs without what this version did not store.
fn as_of(version: u32, jobs: &[Job]) -> Vec<Job> {
    let mut jobs = jobs.to_vec();
    if version < 7 {
        for failure in jobs.iter_mut().flat_map(|job| &mut job.errors) {
            failure.started_at = None;
        }
    }
    jobs
}

/// What runs ends, what waits is served, and the dead come back.
async fn serve(store: &SqliteStore, running: &Lease) {
    complete(store, vec![running.clone()]).await;
    let dead: Vec<JobId> =
        all_jobs(store).await.iter().filter(|job| job.state == State::Dead).map(|j| j.id).collect();
    let _ = store.retry(&dead).await.unwrap();
    for queue in [QueueName::default(), deliveries_of("c")] {
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
}

/// A file with the migrations up to this version, and the rows of the newer one.
fn make_older(conn: &Connection, version: u32, sql: &str, newer: &File) {
    let next = match version {
        1 => include_str!("../../../queuekit-sqlite/migrations/0002_schedules.sql"),
        2 => include_str!("../../../queuekit-sqlite/migrations/0003_events.sql"),
        3 => include_str!("../../../queuekit-sqlite/migrations/0004_totals.sql"),
        4 => include_str!("../../../queuekit-sqlite/migrations/0005_audit.sql"),
        5 => include_str!("../../../queuekit-sqlite/migrations/0006_cancels.sql"),
        6 => include_str!("../../../queuekit-sqlite/migrations/0007_releases.sql"),
        7 => include_str!("../../../queuekit-sqlite/migrations/0008_error_groups.sql"),
        8 => include_str!("../../../queuekit-sqlite/migrations/0009_history.sql"),
        9 => include_str!("../../../queuekit-sqlite/migrations/0010_orders.sql"),
        10 => include_str!("../../../queuekit-sqlite/migrations/0011_pauses.sql"),
        _ => panic!("schema version {version} is new: say here which migration comes after it"),
    };
    let (before, _) = sql.split_once(next).expect("the migration is one of all");
    conn.pragma_update(None, "journal_mode", "wal").unwrap();
    conn.execute_batch(before).unwrap();
    let path = newer.path.display().to_string();
    conn.execute(include_str!("../../sql/sqlite_attach.sql"), [path]).unwrap();
    let mut tables = conn.prepare(include_str!("../../sql/sqlite_shared_columns.sql")).unwrap();
    let tables = tables.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    let tables: Vec<(String, String)> = tables.map(Result::unwrap).collect();
    for (table, columns) in tables {
        let copy = include_str!("../../sql/sqlite_copy_table.sql");
        let copy = copy.replace("the_table", &table).replace("the_columns", &columns);
        conn.execute_batch(&copy).unwrap();
    }
}

/// Without the time that leases have left: the one lease there is is used in the end.
async fn all_jobs(store: &SqliteStore) -> Vec<Job> {
    let page = store.list_jobs(&JobFilter::default().limit(PageSize::MAX.get())).await.unwrap();
    assert!(page.next.is_none(), "they are few");
    let mut jobs = Vec::new();
    for job in page.items {
        let mut job = store.get_job(job.id).await.unwrap().unwrap();
        job.lease_expires_in = None;
        jobs.push(job);
    }
    jobs
}
