//! `/ui/jobs/ID`: one job.

use axum::extract::Path;
use axum::response::Response;
use queuekit::jobs::BulkActionName;
use queuekit::schedules::ScheduleName;
use queuekit::{Job, JobId, Status, Timestamp};

use super::filter::Filter;
use super::impossible::why_impossible;
use super::job_copy::why_no_copy;
use super::job_life::{dots, gantt, ran, timeline, waited};
use super::queue::why_not_admin;
use super::text::{jobs_url, query};
use super::{job_row, jobs};
use crate::grammar::filter::written;
use crate::ui::failure::Failure;
use crate::ui::live::may_have_steps;
use crate::ui::view::{
    Action, Content, Dots, Fact, FactValue, Facts, JobActions, JobFacts, JobHead, JobPage,
    JobResult, JobSteps, LogRow, Logs, Mark, Ms, Page, StepRow, Tone, When,
};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::{CheckpointInfosBody, WhyBody};

/// The last jobs of the kind that are shown.
const KIN: usize = 30;

pub(super) async fn show(viewer: Viewer, Path(id): Path<String>) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let answer = viewer.get(&path(&id)?).await?;
    let job: Job = answer.read()?;
    let now = viewer.ui.0.board.now().await;
    let at = viewer.app().now();
    let base = viewer.base();
    let steps = stored_steps(&viewer, &job, at).await?;
    let page = JobPage {
        shell: viewer.shell(Page::Jobs, &format!("{} {}", job.kind, job.id), &now),
        id: job.id.to_string(),
        kind: job.kind.to_string(),
        head: head(&job, why(&viewer, &job).await, at),
        gantt: gantt(&job, base, at),
        timeline: timeline(&job, base, at),
        payload: content(&viewer, &job, "payload", &job.payload),
        result: result(&viewer, &job),
        logs: logs(&job, at),
        facts: facts(&job, base, at),
        metadata: job.metadata.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        actions: actions(&viewer, &job, &steps),
        steps,
        kin: kin(&viewer, &job, at).await?,
        cli: format!("queuekit job show {}", job.id),
    };
    viewer.show(&page).await
}

/// The path of a job in the API. Text that is no id is the id of no job.
pub(in crate::ui) fn path(id: &str) -> Result<String, Failure> {
    let id: JobId = id.parse().map_err(|_| Failure::not_found("this job"))?;
    Ok(format!("/v1/jobs/{id}"))
}

/// A payload or result, which can be downloaded.
fn content(viewer: &Viewer, job: &Job, name: &'static str, bytes: &[u8]) -> Content {
    let download = format!("{}/ui/jobs/{}/{name}", viewer.base(), job.id);
    Content::of(viewer, name, (job.queue.as_str(), job.kind.as_str()), bytes, Some(download))
}

pub(super) fn result(viewer: &Viewer, job: &Job) -> JobResult {
    let result = job.result.as_ref();
    JobResult { content: result.map(|result| content(viewer, job, "result", result)) }
}

async fn why(viewer: &Viewer, job: &Job) -> String {
    let why = viewer.get(&format!("/v1/jobs/{}/why", job.id)).await;
    match why.and_then(|answer| answer.read::<WhyBody>()) {
        Ok(why) => why.sentence,
        // The store cannot say, or the job is gone meanwhile.
        Err(_) => format!("the job is {}", job.status),
    }
}

async fn stored_steps(viewer: &Viewer, job: &Job, now: Timestamp) -> Result<JobSteps, Failure> {
    if !may_have_steps(job, viewer.app()) {
        return Ok(JobSteps { rows: Vec::new() });
    }
    let answer = viewer.get(&format!("/v1/jobs/{}/checkpoints", job.id)).await?;
    let stored = answer.read::<CheckpointInfosBody>()?.checkpoints;
    Ok(steps(stored.into_iter().map(|step| (step.name, step.at.0)), now))
}

/// Names of steps, and when they were done.
pub(super) fn steps(
    done: impl IntoIterator<Item = (String, Timestamp)>,
    now: Timestamp,
) -> JobSteps {
    let row = |(name, at)| StepRow { name, at: When::of(at, now) };
    JobSteps { rows: done.into_iter().map(row).collect() }
}

pub(super) fn head(job: &Job, why: String, now: Timestamp) -> JobHead {
    let progress = job.progress.as_ref().filter(|_| job.status == Status::Running);
    JobHead {
        mark: Mark::status(job.status.as_str()),
        why,
        progress: progress
            .map(|it| ((it.fraction * 100.0).clamp(0.0, 100.0) as u8, it.message.clone())),
        attempts: job.attempts,
        max_attempts: job.max_attempts,
        ran: ran(job, now).map(Ms::from),
        waited: waited(job).map(Ms::from),
        enqueued: When::of(job.created_at, now),
    }
}

pub(super) fn logs(job: &Job, now: Timestamp) -> Logs {
    let line = |line: &queuekit::jobs::LogLine| LogRow {
        at: When::of(line.at, now),
        text: line.text.clone(),
    };
    Logs { lines: job.logs.iter().map(line).collect() }
}

