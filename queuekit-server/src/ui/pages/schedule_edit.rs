//! Changes of a schedule on its page: when it enqueues its job, and with which payload.

use axum::http::{Method, StatusCode};
use queuekit::schedules::ScheduleName;
use serde_json::value::RawValue;

use crate::grammar::Span;
use crate::ui::failure::Failure;
use crate::ui::form::Form;
use crate::ui::view::ScheduleForm;
use crate::ui::viewer::Viewer;
use crate::web::{Problem, Scope};
use crate::wire::{
    NewJobBody, NewScheduleBody, PriorityBody, ScheduleBody, ScheduledJobBody, millis,
};

/// Longest payload that can be changed in a form.
const FORM_BYTES: usize = 256 * 1024;
/// How an interval begins in the form.
const EVERY: &str = "every ";

/// The form, with what was typed if that was refused.
pub(super) fn form(
    viewer: &Viewer,
    schedule: &ScheduleBody,
    refused: Option<(&Form, String)>,
) -> ScheduleForm {
    let every = schedule.every_ms.map(std::time::Duration::from_millis);
    let every = every.map(|every| format!("{EVERY}{}", Span(every)));
    let sent = |name: &str, own: String| match &refused {
        Some((form, _)) => form.get(name).to_owned(),
        None => own,
    };
    let lacks = !viewer.caller().has(Scope::Manage);
    let name = &schedule.name;
    ScheduleForm {
        url: format!("{}/ui/schedules/{name}/edit", viewer.base()),
        timing: sent("timing", schedule.cron.clone().or(every).unwrap_or_default()),
        zone: sent("zone", schedule.zone.clone().unwrap_or_default()),
        payload: payload(viewer, schedule).map(|own| sent("payload", own)),
        impossible: lacks.then(|| "Your key lacks the scope manage".to_owned()),
        cli: format!("queuekit cron put {name} --help"),
        error: refused.map(|(_, error)| error),
    }
}

/// The payload, if it is text that a form can change and the settings do not hide it.
fn payload(viewer: &Viewer, schedule: &ScheduleBody) -> Option<String> {
    let job = schedule.job.as_ref().filter(|job| !viewer.is_redacted(&job.queue, &job.kind))?;
    let payload = job.payload.as_ref().map(|payload| payload.get().to_owned());
    payload.filter(|payload| payload.len() <= FORM_BYTES)
}

/// Stores the schedule with what the form changes; the rest stays as it is now.
pub(super) async fn store(
    viewer: &Viewer,
    name: &ScheduleName,
    form: &Form,
) -> Result<(), Failure> {
    let path = format!("/v1/schedules/{name}");
    let schedule: ScheduleBody = viewer.get(&path).await?.read()?;
    let has_payload = payload(viewer, &schedule).is_some();
    let new = changed(schedule, form, has_payload)?;
    viewer.call(Method::PUT, &path, &new).await.map(drop)
}

fn changed(
    schedule: ScheduleBody,
    form: &Form,
    has_payload: bool,
) -> Result<NewScheduleBody, Failure> {
    let Some(job) = schedule.job else {
        let detail = "the schedule cannot be read, so that it cannot be changed here";
        return Err(Failure::new(StatusCode::CONFLICT, detail));
    };
    let timing = form.get("timing").trim();
    let wrong = |why| Problem::invalid("timing", format!("when: {why}"));
    let every = timing.strip_prefix(EVERY).map(|span| span.trim().parse::<Span>());
    let every = every.transpose().map_err(wrong)?;
    let zone = Some(form.get("zone").trim()).filter(|zone| !zone.is_empty() && every.is_none());
    Ok(NewScheduleBody {
        cron: every.is_none().then(|| timing.to_owned()),
        zone: zone.map(str::to_owned),
        every_ms: every.map(|Span(every)| millis(every)),
        job: new_job(job, Some(form.get("payload")).filter(|_| has_payload))?,
        catch_up: schedule.catch_up,
        overlap: schedule.overlap,
        jitter_ms: schedule.jitter_ms.unwrap_or_default(),
        start: schedule.start,
        end: schedule.end,
        paused: None,
    })
}

/// The same job, with another payload if one was sent.
fn new_job(job: ScheduledJobBody, payload: Option<&str>) -> Result<NewJobBody, Failure> {
    let payload = match payload {
        Some(text) => Some(RawValue::from_string(text.trim().to_owned()).map_err(|error| {
            Problem::invalid("payload", format!("payload: it is no JSON: {error}"))
        })?),
        None => job.payload,
    };
    Ok(NewJobBody {
        kind: job.kind,
        payload,
        payload_base64: job.payload_base64,
        queue: Some(job.queue),
        priority: Some(PriorityBody::Level(job.priority)),
        max_attempts: Some(job.max_attempts),
        timeout_ms: Some(job.timeout_ms),
        deadline_ms: job.deadline_ms,
        partition_key: job.partition_key,
        metadata: Some(job.metadata).filter(|metadata| !metadata.is_empty()),
        ..NewJobBody::default()
    })
}
