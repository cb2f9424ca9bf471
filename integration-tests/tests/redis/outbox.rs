//! Events in Redis: data that is stored once stays as long as a delivery needs it, and nothing is
//! half stored (contract R14.1, R14.6).

use std::time::{Duration, Instant};

use crate::common::redis::{RedisWorld, config};
use crate::common::redis_clock::Passes;
use crate::common::redis_store_fixture::{assert_exact, command};
use futures_util::poll;
use queuekit_conformance::World;
use queuekit_conformance::kit::{DAY, MINUTE, consumer, deliveries_of, subscribed};
use queuekit_conformance::{skip, this_test};
use queuekit_core::capability::{Emission, EmitOutcome};
use queuekit_core::event::{EVENT, EventRetention, EventSettings, Replay, ReplayFrom};
use queuekit_core::limits::{DELIVERIES_PER_CALL, SUBSCRIPTIONS};
use queuekit_core::{EventDraft, EventId, Job, JobId, Limits, State, SubscriptionDraft, Timestamp};
use queuekit_integration_tests::servers;
use redis::{Cmd, FromRedisValue, cmd};

/// What of the log is about its events.
const OF_EVENTS: [&str; 5] = ["order", "records", "data", "keys", "deliveries"];

/// A store whose clock the test moves, and its keys.
struct Stage {
    world: RedisWorld,
    server: String,
    prefix: String,
}

impl Stage {
    /// None where there is no server; a line on stderr says so.
    async fn open(test: &str, consumers: &[&str]) -> Option<Self> {
        let Some(server) = servers::redis() else {
            skip(test, "there is no Redis server");
            return None;
        };
        // Each consumer has a queue, and there are as many as stores allow.
        let config = config().limits(Limits::default());
        let prefix = config.prefix_for_tests().to_owned();
        let world = RedisWorld::open(config, Passes::No).await;
        let stage = Self { world, server: server.url().to_owned(), prefix };
        for consumer in consumers {
            let wants = SubscriptionDraft::new(*consumer, "*").max_attempts(1);
            stage.world().subscribe(wants).await;
        }
        Some(stage)
    }

    fn world(&self) -> &dyn World {
        &self.world
    }

    fn key(&self, part: &str) -> String {
        format!("{}:{{events}}:{part}", self.prefix)
    }

    async fn ask<T: FromRedisValue>(&self, ask: &Cmd) -> T {
        command(&self.server, ask).await
    }

    /// Bytes of memory of all keys of events.
    async fn memory(&self) -> usize {
        let keys: Vec<String> = self.ask(cmd("KEYS").arg(self.key("*"))).await;
        let mut all = 0;
        for key in keys {
            all +=
                self.ask::<usize>(cmd("MEMORY").arg("USAGE").arg(key).arg("SAMPLES").arg(0)).await;
        }
        all
    }

    /// How many events are in the log, and in all its parts.
    async fn events(&self) -> usize {
        assert_exact(&self.server, &self.prefix).await;
        self.ask(cmd("ZCARD").arg(self.key("order"))).await
    }

    /// So long passes, and upkeep comes by.
    async fn later(&self, by: Duration) {
        self.world.advance(by).await;
        self.world().prune().await;
    }

    /// The delivery of an event to a consumer.
    async fn delivery(&self, consumer: &str, event: EventId) -> Job {
        let deliveries = self.world().deliveries(consumer).await;
        let of_event = |job: &Job| job.metadata.get(EVENT) == Some(&event.to_string());
        deliveries.into_iter().find(of_event).expect("the delivery")
    }

    async fn end(self) {
        assert_exact(&self.server, &self.prefix).await;
        self.world.backend().close().await.unwrap();
        crate::common::redis_store_fixture::remove(&self.server, &self.prefix).await;
    }
}

/// Data that no server makes smaller.
fn large() -> Vec<u8> {
    std::iter::repeat_with(|| fastrand::u8(..)).take(20_000).collect()
}

