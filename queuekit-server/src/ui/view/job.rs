//! One job.

use askama::Template;

use super::{Action, Dots, Facts, Gantt, Mark, Ms, Shell, Timeline, Tree, When, parts};

/// The page `/ui/jobs/ID`.
#[derive(Clone, Debug, Template)]
#[template(path = "job.html")]
pub(crate) struct JobPage {
    pub(crate) shell: Shell,
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) head: JobHead,
    pub(crate) gantt: Gantt,
    pub(crate) timeline: Timeline,
    pub(crate) payload: Content,
    pub(crate) result: JobResult,
    pub(crate) logs: Logs,
    pub(crate) facts: JobFacts,
    /// Name and value, as the enqueuer wrote them.
    pub(crate) metadata: Vec<(String, String)>,
    pub(crate) actions: JobActions,
    pub(crate) steps: JobSteps,
    /// The last jobs of the kind, oldest first.
    pub(crate) kin: Dots,
    /// The command that shows the same.
    pub(crate) cli: String,
}

/// The status of the job and why it has it, which change while one looks.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/job_head.html")]
pub(crate) struct JobHead {
    pub(crate) mark: Mark,
    /// Why it does not run, or how it ended, in a sentence.
    pub(crate) why: String,
    /// While it runs: percent, and what the handler says.
    pub(crate) progress: Option<(u8, String)>,
    pub(crate) attempts: u32,
    pub(crate) max_attempts: u32,
    /// How long its last run took, or has taken.
    pub(crate) ran: Option<Ms>,
    /// How long it waited before its first run.
    pub(crate) waited: Option<Ms>,
    pub(crate) enqueued: When,
}

/// What is done with the job, as its status allows.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/job_actions.html")]
pub(crate) struct JobActions {
    pub(crate) items: Vec<Action>,
    /// The form that enqueues a copy, with the prefix.
    pub(crate) copy_url: String,
    /// Why the form is not offered.
    pub(crate) why_no_copy: Option<&'static str>,
}

/// What is known about the job.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/job_facts.html")]
pub(crate) struct JobFacts {
    pub(crate) facts: Facts,
}

/// The result, once there is one.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/job_result.html")]
pub(crate) struct JobResult {
    pub(crate) content: Option<Content>,
}

/// What is shown of a job that was deleted while its page was open.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/job_gone.html")]
pub(crate) struct JobGone {
    pub(crate) mark: Mark,
}

/// The payload or result of a job.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/content.html")]
pub(crate) struct Content {
    /// `payload` or `result`
    pub(crate) name: &'static str,
    /// None if it is no JSON, or hidden.
    pub(crate) tree: Option<Tree>,
    /// The text as it is stored, at most 64 KiB; base64 of other bytes.
    pub(crate) raw: String,
    /// Why it is not shown: `payloads of billing.* are hidden from this key`.
    pub(crate) hidden: Option<String>,
    pub(crate) bytes: u64,
    /// Where all of it can be had, with the prefix; none if nowhere.
    pub(crate) download: Option<String>,
}

/// What the handler logged.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/logs.html")]
pub(crate) struct Logs {
    pub(crate) lines: Vec<LogRow>,
}

/// A line of the log.
#[derive(Clone, Debug)]
pub(crate) struct LogRow {
    pub(crate) at: When,
    pub(crate) text: String,
}

/// The steps that runs of the job have done.
#[derive(Clone, Debug, Template)]
#[template(path = "parts/job_steps.html")]
pub(crate) struct JobSteps {
    pub(crate) rows: Vec<StepRow>,
}

/// A step that a run of the job has done.
#[derive(Clone, Debug)]
pub(crate) struct StepRow {
    pub(crate) name: String,
    pub(crate) at: When,
}

/// The page that enqueues a copy of a job, with a payload that can be changed.
#[derive(Clone, Debug, Template)]
#[template(path = "copy.html")]
pub(crate) struct CopyPage {
    pub(crate) shell: Shell,
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) queue: String,
    pub(crate) payload: String,
    pub(crate) priority: u8,
    pub(crate) max_attempts: u32,
    pub(crate) partition_key: String,
    /// Such as `10m`; empty for now.
    pub(crate) delay: String,
    /// Why the last try was refused.
    pub(crate) error: Option<String>,
    /// With the prefix.
    pub(crate) url: String,
}

parts!(JobHead, JobActions, JobFacts, JobResult, JobSteps, Content, Logs);

impl JobPage {
    pub(crate) fn short_id(&self) -> String {
        super::short_id(&self.id)
    }
}

impl CopyPage {
    pub(crate) fn short_id(&self) -> String {
        super::short_id(&self.id)
    }
}

impl Content {
    /// `812 bytes`, `4.1 KiB`
    pub(crate) fn size(&self) -> String {
        match self.bytes {
            1 => "1 byte".to_owned(),
            bytes @ 0..1024 => format!("{bytes} bytes"),
            bytes => format!("{:.1} KiB", bytes as f64 / 1024.0),
        }
    }
}
