//! `queuekit queue set`

use anyhow::Result;
use axum::http::Method;
use clap::{Args, ValueEnum};
use queuekit::QueueName;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::path;
use super::settings::SettingsView;
use crate::cli::Usage;
use crate::cli::api::{Api, Refused};
use crate::cli::bulk::{confirm, jobs};
use crate::cli::output::Output;
use crate::cli::quantity::{OrNone, Span, millis};

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
    /// What a job that waits does to the later ones of its key
    #[arg(long, value_name = "POLICY")]
    key_on_wait: Option<KeyOnWait>,
    /// What a dead job does to the later ones of its key
    #[arg(long, value_name = "POLICY")]
    key_on_dead: Option<KeyOnDead>,
    /// By priority, or partition keys in turn
    #[arg(long, value_name = "ORDER")]
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
    /// Do not ask before dead jobs that are there are kept for less
    #[arg(long, short)]
    yes: bool,
}

const EXAMPLES: &str = "\
Examples:
  queuekit queue set emails --max-pending 100000 --keep-done 7d
  queuekit queue set orders --per-key 1 --key-on-dead hold
  queuekit queue set tenants --order fair";

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum KeyOnWait {
    /// They wait too
    Block,
    /// They pass it
    Skip,
}

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum KeyOnDead {
    /// They run
    Continue,
    /// They wait until it is retried or deleted
    Hold,
}

#[derive(Clone, Copy, Debug, Serialize, ValueEnum)]
#[serde(rename_all = "snake_case")]
enum Order {
    /// By priority, then age
    Strict,
    /// Keys in turn
    Fair,
}

impl Set {
    pub(super) async fn run(self, api: &Api, output: Output) -> Result<()> {
        let path = path(&self.name);
        let mut patch = Map::new();
        let mut put = |name: &str, value: Option<Value>| {
            patch.extend(value.map(|value| (name.to_owned(), value)));
        };
        put("max_pending", self.max_pending.map(|OrNone(jobs)| json!(jobs)));
        put("per_key", self.per_key.map(|per_key| json!(per_key)));
        put("key_on_wait", self.key_on_wait.map(|policy| json!(policy)));
        put("key_on_dead", self.key_on_dead.map(|policy| json!(policy)));
        put("order", self.order.map(|order| json!(order)));
        put("dedup_window_ms", self.dedup_window.map(|Span(window)| json!(millis(window))));
        put("retention", self.retention(api, &path).await?);
        if patch.is_empty() {
            return Err(Usage::error("name a setting to change; --help lists them"));
        }
        let answer = api.call(Method::PATCH, &path, &patch).await?;
        output.forward(answer.json(), || Ok(answer.read::<SettingsView>()?.to_string()))
    }

    /// What is kept, changed where a flag says so: the route takes it as a whole.
    async fn retention(&self, api: &Api, path: &str) -> Result<Option<Value>> {
        let bound = |span: &OrNone<Span>| json!(span.0.map(|Span(age)| millis(age)));
        let changes = [
            ("done", "age_ms", self.keep_done.as_ref().map(bound)),
            ("done", "jobs", self.keep_done_jobs.as_ref().map(|jobs| json!(jobs.0))),
            ("dead", "age_ms", self.keep_dead.as_ref().map(bound)),
            ("dead", "jobs", self.keep_dead_jobs.as_ref().map(|jobs| json!(jobs.0))),
        ];
        if changes.iter().all(|(_, _, value)| value.is_none()) {
            return Ok(None);
        }
        let Current { mut retention, dead } = Current::of(api, path).await?;
        let mut shortens = false;
        for (which, bound, value) in changes {
            let Some(value) = value else { continue };
            shortens |= which == "dead" && is_less(&value, &retention[which][bound]);
            retention[which][bound] = value;
        }
        if shortens && dead > 0 && !self.yes {
            let (name, jobs) = (&self.name, jobs(dead));
            let question = format!("keep less of {name}? It has {jobs} that are dead:");
            let look = format!("with `dlq show {name}`");
            confirm(&format!("{question} what is past the bound is deleted."), &look)?;
        }
        Ok(Some(retention))
    }
}

/// Whether this bound is stricter; null is none.
fn is_less(bound: &Value, current: &Value) -> bool {
    bound.as_u64().is_some_and(|bound| current.as_u64().is_none_or(|current| bound < current))
}

/// What holds now.
struct Current {
    retention: Value,
    /// Jobs that are.
    dead: u64,
}

impl Current {
    /// A queue that is not there yet is made, with the defaults.
    async fn of(api: &Api, path: &str) -> Result<Self> {
        let (settings, dead): (Value, u64) = match api.get(path).await {
            Ok(queue) => {
                let queue: Value = queue.read()?;
                let dead = &queue["counts"]["dead"]["value"];
                (queue["settings"].clone(), dead.as_u64().unwrap_or_default())
            }
            Err(error) if error.downcast_ref::<Refused>().is_some_and(Refused::is_not_found) => {
                (api.call(Method::PATCH, path, &json!({})).await?.read()?, 0)
            }
            Err(error) => return Err(error),
        };
        Ok(Self { retention: settings["retention"].clone(), dead })
    }
}
