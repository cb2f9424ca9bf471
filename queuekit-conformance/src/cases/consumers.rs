//! R14.4, R14.7: which consumers get events, and the state of a consumer.

use std::time::Duration;

use queuekit_core::capability::EmitOutcome;
use queuekit_core::event::{EventSettings, NewEvent, Replay, ReplayFrom};
use queuekit_core::{
    BackendExt, Client, Declared, ErrorKind, NackKind, QueuePatch, RetryPolicy, State,
    SubscriptionDraft,
};

use super::events::{event, page};
use crate::World;
use crate::kit::{HOUR, assert_invalid, consumer, deliveries_of, draft, kind_of};

/// R14.4: a change of subscriptions is in force with the next emit of every process; a disabled
/// consumer gets nothing.
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

/// R14.4: events whose deliveries were found under old settings are stored under the present ones,
/// in the same call: an emit does not start again, so nobody can make it fail by changing settings.
/// Guard: the store finds the deliveries again while it holds the settings.
pub async fn r14_4_an_emit_under_old_settings_is_stored_under_the_present_ones(world: &dyn World) {
    let outbox = world.capabilities().outbox.expect("the store has Outbox");
    for name in ["old", "removed"] {
        world.subscribe(SubscriptionDraft::new(name, "*")).await;
    }
    let old = outbox.event_settings().await.expect("event_settings");
    world.subscribe(SubscriptionDraft::new("new", "*").fair()).await;
    assert!(world.consumers().remove(&consumer("removed")).await.expect("remove"));
    // Its queue does not exist, and its jobs have keys.
    let admin = world.capabilities().admin.expect("the store has Admin");
    admin.remove_queue(&deliveries_of("new"), false).await.expect("remove_queue");
    let events = [event("e", "1").partition_key("k"), event("e", "2"), event("e", "1")];
    let mut events: Vec<NewEvent> = events.map(|draft| draft.build().expect("an event")).into();
    events[2] = events[0].clone();
    let settings = EventSettings::read(&old.body).expect("settings");
    let emission = settings.emission(old.version, &events).expect("an emission");
    let stored = outbox.store_events(&emission).await.expect("store_events");
    let [first, second] = [&events[0], &events[1]].map(NewEvent::id);
    let outcomes = [
        EmitOutcome::Emitted { id: first },
        EmitOutcome::Emitted { id: second },
        EmitOutcome::Duplicate { existing: first },
    ];
    assert_eq!(stored.outcomes, outcomes);
    let present = outbox.event_settings().await.expect("event_settings").version;
    let instead = stored.instead.expect("what was stored instead");
    assert_eq!(instead.version, present);
    assert!(instead.events.iter().all(|(_, deliveries)| deliveries.len() == 2));
    for (name, wanted) in [("old", &["1", "2"][..]), ("new", &["1", "2"]), ("removed", &[])] {
        assert_eq!(world.delivered(name).await, wanted, "{name}");
    }
    let stored = outbox.store_events(&instead).await.expect("store_events");
    assert!(stored.instead.is_none(), "they are the present ones");
}

/// R14.4: of two changes based on the same settings, one takes effect; a change based on older
/// settings has no effect.
/// Guard: the version in the condition of the change.
pub async fn r14_4_a_change_of_old_settings_takes_no_effect(world: &dyn World) {
    let outbox = world.capabilities().outbox.expect("the store has Outbox");
    world.subscribe(SubscriptionDraft::new("c", "*")).await;
    let old = outbox.event_settings().await.expect("event_settings");
    world.subscribe(SubscriptionDraft::new("d", "*")).await;
    let seen = outbox.event_settings().await.expect("event_settings");
    let change = async |seen| outbox.change_event_settings(seen, &old.body).await;
    assert!(!change(old.version).await.expect("change_event_settings"));
    assert!(change(seen.version).await.expect("change_event_settings"));
    assert!(!change(seen.version).await.expect("change_event_settings"));
    let stored = outbox.event_settings().await.expect("event_settings");
    assert_eq!(stored.body, old.body);
}

