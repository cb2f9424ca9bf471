//! `queuekit subscription`

use std::time::Duration;

use anyhow::Result;
use axum::http::{Method, StatusCode};
use clap::{Args, Subcommand};
use queuekit::events::ConsumerName;
use serde_json::json;
use serde_json::value::RawValue;

use super::api::{Answer, Api};
use super::bulk::{confirm, progress};
use super::cells::or_dash;
use super::context::{Access, Context};
use super::event;
use super::exit::Exit;
use super::format::span;
use super::output::Output;
use super::table::{Cell, Table};
use crate::grammar::{Since, Span};
use crate::wire::millis;
use crate::wire::{
    NewSubscriptionBody, ReplayBody, ReplayedBody, SubscriptionBody, SubscriptionsBody, Time,
};

/// Manage subscriptions: which events each consumer gets
#[derive(Subcommand, Debug)]
pub(crate) enum Subscription {
    /// List subscriptions, with the figures of their consumers
    List,
    Put(Put),
    /// Enable a subscription: events are delivered again; use `replay` for those it has missed
    Enable(Named),
    /// Disable a subscription: events make no deliveries until it is enabled
    Disable(Named),
    Delete(Delete),
    Replay(Replay),
}

/// A consumer.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Name of the consumer
    consumer: ConsumerName,
}

/// Delete a subscription; deliveries that are stored stay
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Name of the consumer
    consumer: ConsumerName,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

/// Create or replace the subscription of a consumer
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Put {
    /// Name of the consumer; its deliveries are jobs in the queue event.CONSUMER
    consumer: ConsumerName,
    /// One event type, all types below a prefix (order.*), or all (*)
    #[arg(value_name = "TYPES")]
    events: String,
    /// Run deliveries of one partition key one after the other
    #[arg(long)]
    ordered: bool,
    /// Let partition keys take turns; deliveries of one key may run at the same time
    #[arg(long, conflicts_with = "ordered")]
    fair: bool,
    /// Disable the subscription [default: unchanged; a new one is enabled]
    #[arg(long)]
    disabled: bool,
    /// Attempts before a delivery is dead-lettered [default: 3]
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// Longest time of one run, such as 30s, 10m [default: 30m]
    #[arg(long, value_name = "DURATION")]
    timeout: Option<Span>,
    /// Delay of each delivery, such as 10s, 5m
    #[arg(long, value_name = "DURATION")]
    delay: Option<Span>,
    /// Retry policy of failed deliveries: `fixed MS`, `list MS MS ..` or `exponential BASE_MS
    /// CAP_MS JITTER` [default: that of the worker]
    #[arg(long, value_name = "POLICY")]
    retry: Option<String>,
}

const EXAMPLES: &str = "\
Examples:
  queuekit subscription put shipping 'order.*' --ordered
  queuekit subscription replay shipping --name 'after the fix' --from 2h";

/// Deliver events of the log to a consumer again
#[derive(Args, Debug)]
pub(crate) struct Replay {
    /// Name of the consumer
    consumer: ConsumerName,
    /// Name of the replay. Under one name each event is delivered once, so you can restart it
    #[arg(long)]
    name: String,
    /// Replay only events stored since this time: a duration ago, such as 1h, or RFC 3339
    #[arg(long, value_name = "TIME")]
    from: Option<Since>,
    /// Count the events that match, and deliver nothing
    #[arg(long)]
    dry_run: bool,
}

