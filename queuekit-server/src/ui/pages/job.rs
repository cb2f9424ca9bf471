//! `/ui/jobs/ID`: one job.

use axum::extract::Path;
use axum::response::Response;
use queuekit::{Job, JobId, Status, Timestamp};

use super::filter::Filter;
use super::job_life::{gantt, ran, timeline, waited};
use super::queue::why_not_admin;
use super::text::{jobs_url, query};
use super::{job_row, jobs};
use crate::grammar::filter::written;
use crate::ui::failure::Failure;
use crate::ui::view::{
    Action, Content, Dot, Dots, Fact, FactValue, Facts, JobHead, JobPage, LogRow, Logs, Mark, Ms,
    Page, Tone, When,
};
use crate::ui::viewer::Viewer;
use crate::web::Scope;
use crate::wire::WhyBody;

/// The last jobs of the kind that are shown.
const KIN: usize = 20;

pub(super) async fn show(viewer: Viewer, Path(id): Path<String>) -> Result<Response, Failure> {
    viewer.caller().need(Scope::Read)?;
    let answer = viewer.get(&path(&id)?).await?;
    let job: Job = answer.read()?;
    let now = viewer.ui.0.board.now().await;
    let at = viewer.app().now();
    let (base, of) = (viewer.base(), (job.queue.as_str(), job.kind.as_str()));
    let download = |what| format!("{base}/ui/jobs/{}/{what}", job.id);
    let page = JobPage {
        shell: viewer.shell(Page::Jobs, &format!("{} {}", job.kind, job.id), &now),
        id: job.id.to_string(),
        kind: job.kind.to_string(),
        head: head(&viewer, &job, at).await?,
        gantt: gantt(&job, base, at),
        timeline: timeline(&job, base, at),
        payload: Content::of(&viewer, "payload", of, &job.payload, Some(download("payload"))),
        result: job
            .result
            .as_ref()
            .map(|result| Content::of(&viewer, "result", of, result, Some(download("result")))),
        logs: logs(&job, at),
        facts: facts(&job, base, at),
        metadata: job.metadata.iter().map(|(name, value)| (name.into(), value.into())).collect(),
        actions: actions(&viewer, &job),
        copy_url: copy_url(&viewer, &job),
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

async fn head(viewer: &Viewer, job: &Job, now: Timestamp) -> Result<JobHead, Failure> {
    let why = match viewer.get(&format!("/v1/jobs/{}/why", job.id)).await {
        Ok(answer) => answer.read::<WhyBody>()?.sentence,
        // The store cannot say, or the job is gone meanwhile.
        Err(_) => format!("The job is {}", job.status),
    };
    let progress = job.progress.as_ref().filter(|_| job.status == Status::Running);
    Ok(JobHead {
        mark: Mark::status(job.status.as_str()),
        why,
        progress: progress
            .map(|it| ((it.fraction * 100.0).clamp(0.0, 100.0) as u8, it.message.clone())),
        attempts: job.attempts,
        max_attempts: job.max_attempts,
        ran: ran(job, now).map(Ms::from),
        waited: waited(job).map(Ms::from),
        enqueued: When::of(job.created_at, now),
    })
}

fn logs(job: &Job, now: Timestamp) -> Logs {
    let line = |line: &queuekit::jobs::LogLine| LogRow {
        at: When::of(line.at, now),
        text: line.text.clone(),
    };
    Logs { lines: job.logs.iter().map(line).collect() }
}

fn facts(job: &Job, base: &str, now: Timestamp) -> Facts {
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
    items.extend(job.partition_key.as_ref().map(|key| {
        let filter = format!("queue:{queue} {}", written(&format!("key:{key}")));
        link("Partition key", key.to_string(), jobs_url(base, &filter))
    }));
    items.extend(job.idempotency_key.as_ref().map(|key| code("Idempotency key", key.to_string())));
    items.extend(
        job.moved_from.map(|id| link("Moved from", id.to_string(), format!("{base}/ui/jobs/{id}"))),
    );
    Facts { items }
}

/// The last jobs of its kind that have ended, oldest first.
async fn kin(viewer: &Viewer, job: &Job, now: Timestamp) -> Result<Dots, Failure> {
    let words = format!("queue:{} kind:{} status:completed,dead,cancelled", job.queue, job.kind);
    let found = match jobs::page(viewer, &Filter::read(&words), KIN, None).await {
        Ok(found) => found,
        Err(failure) if failure.is_lack() => return Ok(Dots::default()),
        Err(failure) => return Err(failure),
    };
    let dot = |job: &Job| {
        let took = ran(job, now).map_or(String::new(), |time| format!(" in {}", Ms::from(time)));
        let ended = job.finished_at.map(|at| When::of(at, now).relative()).unwrap_or_default();
        Dot {
            mark: Mark::status(job.status.as_str()),
            url: format!("{}/ui/jobs/{}", viewer.base(), job.id),
            label: format!("{}{took}, {ended}", job.status),
        }
    };
    Ok(Dots { items: found.jobs.iter().rev().map(dot).collect() })
}

fn copy_url(viewer: &Viewer, job: &Job) -> Option<String> {
    let is_hidden = viewer.is_redacted(job.queue.as_str(), job.kind.as_str());
    let may = viewer.caller().has(Scope::Enqueue) && !is_hidden;
    may.then(|| format!("{}/ui/jobs/{}/copy", viewer.base(), job.id))
}

/// All actions. One that is impossible says why.
fn actions(viewer: &Viewer, job: &Job) -> Vec<Action> {
    let (id, status) = (job.id, job.status);
    let lacks = why_not_admin(viewer);
    let action = |name: &'static str, label: &str, why: Option<String>| {
        let url = format!("{}/ui/jobs/{id}/{name}", viewer.base());
        let mut action =
            Action::new(name, url, &viewer.csrf(), label).cli(format!("queuekit job {name} {id}"));
        action.impossible = lacks.clone().or(why);
        action
    };
    let unless = |is_possible: bool, why: &str| (!is_possible).then(|| why.to_owned());
    let has_died = matches!(status, Status::Dead | Status::Cancelled);
    let waits = matches!(status, Status::Scheduled | Status::Failed);
    let runs = matches!(status, Status::Running | Status::Expired);
    let has_ended = job.finished_at.is_some();
    let retry = unless(has_died, "Only a dead or cancelled job can be retried");
    let now = unless(waits, "Only a job that waits for its time or its retry can run sooner");
    let cancel = unless(!has_ended, "The job has ended");
    let kill = unless(!has_ended && !runs, "Only a job that waits can be dead-lettered");
    let delete = unless(!runs, "A running job cannot be deleted: cancel it first");
    vec![
        action("retry", "Retry", retry).tone(Tone::Primary),
        action("reschedule", "Run now", now)
            .cli(format!("queuekit job reschedule {id} --delay 0s")),
        action("cancel", "Cancel", cancel)
            .tone(Tone::Danger)
            .confirm("Cancel this job?", "A running job is asked to stop. It is not retried."),
        action("dead-letter", "Dead-letter", kill)
            .tone(Tone::Danger)
            .confirm("Dead-letter this job?", "It stays, and runs only if it is retried."),
        action("delete", "Delete", delete)
            .tone(Tone::Danger)
            .confirm("Delete this job?", "It is gone for good, with its errors and its result."),
    ]
}

/// The list of jobs with an error like this one.
pub(in crate::ui) fn error_url(base: &str, group: &str, queue: &str) -> String {
    format!("{base}/ui/errors/{group}?queue={}", query(queue))
}

/// The text of the last error.
pub(in crate::ui) fn last_error(job: &Job) -> Option<&str> {
    job_row::last_error(job)
}
