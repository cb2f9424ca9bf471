//! `queuekit top`: a dashboard in the terminal. `model` is what it shows, `update` and `keys`
//! change that without I/O, `screens` draw it, and `fetch` makes the calls.

mod act;
mod extras;
mod fetch;
mod figures;
mod grid;
mod keys;
mod look;
mod model;
mod orders;
mod remedy;
mod screens;
mod slot;
mod terminal;
#[cfg(test)]
mod tests;
mod text;
mod update;
mod worker_keys;

use std::time::Duration;

use anyhow::Result;
use clap::Args;
use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use queuekit::Timestamp;
use queuekit::store::{Clock, SystemClock};
use tokio::time::{MissedTickBehavior, interval};

use super::api::Api;
use super::context::{Access, Context};
use super::exit::Exit;
use super::shutdown::Signals;
use crate::error::Usage;
use crate::grammar::Span;
use fetch::fetch;
use model::{Event, Model, Request};
use terminal::{Keys, Screen, need_terminal};

/// The shortest interval: each round asks the store up to three times.
const SHORTEST: Duration = Duration::from_millis(100);

/// Watch and manage the store in the terminal: queues, jobs, errors and workers
#[derive(Args, Debug)]
#[command(after_help = AFTER)]
pub(crate) struct Top {
    /// Time between refreshes, such as 500ms or 5s
    #[arg(long, value_name = "DURATION", default_value = "1s")]
    interval: Span,
}

const AFTER: &str = "\
Keys: 1-5 open a tab, j and k move, enter opens, / filters, ? lists all keys, q quits. Actions ask
before they change anything. A key for a server needs the scope `read`, and `admin` for actions.
Colours are left out if NO_COLOR is set.

Examples:
  queuekit top --url postgres://localhost/jobs
  queuekit top --server https://jobs.example.com --interval 5s";

impl Top {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let Span(every) = self.interval;
        if every < SHORTEST {
            return Err(Usage::error(format!("--interval must be at least {SHORTEST:?}")));
        }
        if context.output.json {
            return Err(Usage::error("top prints no JSON; `queuekit stats --json` does"));
        }
        need_terminal()?;
        let show = async |api: &Api| {
            let place = api.server().unwrap_or_else(|| context.address().to_string());
            let mut model = Model::new(place, every, now());
            let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            model.colours = !no_color;
            show(api, model).await
        };
        context.with_api(Access::Existing, show).await?;
        Ok(Exit::Success)
    }
}

/// Shows it until a key or a signal ends it. Keys are handled while calls are under way.
async fn show(api: &Api, mut model: Model) -> Result<()> {
    let (mut signals, mut screen) = (Signals::listen()?, Screen::open()?);
    let mut keys = Keys::listen()?;
    model.size = screen.size()?;
    let mut ticks = interval(model.every);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut calls = FuturesUnordered::new();
    loop {
        screen.draw(|frame| screens::draw(&model, frame))?;
        let event = tokio::select! {
            () = signals.next() => return Ok(()),
            event = keys.next() => event?,
            Some(Some(event)) = calls.next() => event,
            _ = ticks.tick() => Event::Tick,
        };
        for request in model.update(event, now()) {
            if matches!(request, Request::Quit) {
                return Ok(());
            }
            calls.push(fetch(api, request));
        }
    }
}

fn now() -> Timestamp {
    SystemClock::default().now()
}
