//! `queuekit cron`

use std::str::FromStr;
use std::time::Duration;

use anyhow::Result;
use axum::http::{Method, StatusCode};
use clap::{ArgGroup, Args, Subcommand};
use jiff::Timestamp;
use queuekit::{Kind, Overlap, QueueName, ScheduleName};
use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;

use super::api::Api;
use super::bulk::confirm;
use super::context::{Access, Context};
use super::exit::Exit;
use super::output::Output;
use super::payload;
use super::quantity::{Instant, Span, millis};
use super::shown::{ago, brief, or_dash, span};
use super::table::{Cell, Table};
use super::words::one_of;

const LETTERS: usize = 50;

/// Schedules: jobs at the times of a cron expression, or every so often
#[derive(Subcommand, Debug)]
pub(crate) enum Cron {
    /// List schedules, with when they run next
    List,
    Put(Box<Put>),
    /// Enqueue nothing until it is resumed
    Pause(Named),
    /// End a pause
    Resume(Named),
    Delete(Delete),
    /// Enqueue the job of a schedule now, beside its times
    Run(Named),
    Next(Next),
}

/// A schedule.
#[derive(Args, Debug)]
pub(crate) struct Named {
    /// Of the schedule
    name: ScheduleName,
}

/// Remove a schedule; jobs that it has enqueued stay
#[derive(Args, Debug)]
pub(crate) struct Delete {
    /// Of the schedule
    name: ScheduleName,
    /// Do not ask
    #[arg(long, short)]
    yes: bool,
}

/// Tell when a schedule runs next
#[derive(Args, Debug)]
pub(crate) struct Next {
    /// Of the schedule
    name: ScheduleName,
    /// How many times
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u8).range(1..=100))]
    count: u8,
}

/// Store a schedule, or replace the one of this name
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
#[command(group = ArgGroup::new("when").args(["cron", "every"]).required(true))]
pub(crate) struct Put {
    /// Of the schedule
    name: ScheduleName,
    /// The type of its jobs: it picks the handler
    #[arg(value_name = "TYPE")]
    kind: Kind,
    /// When: five to seven fields, as '30 2 * * *', or @daily and the like
    #[arg(long, value_name = "EXPRESSION")]
    cron: Option<String>,
    /// Of the expression, as Europe/Berlin
    #[arg(long, value_name = "ZONE", conflicts_with = "every")]
    zone: Option<String>,
    /// Every so often, as 5m
    #[arg(long, value_name = "DURATION")]
    every: Option<Span>,
    /// What the handler is given: JSON, or the file it is in, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "null", allow_hyphen_values = true)]
    payload: String,
    /// The queue of its jobs
    #[arg(long, default_value = "default")]
    queue: QueueName,
    /// How often each of its jobs may be tried
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// What becomes of times that nobody was there for: skip, once, or the latest N
    #[arg(long, value_name = "skip|once|N")]
    catch_up: Option<CatchUp>,
    /// Whether a job is enqueued though the one before has not ended
    #[arg(long, value_name = "POLICY", value_parser = one_of::<Overlap>(Overlap::WORDS))]
    overlap: Option<Overlap>,
    /// Spread runs over this long
    #[arg(long, value_name = "DURATION")]
    jitter: Option<Span>,
    /// No run before: RFC 3339, or a duration from now
    #[arg(long, value_name = "TIME")]
    start: Option<Instant>,
    /// No run from then on: RFC 3339, or a duration from now
    #[arg(long, value_name = "TIME")]
    end: Option<Instant>,
    /// Enqueue nothing until it is resumed; without it a pause stays as it is
    #[arg(long)]
    paused: bool,
}

const EXAMPLES: &str = "\
Examples:
  queuekit cron put nightly report --cron '30 2 * * *' --zone Europe/Berlin
  queuekit cron put ping http --every 5m --payload '{\"url\": \"https://example.com/ping\"}'

An expression that never matches is refused. Who enqueues what is due: `queuekit serve`, `work` and
every worker.";

/// As the route takes it.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum CatchUp {
    Skip,
    Once,
    All(u32),
}

#[derive(Deserialize)]
struct Page {
    schedules: Vec<Box<RawValue>>,
    after: Option<String>,
}

#[derive(Deserialize)]
struct ScheduleView {
    name: String,
    error: Option<String>,
    cron: Option<String>,
    zone: Option<String>,
    every_ms: Option<u64>,
    job: Option<JobView>,
    #[serde(default)]
    paused: bool,
    next_at: Option<Timestamp>,
    #[serde(default)]
    enqueued: u64,
}

#[derive(Deserialize)]
struct JobView {
    queue: String,
    r#type: String,
}

#[derive(Deserialize)]
struct NextView {
    next: Vec<Timestamp>,
}

impl Cron {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let access = if matches!(self, Self::Put(_)) { Access::Creating } else { Access::Existing };
        let run = async |api: &Api| match self {
            Self::List => list(api, output).await,
            Self::Put(put) => put.run(api, output).await,
            Self::Pause(Named { name }) => turn(api, &name, "pause", output).await,
            Self::Resume(Named { name }) => turn(api, &name, "resume", output).await,
            Self::Delete(delete) => delete.run(api, output).await,
            Self::Run(Named { name }) => {
                let answer = api.act(Method::POST, &format!("{}/run", path(&name))).await?;
                output.forward(answer.json(), || {
                    let value: serde_json::Value = answer.read()?;
                    Ok(value["id"].as_str().unwrap_or_default().to_owned())
                })
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
        Ok(format!("{name} runs: {}", answer.read::<ScheduleView>()?.next()))
    })
}

