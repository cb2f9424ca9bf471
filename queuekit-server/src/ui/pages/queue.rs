//! `/ui/queues/NAME`: one queue.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use axum::extract::{Path, Query};
use axum::response::Response;
use queuekit::queues::{Keep, KeyOnDead, KeyOnWait, Order, Queue};
use queuekit::{Job, QueueName, Status};

use super::history::{self, Range, RangeQuery};
use super::queue_limits::limits;
use super::queue_rows::{Slots, health, pause, queues_of, store_time};
use super::text::jobs_url;
use super::workers;
use crate::grammar::Span;
use crate::grammar::filter::written;
use crate::ui::failure::Failure;
use crate::ui::live::Snapshot;
use crate::ui::view::{
    Action, Count, InputKind, Mark, Ms, Page, QueueHead, QueuePage, Setting, SettingsForm,
    StateBar, StatePart, Tally, TallyRow, Tone, When,
};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::{AuditBody, AuditEntryBody, JobsBody};

/// How long a pause lasts: what is sent, and what is shown.
const PAUSES: &[(&str, &str)] = &[
    ("", "when it is resumed"),
    ("15m", "after 15 minutes"),
    ("30m", "after 30 minutes"),
    ("1h", "after 1 hour"),
    ("4h", "after 4 hours"),
];
/// How many jobs of a status are looked at for the kinds and keys that wait.
const SAMPLE: usize = 500;
/// How many entries of the audit log are looked through.
const ENTRIES: usize = 200;
/// The most kinds that are shown.
const KINDS: usize = 20;
/// The most partition keys that are shown.
const KEYS: usize = 50;

pub(in crate::ui) async fn show(
    viewer: Viewer,
    Path(name): Path<String>,
    Query(query): Query<RangeQuery>,
) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let name = QueueName::new(name)?;
    let now = viewer.ui.0.board.now().await;
    let Some(queue) = found(&viewer, &now, name.as_str()) else {
        return Err(Failure::not_found(&format!("the queue {name}")));
    };
    let range = Range::of(&query);
    let charts = history::charts(&viewer, Some(name.as_str()), range, &now).await?;
    let (kinds, keys) = waiting(&viewer, queue, &now).await?;
    let path = format!("/ui/queues/{name}");
    let page = QueuePage {
        shell: viewer.shell(Page::Queues, name.as_str(), &now),
        head: head(&viewer, &now, queue),
        ranges: range.links(viewer.base(), &path),
        throughput: charts.throughput,
        latency: charts.latency,
        kinds,
        keys,
        workers: workers::table(&viewer, &now, Some(name.as_str())),
        settings: settings(&viewer, queue, last_change(&viewer, &name, &now).await),
        actions: actions(&viewer, queue),
        name: name.to_string(),
    };
    viewer.show(&page).await
}

/// The queue, if the viewer may see it.
pub(in crate::ui) fn found<'a>(
    viewer: &Viewer,
    now: &'a Snapshot,
    name: &str,
) -> Option<&'a Queue> {
    queues_of(viewer, now).find(|queue| queue.name.as_str() == name)
}

pub(in crate::ui) fn head(viewer: &Viewer, now: &Snapshot, queue: &Queue) -> QueueHead {
    let in_use = Slots::of(now).serving(queue.name.as_str()).unwrap_or_default();
    let part = |status: Status| StatePart {
        mark: Mark::status(status.as_str()),
        count: queue.counts.get(status).into(),
        url: jobs_url(viewer.base(), &format!("queue:{} status:{status}", queue.name)),
    };
    QueueHead {
        name: queue.name.to_string(),
        description: queue.settings.description.clone(),
        pause: pause(queue),
        health: health(queue),
        oldest: queue.oldest_ready_age.map(Ms::from),
        workers: queue.workers,
        limits: limits(queue, in_use),
        bar: StateBar { parts: Status::ALL.into_iter().map(part).collect() },
    }
}

