//! What needs attention, in words: the dashboard shows it in a browser, and `queuekit top` in a
//! terminal.

use std::time::Duration;

use queuekit::queues::Queue;
use queuekit::{Status, Timestamp};

use super::view::{Count, Ms};
use crate::wire::ErrorGroupBody;

/// A ready job that has waited for longer is late.
const LATE: Duration = Duration::from_secs(60);
/// An error group that began within this time is new.
const NEW: Duration = Duration::from_secs(3600);
/// A worker is late if its last beat is older: it sends one every 10 s.
const SILENT: Duration = Duration::from_secs(25);
/// A queue is nearly full with this share of what it may hold, in percent.
const FULL: u64 = 90;
/// Below this, a queue is ill.
const ILL: u8 = 50;

/// Something that needs attention: a sentence, with where to look.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) urgency: Urgency,
    pub(crate) sentence: String,
    pub(crate) detail: String,
    pub(crate) place: Place,
    pub(crate) since: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Urgency {
    Error,
    Warning,
    Info,
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Jobs that match this filter.
    Jobs(String),
    Queue(String),
    ErrorGroup {
        id: String,
        queue: String,
    },
    Schedule(String),
    Consumer(String),
    Workers,
    Doctor,
}

impl Found {
    pub(crate) fn new(urgency: Urgency, sentence: String, place: Place) -> Self {
        Self { urgency, sentence, detail: String::new(), place, since: None }
    }

    pub(crate) fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    pub(crate) fn since(mut self, since: Timestamp) -> Self {
        self.since = Some(since);
        self
    }
}

/// What is wrong with a queue, if anything: the cause, and not also its consequences.
pub(crate) fn of_queue(queue: &Queue) -> Vec<Found> {
    let name = &queue.name;
    let page = || Place::Queue(name.to_string());
    let count = |status| Count::from(queue.counts.get(status));
    let mut found = Vec::new();
    if queue.corrupt > 0 {
        let sentence =
            format!("{name} has {} that cannot be read", Count::exact(queue.corrupt).jobs());
        let place = Place::Doctor;
        found.push(Found::new(Urgency::Error, sentence, place).detail("Doctor says more."));
    }
    let ready = count(Status::Ready);
    let age = queue.oldest_ready_age.unwrap_or_default();
    let waited = Ms::from(age);
    if queue.settings.paused {
        if !ready.is_zero() {
            let sentence = format!("{name} is paused, with {} ready", ready.jobs());
            let mut detail = format!("The oldest has waited {waited}.");
            if let Some(left) = queue.pause_left() {
                detail += &format!(" The pause ends in {}.", Ms::from(left));
            }
            if let Some(reason) = &queue.settings.pause_reason {
                detail += &format!(" Reason: {reason}");
            }
            found.push(Found::new(Urgency::Info, sentence, page()).detail(detail));
        }
    } else if queue.workers == 0 && !ready.is_zero() {
        let sentence = format!("{name} has {} ready and no worker", ready.jobs());
        let detail = format!("The oldest has waited {waited}. Start a worker that serves it.");
        found.push(Found::new(Urgency::Error, sentence, page()).detail(detail));
    } else if age >= LATE {
        let sentence = format!("The oldest ready job of {name} has waited {waited}");
        let detail = format!("{} ready, {} workers.", ready.jobs(), queue.workers);
        found.push(Found::new(Urgency::Warning, sentence, page()).detail(detail));
    } else if queue.health.score < ILL {
        let sentence = format!("The health of {name} is {} of 100", queue.health.score);
        let detail = reasons(queue).join("; ");
        found.push(Found::new(Urgency::Warning, sentence, page()).detail(detail));
    }
    let expired = count(Status::Expired);
    if !expired.is_zero() {
        let sentence = format!("{} of {name} lost their worker", expired.jobs());
        let filter = format!("queue:{name} status:expired");
        let detail = "Their leases have expired: the next reserve takes them back.";
        found.push(Found::new(Urgency::Warning, sentence, Place::Jobs(filter)).detail(detail));
    }
    let pending = queue.depth();
    if let Some(most) = queue.settings.max_pending.filter(|most| pending * 100 >= most * FULL) {
        let (pending, most) = (Count::exact(pending), Count::exact(most));
        let sentence = format!("{name} holds {pending} of at most {most} pending jobs");
        let detail = "At the limit, an enqueue is refused.";
        found.push(Found::new(Urgency::Warning, sentence, page()).detail(detail));
    }
    found
}

/// The causes of lost points of health, without the points: `2 of the last 20 ended jobs died`.
pub(crate) fn reasons(queue: &Queue) -> Vec<String> {
    let without = |reason: &String| match reason.split_once(": ") {
        Some((_, why)) => why.to_owned(),
        None => reason.clone(),
    };
    queue.health.reasons.iter().map(without).collect()
}

/// A worker that has not sent a beat for long.
pub(crate) fn of_worker(name: &str, id: &str, age: Duration, quiet_for: Duration) -> Option<Found> {
    let name = if name.is_empty() { id } else { name };
    let sentence = format!("Worker {name} was last heard of {} ago", Ms::from(age));
    let detail = "It hangs, has died, or does not reach the store. Others take its jobs over.";
    let found = Found::new(Urgency::Warning, sentence, Place::Workers).detail(detail);
    is_silent(age, quiet_for).then_some(found)
}

/// Whether a beat is missing.
pub(crate) fn is_silent(age: Duration, quiet_for: Duration) -> bool {
    age > SILENT + quiet_for
}

/// Whether a group of errors that began then is new.
pub(crate) fn is_new(first: Timestamp, store_now: Timestamp) -> bool {
    store_now.since(first) <= NEW
}

/// A new group of errors.
pub(crate) fn of_group(group: &ErrorGroupBody) -> Found {
    let ErrorGroupBody { id, queue, kind, signature, failures, deaths, first, note, .. } = group;
    let (failures, dead) = (Count::exact(*failures), Count::exact(*deaths));
    let urgency = if *deaths > 0 { Urgency::Error } else { Urgency::Warning };
    let place = Place::ErrorGroup { id: id.clone(), queue: queue.clone() };
    let note = note.as_ref().map(|note| format!("; note of {}: {}", note.by, note.text));
    let note = note.unwrap_or_default();
    Found::new(urgency, format!("New error in {queue}: {signature}"), place)
        .detail(format!("{kind}: {}, {dead} dead{note}", failures.of("failure")))
        .since(first.0)
}

/// A schedule whose job was due then.
pub(crate) fn of_schedule(name: &str, due: Timestamp, as_of: Timestamp) -> Option<Found> {
    let sentence = format!("Schedule {name} is late");
    let detail = "No server or worker with a caretaker has enqueued its job.";
    let found = Found::new(Urgency::Error, sentence, Place::Schedule(name.to_owned()));
    (as_of.since(due) > LATE).then(|| found.detail(detail).since(due))
}
