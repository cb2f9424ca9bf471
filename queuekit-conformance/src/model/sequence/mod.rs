//! The operations of a random sequence. Times are multiples of whole seconds, so that a millisecond
//! per operation decides every order on every clock.

mod events;
mod schedules;

use std::time::Duration;

use fastrand::Rng;
use queuekit_core::queue::{Keep, KeyOnDead, KeyOnWait, Order, Retention};
use queuekit_core::{JobDraft, NackKind, NewJob, Priority, QueueName, QueuePatch};

pub(super) use events::{CONSUMERS, EventAction, event, event_retention, pattern, subscription};
pub(super) use schedules::{SCHEDULES, ScheduleAction, schedule};

/// A strict queue of mostly plain jobs, a strict one of keys, and a fair one.
pub(super) const QUEUES: [&str; 3] = ["alpha", "beta", "gamma"];
const FAIR: &str = "gamma";

/// The operations that can come next, with their weights.
#[derive(Clone, Copy, Debug)]
pub(super) enum Action {
    Enqueue,
    Repeat,
    Reserve,
    Ack,
    Nack,
    DeadLetterLease,
    DeadLetterJob,
    Cancel,
    Delete,
    Retry,
    Reschedule,
    Extend,
    Report,
    Corrupt,
    Pause,
    Configure,
    Advance,
    Prune,
    Event(EventAction),
    Schedule(ScheduleAction),
}

const WEIGHTS: [(Action, u32); 32] = [
    (Action::Enqueue, 18),
    (Action::Repeat, 3),
    (Action::Reserve, 22),
    (Action::Ack, 8),
    (Action::Nack, 12),
    (Action::DeadLetterLease, 2),
    (Action::DeadLetterJob, 5),
    (Action::Cancel, 8),
    (Action::Delete, 5),
    (Action::Retry, 6),
    (Action::Reschedule, 3),
    (Action::Extend, 3),
    (Action::Report, 3),
    (Action::Corrupt, 2),
    (Action::Pause, 1),
    (Action::Configure, 8),
    (Action::Advance, 12),
    (Action::Prune, 4),
    (Action::Event(EventAction::Subscribe), 3),
    (Action::Event(EventAction::Declare), 2),
    (Action::Event(EventAction::Unsubscribe), 1),
    (Action::Event(EventAction::Emit), 10),
    (Action::Event(EventAction::List), 3),
    (Action::Event(EventAction::Replay), 3),
    (Action::Event(EventAction::Retain), 2),
    (Action::Event(EventAction::Stats), 2),
    (Action::Schedule(ScheduleAction::Put), 4),
    (Action::Schedule(ScheduleAction::Pause), 2),
    (Action::Schedule(ScheduleAction::Delete), 1),
    (Action::Schedule(ScheduleAction::RunNow), 2),
    (Action::Schedule(ScheduleAction::Tick), 6),
    (Action::Schedule(ScheduleAction::Upcoming), 2),
];

pub(super) fn action(rng: &mut Rng) -> Action {
    let mut left = rng.u32(0..WEIGHTS.iter().map(|(_, weight)| weight).sum());
    for (action, weight) in WEIGHTS {
        if left < weight {
            return action;
        }
        left -= weight;
    }
    Action::Advance
}

/// Each queue's settings, at the start of a sequence.
pub(super) fn settings(rng: &mut Rng, queue: &str) -> QueuePatch {
    let some = |rng: &mut Rng, value| rng.bool().then_some(value);
    let ten_minutes = Some(Duration::from_secs(600));
    let keep = |rng: &mut Rng| Keep::ALL.max_age(ten_minutes).max_jobs(some(rng, 3));
    let retention = Retention::ALL.done(keep(rng)).dead(keep(rng));
    QueuePatch::default()
        .per_key(rng.u32(1..=3))
        .key_on_wait(if rng.bool() { KeyOnWait::Block } else { KeyOnWait::Skip })
        .key_on_dead(if rng.bool() { KeyOnDead::Continue } else { KeyOnDead::Hold })
        .order(if queue == FAIR { Order::Fair } else { Order::Strict })
        .max_pending(some(rng, 6))
        .dedup_window(Duration::from_secs(60))
        .retention(retention)
}

/// One change of what decides which jobs of a key are next, while jobs wait and run.
pub(super) fn change(rng: &mut Rng, queue: &str) -> QueuePatch {
    let patch = QueuePatch::default();
    match rng.u8(..if may_be_fair(queue) { 6 } else { 3 }) {
        0 => patch.per_key(rng.u32(1..=4)),
        1 => patch.key_on_wait(if rng.bool() { KeyOnWait::Block } else { KeyOnWait::Skip }),
        2 => patch.key_on_dead(if rng.bool() { KeyOnDead::Continue } else { KeyOnDead::Hold }),
        _ => patch.order(if rng.bool() { Order::Fair } else { Order::Strict }),
    }
}

/// A fair queue has no jobs that are unreadable or too late, because the contract does not say when
/// such a job dies there.
fn may_be_fair(queue: &str) -> bool {
    queue == FAIR || !QUEUES.contains(&queue)
}

pub(super) fn job(rng: &mut Rng) -> NewJob {
    let queue = QUEUES[rng.usize(..QUEUES.len())];
    let payload = format!("{{\"n\":{}}}", rng.u32(..));
    let mut draft = JobDraft::new("kind", payload)
        .queue(queue)
        .priority(Priority::new(10 * rng.u8(0..3)).expect("0, 10 or 20"))
        .max_attempts(rng.u32(1..=3));
    if rng.u8(..10) < 3 {
        draft = draft.delay(seconds(rng, &[5, 10, 25]));
    }
    // In each queue there are jobs with and without a key; in the fair one, as many of both.
    let keyed = match queue {
        "alpha" => 2,
        FAIR => 5,
        _ => 8,
    };
    if rng.u8(..10) < keyed {
        draft = draft.partition_key(format!("key-{}", rng.u8(..3)));
    }
    if rng.u8(..10) < 3 {
        draft = draft.idempotency_key(format!("once-{}", rng.u8(..4)));
        if rng.bool() {
            draft = draft.unique_until_done();
        }
    }
    if queue != FAIR && rng.u8(..10) < 2 {
        draft = draft.deadline(seconds(rng, &[7, 20]));
    }
    draft.build().expect("a valid job")
}

/// Whether the sequence may make jobs of this queue unreadable.
pub(super) fn may_corrupt(queue: &QueueName) -> bool {
    queue.as_str() != FAIR && QUEUES.contains(&queue.as_str())
}

pub(super) fn nack_kind(rng: &mut Rng) -> NackKind {
    match rng.u8(..10) {
        0..=4 => NackKind::Retry,
        5..=6 => NackKind::Release,
        7..=8 => NackKind::Fatal,
        _ => NackKind::Cancelled,
    }
}

pub(super) fn pause_of_time(rng: &mut Rng) -> Duration {
    seconds(rng, &[1, 5, 5, 10, 10, 31, 31, 61, 700])
}

pub(super) fn seconds(rng: &mut Rng, choices: &[u64]) -> Duration {
    Duration::from_secs(choices[rng.usize(..choices.len())])
}

pub(super) fn one_of<T: Copy>(rng: &mut Rng, of: &[T]) -> T {
    of[rng.usize(..of.len())]
}
