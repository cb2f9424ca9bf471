//! `queuekit enqueue`

use std::io::Read;
use std::num::NonZeroU64;
use std::str::FromStr;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use queuekit::{
    Bytes, Client, EnqueueOutcome, IdempotencyKey, JobDraft, Kind, PartitionKey, Priority,
    QueueName, Timestamp,
};
use serde::Serialize;
use serde_json::value::RawValue;

use super::context::Context;
use super::exit::Exit;
use super::output::{Output, remark};
use super::quantity::{Instant, Span};
use crate::cli::Usage;

/// Room for all of a job that is not its payload.
const BESIDE_PAYLOAD: usize = 8 * 1024;

/// Store a job, and print its id as soon as it is stored
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Enqueue {
    /// The type of the job: it picks the handler
    #[arg(value_name = "TYPE")]
    kind: Kind,
    /// What the handler is given: JSON, or the file it is in, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "null", allow_hyphen_values = true)]
    payload: String,
    /// The queue
    #[arg(long, default_value = "default")]
    queue: QueueName,
    /// How urgent: 0 to 31, or low, normal, high, critical
    #[arg(long, default_value = "normal")]
    priority: Priority,
    /// Wait this long before the first run, as 10s, 5m, 2d
    #[arg(long, value_name = "DURATION", conflicts_with = "run_at")]
    delay: Option<Span>,
    /// Do not run before: RFC 3339, as 2027-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    run_at: Option<Instant>,
    /// Store only one job of the queue with this key
    #[arg(long, value_name = "KEY", conflicts_with = "count")]
    idempotency_key: Option<IdempotencyKey>,
    /// Run in order with the other jobs of this key
    #[arg(long, value_name = "KEY")]
    partition_key: Option<PartitionKey>,
    /// How often it may be tried
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// How long one run may take, as 30s, 10m
    #[arg(long, value_name = "DURATION")]
    timeout: Option<Span>,
    /// A fact that travels with the job; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    metadata: Vec<Fact>,
    /// Store this many equal jobs
    #[arg(long, value_name = "N", default_value = "1")]
    count: NonZeroU64,
}

const EXAMPLES: &str = "\
Examples:
  queuekit enqueue echo --payload '{\"hello\": \"world\"}'
  queuekit enqueue email --payload @mail.json --queue emails --delay 10m
  jq -n '{ms: 500}' | queuekit enqueue sleep --payload - --count 100
  queuekit enqueue invoice --idempotency-key invoice-42 --json

With --json the answer is a line of JSON for each job: {\"outcome\":\"created\",\"id\":\"..\"}, or
the outcome `duplicate`, which is no failure.";

/// One `--metadata`.
#[derive(Clone, Debug)]
struct Fact {
    name: String,
    value: String,
}

/// What became of one.
#[derive(Serialize)]
struct Answer {
    outcome: &'static str,
    id: String,
}

impl Enqueue {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let count = self.count.get();
        let payload = payload(&self.payload)?;
        let bytes = payload.len() + BESIDE_PAYLOAD;
        let draft = self.draft(payload);
        // What is wrong with it is told before the store is opened.
        draft.clone().build()?;
        let client = context.connect().await?;
        let stored = store(&client, &draft, count, bytes, context.output).await;
        let closed = client.close().await;
        stored?;
        closed?;
        Ok(Exit::Success)
    }

    fn draft(self, payload: Bytes) -> JobDraft {
        let metadata = self.metadata.into_iter().map(|fact| (fact.name, fact.value)).collect();
        let draft = JobDraft::new(self.kind, payload)
            .queue(self.queue)
            .priority(self.priority)
            .metadata(metadata);
        let draft = with(draft, self.delay, |draft, Span(delay)| draft.delay(delay));
        let draft = with(draft, self.run_at, |draft, Instant(at)| {
            draft.run_at(Timestamp::from_millis(at.as_millisecond()))
        });
        let draft = with(draft, self.idempotency_key, JobDraft::idempotency_key);
        let draft = with(draft, self.partition_key, JobDraft::partition_key);
        let draft = with(draft, self.max_attempts, JobDraft::max_attempts);
        with(draft, self.timeout, |draft, Span(timeout)| draft.timeout(timeout))
    }
}

