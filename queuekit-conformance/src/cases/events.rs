//! R14: events and their deliveries.

use std::time::Duration;

use queuekit_core::capability::{EmitOutcome, EventFilter};
use queuekit_core::event::{EVENT, EventRetention, Replay, ReplayFrom};
use queuekit_core::queue::{Keep, Order, Retention};
use queuekit_core::{
    Client, Declared, ErrorKind, EventDraft, EventId, Metadata, PageSize, QueuePatch, RetryPolicy,
    SubscriptionDraft,
};

use crate::World;
use crate::kit::{
    DAY, HOUR, MINUTE, assert_invalid, consumer, default_queue, deliveries_of, in_parallel,
    kind_of, subscribed,
};

pub(super) fn event(kind: &str, data: &str) -> EventDraft {
    EventDraft::new(kind, data.to_owned())
}

pub(super) fn page(limit: usize) -> EventFilter {
    let limit = PageSize::new(limit).expect("a page");
    EventFilter { limit, ..EventFilter::default() }
}

/// R14.1: an event is stored once, with a delivery for each subscription that matches its type.
/// Events from before a subscription make no delivery for it.
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
    let stored = world
        .consumers()
        .get(&consumer("c"))
        .await
        .expect("get")
        .expect("the subscription should be stored");
    assert_eq!(stored, subscribed(wants));
    let data: Vec<u8> = (0..=255).collect();
    let metadata: Metadata = [("traceparent", "00-1-2-01")].into_iter().collect();
    let draft = EventDraft::new("kind", data.clone()).partition_key("k").metadata(metadata.clone());
    let id = world.emit(draft.idempotency_key("i")).await;
    let leases = world.reserve_from(&deliveries_of("c"), 10).await;
    let [lease] = &leases[..] else { panic!("expected one delivery: {leases:?}") };
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

/// R14.1: deliveries have the data of their event, even if it is large.
/// Guard: if a store keeps the data once, every reader finds it.
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
        event("b", "1").id(id),
        event("b", "3").idempotency_key("k"),
    ];
    let outcomes = client.emit_all(repeated).await.expect("emit");
    let outcomes = outcomes.as_slice();
    let duplicate = EmitOutcome::Duplicate { existing: id };
    assert_eq!(outcomes[..3], [duplicate; 3]);
    assert_eq!(outcomes[3..5], [EmitOutcome::Conflict { existing: id }; 2]);
    assert!(matches!(outcomes[5], EmitOutcome::Emitted { .. }));
    let conflict = client.emit(event("a", "2").id(id)).await;
    assert_eq!(kind_of(conflict), ErrorKind::Conflict);
    assert_eq!(world.delivered("c").await, ["1", "3"]);
    assert_eq!(world.events(page(10)).await.len(), 2);
}

/// R14.2: the same holds within one call, whose events act in their order.
/// Guard: an event is compared with the ids and keys of earlier events in the call.
pub async fn r14_2_an_event_of_a_call_sees_those_before_it(world: &dyn World) {
    world.subscribe(SubscriptionDraft::new("c", "*")).await;
    let ids = [7, 8].map(|byte| EventId::from_bytes([byte; 16]));
    let events = [
        event("a", "1").id(ids[0]).idempotency_key("k"),
        event("a", "1").id(ids[0]),
        event("a", "2").id(ids[0]),
        event("a", "3").idempotency_key("k"),
        event("b", "4").id(ids[1]).idempotency_key("k"),
    ];
    let outcomes = world.client().emit_all(events).await.expect("emit");
    let [first, last] = ids.map(|id| EmitOutcome::Emitted { id });
    let duplicate = EmitOutcome::Duplicate { existing: ids[0] };
    let conflict = EmitOutcome::Conflict { existing: ids[0] };
    assert_eq!(outcomes.as_slice(), [first, duplicate, conflict, duplicate, last]);
    assert_eq!(world.delivered("c").await, ["1", "4"]);
}

/// R14.2: of several emits at once with one key, one is stored.
/// Guard: ids and idempotency keys are unique in the store.
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

