//! The SQL functions of a queuekit schema.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use queuekit_core::capability::{CheckpointOutcome, EmitOutcome, NewCheckpoint};
use queuekit_core::event::NewEvent;
use queuekit_core::retry::queue_full_retry_after;
use queuekit_core::{
    Ack, AckOutcome, Emitted, EnqueueOutcome, Enqueued, Error, ErrorKind, JobId, Limits, NewJob,
    QueueName, Result,
};
use serde::{Deserialize, Serialize};

use crate::Statement;

/// A schema's SQL functions for calls in a transaction of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Functions {
    schema: String,
}

/// Those of the schema `queuekit`.
impl Default for Functions {
    fn default() -> Self {
        Self { schema: "queuekit".to_owned() }
    }
}

impl Functions {
    /// Those of another schema.
    ///
    /// # Errors
    /// `Invalid` unless the name is a lower-case letter or `_`, followed by at most 62 such, digits
    /// among them.
    pub fn in_schema(name: impl Into<String>) -> Result<Self> {
        let schema = name.into();
        // Guard: the name becomes part of statements.
        let is_letter = |byte: &u8| matches!(byte, b'a'..=b'z' | b'_');
        let is_name = schema.len() <= 63
            && schema.as_bytes().first().is_some_and(is_letter)
            && schema.bytes().all(|byte| is_letter(&byte) || byte.is_ascii_digit());
        match is_name {
            true => Ok(Self { schema }),
            false => Err(Error::invalid("schema", "[a-z_][a-z0-9_]{0,62}", schema)),
        }
    }

    /// Stores jobs, at most 1,000 and 8 MiB of payloads and metadata. They exist if and only if the
    /// transaction commits. [`ids`](Enqueued::ids) of the answer fails if a job was refused: then
    /// roll back.
    ///
    /// Workers are woken at the commit. The statement fails if a queue does not exist, or takes no
    /// partition keys; its hint says what to run.
    ///
    /// # Errors
    /// `Invalid` if a job breaks a limit, or moves from another queue, which only a store can do.
    pub fn enqueue(&self, jobs: &[NewJob]) -> Result<Statement<Enqueued>> {
        let during = |error: Error| error.during("enqueue");
        Limits::default().admit_jobs(jobs).map_err(during)?;
        let moves = jobs.iter().position(|job| job.moved_from().is_some());
        if let Some(item) = moves {
            let error = Error::invalid("moved_from", "absent in a transaction", "a job that moves");
            return Err(during(error.at_item(item)));
        }
        let asked = jobs.len();
        Ok(Statement {
            sql: self.sql(include_str!("../sql/enqueue_many.sql")),
            parameter: json(&jobs)?,
            read: Box::new(move |text| {
                let rows: Vec<StoredJob> = of_json(text, asked)?;
                let outcomes: Result<Vec<_>> = rows.iter().map(StoredJob::outcome).collect();
                outcomes.map(Enqueued::from)
            }),
        })
    }

    /// Records success: the jobs are completed if and only if the transaction commits. An outcome
    /// other than `Acked` means that another worker has the job now: roll back.
    ///
    /// # Errors
    /// `Invalid` if a result is larger than 64 KiB.
    pub fn ack(&self, acks: &[Ack]) -> Result<Statement<Vec<AckOutcome>>> {
        Limits::default().admit_results(acks).map_err(|error| error.during("ack"))?;
        // All calls take leases in the order of ids, so that no two wait for each other.
        let mut order: Vec<usize> = (0..acks.len()).collect();
        order.sort_by_key(|item| acks[*item].lease.id);
        let sent: Vec<AckSent> = order.iter().map(|item| AckSent::of(&acks[*item])).collect();
        Ok(Statement {
            sql: self.sql(include_str!("../sql/ack.sql")),
            parameter: json(&sent)?,
            read: Box::new(move |text| {
                let words: Vec<String> = of_json(text, order.len())?;
                let mut outcomes = vec![AckOutcome::NotFound; order.len()];
                for (item, word) in order.iter().zip(words) {
                    outcomes[*item] = ack_outcome(&word)?;
                }
                Ok(outcomes)
            }),
        })
    }

    /// Stores the result of a step: the step counts as done if and only if the transaction commits.
    /// An outcome other than `Stored` means that it must not: `Conflict` if the step was done
    /// before, `LeaseLost` if another worker has the job now. Then roll back.
    ///
    /// While the transaction is open, no other worker gets the job.
    ///
    /// # Errors
    /// `Corrupt` if the call cannot be written as JSON.
    pub fn checkpoint(&self, step: &NewCheckpoint) -> Result<Statement<CheckpointOutcome>> {
        Ok(Statement {
            sql: self.sql(include_str!("../sql/checkpoint.sql")),
            parameter: json(&StepSent::of(step))?,
            read: Box::new(|text| {
                let words: Vec<String> = of_json(text, 1)?;
                checkpoint_outcome(&words.concat())
            }),
        })
    }

