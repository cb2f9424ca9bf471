//! R14: events and their deliveries.

use std::time::Duration;

use queuekit_core::capability::{EmitOutcome, EventFilter};
use queuekit_core::event::{EVENT, EventRetention, Replay, ReplayFrom};
use queuekit_core::queue::Order;
use queuekit_core::{
    Client, Declared, ErrorKind, EventDraft, EventId, Metadata, NackKind, PageSize, QueuePatch,
    RetryPolicy, ScheduleDraft, State, SubscriptionDraft,
};

use crate::World;
use crate::kit::{
    DAY, HOUR, MINUTE, assert_invalid, consumer, default_queue, deliveries_of, draft, in_parallel,
    kind_of, subscribed,
};

fn event(kind: &str, data: &str) -> EventDraft {
    EventDraft::new(kind, data.to_owned())
}

fn page(limit: usize) -> EventFilter {
    let limit = PageSize::new(limit).expect("a page");
    EventFilter { limit, ..EventFilter::default() }
}

/// R14.1: an event is stored once, and once more as a delivery for each subscription that wants
/// its type; what was emitted before a subscription makes none for it.
/// Guard: deliveries are found by the subscriptions, in the step that stores the event.
pub async fn r14_1_an_event_is_delivered_to_who_wants_it(world: &dyn World) {
    world.emit(event("order.paid", "early")).await;
    for (name, events) in [("one", "order.paid"), ("below", "order.*"), ("all", "*")] {
        let made = world.subscribe(SubscriptionDraft::new(name, events)).await;
        assert_eq!(made, Declared::Created);
    }
    for (kind, data) in [("order.paid", "a"), ("order.paid.late", "b"), ("orders", "c")] {
        world.emit(event(kind, data)).await;
    }
    assert_eq!(world.delivered("one").await, ["a"]);
    assert_eq!(world.delivered("below").await, ["a", "b"]);
    assert_eq!(world.delivered("all").await, ["a", "b", "c"]);
    let stored = world.events(page(3)).await;
    let data: Vec<_> = stored.iter().map(|event| &event.data[..]).collect();
    assert_eq!(data, [&b"early"[..], b"a", b"b", b"c"]);
    let paid = EventFilter { pattern: "order.*".parse().ok(), ..page(10) };
    assert_eq!(world.events(paid).await.len(), 3);
}

/// R14.1: every field of an event reaches its deliveries and its readers, byte for byte.
/// Guard: data and metadata are stored as they are.
pub async fn r14_1_every_field_reaches_consumer_and_reader(world: &dyn World) {
    let retry = RetryPolicy::Fixed(MINUTE);
    let wants = SubscriptionDraft::new("c", "*").ordered().max_attempts(7).timeout(HOUR);
    let wants = wants.retry(&retry);
    world.subscribe(wants.clone()).await;
    let stored = world.consumers().get(&consumer("c")).await.expect("get").expect("it is there");
    assert_eq!(stored, subscribed(wants));
    let data: Vec<u8> = (0..=255).collect();
    let metadata: Metadata = [("traceparent", "00-1-2-01")].into_iter().collect();
    let draft = EventDraft::new("kind", data.clone()).partition_key("k").metadata(metadata.clone());
    let id = world.emit(draft.idempotency_key("i")).await;
    let leases = world.reserve_from(&deliveries_of("c"), 10).await;
    let [lease] = &leases[..] else { panic!("one delivery: {leases:?}") };
    assert_eq!((lease.kind.as_str(), &lease.payload[..]), ("kind", &data[..]));
    assert_eq!((lease.max_attempts, lease.timeout), (7, HOUR));
    assert_eq!(lease.partition_key.as_ref().map(|key| key.as_str()), Some("k"));
    assert_eq!(lease.metadata.get("traceparent"), Some("00-1-2-01"));
    assert_eq!(lease.metadata.get(EVENT), Some(id.to_string().as_str()));
    assert_eq!(world.deliveries("c").await[0].payload, data);
    let read = world.events(page(10)).await.remove(0);
    assert_eq!((read.id, &read.data[..], read.metadata), (id, &data[..], metadata));
    assert_eq!(read.partition_key.as_ref().map(|key| key.as_str()), Some("k"));
    assert_eq!(read.idempotency_key.as_ref().map(|key| key.as_str()), Some("i"));
}

