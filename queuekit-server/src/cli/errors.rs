//! `queuekit errors`

use std::num::NonZeroUsize;

use anyhow::Result;
use axum::http::{Method, StatusCode};
use clap::{Args, Subcommand};
use queuekit::error_groups::GroupId;
use queuekit::jobs::BulkAction;
use queuekit::{Job, QueueName};
use serde_json::json;
use serde_json::value::RawValue;

use super::api::{Api, Refused};
use super::bulk::{Bulk, BulkFlags, jobs};
use super::context::{Access, Context};
use super::exit::Exit;
use super::format::{ago, brief, on_a_line, printable};
use super::job;
use super::output::{Output, remark};
use super::table::{Cell, Table};
use crate::grammar::Span;
use crate::wire::{
    ErrorGroupBody, ErrorGroupQuery, ErrorGroupsBody, ErrorGroupsQuery, FilterBody, NewNoteBody,
    NoteBody,
};

/// Letters of a signature in the list.
const LETTERS: usize = 60;

/// Show groups of similar errors, annotate them, and retry or purge the dead jobs of a group
#[derive(Subcommand, Debug)]
pub(crate) enum Errors {
    List(List),
    Show(Show),
    Note(Note),
    Retry(Retry),
    Purge(Purge),
}

/// List groups of errors that look alike, the most recent first
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only errors of this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<QueueName>,
    /// Maximum number of groups to show
    #[arg(long, value_name = "N", default_value = "50")]
    limit: NonZeroUsize,
}

/// Show a group of errors, how many of its jobs are dead, and the latest of these errors
#[derive(Args, Debug)]
pub(crate) struct Show {
    #[command(flatten)]
    group: Group,
}

/// Write a note on an error group of a queue, replacing any earlier note
#[derive(Args, Debug)]
#[command(after_help = NOTE_HELP)]
pub(crate) struct Note {
    /// ID of the group, as `errors list` shows it
    #[arg(value_name = "ID", value_parser = group_id)]
    id: GroupId,
    /// The note: at most 500 bytes
    #[arg(value_name = "TEXT", required_unless_present = "remove", conflicts_with = "remove")]
    text: Option<String>,
    /// Queue of the group
    #[arg(long, value_name = "NAME")]
    queue: QueueName,
    /// Remove the note
    #[arg(long)]
    remove: bool,
}

const NOTE_HELP: &str = "\
A queue keeps its 20 latest notes:
  queuekit errors note 3f1c9a2b77d0e415 --queue emails \"known, ticket 123\"";

/// Retry the dead jobs of a group; each gets all its attempts again
#[derive(Args, Debug)]
#[command(after_help = RETRY_HELP)]
pub(crate) struct Retry {
    #[command(flatten)]
    group: Group,
    /// Retry only one job, as a test
    #[arg(long, conflicts_with_all = ["over", "dry_run"])]
    one: bool,
    /// Run each job at a random time within this duration from now, such as 10m
    #[arg(long, value_name = "DURATION")]
    over: Option<Span>,
    #[command(flatten)]
    flags: BulkFlags,
}

const RETRY_HELP: &str = "\
After you have fixed the cause, retry one job first, and then the rest over some time:
  queuekit errors retry 3f1c9a2b77d0e415 --one
  queuekit errors retry 3f1c9a2b77d0e415 --over 10m";

/// Delete the dead jobs of a group
#[derive(Args, Debug)]
pub(crate) struct Purge {
    #[command(flatten)]
    group: Group,
    #[command(flatten)]
    flags: BulkFlags,
}

/// A group, in all queues or in one.
#[derive(Args, Debug)]
struct Group {
    /// ID of the group, as `errors list` shows it
    #[arg(value_name = "ID", value_parser = group_id)]
    id: GroupId,
    /// Only errors of this queue
    #[arg(long, value_name = "NAME")]
    queue: Option<QueueName>,
}

impl Errors {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let output = context.output;
        let run = async |api: &Api| match self {
            Self::List(list) => list.run(api, output).await,
            Self::Show(show) => show.run(api, output).await,
            Self::Note(note) => note.run(api, output).await,
            Self::Retry(retry) => retry.run(api, output).await,
            Self::Purge(purge) => {
                let filter = purge.group.dead();
                Bulk { action: BulkAction::Delete, filter }.run(api, purge.flags, output).await
            }
        };
        context.with_api(Access::Existing, run).await?;
        Ok(Exit::Success)
    }
}

impl List {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        // One more than is shown tells whether there are more.
        let most = self.limit.get();
        let limit = Some(most.saturating_add(1).min(1000));
        let query = ErrorGroupsQuery { queue: self.queue.map(String::from), limit };
        let ErrorGroupsBody { mut groups } = api.find("/v1/errors", &query).await?.read()?;
        let has_more = groups.len() > most;
        groups.truncate(most);
        output.list(&groups, table(&groups)?)?;
        if has_more {
            remark(format_args!("there are more groups: raise --limit to show them"));
        }
        Ok(())
    }
}

impl Show {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let Group { id, queue } = &self.group;
        let query = ErrorGroupQuery { queue: queue.as_ref().map(ToString::to_string) };
        let answer = api.find(&format!("/v1/errors/{id}"), &query).await?;
        let ErrorGroupsBody { groups } = answer.read::<ErrorGroupsBody<Box<RawValue>>>()?;
        let dead = dead_now(api, self.group.dead()).await?;
        if output.json {
            let value = json!({ "groups": groups, "dead": dead });
            return output.answer(&value, "");
        }
        let mut told = Vec::new();
        for group in &groups {
            let group: ErrorGroupBody = serde_json::from_str(group.get())?;
            told.push(told_of(api, &group).await?);
        }
        let dead = dead.map(|dead| format!("dead now: {}", jobs(dead)));
        told.extend(dead);
        output.line(told.join("\n\n"))
    }
}

