//! `/ui/schedules`: jobs by the clock.

use std::time::Duration;

use axum::extract::{Path, Query};
use axum::http::{Method, StatusCode};
use axum::response::Response;
use jiff::tz::TimeZone;
use queuekit::Timestamp;
use queuekit::schedules::ScheduleName;
use serde::Deserialize;

use super::filter::Filter;
use super::queue_rows::store_time;
use super::text::query;
use super::{job_life, jobs, schedule_edit};
use crate::grammar::Span;
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::redirect::redirect;
use crate::ui::view::{
    Action, Content, Count, Dots, Fact, FactValue, Facts, Ms, Page, SchedulePage, ScheduleRow,
    Schedules, Tone, When,
};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::{NextRunsBody, ScheduleBody, SchedulesBody};

/// A schedule is late if its time came this long ago.
const LATE_MS: i64 = 60_000;
/// The last jobs that are shown.
const JOBS: usize = 30;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    after: Option<String>,
}

pub(super) async fn list(viewer: Viewer, Query(asked): Query<Asked>) -> Result<Response, Failure> {
    let after = asked.after.map(|after| format!("?after={}", query(&after))).unwrap_or_default();
    let found: SchedulesBody = viewer.get(&format!("/v1/schedules{after}")).await?.read()?;
    let now = viewer.ui.0.board.now().await;
    let at = store_time(&viewer, &now);
    let base = viewer.base();
    let rows = found.schedules.iter().map(|schedule| row(schedule, base, at)).collect();
    let page = Schedules {
        shell: viewer.shell(Page::Schedules, "Schedules", &now),
        rows,
        more: found.after.map(|after| format!("{base}/ui/schedules?after={}", query(&after))),
    };
    viewer.show(&page).await
}

pub(super) async fn show(viewer: Viewer, Path(name): Path<String>) -> Result<Response, Failure> {
    page(&viewer, &ScheduleName::new(name)?, None).await
}

/// The page of a schedule; with the change that was refused, if one was.
pub(super) async fn page(
    viewer: &Viewer,
    name: &ScheduleName,
    refused: Option<(&Form, String)>,
) -> Result<Response, Failure> {
    let path = format!("/v1/schedules/{name}");
    let answer = viewer.get(&path).await?;
    let schedule: ScheduleBody = answer.read()?;
    let next: NextRunsBody = viewer.get(&format!("{path}/next?count=5")).await?.read()?;
    let now = viewer.ui.0.board.now().await;
    let (at, base) = (store_time(viewer, &now), viewer.base());
    let mut row = row(&schedule, base, at);
    row.dots = dots(viewer, &row, at).await?;
    let zone = schedule.zone.as_deref().and_then(|zone| TimeZone::get(zone).ok());
    let zone = zone.unwrap_or(TimeZone::UTC);
    let in_zone = |at: Timestamp| {
        let instant = jiff::Timestamp::from_millisecond(at.as_millis()).unwrap_or_default();
        instant.to_zoned(zone.clone()).strftime("%a %d %b %H:%M").to_string()
    };
    let of = (row.queue.clone(), row.kind.clone());
    let payload = schedule.job.as_ref().map(payload).unwrap_or_default();
    let page = SchedulePage {
        shell: viewer.shell(Page::Schedules, name.as_str(), &now),
        next: next.next.iter().map(|next| (in_zone(next.0), When::of(next.0, at))).collect(),
        facts: facts(&schedule, at),
        payload: Content::of(viewer, "payload", (&of.0, &of.1), payload.as_bytes(), None),
        actions: actions(viewer, &row),
        form: schedule_edit::form(viewer, &schedule, refused),
        cli: format!("queuekit cron next {name}"),
        row,
    };
    viewer.show(&page).await
}

fn payload(job: &crate::wire::ScheduledJobBody) -> String {
    let json = job.payload.as_ref().map(|payload| payload.get().to_owned());
    json.or_else(|| job.payload_base64.clone()).unwrap_or_default()
}

fn row(schedule: &ScheduleBody, base: &str, now: Timestamp) -> ScheduleRow {
    let job = schedule.job.as_ref();
    let next = schedule.next_at.map(|at| When::of(at.0, now));
    let is_paused = schedule.paused.unwrap_or(false);
    let every = schedule.every_ms.map(|every| Span(Duration::from_millis(every)));
    let every = every.map(|every| format!("every {every}"));
    ScheduleRow {
        name: schedule.name.clone(),
        url: format!("{base}/ui/schedules/{}", schedule.name),
        timing: schedule.cron.clone().or(every).unwrap_or_default(),
        zone: schedule.zone.clone().unwrap_or_default(),
        words: schedule.description.clone().unwrap_or_default(),
        kind: job.map(|job| job.kind.clone()).unwrap_or_default(),
        queue: job.map(|job| job.queue.clone()).unwrap_or_default(),
        is_paused,
        differs_from_code: schedule.differs_from_code,
        is_late: !is_paused && next.as_ref().is_some_and(|next| next.age_ms > LATE_MS),
        next,
        last: schedule.last.as_ref().map(|last| When::of(last.nominal.0, now)),
        enqueued: Count::exact(schedule.enqueued.unwrap_or(0)),
        skipped: Count::exact(schedule.skipped.unwrap_or(0)),
        dots: Dots::default(),
        error: schedule.error.clone(),
    }
}