/// R14.1: the data of large events too is one with that of their deliveries.
/// Guard: where a store keeps the data once, every reader finds it.
pub async fn r14_1_large_events_reach_every_consumer(world: &dyn World) {
    let names = ["a", "b", "c"];
    for name in names {
        world.subscribe(SubscriptionDraft::new(name, "*")).await;
    }
    let data = "x".repeat(100_000);
    world.emit(event("large", &data)).await;
    for name in names {
        let lease = world.reserve_one_from(&deliveries_of(name)).await;
        assert!(lease.payload == data.as_bytes(), "{name}: {} bytes", lease.payload.len());
        world.complete(&lease).await;
        assert_eq!(world.deliveries(name).await[0].payload, data);
    }
}

/// R14.2: an emit that is repeated stores nothing twice; an id with other data is a conflict.
/// Guard: ids and idempotency keys of events are unique in the log.
pub async fn r14_2_a_repeated_emit_is_a_duplicate(world: &dyn World) {
    world.subscribe(SubscriptionDraft::new("c", "*")).await;
    let id = world.emit(event("a", "1").idempotency_key("k")).await;
    let client = world.client();
    let repeated = [
        event("a", "1").id(id),
        event("a", "1").id(id).idempotency_key("k"),
        event("a", "2").idempotency_key("k"),
        event("a", "2").id(id),
        event("b", "3").idempotency_key("k"),
    ];
    let outcomes = client.emit_all(repeated).await.expect("emit");
    let duplicate = EmitOutcome::Duplicate { existing: id };
    assert_eq!(outcomes[..3], [duplicate; 3]);
    assert_eq!(outcomes[3], EmitOutcome::Conflict { existing: id });
    assert!(matches!(outcomes[4], EmitOutcome::Emitted { .. }));
    let conflict = client.emit(event("a", "2").id(id)).await;
    assert_eq!(kind_of(conflict), ErrorKind::Conflict);
    assert_eq!(world.delivered("c").await, ["1", "3"]);
    assert_eq!(world.events(page(10)).await.len(), 2);
}

/// R14.2: of emits at once under one key one is stored.
/// Guard: as above, between processes.
pub async fn r14_2_one_key_at_once_is_emitted_once(world: &dyn World) {
    world.subscribe(SubscriptionDraft::new("c", "*")).await;
    let emits = world.handles().await.into_iter().cycle().take(8).map(|handle| async move {
        let client = Client::shared(handle);
        client.emit(event("a", "1").idempotency_key("k")).await.expect("emit")
    });
    let ids: Vec<EventId> = in_parallel(emits).await;
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(world.delivered("c").await, ["1"]);
}

/// R14.3: an ordered consumer gets the events of a key one after the other, another one all at
/// once; keys are served in turn.
/// Guard: the partition key of a delivery, and the order of the consumer's queue.
pub async fn r14_3_order_is_kept_where_it_is_wanted(world: &dyn World) {
    world.subscribe(SubscriptionDraft::new("ordered", "*").ordered()).await;
    world.subscribe(SubscriptionDraft::new("loose", "*")).await;
    for (key, data) in [("a", "a1"), ("a", "a2"), ("a", "a3"), ("b", "b1")] {
        world.emit(event("e", data).partition_key(key)).await;
    }
    assert_eq!(world.reserve_from(&deliveries_of("loose"), 10).await.len(), 4);
    let queue = deliveries_of("ordered");
    let first = world.reserve_from(&queue, 10).await;
    let data = |lease: &queuekit_core::Lease| String::from_utf8_lossy(&lease.payload).into_owned();
    assert_eq!(first.iter().map(data).collect::<Vec<_>>(), ["a1", "b1"]);
    world.fail(&first[0], Duration::ZERO).await;
    let mut served = Vec::new();
    for _ in 0..3 {
        let lease = world.reserve_one_from(&queue).await;
        served.push(data(&lease));
        world.complete(&lease).await;
    }
    assert_eq!(served, ["a1", "a2", "a3"]);
    world.subscribe(SubscriptionDraft::new("loose", "*").ordered()).await;
    let loose = world.queue(&deliveries_of("loose")).await;
    assert_eq!(loose.settings.order, Order::Fair, "it has come to want order");
}

