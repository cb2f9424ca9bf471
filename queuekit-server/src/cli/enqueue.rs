//! `queuekit enqueue`

use std::num::NonZeroU64;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Result, anyhow};
use axum::http::Method;
use clap::Args;
use queuekit::{
    Bytes, Clock, IdempotencyKey, JobDraft, JobId, Kind, Metadata, NewJob, PartitionKey, Priority,
    QueueName, Start, SystemClock, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::api::Api;
use super::bulk::progress;
use super::context::{Access, Context};
use super::exit::Exit;
use super::output::{Output, remark};
use super::patience::Patience;
use super::payload;
use super::quantity::{Instant, Span, millis};
use super::shown::span;

/// Room for all of a job that is not its payload.
const BESIDE_PAYLOAD: usize = 8 * 1024;
/// What every store takes at once.
const STEP_JOBS: usize = 1000;
const STEP_BYTES: usize = 8 * 1024 * 1024;

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

/// A job, as the route takes it.
#[derive(Clone, Copy, Serialize)]
struct Body<'a> {
    /// Made here, so that a call whose answer was lost can be repeated.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<JobId>,
    r#type: &'a str,
    payload: &'a RawValue,
    queue: &'a str,
    priority: u8,
    max_attempts: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_at: Option<jiff::Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partition_key: Option<&'a str>,
    timeout_ms: u64,
    metadata: &'a Metadata,
}

#[derive(Serialize)]
struct Jobs<'a> {
    jobs: Vec<Body<'a>>,
}

#[derive(Deserialize)]
struct Outcomes {
    outcomes: Vec<Outcome>,
}

/// What became of one.
#[derive(Deserialize, Serialize)]
struct Outcome {
    outcome: String,
    id: Option<String>,
    #[serde(skip_serializing)]
    retry_after_ms: Option<u64>,
}

impl Enqueue {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let count = self.count.get();
        let payload = payload::read("--payload", &self.payload)?;
        // What is wrong with it is told before the store is opened.
        let job = self.draft(&payload).build()?;
        let body = Body::of(&job, &payload);
        let output = context.output;
        let enqueue = async |api: &Api| store(api, &body, count, output).await;
        context.with_api(Access::Creating, enqueue).await?;
        Ok(Exit::Success)
    }

    fn draft(self, payload: &RawValue) -> JobDraft {
        let metadata = self.metadata.into_iter().map(|fact| (fact.name, fact.value)).collect();
        let draft = JobDraft::new(self.kind, Bytes::copy_from_slice(payload.get().as_bytes()))
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

impl<'a> Body<'a> {
    fn of(job: &'a NewJob, payload: &'a RawValue) -> Self {
        let (delay_ms, run_at) = match job.start() {
            Start::After(delay) => (Some(millis(delay)), None),
            Start::At(at) => (None, jiff::Timestamp::from_millisecond(at.as_millis()).ok()),
        };
        Self {
            id: None,
            r#type: job.kind().as_str(),
            payload,
            queue: job.queue().as_str(),
            priority: job.priority().level(),
            max_attempts: job.max_attempts(),
            delay_ms,
            run_at,
            idempotency_key: job.idempotency_key().map(IdempotencyKey::as_str),
            partition_key: job.partition_key().map(PartitionKey::as_str),
            timeout_ms: millis(job.timeout()),
            metadata: job.metadata(),
        }
    }
}

/// Stores them in steps that every store takes, and tells what became of each.
async fn store(api: &Api, body: &Body<'_>, count: u64, output: Output) -> Result<()> {
    let bytes = body.payload.get().len() + BESIDE_PAYLOAD;
    let most = STEP_JOBS.min(STEP_BYTES / bytes).max(1);
    let bar = progress(count, "enqueue");
    let mut left = count;
    // Whether somebody reads the answers decides about no job.
    let mut told = Ok(());
    while left > 0 {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(most);
        let (outcomes, refused) = ask(api, &Jobs::new(body, step)?).await;
        left -= outcomes.len() as u64;
        bar.set_position(count - left);
        told = told.and_then(|()| tell(&outcomes, output));
        if let Some(error) = refused {
            if count > 1 {
                remark(format_args!("{} of {count} jobs were stored, then:", count - left));
            }
            return Err(error);
        }
    }
    bar.finish_and_clear();
    told
}

/// Those that are stored, and why the next one is not.
async fn ask(api: &Api, jobs: &Jobs<'_>) -> (Vec<Outcome>, Option<anyhow::Error>) {
    // Under the ids that were sent nothing is stored twice.
    let ask = async || api.call(Method::POST, "/v1/jobs", jobs).await;
    let answer = Patience::SHORT.ask(ask).await;
    let outcomes = answer.and_then(|answer| answer.read::<Outcomes>());
    let mut outcomes = match outcomes {
        Ok(outcomes) => outcomes.outcomes,
        Err(error) => return (Vec::new(), Some(error)),
    };
    for (outcome, job) in outcomes.iter_mut().zip(&jobs.jobs) {
        let is_own = job.id.is_some_and(|id| outcome.id.as_deref() == Some(&*id.to_string()));
        if is_own && outcome.outcome == "duplicate" {
            "created".clone_into(&mut outcome.outcome);
        }
    }
    let refused = outcomes.iter().position(|outcome| !outcome.is_stored());
    let refused = refused.map(|at| outcomes.drain(at..).next());
    (outcomes, refused.flatten().map(|outcome| outcome.failure()))
}

impl<'a> Jobs<'a> {
    fn new(body: &Body<'a>, number: usize) -> Result<Self> {
        let queue = QueueName::new(body.queue)?;
        let id = || Some(JobId::generate(&queue, SystemClock::default().now()));
        Ok(Self { jobs: (0..number).map(|_| Body { id: id(), ..*body }).collect() })
    }
}

impl Outcome {
    fn is_stored(&self) -> bool {
        matches!(self.outcome.as_str(), "created" | "duplicate")
    }

    fn failure(&self) -> anyhow::Error {
        match (self.retry_after_ms, &self.id) {
            (Some(ms), _) => anyhow!(
                "the queue is full (its max_pending is reached); try again in {}, or start more \
                 workers",
                span(Duration::from_millis(ms))
            ),
            (None, Some(id)) => anyhow!("its id is taken by another job, {id}"),
            (None, None) => anyhow!("the answer for it was `{}`", self.outcome),
        }
    }
}

/// A line for each.
fn tell(outcomes: &[Outcome], output: Output) -> Result<()> {
    if outcomes.iter().any(|outcome| outcome.outcome == "duplicate") {
        remark("nothing was stored: the queue has a job with this idempotency key already");
    }
    let line = |outcome: &Outcome| match output.json {
        true => serde_json::to_string(outcome),
        false => Ok(outcome.id.clone().unwrap_or_default()),
    };
    let lines: Vec<String> = outcomes.iter().map(line).collect::<Result<_, _>>()?;
    if lines.is_empty() { Ok(()) } else { output.raw(&lines.join("\n")) }
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