impl Note {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        let Self { id, text, queue, remove } = self;
        let note = NewNoteBody { text: text.unwrap_or_default() };
        let path = format!("/v1/errors/{id}/note?queue={queue}");
        api.call(Method::PUT, &path, &json!(note)).await?;
        let told = if remove { "the note is removed" } else { "the note is written" };
        output.answer(&json!({ "id": id, "queue": queue, "note": note.text }), told)
    }
}

impl Retry {
    async fn run(self, api: &Api, output: Output) -> Result<()> {
        if self.one {
            return retry_one(api, &self.group, output).await;
        }
        let action = match self.over {
            Some(Span(over)) => BulkAction::RetryOver(over),
            None => BulkAction::Retry,
        };
        let filter = self.group.dead();
        Bulk { action, filter }.run(api, self.flags, output).await
    }
}

impl Group {
    /// The dead jobs of the group.
    fn dead(&self) -> FilterBody {
        FilterBody {
            group: Some(self.id.to_string()),
            queue: self.queue.as_ref().map(ToString::to_string),
            status: Some("dead".to_owned()),
            ..FilterBody::default()
        }
    }
}

/// How many jobs of a group are dead; none if the key may not act on them, and so not count them.
async fn dead_now(api: &Api, filter: FilterBody) -> Result<Option<u64>> {
    match (Bulk { action: BulkAction::Retry, filter }).count(api).await {
        Ok(dead) => Ok(Some(dead)),
        Err(error) => match error.downcast_ref::<Refused>().and_then(Refused::said) {
            Some(StatusCode::FORBIDDEN) => Ok(None),
            _ => Err(error),
        },
    }
}

/// Retries the most recent of its dead jobs.
async fn retry_one(api: &Api, group: &Group, output: Output) -> Result<()> {
    let filter = group.dead();
    let Some(job) = job::first(api, &filter).await? else {
        return Err(anyhow::anyhow!("no job of this group is dead"));
    };
    let id = job.id;
    api.call(Method::POST, &format!("/v1/jobs/{id}/retry"), &json!({})).await?;
    let told = format!("{id} is retried; `queuekit job watch {id}` shows how it ends");
    output.answer(&json!({ "id": id, "outcome": "retried" }), told)
}

/// A group for people, with the latest error of its sample.
async fn told_of(api: &Api, group: &ErrorGroupBody) -> Result<String> {
    let sample = match api.get(&format!("/v1/jobs/{}", group.sample)).await {
        Ok(answer) => Some(answer.read::<Job>()?),
        Err(error) if Exit::of(&error) == Exit::NotFound => None,
        Err(error) => return Err(error),
    };
    let gone = if sample.is_some() { "" } else { ", which is gone" };
    let rows = [
        ("id", group.id.clone()),
        ("queue", group.queue.clone()),
        ("kind", group.kind.clone()),
        ("signature", on_a_line(&group.signature)),
        ("failures", group.failures.to_string()),
        ("deaths", group.deaths.to_string()),
        ("first", format!("{:.3}, {}", group.first, ago(group.first))),
        ("last", format!("{:.3}, {}", group.last, ago(group.last))),
        ("sample", format!("{}{gone}", group.sample)),
        ("recent", recent_of(group)),
    ];
    let lines = rows.iter().map(|(name, value)| format!("{name:9}  {value}"));
    let mut told = lines.collect::<Vec<_>>().join("\n");
    if let Some(NoteBody { text, by, at }) = &group.note {
        let by = on_a_line(by);
        told += &format!("\nnote       {}\n           {by}, {}", on_a_line(text), ago(*at));
    }
    let last = sample.as_ref().and_then(|job| job.errors.last().map(|failure| &failure.error));
    if let Some(error) = last.or(sample.as_ref().and_then(|job| job.reason.as_ref())) {
        told += &format!("\n\n  {}", printable(error.as_str()).replace('\n', "\n  "));
    }
    Ok(told)
}

fn recent_of(group: &ErrorGroupBody) -> String {
    let recent = &group.recent;
    let (hour, day, week) = (recent.in_hour(), recent.in_24_hours(), recent.in_7_days());
    format!("{hour} this hour, {day} in 24 hours, {week} in 7 days")
}

fn table(groups: &[Box<RawValue>]) -> Result<Table> {
    let names =
        ["ID", "QUEUE", "KIND", "#FAILURES", "#DEATHS", "#HOUR", "#24H", "#7D", "LAST", "ERROR"];
    let mut table = Table::new(&names, "no errors");
    for group in groups {
        let group: ErrorGroupBody = serde_json::from_str(group.get())?;
        table.row([
            Cell::from(&group.id),
            Cell::from(&group.queue),
            Cell::from(&group.kind),
            Cell::from(group.failures),
            Cell::from(group.deaths),
            Cell::from(group.recent.in_hour()),
            Cell::from(group.recent.in_24_hours()),
            Cell::from(group.recent.in_7_days()),
            Cell::from(ago(group.last)),
            Cell::from(match &group.note {
                Some(note) => {
                    format!("{} [{}]", brief(&group.signature, LETTERS), brief(&note.text, LETTERS))
                }
                None => brief(&group.signature, LETTERS),
            }),
        ]);
    }
    Ok(table)
}

fn group_id(text: &str) -> Result<GroupId, String> {
    text.parse().map_err(|error: queuekit::Error| error.to_string())
}
