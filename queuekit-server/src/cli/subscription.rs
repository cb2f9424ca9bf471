//! `queuekit subscription`

use std::time::Duration;

use anyhow::Result;
use axum::http::{Method, StatusCode};
use clap::{Args, Subcommand};
use queuekit::ConsumerName;
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::api::Api;
use super::bulk::{confirm, progress};
use super::context::{Access, Context};
use super::event;
use super::exit::Exit;
use super::output::Output;
use super::quantity::{Since, Span, millis};
use super::shown::{or_dash, span};
use super::table::{Cell, Table};

/// Who gets which events
#[derive(Subcommand, Debug)]
pub(crate) enum Subscription {
    /// List subscriptions, with how their consumers do
    List,
    Put(Put),
    /// Make deliveries again, from now on; a replay fills the gap
    Enable(Named),
    /// Make no deliveries until it is enabled again
    Disable(Named),
    Delete(Delete),
    Replay(Replay),
}

/// A consumer.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Of the consumer
    consumer: ConsumerName,
}

/// Remove a subscription; deliveries that are stored stay
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Of the consumer
    consumer: ConsumerName,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Store the subscription of a consumer, or replace it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Put {
    /// Of the consumer; its deliveries are jobs of the queue event.CONSUMER
    consumer: ConsumerName,
    /// A type, what begins with some parts (order.*), or all (*)
    #[arg(value_name = "TYPES")]
    events: String,
    /// Deliveries of one partition key run one after the other
    #[arg(long)]
    ordered: bool,
    /// Partition keys are served in turn; those of one still run beside each other
    #[arg(long, conflicts_with = "ordered")]
    fair: bool,
    /// Make no deliveries until it is enabled; without it that stays as it is
    #[arg(long)]
    disabled: bool,
    /// How often a delivery is tried
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// How long one run may take, as 30s, 10m
    #[arg(long, value_name = "DURATION")]
    timeout: Option<Span>,
    /// Each delivery waits this long
    #[arg(long, value_name = "DURATION")]
    delay: Option<Span>,
    /// When a failed delivery is tried again: `fixed MS`, `list MS MS ..` or `exponential BASE_MS
    /// CAP_MS JITTER`
    #[arg(long, value_name = "POLICY")]
    retry: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  queuekit subscription put shipping 'order.*' --ordered
  queuekit subscription replay shipping --name 'after the fix' --from 2h";

/// Deliver events of the log once more to a consumer
#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// Of the consumer
    consumer: ConsumerName,
    /// Under one name each event is delivered once: begun again, a replay goes on
    #[arg(long)]
    name: String,
    /// Only events that were stored since, as 1h, or an instant (RFC 3339); all if left out
    #[arg(long, value_name = "TIME")]
    from: Option<Since>,
    /// Count the events that match, and deliver nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Deserialize)]
struct Subscriptions {
    subscriptions: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Name {
    consumer: String,
}

#[derive(Deserialize)]
struct SubscriptionView {
    consumer: String,
    events: String,
    ordered: bool,
    fair: bool,
    enabled: bool,
    stats: Option<Stats>,
}

#[derive(Deserialize)]
struct Stats {
    depth: u64,
    in_flight: u64,
    dead: u64,
    totals: Totals,
    failure_rate: f64,
    latency_p50_ms: Option<u64>,
}

/// As the route takes it, and shows it beside other things.
#[derive(Deserialize, Serialize)]
struct PutBody {
    events: String,
    ordered: bool,
    fair: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    enabled: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_attempts: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry: Option<String>,
}

#[derive(Deserialize)]
struct Totals {
    completed: u64,
}

#[derive(Serialize)]
struct ReplayBody<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
}

#[derive(Deserialize)]
struct Step {
    matched: u64,
    delivered: u64,
    to: String,
    cursor: Option<String>,
}

impl Subscription {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let access = if matches!(self, Self::Put(_)) { Access::Creating } else { Access::Existing };
        let run = async |api: &Api| match self {
            Self::List => list(api, output).await,
            Self::Put(put) => put.run(api, output).await,
            Self::Enable(Named { consumer }) => turn(api, &consumer, true, output).await,
            Self::Disable(Named { consumer }) => turn(api, &consumer, false, output).await,
            Self::Delete(delete) => delete.run(api, output).await,
            Self::Replay(replay) => replay.run(api, output).await,
        };
        context.with_api(access, run).await?;
        Ok(Exit::Success)
    }
}

fn path(consumer: &str) -> String {
    format!("/v1/subscriptions/{consumer}")
}

/// Changes nothing else of the subscription.
async fn turn(api: &Api, consumer: &ConsumerName, enabled: bool, output: Output) -> Result<()> {
    let path = path(consumer.as_str());
    let known: PutBody = api.get(&path).await?.read()?;
    let body = PutBody { enabled: Some(enabled), ..known };
    let answer = api.call(Method::PUT, &path, &body).await?;
    let done = if enabled { "gets" } else { "gets no more" };
    output.forward(answer.json(), || Ok(format!("{consumer} {done} events")))
}