    /// Stores events and their deliveries, at most 1,000 events and 8 MiB of data and metadata.
    /// They exist if and only if the transaction commits (an outbox). [`ids`](Emitted::ids) of the
    /// answer fails if an event was refused: then roll back.
    ///
    /// Workers are woken at the commit. While the transaction is open, only those who emit the same
    /// id or idempotency key, and those who change subscriptions, wait for it.
    ///
    /// # Errors
    /// `Invalid` if an event breaks a limit.
    pub fn emit(&self, events: &[NewEvent]) -> Result<Statement<Emitted>> {
        Limits::default().admit_events(events).map_err(|error| error.during("emit"))?;
        let asked = events.len();
        Ok(Statement {
            sql: self.sql(include_str!("../sql/emit.sql")),
            parameter: json(&events)?,
            read: Box::new(move |text| of_json::<EmitOutcome>(text, asked).map(Emitted::from)),
        })
    }

    /// Creates a queue if it does not exist; with `keyed` it takes partition keys from now on.
    /// Until the transaction commits, others that use the queue for the first time wait: let the
    /// statement have a transaction of its own.
    ///
    /// # Errors
    /// `Corrupt` if the call cannot be written as JSON.
    pub fn create_queue(&self, name: &QueueName, keyed: bool) -> Result<Statement<()>> {
        Ok(Statement {
            sql: self.sql(include_str!("../sql/create_queue.sql")),
            parameter: json(&QueueSent { name: name.as_str(), keyed })?,
            read: Box::new(|_| Ok(())),
        })
    }

    /// A statement for this schema, without its comments.
    fn sql(&self, sql: &str) -> String {
        let lines = sql.lines().filter(|line| !line.starts_with("--"));
        let sql: Vec<&str> = lines.collect();
        sql.join("\n").replace("queuekit.", &format!("{}.", self.schema))
    }
}

/// What became of a job.
#[derive(Deserialize)]
struct StoredJob {
    outcome: String,
    id: Option<JobId>,
}

impl StoredJob {
    fn outcome(&self) -> Result<EnqueueOutcome> {
        match (self.outcome.as_str(), self.id) {
            ("created", Some(id)) => Ok(EnqueueOutcome::Created { id }),
            ("duplicate", Some(existing)) => Ok(EnqueueOutcome::Duplicate { existing }),
            ("conflict", Some(existing)) => Ok(EnqueueOutcome::Conflict { existing }),
            ("queue_full", _) => {
                Ok(EnqueueOutcome::QueueFull { retry_after: queue_full_retry_after() })
            }
            (other, _) => Err(unreadable(format!("the outcome {other:?}"))),
        }
    }
}

#[derive(Serialize)]
struct AckSent {
    token: String,
    result_base64: Option<String>,
}

impl AckSent {
    fn of(ack: &Ack) -> Self {
        let result_base64 = ack.result.as_ref().map(|result| STANDARD.encode(result));
        Self { token: ack.lease.to_secret_string(), result_base64 }
    }
}

#[derive(Serialize)]
struct StepSent<'a> {
    token: String,
    name: &'a str,
    result_base64: String,
}

impl<'a> StepSent<'a> {
    fn of(step: &'a NewCheckpoint) -> Self {
        let result_base64 = STANDARD.encode(step.result());
        Self { token: step.lease().to_secret_string(), name: step.name().as_str(), result_base64 }
    }
}

fn checkpoint_outcome(word: &str) -> Result<CheckpointOutcome> {
    match word {
        "stored" => Ok(CheckpointOutcome::Stored),
        "conflict" => Ok(CheckpointOutcome::Conflict),
        "full" => Ok(CheckpointOutcome::Full),
        "lease_lost" => Ok(CheckpointOutcome::LeaseLost),
        "not_found" => Ok(CheckpointOutcome::NotFound),
        other => Err(unreadable(format!("the outcome {other:?}"))),
    }
}

#[derive(Serialize)]
struct QueueSent<'a> {
    name: &'a str,
    keyed: bool,
}

fn ack_outcome(word: &str) -> Result<AckOutcome> {
    match word {
        "acked" => Ok(AckOutcome::Acked),
        "already_done" => Ok(AckOutcome::AlreadyDone),
        "lease_lost" => Ok(AckOutcome::LeaseLost),
        "not_found" => Ok(AckOutcome::NotFound),
        other => Err(unreadable(format!("the outcome {other:?}"))),
    }
}

fn json<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let message = "the call cannot be written as JSON";
    serde_json::to_string(value)
        .map_err(|error| Error::new(ErrorKind::Corrupt, message).caused_by(error))
}

/// An answer of this number of items.
fn of_json<T: for<'de> Deserialize<'de>>(text: &str, items: usize) -> Result<Vec<T>> {
    let read: Vec<T> = serde_json::from_str(text)
        .map_err(|error| unreadable("a text that is not its answer").caused_by(error))?;
    match read.len() == items {
        true => Ok(read),
        false => Err(unreadable(format!("{} outcomes for {items} items", read.len()))),
    }
}

fn unreadable(what: impl std::fmt::Display) -> Error {
    let message = format!("the SQL function returned {what}: its schema may be of another version");
    Error::new(ErrorKind::Corrupt, message)
}

#[cfg(test)]
#[path = "functions_tests.rs"]
mod tests;