pub(super) fn facts(job: &Job, base: &str, now: Timestamp) -> JobFacts {
    let text = |name, value: String| Fact { name, value: FactValue::Text(value) };
    let code = |name, value: String| Fact { name, value: FactValue::Code(value) };
    let time = |name, at| Fact { name, value: FactValue::Time(When::of(at, now)) };
    let link = |name, text: String, url| Fact { name, value: FactValue::Link(text, url) };
    let queue = job.queue.to_string();
    let mut items = vec![
        link("Queue", queue.clone(), format!("{base}/ui/queues/{queue}")),
        code("Kind", job.kind.to_string()),
        text("Priority", job.priority.level().to_string()),
        time("Enqueued", job.created_at),
        time("Due", job.scheduled_at),
    ];
    items.extend(job.started_at.map(|at| time("Last started", at)));
    items.extend(job.finished_at.map(|at| time("Ended", at)));
    items.push(text("Timeout", Ms::from(job.timeout).to_string()));
    items.extend(job.deadline_in.map(|left| text("Deadline in", Ms::from(left).to_string())));
    items.extend(job.lease_expires_in.map(|left| text("Lease for", Ms::from(left).to_string())));
    items.extend(job.worker.as_ref().map(|worker| code("Worker", worker.to_string())));
    items.push(text("Leases", job.lease_seq.to_string()));
    items.push(text("Releases", job.releases.to_string()));
    let schedule = job.metadata.get("schedule").and_then(|name| ScheduleName::new(name).ok());
    items.extend(schedule.map(|name| {
        let url = format!("{base}/ui/schedules/{name}");
        link("Schedule", name.to_string(), url)
    }));
    let consumer = job.queue.as_str().strip_prefix("event.");
    let consumer = consumer.filter(|_| job.metadata.get("queuekit.event").is_some());
    items.extend(consumer.map(|name| {
        let url = format!("{base}/ui/consumers/{name}");
        link("Consumer", name.to_owned(), url)
    }));
    items.extend(job.partition_key.as_ref().map(|key| {
        let filter = format!("queue:{queue} {}", written(&format!("key:{key}")));
        link("Partition key", key.to_string(), jobs_url(base, &filter))
    }));
    items.extend(job.idempotency_key.as_ref().map(|key| code("Idempotency key", key.to_string())));
    items.extend(
        job.moved_from.map(|id| link("Moved from", id.to_string(), format!("{base}/ui/jobs/{id}"))),
    );
    JobFacts { facts: Facts { items } }
}

/// The last jobs of its kind that have ended, oldest first.
async fn kin(viewer: &Viewer, job: &Job, now: Timestamp) -> Result<Dots, Failure> {
    let words = format!("queue:{} kind:{} status:completed,dead,cancelled", job.queue, job.kind);
    let found = match jobs::page(viewer, &Filter::read(&words), KIN, None).await {
        Ok(found) => found,
        Err(failure) if failure.is_lack() => return Ok(Dots::default()),
        Err(failure) => return Err(failure),
    };
    Ok(dots(&found.jobs, viewer.base(), now))
}

/// All actions. One that is impossible says why.
pub(super) fn actions(viewer: &Viewer, job: &Job, steps: &JobSteps) -> JobActions {
    let (id, status) = (job.id, job.status);
    let lacks = why_not_admin(viewer);
    let action = |name: &'static str, label: &str, why: Option<String>| {
        let url = format!("{}/ui/jobs/{id}/{name}", viewer.base());
        let mut action =
            Action::new(name, url, &viewer.csrf(), label).cli(format!("queuekit job {name} {id}"));
        action.impossible = lacks.clone().or(why);
        action
    };
    let waits = matches!(status, Status::Scheduled | Status::Failed);
    let why_not_sooner = "Only a job that waits for its time or its retry can run sooner";
    let now = (!waits).then(|| why_not_sooner.to_owned());
    let why = |action| why_impossible(action, status.into());
    let mut items = vec![action("retry", "Retry", why(BulkActionName::Retry)).tone(Tone::Primary)];
    if !steps.rows.is_empty() {
        let fresh = action("retry-fresh", "Retry all steps", why(BulkActionName::Retry))
            .tone(Tone::Danger)
            .confirm(
                "Retry all steps of this job?",
                "What its steps have returned is removed, so all of them run again.",
            )
            .cli(format!("queuekit job retry --fresh {id}"));
        items.push(fresh);
    }
    items.extend([
        action("reschedule", "Run now", now)
            .cli(format!("queuekit job reschedule {id} --delay 0s")),
        action("cancel", "Cancel", why(BulkActionName::Cancel))
            .tone(Tone::Danger)
            .confirm("Cancel this job?", "A running job is asked to stop. It is not retried."),
        action("dead-letter", "Dead-letter", why(BulkActionName::DeadLetter))
            .tone(Tone::Danger)
            .confirm("Dead-letter this job?", "It stays, and runs only if it is retried."),
        action("delete", "Delete", why(BulkActionName::Delete))
            .tone(Tone::Danger)
            .confirm("Delete this job?", "It is gone for good, with its errors and its result."),
    ]);
    let copy_url = format!("{}/ui/jobs/{id}/copy", viewer.base());
    JobActions { items, copy_url, why_no_copy: why_no_copy(viewer, job) }
}

/// The list of jobs with an error like this one.
pub(in crate::ui) fn error_url(base: &str, group: &str, queue: &str) -> String {
    format!("{base}/ui/errors/{group}?queue={}", query(queue))
}

/// The text of the last error.
pub(in crate::ui) fn last_error(job: &Job) -> Option<&str> {
    job_row::last_error(job)
}