/// R14.4: a change of subscriptions is in force with the next emit of every process; while one is
/// disabled it gets nothing.
/// Guard: the version of the subscriptions is checked in the step that stores the event.
pub async fn r14_4_a_change_is_in_force_everywhere_at_once(world: &dyn World) {
    let wants = || SubscriptionDraft::new("c", "*");
    world.subscribe(wants()).await;
    let clients: Vec<Client> = world.handles().await.into_iter().map(Client::shared).collect();
    let emit_all = async |data: &str| {
        for client in &clients {
            client.emit(event("e", data)).await.expect("emit");
        }
    };
    emit_all("before").await;
    world.consumers().set_enabled(&consumer("c"), false).await.expect("set_enabled");
    emit_all("while it is disabled").await;
    assert_eq!(world.subscribe(wants()).await, Declared::Unchanged);
    emit_all("while it is disabled").await;
    world.consumers().set_enabled(&consumer("c"), true).await.expect("set_enabled");
    emit_all("after").await;
    assert!(world.consumers().remove(&consumer("c")).await.expect("remove"));
    emit_all("without it").await;
    let mut wanted = vec!["before"; clients.len()];
    wanted.extend(vec!["after"; clients.len()]);
    assert_eq!(world.delivered("c").await, wanted);
    let unknown = world.consumers().set_enabled(&consumer("c"), true).await;
    assert_eq!(kind_of(unknown), ErrorKind::NotFound);
}

/// R14.4: what is invalid is refused before anything is stored.
/// Guard: types that cannot be built wrong.
pub async fn r14_4_what_is_invalid_is_refused(world: &dyn World) {
    for bad in ["", "a b", "*.a", "a*", ".*"] {
        assert_invalid(SubscriptionDraft::new("c", bad).build(), "events");
    }
    assert_invalid(SubscriptionDraft::new("c".repeat(101).as_str(), "*").build(), "consumer");
    assert_invalid(SubscriptionDraft::new("c", "*").max_attempts(0).build(), "max_attempts");
    let own = RetryPolicy::custom(|_| HOUR);
    assert_invalid(SubscriptionDraft::new("c", "*").retry(&own).build(), "retry");
    let client = world.client();
    assert_invalid(client.emit(event("a b", "")).await, "kind");
    let large = "x".repeat(1024 * 1024 + 1);
    assert_invalid(client.emit(event("a", &large)).await, "data");
    let unreserved = draft().queue("event.c");
    assert_invalid(unreserved.build(), "queue");
    assert!(world.events(page(10)).await.is_empty());
}

/// R14.5: a replay delivers retained events to a consumer, from where it is told, once under one
/// name, behind and beside the live ones.
/// Guard: the id of a replayed delivery is a function of event, queue and name.
pub async fn r14_5_a_replay_delivers_what_is_in_the_log(world: &dyn World) {
    let mut ids = Vec::new();
    for n in 0..4 {
        ids.push(world.emit(event("a.x", &format!("old {n}")).partition_key("k")).await);
    }
    world.emit(event("b", "other")).await;
    world.subscribe(SubscriptionDraft::new("c", "a.*").ordered()).await;
    world.emit(event("a.x", "live").partition_key("z")).await;
    let consumers = world.consumers();
    let replay = |name: &str, from| Replay::new(consumer("c"), name, from);
    let all = replay("first", ReplayFrom::Event(ids[0]));
    assert_eq!(consumers.replay_all(all.clone()).await.expect("replay"), 4);
    assert_eq!(consumers.replay_all(all).await.expect("replay"), 0, "once under one name");
    let queue = deliveries_of("c");
    let served = world.reserve_from(&queue, 10).await;
    let first: Vec<_> = served.iter().map(|lease| lease.payload.clone()).collect();
    assert!(
        first.len() == 2 && first.contains(&"live".into()),
        "live keys wait for none: {first:?}"
    );
    let gone = replay("gone", ReplayFrom::Event(EventId::from_bytes([7; 16])));
    assert_eq!(kind_of(consumers.replay(&gone).await), ErrorKind::NotFound);
    assert_invalid(consumers.replay(&replay("", ReplayFrom::Beginning)).await, "name");
    let again = consumers.replay_all(replay("second", ReplayFrom::Beginning)).await;
    assert_eq!(again.expect("replay"), 5);
    let from_now = world.events(page(10)).await.pop().expect("the last").emitted_at + HOUR;
    let none = consumers.replay_all(replay("third", ReplayFrom::Time(from_now))).await;
    assert_eq!(none.expect("replay"), 0);
    let unknown = Replay::new(consumer("nobody"), "x", ReplayFrom::Beginning);
    assert_eq!(kind_of(consumers.replay(&unknown).await), ErrorKind::NotFound);
}

