//! `queuekit stats --history`: figures of the past.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use clap::Args;
use queuekit::QueueName;
use queuekit::queues::Totals;
use queuekit::store::history::{Runs, rates};
use queuekit::store::{Clock, Kind, SystemClock};

use super::api::Api;
use super::cells::or_dash;
use super::format::span;
use super::output::Output;
use super::table::{Cell, Table};
use crate::grammar::Span;
use crate::wire::{HistoryBody, HistoryParams, Time, TotalsRowBody, sum_of};

/// How far back, and of what.
#[derive(Args, Debug)]
pub(crate) struct History {
    /// Show the rates, waiting times and run times of each queue over this last period, such as 1h
    #[arg(long, value_name = "DURATION", conflicts_with = "watch")]
    history: Option<Span>,
    /// Show only this queue
    #[arg(long, value_name = "NAME", requires = "history")]
    queue: Option<QueueName>,
    /// Show only runs of jobs of this kind
    #[arg(long, value_name = "NAME", requires = "history")]
    kind: Option<Kind>,
}

/// What is shown of a queue.
#[derive(Default)]
struct OfQueue {
    change: Totals,
    elapsed: Duration,
    runs: Runs,
}

impl History {
    pub(crate) fn is_asked(&self) -> bool {
        self.history.is_some()
    }

    /// Shows all rows as a table, or each answer as a line of JSON.
    pub(crate) async fn show(&self, api: &Api, output: Output) -> Result<()> {
        let Some(Span(back)) = self.history else { return Ok(()) };
        let mut params = HistoryParams {
            queue: self.queue.as_ref().map(ToString::to_string),
            kind: self.kind.as_ref().map(ToString::to_string),
            from: Some(Time(SystemClock::default().now().minus(back))),
            ..HistoryParams::default()
        };
        let (mut totals, mut queues) = (Vec::new(), BTreeMap::<String, OfQueue>::new());
        loop {
            let body: HistoryBody = api.find("/v1/history", &params).await?.read()?;
            if output.json {
                output.json(&body)?;
            }
            for row in &body.runs {
                queues.entry(row.queue.clone()).or_default().runs.merge(&row.runs());
            }
            totals.extend(body.totals.iter().filter_map(TotalsRowBody::row));
            if body.next.is_none() {
                break;
            }
            // With the step of the first answer: by age alone, a later part might have another one.
            (params.step, params.from) = (Some(body.step), body.next);
        }
        if output.json {
            return Ok(());
        }
        for rate in rates(&totals) {
            let shown = queues.entry(rate.queue.to_string()).or_default();
            shown.change = sum_of(shown.change, rate.change);
            shown.elapsed += rate.elapsed();
        }
        // A queue with a single row has no rate, and is shown all the same.
        for row in &totals {
            queues.entry(row.queue.to_string()).or_default();
        }
        output.line(table(&queues))
    }
}

fn table(queues: &BTreeMap<String, OfQueue>) -> Table {
    let names = [
        "QUEUE",
        "#ENQUEUED/MIN",
        "#COMPLETED/MIN",
        "#FAILED/MIN",
        "#DEAD/MIN",
        "#WAIT P50",
        "#WAIT P95",
        "#RUN P50",
        "#RUN P95",
    ];
    let mut table = Table::new(&names, "no history: no worker or server has recorded it yet");
    for (queue, OfQueue { change, elapsed, runs }) in queues {
        let minutes = elapsed.as_secs_f64() / 60.0;
        let rate = |number: u64| {
            or_dash((minutes > 0.0).then(|| format!("{:.1}", number as f64 / minutes)))
        };
        let time = |time: Option<Duration>| or_dash(time.map(|time| format!("<{}", span(time))));
        table.row([
            Cell::from(queue),
            rate(change.enqueued),
            rate(change.completed),
            rate(change.failed),
            rate(change.dead),
            time(runs.wait.quantile(0.5)),
            time(runs.wait.quantile(0.95)),
            time(runs.run.quantile(0.5)),
            time(runs.run.quantile(0.95)),
        ]);
    }
    table
}
