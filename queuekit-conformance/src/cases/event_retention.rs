//! R14.6: how long events are kept, and that no delivery misses one.

use std::time::Duration;

use queuekit_core::capability::{EmitOutcome, RetryOutcome};
use queuekit_core::event::EventRetention;
use queuekit_core::queue::{Keep, Retention};
use queuekit_core::{EventId, QueuePatch, ScheduleDraft, State, SubscriptionDraft};

use super::events::{event, page};
use crate::World;
use crate::kit::{DAY, HOUR, MINUTE, deliveries_of, draft};

/// R14.6: events beyond the retention are removed, except those with a delivery that waits, runs or
/// is dead. A delivery that has completed keeps no event, even if it is kept itself.
/// Guard: prune checks the deliveries of an event.
pub async fn r14_6_no_open_delivery_loses_its_event(world: &dyn World) {
    for name in ["slow", "fast", "failing"] {
        world.subscribe(SubscriptionDraft::new(name, name).max_attempts(1)).await;
    }
    let patch = QueuePatch::default().retention(Retention::ALL.done(Keep::ALL));
    world.configure(&deliveries_of("fast"), patch).await;
    let week = EventRetention::new(7 * DAY, 1000).expect("a retention");
    world.event_log().set_retention(week).await.expect("set_retention");
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

/// R14.6: an event beyond the number keeps its data for a delivery that runs.
/// Guard: prune checks running deliveries too.
pub async fn r14_6_a_running_delivery_keeps_its_data(world: &dyn World) {
    world.subscribe(SubscriptionDraft::new("c", "*").max_attempts(1)).await;
    let one = EventRetention::new(DAY, 1).expect("a retention");
    world.event_log().set_retention(one).await.expect("set_retention");
    let data = "data".repeat(1000);
    world.emit(event("e", &data)).await;
    let lease = world.reserve_one_from(&deliveries_of("c")).await;
    world.emit(event("e", "later")).await;
    world.advance(5 * MINUTE).await;
    world.prune().await;
    assert!(world.job(lease.id()).await.payload == data);
    world.release(&lease, Duration::ZERO).await;
    let again = world.reserve_from(&deliveries_of("c"), 2).await;
    assert!(again.iter().any(|again| again.id() == lease.id() && again.payload == data));
}

/// R14.6: a cancelled delivery that has outlived its event cannot be retried, unless the store has
/// a copy of the data.
/// Guard: retry checks that the event is stored.
pub async fn r14_6_a_retried_delivery_is_whole(world: &dyn World) {
    world.subscribe(SubscriptionDraft::new("c", "*")).await;
    let patch = QueuePatch::default().retention(Retention::ALL.done(Keep::ALL).dead(Keep::ALL));
    world.configure(&deliveries_of("c"), patch).await;
    let week = EventRetention::new(7 * DAY, 1000).expect("a retention");
    world.event_log().set_retention(week).await.expect("set_retention");
    let data = "data".repeat(1000);
    world.emit(event("e", &data)).await;
    let lease = world.reserve_one_from(&deliveries_of("c")).await;
    world.call_off(&lease).await;
    world.advance(9 * DAY).await;
    world.prune().await;
    world.prune().await;
    match world.retry(lease.id()).await {
        RetryOutcome::Retried => {
            let again = world.reserve_one_from(&deliveries_of("c")).await;
            assert!(again.payload == data, "{} bytes", again.payload.len());
        }
        outcome => assert_eq!(outcome, RetryOutcome::Conflict),
    }
}

/// R14.6: if there are more events than the number to keep, the oldest are removed.
/// Guard: the limit by number counts events, and nothing else.
pub async fn r14_6_the_log_is_bounded_by_number(world: &dyn World) {
    let few = EventRetention::new(DAY, 3).expect("a retention");
    world.event_log().set_retention(few).await.expect("set_retention");
    assert_eq!(world.event_log().retention().await.expect("retention"), few);
    let other = ScheduleDraft::every("other", HOUR, draft()).build().expect("a schedule");
    for n in 0..10 {
        world.emit(event("e", &n.to_string()).idempotency_key(format!("{n}"))).await;
        world.emit(event("e", "again").idempotency_key(format!("{n}"))).await;
        let _ = world.scheduler().put(&other).await.expect("put");
    }
    assert_eq!(world.prune().await, 0, "events less than a minute old should be kept");
    world.advance(MINUTE * 2).await;
    world.prune().await;
    let left: Vec<_> = world.events(page(10)).await.into_iter().map(|event| event.data).collect();
    assert_eq!(left, ["7", "8", "9"]);
}

/// R14.6: events that stay because of their deliveries do not cause newer events to be removed.
/// Guard: an event's place counts all events of the log, including those that stay.
pub async fn r14_6_events_that_are_held_make_no_newer_one_go(world: &dyn World) {
    let (held, free, number) = (250, 60, 50);
    world.subscribe(SubscriptionDraft::new("c", "held")).await;
    let few = EventRetention::new(30 * DAY, number).expect("a retention");
    world.event_log().set_retention(few).await.expect("set_retention");
    // Some stores copy small data into the delivery, which then needs no event.
    let data = "data".repeat(1000);
    for (kind, count) in [("held", held), ("free", free)] {
        let events: Vec<_> = (0..count).map(|_| event(kind, &data)).collect();
        for call in events.chunks(world.limits().enqueue_jobs()) {
            let emitted = world.client().emit_all(call.to_vec()).await.expect("emit");
            assert_eq!(emitted.as_slice().len(), call.len(), "an outcome per event");
        }
    }
    world.advance(2 * MINUTE).await;
    while world.prune().await > 0 {}
    let left = world.events(page(1000)).await;
    let free = left.iter().filter(|event| event.kind.as_str() == "free").count();
    assert_eq!(free as u64, number);
}

/// R14.6: an event is removed with its id and its idempotency key, and leaves nothing behind.
/// Guard: the step that removes an event also removes its id and key.
pub async fn r14_6_nothing_is_left_of_an_event_that_has_gone(world: &dyn World) {
    let one = EventRetention::new(30 * DAY, 1).expect("a retention");
    world.event_log().set_retention(one).await.expect("set_retention");
    let mut held = Vec::new();
    for id in 1..=3 {
        let keyed = event("e", "keyed").idempotency_key("k");
        for event in [keyed, event("e", "plain").id(EventId::from_bytes([id; 16]))] {
            let outcomes = world.client().emit_all([event]).await.expect("emit");
            assert!(
                matches!(outcomes.as_slice(), [EmitOutcome::Emitted { .. }]),
                "{id}: {outcomes:?}"
            );
            world.advance(2 * MINUTE).await;
            world.prune().await;
        }
        held.push(world.raw_dump().await.unwrap_or_default().len());
    }
    assert_eq!(held[1], held[2], "the store holds more and more: {held:?} lines");
}