/// R14.4: a consumer's queue serves partition keys as the stored subscription says, not as an
/// unchanged declaration says.
/// Guard: only a change of the subscription sets up the queue.
pub async fn r14_4_a_declaration_of_old_leaves_the_queue_as_it_is(world: &dyn World) {
    let wants = || SubscriptionDraft::new("c", "*");
    let [fair, ordered] = [wants().fair(), wants().ordered()].map(|one| one.build().expect("one"));
    let per_key = async || {
        let queues = world.backend().all_queues().await.expect("list_queues");
        let queue = queues.into_iter().find(|queue| queue.name.as_str() == "event.c");
        queue.expect("its queue").settings.per_key
    };
    world.consumers().declare(&fair).await.expect("declare");
    let beside = per_key().await;
    assert!(beside > 1);
    world.consumers().put(&ordered).await.expect("put");
    assert_eq!(per_key().await, 1, "put of an ordered subscription should set per_key to 1");
    assert_eq!(world.consumers().declare(&fair).await.expect("declare"), Declared::Unchanged);
    assert_eq!(per_key().await, 1);
    assert_eq!(world.consumers().declare(&ordered).await.expect("declare"), Declared::Changed);
    world.consumers().put(&fair).await.expect("put");
    assert_eq!(world.consumers().declare(&ordered).await.expect("declare"), Declared::Unchanged);
    assert_eq!(per_key().await, beside);
}

/// R14.4: a declaration that differs from the last one takes effect, but does not enable a consumer
/// that an operator has disabled; put replaces all.
/// Guard: a declaration leaves `enabled` of an existing subscription unchanged.
pub async fn r14_4_a_declaration_enables_nothing_an_operator_disabled(world: &dyn World) {
    let wants = |events| SubscriptionDraft::new("c", events);
    let stored = async || world.consumers().get(&consumer("c")).await.expect("get").expect("one");
    assert_eq!(world.subscribe(wants("a")).await, Declared::Created);
    world.consumers().set_enabled(&consumer("c"), false).await.expect("set_enabled");
    assert_eq!(world.subscribe(wants("b")).await, Declared::Changed);
    let now = stored().await;
    assert!(!now.is_enabled() && now.events().to_string() == "b", "{now:?}");
    world.consumers().set_enabled(&consumer("c"), true).await.expect("set_enabled");
    assert_eq!(world.subscribe(wants("b").enabled(false)).await, Declared::Unchanged);
    assert!(stored().await.is_enabled());
    let put = wants("b").enabled(false).build().expect("a subscription");
    assert!(!world.consumers().put(&put).await.expect("put"));
    assert_eq!(stored().await, put);
    assert!(world.consumers().remove(&consumer("c")).await.expect("remove"));
    assert_eq!(world.subscribe(wants("b").enabled(false)).await, Declared::Created);
    assert!(!stored().await.is_enabled(), "a subscription created as disabled should be disabled");
}

/// R14.4: an invalid subscription is refused before anything is stored.
/// Guard: the types cannot hold an invalid subscription.
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

/// R14.7: the failures of a consumer do not affect others. Its dead deliveries keep their errors
/// and can be retried, and its figures show them.
/// Guard: each consumer has its own queue of deliveries.
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
    assert_eq!((good.totals.completed, good.totals.dead, good.totals.cancelled), (4, 0, 0));
    assert!(good.latency.is_some_and(|(median, late)| median <= late), "{good:?}");
    let bad = world.consumers().stats(&consumer("bad")).await.expect("stats");
    assert_eq!((bad.depth, bad.dead, bad.latency), (1, 4, None), "{bad:?}");
    assert_eq!((bad.totals.completed, bad.totals.dead, bad.totals.cancelled), (0, 4, 0));
    assert!((bad.failure_rate - 1.0).abs() < f64::EPSILON);
    let dead: Vec<_> = world.deliveries("bad").await;
    let dead = dead.iter().find(|job| job.state == State::Dead).expect("a dead letter");
    assert_eq!(dead.errors.len(), 2);
    let nobody = world.consumers().stats(&consumer("nobody")).await;
    assert_eq!(kind_of(nobody), ErrorKind::NotFound);
}

/// R14.7: a full queue of one consumer causes no event to be refused, and the consumer still gets
/// the event.
/// Guard: `max_pending` does not apply to deliveries.
pub async fn r14_7_a_full_queue_refuses_no_event(world: &dyn World) {
    for name in ["full", "other"] {
        world.subscribe(SubscriptionDraft::new(name, "*")).await;
    }
    let bound = QueuePatch::default().max_pending(1);
    world.configure(&deliveries_of("full"), bound).await;
    for n in 0..3 {
        world.emit(event("e", &n.to_string())).await;
    }
    assert_eq!(world.delivered("full").await, ["0", "1", "2"]);
    assert_eq!(world.delivered("other").await, ["0", "1", "2"]);
    let again = Replay::new(consumer("full"), "again", ReplayFrom::Beginning);
    assert_eq!(world.consumers().replay_all(again).await.expect("replay"), 3);
    assert_eq!(world.deliveries("full").await.len(), 6);
}

/// R14.7: deliveries wait as long as event and subscription say.
/// Guard: the delays of event and subscription are added.
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
