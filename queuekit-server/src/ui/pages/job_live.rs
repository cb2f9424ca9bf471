//! The parts of the page of a job that change while one looks.

use queuekit::jobs::Why;

use super::job;
use super::job_life::{gantt, timeline};
use crate::ui::live::WatchedJob;
use crate::ui::view::{
    Gantt, JobActions, JobFacts, JobGone, JobHead, JobResult, JobSteps, Logs, Mark, Timeline,
};
use crate::ui::viewer::Viewer;

/// The parts.
pub(in crate::ui) struct JobParts {
    /// None until it is known why the job has its status.
    pub(in crate::ui) head: Option<JobHead>,
    pub(in crate::ui) gantt: Gantt,
    pub(in crate::ui) timeline: Timeline,
    pub(in crate::ui) logs: Logs,
    pub(in crate::ui) facts: JobFacts,
    pub(in crate::ui) result: JobResult,
    /// None until the steps were read, on which the actions depend.
    pub(in crate::ui) steps: Option<(JobSteps, JobActions)>,
}

/// None if the job is gone, or is not for the viewer.
pub(in crate::ui) fn of(viewer: &Viewer, watched: &WatchedJob) -> Option<JobParts> {
    let job = watched.job.as_ref().filter(|job| viewer.caller().sees(job))?;
    // Times are those of the reading, so that nothing changes between two of them.
    let (base, at) = (viewer.base(), watched.at);
    let why = watched.why.as_ref().map(|why| sentence(viewer, why));
    let steps = watched.steps().map(|steps| {
        let steps = job::steps(steps.iter().map(|step| (step.name.to_string(), step.at)), at);
        let actions = job::actions(viewer, job, &steps);
        (steps, actions)
    });
    Some(JobParts {
        head: why.map(|why| job::head(job, why, at)),
        gantt: gantt(job, base, at),
        timeline: timeline(job, base, at),
        logs: job::logs(job, at),
        facts: job::facts(job, base, at),
        result: job::result(viewer, job),
        steps,
    })
}

pub(in crate::ui) fn gone() -> JobGone {
    JobGone { mark: Mark::new("cancelled", "gone") }
}

/// The sentence of the API, which names no job that may be hidden from a restricted key.
fn sentence(viewer: &Viewer, why: &Why) -> String {
    match why {
        Why::Blocked { key, behind: Some(_) } if viewer.caller().is_bound() => {
            format!("blocked behind another job of partition key {key}")
        }
        why => why.to_string(),
    }
}
