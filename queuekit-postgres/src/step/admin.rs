//! Operations of an operator (contract R6), inside a transaction.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use queuekit_core::capability::{CancelOutcome, RescheduleOutcome, RetryOutcome};
use queuekit_core::lifecycle::{self, Transition};
use queuekit_core::queue::{self, QueuePatch, QueueSettings};
use queuekit_core::{JobId, QueueName, State};
use uuid::Uuid;

use super::Change;
use crate::counters;
use crate::error::{Failure, Outcome};
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::{job_id, job_uuid, millis};
use crate::session::Session;
use crate::statements::Sql;

/// The most jobs that one step of removing a queue deletes.
const SLICE: i32 = 500;

/// None if the queue is gone: then it has to be created again.
pub(crate) async fn configure(
    session: &Session<'_>,
    name: &QueueName,
    patch: &QueuePatch,
) -> Outcome<Option<QueueRow>> {
    session.begin().await?;
    let Some(was) = locked(session, name).await? else {
        return Ok(None);
    };
    let mut row = was.clone();
    row.settings = was.settings.clone().patched(patch, session.now().await?);
    row.keyed |= row.is_fair();
    let document = row.settings.to_json();
    let paused_until = paused_until(&row.settings);
    let params = params![row.id, document, row.keyed, paused_until];
    session.query(Sql::QueueConfigure, params).await?;
    if !row.settings.treats_keys_as(&was.settings) {
        session.query(Sql::QueueDue, params![row.id]).await?;
        session.query(Sql::QueueUnplace, params![row.id]).await?;
    }
    session.commit().await?;
    Ok(Some(row))
}

/// The column of this name: before any time if the queue is not paused, and beyond all times if its
/// pause has no end.
fn paused_until(settings: &QueueSettings) -> i64 {
    match settings.paused_until {
        _ if !settings.paused => 0,
        Some(end) => end.as_millis(),
        None => i64::MAX,
    }
}

/// The queue, after taking its lock.
async fn locked(session: &Session<'_>, name: &QueueName) -> Outcome<Option<QueueRow>> {
    let names = std::slice::from_ref(name);
    let Some(row) = queues::named(session, names).await?.into_iter().find(|row| !row.removed)
    else {
        return Ok(None);
    };
    session.lock_queue(row.id).await?;
    Ok(queues::named(session, names).await?.into_iter().find(|row| !row.removed))
}

/// Removes some of a queue's jobs, or the queue if it has none. Returns true when the queue is
/// gone; none if there is no such queue.
pub(crate) async fn remove_queue(
    session: &Session<'_>,
    name: &QueueName,
    force: bool,
) -> Outcome<Option<bool>> {
    session.begin().await?;
    let Some(row) = locked(session, name).await? else {
        return Ok(None);
    };
    let jobs = some_jobs(session, row.id).await?;
    if jobs.is_empty() {
        remove_empty(session, &row).await?;
        return Ok(Some(true));
    }
    if !force {
        return Err(in_use(session, &row).await?);
    }
    let mut change = Change::of_jobs(session, jobs.iter().copied(), true).await?;
    for id in jobs {
        if change.record(id).is_some_and(|record| record.state == State::Running) {
            return Err(in_use(session, &row).await?);
        }
        change.remove(id)?;
    }
    change.finish().await?;
    session.commit().await?;
    Ok(Some(false))
}

/// A producer that saw the queue earlier may still store jobs in it. If it has stored some by now,
/// they count as stored before the removal, and the queue is looked at again. Jobs that it stores
/// later count as stored after the removal: they are served, and the next enqueue creates the queue
/// anew.
async fn remove_empty(session: &Session<'_>, row: &QueueRow) -> Outcome<()> {
    super::fold::hold(session).await?;
    session.query(Sql::QueueRemove, params![row.id]).await?;
    if !some_jobs(session, row.id).await?.is_empty() {
        return Err(Failure::transient("jobs were stored in the queue meanwhile"));
    }
    session.commit().await
}

async fn some_jobs(session: &Session<'_>, queue: i32) -> Outcome<Vec<JobId>> {
    let rows = session.query(Sql::QueueJobs, params![queue, SLICE]).await?;
    rows.iter().map(|row| Ok(job_id(row.try_get("id")?))).collect()
}

