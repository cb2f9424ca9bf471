//! Why a job is not running (contract R6.9).

use queuekit_core::JobId;
use queuekit_core::capability::{Beat, Why, WhyFacts};

use super::status::Frontiers;
use super::view::views;
use crate::error::Outcome;
use crate::params::params;
use crate::queues::QueueRow;
use crate::row::{Record, job_id, job_uuid};
use crate::session::Session;
use crate::statements::Sql;
use crate::step::Change;

/// The most jobs that are counted before one.
const EXAMINED: i32 = 10_000;

pub(crate) async fn why(session: &Session<'_>, id: JobId) -> Outcome<Option<Why>> {
    session.begin_snapshot().await?;
    let change = Change::read(session, vec![job_uuid(id)]).await?;
    let Some(record) = change.record(id) else {
        return Ok(None);
    };
    let row = change.queue_of(record)?;
    let now = change.now;
    let mut frontiers = Frontiers::default();
    frontiers.learn(session, std::iter::once(record)).await?;
    let shown = vec![(record, frontiers.status(record, now), row.name.clone())];
    let Some(job) = views(session, now, shown).await?.pop() else {
        return Ok(None);
    };
    let serves = |beat: &Beat| beat.serves(&job.queue, &job.kind);
    let has_live_worker = super::any_worker(session, serves).await?;
    let mut why = Why::of(WhyFacts {
        job: &job,
        now,
        overdue: record.lease_expires_at.map(|at| now.since(at)).unwrap_or_default(),
        settings: &row.settings,
        has_live_worker,
    });
    match &mut why {
        Why::Blocked { behind, .. } => *behind = blocker(session, record).await?,
        Why::Ready { jobs_before: before } => *before = jobs_before(session, row, record).await?,
        _ => {}
    }
    Ok(Some(why))
}

/// The job that this one waits for; none if its key has all the leases it may have.
async fn blocker(session: &Session<'_>, record: &Record) -> Outcome<Option<JobId>> {
    let rows = session.query(Sql::Blocker, params![record.queue, record.partition_key()]).await?;
    let blocker = rows.first().map(|row| row.try_get("id")).transpose()?.map(job_id);
    Ok(blocker.filter(|blocker| *blocker != record.id))
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
    let before: i64 = rows.first().map_or(Ok(0), |row| row.try_get("jobs"))?;
    Ok((before < i64::from(EXAMINED)).then_some(before.unsigned_abs()))
}
