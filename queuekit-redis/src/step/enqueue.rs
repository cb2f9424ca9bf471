//! Storing new jobs (contract R2).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use queuekit_core::limits::DELAY;
use queuekit_core::{EnqueueOutcome, Error, JobId, NewJob, QueueName, Result, Start, retry};
use redis::Value;

use super::parts::joined;
use crate::RedisStore;
use crate::call::{Answered, Call, Request};
use crate::codec::{Data, array_of, bytes_of, is_word, job_id, millis, number_of, static_data};
use crate::doubt::may_be_of;
use crate::error::unreadable;
use crate::layout::SAME;
use crate::layout::bytes::Parts;
use crate::scripts::Lua;

/// The value for no limit of how far ahead a job may be scheduled.
const ANY_TIME_MS: &[u8] = b"9000000000000000";

/// The reasons that the script gives for jobs that were not created.
struct Refusals {
    answer: Vec<Value>,
    /// How long ago the first attempt was made, if its answer was lost.
    repeats: Option<Duration>,
}

/// The jobs of a call by queue, and the position of each in the call.
#[derive(Default)]
struct Grouped<'a> {
    queues: Vec<&'a QueueName>,
    jobs: Vec<Vec<usize>>,
}

impl RedisStore {
    /// Stores jobs in one step; in a Cluster, in one step per slot.
    pub(crate) async fn enqueue_jobs(&self, jobs: &[NewJob]) -> Result<Vec<EnqueueOutcome>> {
        self.shared.limits.admit_jobs(jobs)?;
        let created = jobs.iter().map(|job| EnqueueOutcome::Created { id: job.id() });
        let mut outcomes: Vec<EnqueueOutcome> = created.collect();
        let all = Grouped::of(jobs);
        let parts = self.by_slot(all);
        let answers = join_all(parts.iter().map(|part| self.enqueue_part(jobs, part))).await;
        for (part, answer) in parts.iter().zip(joined(answers)?) {
            part.put(jobs, answer, &mut outcomes)?;
            self.stir(part.queues.iter().copied());
        }
        Ok(outcomes)
    }

    /// The reasons that the script gives for jobs that were not created.
    async fn enqueue_part(&self, jobs: &[NewJob], part: &Grouped<'_>) -> Result<Refusals> {
        let Answered { value, repeats } =
            self.in_queues(&part.queues, |anew| self.store(jobs, part, anew)).await?;
        let answer = match value {
            Value::Int(_) => Vec::new(),
            answer => array_of(answer).ok_or_else(|| answered("enqueue"))?,
        };
        if is_word(answer.first(), b"ahead") {
            let number = answer.into_iter().nth(1).and_then(number_of).unwrap_or_default();
            return Err(part.ahead(jobs, usize::try_from(number).unwrap_or_default()));
        }
        Ok(Refusals { answer, repeats })
    }

    fn by_slot<'a>(&self, all: Grouped<'a>) -> Vec<Grouped<'a>> {
        let shared = &*self.shared;
        if !shared.topology.is_cluster() || all.queues.len() == 1 {
            return vec![all];
        }
        let mut parts: BTreeMap<Option<u16>, Grouped<'a>> = BTreeMap::new();
        for (queue, jobs) in all.queues.into_iter().zip(all.jobs) {
            let slot = shared.topology.group_of(&shared.keyspace.marker(queue));
            let part = parts.entry(slot).or_default();
            part.queues.push(queue);
            part.jobs.push(jobs);
        }
        parts.into_values().collect()
    }

    /// The arguments of enqueue.lua that store these jobs of one queue in any case: their queue may
    /// be created, and no job is too far ahead.
    pub(crate) fn job_args(&self, jobs: &[NewJob]) -> Vec<Vec<u8>> {
        let mut args = vec![b"1".to_vec(), ANY_TIME_MS.to_vec()];
        push_jobs(&mut args, jobs.iter());
        args
    }

    async fn store(&self, jobs: &[NewJob], grouped: &Grouped<'_>, anew: bool) -> Result<Answered> {
        let shared = &*self.shared;
        let mut keys = Vec::with_capacity(grouped.queues.len());
        let mut args = vec![
            // A new queue is created with its first job.
            u8::from(anew).to_string().into_bytes(),
            millis(DELAY).to_string().into_bytes(),
        ];
        for (queue, positions) in grouped.queues.iter().zip(&grouped.jobs) {
            keys.push(shared.keyspace.of(queue));
            push_jobs(&mut args, positions.iter().map(|at| &jobs[*at]));
        }
        let request = Request::Script { script: Lua::Enqueue, keys, args };
        let waits = shared.wait_replicas.is_some();
        self.call_told("enqueue", if waits { Call::Stored } else { Call::Repeatable }, request)
            .await
    }
}