/// Its last jobs that have ended, oldest first.
async fn dots(viewer: &Viewer, row: &ScheduleRow, now: Timestamp) -> Result<Dots, Failure> {
    if row.queue.is_empty() {
        return Ok(Dots::default());
    }
    let words = format!(
        "queue:{} kind:{} status:completed,dead,cancelled meta.schedule:{}",
        row.queue, row.kind, row.name
    );
    let found = match jobs::page(viewer, &Filter::read(&words), JOBS, None).await {
        Ok(found) => found,
        Err(failure) if failure.is_lack() => return Ok(Dots::default()),
        Err(failure) => return Err(failure),
    };
    Ok(job_life::dots(&found.jobs, viewer.base(), now))
}

fn facts(schedule: &ScheduleBody, now: Timestamp) -> Facts {
    let text = |name, value: String| Fact { name, value: FactValue::Text(value) };
    let time = |name, at| Fact { name, value: FactValue::Time(When::of(at, now)) };
    let mut items = Vec::new();
    let word = |value: &serde_json::Value| value.to_string().trim_matches('"').to_owned();
    items.extend(
        schedule
            .catch_up
            .and_then(|it| serde_json::to_value(it).ok())
            .map(|value| text("Missed times", word(&value))),
    );
    items.extend(
        schedule
            .overlap
            .and_then(|it| serde_json::to_value(it).ok())
            .map(|value| text("Overlap", word(&value))),
    );
    let jitter = schedule.jitter_ms.filter(|jitter| *jitter > 0);
    items.extend(jitter.map(|jitter| text("Jitter", Ms(jitter).to_string())));
    items.extend(schedule.start.map(|at| time("Begins", at.0)));
    items.extend(schedule.end.map(|at| time("Ends", at.0)));
    items.extend(schedule.last.as_ref().map(|last| time("Last time", last.nominal.0)));
    items.extend(schedule.enqueued.map(|count| text("Jobs", Count::exact(count).to_string())));
    let skipped = schedule.skipped.filter(|count| *count > 0);
    items.extend(skipped.map(|count| text("Times without a job", Count::exact(count).to_string())));
    items.extend(schedule.revision.map(|revision| text("Revision", revision.to_string())));
    Facts { items }
}

fn actions(viewer: &Viewer, row: &ScheduleRow) -> Vec<Action> {
    let name = &row.name;
    let action = |verb, label: String| action(viewer, name, verb, label);
    let turn = match row.is_paused {
        true => action("resume", format!("Resume {name}")).tone(Tone::Primary),
        false => action("pause", format!("Pause {name}")),
    };
    let reset = action("reset", format!("Reset {name} to the code"));
    let reset = reset.confirm(
        format!("Reset {name} to the code?"),
        "The next start of a program that declares it restores the definition of its code. Until \
         then, the schedule stays as it is.",
    );
    let mut actions = vec![run(viewer, name), turn];
    actions.extend(row.differs_from_code.then_some(reset));
    actions.push(action("delete", format!("Delete {name}")).tone(Tone::Danger).confirm(
        format!("Delete the schedule {name}?"),
        "It enqueues nothing any more. Jobs that it has enqueued stay.",
    ));
    actions
}

/// Enqueues a job of a schedule.
pub(super) fn run(viewer: &Viewer, name: &str) -> Action {
    action(viewer, name, "run", format!("Run {name} now"))
}

fn action(viewer: &Viewer, name: &str, verb: &str, label: String) -> Action {
    let url = format!("{}/ui/schedules/{name}/{verb}", viewer.base());
    let mut action = Action::new(verb, url, &viewer.csrf(), label);
    let lacks = !viewer.caller().has(Scope::Manage);
    action.impossible = lacks.then(|| "Your key lacks the scope manage".to_owned());
    action.cli(format!("queuekit cron {verb} {name}"))
}

pub(super) async fn act(
    viewer: Viewer,
    Path((name, action)): Path<(String, String)>,
    form: Form,
) -> Result<Response, Failure> {
    let name = ScheduleName::new(name)?;
    let path = format!("/v1/schedules/{name}");
    let did = match action.as_str() {
        "edit" => match schedule_edit::store(&viewer, &name, &form).await {
            Ok(()) => "schedule",
            Err(failure) if failure.status == StatusCode::UNPROCESSABLE_ENTITY => {
                let mut page = page(&viewer, &name, Some((&form, failure.detail))).await?;
                *page.status_mut() = StatusCode::UNPROCESSABLE_ENTITY;
                return Ok(page);
            }
            Err(failure) => return Err(failure),
        },
        "pause" | "resume" => {
            viewer.act(Method::POST, &format!("{path}/{action}")).await?;
            "schedule"
        }
        "reset" => {
            viewer.act(Method::POST, &format!("{path}/reset")).await?;
            "reset"
        }
        "run" => {
            viewer.act(Method::POST, &format!("{path}/run")).await?;
            "run"
        }
        "delete" => {
            viewer.act(Method::DELETE, &path).await?;
            return Ok(redirect(&format!("{}/ui/schedules?did=schedule", viewer.base())));
        }
        _ => return Err(Failure::not_found("this action")),
    };
    Ok(redirect(&format!("{}/ui/schedules/{name}?did={did}", viewer.base())))
}
