//! `queuekit enqueue`

use std::num::NonZeroU64;
use std::str::FromStr;

use anyhow::{Result, anyhow};
use axum::http::Method;
use clap::Args;
use queuekit::jobs::{IdempotencyKey, Kind, PartitionKey};
use queuekit::store::{Clock, SystemClock};
use queuekit::{
    Bytes, EnqueueOutcome, JobDraft, JobId, Metadata, NewJob, Priority, QueueName, Timestamp,
};
use serde_json::value::RawValue;
use tracing::Instrument;

use super::api::Api;
use super::bulk::progress;
use super::context::{Access, Context};
use super::exit::Exit;
use super::format::span;
use super::job::wait as wait_for;
use super::output::{Output, remark};
use super::payload;
use super::retry::Retry;
use crate::grammar::{Instant, Span};
use crate::monitor::traces;
use crate::wire::{EnqueueOutcomesBody, NewJobBody, NewJobsBody};

/// Room for the fields of a job other than its payload.
const BESIDE_PAYLOAD: usize = 8 * 1024;
/// The most that every store accepts in one call.
const STEP_JOBS: usize = 1000;
const STEP_BYTES: usize = 8 * 1024 * 1024;

/// Enqueue a job, and print its id as soon as it is stored
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Enqueue {
    /// Kind of the job; picks the handler
    #[arg(value_name = "KIND")]
    kind: Kind,
    /// Data for the handler: JSON, @FILE to read it from a file, or - for stdin
    #[arg(long, value_name = "JSON|@FILE|-", default_value = "null", allow_hyphen_values = true)]
    payload: String,
    /// Queue of the job
    #[arg(long, default_value = "default")]
    queue: QueueName,
    /// Priority: 0 to 31, or low, normal, high, critical; higher runs first
    #[arg(long, default_value = "normal")]
    priority: Priority,
    /// Delay before the first run, such as 10s, 5m, 2d
    #[arg(long, value_name = "DURATION", conflicts_with = "run_at")]
    delay: Option<Span>,
    /// Time before which the job does not run: RFC 3339, such as 2027-01-31T12:00:00Z
    #[arg(long, value_name = "TIME")]
    run_at: Option<Instant>,
    /// Idempotency key: the queue accepts one job with this key
    #[arg(long, value_name = "KEY", conflicts_with = "count")]
    idempotency_key: Option<IdempotencyKey>,
    /// Partition key: jobs with the same key run in order
    #[arg(long, value_name = "KEY")]
    partition_key: Option<PartitionKey>,
    /// Attempts before the job is dead-lettered [default: 3]
    #[arg(long, value_name = "N")]
    max_attempts: Option<u32>,
    /// Longest time of one run, such as 30s, 10m [default: 30m]
    #[arg(long, value_name = "DURATION")]
    timeout: Option<Span>,
    /// Metadata that travels with the job; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    metadata: Vec<Fact>,
    /// Number of equal jobs to store
    #[arg(long, value_name = "N", default_value = "1")]
    count: NonZeroU64,
    /// Wait until the job has ended, or for at most this time, and print how it ended
    #[arg(
        long, value_name = "DURATION", num_args = 0..=1, require_equals = true,
        conflicts_with = "count"
    )]
    wait: Option<Option<Span>>,
}

const EXAMPLES: &str = "\
Examples:
  queuekit enqueue echo --payload '{\"hello\": \"world\"}'
  queuekit enqueue email --payload @mail.json --queue emails --delay 10m
  jq -n '{ms: 500}' | queuekit enqueue sleep --payload - --count 100
  queuekit enqueue invoice --idempotency-key invoice-42 --json
  queuekit enqueue report --wait=5m

