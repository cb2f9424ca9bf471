//! The settings of a queue: `queuekit queue set`, and how they are shown.

use anyhow::Result;
use axum::http::Method;
use clap::Args;
use queuekit::queues::{
    Keep, KeyOnDead, KeyOnWait, Order, Queue, QueuePatch, QueueSettings, Retention,
};
use queuekit::{QueueName, Status};

use super::route::path;
use crate::cli::api::{Api, Refused};
use crate::cli::bulk::{confirm, jobs};
use crate::cli::format::{printable, span};
use crate::cli::one_of_flag::one_of;
use crate::cli::output::Output;
use crate::error::Usage;
use crate::grammar::{OrNone, Span};

/// Change settings of a queue; settings that are left out stay as they are
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Set {
    /// Name of the queue; created if it does not exist
    name: QueueName,
    /// Maximum pending jobs; further enqueues are refused (`none`: no limit)
    #[arg(long, value_name = "JOBS|none")]
    max_pending: Option<OrNone<u64>>,
    /// Maximum running jobs of one partition key; 1 keeps their order
    #[arg(long, value_name = "N")]
    per_key: Option<u32>,
    /// What jobs of a partition key do while an earlier one waits for its time: `block`, they wait
    /// for it, or `skip`, they may run before it
    #[arg(long, value_name = "POLICY", value_parser = one_of::<KeyOnWait>(KeyOnWait::WORDS))]
    key_on_wait: Option<KeyOnWait>,
    /// Whether a dead job holds up the later ones of its partition key: `continue`, or `hold` until
    /// it is retried or deleted
    #[arg(long, value_name = "POLICY", value_parser = one_of::<KeyOnDead>(KeyOnDead::WORDS))]
    key_on_dead: Option<KeyOnDead>,
    /// Order of jobs. `strict`: by priority, then due time; `fair`: partition keys take turns
    #[arg(long, value_name = "ORDER", value_parser = one_of::<Order>(Order::WORDS))]
    order: Option<Order>,
    /// How long an idempotency key stays in use after its job has ended
    #[arg(long, value_name = "DURATION")]
    dedup_window: Option<Span>,
    /// How long to keep completed and cancelled jobs (`none`: no limit)
    #[arg(long, value_name = "DURATION|none")]
    keep_done: Option<OrNone<Span>>,
    /// How many completed and cancelled jobs to keep (`none`: no limit)
    #[arg(long, value_name = "JOBS|none")]
    keep_done_jobs: Option<OrNone<u64>>,
    /// How long to keep dead jobs (`none`: no limit)
    #[arg(long, value_name = "DURATION|none")]
    keep_dead: Option<OrNone<Span>>,
    /// How many dead jobs to keep (`none`: no limit)
    #[arg(long, value_name = "JOBS|none")]
    keep_dead_jobs: Option<OrNone<u64>>,
    /// What the queue is for, at most 1 KiB; an empty text removes it
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Do not ask for confirmation before existing dead jobs are deleted
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
            patch = patch.per_key(leases);
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
            patch = patch.description(text);
        }
        patch.check()?;
        if patch.is_empty() {
            return Err(Usage::error("no setting to change: --help lists them"));
        }
        let answer = api.call(Method::PATCH, &path(&self.name), &patch).await?;
        output.forward(answer.json(), || Ok(lines(&answer.read::<QueueSettings>()?)))
    }

    /// The retention with the changes of flags: the route replaces it as a whole.
    async fn retention(&self, api: &Api) -> Result<Option<Retention>> {
        let done = Bounds { age: self.keep_done, jobs: self.keep_done_jobs };
        let dead = Bounds { age: self.keep_dead, jobs: self.keep_dead_jobs };
        if done.are_absent() && dead.are_absent() {
            return Ok(None);
        }
        let (was, dead_jobs) = self.kept(api).await?;
        let retention = was.done(done.of(was.done)).dead(dead.of(was.dead));
        if dead_jobs > 0 && !self.yes && is_less(&retention.dead, &was.dead) {
            let (name, jobs) = (&self.name, jobs(dead_jobs));
            let question = "delete those that exceed the new limit?";
            let look = format!("with `dlq show {name}`");
            confirm(&format!("{name} has {jobs} in its dead-letter queue: {question}"), &look)?;
        }
        Ok(Some(retention))
    }

    /// The present retention, and how many jobs are dead. A queue that does not exist yet has the
    /// default retention: the change creates it.
    async fn kept(&self, api: &Api) -> Result<(Retention, u64)> {
        match api.get(&path(&self.name)).await {
            Ok(queue) => {
                let queue: Queue = queue.read()?;
                Ok((queue.settings.retention, queue.counts.get(Status::Dead).value))
            }
            Err(error) if error.downcast_ref::<Refused>().is_some_and(Refused::is_not_found) => {
                Ok((Retention::default(), 0))
            }
            Err(error) => Err(error),
        }
    }
}

/// The flags for jobs that ended in one way.
struct Bounds {
    age: Option<OrNone<Span>>,
    jobs: Option<OrNone<u64>>,
}

impl Bounds {
    fn are_absent(&self) -> bool {
        self.age.is_none() && self.jobs.is_none()
    }

    /// These bounds; without a flag, the present bound stays.
    fn of(self, was: Keep) -> Keep {
        let age = self.age.map_or(was.age(), |OrNone(age)| age.map(|Span(age)| age));
        let jobs = self.jobs.map_or(was.jobs(), |OrNone(jobs)| jobs);
        was.max_age(age).max_jobs(jobs)
    }
}

/// Whether a bound is stricter than before; `None` is no bound.
fn is_less(keep: &Keep, was: &Keep) -> bool {
    fn under<T: Ord>(bound: Option<T>, was: Option<T>) -> bool {
        bound.is_some_and(|bound| was.is_none_or(|was| bound < was))
    }
    under(keep.age(), was.age()) || under(keep.jobs(), was.jobs())
}

/// A line for each setting, except `paused`, which is in the table.
pub(crate) fn lines(settings: &QueueSettings) -> String {
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
        // Further lines are aligned with the first.
        ("description", printable(&settings.description).replace('\n', &format!("\n{:18}", ""))),
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
    if bounds.is_empty() { "forever".to_owned() } else { bounds.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn s6_a_description_cannot_steer_the_terminal() {
        let mut settings = QueueSettings::default();
        settings.description = "a\u{202e}b\u{200b}\u{2028}\u{1b}[2J\nc".to_owned();
        let shown = lines(&settings);
        assert!(shown.ends_with("\ndescription       ab[2J\n                  c"), "{shown:?}");
    }
}
