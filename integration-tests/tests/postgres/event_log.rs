//! The space of the log of events in Postgres, and its removal (contract R14.6).

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use crate::common::postgres::{PostgresWorld, client, config, of_schema};
use crate::common::store_fixture::{assert_exact, until};
use queuekit_conformance::kit::{DAY, HOUR, MINUTE, deliveries_of};
use queuekit_conformance::{World, kit};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{
    Admin, EmitOutcome, EventFilter, RetryOutcome, Upkeep, UpkeepReport,
};
use queuekit_core::event::EventRetention;
use queuekit_core::queue::{Keep, Retention};
use queuekit_core::{
    Ack, AckOutcome, Backend, Bytes, EventDraft, JobFilter, Lease, NackKind, QueuePatch, State,
    Status, SubscriptionDraft,
};
use queuekit_integration_tests::servers;
use queuekit_postgres::PostgresStore;
use queuekit_postgres::tokio_postgres::Row;

/// The default of lock_timeout.
const PER_WAIT: Duration = Duration::from_millis(100);

/// A store whose clock only the test moves; none where there is no server, and a line on stderr
/// says so.
async fn world(test: &str) -> Option<PostgresWorld> {
    if servers::postgres().is_none() {
        skip(test, "there is no Postgres server");
        return None;
    }
    Some(PostgresWorld::stopped().await)
}

async fn numbers(world: &PostgresWorld, sql: &str) -> Vec<i64> {
    let row = world.client.query_one(&of_schema(sql, world.schema), &[]).await.unwrap();
    (0..row.len()).map(|at| row.get(at)).collect()
}

/// Bytes of payloads that jobs hold, and of data that the log holds.
async fn sizes(world: &PostgresWorld) -> Vec<i64> {
    numbers(world, include_str!("../../sql/postgres_event_sizes.sql")).await
}

async fn days(world: &PostgresWorld) -> i64 {
    numbers(world, include_str!("../../sql/postgres_event_days.sql")).await[0]
}

async fn ids(world: &PostgresWorld) -> i64 {
    numbers(world, include_str!("../../sql/postgres_event_ids.sql")).await[0]
}

fn of(world: &PostgresWorld) -> &dyn World {
    world
}

fn upkeep(world: &PostgresWorld) -> &dyn Upkeep {
    of(world).backend().capabilities().upkeep.expect("the capability Upkeep")
}

fn admin(world: &PostgresWorld) -> &dyn Admin {
    of(world).backend().capabilities().admin.expect("the capability Admin")
}

async fn exact(world: &PostgresWorld) {
    assert_exact(&world.client, world.schema).await;
}

fn large(name: &str) -> EventDraft {
    EventDraft::new("e", name.repeat(5000)).idempotency_key(name.to_owned())
}

/// Upkeep until there is nothing to do.
async fn prune(world: &PostgresWorld) -> u64 {
    let mut changed = 0;
    loop {
        let report = upkeep(world).prune().await.expect("prune");
        changed += report.changed;
        if !report.more {
            return changed;
        }
    }
}

/// R14.6: large data stands once, whatever becomes of its deliveries; small data is copied.
#[tokio::test]
async fn r14_6_large_data_stands_once() {
    let test = this_test!();
    let Some(world) = world(test).await else { return };
    for n in 0..10 {
        of(&world).subscribe(SubscriptionDraft::new(format!("c{n}").as_str(), "*")).await;
    }
    of(&world).emit(EventDraft::new("e", vec![b'x'; 1024])).await;
    assert_eq!(sizes(&world).await, [10 * 1024, 1024]);
    of(&world).emit(EventDraft::new("e", vec![b'x'; 10_000])).await;
    assert_eq!(sizes(&world).await, [10 * 1024, 11_024]);
    let queue = deliveries_of("c0");
    let leases = of(&world).reserve_from(&queue, 2).await;
    assert_eq!(leases.iter().map(|lease| lease.payload.len()).collect::<Vec<_>>(), [1024, 10_000]);
    for lease in &leases {
        of(&world).complete(lease).await;
    }
    assert_eq!(sizes(&world).await, [10 * 1024, 11_024]);
    let shown: usize = of(&world).deliveries("c0").await.iter().map(|job| job.payload.len()).sum();
    assert_eq!(shown, 11_024);
    exact(&world).await;
}

