//! What needs attention, as far as the viewer may see it.

use queuekit::Timestamp;

use super::errors::body;
use super::queue_rows::store_time;
use super::text::{jobs_url, query};
use crate::ui::attention::{self, Found, Place, Urgency};
use crate::ui::live::{DueSchedule, Snapshot};
use crate::ui::view::{Concern, When};
use crate::ui::viewer::Viewer;
use crate::web::auth::Caller;

/// It on a page, with a link to where to look.
pub(super) fn concern(found: Found, base: &str, now: Timestamp) -> Concern {
    let shape = match found.urgency {
        Urgency::Error => "error",
        Urgency::Warning => "warning",
        Urgency::Info => "info",
    };
    let url = match &found.place {
        Place::Jobs(filter) => jobs_url(base, filter),
        Place::Queue(name) => format!("{base}/ui/queues/{name}"),
        Place::ErrorGroup { id, queue } => format!("{base}/ui/errors/{id}?queue={}", query(queue)),
        Place::Schedule(name) => format!("{base}/ui/schedules/{name}"),
        Place::Consumer(name) => format!("{base}/ui/consumers/{name}"),
        Place::Workers => format!("{base}/ui/workers"),
        Place::Doctor => format!("{base}/ui/doctor"),
    };
    let since = found.since.map(|since| When::of(since, now));
    let Found { sentence, detail, .. } = found;
    Concern { shape, sentence, detail, url, since, action: None, link: None }
}

/// Workers that have not sent a beat for long.
pub(super) fn of_workers(viewer: &Viewer, now: &Snapshot) -> Vec<Found> {
    let workers = now.figures.iter().flat_map(|figures| &figures.workers);
    let found = |worker: &_| {
        let seen = super::workers::seen(viewer.caller(), worker)?;
        attention::of_worker(&seen.name, &seen.id, worker.age, worker.beat.quiet_for)
    };
    workers.filter_map(found).collect()
}

/// New errors, late schedules and disabled consumers.
pub(super) fn of_extras(viewer: &Viewer, now: &Snapshot) -> Vec<Found> {
    let (caller, extras) = (viewer.caller(), &now.extras);
    let store_now = store_time(viewer, now);
    let new = extras.groups.iter().filter(|group| {
        caller.sees_queue(group.queue.as_str())
            && caller.sees_kind(group.key.kind.as_str())
            && attention::is_new(group.first, store_now)
    });
    let mut found: Vec<Found> = new.map(|group| attention::of_group(&body(group, now))).collect();
    found.extend(of_schedules(caller, now));
    let consumers = extras.consumers.iter().flat_map(|all| all.iter());
    for consumer in consumers.filter(|consumer| !consumer.is_enabled()) {
        if !caller.sees_queue(&format!("event.{}", consumer.consumer())) {
            continue;
        }
        let name = consumer.consumer();
        let sentence = format!("Consumer {name} is disabled");
        let place = Place::Consumer(name.to_string());
        let detail = "Events make no deliveries for it; a replay can deliver them later.";
        found.push(Found::new(Urgency::Info, sentence, place).detail(detail));
    }
    found
}

fn of_schedules(caller: &Caller, now: &Snapshot) -> Vec<Found> {
    let extras = &now.extras;
    let is_seen = |due: &&DueSchedule| match &due.target {
        Some((queue, kind)) => caller.sees_queue(queue.as_str()) && caller.sees_kind(kind.as_str()),
        None => !caller.is_bound(),
    };
    let seen = extras.due.iter().filter(is_seen);
    seen.filter_map(|due| attention::of_schedule(due.name.as_str(), due.at, extras.due_as_of))
        .collect()
}
