//! New jobs, as the script takes them, and its answer (contract R2).

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use queuekit_core::limits::DELAY;
use queuekit_core::{EnqueueOutcome, Error, JobId, NewJob, QueueName, Result, Start, retry};
use redis::Value;

use crate::codec::{array_of, bytes_of, is_word, job_id, millis, number_of, static_data};
use crate::error::answered;
use crate::indeterminate::{Answered, may_be_of};
use crate::layout::SAME;
use crate::layout::bytes::Parts;

/// The value for no limit of how far ahead a job may be scheduled.
const ANY_TIME_MS: &[u8] = b"9000000000000000";

/// The reasons that the script gives for jobs that were not created.
pub(crate) struct Refusals {
    answer: Vec<Value>,
    /// How long ago the first attempt was made, if its answer was lost.
    repeats: Option<Duration>,
}

/// The jobs of a call by queue, and the position of each in the call.
#[derive(Default)]
pub(crate) struct Grouped<'a> {
    pub(crate) queues: Vec<&'a QueueName>,
    pub(crate) jobs: Vec<Vec<usize>>,
}

/// The arguments that store these jobs of one queue in any case: their queue may be created, and no
/// job is too far ahead.
pub(crate) fn job_args(jobs: &[NewJob]) -> Vec<Vec<u8>> {
    let mut args = vec![b"1".to_vec(), ANY_TIME_MS.to_vec()];
    push_jobs(&mut args, jobs.iter());
    args
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

/// Whether the short form does for a job.
fn is_plain(job: &NewJob) -> bool {
    job.start() == Start::After(Duration::ZERO)
        && job.deadline().is_none()
        && job.partition_key().is_none()
        && job.idempotency_key().is_none()
}

impl<'a> Grouped<'a> {
    pub(crate) fn of(jobs: &'a [NewJob]) -> Self {
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

    /// The arguments of the script; with `anew` it may create queues.
    pub(crate) fn args(&self, jobs: &[NewJob], anew: bool) -> Vec<Vec<u8>> {
        let mut args = vec![
            // A new queue is created with its first job.
            u8::from(anew).to_string().into_bytes(),
            millis(DELAY).to_string().into_bytes(),
        ];
        for positions in &self.jobs {
            push_jobs(&mut args, positions.iter().map(|at| &jobs[*at]));
        }
        args
    }

    /// The queue of these jobs if the short form of the script does for them.
    pub(crate) fn plain_queue(&self, jobs: &[NewJob]) -> Option<&'a QueueName> {
        let [queue] = self.queues[..] else { return None };
        self.jobs.iter().flatten().all(|at| is_plain(&jobs[*at])).then_some(queue)
    }

    /// The arguments of the short form.
    pub(crate) fn plain_args(&self, jobs: &[NewJob]) -> Vec<Vec<u8>> {
        let jobs = || self.jobs.iter().flatten().map(|at| &jobs[*at]);
        let mut args = vec![jobs().count().to_string().into_bytes()];
        args.extend(jobs().map(|job| job.id().as_bytes().to_vec()));
        args.extend(jobs().map(static_data));
        args
    }

    pub(crate) fn read(&self, jobs: &[NewJob], answer: Answered) -> Result<Refusals> {
        let repeats = answer.repeats();
        let answer = match answer.value {
            Value::Int(_) => Vec::new(),
            answer => array_of(answer).ok_or_else(|| answered("enqueue"))?,
        };
        if is_word(answer.first(), b"ahead") {
            let number = answer.into_iter().nth(1).and_then(number_of).unwrap_or_default();
            return Err(self.ahead(jobs, usize::try_from(number).unwrap_or_default()));
        }
        Ok(Refusals { answer, repeats })
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
    pub(crate) fn put(
        &self,
        jobs: &[NewJob],
        refusals: Refusals,
        outcomes: &mut [EnqueueOutcome],
    ) -> Result<()> {
        let positions: Vec<usize> = self.jobs.iter().flatten().copied().collect();
        let Refusals { answer, repeats } = refusals;
        let mut answer = answer.into_iter();
        // The jobs before the present one. Those that the answer leaves out were created.
        let (mut seen, mut passed) = (HashSet::new(), 0);
        while let Some(number) = answer.next() {
            let number = number_of(number).and_then(|number| usize::try_from(number).ok());
            let reason = answer.next().and_then(bytes_of);
            let with = answer.next().and_then(bytes_of);
            let (Some(number), Some(reason), Some(with)) = (number, reason, with) else {
                return Err(answered("enqueue"));
            };
            let at = *positions.get(number).ok_or_else(|| answered("enqueue"))?;
            let before = positions.get(passed..number).unwrap_or_default();
            seen.extend(before.iter().map(|at| jobs[*at].id()));
            passed = number + 1;
            let existing = jobs[at].id();
            let is_first = seen.insert(existing);
            let refused = match &reason[..] {
                b"same" => same(existing, &with, repeats, is_first),
                b"other" => Some(EnqueueOutcome::Conflict { existing }),
                reason => refused(reason, &with),
            };
            outcomes[at] = refused.ok_or_else(|| answered("enqueue"))?;
        }
        Ok(())
    }
}

/// The outcome of a job that is stored with this kind and payload. `repeats`: how long ago the
/// first attempt was made, if its answer was lost. A job that occurs twice in one call is stored
/// once.
fn same(
    existing: JobId,
    told: &[u8],
    repeats: Option<Duration>,
    is_first: bool,
) -> Option<EnqueueOutcome> {
    let told = Parts(told);
    let age = told.time(SAME.now)?.since(told.time(SAME.created)?);
    // It was stored after the first attempt began, and so by that attempt.
    let is_ours = is_first && repeats.is_some_and(|ago| may_be_of(ago, age));
    Some(match is_ours {
        true => EnqueueOutcome::Created { id: existing },
        false => EnqueueOutcome::Duplicate { existing },
    })
}

/// Why another job was not created.
fn refused(reason: &[u8], with: &[u8]) -> Option<EnqueueOutcome> {
    Some(match reason {
        b"key" => EnqueueOutcome::Duplicate { existing: job_id(with)? },
        b"full" => {
            let retry_after: Duration = retry::queue_full_retry_after();
            EnqueueOutcome::QueueFull { retry_after }
        }
        _ => return None,
    })
}