/// R14.6: events beyond the retention go, but none of which a delivery is still to be made, or
/// could be retried from the dead.
/// Guard: prune looks at the deliveries.
pub async fn r14_6_no_open_delivery_loses_its_event(world: &dyn World) {
    for name in ["slow", "fast", "failing"] {
        world.subscribe(SubscriptionDraft::new(name, name).max_attempts(1)).await;
    }
    let week = EventRetention::new(7 * DAY, 1000).expect("a retention");
    world.consumers().set_retention(week).await.expect("set_retention");
    for name in ["slow", "fast", "failing", "nobody"] {
        world.emit(event(name, &name.repeat(1000))).await;
    }
    let lease = world.reserve_one_from(&deliveries_of("fast")).await;
    world.complete(&lease).await;
    let lease = world.reserve_one_from(&deliveries_of("failing")).await;
    world.kill(&lease).await;
    world.advance(6 * DAY).await;
    world.prune().await;
    assert_eq!(world.events(page(10)).await.len(), 4);
    world.advance(2 * DAY).await;
    world.prune().await;
    world.prune().await;
    let lease = world.reserve_one_from(&deliveries_of("slow")).await;
    assert!(lease.payload == "slow".repeat(1000));
    let dead = world.deliveries("failing").await.remove(0);
    assert!(dead.payload == "failing".repeat(1000) && dead.state == State::Dead);
    let _ = world.retry(dead.id).await;
    let lease = world.reserve_one_from(&deliveries_of("failing")).await;
    assert!(lease.payload == "failing".repeat(1000));
    let left: Vec<_> = world.events(page(10)).await.into_iter().map(|event| event.kind).collect();
    assert!(!left.iter().any(|kind| ["fast", "nobody"].contains(&kind.as_str())), "{left:?}");
}

/// R14.6: of more events than are to be kept the oldest go.
/// Guard: the bound by number, in which nothing but events counts.
pub async fn r14_6_the_log_is_bounded_by_number(world: &dyn World) {
    let few = EventRetention::new(DAY, 3).expect("a retention");
    world.consumers().set_retention(few).await.expect("set_retention");
    assert_eq!(world.consumers().retention().await.expect("retention"), few);
    let other = ScheduleDraft::every("other", HOUR, draft()).build().expect("a schedule");
    for n in 0..10 {
        world.emit(event("e", &n.to_string()).idempotency_key(format!("{n}"))).await;
        world.emit(event("e", "again").idempotency_key(format!("{n}"))).await;
        let _ = world.scheduler().put(&other).await.expect("put");
    }
    assert_eq!(world.prune().await, 0, "none is a minute old");
    world.advance(MINUTE * 2).await;
    world.prune().await;
    let left: Vec<_> = world.events(page(10)).await.into_iter().map(|event| event.data).collect();
    assert_eq!(left, ["7", "8", "9"]);
}

