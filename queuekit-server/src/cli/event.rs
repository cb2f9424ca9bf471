//! `queuekit event`

use std::num::NonZeroUsize;

use anyhow::Result;
use axum::http::Method;
use clap::{Args, Subcommand};
use queuekit::events::{self, EmitOutcome};
use queuekit::jobs::{IdempotencyKey, Kind, PartitionKey};
use queuekit::store::as_json;
use serde_json::value::RawValue;
use tracing::Instrument;

use super::api::Api;
use super::cells::or_dash;
use super::context::{Access, Context};
use super::event_retention::Retention;
use super::exit::Exit;
use super::format::{ago, brief};
use super::output::{Output, remark};
use super::payload;
use super::table::{Cell, Table};
use crate::grammar::{Since, Span};
use crate::monitor::traces;
use crate::wire::{EventQuery, EventsBody, NewEventBody, Time, millis};

const LETTERS: usize = 60;
const PAGE: usize = 500;

/// Emit events, read the log, and set its retention
#[derive(Subcommand, Debug)]
pub(crate) enum Event {
    Emit(Emit),
    List(List),
    Retention(Retention),
}

/// Store an event, with a delivery for each subscription
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Emit {
    /// Event type, such as order.paid
    #[arg(value_name = "TYPE")]
    kind: Kind,
    /// Data of the event: JSON, @FILE to read it from a file, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "null", allow_hyphen_values = true)]
    data: String,
    /// Partition key: ordered consumers get the events of one key one after the other
    #[arg(long, value_name = "KEY")]
    partition_key: Option<PartitionKey>,
    /// Idempotency key: the log holds one event of the type with this key
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<IdempotencyKey>,
    /// Delay of its deliveries, such as 10s, 5m, 2d
    #[arg(long, value_name = "DURATION")]
    delay: Option<Span>,
}

const EXAMPLES: &str = "\
Examples:
  queuekit event emit order.paid --data '{\"order\": 7}' --partition-key order-7
  queuekit event emit order.paid --data @order.json --idempotency-key order-7-paid";

/// List the events of the log, oldest first
#[derive(Args, Debug)]
pub(crate) struct List {
    /// One type, all types below a prefix (order.*), or all (*)
    #[arg(value_name = "TYPES", default_value = "*")]
    kind: String,
    /// Show only events stored since this time: a duration ago, such as 1h, or RFC 3339
    #[arg(long, value_name = "TIME")]
    since: Option<Since>,
    /// Maximum number of events to show
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

impl Event {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let access = match self {
            Self::Emit(_) => Access::Creating,
            Self::List(_) | Self::Retention(_) => Access::Existing,
        };
        let run = async |api: &Api| match self {
            Self::Emit(emit) => {
                emit.run(api, output).instrument(traces::command("queuekit event emit")).await
            }
            Self::List(list) => list.run(api, output).await,
            Self::Retention(retention) => retention.run(api, output).await,
        };
        context.with_api(access, run).await?;
        Ok(Exit::Success)
    }
}

impl Emit {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let data = payload::read("--data", &self.data)?;
        let body = NewEventBody {
            r#type: self.kind.into(),
            data: Some(data),
            partition_key: self.partition_key.map(String::from),
            idempotency_key: self.idempotency_key.map(String::from),
            delay_ms: self.delay.map(|Span(delay)| millis(delay)),
            ..NewEventBody::default()
        };
        let emitted: EmitOutcome = api.call(Method::POST, "/v1/events", &body).await?.read()?;
        if matches!(emitted, EmitOutcome::Duplicate { .. }) {
            remark("nothing was stored: the log already has an event with this idempotency key");
        }
        let (EmitOutcome::Emitted { id }
        | EmitOutcome::Duplicate { existing: id }
        | EmitOutcome::Conflict { existing: id }) = emitted;
        output.answer(&emitted, id)
    }
}

/// Counts the events of these types since a time.
pub(crate) async fn count(api: &Api, types: &str, from: Option<Time>) -> Result<usize> {
    let mut number = 0;
    let r#type = Some(types.to_owned());
    let mut query = EventQuery { r#type, from, limit: Some(PAGE), ..EventQuery::default() };
    loop {
        let page: EventsBody<Box<RawValue>> = api.find("/v1/events", &query).await?.read()?;
        number += page.events.len();
        query.cursor = page.cursor;
        if query.cursor.is_none() {
            return Ok(number);
        }
    }
}

impl List {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let (mut events, most) = (Vec::new(), self.limit.get());
        let from = self.since.map(|Since(at)| Time::from(at));
        let mut query = EventQuery { r#type: Some(self.kind), from, ..EventQuery::default() };
        loop {
            // One more than is shown, to know whether there are more.
            query.limit = Some(PAGE.min(most - events.len() + 1));
            let page: EventsBody<Box<RawValue>> = api.find("/v1/events", &query).await?.read()?;
            events.extend(page.events);
            query.cursor = page.cursor;
            if query.cursor.is_none() || events.len() > most {
                break;
            }
        }
        let there_are_more = events.len() > most;
        events.truncate(most);
        output.list(&events, table(&events)?)?;
        if there_are_more {
            remark(format_args!("more events match: raise --limit to show them"));
        }
        Ok(())
    }
}

fn table(events: &[Box<RawValue>]) -> Result<Table> {
    let mut table = Table::new(&["ID", "TYPE", "KEY", "EMITTED", "DATA"], "no events match");
    for event in events {
        let event: events::Event = serde_json::from_str(event.get())?;
        table.row([
            Cell::from(event.id),
            Cell::from(&event.kind),
            or_dash(event.partition_key),
            Cell::from(ago(Time(event.emitted_at))),
            or_dash(as_json(&event.data).map(|data| brief(data.get(), LETTERS))),
        ]);
    }
    Ok(table)
}