/// Deliveries of one event in every state; the lease of the one that runs.
async fn in_every_state(world: &PostgresWorld) -> Lease {
    let names = ["waits", "runs", "dead", "cancelled", "completed"];
    for name in names {
        of(world).subscribe(SubscriptionDraft::new(name, "*").max_attempts(1)).await;
        // What has ended is to outlive its event.
        let forever =
            QueuePatch::default().retention(Retention::ALL.done(Keep::ALL).dead(Keep::ALL));
        of(world).configure(&deliveries_of(name), forever).await;
    }
    of(world).emit(large("one")).await;
    let lease = async |name: &str| of(world).reserve_one_from(&deliveries_of(name)).await;
    of(world).complete(&lease("completed").await).await;
    let _ = of(world).nack(&lease("dead").await.token, NackKind::Retry, Duration::ZERO).await;
    let cancelled = of(world).deliveries("cancelled").await.remove(0).id;
    let _ = admin(world).cancel(&[cancelled]).await.expect("cancel");
    of(world).reserve_one_from(&deliveries_of("runs")).await
}

/// The deliveries that are left once the event is gone.
async fn assert_kept(world: &PostgresWorld, lease: &Lease) {
    let data = Bytes::from("one".repeat(5000));
    assert!(of(world).events(EventFilter::default()).await.is_empty(), "the event went");
    assert_eq!(ids(world).await, 0, "its key is free");
    let job = async |name: &str| of(world).deliveries(name).await.remove(0);
    for (name, state) in
        [("waits", State::Pending), ("runs", State::Running), ("dead", State::Dead)]
    {
        let job = job(name).await;
        assert!(job.payload == data && job.state == state, "{name}: {:?}", job.state);
    }
    assert!(job("completed").await.payload.is_empty());
    let cancelled = job("cancelled").await;
    let (retried, dead) = (admin(world), job("dead").await.id);
    let outcomes = retried.retry(&[cancelled.id, dead]).await.expect("retry");
    assert_eq!(outcomes, [RetryOutcome::Conflict, RetryOutcome::Retried]);
    assert_eq!(job("cancelled").await.state, State::Cancelled);
    let waited = of(world).reserve_one_from(&deliveries_of("waits")).await;
    let again = of(world).reserve_one_from(&deliveries_of("dead")).await;
    assert!(waited.payload == data && again.payload == data);
    of(world).complete(lease).await;
    assert!(job("runs").await.payload == data);
    let emitted = of(world).client().emit_all([large("one")]).await.expect("emit");
    assert!(matches!(emitted.as_slice(), [EmitOutcome::Emitted { .. }]), "{emitted:?}");
    exact(world).await;
}

/// R14.6: a day beyond the age is dropped as a whole, after copies were made where they are needed.
#[tokio::test]
async fn r14_6_a_day_that_goes_leaves_copies() {
    let test = this_test!();
    let Some(world) = world(test).await else { return };
    let short = EventRetention::new(HOUR, 1000).expect("a retention");
    of(&world).event_log().set_retention(short).await.expect("set_retention");
    let lease = in_every_state(&world).await;
    let before = days(&world).await;
    assert_eq!(prune(&world).await, 0, "it is of today");
    // The lease stays: nothing looks for expired leases.
    world.advance(DAY + HOUR).await;
    assert!(prune(&world).await >= 1);
    assert!(days(&world).await <= before, "a day went, and one was added");
    assert_kept(&world, &lease).await;
}

/// R14.6: events beyond the number are removed one by one, after copies were made too.
#[tokio::test]
async fn r14_6_events_beyond_the_number_leave_copies() {
    let test = this_test!();
    let Some(world) = world(test).await else { return };
    let lease = in_every_state(&world).await;
    // The last is counted, too: another one pushes it out.
    let one = EventRetention::new(DAY, 1).expect("a retention");
    of(&world).event_log().set_retention(one).await.expect("set_retention");
    for name in ["waits", "runs", "dead", "cancelled", "completed"] {
        of(&world).consumers().remove(&kit::consumer(name)).await.expect("remove");
    }
    of(&world).emit(EventDraft::new("last", "")).await;
    world.advance(2 * MINUTE).await;
    assert_eq!(prune(&world).await, 1);
    let left = of(&world).events(EventFilter::default()).await;
    assert_eq!(left.iter().map(|event| event.kind.as_str()).collect::<Vec<_>>(), ["last"]);
    of(&world).emit(EventDraft::new("later", "")).await;
    world.advance(DAY + HOUR).await;
    world.advance(DAY).await;
    prune(&world).await;
    assert_kept(&world, &lease).await;
}

