//! What needs attention: each a sentence, with where to look.

use std::time::Duration;

use queuekit::queues::Queue;
use queuekit::{Status, Timestamp};

use super::queue_rows::{health, store_time};
use super::text::{jobs_url, query};
use crate::ui::live::Snapshot;
use crate::ui::view::{Concern, Count, Ms, When};
use crate::ui::viewer::Viewer;
use crate::web::auth::Caller;

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

/// Something that needs attention.
pub(in crate::ui) struct Found {
    pub(super) urgency: Urgency,
    sentence: String,
    detail: String,
    /// Without the base path.
    place: Place,
    since: Option<Timestamp>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Urgency {
    Error,
    Warning,
    Info,
}

/// Where to look.
enum Place {
    Jobs(String),
    Page(String),
}

impl Found {
    fn new(urgency: Urgency, sentence: String, place: Place) -> Self {
        Self { urgency, sentence, detail: String::new(), place, since: None }
    }

    fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = detail.into();
        self
    }

    pub(super) fn concern(self, base: &str, now: Timestamp) -> Concern {
        let shape = match self.urgency {
            Urgency::Error => "error",
            Urgency::Warning => "warning",
            Urgency::Info => "info",
        };
        let url = match self.place {
            Place::Jobs(filter) => jobs_url(base, &filter),
            Place::Page(path) => format!("{base}{path}"),
        };
        let since = self.since.map(|since| When::of(since, now));
        let (sentence, detail) = (self.sentence, self.detail);
        Concern { shape, sentence, detail, url, since, action: None, link: None }
    }
}

/// What is wrong with a queue, if anything: the cause, and not also its consequences.
pub(super) fn of_queue(queue: &Queue) -> Vec<Found> {
    let name = &queue.name;
    let page = || Place::Page(format!("/ui/queues/{name}"));
    let count = |status| Count::from(queue.counts.get(status));
    let mut found = Vec::new();
    if queue.corrupt > 0 {
        let sentence =
            format!("{name} has {} that cannot be read", Count::exact(queue.corrupt).jobs());
        let place = Place::Page("/ui/doctor".to_owned());
        found.push(Found::new(Urgency::Error, sentence, place).detail("Doctor says more."));
    }
    let ready = count(Status::Ready);
    let age = queue.oldest_ready_age.unwrap_or_default();
    let waited = Ms::from(age);
    if queue.settings.paused {
        if !ready.is_zero() {
            let sentence = format!("{name} is paused, with {} ready", ready.jobs());
            let detail = format!("The oldest has waited {waited}.");
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
        let detail = health(queue).reasons.join("; ");
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

/// Workers that have not sent a beat for long.
pub(super) fn of_workers(viewer: &Viewer, now: &Snapshot) -> Vec<Found> {
    let workers = now.figures.iter().flat_map(|figures| &figures.workers);
    let mut found = Vec::new();
    for worker in workers.filter(|worker| is_silent(worker.age, worker.beat.quiet_for)) {
        let Some(seen) = super::workers::seen(viewer.caller(), worker) else { continue };
        let name = if seen.name.is_empty() { &seen.id } else { &seen.name };
        let sentence = format!("Worker {name} was last heard of {} ago", Ms::from(worker.age));
        let place = Place::Page("/ui/workers".to_owned());
        let detail = "It hangs, has died, or does not reach the store. Others take its jobs over.";
        found.push(Found::new(Urgency::Warning, sentence, place).detail(detail));
    }
    found
}

/// Whether a beat is missing.
pub(in crate::ui) fn is_silent(age: Duration, quiet_for: Duration) -> bool {
    age > SILENT + quiet_for
}

/// New errors, late schedules and disabled consumers.
pub(super) fn of_extras(viewer: &Viewer, now: &Snapshot) -> Vec<Found> {
    let (caller, extras) = (viewer.caller(), &now.extras);
    let mut found = Vec::new();
    let store_now = store_time(viewer, now);
    for group in &*extras.groups {
        let (queue, kind) = (group.queue.as_str(), group.key.kind.as_str());
        let is_seen = caller.sees_queue(queue) && caller.sees_kind(kind);
        if !is_seen || store_now.since(group.first) > NEW {
            continue;
        }
        let sentence = format!("New error in {queue}: {}", group.key.signature);
        let place = format!("/ui/errors/{}?queue={}", group.key.id(), query(queue));
        let (failures, deaths) = (Count::exact(group.failures), Count::exact(group.deaths));
        let detail = format!("{kind}: {}, {deaths} dead", failures.of("failure"));
        let urgency = if group.deaths > 0 { Urgency::Error } else { Urgency::Warning };
        let mut new = Found::new(urgency, sentence, Place::Page(place)).detail(detail);
        new.since = Some(group.first);
        found.push(new);
    }
    found.extend(of_schedules(caller, now));
    for consumer in extras.consumers.iter().filter(|consumer| !consumer.is_enabled()) {
        if !caller.sees_queue(&format!("event.{}", consumer.consumer())) {
            continue;
        }
        let name = consumer.consumer();
        let sentence = format!("Consumer {name} is disabled");
        let place = Place::Page(format!("/ui/consumers/{name}"));
        let detail = "Events make no deliveries for it; a replay can deliver them later.";
        found.push(Found::new(Urgency::Info, sentence, place).detail(detail));
    }
    found
}

fn of_schedules(caller: &Caller, now: &Snapshot) -> Vec<Found> {
    // A row does not say of which queue and kind its job is.
    if caller.is_bound() {
        return Vec::new();
    }
    let extras = &now.extras;
    let late = extras.due.iter().filter(|(_, due)| extras.due_as_of.since(*due) > LATE);
    let found = |(name, due): &(_, Timestamp)| {
        let sentence = format!("Schedule {name} is late");
        let detail = "No server or worker with a caretaker has enqueued its job.";
        let place = Place::Page(format!("/ui/schedules/{name}"));
        let mut found = Found::new(Urgency::Error, sentence, place).detail(detail);
        found.since = Some(*due);
        found
    };
    late.map(found).collect()
}