With --wait, the exit code is 0 if the job is completed, and 1 if it is dead or cancelled, or has
not ended in time. A job that is still waiting or running continues.
With --json it prints a line for each job: {\"outcome\":\"created\",\"id\":\"..\"}. The outcome
`duplicate` is not a failure.";

/// One `--metadata`.
#[derive(Clone, Debug)]
struct Fact {
    name: String,
    value: String,
}

impl Enqueue {
    pub(crate) async fn run(self, context: Context) -> Result<Exit> {
        let (count, wait) = (self.count.get(), self.wait);
        let payload = payload::read("--payload", &self.payload)?;
        // Report invalid input before the store is opened.
        let job = self.draft(&payload).build()?;
        let output = context.output;
        let enqueue = async |api: &Api| {
            let stored = store(api, &job, count, output).await?;
            match (wait, stored) {
                (Some(time), Some(id)) => {
                    wait_for(api, id, time.map(|Span(time)| time), output).await
                }
                _ => Ok(Exit::Success),
            }
        };
        let span = traces::command("queuekit enqueue");
        context.with_api(Access::Creating, enqueue).instrument(span).await
    }

    fn draft(self, payload: &RawValue) -> JobDraft {
        let metadata = self.metadata.into_iter().map(|fact| (fact.name, fact.value));
        let metadata: Metadata = metadata.collect();
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

/// Stores the jobs in steps that every store accepts, and prints the outcome of each. The id of the
/// last one.
async fn store(api: &Api, job: &NewJob, count: u64, output: Output) -> Result<Option<JobId>> {
    let bytes = job.payload().len() + BESIDE_PAYLOAD;
    let most = STEP_JOBS.min(STEP_BYTES / bytes).max(1);
    let bar = progress(count, "enqueue");
    let mut left = count;
    // All jobs are stored, even if nobody reads the answers.
    let (mut told, mut last) = (Ok(()), None);
    while left > 0 {
        let step = usize::try_from(left).unwrap_or(usize::MAX).min(most);
        let (outcomes, refused) = ask(api, &jobs(job, step)).await;
        left -= outcomes.len() as u64;
        bar.set_position(count - left);
        told = told.and_then(|()| tell(&outcomes, output));
        last = outcomes.last().and_then(|outcome| outcome.job_id());
        if let Some(error) = refused {
            if count > 1 {
                remark(format_args!("{} of {count} jobs were stored, then:", count - left));
            }
            return Err(error);
        }
    }
    bar.finish_and_clear();
    told.map(|()| last)
}

/// The jobs that were stored, and why the next one was not.
async fn ask(api: &Api, jobs: &NewJobsBody) -> (Vec<EnqueueOutcome>, Option<anyhow::Error>) {
    // The ids make a repeated call safe: no job is stored twice.
    let ask = async || api.call(Method::POST, "/v1/jobs", jobs).await;
    let answer = Retry::SHORT.ask(ask).await;
    let answered = match answer.and_then(|answer| answer.read::<EnqueueOutcomesBody>()) {
        Ok(answered) => answered.outcomes,
        Err(error) => return (Vec::new(), Some(error)),
    };
    let mut stored = Vec::with_capacity(answered.len());
    for (outcome, job) in answered.into_iter().zip(&jobs.jobs) {
        match outcome {
            EnqueueOutcome::Duplicate { existing: id } if job.id == Some(id) => {
                stored.push(EnqueueOutcome::Created { id });
            }
            EnqueueOutcome::Created { .. } | EnqueueOutcome::Duplicate { .. } => {
                stored.push(outcome);
            }
            EnqueueOutcome::Conflict { existing } => {
                return (stored, Some(anyhow!("another job has the same id, {existing}")));
            }
            EnqueueOutcome::QueueFull { retry_after } => {
                let refused = anyhow!(
                    "the queue is full (max_pending is reached); try again in {}, or start more \
                     workers",
                    span(retry_after)
                );
                return (stored, Some(refused));
            }
        }
    }
    (stored, None)
}

/// Equal jobs. Each gets an id here, so that a call whose answer was lost can be repeated.
fn jobs(job: &NewJob, number: usize) -> NewJobsBody {
    let body = NewJobBody::of(job);
    let id = || JobId::generate(job.queue(), SystemClock::default().now());
    let body = || NewJobBody { id: Some(id()), ..body.clone() };
    NewJobsBody { jobs: (0..number).map(|_| body()).collect() }
}

/// Prints a line for each job.
fn tell(outcomes: &[EnqueueOutcome], output: Output) -> Result<()> {
    let is_duplicate = |outcome: &_| matches!(outcome, EnqueueOutcome::Duplicate { .. });
    if outcomes.iter().any(is_duplicate) {
        remark("nothing was stored: the queue already has a job with this idempotency key");
    }
    let line = |outcome: &EnqueueOutcome| match output.json {
        true => serde_json::to_string(outcome),
        false => Ok(outcome.job_id().map(|id| id.to_string()).unwrap_or_default()),
    };
    let lines: Vec<String> = outcomes.iter().map(line).collect::<Result<_, _>>()?;
    if lines.is_empty() { Ok(()) } else { output.raw(&lines.join("\n")) }
}

impl FromStr for Fact {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').unwrap_or_default();
        if name.is_empty() {
            return Err("metadata must be NAME=VALUE".to_owned());
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }
}