async fn list(api: &Api, output: Output) -> Result<()> {
    let (mut schedules, mut after) = (Vec::new(), None::<String>);
    loop {
        let query: Vec<_> = after.iter().map(|after| ("after", after)).collect();
        let page: Page = api.find("/v1/schedules", &query).await?.read()?;
        schedules.extend(page.schedules);
        after = page.after;
        if after.is_none() {
            break;
        }
    }
    output.list(&schedules, table(&schedules)?)
}

fn table(schedules: &[Box<RawValue>]) -> Result<Table> {
    let names = ["NAME", "WHEN", "TYPE", "QUEUE", "NEXT", "#ENQUEUED"];
    let mut table = Table::new(&names, "there are no schedules: `queuekit cron put` makes one");
    for schedule in schedules {
        let schedule: ScheduleView = serde_json::from_str(schedule.get())?;
        let job = schedule.job.as_ref();
        table.row([
            Cell::from(&schedule.name),
            Cell::from(brief(&schedule.when(), LETTERS)),
            or_dash(job.map(|job| &job.r#type)),
            or_dash(job.map(|job| &job.queue)),
            Cell::from(schedule.next()),
            Cell::from(schedule.enqueued),
        ]);
    }
    Ok(table)
}

impl ScheduleView {
    fn when(&self) -> String {
        match (&self.cron, self.every_ms, &self.error) {
            (Some(cron), ..) => format!("{cron} {}", self.zone.as_deref().unwrap_or("UTC")),
            (_, Some(ms), _) => format!("every {}", span(Duration::from_millis(ms))),
            (_, _, error) => error.clone().unwrap_or_default(),
        }
    }

    fn next(&self) -> String {
        match self.next_at {
            _ if self.paused => "paused".to_owned(),
            Some(at) => ago(at),
            None => "never".to_owned(),
        }
    }
}

impl FromStr for CatchUp {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "skip" => Ok(Self::Skip),
            "once" => Ok(Self::Once),
            number => number.parse().map(Self::All).map_err(|_| "write skip, once or a number"),
        }
    }
}

impl Next {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let schedule = path(&self.name);
        let answer = api.get(&format!("{schedule}/next?count={}", self.count)).await?;
        if output.json {
            return output.raw(answer.json());
        }
        let NextView { next } = answer.read()?;
        if !next.is_empty() {
            let lines: Vec<_> = next.into_iter().map(|at| format!("{at}  {}", ago(at))).collect();
            return output.line(lines.join("\n"));
        }
        let schedule: ScheduleView = api.get(&schedule).await?.read()?;
        match schedule.paused {
            true => output.line("it is paused: `queuekit cron resume` lets it run"),
            false => output.line("it will not run again"),
        }
    }
}

impl Delete {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let Self { name, yes } = self;
        let path = path(&name);
        if !yes {
            let schedule: ScheduleView = api.get(&path).await?.read()?;
            let question = format!("delete the schedule {name}, {}?", schedule.when());
            confirm(&question, "with `cron list`")?;
        }
        api.act(Method::DELETE, &path).await?;
        let value = json!({ "schedule": name.as_str(), "outcome": "deleted" });
        output.answer(&value, format_args!("{name} is gone"))
    }
}

impl Put {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let payload = payload::read("--payload", &self.payload)?;
        let ms = |Span(span): Span| millis(span);
        let mut job = serde_json::Map::new();
        job.insert("type".into(), json!(self.kind.as_str()));
        job.insert("queue".into(), json!(self.queue.as_str()));
        job.extend(self.max_attempts.map(|attempts| ("max_attempts".into(), json!(attempts))));
        let body = Body {
            cron: self.cron.as_deref(),
            zone: self.zone.as_deref(),
            every_ms: self.every.map(ms),
            job: JobBody { about: job, payload: &payload },
            catch_up: self.catch_up,
            overlap: self.overlap,
            jitter_ms: self.jitter.map_or(0, ms),
            start: self.start.map(|Instant(at)| at.to_string()),
            end: self.end.map(|Instant(at)| at.to_string()),
            paused: self.paused.then_some(true),
        };
        let answer = api.call(Method::PUT, &path(&self.name), &body).await?;
        let is_new = answer.status == StatusCode::CREATED;
        output.forward(answer.json(), || {
            let schedule: ScheduleView = answer.read()?;
            let done = if is_new { "is stored" } else { "was replaced" };
            let next = match schedule.next_at {
                Some(at) if !schedule.paused => format!("; it runs {}, at {at}", ago(at)),
                _ => format!("; it runs: {}", schedule.next()),
            };
            Ok(format!("{} {done}{next}", schedule.name))
        })
    }
}

/// As the route takes it.
#[derive(Serialize)]
struct Body<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    cron: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    zone: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    every_ms: Option<u64>,
    job: JobBody<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    catch_up: Option<CatchUp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    overlap: Option<Overlap>,
    jitter_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
}

#[derive(Serialize)]
struct JobBody<'a> {
    #[serde(flatten)]
    about: serde_json::Map<String, serde_json::Value>,
    payload: &'a RawValue,
}
