//! Why a job is not running (contract R6.9).

use queuekit_core::capability::Why;
use queuekit_core::{JobId, Kind, PartitionKey, QueueName, Result, Status, WorkerId};

use super::status::Frontiers;
use crate::PostgresStore;
use crate::call::Call;
use crate::error::Outcome;
use crate::params::params;
use crate::queues::QueueRow;
use crate::row::{Record, job_id, job_uuid};
use crate::session::Session;
use crate::statements::Sql;
use crate::step::Change;

/// Jobs that are counted before one, at most.
const EXAMINED: i32 = 10_000;

impl PostgresStore {
    pub(crate) async fn why_shown(&self, id: JobId) -> Result<Option<Why>> {
        let shown = self.call("why", Call::Repeatable, id, |id, session| {
            Box::pin(async move {
                super::snapshot(session).await?;
                why(session, *id).await
            })
        });
        shown.await
    }
}

async fn why(session: &Session<'_>, id: JobId) -> Outcome<Option<Why>> {
    let change = Change::read(session, vec![job_uuid(id)]).await?;
    let Some(record) = change.record(id) else {
        return Ok(None);
    };
    let row = change.queue_of(record)?;
    let mut frontiers = Frontiers::default();
    frontiers.learn(session, std::iter::once(record)).await?;
    let queue = row.name.clone();
    let paused = row.settings.paused;
    let in_ = record.scheduled_at.since(change.now);
    let worker = record.worker.as_deref().and_then(|id| WorkerId::new(id).ok());
    let expires_at = record.lease_expires_at.unwrap_or_default();
    let why = match (frontiers.status(record, change.now), worker) {
        (Status::Running, Some(worker)) => {
            Why::Running { worker, lease_expires_in: expires_at.since(change.now) }
        }
        (Status::Expired | Status::Ready, _) if paused => Why::Paused { queue },
        (Status::Expired, Some(worker)) => {
            Why::Expired { worker, ago: change.now.since(expires_at) }
        }
        (Status::Scheduled, _) => Why::Scheduled { in_ },
        (Status::Failed, _) => Why::WaitingForRetry {
            in_,
            attempts: record.attempts,
            max_attempts: record.max_attempts,
        },
        (Status::Blocked, _) => return blocked(session, record).await,
        (Status::Ready, _) => match unserved(session, record, &queue).await? {
            Some(kind) => Why::NoLiveWorker { queue, kind },
            None => Why::Ready { jobs_before: jobs_before(session, row, record).await? },
        },
        _ => Why::Ended { state: record.state, reason: record.reason.clone() },
    };
    Ok(Some(why))
}

async fn blocked(session: &Session<'_>, record: &Record) -> Outcome<Option<Why>> {
    let Some(Ok(key)) = record.partition_key().map(PartitionKey::new) else {
        return Ok(None);
    };
    let lane = key.as_str();
    let rows = session.query(Sql::Blocker, params![record.queue, lane]).await?;
    let behind = rows.first().map(|row| row.try_get(0)).transpose()?.map(job_id);
    let behind = behind.filter(|behind| *behind != record.id);
    Ok(Some(Why::Blocked { key, behind }))
}

/// The job's kind, if no live worker serves it in the job's queue.
async fn unserved(
    session: &Session<'_>,
    record: &Record,
    queue: &QueueName,
) -> Outcome<Option<Kind>> {
    let Ok(kind) = Kind::new(&record.kind) else {
        return Ok(None);
    };
    let workers = super::workers(session).await?;
    let mut beats = workers.iter().map(|worker| &worker.beat);
    let served = beats.any(|beat| beat.serves(queue, &kind));
    Ok((!served).then_some(kind))
}

/// How many jobs of the queue are served before this one; none if it takes too long to count.
async fn jobs_before(
    session: &Session<'_>,
    queue: &QueueRow,
    record: &Record,
) -> Outcome<Option<u64>> {
    if queue.is_fair() {
        return Ok(None);
    }
    let at = record.scheduled_at.as_millis();
    let params = params![queue.id, record.rank, at, record.seq, EXAMINED];
    let rows = session.query(Sql::CountBefore, params).await?;
    let before: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok((before < i64::from(EXAMINED)).then_some(before.unsigned_abs()))
}
