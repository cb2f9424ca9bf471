//! What needs attention, as far as the viewer may see it.

use std::borrow::Cow;

use queuekit::Timestamp;
use queuekit::error_groups::ErrorGroup;
use queuekit::events::Subscription;
use queuekit::workers::WorkerInfo;

use super::errors::body;
use super::queue_rows::{queues_of, store_time};
use super::text::{jobs_url, query};
use super::{bulk, consumer, error_group, queue, schedules};
use crate::ui::attention::{Consumer, Due, Found, Place, Remedy, Seen, SeenQueue, Urgency, Worker};
use crate::ui::live::{DueSchedule, Snapshot};
use crate::ui::view::{Action, Concern, When};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::web::auth::Caller;

/// The minutes over which a backlog is compared.
const GROWTH_MINUTES: u32 = 5;

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

/// All that needs attention, the most urgent first.
pub(super) fn concerns(viewer: &Viewer, now: &Snapshot) -> Vec<Found> {
    let (caller, extras) = (viewer.caller(), &now.extras);
    let workers = now.figures.iter().flat_map(|figures| &figures.workers);
    let is_seen = |group: &&ErrorGroup| {
        caller.sees_queue(group.queue.as_str()) && caller.sees_kind(group.key.kind.as_str())
    };
    let groups = extras.groups.iter().filter(is_seen);
    let queues = queues_of(viewer, now).map(|queue| {
        let growth = extras.trend.growth(&queue.name, GROWTH_MINUTES, queue.as_of);
        SeenQueue { queue, growth }
    });
    let seen = Seen {
        queues: queues.collect(),
        consumers: consumers(caller, now),
        workers: workers.filter_map(|worker| seen_worker(caller, worker)).collect(),
        groups: groups.map(|group| Cow::Owned(body(group, now))).collect(),
        due: due(caller, now),
        findings: if sees_findings(caller) { &extras.findings } else { &[] },
        store_now: store_time(viewer, now),
    };
    seen.concerns()
}

fn consumers<'a>(caller: &Caller, now: &'a Snapshot) -> Vec<Consumer<'a>> {
    let all = now.extras.consumers.iter().flat_map(|all| all.iter());
    let seen = all.filter(|one| caller.sees_queue(&format!("event.{}", one.consumer())));
    let consumer = |one: &'a Subscription| Consumer {
        name: one.consumer().as_str().into(),
        is_enabled: one.is_enabled(),
    };
    seen.map(consumer).collect()
}

fn seen_worker(caller: &Caller, worker: &WorkerInfo) -> Option<Worker<'static>> {
    let (age, quiet_for) = (worker.age, worker.beat.quiet_for);
    let worker = super::workers::seen(caller, worker)?;
    Some(Worker { id: worker.id.into(), name: worker.name.into(), age, quiet_for })
}

fn due<'a>(caller: &Caller, now: &'a Snapshot) -> Vec<Due<'a>> {
    let is_seen = |due: &&DueSchedule| match &due.target {
        Some((queue, kind)) => caller.sees_queue(queue.as_str()) && caller.sees_kind(kind.as_str()),
        None => !caller.is_bound(),
    };
    let as_of = now.extras.due_as_of;
    let due = |due: &'a DueSchedule| Due { name: due.name.as_str(), at: due.at, as_of };
    now.extras.due.iter().filter(is_seen).map(due).collect()
}

/// As on the page of `doctor`: what the store finds wrong is about all queues.
fn sees_findings(caller: &Caller) -> bool {
    caller.has(Scope::Admin) && !caller.is_bound()
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
