//! `queuekit cron`

use std::time::Duration;

use anyhow::Result;
use axum::http::{Method, StatusCode};
use clap::{ArgGroup, Args, Subcommand};

use queuekit::QueueName;
use queuekit::jobs::Kind;
use queuekit::schedules::{CatchUp, Overlap, ScheduleName};
use serde_json::json;
use serde_json::value::RawValue;

use super::api::Api;
use super::bulk::confirm;
use super::cells::or_dash;
use super::context::{Access, Context};
use super::exit::Exit;
use super::format::{ago, brief};
use super::one_of_flag::one_of;
use super::output::Output;
use super::payload;
use super::table::{Cell, Table};
use crate::grammar::{Instant, Span};
use crate::wire::millis;
use crate::wire::{NewJobBody, NewScheduleBody, NextRunsBody, ScheduleBody, ScheduleRunBody, Time};

const LETTERS: usize = 50;

/// Manage schedules, which enqueue jobs at the times of a cron expression or at an interval
#[derive(Subcommand, Debug)]
pub(crate) enum Cron {
    /// List schedules and their next occurrences
    List,
    Put(Box<Put>),
    /// Pause a schedule: it enqueues nothing until it is resumed
    Pause(Named),
    /// Resume a paused schedule
    Resume(Named),
    Delete(Delete),
    /// Restore what the code declares, at the next start of a program that declares it
    Reset(Named),
    /// Enqueue the job of a schedule now, regardless of its times
    Run(Named),
    Next(Next),
}

/// A schedule.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Name of the schedule
    name: ScheduleName,
}

/// Delete a schedule; jobs that it has enqueued stay
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Name of the schedule
    name: ScheduleName,
    /// Do not ask for confirmation
    #[arg(long, short)]
    yes: bool,
}

/// Print the next occurrences of a schedule
#[derive(Args, Debug)]
pub(crate) struct Next {
    /// Name of the schedule
    name: ScheduleName,
    /// Number of occurrences
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u8).range(1..=100))]
    count: u8,
}

/// Create or replace a schedule
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("when").args(["cron", "every"]).required(true))]
pub(crate) struct Put {
    /// Name of the schedule
    name: ScheduleName,
    /// Kind of its jobs; picks the handler
    #[arg(value_name = "KIND")]
    kind: Kind,
    /// Cron expression: five to seven fields, such as '30 2 * * *', or @daily and the like
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,
    /// Time zone of the expression, such as Europe/Berlin [default: UTC]
    #[arg(long, value_name = "ZONE", conflicts_with = "every")]
    zone: Option<String>,
    /// Interval, such as 5m, instead of a cron expression
    #[arg(long, value_name = "DURATION")]
    every: Option<Span>,
    /// Data for the handler: JSON, @FILE to read it from a file, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "null", allow_hyphen_values = true)]
    payload: String,
    /// Queue of its jobs
    #[arg(long, default_value = "default")]
    queue: QueueName,
    /// Attempts before one of its jobs is dead-lettered [default: 3]
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// Missed occurrences to enqueue: none (skip), the latest (once), or the latest N
    /// [default: once]
    #[arg(long, value_name = "skip|once|N", value_parser = catch_up)]
    catch_up: Option<CatchUp>,
    /// Whether to enqueue a job while the last one has not ended [default: allow]
    #[arg(long, value_name = "POLICY", value_parser = one_of::<Overlap>(Overlap::WORDS))]
    overlap: Option<Overlap>,
    /// Delay each job by up to this time, to spread the load
    #[arg(long, value_name = "DURATION")]
    jitter: Option<Span>,
    /// No occurrence before this time: RFC 3339, or a duration from now
    #[arg(long, value_name = "TIME")]
    start: Option<Instant>,
    /// No occurrence after this time: RFC 3339, or a duration from now
    #[arg(long, value_name = "TIME")]
    end: Option<Instant>,
    /// Pause the schedule; without this flag, a pause stays as it is
    #[arg(long)]
    paused: bool,
}

const EXAMPLES: &str = "\
Examples:
  queuekit cron put nightly report --cron '30 2 * * *' --zone Europe/Berlin
  queuekit cron put ping http --every 5m --payload '{\"url\": \"https://example.com/ping\"}'

An expression that never matches is refused. `queuekit serve`, `queuekit work` and all other workers
enqueue the jobs that are due.";

impl Cron {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let access = if matches!(self, Self::Put(_)) { Access::Creating } else { Access::Existing };
        let run = async |api: &Api| match self {
            Self::List => list(api, output).await,
            Self::Put(put) => put.run(api, output).await,
            Self::Pause(Named { name }) => turn(api, &name, "pause", output).await,
            Self::Resume(Named { name }) => turn(api, &name, "resume", output).await,
            Self::Reset(Named { name }) => reset(api, &name, output).await,
            Self::Delete(delete) => delete.run(api, output).await,
            Self::Run(Named { name }) => {
                let answer = api.act(Method::POST, &format!("{}/run", path(&name))).await?;
                output
                    .forward(answer.json(), || Ok(answer.read::<ScheduleRunBody>()?.id.to_string()))
            }
            Self::Next(next) => next.run(api, output).await,
        };
        context.with_api(access, run).await?;
        Ok(Exit::Success)
    }
}