/// R14.6: upkeep waits for no transaction that settles a delivery, takes nothing from it, and says
/// that it is in the way.
/// Guard: SKIP LOCKED in events_copy.sql, and that upkeep does not try again what is held.
#[tokio::test]
async fn r14_6_an_open_ack_loses_nothing_and_holds_up_no_upkeep() {
    let test = this_test!();
    let Some(world) = world(test).await else { return };
    let short = EventRetention::new(HOUR, 1000).expect("a retention");
    of(&world).event_log().set_retention(short).await.expect("set_retention");
    let lease = in_every_state(&world).await;
    let store = world.handle().await;
    let mut app = client(world.url()).await;
    world.advance(DAY + HOUR).await;
    let tx = app.transaction().await.unwrap();
    let acks = [Ack::new(lease.token.clone())];
    assert_eq!(store.ack_in(&tx, &acks).await.unwrap(), [AckOutcome::Acked]);
    let report = step(&world).await;
    assert!(report.held && !report.more, "an open ack needs the event: {report:?}");
    assert_eq!(of(&world).events(EventFilter::default()).await.len(), 1, "it is kept");
    tx.rollback().await.unwrap();
    prune(&world).await;
    assert_kept(&world, &lease).await;
    store.close().await.unwrap();
}

/// R14.6: of events beyond the number, upkeep leaves the one that an open ack needs, and removes
/// the others.
/// Guard: NOT EXISTS in events_remove.sql.
#[tokio::test]
async fn r14_6_an_open_ack_keeps_only_its_own_event() {
    let test = this_test!();
    let Some(world) = world(test).await else { return };
    let one = EventRetention::new(DAY, 1).expect("a retention");
    of(&world).event_log().set_retention(one).await.expect("set_retention");
    of(&world).subscribe(SubscriptionDraft::new("c", "*")).await;
    for name in ["one", "two", "three", "last"] {
        of(&world).emit(large(name)).await;
    }
    let lease = of(&world).reserve_one_from(&deliveries_of("c")).await;
    assert_eq!(lease.payload, "one".repeat(5000));
    world.advance(2 * MINUTE).await;
    let store = world.handle().await;
    let mut app = client(world.url()).await;
    let tx = app.transaction().await.unwrap();
    let acks = [Ack::new(lease.token.clone())];
    assert_eq!(store.ack_in(&tx, &acks).await.unwrap(), [AckOutcome::Acked]);
    let report = upkeep(&world).prune().await.expect("prune");
    assert!(report.held && report.changed == 2, "two and three go: {report:?}");
    tx.rollback().await.unwrap();
    let report = upkeep(&world).prune().await.expect("prune");
    assert!(!report.held && report.changed == 1, "one goes: {report:?}");
    let data = of(&world).delivered("c").await;
    let names = ["two", "three", "last", "one"].map(|name| name.repeat(5000));
    assert!(names.iter().all(|name| data.contains(name)), "all have copies");
    exact(&world).await;
    store.close().await.unwrap();
}

/// R13.7: whatever an open transaction has done, upkeep continues, and returns whether it left
/// something because of it.
/// Guard: that upkeep does not try again what is held, and does all the rest of its work.
#[tokio::test]
async fn r13_7_no_open_transaction_holds_up_upkeep() {
    let test = this_test!();
    for work in [Open::Enqueue, Open::Emit, Open::Ack, Open::AckOfADelivery] {
        let Some(world) = world(test).await else { return };
        let (plain, delivery) = (with_old_things(&world).await, deliveries_of("waits"));
        let delivery = of(&world).reserve_one_from(&delivery).await;
        let store = world.handle().await;
        let mut app = client(world.url()).await;
        world.advance(DAY + HOUR).await;
        let tx = app.transaction().await.unwrap();
        match work {
            Open::Enqueue => drop(store.enqueue_in(&tx, &[kit::build(kit::unique("k"))]).await),
            Open::Emit => {
                let event = large("two").build().unwrap();
                drop(store.emit_in(&tx, &[event]).await.unwrap());
            }
            Open::Ack => drop(store.ack_in(&tx, &[Ack::new(plain.token)]).await.unwrap()),
            Open::AckOfADelivery => {
                drop(store.ack_in(&tx, &[Ack::new(delivery.token)]).await.unwrap());
            }
        }
        let mut report = step(&world).await;
        while report.more {
            report = step(&world).await;
        }
        let dead = of(&world).list(JobFilter::default().status(Status::Dead)).await;
        assert!(dead.is_empty(), "{work:?}: it held up what has nothing to do with it");
        let left = all_days(&world).await;
        tx.rollback().await.unwrap();
        let gone = async || !upkeep(&world).prune().await.expect("prune").held;
        until("nothing is held", gone).await;
        prune(&world).await;
        let less = all_days(&world).await < left;
        assert_eq!(report.held, less, "{work:?}: what was left was told");
        store.close().await.unwrap();
    }
}