/// The first jobs of these statuses; none while the store is away: the page is shown without them.
async fn some_jobs(viewer: &Viewer, name: &QueueName, status: &str) -> Result<Vec<Job>, Failure> {
    let path = format!("/v1/queues/{name}/jobs?status={status}&limit={SAMPLE}");
    match viewer.get(&path).await {
        Ok(answer) => Ok(answer.read::<JobsBody<Job>>()?.jobs),
        Err(failure) if failure.is_away() => Ok(Vec::new()),
        Err(failure) => Err(failure),
    }
}

/// The kinds and partition keys of the first jobs that wait; keys that a dead job holds come first.
/// Blocked jobs have a sample of their own: many ready ones would hide the keys that are held.
async fn waiting(
    viewer: &Viewer,
    queue: &Queue,
    now: &Snapshot,
) -> Result<(Tally, Tally), Failure> {
    let name = &queue.name;
    let (mut kinds, mut keys) = (BTreeMap::<String, u64>::new(), BTreeMap::<String, u64>::new());
    let mut seen = Vec::new();
    // A key for some kinds has to name one of them.
    let may_look = !viewer.caller().is_bound_to_kinds() && now.outage.is_none();
    for status in [Status::Ready, Status::Blocked].into_iter().filter(|_| may_look) {
        let jobs = some_jobs(viewer, name, status.as_str()).await?;
        if !jobs.is_empty() {
            seen.push(format!("{} {status}", jobs.len()));
        }
        for job in jobs {
            *kinds.entry(job.kind.to_string()).or_default() += 1;
            if let Some(key) = &job.partition_key {
                *keys.entry(key.to_string()).or_default() += 1;
            }
        }
    }
    // A dead job holds its key, if the queue says so.
    let mut held = BTreeSet::new();
    if queue.settings.key_on_dead == KeyOnDead::Hold && !keys.is_empty() {
        let dead = some_jobs(viewer, name, "dead").await?;
        held.extend(dead.into_iter().filter_map(|job| Some(job.partition_key?.to_string())));
    }
    let of = match seen.as_slice() {
        [] => String::new(),
        seen => format!("of the first {} jobs", seen.join(" and ")),
    };
    let tally = |counted: BTreeMap<String, u64>, term: &str, most: usize| {
        let cut = if counted.len() > most {
            format!("{most} of {}, ", counted.len())
        } else {
            String::new()
        };
        let mut rows: Vec<(String, u64)> = counted.into_iter().collect();
        let is_held = |of: &str| term == "key" && held.contains(of);
        rows.sort_by_key(|(of, count)| Reverse((is_held(of), *count)));
        let row = |(name_of, count): (String, u64)| TallyRow {
            url: jobs_url(
                viewer.base(),
                &format!("queue:{name} {}", written(&format!("{term}:{name_of}"))),
            ),
            note: if is_held(&name_of) { "held by a dead job" } else { "" }.to_owned(),
            name: name_of,
            count: Count::exact(count),
        };
        Tally { rows: rows.into_iter().take(most).map(row).collect(), of: format!("{cut}{of}") }
    };
    Ok((tally(kinds, "kind", KINDS), tally(keys, "key", KEYS)))
}

fn actions(viewer: &Viewer, queue: &Queue) -> Vec<Action> {
    let name = queue.name.as_str();
    vec![match queue.settings.paused {
        true => resume(viewer, name),
        false => turn(viewer, name, "pause", "Pause")
            .input("reason", "Reason, if you like", InputKind::Text { most: 500 })
            .input("for", "Ends", InputKind::Choice(PAUSES))
            .confirm(
                format!("Pause {name}?"),
                "Workers reserve no more of its jobs. Running jobs continue.",
            ),
    }]
}

/// Ends the pause of a queue.
pub(super) fn resume(viewer: &Viewer, name: &str) -> Action {
    turn(viewer, name, "resume", "Resume").tone(Tone::Primary)
}