/// Adds one queue: the number of its jobs, and the arguments of each.
fn push_jobs<'a>(args: &mut Vec<Vec<u8>>, jobs: impl ExactSizeIterator<Item = &'a NewJob>) {
    args.push(jobs.len().to_string().into_bytes());
    for job in jobs {
        args.push(job.id().as_bytes().to_vec());
        args.push(match job.start() {
            Start::After(delay) => format!("+{}", millis(delay)).into_bytes(),
            Start::At(at) => format!("@{}", at.as_millis()).into_bytes(),
        });
        args.push(job.deadline().map_or(0, millis).to_string().into_bytes());
        args.push(static_data(job));
    }
}

impl<'a> Grouped<'a> {
    fn of(jobs: &'a [NewJob]) -> Self {
        let mut grouped = Self::default();
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

    /// The position of a job in the call, by its number in the script.
    fn position(&self, number: usize) -> Option<usize> {
        self.jobs.iter().flatten().nth(number).copied()
    }

    fn ahead(&self, jobs: &[NewJob], number: usize) -> Error {
        let item = self.position(number).unwrap_or_default();
        let error = Error::invalid("run_at", "at most 366 days ahead", "a later time");
        let error = error.at_item(item);
        jobs.get(item).map_or_else(|| answered("enqueue"), |job| error.on(job.id()))
    }

    /// Puts the outcomes of jobs that were not created.
    fn put(
        &self,
        jobs: &[NewJob],
        refusals: Refusals,
        outcomes: &mut [EnqueueOutcome],
    ) -> Result<()> {
        let positions: Vec<usize> = self.jobs.iter().flatten().copied().collect();
        let Refusals { answer, repeats } = refusals;
        let (mut answer, mut seen) = (answer.into_iter(), HashSet::new());
        while let Some(number) = answer.next() {
            let number = number_of(number).and_then(|number| usize::try_from(number).ok());
            let reason = answer.next().and_then(bytes_of);
            let with = answer.next().and_then(bytes_of);
            let (Some(number), Some(reason), Some(with)) = (number, reason, with) else {
                return Err(answered("enqueue"));
            };
            let at = *positions.get(number).ok_or_else(|| answered("enqueue"))?;
            // A job that occurs twice in one call is stored once.
            let repeats = repeats.filter(|_| seen.insert(jobs[at].id()));
            let refused = refused(&jobs[at], &reason, with, repeats);
            outcomes[at] = refused.ok_or_else(|| answered("enqueue"))?;
        }
        Ok(())
    }
}

/// `repeats`: how long ago the first attempt was made, if its answer was lost.
fn refused(
    job: &NewJob,
    reason: &[u8],
    with: Vec<u8>,
    repeats: Option<Duration>,
) -> Option<EnqueueOutcome> {
    Some(match reason {
        b"same" => {
            let existing: JobId = job.id();
            let with = Bytes::from(with);
            let now = Parts(&with).time(SAME.now)?;
            let same = |it: &Data| it.kind == *job.kind() && it.payload == job.payload();
            match Data::read(with.slice(SAME.head.end..)).filter(same) {
                // It was stored after the first attempt began, and so by that attempt.
                Some(it) if repeats.is_some_and(|ago| may_be_of(ago, now.since(it.created_at))) => {
                    EnqueueOutcome::Created { id: existing }
                }
                Some(_) => EnqueueOutcome::Duplicate { existing },
                None => EnqueueOutcome::Conflict { existing },
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

pub(super) fn answered(what: &str) -> Error {
    unreadable(&format!("the answer to {what}"))
}
