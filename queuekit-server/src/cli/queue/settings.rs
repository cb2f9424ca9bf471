//! The settings of a queue: `queuekit queue set`, and how they are shown.

use anyhow::Result;
use axum::http::Method;
use clap::Args;
use queuekit::queue::{Keep, KeyOnDead, KeyOnWait, Order, Retention};
use queuekit::{QueueName, QueuePatch, QueueSettings};

use super::{QueueView, path};
use crate::cli::Usage;
use crate::cli::api::{Api, Refused};
use crate::cli::bulk::{confirm, jobs};
use crate::cli::output::Output;
use crate::cli::quantity::{OrNone, Span};
use crate::cli::shown::span;
use crate::cli::words::one_of;

/// Change settings of a queue; those that are not named stay
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Set {
    /// Of the queue; it is made if there is none
    name: QueueName,
    /// Refuse jobs beyond so many that wait; `none` lifts it
    #[arg(long, value_name = "JOBS|none")]
    max_pending: Option<OrNone<u64>>,
    /// Jobs of one partition key that may run at once: 1 keeps their order
    #[arg(long, value_name = "N")]
    per_key: Option<u32>,
    /// What a job that waits does to the later ones of its key: `block`, they wait too; `skip`,
    /// they pass it
    #[arg(long, value_name = "POLICY", value_parser = one_of::<KeyOnWait>(KeyOnWait::WORDS))]
    key_on_wait: Option<KeyOnWait>,
    /// What a dead job does to the later ones of its key: `continue`, they run; `hold`, they wait
    /// until it is retried or deleted
    #[arg(long, value_name = "POLICY", value_parser = one_of::<KeyOnDead>(KeyOnDead::WORDS))]
    key_on_dead: Option<KeyOnDead>,
    /// `strict`: by priority, then age; `fair`: partition keys in turn
    #[arg(long, value_name = "ORDER", value_parser = one_of::<Order>(Order::WORDS))]
    order: Option<Order>,
    /// How long an idempotency key is taken after its job has ended
    #[arg(long, value_name = "DURATION")]
    dedup_window: Option<Span>,
    /// How long completed and cancelled jobs are kept
    #[arg(long, value_name = "DURATION|none")]
    keep_done: Option<OrNone<Span>>,
    /// How many of them are kept
    #[arg(long, value_name = "JOBS|none")]
    keep_done_jobs: Option<OrNone<u64>>,
    /// How long dead jobs are kept
    #[arg(long, value_name = "DURATION|none")]
    keep_dead: Option<OrNone<Span>>,
    /// How many of them are kept
    #[arg(long, value_name = "JOBS|none")]
    keep_dead_jobs: Option<OrNone<u64>>,
    /// What the queue is for, as text for people: at most 1 KiB; an empty one removes it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Do not ask before dead jobs that are there are kept for less
    #[arg(long, short)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  queuekit queue set emails --max-pending 100000 --keep-done 7d
  queuekit queue set orders --per-key 1 --key-on-dead hold
  queuekit queue set tenants --order fair";

impl Set {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<()> {
        let mut patch = QueuePatch::default();
        if let Some(OrNone(jobs)) = self.max_pending {
            patch = patch.max_pending(jobs);
        }
        if let Some(leases) = self.per_key {
            patch = patch.per_key(leases)?;
        }
        if let Some(policy) = self.key_on_wait {
            patch = patch.key_on_wait(policy);
        }
        if let Some(policy) = self.key_on_dead {
            patch = patch.key_on_dead(policy);
        }
        if let Some(order) = self.order {
            patch = patch.order(order);
        }
        if let Some(Span(window)) = self.dedup_window {
            patch = patch.dedup_window(window);
        }
        if let Some(retention) = self.retention(api).await? {
            patch = patch.retention(retention);
        }
        if let Some(text) = &self.description {
            patch = patch.description(text)?;
        }
        if patch.is_empty() {
            return Err(Usage::error("name a setting to change; --help lists them"));
        }
        let answer = api.call(Method::PATCH, &path(&self.name), &patch).await?;
        output.forward(answer.json(), || Ok(lines(&answer.read::<QueueSettings>()?)))
    }

    /// What is kept, changed where a flag says so: the route takes it as a whole.
    async fn retention(&self, api: &Api) -> Result<Option<Retention>> {
        let done = Bounds { age: self.keep_done, jobs: self.keep_done_jobs };
        let dead = Bounds { age: self.keep_dead, jobs: self.keep_dead_jobs };
        if done.are_absent() && dead.are_absent() {
            return Ok(None);
        }
        let (Retention { done: was_done, dead: was_dead }, dead_jobs) = self.kept(api).await?;
        let retention = Retention { done: done.of(was_done)?, dead: dead.of(was_dead)? };
        if dead_jobs > 0 && !self.yes && is_less(&retention.dead, &was_dead) {
            let (name, jobs) = (&self.name, jobs(dead_jobs));
            let question = format!("keep less of {name}? It has {jobs} that are dead:");
            let look = format!("with `dlq show {name}`");
            confirm(&format!("{question} what is past the bound is deleted."), &look)?;
        }
        Ok(Some(retention))
    }

    /// What is kept now, and how many jobs are dead. A queue that is not there yet is made by the
    /// change: of the defaults.
    async fn kept(&self, api: &Api) -> Result<(Retention, u64)> {
        match api.get(&path(&self.name)).await {
            Ok(queue) => {
                let queue: QueueView = queue.read()?;
                Ok((queue.settings.retention, queue.value("dead")))
            }
            Err(error) if error.downcast_ref::<Refused>().is_some_and(Refused::is_not_found) => {
                Ok((Retention::default(), 0))
            }
            Err(error) => Err(error),
        }
    }
}

/// What flags say of jobs that ended in one way.
struct Bounds {
    age: Option<OrNone<Span>>,
    jobs: Option<OrNone<u64>>,
}

impl Bounds {
    fn are_absent(&self) -> bool {
        self.age.is_none() && self.jobs.is_none()
    }

    /// These bounds; what no flag says stays.
    fn of(self, was: Keep) -> Result<Keep> {
        let age = self.age.map_or(was.age(), |OrNone(age)| age.map(|Span(age)| age));
        let jobs = self.jobs.map_or(was.jobs(), |OrNone(jobs)| jobs);
        Ok(Keep::new(age, jobs, was.bytes())?)
    }
}

/// Whether a bound is stricter than it was; none is no bound.
fn is_less(keep: &Keep, was: &Keep) -> bool {
    fn under<T: Ord>(bound: Option<T>, was: Option<T>) -> bool {
        bound.is_some_and(|bound| was.is_none_or(|was| bound < was))
    }
    under(keep.age(), was.age()) || under(keep.jobs(), was.jobs())
}

/// A line for each; whether the queue is paused is shown with its figures.
pub(super) fn lines(settings: &QueueSettings) -> String {
    let max_pending = settings.max_pending.map_or_else(|| "none".to_owned(), |n| n.to_string());
    let lines = [
        ("max pending", max_pending),
        ("per key", settings.per_key.to_string()),
        ("key on wait", settings.key_on_wait.to_string()),
        ("key on dead", settings.key_on_dead.to_string()),
        ("order", settings.order.to_string()),
        ("dedup window", span(settings.dedup_window)),
        ("keep done", bounds(&settings.retention.done)),
        ("keep dead", bounds(&settings.retention.dead)),
        // Its further lines stand below the first.
        ("description", settings.description.replace('\n', &format!("\n{:18}", ""))),
    ];
    lines.map(|(name, value)| format!("{name:<18}{value}")).join("\n")
}

fn bounds(keep: &Keep) -> String {
    let bounds = [
        keep.age().map(span),
        keep.jobs().map(|jobs| format!("{jobs} jobs")),
        keep.bytes().map(|bytes| format!("{bytes} bytes")),
    ];
    let bounds: Vec<String> = bounds.into_iter().flatten().collect();
    if bounds.is_empty() { "for ever".to_owned() } else { bounds.join(", ") }
}
