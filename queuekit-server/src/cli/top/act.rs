//! Actions: which are possible, and how each is confirmed.

use std::time::Duration;

use axum::http::Method;
use queuekit::jobs::{BulkAction, BulkActionName};
use queuekit::{Job, JobId, QueueName, Status};
use ratatui::crossterm::event::{KeyCode, KeyEvent};
use serde_json::{Value, json};

use super::orders::Order;
use super::text::number;
use crate::cli::bulk::{Bulk, done};
use crate::wire::FilterBody;

/// A purge of more jobs than this needs their number typed.
const MANY: u64 = 1000;
/// Over how much time the overview spreads a retry, as the dashboard does.
pub(super) const OVER: Duration = Duration::from_secs(600);
const RETRIED_OVER: &str =
    "Each gets all its attempts again, and runs at a random time within 10 minutes.";

/// What is done once it is confirmed.
#[derive(Clone, Debug)]
pub(super) enum Act {
    Pause(QueueName),
    Resume(QueueName),
    Job(JobId, Verb),
    Bulk(BulkAct),
    /// To the worker of this id.
    Order(String, Order),
    RunSchedule(String),
    EnableConsumer(String),
}

/// An action on one job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verb {
    Retry,
    RunNow,
    Cancel,
    Delete,
}

/// An action on all jobs of a queue or of an error group. They are counted before it is confirmed.
#[derive(Clone, Debug)]
pub(super) struct BulkAct {
    pub(super) bulk: Box<Bulk>,
    /// Whose jobs: `queue emails`.
    pub(super) target: String,
}

/// A question that is not answered yet.
#[derive(Clone, Debug)]
pub(super) struct Confirm {
    pub(super) act: Act,
    pub(super) question: String,
    pub(super) consequence: &'static str,
    pub(super) needs: Needs,
}

/// What has to be typed for a yes.
#[derive(Clone, Debug)]
pub(super) enum Needs {
    Yes,
    Number { number: u64, typed: String },
}

/// What a key has decided.
#[derive(Debug)]
pub(super) enum Decision {
    Open,
    No,
    Yes(Act),
}

impl Act {
    /// Pauses a queue, or resumes it if it is paused.
    pub(super) fn turn(queue: &QueueName, is_paused: bool) -> Confirm {
        let queue = queue.clone();
        if is_paused {
            let consequence = "Workers reserve its jobs again.";
            let question = format!("Resume queue {queue}?");
            return Confirm::new(Self::Resume(queue), question, consequence);
        }
        let consequence = "Workers reserve no more of its jobs; running jobs continue.";
        let question = format!("Pause queue {queue}?");
        Confirm::new(Self::Pause(queue), question, consequence)
    }

    /// Gives an order to a worker.
    pub(super) fn order(order: Order, worker: &str) -> Confirm {
        let (question, consequence) = match order {
            Order::Quiet => (
                format!("Quiet worker {worker}?"),
                "It reserves no more jobs; running jobs continue.",
            ),
            Order::Resume => (format!("Resume worker {worker}?"), "It reserves jobs again."),
            Order::Stop => (
                format!("Stop worker {worker}?"),
                "It finishes its jobs and ends. Something else has to start it again.",
            ),
            Order::Slots(slots) => (
                format!("Limit worker {worker} to {slots} slots?"),
                "It runs no more jobs at once, nor more than it was started with.",
            ),
        };
        Confirm::new(Self::Order(worker.to_owned(), order), question, consequence)
    }

    /// Enqueues the job of a schedule at once.
    pub(super) fn run_schedule(name: String) -> Confirm {
        let question = format!("Run schedule {name} now?");
        Confirm::new(Self::RunSchedule(name), question, "Its job is enqueued at once.")
    }

    /// Enables a consumer.
    pub(super) fn enable_consumer(name: String) -> Confirm {
        let question = format!("Enable consumer {name}?");
        let consequence = "From now on events are delivered to it; a replay delivers earlier ones.";
        Confirm::new(Self::EnableConsumer(name), question, consequence)
    }

    /// # Errors
    /// Why the job does not allow it.
    pub(super) fn on_job(verb: Verb, job: &Job) -> Result<Confirm, String> {
        let name = verb.name();
        if !name.possible().contains(job.status) {
            let allowed: Vec<&str> = name.possible().iter().map(Status::as_str).collect();
            return Err(format!(
                "this job is {}, and only jobs that are {} can be {}",
                job.status,
                listed(&allowed),
                done(name)
            ));
        }
        let question = format!("{} job {} ({})?", verb.title(), job.id, job.kind);
        Ok(Confirm::new(Self::Job(job.id, verb), question, verb.consequence()))
    }
}