fn turn(viewer: &Viewer, name: &str, verb: &str, label: &str) -> Action {
    let url = format!("{}/ui/queues/{name}/{verb}", viewer.base());
    let mut action = Action::new("pause", url, &viewer.csrf(), format!("{label} {name}"));
    action.impossible = why_not_configure(viewer);
    action.cli(format!("queuekit queue {verb} {name}"))
}

/// Why the viewer cannot change the settings of queues: they affect jobs of all kinds.
pub(super) fn why_not_configure(viewer: &Viewer) -> Option<String> {
    let is_bound = viewer.caller().is_bound_to_kinds();
    why_not_admin(viewer).or_else(|| is_bound.then(|| "Your key is for some kinds".to_owned()))
}

/// Why the viewer cannot change queues and jobs.
pub(in crate::ui) fn why_not_admin(viewer: &Viewer) -> Option<String> {
    let lacks = !viewer.caller().has(Scope::Admin);
    lacks.then(|| "Your key lacks the scope admin".to_owned())
}

/// Who changed the settings last, and when, as far as the latest entries of the audit log tell.
async fn last_change(viewer: &Viewer, name: &QueueName, now: &Snapshot) -> Option<(String, When)> {
    let caller = viewer.caller();
    if !caller.has(Scope::Admin) || caller.is_bound() || now.outage.is_some() {
        return None;
    }
    let answer = viewer.get(&format!("/v1/audit?limit={ENTRIES}")).await.ok()?;
    let body: AuditBody = answer.read().ok()?;
    let of_queue = format!("queue {name} ");
    let is_change = |entry: &AuditEntryBody| {
        let is_of_queue = entry.target.starts_with(&of_queue);
        is_of_queue && entry.action == "configure" && entry.outcome == "done"
    };
    let entry = body.entries.into_iter().find(is_change)?;
    Some((entry.who, When::of(entry.at.0, store_time(viewer, now))))
}

fn settings(viewer: &Viewer, queue: &Queue, changed: Option<(String, When)>) -> SettingsForm {
    let (name, own) = (&queue.name, &queue.settings);
    let or_none = |number: Option<u64>| number.map_or("none".to_owned(), |it| it.to_string());
    let age = |keep: &Keep| keep.age().map_or("none".to_owned(), |age| Span(age).to_string());
    let text = |name, label, help, value| Setting { name, label, help, value, choices: &[] };
    let one =
        |name, label, help, value: String, choices| Setting { name, label, help, value, choices };
    let rows = vec![
        text("description", "Description", "What the queue is for.", own.description.clone()),
        text(
            "max-pending",
            "Most pending jobs",
            "An enqueue beyond it is refused. With none, there is no limit.",
            or_none(own.max_pending),
        ),
        text("per-key", "Runs per partition key", "1 keeps their order.", own.per_key.to_string()),
        one(
            "key-on-wait",
            "While an earlier job of the key waits",
            "With block, later ones wait for it; with skip, they may run before it.",
            own.key_on_wait.to_string(),
            KeyOnWait::WORDS,
        ),
        one(
            "key-on-dead",
            "When an earlier job of the key is dead",
            "With hold, later ones wait until it is retried or deleted.",
            own.key_on_dead.to_string(),
            KeyOnDead::WORDS,
        ),
        one(
            "order",
            "Order",
            "Strict is by priority, then due time; with fair, partition keys take turns.",
            own.order.to_string(),
            Order::WORDS,
        ),
        text(
            "dedup-window",
            "Idempotency keys stay in use for",
            "After the job has ended, such as 24h.",
            Span(own.dedup_window).to_string(),
        ),
        text(
            "keep-done",
            "Keep completed jobs for",
            "Such as 7d; with none, there is no limit.",
            age(&own.retention.done),
        ),
        text(
            "keep-dead",
            "Keep dead jobs for",
            "Such as 30d; with none, there is no limit.",
            age(&own.retention.dead),
        ),
    ];
    SettingsForm {
        url: format!("{}/ui/queues/{name}/settings", viewer.base()),
        rows,
        changed,
        impossible: why_not_configure(viewer),
        cli: format!("queuekit queue set {name} --help"),
    }
}