/// Figures are told of one at a time.
async fn list(api: &Api, output: Output) -> Result<()> {
    let all: Subscriptions = api.get("/v1/subscriptions").await?.read()?;
    let mut subscriptions = Vec::with_capacity(all.subscriptions.len());
    for one in all.subscriptions {
        let Name { consumer } = serde_json::from_str(one.get())?;
        subscriptions.push(api.get(&path(&consumer)).await?.read()?);
    }
    output.list(&subscriptions, table(&subscriptions)?)
}

fn table(subscriptions: &[Box<RawValue>]) -> Result<Table> {
    let names = [
        "CONSUMER",
        "EVENTS",
        "#WAITING",
        "#RUNNING",
        "#DEAD",
        "#COMPLETED",
        "#FAILED %",
        "LATENCY",
        "",
    ];
    let none = "there are no subscriptions: `queuekit subscription put` makes one";
    let mut table = Table::new(&names, none);
    for one in subscriptions {
        let one: SubscriptionView = serde_json::from_str(one.get())?;
        let stats = one.stats.as_ref();
        let latency = stats.and_then(|stats| stats.latency_p50_ms).map(Duration::from_millis);
        let order = match (one.ordered, one.fair) {
            (true, _) => "ordered",
            (false, true) => "fair",
            (false, false) => "",
        };
        table.row([
            Cell::from(&one.consumer),
            Cell::from(&one.events),
            or_dash(stats.map(|stats| stats.depth)),
            or_dash(stats.map(|stats| stats.in_flight)),
            or_dash(stats.map(|stats| stats.dead)),
            or_dash(stats.map(|stats| stats.totals.completed)),
            or_dash(stats.map(|stats| format!("{:.0}", stats.failure_rate * 100.))),
            or_dash(latency.map(span)),
            Cell::from(if one.enabled { order } else { "disabled" }),
        ]);
    }
    Ok(table)
}

impl Delete {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let Self { consumer, yes } = self;
        let path = path(consumer.as_str());
        if !yes {
            let events = api.get(&path).await?.read::<SubscriptionView>()?.events;
            let question = format!("delete the subscription of {consumer} to {events}?");
            confirm(&question, "with `subscription list`")?;
        }
        api.act(Method::DELETE, &path).await?;
        let value = json!({ "consumer": consumer.as_str(), "outcome": "deleted" });
        output.answer(&value, format_args!("{consumer} gets no more events"))
    }
}

impl Put {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let ms = |Span(span): Span| millis(span);
        let body = PutBody {
            events: self.events,
            ordered: self.ordered,
            fair: self.fair,
            enabled: self.disabled.then_some(false),
            max_attempts: self.max_attempts,
            timeout_ms: self.timeout.map(ms),
            delay_ms: self.delay.map(ms),
            retry: self.retry,
        };
        let answer = api.call(Method::PUT, &path(self.consumer.as_str()), &body).await?;
        let is_new = answer.status == StatusCode::CREATED;
        output.forward(answer.json(), || {
            let done = if is_new { "gets" } else { "now gets" };
            let enabled = answer.read::<SubscriptionView>()?.enabled;
            let when = if enabled { "" } else { " once it is enabled" };
            Ok(format!("{} {done} {}{when}", self.consumer, body.events))
        })
    }
}

impl Replay {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let path = format!("{}/replay", path(self.consumer.as_str()));
        let from = self.from.map(|Since(at)| format!("{at:.3}"));
        if self.dry_run {
            let subscription = api.get(&self::path(self.consumer.as_str())).await?;
            let types = subscription.read::<SubscriptionView>()?.events;
            let matched = event::count(api, &types, from.as_deref()).await?;
            let text = format!("events that match: {matched}; nothing was delivered");
            return output.answer(&json!({ "matched": matched, "delivered": 0 }), text);
        }
        let (mut matched, mut delivered) = (0, 0);
        let (mut to, mut cursor) = (None, None);
        let bar = progress(0, "replay");
        loop {
            let body = ReplayBody { name: &self.name, from: from.clone(), to, cursor };
            let step: Step = api.call(Method::POST, &path, &body).await?.read()?;
            matched += step.matched;
            delivered += step.delivered;
            bar.set_length(matched);
            bar.set_position(matched);
            (to, cursor) = (Some(step.to), step.cursor);
            if cursor.is_none() {
                break;
            }
        }
        bar.finish_and_clear();
        let value = json!({ "matched": matched, "delivered": delivered });
        let text = format!("events that match: {matched}; delivered once more: {delivered}");
        output.answer(&value, text)
    }
}
