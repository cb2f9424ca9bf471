//! Events and subscriptions.

use std::time::Duration;

use fastrand::Rng;
use queuekit_core::event::EventRetention;
use queuekit_core::{EventDraft, SubscriptionDraft};

use super::{one_of, seconds};

pub(in crate::model) const CONSUMERS: [&str; 3] = ["first", "second", "third"];

#[derive(Clone, Copy, Debug)]
pub(in crate::model) enum EventAction {
    Subscribe,
    Declare,
    Unsubscribe,
    Emit,
    List,
    Replay,
    Retain,
    Stats,
}

pub(in crate::model) fn pattern(rng: &mut Rng) -> &'static str {
    one_of(rng, &["*", "*", "order.*", "order.paid", "other"])
}

pub(in crate::model) fn subscription(rng: &mut Rng) -> SubscriptionDraft {
    let mut draft = SubscriptionDraft::new(one_of(rng, &CONSUMERS), pattern(rng))
        .max_attempts(rng.u32(1..=3))
        .delay(seconds(rng, &[0, 0, 0, 5]))
        .enabled(rng.u8(..5) > 0);
    if rng.bool() {
        draft = draft.ordered();
    }
    if rng.bool() {
        draft = draft.fair();
    }
    draft
}

/// Data of a few bytes, or more than is copied into deliveries.
pub(in crate::model) fn event(rng: &mut Rng) -> EventDraft {
    let kind = one_of(rng, &["order.paid", "order.sent", "other"]);
    let data = format!("{:x}", rng.u32(..)).repeat(if rng.u8(..3) == 0 { 400 } else { 1 });
    let mut draft = EventDraft::new(kind, data);
    if rng.bool() {
        draft = draft.partition_key(format!("key-{}", rng.u8(..3)));
    }
    if rng.u8(..4) == 0 {
        draft = draft.idempotency_key(format!("once-{}", rng.u8(..6)));
    }
    draft
}

pub(in crate::model) fn event_retention(rng: &mut Rng) -> EventRetention {
    let age = Duration::from_secs(one_of(rng, &[600, 86_400]));
    EventRetention::new(age, one_of(rng, &[1, 3, 1_000])).expect("a valid retention")
}