impl Subscription {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let access = if matches!(self, Self::Put(_)) { Access::Creating } else { Access::Existing };
        let run = async |api: &Api| match self {
            Self::List => list(api, output).await,
            Self::Put(put) => put.run(api, output).await,
            Self::Enable(Named { consumer }) => told_turn(api, &consumer, true, output).await,
            Self::Disable(Named { consumer }) => told_turn(api, &consumer, false, output).await,
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

async fn told_turn(
    api: &Api,
    consumer: &ConsumerName,
    enabled: bool,
    output: Output,
) -> Result<()> {
    let answer = turn(api, consumer.as_str(), enabled).await?;
    let done = if enabled { "enabled" } else { "disabled" };
    output.forward(answer.json(), || Ok(format!("the subscription of {consumer} is {done}")))
}

/// Enables or disables a subscription, and changes nothing else of it.
pub(super) async fn turn(api: &Api, consumer: &str, enabled: bool) -> Result<Answer> {
    let path = path(consumer);
    let known: SubscriptionBody = api.get(&path).await?.read()?;
    let body = NewSubscriptionBody {
        events: known.events,
        ordered: known.ordered,
        fair: known.fair,
        enabled: Some(enabled),
        max_attempts: Some(known.max_attempts),
        timeout_ms: Some(known.timeout_ms),
        delay_ms: Some(known.delay_ms),
        retry: known.retry,
    };
    api.call(Method::PUT, &path, &body).await
}

/// Lists all subscriptions; the route answers figures of one at a time.
async fn list(api: &Api, output: Output) -> Result<()> {
    let all: SubscriptionsBody<Box<RawValue>> = api.get("/v1/subscriptions").await?.read()?;
    let mut subscriptions = Vec::with_capacity(all.subscriptions.len());
    for one in all.subscriptions {
        let SubscriptionBody { consumer, .. } = serde_json::from_str(one.get())?;
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
        "#ENQUEUED",
        "#COMPLETED",
        "#FAILED",
        "#DEAD %",
        "LATENCY",
        "",
    ];
    let none = "no subscriptions: `queuekit subscription put` creates one";
    let mut table = Table::new(&names, none);
    for one in subscriptions {
        let one: SubscriptionBody = serde_json::from_str(one.get())?;
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
            or_dash(stats.map(|stats| stats.totals.enqueued)),
            or_dash(stats.map(|stats| stats.totals.completed)),
            or_dash(stats.map(|stats| stats.totals.failed)),
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
            let events = api.get(&path).await?.read::<SubscriptionBody>()?.events;
            let question = format!("delete the subscription of {consumer} to {events}?");
            confirm(&question, "with `subscription list`")?;
        }
        api.act(Method::DELETE, &path).await?;
        let value = json!({ "consumer": consumer.as_str(), "outcome": "deleted" });
        output.answer(&value, format_args!("the subscription of {consumer} was deleted"))
    }
}

impl Put {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let ms = |Span(span): Span| millis(span);
        let body = NewSubscriptionBody {
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
            let done = if is_new { "is subscribed to" } else { "is now subscribed to" };
            let enabled = answer.read::<SubscriptionBody>()?.enabled;
            let when = if enabled { "" } else { ", but disabled" };
            Ok(format!("{} {done} {}{when}", self.consumer, body.events))
        })
    }
}

impl Replay {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let path = format!("{}/replay", path(self.consumer.as_str()));
        let from = self.from.map(|Since(at)| Time::from(at));
        if self.dry_run {
            let subscription = api.get(&self::path(self.consumer.as_str())).await?;
            let types = subscription.read::<SubscriptionBody>()?.events;
            let matched = event::count(api, &types, from).await?;
            let text = format!("matching events: {matched}; nothing was delivered");
            return output.answer(&json!({ "matched": matched, "delivered": 0 }), text);
        }
        let (mut matched, mut delivered) = (0_usize, 0_usize);
        let (mut to, mut cursor) = (None, None);
        let bar = progress(0, "replay");
        loop {
            let body = ReplayBody { name: self.name.clone(), from, after: None, to, cursor };
            let step: ReplayedBody = api.call(Method::POST, &path, &body).await?.read()?;
            matched += step.matched;
            delivered += step.delivered;
            bar.set_length(matched as u64);
            bar.set_position(matched as u64);
            (to, cursor) = (Some(step.to), step.cursor);
            if cursor.is_none() {
                break;
            }
        }
        bar.finish_and_clear();
        let value = json!({ "matched": matched, "delivered": delivered });
        let text = format!("matching events: {matched}; delivered again: {delivered}");
        output.answer(&value, text)
    }
}
