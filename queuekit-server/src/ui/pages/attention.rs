//! What needs attention, as far as the viewer may see it.

use std::collections::HashMap;

use queuekit::Timestamp;
use queuekit::events::Subscription;
use queuekit::queues::Queue;

use super::errors::body;
use super::queue_rows::{queues_of, store_time};
use super::text::{jobs_url, query};
use super::{bulk, consumer, error_group, queue, schedules};
use crate::ui::attention::{self, Found, Place, Remedy, Urgency};
use crate::ui::live::{DueSchedule, Snapshot};
use crate::ui::view::{Action, Concern, When};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::web::auth::Caller;

/// It on a page, with a link to where to look, and what can be done about it.
pub(super) fn concern(viewer: &Viewer, found: Found, now: Timestamp) -> Concern {
    let base = viewer.base();
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
    let (action, link) = match found.remedy.map(|remedy| offer(viewer, remedy)) {
        Some(Offer::Action(action)) => (Some(action), None),
        Some(Offer::Link(url, text)) => (None, Some((url, text))),
        None => (None, None),
    };
    let Found { sentence, detail, .. } = found;
    Concern { shape, sentence, detail, url, since, action, link }
}

/// What is beside a sentence: a button, or a link to the page that asks first.
enum Offer {
    Action(Action),
    Link(String, String),
}

/// The buttons of other pages, with ids of their own: several sentences can have the same.
fn offer(viewer: &Viewer, remedy: Remedy) -> Offer {
    let with_id = |mut action: Action, name: &str| {
        action.id = format!("attention-{}-{name}", action.id);
        Offer::Action(action)
    };
    match remedy {
        Remedy::ResumeQueue(name) => with_id(queue::resume(viewer, &name), &name),
        Remedy::RunSchedule(name) => with_id(schedules::run(viewer, &name), &name),
        Remedy::EnableConsumer(name) => with_id(consumer::turn(viewer, &name, false), &name),
        Remedy::RetryDead { group, queue: name, kind } => {
            let words = error_group::words(&name, &kind, &group);
            let url = format!("{}&over=10m", bulk::url(viewer.base(), "retry", &words));
            let label = "Retry all";
            match queue::why_not_admin(viewer) {
                None => Offer::Link(url, label.to_owned()),
                Some(why) => {
                    let action = Action::new("retry", url, &viewer.csrf(), label);
                    with_id(action.impossible(why), &format!("{name}-{group}"))
                }
            }
        }
    }
}

/// What is wrong with queues, and with the consumers whose deliveries they hold.
pub(super) fn of_queues(viewer: &Viewer, now: &Snapshot) -> Vec<Found> {
    let consumers = now.extras.consumers.iter().flat_map(|all| all.iter());
    let names = consumers.map(Subscription::consumer);
    let consumers: HashMap<_, _> = names.map(|name| (format!("event.{name}"), name)).collect();
    let of_queue = |queue: &Queue| {
        let consumer = consumers.get(queue.name.as_str());
        attention::of_queue(queue, consumer.map(|name| name.as_str()))
    };
    queues_of(viewer, now).flat_map(of_queue).collect()
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

/// New errors, late schedules, disabled consumers, and what the store finds wrong.
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
        let enable = Remedy::EnableConsumer(name.to_string());
        found.push(Found::new(Urgency::Info, sentence, place).detail(detail).remedy(enable));
    }
    if sees_findings(caller) {
        found.extend(extras.findings.iter().filter_map(attention::of_finding));
    }
    found
}

/// As on the page of `doctor`: what the store finds wrong is about all queues.
fn sees_findings(caller: &Caller) -> bool {
    caller.has(Scope::Admin) && !caller.is_bound()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::web::auth::tests::{caller_for, caller_for_kind, caller_of};

    #[test]
    fn s11_only_an_unrestricted_admin_sees_what_the_store_finds_wrong() {
        assert!(sees_findings(&Caller::anybody(None)), "on a server without keys");
        assert!(!sees_findings(&caller_for("mails", Scope::Admin)));
        assert!(!sees_findings(&caller_for_kind("mail", Scope::Admin)));
        assert!(!sees_findings(&caller_of("w", 5)));
    }
}