async fn in_use(session: &Session<'_>, row: &QueueRow) -> Outcome<Failure> {
    let figures = counters::figures(session, vec![row.id]).await?;
    let counts = figures.first().map(|figures| figures.counts).unwrap_or_default();
    let (jobs, running) = (counts.iter().sum::<i64>(), counts[State::Running as usize]);
    Ok(queue::in_use(&row.name, jobs.cast_unsigned(), running.cast_unsigned()).into())
}

/// The effects of a cancel.
pub(crate) struct Cancelled {
    pub(crate) outcomes: Vec<CancelOutcome>,
    /// The queues of running jobs that were asked to stop.
    pub(crate) requested: BTreeSet<QueueName>,
    pub(crate) stirred: Vec<QueueRow>,
}

pub(crate) async fn cancel(session: &Session<'_>, ids: &[JobId]) -> Outcome<Cancelled> {
    let mut change = Change::of_jobs(session, ids.iter().copied(), true).await?;
    let mut outcomes = Vec::with_capacity(ids.len());
    let mut requested = BTreeSet::new();
    for id in ids {
        let outcome = cancel_one(&mut change, *id).await?;
        if let (CancelOutcome::Requested, Some(record)) = (outcome, change.record(*id)) {
            requested.insert(change.queue_of(record)?.name.clone());
        }
        outcomes.push(outcome);
    }
    Ok(Cancelled { outcomes, requested, stirred: change.finish().await? })
}

async fn cancel_one(change: &mut Change<'_>, id: JobId) -> Outcome<CancelOutcome> {
    let Some(state) = change.record(id).map(|record| record.state) else {
        return Ok(CancelOutcome::NotFound);
    };
    match lifecycle::cancel(state) {
        Some(transition @ Transition::RequestCancel) => {
            change.apply(id, transition, |record| record.cancel_requested = true).await?;
            Ok(CancelOutcome::Requested)
        }
        Some(transition) => {
            change.apply(id, transition, |_| {}).await?;
            Ok(CancelOutcome::Cancelled)
        }
        None if state == State::Cancelled => Ok(CancelOutcome::AlreadyDone),
        None => Ok(CancelOutcome::Conflict),
    }
}

pub(crate) async fn retry(
    session: &Session<'_>,
    retries: &[(JobId, Duration)],
) -> Outcome<(Vec<RetryOutcome>, Vec<QueueRow>)> {
    let mut change = Change::of_jobs(session, retries.iter().map(|(id, _)| *id), false).await?;
    let asked: Vec<Uuid> = retries.iter().map(|(id, _)| job_uuid(*id)).collect();
    let mut lacking: HashSet<JobId> = HashSet::new();
    for row in session.query(Sql::CancelledLacking, params![asked]).await? {
        lacking.insert(job_id(row.try_get("id")?));
    }
    let mut outcomes = Vec::with_capacity(retries.len());
    for (id, delay) in retries {
        let due = change.now + *delay;
        let transition = change.record(*id).map(|record| lifecycle::retry(record.state));
        outcomes.push(match transition {
            None => RetryOutcome::NotFound,
            // A cancelled delivery that has outlived its event has nothing to run with (R14.6).
            Some(_) if lacking.contains(id) => RetryOutcome::Conflict,
            Some(Some(transition)) if change.take_key(*id).await? => {
                change.apply(*id, transition, |record| record.scheduled_at = due).await?;
                RetryOutcome::Retried
            }
            Some(_) => RetryOutcome::Conflict,
        });
    }
    Ok((outcomes, change.finish().await?))
}

pub(crate) async fn reschedule(
    session: &Session<'_>,
    ids: &[JobId],
    delay: Duration,
) -> Outcome<(Vec<RescheduleOutcome>, Vec<QueueRow>)> {
    let mut change = Change::of_jobs(session, ids.iter().copied(), true).await?;
    let mut outcomes = Vec::with_capacity(ids.len());
    let mut waiting: Vec<Uuid> = Vec::new();
    for id in ids {
        outcomes.push(match change.record(*id).map(|record| record.state) {
            None => RescheduleOutcome::NotFound,
            Some(State::Pending) => {
                waiting.push(job_uuid(*id));
                change.apply(*id, Transition::Reschedule, |_| {}).await?;
                RescheduleOutcome::Rescheduled
            }
            Some(_) => RescheduleOutcome::Conflict,
        });
    }
    waiting.sort_unstable();
    waiting.dedup();
    let delay_ms = millis(delay);
    session.query(Sql::Reschedule, params![waiting, delay_ms]).await?;
    Ok((outcomes, change.finish().await?))
}