fn path(name: &ScheduleName) -> String {
    format!("/v1/schedules/{name}")
}

async fn turn(api: &Api, name: &ScheduleName, action: &str, output: Output) -> Result<()> {
    let answer = api.act(Method::POST, &format!("{}/{action}", path(name))).await?;
    output.forward(answer.json(), || {
        Ok(format!("{name} runs: {}", answer.read::<ScheduleBody>()?.next()))
    })
}

async fn reset(api: &Api, name: &ScheduleName, output: Output) -> Result<()> {
    let answer = api.act(Method::POST, &format!("{}/reset", path(name))).await?;
    output.forward(answer.json(), || {
        Ok(format!("{name} has the definition of the code when a program that declares it starts"))
    })
}

async fn list(api: &Api, output: Output) -> Result<()> {
    let schedules = api.all("/v1/schedules", "schedules").await?;
    output.list(&schedules, table(&schedules)?)
}

fn table(schedules: &[Box<RawValue>]) -> Result<Table> {
    let names = ["NAME", "WHEN", "KIND", "QUEUE", "NEXT", "#ENQUEUED", "#SKIPPED"];
    let mut table = Table::new(&names, "no schedules: `queuekit cron put` creates one");
    for schedule in schedules {
        let schedule: ScheduleBody = serde_json::from_str(schedule.get())?;
        let job = schedule.job.as_ref();
        table.row([
            Cell::from(&schedule.name),
            Cell::from(brief(&schedule.when(), LETTERS)),
            or_dash(job.map(|job| &job.kind)),
            or_dash(job.map(|job| &job.queue)),
            Cell::from(schedule.next()),
            Cell::from(schedule.enqueued.unwrap_or_default()),
            Cell::from(schedule.skipped.unwrap_or_default()),
        ]);
    }
    Ok(table)
}

impl ScheduleBody {
    fn when(&self) -> String {
        match (&self.cron, self.every_ms, &self.error) {
            (Some(cron), ..) => format!("{cron} {}", self.zone.as_deref().unwrap_or("UTC")),
            (_, Some(ms), _) => format!("every {}", Span(Duration::from_millis(ms))),
            (_, _, error) => error.clone().unwrap_or_default(),
        }
    }

    fn next(&self) -> String {
        match self.next_at {
            _ if self.paused == Some(true) => "paused".to_owned(),
            Some(at) => ago(at),
            None => "never".to_owned(),
        }
    }
}

/// The word of a flag.
fn catch_up(text: &str) -> Result<CatchUp, &'static str> {
    match text {
        "skip" => Ok(CatchUp::Skip),
        "once" => Ok(CatchUp::Once),
        number => number.parse().map(CatchUp::All).map_err(|_| "write skip, once or a number"),
    }
}

impl Next {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let schedule = path(&self.name);
        let answer = api.get(&format!("{schedule}/next?count={}", self.count)).await?;
        if output.json {
            return output.raw(answer.json().get());
        }
        let NextRunsBody { next } = answer.read()?;
        if !next.is_empty() {
            let lines: Vec<_> = next.into_iter().map(|at| format!("{at}  {}", ago(at))).collect();
            return output.line(lines.join("\n"));
        }
        let schedule: ScheduleBody = api.get(&schedule).await?.read()?;
        match schedule.paused {
            Some(true) => output.line("the schedule is paused: `queuekit cron resume` resumes it"),
            _ => output.line("the schedule has no more occurrences"),
        }
    }
}

impl Delete {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let Self { name, yes } = self;
        let path = path(&name);
        if !yes {
            let schedule: ScheduleBody = api.get(&path).await?.read()?;
            let question = format!("delete the schedule {name}, {}?", schedule.when());
            confirm(&question, "with `cron list`")?;
        }
        api.act(Method::DELETE, &path).await?;
        let value = json!({ "schedule": name.as_str(), "outcome": "deleted" });
        output.answer(&value, format_args!("{name} was deleted"))
    }
}

impl Put {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let payload = payload::read("--payload", &self.payload)?;
        let ms = |Span(span): Span| millis(span);
        let job = NewJobBody {
            kind: self.kind.into(),
            payload: Some(payload),
            queue: Some(self.queue.into()),
            max_attempts: self.max_attempts,
            ..NewJobBody::default()
        };
        let body = NewScheduleBody {
            cron: self.cron,
            zone: self.zone,
            every_ms: self.every.map(ms),
            job,
            catch_up: self.catch_up,
            overlap: self.overlap,
            jitter_ms: self.jitter.map_or(0, ms),
            start: self.start.map(|Instant(at)| Time::from(at)),
            end: self.end.map(|Instant(at)| Time::from(at)),
            paused: self.paused.then_some(true),
        };
        let answer = api.call(Method::PUT, &path(&self.name), &body).await?;
        let is_new = answer.status == StatusCode::CREATED;
        output.forward(answer.json(), || {
            let schedule: ScheduleBody = answer.read()?;
            let done = if is_new { "was created" } else { "was replaced" };
            let next = match schedule.next_at {
                Some(at) if schedule.paused != Some(true) => {
                    format!("; it runs {}, at {at}", ago(at))
                }
                _ => format!("; it runs: {}", schedule.next()),
            };
            Ok(format!("{} {done}{next}", schedule.name))
        })
    }
}
