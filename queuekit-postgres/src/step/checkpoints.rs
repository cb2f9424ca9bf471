//! Results of steps of jobs (contract R13.10).

use std::collections::HashSet;

use queuekit_core::capability::{CheckpointOutcome, NewCheckpoint};
use queuekit_core::lifecycle::{Held, checkpoint};
use queuekit_core::limits::{CHECKPOINTS, CHECKPOINTS_BYTES};
use queuekit_core::{
    Bytes, Checkpoint, CheckpointInfo, CheckpointName, Checkpoints, JobId, LeaseToken, Timestamp,
};
use tokio_postgres::Row;
use uuid::Uuid;

use super::Change;
use crate::error::Outcome;
use crate::params::params;
use crate::row::{job_id, job_uuid, nonce_uuid};
use crate::session::Session;
use crate::statements::Sql;

/// A repeated call is answered as the first.
pub(crate) async fn put_checkpoint(
    session: &Session<'_>,
    new: &NewCheckpoint,
) -> Outcome<CheckpointOutcome> {
    store(session, new, |same| same).await
}

/// What is stored under the name is a conflict, whatever it is.
pub(crate) async fn put_new_checkpoint(
    session: &Session<'_>,
    new: &NewCheckpoint,
) -> Outcome<CheckpointOutcome> {
    store(session, new, |_| false).await
}

/// `None` if the lease does not hold.
pub(crate) async fn checkpoints(
    session: &Session<'_>,
    lease: &LeaseToken,
) -> Outcome<Option<Checkpoints>> {
    let (id, seq) = (job_uuid(lease.id), lease.lease_seq.cast_signed());
    let (nonce, queue) = (nonce_uuid(lease.nonce), lease.queue.as_str());
    let rows = session.query(Sql::Checkpoints, params![id, seq, nonce, queue]).await?;
    let Some(first) = rows.first() else {
        return Ok(None);
    };
    let now = Timestamp::from_millis(first.try_get("now")?);
    let stored = rows.iter().filter_map(|row| read(row).transpose());
    Ok(Some(Checkpoints { now, stored: stored.collect::<Outcome<_>>()? }))
}

pub(crate) async fn list_checkpoints(
    session: &Session<'_>,
    id: JobId,
) -> Outcome<Vec<CheckpointInfo>> {
    let rows = session.query(Sql::CheckpointsList, params![job_uuid(id)]).await?;
    rows.iter().filter_map(|row| info(row).transpose()).collect()
}

/// Whether each job had any, and does not run.
pub(crate) async fn forget_checkpoints(session: &Session<'_>, ids: &[JobId]) -> Outcome<Vec<bool>> {
    let asked: Vec<Uuid> = ids.iter().copied().map(job_uuid).collect();
    let rows = session.write(Sql::CheckpointsForget, params![asked]).await?;
    let had = rows.iter().map(|row| Ok(job_id(row.try_get("job")?)));
    let had = had.collect::<Outcome<HashSet<JobId>>>()?;
    Ok(ids.iter().map(|id| had.contains(id)).collect())
}

async fn store(
    session: &Session<'_>,
    new: &NewCheckpoint,
    is_repeat: impl Fn(bool) -> bool,
) -> Outcome<CheckpointOutcome> {
    let lease = new.lease();
    let (id, seq) = (job_uuid(lease.id), lease.lease_seq.cast_signed());
    let (nonce, queue, name) = (nonce_uuid(lease.nonce), lease.queue.as_str(), new.name().as_str());
    let (result, most) = (new.result().as_ref(), CHECKPOINTS as i64);
    let most_bytes = CHECKPOINTS_BYTES as i64;
    let params = params![id, seq, nonce, queue, name, result, most, most_bytes];
    let rows = session.write(Sql::CheckpointPut, params).await?;
    let Some(had) = rows.first() else {
        let change = Change::read(session, vec![id]).await?;
        return Ok(match change.record(lease.id) {
            None => CheckpointOutcome::NotFound,
            Some(_) => CheckpointOutcome::LeaseLost,
        });
    };
    let number = |column| Ok::<_, tokio_postgres::Error>(had.try_get::<_, i64>(column)? as usize);
    let same: Option<bool> = had.try_get("same")?;
    let held = Held { count: number("count")?, bytes: number("bytes")?, same: same.map(is_repeat) };
    Ok(checkpoint(held, result.len()))
}

/// None if it cannot be read, or the row stands for none.
fn read(row: &Row) -> Outcome<Option<Checkpoint>> {
    let name: Option<&str> = row.try_get("name")?;
    let Some(name) = name.and_then(|name| CheckpointName::new(name).ok()) else {
        return Ok(None);
    };
    let at = Timestamp::from_millis(row.try_get("at")?);
    let result = Bytes::copy_from_slice(row.try_get("result")?);
    Ok(Some(Checkpoint { name, at, result }))
}

/// None if it cannot be read.
fn info(row: &Row) -> Outcome<Option<CheckpointInfo>> {
    let name = CheckpointName::new(row.try_get::<_, &str>("name")?).ok();
    let at = Timestamp::from_millis(row.try_get("at")?);
    let bytes = row.try_get::<_, i32>("bytes")?.cast_unsigned() as usize;
    Ok(name.map(|name| CheckpointInfo { name, at, bytes }))
}