fn with<T>(
    draft: JobDraft,
    value: Option<T>,
    set: impl FnOnce(JobDraft, T) -> JobDraft,
) -> JobDraft {
    match value {
        Some(value) => set(draft, value),
        None => draft,
    }
}

/// The JSON that was given, byte for byte but for the space around it.
fn payload(given: &str) -> Result<Bytes> {
    let (from, text) = match given.strip_prefix('@') {
        Some(path) => {
            let read = std::fs::read_to_string(path);
            (path, read.with_context(|| format!("the payload's file {path} cannot be read"))?)
        }
        None if given == "-" => {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("stdin cannot be read")?;
            ("stdin", text)
        }
        None => ("--payload", given.to_owned()),
    };
    let json: Box<RawValue> = serde_json::from_str(&text).map_err(|error| {
        Usage::error(format!(
            "what {from} holds is no JSON: {error}; text stands in double quotes, and a shell \
             wants single ones around it all: --payload '{{\"name\": \"Ada\"}}'"
        ))
    })?;
    Ok(Bytes::copy_from_slice(json.get().as_bytes()))
}

/// Stores them in steps that the store takes, and tells what became of each.
async fn store(
    client: &Client,
    draft: &JobDraft,
    count: u64,
    bytes: usize,
    output: Output,
) -> Result<()> {
    let limits = client.backend().capabilities().limits;
    let most = limits.enqueue_jobs().min(limits.enqueue_bytes() / bytes).max(1);
    let mut left = count;
    // Whether somebody reads the answers decides about no job.
    let mut told = Ok(());
    while left > 0 {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(most);
        let outcomes = client.enqueue_all(std::iter::repeat_n(draft.clone(), step)).await;
        let (answers, refused) = answers(outcomes);
        left -= answers.len() as u64;
        told = told.and_then(|()| tell(&answers, output));
        match refused {
            Some(error) if count == 1 => return Err(error),
            Some(error) => {
                return Err(error.context(format!("{} of {count} jobs were stored", count - left)));
            }
            None => {}
        }
    }
    told
}

/// Those that are stored, and why the next one is not.
fn answers(
    outcomes: queuekit::Result<Vec<EnqueueOutcome>>,
) -> (Vec<Answer>, Option<anyhow::Error>) {
    let outcomes = match outcomes {
        Ok(outcomes) => outcomes,
        Err(error) => return (Vec::new(), Some(error.into())),
    };
    let mut answers = Vec::with_capacity(outcomes.len());
    for outcome in outcomes {
        match answer(outcome) {
            Ok(answer) => answers.push(answer),
            Err(error) => return (answers, Some(error)),
        }
    }
    (answers, None)
}

fn answer(outcome: EnqueueOutcome) -> Result<Answer> {
    let (outcome, id) = match outcome {
        EnqueueOutcome::Created { id } => ("created", id),
        EnqueueOutcome::Duplicate { existing } => ("duplicate", existing),
        EnqueueOutcome::QueueFull { retry_after } => bail!(
            "the queue is full (its max_pending is reached); try again in {retry_after:?}, or \
             start more workers"
        ),
        EnqueueOutcome::Conflict { existing } => {
            bail!("its id is taken by another job, {existing}")
        }
    };
    Ok(Answer { outcome, id: id.to_string() })
}

/// A line for each.
fn tell(answers: &[Answer], output: Output) -> Result<()> {
    if answers.iter().any(|answer| answer.outcome == "duplicate") {
        remark("nothing was stored: the queue has a job with this idempotency key already");
    }
    let line = |answer: &Answer| match output.json {
        true => serde_json::to_string(answer),
        false => Ok(answer.id.clone()),
    };
    let lines: Vec<String> = answers.iter().map(line).collect::<Result<_, _>>()?;
    if lines.is_empty() { Ok(()) } else { output.line(lines.join("\n")) }
}

impl FromStr for Fact {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').unwrap_or_default();
        if name.is_empty() {
            return Err("a fact is NAME=VALUE".to_owned());
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}