impl Verb {
    fn name(self) -> BulkActionName {
        match self {
            Self::Retry => BulkActionName::Retry,
            Self::RunNow => BulkActionName::Reschedule,
            Self::Cancel => BulkActionName::Cancel,
            Self::Delete => BulkActionName::Delete,
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Retry => "Retry",
            Self::RunNow => "Run now:",
            Self::Cancel => "Cancel",
            Self::Delete => "Delete",
        }
    }

    fn consequence(self) -> &'static str {
        match self {
            Self::Retry => "It gets all its attempts again.",
            Self::RunNow => "It is due immediately, and runs as soon as a worker is free.",
            Self::Cancel => "A running job is asked to stop. A cancelled job can be retried.",
            Self::Delete => "This cannot be undone.",
        }
    }

    /// The request for a job.
    pub(super) fn request(self, id: JobId) -> (Method, String, Value) {
        let path = format!("/v1/jobs/{id}");
        match self {
            Self::Retry => (Method::POST, path + "/retry", json!({})),
            Self::RunNow => (Method::POST, path + "/reschedule", json!({ "delay_ms": 0 })),
            Self::Cancel => (Method::POST, path + "/cancel", json!({})),
            Self::Delete => (Method::DELETE, path, json!({})),
        }
    }
}

impl BulkAct {
    /// Deletes the jobs of a queue, except running ones.
    pub(super) fn purge(queue: &QueueName) -> Self {
        let filter = FilterBody { queue: Some(queue.to_string()), ..FilterBody::default() };
        Self::new(BulkAction::Delete, filter, format!("queue {queue}"))
    }

    /// Acts on the dead jobs of a group in its queue.
    pub(super) fn of_group(action: BulkAction, id: &str, queue: &str) -> Self {
        let filter = FilterBody {
            group: Some(id.to_owned()),
            queue: Some(queue.to_owned()),
            status: Some("dead".to_owned()),
            ..FilterBody::default()
        };
        Self::new(action, filter, format!("error group {id} in queue {queue}"))
    }

    fn new(action: BulkAction, filter: FilterBody, target: String) -> Self {
        Self { bulk: Box::new(Bulk { action, filter }), target }
    }

    fn name(&self) -> BulkActionName {
        self.bulk.action.name()
    }

    /// What is being done: `retry jobs of queue emails`.
    pub(super) fn title(&self) -> String {
        format!("{} jobs of {}", self.name().as_str(), self.target)
    }

    /// Asks whether to act on as many jobs as were counted.
    ///
    /// # Errors
    /// That there are none.
    pub(super) fn confirm(self, counted: u64) -> Result<Confirm, String> {
        let name = self.name();
        if counted == 0 {
            return Err(format!("{} has no jobs that can be {}", self.target, done(name)));
        }
        let jobs = if counted == 1 { "1 job".into() } else { format!("{} jobs", number(counted)) };
        let (verb, consequence, is_final) = match self.bulk.action {
            BulkAction::Delete => ("Delete", "This cannot be undone.", true),
            BulkAction::RetryOver(_) => ("Retry", RETRIED_OVER, false),
            _ => ("Retry", "Each gets all its attempts again.", false),
        };
        let question = format!("{verb} {jobs} of {}?", self.target);
        let mut confirm = Confirm::new(Act::Bulk(self), question, consequence);
        if is_final && counted > MANY {
            confirm.needs = Needs::Number { number: counted, typed: String::new() };
        }
        Ok(confirm)
    }
}

impl Confirm {
    fn new(act: Act, question: String, consequence: &'static str) -> Self {
        Self { act, question, consequence, needs: Needs::Yes }
    }

    /// Takes a key. Nothing but an explicit yes acts.
    pub(super) fn press(&mut self, key: KeyEvent) -> Decision {
        if key.code == KeyCode::Esc {
            return Decision::No;
        }
        match &mut self.needs {
            Needs::Yes => match key.code {
                KeyCode::Char('y' | 'Y') => Decision::Yes(self.act.clone()),
                KeyCode::Char('n' | 'N' | 'q') => Decision::No,
                _ => Decision::Open,
            },
            Needs::Number { number, typed } => match key.code {
                KeyCode::Char(digit) if digit.is_ascii_digit() && typed.len() < 20 => {
                    typed.push(digit);
                    Decision::Open
                }
                KeyCode::Backspace => {
                    typed.pop();
                    Decision::Open
                }
                KeyCode::Enter if *typed == number.to_string() => Decision::Yes(self.act.clone()),
                _ => Decision::Open,
            },
        }
    }
}

/// `dead or cancelled`
fn listed(words: &[&str]) -> String {
    match words {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        words => words.join(""),
    }
}