/// What an open transaction has done.
#[derive(Clone, Copy, Debug)]
enum Open {
    Enqueue,
    Emit,
    Ack,
    AckOfADelivery,
}

/// A completed job, a dead one and a day of the log, all of which may go in an hour; the lease of a
/// job that runs.
async fn with_old_things(world: &PostgresWorld) -> Lease {
    let short = EventRetention::new(HOUR, 1000).expect("a retention");
    of(world).event_log().set_retention(short).await.expect("set_retention");
    let hour = Keep::ALL.max_age(HOUR);
    let retention = QueuePatch::default().retention(Retention::ALL.done(hour).dead(hour));
    of(world).configure(&kit::default_queue(), retention).await;
    of(world).subscribe(SubscriptionDraft::new("waits", "*")).await;
    of(world).emit(large("one")).await;
    for max_attempts in [2, 1, 2] {
        of(world).enqueue(kit::draft().max_attempts(max_attempts)).await;
    }
    let done = of(world).reserve_one().await;
    of(world).complete(&done).await;
    let dead = of(world).reserve_one().await;
    let _ = of(world).nack(&dead.token, NackKind::Retry, Duration::ZERO).await;
    of(world).reserve_one().await
}

async fn all_days(world: &PostgresWorld) -> i64 {
    numbers(world, include_str!("../../sql/postgres_days.sql")).await[0]
}

/// A step of upkeep beside an open transaction. Upkeep waits once for the day of the log, which it
/// removes as a whole, and no longer than lock_timeout. The server
/// reports how long statements wait for locks: how long they compute depends on the machine.
async fn step(world: &PostgresWorld) -> UpkeepReport {
    let limit = PER_WAIT + Duration::from_secs(1);
    let mut waits = HashMap::new();
    let mut step = pin!(upkeep(world).prune());
    let report = loop {
        tokio::select! {
            report = &mut step => break report.expect("prune"),
            seen = lock_waits(world) => waits.extend(seen),
        }
    };
    let waited: Duration = waits.values().sum();
    assert!(waits.len() <= 1 && waited < limit, "a step of upkeep waits for locks: {waits:?}");
    report
}

/// Those that last at present, by process and begin.
async fn lock_waits(world: &PostgresWorld) -> Vec<((i32, i64), Duration)> {
    tokio::time::sleep(PER_WAIT / 10).await;
    let sql = include_str!("../../sql/postgres_lock_waits.sql");
    let rows = world.client.query(sql, &[]).await.unwrap();
    let waited = |row: &Row| Duration::from_micros(row.get::<_, i64>("waited").unsigned_abs());
    rows.iter().map(|row| ((row.get("pid"), row.get("since")), waited(row))).collect()
}

/// R14.1: if the day of an event does not exist yet, the emit creates it, also in a transaction of
/// the application's.
#[tokio::test]
async fn r14_1_an_event_of_a_day_that_is_missing_makes_the_day() {
    let test = this_test!();
    let Some(world) = world(test).await else { return };
    of(&world).subscribe(SubscriptionDraft::new("c", "*")).await;
    let before = days(&world).await;
    world.advance(30 * DAY).await;
    of(&world).emit(EventDraft::new("e", "1")).await;
    assert!(days(&world).await > before);
    world.advance(30 * DAY).await;
    let store = PostgresStore::connect_unchecked(config(world.url())).await.expect("a handle");
    let mut app = client(world.url()).await;
    let tx = app.transaction().await.unwrap();
    let event = EventDraft::new("e", "2").build().unwrap();
    let _ = store.emit_in(&tx, &[event]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(of(&world).delivered("c").await, ["1", "2"]);
    exact(&world).await;
}
