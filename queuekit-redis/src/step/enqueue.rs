//! Storing new jobs (contract R2).

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use queuekit_core::limits::DELAY;
use queuekit_core::{
    EnqueueOutcome, Error, ErrorKind, JobId, NewJob, QueueName, Result, Start, retry,
};
use redis::{Value, cmd};

use crate::RedisStore;
use crate::call::{Call, Request};
use crate::codec::{Data, array_of, bytes_of, job_id, millis, number_of, static_data};
use crate::error::unreadable;
use crate::scripts::Lua;

/// The jobs of a call by queue, and where each stood.
struct Grouped<'a> {
    queues: Vec<&'a QueueName>,
    jobs: Vec<Vec<usize>>,
}

impl RedisStore {
    pub(crate) async fn enqueue_jobs(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        self.shared.limits.admit_jobs(jobs)?;
        let grouped = Grouped::of(jobs);
        let mut anew = false;
        let answer = loop {
            self.enter_queues(&grouped.queues, anew).await?;
            let answer = self.store(jobs, &grouped, anew).await?;
            match answer {
                Value::Int(_) => break Vec::new(),
                answer => {
                    let parts = array_of(answer).ok_or_else(|| answered("enqueue"))?;
                    if !is_word(parts.first(), b"unknown") {
                        break parts;
                    }
                    // It was removed since it was entered: it comes to exist again.
                    anew = true;
                }
            }
        };
        if is_word(answer.first(), b"ahead") {
            let number = answer.into_iter().nth(1).and_then(number_of).unwrap_or_default();
            return Err(grouped.ahead(jobs, usize::try_from(number).unwrap_or_default()));
        }
        let outcomes = grouped.outcomes(jobs, answer)?;
        self.wait_for_replicas().await?;
        self.stir(grouped.queues.iter().copied());
        Ok(outcomes)
    }

    async fn store(&self, jobs: &[NewJob], grouped: &Grouped<'_>, anew: bool) -> Result<Value> {
        let shared = &*self.shared;
        let mut keys = Vec::with_capacity(grouped.queues.len());
        let mut args = vec![
            shared.clock_arg(),
            // A queue that nobody knows yet comes to exist with its first job.
            u8::from(anew).to_string().into_bytes(),
            millis(DELAY).to_string().into_bytes(),
        ];
        for (queue, positions) in grouped.queues.iter().zip(&grouped.jobs) {
            keys.push(shared.keyspace.of(queue));
            args.push(positions.len().to_string().into_bytes());
            for at in positions {
                let job = &jobs[*at];
                args.push(job.id().as_bytes().to_vec());
                args.push(match job.start() {
                    Start::After(delay) => format!("+{}", millis(delay)).into_bytes(),
                    Start::At(at) => format!("@{}", at.as_millis()).into_bytes(),
                });
                args.push(job.deadline().map_or(0, millis).to_string().into_bytes());
                args.push(static_data(job));
            }
        }
        let request = Request::Script { script: Lua::Enqueue, keys, args };
        self.call("enqueue", Call::Repeatable, request).await
    }

    /// Where so many replicas are to have what was stored before it counts as stored.
    async fn wait_for_replicas(&self) -> Result<()> {
        let Some((replicas, timeout)) = self.shared.wait_replicas else {
            return Ok(());
        };
        let wait = cmd("WAIT").arg(replicas).arg(millis(timeout)).to_owned();
        let reached = self.call("enqueue", Call::Once, Request::Command(wait)).await?;
        let reached = number_of(reached).unwrap_or_default();
        if reached >= i64::from(replicas) {
            return Ok(());
        }
        let message = format!(
            "{reached} of {replicas} replicas had it in time; whether it survives a failover is \
             unknown: repeat it, which is safe"
        );
        Err(Error::new(ErrorKind::Indeterminate, message))
    }
}

impl<'a> Grouped<'a> {
    fn of(jobs: &'a [NewJob]) -> Self {
        let mut grouped = Self { queues: Vec::new(), jobs: Vec::new() };
        let mut groups: HashMap<&QueueName, usize> = HashMap::new();
        for (at, job) in jobs.iter().enumerate() {
            let group = *groups.entry(job.queue()).or_insert_with(|| {
                grouped.queues.push(job.queue());
                grouped.jobs.push(Vec::new());
                grouped.queues.len() - 1
            });
            grouped.jobs[group].push(at);
        }
        grouped
    }

    /// Where a job stood in the call, by its number in the script's.
    fn position(&self, number: usize) -> Option<usize> {
        self.jobs.iter().flatten().nth(number).copied()
    }

    fn ahead(&self, jobs: &[NewJob], number: usize) -> Error {
        let item = self.position(number).unwrap_or_default();
        let error = Error::invalid("run_at", "at most 366 days ahead", "a later time");
        let error = error.at_item(item);
        jobs.get(item).map_or_else(|| answered("enqueue"), |job| error.on(job.id()))
    }

    fn outcomes(&self, jobs: &[NewJob], answer: Vec<Value>) -> Result<Vec<EnqueueOutcome>> {
        let created = jobs.iter().map(|job| EnqueueOutcome::Created { id: job.id() });
        let mut outcomes: Vec<EnqueueOutcome> = created.collect();
        let positions: Vec<usize> = self.jobs.iter().flatten().copied().collect();
        let mut answer = answer.into_iter();
        while let Some(number) = answer.next() {
            let number = number_of(number).and_then(|number| usize::try_from(number).ok());
            let reason = answer.next().and_then(bytes_of);
            let with = answer.next().and_then(bytes_of);
            let (Some(number), Some(reason), Some(with)) = (number, reason, with) else {
                return Err(answered("enqueue"));
            };
            let at = *positions.get(number).ok_or_else(|| answered("enqueue"))?;
            outcomes[at] = refused(&jobs[at], &reason, with).ok_or_else(|| answered("enqueue"))?;
        }
        Ok(outcomes)
    }
}

fn refused(job: &NewJob, reason: &[u8], with: Vec<u8>) -> Option<EnqueueOutcome> {
    Some(match reason {
        b"same" => {
            let existing: JobId = job.id();
            let stored = Data::read(Bytes::from(with));
            let same = |stored: Data| stored.kind == *job.kind() && stored.payload == job.payload();
            match stored.is_some_and(same) {
                true => EnqueueOutcome::Duplicate { existing },
                false => EnqueueOutcome::Conflict { existing },
            }
        }
        b"key" => EnqueueOutcome::Duplicate { existing: job_id(&with)? },
        b"full" => {
            let retry_after: Duration = retry::queue_full_retry_after();
            EnqueueOutcome::QueueFull { retry_after }
        }
        _ => return None,
    })
}

fn is_word(value: Option<&Value>, word: &[u8]) -> bool {
    matches!(value, Some(Value::BulkString(bytes)) if bytes == word)
}

pub(super) fn answered(what: &str) -> Error {
    unreadable(&format!("the answer to {what}"))
}
