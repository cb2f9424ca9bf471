//! The last errors of jobs, which a filter may ask for.

use std::collections::HashMap;

use queuekit_core::JobId;
use uuid::Uuid;

use crate::error::Outcome;
use crate::params::params;
use crate::row::{job_id, job_uuid};
use crate::session::Session;
use crate::statements::Sql;

/// The last errors of those of these jobs that wait or are dead, and have failed.
pub(super) async fn last_errors(
    session: &Session<'_>,
    ids: impl Iterator<Item = JobId>,
) -> Outcome<HashMap<JobId, String>> {
    let ids: Vec<Uuid> = ids.map(job_uuid).collect();
    let rows = session.query(Sql::LastErrors, params![ids]).await?;
    rows.iter().map(|row| Ok((job_id(row.try_get("id")?), row.try_get("error")?))).collect()
}