/// R14.2: an event under the id of a removed event is a new one. Stored deliveries of the old event
/// stay as they are, and count as deliveries of the new one.
/// Guard: the id of a delivery is unique among ended deliveries too.
pub async fn r14_2_no_delivery_is_made_again_under_the_id_of_an_event_that_has_gone(
    world: &dyn World,
) {
    let day = EventRetention::new(DAY, 1000).expect("a retention");
    world.event_log().set_retention(day).await.expect("set_retention");
    let keep = QueuePatch::default().retention(Retention::ALL.done(Keep::ALL).dead(Keep::ALL));
    for (name, events) in [("done", "*"), ("failing", "b")] {
        world.subscribe(SubscriptionDraft::new(name, events).max_attempts(1)).await;
        world.configure(&deliveries_of(name), keep.clone()).await;
    }
    let ids = [world.emit(event("a", "1")).await, world.emit(event("b", "1")).await];
    for lease in world.reserve_from(&deliveries_of("done"), 10).await {
        world.complete(&lease).await;
    }
    world.kill(&world.reserve_one_from(&deliveries_of("failing")).await).await;
    world.subscribe(SubscriptionDraft::new("late", "*")).await;
    world.advance(3 * DAY).await;
    while world.prune().await > 0 {}
    let kept = world.events(page(10)).await;
    assert!(kept.iter().all(|event| event.id == ids[1]), "{kept:?}");
    let client = world.client();
    assert_eq!(client.emit(event("a", "2").id(ids[0])).await.expect("emit"), ids[0]);
    assert_eq!(client.emit(event("b", "1").id(ids[1])).await.expect("emit"), ids[1]);
    let late: &[&str] = if kept.is_empty() { &["2", "1"] } else { &["2"] };
    assert_eq!(world.delivered("late").await, late);
    for (name, payloads) in [("done", &["1", "1"][..]), ("failing", &["1"])] {
        assert!(world.reserve_from(&deliveries_of(name), 10).await.is_empty(), "{name}");
        let stored = world.deliveries(name).await;
        let stored: Vec<_> = stored.into_iter().map(|job| job.payload).collect();
        assert_eq!(stored, payloads, "{name}");
    }
    let dead = world.deliveries("failing").await.remove(0);
    let _ = world.retry(dead.id).await;
    world.kill(&world.reserve_one_from(&deliveries_of("failing")).await).await;
}

/// R14.3: an ordered consumer gets the events of a key one after the other, and keys take turns; an
/// unordered consumer gets all at once.
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
    assert_eq!(
        loose.settings.order,
        Order::Fair,
        "the queue should be fair once its subscription is ordered"
    );
}

/// R14.3: for a fair consumer, partition keys take turns, and events of one key may run at the same
/// time; a replay takes one turn.
/// Guard: the partition key of a delivery, and the settings of the consumer's queue.
pub async fn r14_3_a_key_with_many_deliveries_keeps_none_of_another_out(world: &dyn World) {
    let fair = || SubscriptionDraft::new("c", "*").fair();
    world.subscribe(fair()).await;
    let client = world.client();
    for data in 0..10 {
        let hundred = (0..100).map(|_| event("e", &data.to_string()).partition_key("many"));
        client.emit_all(hundred).await.and_then(|emitted| emitted.ids()).expect("emit");
    }
    world.emit(event("e", "one").partition_key("few")).await;
    world.emit(event("e", "none")).await;
    let queue = deliveries_of("c");
    let first = world.reserve_from(&queue, 30).await;
    let data = |lease: &queuekit_core::Lease| String::from_utf8_lossy(&lease.payload).into_owned();
    let served: Vec<_> = first.iter().map(data).collect();
    assert!(
        served.contains(&"one".to_owned()) && served.contains(&"none".to_owned()),
        "{served:?}"
    );
    assert_eq!(served.len(), 30, "30 deliveries of one key should run at the same time");
    world.fail(&first[0], HOUR).await;
    assert_eq!(
        world.reserve_from(&queue, 10).await.len(),
        10,
        "a failed delivery should hold up no other"
    );
    world.subscribe(fair().ordered()).await;
    assert_eq!(
        world.queue(&queue).await.settings.per_key,
        1,
        "per_key should be 1 once the subscription is ordered"
    );
}

/// R14.5: a replay delivers stored events to a consumer from a given position on, once per name of
/// the replay. Live events are delivered meanwhile.
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
    assert_eq!(
        consumers.replay_all(all).await.expect("replay"),
        0,
        "a second replay under one name should deliver nothing"
    );
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

/// R14.1: callers that emit at the same time get their own outcomes, and a call with several events
/// is one step.
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
