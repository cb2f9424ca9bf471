//! `queuekit event retention`

use std::time::Duration;

use anyhow::Result;
use axum::http::Method;
use clap::Args;

use super::api::Api;
use super::format::span;
use super::output::Output;
use crate::grammar::Span;
use crate::wire::RetentionBody;
use crate::wire::millis;

const PATH: &str = "/v1/events/retention";

/// Show or change how long events stay in the log
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Retention {
    /// Longest age of events, at least 10m
    #[arg(long, value_name = "DURATION")]
    age: Option<Span>,
    /// Largest number of events
    #[arg(long, value_name = "N")]
    events: Option<u64>,
}

const EXAMPLES: &str = "\
Examples:
  queuekit event retention
  queuekit event retention --age 30d --events 5000000

Events that a delivery still needs are kept, or copied into the delivery first.";

impl Retention {
    /// Whether the command changes anything.
    fn changes(&self) -> bool {
        self.age.is_some() || self.events.is_some()
    }

    pub(super) async fn run(self, api: &Api, output: Output) -> Result<()> {
        let mut answer = api.get(PATH).await?;
        if self.changes() {
            let is: RetentionBody = answer.read()?;
            let age_ms = self.age.map_or(is.age_ms, |Span(age)| millis(age));
            let wanted = RetentionBody { age_ms, events: self.events.unwrap_or(is.events) };
            answer = api.call(Method::PUT, PATH, &wanted).await?;
        }
        output.forward(answer.json(), || {
            let RetentionBody { age_ms, events } = answer.read()?;
            let age = span(Duration::from_millis(age_ms));
            Ok(format!("events are kept for {age}, at most {events} of them"))
        })
    }
}