#[tokio::test]
async fn r14_1_large_data_stands_once_however_many_consumers_there_are() {
    let test = this_test!();
    let names: Vec<String> = (0..10).map(|n| format!("c{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let Some(stage) = Stage::open(test, &names).await else { return };
    stage.world().emit(EventDraft::new("e", "first")).await;
    let (before, data) = (stage.memory().await, large());
    stage.world().emit(EventDraft::new("e", data.clone())).await;
    let taken = stage.memory().await - before;
    assert!((20_000..40_000).contains(&taken), "{taken} bytes for one event and ten deliveries");
    for name in names {
        let leases = stage.world().reserve_from(&deliveries_of(name), 2).await;
        assert!(leases[1].payload == data, "{name}");
        stage.world().complete(&leases[1]).await;
        let deliveries = stage.world().deliveries(name).await;
        assert!(deliveries.iter().any(|job| job.payload == data), "{name}");
    }
    stage.end().await;
}

/// As many deliveries as a call may make.
#[tokio::test]
async fn r14_1_a_call_of_ten_thousand_deliveries_is_one_step() {
    let test = this_test!();
    let Some(stage) = Stage::open(test, &[]).await else { return };
    let world = stage.world();
    let mut settings = EventSettings::default();
    for n in 0..SUBSCRIPTIONS {
        let wants = subscribed(SubscriptionDraft::new(format!("c{n}").as_str(), "*"));
        settings.subscriptions.insert(wants.consumer().clone(), wants);
    }
    let outbox = world.backend().capabilities().outbox.expect("the capability Outbox");
    assert!(outbox.change_event_settings(0, &settings.write().unwrap()).await.unwrap());
    let events = DELIVERIES_PER_CALL / SUBSCRIPTIONS;
    let large = "x".repeat(2000);
    let drafts = (0..events).map(|n| {
        EventDraft::new("e", if n % 2 == 0 { format!("{n}") } else { format!("{n}{large}") })
    });
    let outcomes = world.client().emit_all(drafts).await.unwrap();
    assert!(outcomes.iter().all(|it| matches!(it, EmitOutcome::Emitted { .. })), "{outcomes:?}");
    for n in [0, 1, 500, SUBSCRIPTIONS - 1] {
        let leases = world.reserve_from(&deliveries_of(&format!("c{n}")), 100).await;
        let numbers = leases.iter().map(|lease| lease.payload[0]);
        assert!(numbers.eq((0..events).map(|n| b'0' + n as u8)), "{n}");
        assert!(leases[1].payload.len() == 2001 && leases[2].payload.len() == 1, "{n}");
    }
    stage.end().await;
}

#[tokio::test]
async fn r14_6_data_stays_as_long_as_a_delivery_needs_it() {
    let test = this_test!();
    let names = ["waiting", "running", "dead", "cancelled", "completed", "removed"];
    let Some(stage) = Stage::open(test, &names).await else { return };
    let (world, data) = (stage.world(), large());
    let id = world.emit(EventDraft::new("e", data.clone()).idempotency_key("k")).await;
    let mut leases = Vec::new();
    for name in ["running", "dead", "completed"] {
        leases.push(world.reserve_one_from(&deliveries_of(name)).await);
    }
    world.kill(&leases[1]).await;
    world.complete(&leases[2]).await;
    let cancelled = stage.delivery("cancelled", id).await.id;
    let _ = world.cancel(cancelled).await;
    // Cancelled and completed jobs are stored for a day.
    let few = EventRetention::new(8 * DAY, 1).expect("a retention");
    world.event_log().set_retention(few).await.expect("set_retention");
    world.emit(EventDraft::new("e", "last")).await;
    stage.later(2 * MINUTE).await;
    assert_eq!(stage.events().await, 2, "others need it");
    for name in ["waiting", "dead", "cancelled", "removed", "running"] {
        assert!(stage.delivery(name, id).await.payload == data, "{name}");
    }
    // One by one they need it no more.
    let admin = world.backend().capabilities().admin.expect("the capability Admin");
    assert!(admin.remove_queue(&deliveries_of("removed"), true).await.unwrap());
    world.complete(&leases[0]).await;
    let dead = stage.delivery("dead", id).await.id;
    assert!(world.backend().delete_job(dead, false).await.unwrap());
    let lease = world.reserve_one_from(&deliveries_of("waiting")).await;
    assert!(lease.payload == data);
    world.complete(&lease).await;
    stage.later(Duration::ZERO).await;
    assert_eq!(stage.events().await, 2, "it may be brought back");
    let _ = world.retry(cancelled).await;
    // It stands behind what has come since.
    let lease = world.reserve_from(&deliveries_of("cancelled"), 2).await.remove(1);
    assert!(lease.token.id == cancelled && lease.payload == data);
    world.complete(&lease).await;
    stage.later(Duration::ZERO).await;
    assert_eq!(stage.events().await, 1, "nobody needs it");
    let outlived = stage.delivery("waiting", id).await;
    assert!(outlived.state == State::Completed && outlived.payload.is_empty());
    stage.end().await;
}

#[tokio::test]
async fn r14_6_nothing_is_left_of_events_that_are_gone() {
    let test = this_test!();
    let Some(stage) = Stage::open(test, &["c"]).await else { return };
    let world = stage.world();
    let mut ids = Vec::new();
    for n in 0..450 {
        let data = if n % 2 == 0 { b"small".to_vec() } else { large() };
        ids.push(world.emit(EventDraft::new("e", data).idempotency_key(format!("{n}"))).await);
    }
    for _ in 0..2 {
        for lease in world.reserve_from(&deliveries_of("c"), 225).await {
            world.complete(&lease).await;
        }
    }
    stage.later(8 * DAY).await;
    for part in OF_EVENTS {
        assert_eq!(stage.ask::<usize>(cmd("EXISTS").arg(stage.key(part))).await, 0, "{part}");
    }
    // Neither its id nor its key is taken.
    let again = EventDraft::new("e", "other").id(ids[0]).idempotency_key("0");
    let outcomes = world.client().emit_all([again]).await.unwrap();
    assert_eq!(outcomes.as_slice(), [EmitOutcome::Emitted { id: ids[0] }]);
    stage.end().await;
}

/// The delivery of an event that is gone does not take the data of one with its id for its own.
#[tokio::test]
async fn r14_6_an_event_under_the_id_of_one_that_is_gone_is_another() {
    let test = this_test!();
    let Some(stage) = Stage::open(test, &["c"]).await else { return };
    let world = stage.world();
    let few = EventRetention::new(8 * DAY, 1).expect("a retention");
    world.event_log().set_retention(few).await.expect("set_retention");
    let id = world.emit(EventDraft::new("e", large())).await;
    world.emit(EventDraft::new("e", "last")).await;
    for lease in world.reserve_from(&deliveries_of("c"), 2).await {
        world.complete(&lease).await;
    }
    stage.later(2 * MINUTE).await;
    assert_eq!(stage.events().await, 1);
    let outcomes = world.client().emit_all([EventDraft::new("e", large()).id(id)]).await.unwrap();
    assert_eq!(outcomes.as_slice(), [EmitOutcome::Emitted { id }]);
    let jobs = world.deliveries("c").await;
    assert!(jobs.iter().all(|job| job.payload.len() < 10), "{:?}", jobs[0].payload.len());
    stage.end().await;
}

/// Deliveries that a replay has made need their event too.
#[tokio::test]
async fn r14_6_a_replayed_delivery_keeps_its_event() {
    let test = this_test!();
    let Some(stage) = Stage::open(test, &["c"]).await else { return };
    let (world, data) = (stage.world(), large());
    world.emit(EventDraft::new("e", data.clone())).await;
    let lease = world.reserve_one_from(&deliveries_of("c")).await;
    world.complete(&lease).await;
    for _ in 0..2 {
        let replay = Replay::new(consumer("c"), "again", ReplayFrom::Beginning);
        world.consumers().replay_all(replay).await.unwrap();
    }
    let named: usize =
        stage.ask(cmd("HSTRLEN").arg(stage.key("deliveries")).arg("000000000001")).await;
    assert_eq!(named, 2 * (2 + "event.c".len() + 16), "each delivery is named once");
    stage.later(8 * DAY).await;
    assert_eq!(stage.events().await, 1);
    let lease = world.reserve_one_from(&deliveries_of("c")).await;
    assert!(lease.payload == data);
    world.complete(&lease).await;
    stage.later(Duration::ZERO).await;
    assert_eq!(stage.events().await, 0);
    stage.end().await;
}

/// An emitter that goes away at any moment has stored all or nothing, and is repeated.
#[tokio::test]
async fn r14_1_an_emit_whose_process_goes_away_is_stored_whole_or_not_at_all() {
    let test = this_test!();
    let Some(stage) = Stage::open(test, &["a", "b"]).await else { return };
    let world = stage.world();
    let (mut emitted, mut found) = (0, 0);
    for polls in 0..40 {
        let id = EventId::generate(Timestamp::from_millis(polls));
        let event = || EventDraft::new("e", format!("{polls}").repeat(1000)).id(id);
        let client = world.client();
        let mut emit = client.emit(event()).into_future();
        for _ in 0..polls {
            if poll!(&mut emit).is_ready() {
                break;
            }
            tokio::task::yield_now().await;
        }
        drop(emit);
        match world.client().emit_all([event()]).await.unwrap().as_slice() {
            [EmitOutcome::Emitted { .. }] => emitted += 1,
            [EmitOutcome::Duplicate { .. }] => found += 1,
            ref other => panic!("{other:?}"),
        }
    }
    assert!(emitted > 0 && emitted + found == 40, "{emitted} and {found}");
    assert_eq!(stage.events().await, 40);
    for name in ["a", "b"] {
        let mut ids: Vec<JobId> = world.deliveries(name).await.iter().map(|job| job.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), 40, "{name}");
    }
    stage.end().await;
}

/// A script that fails in the middle, because a key belongs to another program, has not stored the
/// event: what it has stored of its deliveries a repeated emit completes.
#[tokio::test]
async fn r14_1_an_emit_that_met_a_foreign_key_is_completed_when_it_is_repeated() {
    let test = this_test!();
    let Some(stage) = Stage::open(test, &["a", "b"]).await else { return };
    let (world, data) = (stage.world(), large());
    let foreign = stage.key("event.b:ready");
    let _: String = stage.ask(cmd("SET").arg(&foreign).arg("not ours")).await;
    let id = EventId::generate(Timestamp::from_millis(1));
    let event = || EventDraft::new("e", data.clone()).id(id);
    world.client().emit(event()).await.unwrap_err();
    assert_eq!(stage.ask::<usize>(cmd("ZCARD").arg(stage.key("order"))).await, 0);
    let _: usize = stage.ask(cmd("DEL").arg(&foreign)).await;
    let outcomes = world.client().emit_all([event()]).await.unwrap();
    assert_eq!(outcomes.as_slice(), [EmitOutcome::Emitted { id }]);
    for name in ["a", "b"] {
        let deliveries = world.deliveries(name).await;
        assert!(deliveries.len() == 1 && deliveries[0].payload == data, "{name}");
    }
    // The first attempt has left a record that nobody will remove.
    crate::common::redis_store_fixture::remove(&stage.server, &stage.prefix).await;
    stage.end().await;
}

/// The script that stores events cannot find deliveries, so the settings stand still until the
/// emit comes back. Guard: a change waits for that time.
#[tokio::test]
async fn r14_4_a_change_waits_for_an_emit_that_found_the_subscriptions_changed() {
    let test = this_test!();
    let Some(stage) = Stage::open(test, &["a"]).await else { return };
    let world = stage.world();
    let outbox = world.backend().capabilities().outbox.expect("the capability Outbox");
    let seen = outbox.event_settings().await.unwrap();
    let event = EventDraft::new("e", "1").build().unwrap();
    let old = Emission { version: seen.version + 1, events: vec![(event, Vec::new())] };
    let began = Instant::now();
    assert!(outbox.store_events(&old).await.unwrap().instead.is_some());
    assert!(outbox.change_event_settings(seen.version, &seen.body).await.unwrap());
    // However slow this machine is, the time has passed.
    let held = began.elapsed();
    assert!(held >= Duration::from_millis(250), "{held:?}");
    stage.end().await;
}
