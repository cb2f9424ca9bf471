//! `queuekit event retention`

use std::time::Duration;

use anyhow::Result;
use axum::http::Method;
use clap::Args;
use serde::{Deserialize, Serialize};

use super::api::Api;
use super::output::Output;
use super::quantity::{Span, millis};
use super::shown::span;

const PATH: &str = "/v1/events/retention";

/// Show how long events stay in the log, or change it
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Retention {
    /// Keep events this long, at least 10m
    #[arg(long, value_name = "DURATION")]
    age: Option<Span>,
    /// Keep this many at most
    #[arg(long, value_name = "N")]
    events: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  queuekit event retention
  queuekit event retention --age 30d --events 5000000

Events that a delivery still needs are kept, or copied into it first.";

#[derive(Deserialize, Serialize)]
struct View {
    age_ms: u64,
    events: u64,
}

impl Retention {
    /// Whether it changes anything.
    fn changes(&self) -> bool {
        self.age.is_some() || self.events.is_some()
    }

    pub(super) async fn run(self, api: &Api, output: Output) -> Result<()> {
        let mut answer = api.get(PATH).await?;
        if self.changes() {
            let is: View = answer.read()?;
            let age_ms = self.age.map_or(is.age_ms, |Span(age)| millis(age));
            let wanted = View { age_ms, events: self.events.unwrap_or(is.events) };
            answer = api.call(Method::PUT, PATH, &wanted).await?;
        }
        output.forward(answer.json(), || {
            let View { age_ms, events } = answer.read()?;
            let age = span(Duration::from_millis(age_ms));
            Ok(format!("events stay for {age}, and at most {events} of them"))
        })
    }
}
