//! Storing new jobs (contract R2).

use std::collections::{HashMap, HashSet};

use queuekit_core::retry::queue_full_retry_after;
use queuekit_core::{EnqueueOutcome, Error, ErrorKind, JobId, NewJob, QueueName};
use uuid::Uuid;

use super::columns::Columns;
use crate::error::{Class, Failure, Outcome, together, unreadable};
use crate::params::params;
use crate::queues::{self, Known, QueueRow};
use crate::row::{job_id, job_uuid};
use crate::session::Session;
use crate::statements::Sql;

/// The most rounds of one call; after them its queues count as gone.
pub(crate) const ROUNDS: usize = 8;

/// A call that was checked, with the queues it is for.
pub(crate) struct Asked<'a> {
    jobs: &'a [NewJob],
    queues: HashMap<QueueName, QueueRow>,
    /// It was merged from several calls. If one of them has to wait, it fails after the first try,
    /// so that the others do not wait with it.
    hasty: bool,
}

/// The queues of these names, created if they do not exist; marks those that may hold jobs with
/// partition keys from now on.
pub(crate) async fn open_queues(
    session: &Session<'_>,
    names: &[QueueName],
    keyed: &[QueueName],
    most: usize,
) -> Outcome<Vec<QueueRow>> {
    let mut rows = queues::open(session, names, most).await?;
    let mut ids = Vec::new();
    for row in rows.iter_mut().filter(|row| !row.keyed && keyed.contains(&row.name)) {
        row.keyed = true;
        ids.push(row.id);
    }
    if !ids.is_empty() {
        session.write(Sql::QueueKeyed, params![ids]).await?;
    }
    Ok(rows)
}

pub(crate) fn gone() -> Error {
    let message = "its queues were removed repeatedly during the call, or the transaction's \
                   snapshot is older than the queues";
    Error::new(ErrorKind::Unavailable, message)
}

/// The outcomes; none if the cached rows of the queues are out of date.
pub(crate) async fn enqueue(
    asked: &Asked<'_>,
    session: &Session<'_>,
) -> Outcome<Option<Vec<EnqueueOutcome>>> {
    match asked.store(session).await {
        Err(failure) if failure.class == Class::HeldUp && asked.hasty => {
            Err(Failure { class: Class::Final, ..failure })
        }
        stored => stored,
    }
}

/// The same in a transaction of the application's.
pub(crate) async fn enqueue_in(
    asked: &Asked<'_>,
    session: &Session<'_>,
) -> Outcome<Option<Vec<EnqueueOutcome>>> {
    let queues = asked.queue_ids();
    let hold = async { session.query(Sql::QueueHold, params![queues]).await };
    // Both are sent together, in one round trip.
    let (_, outcomes) = together(hold, asked.store_any(session)).await?;
    Ok(outcomes)
}

impl<'a> Asked<'a> {
    pub(crate) fn new(jobs: &'a [NewJob], queues: HashMap<QueueName, QueueRow>) -> Self {
        Self { jobs, queues, hasty: jobs.iter().any(NewJob::is_merged) }
    }

    /// Whether the quick statement can store these jobs.
    fn is_plain(&self) -> bool {
        let plain = |job: &NewJob| job.idempotency_key().is_none() && !job.repeat();
        let bounded = |row: &QueueRow| row.settings.max_pending.is_some();
        self.jobs.iter().all(plain)
            && !self.queues.values().any(bounded)
            && self.jobs.iter().map(NewJob::id).collect::<HashSet<_>>().len() == self.jobs.len()
    }

    /// Stores the jobs in a transaction of their own.
    async fn store(&self, session: &Session<'_>) -> Outcome<Option<Vec<EnqueueOutcome>>> {
        if self.is_plain()
            && let Some(outcomes) = self.store_plain(session).await?
        {
            return Ok(Some(outcomes));
        }
        session.begin().await?;
        let outcomes = self.store_any(session).await?;
        if outcomes.is_some() {
            session.commit().await?;
        }
        Ok(outcomes)
    }

    /// Forgets the cached rows of its queues, which are out of date.
    pub(crate) fn forget_queues(self, known: &Known) {
        known.forget(self.queues.into_keys());
    }

