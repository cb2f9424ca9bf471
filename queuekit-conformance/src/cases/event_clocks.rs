//! R14 on clocks that go back.

use std::time::Duration;

use queuekit_core::SubscriptionDraft;
use queuekit_core::event::{EventRetention, Replay, ReplayFrom};

use super::events::{event, page};
use crate::World;
use crate::kit::{DAY, HOUR, MINUTE, consumer, deliveries_of};

/// R14.5: a replay of several steps ends where the log ended when it began, whatever the times of
/// the events are.
/// Guard: a replay ends at a position in the log, not at a time.
pub async fn r14_5_a_long_replay_ends_where_the_log_ended(world: &dyn World) {
    const EVENTS: usize = 700;
    let events = (0..EVENTS).map(|n| event("e", &n.to_string()));
    let events: Vec<_> = events.map(|event| event.build().expect("an event")).collect();
    for events in events.chunks(100) {
        let outcomes = world.client().emit_all(events.to_vec()).await.expect("emit_all");
        assert_eq!(outcomes.as_slice().len(), 100);
    }
    assert!(world.rewind(HOUR).await, "the harness states `can_rewind`, but rewind failed");
    world.subscribe(SubscriptionDraft::new("late", "*")).await;
    let (mut matched, mut steps) = (0, 0);
    let mut step = Some(Replay::new(consumer("late"), "all", ReplayFrom::Beginning));
    while let Some(replay) = step {
        let report = world.consumers().replay(&replay).await.expect("replay");
        (matched, steps) = (matched + report.matched, steps + 1);
        world.emit(event("e", "it began before this")).await;
        step = replay.after(&report);
    }
    assert_eq!((matched, steps), (EVENTS, 2));
    assert_eq!(world.jobs_of(&deliveries_of("late")).await.len(), EVENTS + steps);
}

/// R14.6: an event that was stored by a clock that was ahead stays until its time has come, and
/// does not keep the events after it.
/// Guard: retention skips events with a future time.
pub async fn r14_6_an_event_of_a_time_to_come_keeps_no_other(world: &dyn World) {
    let retention = EventRetention::new(Duration::from_secs(600), 1).expect("a retention");
    world.event_log().set_retention(retention).await.expect("set_retention");
    world.emit(event("e", "before")).await;
    world.advance(2 * DAY).await;
    world.emit(event("e", "ahead")).await;
    assert!(world.rewind(2 * DAY).await, "the harness states `can_rewind`, but rewind failed");
    for data in ["behind", "last"] {
        world.emit(event("e", data)).await;
    }
    world.advance(2 * MINUTE).await;
    world.prune().await;
    let left = world.events(page(10)).await.into_iter().map(|event| event.data);
    let mut left: Vec<_> = left.collect();
    left.sort_unstable();
    assert_eq!(left, ["ahead", "last"]);
}