/// R14.7: a consumer's failures are its own: others are served, its dead letters keep their
/// errors and can be retried, and its figures tell.
/// Guard: deliveries are jobs of a queue per consumer.
pub async fn r14_7_a_failing_consumer_hurts_no_other(world: &dyn World) {
    for name in ["good", "bad"] {
        world.subscribe(SubscriptionDraft::new(name, "*").max_attempts(2)).await;
    }
    for n in 0..4 {
        world.emit(event("e", &n.to_string())).await;
    }
    for lease in world.reserve_from(&deliveries_of("good"), 10).await {
        world.complete(&lease).await;
    }
    for _ in 0..2 {
        for lease in world.reserve_from(&deliveries_of("bad"), 10).await {
            let _ = world.nack(&lease.token, NackKind::Retry, Duration::ZERO).await;
        }
        world.advance(Duration::from_millis(10)).await;
    }
    world.emit(event("e", "late")).await;
    let good = world.consumers().stats(&consumer("good")).await.expect("stats");
    assert_eq!((good.depth, good.in_flight, good.dead, good.failure_rate), (1, 0, 0, 0.0));
    assert!(good.latency.is_some_and(|(median, late)| median <= late), "{good:?}");
    let bad = world.consumers().stats(&consumer("bad")).await.expect("stats");
    assert_eq!((bad.depth, bad.dead, bad.latency), (1, 4, None), "{bad:?}");
    assert!((bad.failure_rate - 1.0).abs() < f64::EPSILON);
    let dead: Vec<_> = world.deliveries("bad").await;
    let dead = dead.iter().find(|job| job.state == State::Dead).expect("a dead letter");
    assert_eq!(dead.errors.len(), 2);
    let nobody = world.consumers().stats(&consumer("nobody")).await;
    assert_eq!(kind_of(nobody), ErrorKind::NotFound);
}

/// R14.7: a full queue of one consumer refuses no event, and keeps none from it.
/// Guard: deliveries are not bound by max_pending.
pub async fn r14_7_a_full_queue_refuses_no_event(world: &dyn World) {
    for name in ["full", "other"] {
        world.subscribe(SubscriptionDraft::new(name, "*")).await;
    }
    let bound = QueuePatch::default().max_pending(Some(1));
    world.configure(&deliveries_of("full"), bound).await;
    for n in 0..3 {
        world.emit(event("e", &n.to_string())).await;
    }
    assert_eq!(world.delivered("full").await, ["0", "1", "2"]);
    assert_eq!(world.delivered("other").await, ["0", "1", "2"]);
}

/// R14.7: deliveries wait as long as event and subscription say.
/// Guard: both delays count.
pub async fn r14_7_deliveries_can_be_delayed(world: &dyn World) {
    world.subscribe(SubscriptionDraft::new("now", "*")).await;
    world.subscribe(SubscriptionDraft::new("later", "*").delay(HOUR)).await;
    world.emit(event("e", "1").delay(HOUR)).await;
    let (now, later) = (deliveries_of("now"), deliveries_of("later"));
    assert!(world.reserve_from(&now, 10).await.is_empty());
    world.advance(HOUR).await;
    assert_eq!(world.reserve_from(&now, 10).await.len(), 1);
    assert!(world.reserve_from(&later, 10).await.is_empty());
    world.advance(HOUR).await;
    assert_eq!(world.reserve_from(&later, 10).await.len(), 1);
}

/// R14.1: callers that emit at once get their own outcomes, and a call of several is one step.
/// Guard: emits are merged as enqueues are (R2.10).
pub async fn r14_1_emits_at_once_are_all_delivered(world: &dyn World) {
    world.subscribe(SubscriptionDraft::new("c", "*")).await;
    let client = world.client();
    let emits = (0..40).map(|n| {
        let client = client.clone();
        async move {
            let pair = [event("e", &format!("{n} a")), event("e", &format!("{n} b"))];
            client.emit_all(pair).await.expect("emit")
        }
    });
    let emitted = in_parallel(emits).await;
    let is_new = |outcome: &EmitOutcome| matches!(outcome, EmitOutcome::Emitted { .. });
    assert!(emitted.iter().flatten().all(is_new));
    let mut delivered = world.delivered("c").await;
    delivered.sort_unstable();
    delivered.dedup();
    assert_eq!(delivered.len(), 80);
    assert!(world.jobs_of(&default_queue()).await.is_empty());
}