    fn queue_ids(&self) -> Vec<i32> {
        self.queues.values().map(|row| row.id).collect()
    }

    /// Runs the quick statement as a transaction of its own; none if the statement cannot store
    /// these jobs.
    async fn store_plain(&self, session: &Session<'_>) -> Outcome<Option<Vec<EnqueueOutcome>>> {
        let columns = Columns::of(self.jobs.iter().enumerate(), &self.queues);
        let queues = self.queue_ids();
        let mut params = columns.of_every_job();
        params.extend_from_slice(params![queues]);
        let rows = match session.write(Sql::Enqueue, &params).await {
            // An id is taken: the other statement finds the outcome of each job.
            Err(failure) if failure.class == Class::Taken => return Ok(None),
            rows => rows?,
        };
        let row = rows.first().ok_or_else(|| unreadable("the answer to an enqueue"))?;
        let all = row.try_get::<_, i64>("stored")? == self.jobs.len() as i64;
        Ok(all.then(|| self.jobs.iter().map(created).collect()))
    }

    /// Stores the jobs in rounds, because items act in order: of jobs with the same id or key, each
    /// round tries the first that is left, and its outcome decides those of most others.
    pub(crate) async fn store_any(
        &self,
        session: &Session<'_>,
    ) -> Outcome<Option<Vec<EnqueueOutcome>>> {
        let mut outcomes: Vec<Option<EnqueueOutcome>> = vec![None; self.jobs.len()];
        let mut idle_rounds = 0;
        while idle_rounds < ROUNDS {
            let round = self.round(&outcomes);
            if round.is_empty() {
                return Ok(outcomes.into_iter().collect());
            }
            let before = outcomes.iter().flatten().count();
            self.store_round(session, &round, &mut outcomes).await?;
            let progress = outcomes.iter().flatten().count() > before;
            // Without progress, other calls have taken or freed ids and keys in between: it tries
            // again, but not for ever.
            idle_rounds = if progress { 0 } else { idle_rounds + 1 };
        }
        Ok(None)
    }

    fn round(&self, outcomes: &[Option<EnqueueOutcome>]) -> Vec<usize> {
        let (mut ids, mut keys) = (HashSet::new(), HashSet::new());
        let open = (0..self.jobs.len()).filter(|item| outcomes[*item].is_none());
        open.filter(|item| {
            let job = &self.jobs[*item];
            let key = job.idempotency_key().map(|key| (job.queue(), key));
            let first_of_key = key.is_none_or(|key| keys.insert(key));
            ids.insert(job.id()) && first_of_key
        })
        .collect()
    }

    async fn store_round(
        &self,
        session: &Session<'_>,
        round: &[usize],
        outcomes: &mut [Option<EnqueueOutcome>],
    ) -> Outcome<()> {
        let jobs = || round.iter().map(|item| (*item, &self.jobs[*item]));
        let columns = Columns::of(jobs(), &self.queues);
        let (key_queues, keys) = scoped_keys(jobs().map(|(_, job)| job));
        if !keys.is_empty() {
            session.query(Sql::KeysExpire, params![key_queues, keys]).await?;
        }
        let repeat = jobs().any(|(_, job)| job.repeat());
        let mut params = columns.of_every_job();
        params.extend(columns.of_keyed_jobs());
        let (no_events, deliveries) = (Vec::<Option<i64>>::new(), false);
        params.extend_from_slice(params![repeat, no_events, deliveries]);
        let rows = session.query(Sql::EnqueueAny, &params).await?;
        let mut stored = HashSet::new();
        for row in rows {
            stored.insert(job_id(row.try_get("id")?));
        }
        for item in round.iter().filter(|item| stored.contains(&self.jobs[**item].id())) {
            outcomes[*item] = Some(created(&self.jobs[*item]));
        }
        self.explain(session, round, outcomes).await
    }

    /// Finds the outcomes of jobs that were not stored, from those that have their ids or keys.
    async fn explain(
        &self,
        session: &Session<'_>,
        round: &[usize],
        outcomes: &mut [Option<EnqueueOutcome>],
    ) -> Outcome<()> {
        let others: Vec<usize> =
            (0..outcomes.len()).filter(|item| outcomes[*item].is_none()).collect();
        if others.is_empty() {
            return Ok(());
        }
        let why = || others.iter().map(|item| &self.jobs[*item]);
        let same_ids = same_ids(session, why(), &self.queues).await?;
        let holders = holders(session, why()).await?;
        let tried: HashSet<usize> = round.iter().copied().collect();
        let mut full: HashSet<&QueueName> = HashSet::new();
        for (item, same_id) in others.into_iter().zip(same_ids) {
            let job = &self.jobs[item];
            let key = job.idempotency_key().map(|key| (job.queue().as_str(), key.as_str()));
            let holder =
                key.and_then(|(queue, key)| holders.get(&(queue.to_owned(), key.to_owned())));
            let bounded = || self.queues[job.queue()].settings.max_pending.is_some();
            outcomes[item] = match (same_id, holder) {
                (Some(outcome), _) => Some(outcome),
                (None, Some(holder)) => Some(EnqueueOutcome::Duplicate { existing: *holder }),
                // A queue that had no room for one job has none for those after it.
                (None, None)
                    if full.contains(job.queue()) || (tried.contains(&item) && bounded()) =>
                {
                    full.insert(job.queue());
                    Some(EnqueueOutcome::QueueFull { retry_after: queue_full_retry_after() })
                }
                // The holder of its key has rolled back or is gone: the next round tries again.
                (None, None) => None,
            };
        }
        Ok(())
    }
}

fn created(job: &NewJob) -> EnqueueOutcome {
    EnqueueOutcome::Created { id: job.id() }
}

/// For each of these jobs whose id is taken, what the job that has it means for it.
async fn same_ids<'a>(
    session: &Session<'_>,
    jobs: impl ExactSizeIterator<Item = &'a NewJob> + Clone,
    queues: &HashMap<QueueName, QueueRow>,
) -> Outcome<Vec<Option<EnqueueOutcome>>> {
    let ids: Vec<Uuid> = jobs.clone().map(|job| job_uuid(job.id())).collect();
    let bytes: Vec<i32> = jobs.clone().map(|job| small_bytes(job.payload())).collect();
    let mut outcomes = vec![None; ids.len()];
    let jobs: Vec<&NewJob> = jobs.collect();
    for row in session.query(Sql::Content, params![ids, bytes]).await? {
        let place = usize::try_from(row.try_get::<_, i64>("place")? - 1);
        let job = place.ok().and_then(|at| Some((jobs.get(at)?, outcomes.get_mut(at)?)));
        let (job, outcome) = job.ok_or_else(|| unreadable("the place of a job"))?;
        let (kind, payload): (&str, Option<&[u8]>) =
            (row.try_get("kind")?, row.try_get("payload")?);
        let existing = job.id();
        // The tags of two queues may be the same. What is stored in another one is not told.
        let is_same = row.try_get::<_, i32>("queue")? == queues[job.queue()].id
            && kind == job.kind().as_str()
            && payload == Some(&job.payload()[..]);
        *outcome = Some(match is_same {
            true => EnqueueOutcome::Duplicate { existing },
            false => EnqueueOutcome::Conflict { existing },
        });
    }
    Ok(outcomes)
}

/// The length of a payload, which limits keep far below this number's.
pub(super) fn small_bytes(payload: &[u8]) -> i32 {
    i32::try_from(payload.len()).unwrap_or(i32::MAX)
}

async fn holders<'a>(
    session: &Session<'_>,
    jobs: impl Iterator<Item = &'a NewJob>,
) -> Outcome<HashMap<(String, String), JobId>> {
    let (queues, keys) = scoped_keys(jobs);
    let mut holders = HashMap::new();
    if !keys.is_empty() {
        for row in session.query(Sql::KeyHolders, params![queues, keys]).await? {
            let key = (row.try_get("queue")?, row.try_get("key")?);
            holders.insert(key, job_id(row.try_get("job")?));
        }
    }
    Ok(holders)
}

fn scoped_keys<'a>(jobs: impl Iterator<Item = &'a NewJob>) -> (Vec<&'a str>, Vec<&'a str>) {
    let scoped = |job: &'a NewJob| Some((job.queue().as_str(), job.idempotency_key()?.as_str()));
    jobs.filter_map(scoped).unzip()
}
