//! Ends of jobs, for lists of what is recent (contract R8.7).

use std::collections::HashMap;

use async_trait::async_trait;
use queuekit_core::backend::{AnswerBytes, End, Ended, EndedJobs, EndsBefore};
use queuekit_core::{Job, JobId, QueueName, Result, Timestamp};

use super::status::Frontiers;
use super::view::{bytes_of, views};
use crate::PostgresStore;
use crate::call::Call;
use crate::column_names::columns;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::queues;
use crate::row::{job_id, job_uuid};
use crate::session::Session;
use crate::statements::Sql;
use crate::step::Change;

columns! {
    struct EndColumns { place, id, time, seq }
}

#[async_trait]
impl EndedJobs for PostgresStore {
    async fn queues(&self, most: usize) -> Result<Vec<QueueName>> {
        let names = self.call("list_jobs", Call::Repeatable, most, |most, session| {
            Box::pin(async move {
                let queues = queues::after(session, "", true, *most).await?;
                Ok(queues.into_iter().map(|queue| queue.name).collect())
            })
        });
        names.await
    }

    async fn ends(&self, of: &[EndsBefore], most: usize) -> Result<Vec<Vec<End>>> {
        let input = (of, most);
        let ends = self.call("list_jobs", Call::Repeatable, input, |(of, most), session| {
            Box::pin(ends(session, of, *most))
        });
        ends.await
    }

    async fn jobs(&self, ended: &[Ended]) -> Result<Vec<Option<Job>>> {
        let jobs = self.call("list_jobs", Call::Repeatable, ended, |ended, session| {
            Box::pin(jobs(session, ended))
        });
        jobs.await
    }
}

async fn ends(session: &Session<'_>, of: &[EndsBefore], most: usize) -> Outcome<Vec<Vec<End>>> {
    let names: Vec<&str> = of.iter().map(|of| of.queue.as_str()).collect();
    let states: Vec<i16> = of.iter().map(|of| of.state as i16).collect();
    let times: Vec<i64> = of.iter().map(|of| of.before.at.as_millis()).collect();
    let sequences: Vec<i64> = of.iter().map(|of| of.before.seq).collect();
    let most = i32::try_from(most).unwrap_or(i32::MAX);
    let params = params![names, states, times, sequences, most];
    let rows = session.query(Sql::RecentEnds, params).await?;
    let at = EndColumns::of(&rows)?;
    let mut ends = vec![Vec::new(); of.len()];
    for row in &rows {
        let place = usize::try_from(row.try_get::<_, i64>(at.place)? - 1).ok();
        let of_place = place.and_then(|place| ends.get_mut(place));
        of_place.ok_or_else(|| unreadable("the ends of jobs"))?.push(End {
            at: Timestamp::from_millis(row.try_get(at.time)?),
            seq: row.try_get(at.seq)?,
            id: job_id(row.try_get(at.id)?),
        });
    }
    Ok(ends)
}

async fn jobs(session: &Session<'_>, ended: &[Ended]) -> Outcome<Vec<Option<Job>>> {
    session.begin_snapshot().await?;
    let ids: Vec<JobId> = ended.iter().map(|ended| ended.end.id).collect();
    let change = Change::read(session, ids.iter().copied().map(job_uuid).collect()).await?;
    let sizes = bytes_of(session, ids.iter().copied()).await?;
    let mut bytes = AnswerBytes::default();
    let fits = |id: &&JobId| bytes.admit(sizes.get(id).copied().unwrap_or_default());
    let fitting: Vec<JobId> = ids.iter().take_while(fits).copied().collect();
    // What has ended waits for no other job.
    let frontiers = Frontiers::default();
    let mut shown = Vec::with_capacity(fitting.len());
    for record in fitting.iter().filter_map(|id| change.record(*id)) {
        let status = frontiers.status(record, change.now);
        shown.push((record, status, change.queue_of(record)?.name.clone()));
    }
    let jobs = views(session, change.now, shown).await?;
    let mut by_id: HashMap<JobId, Job> = jobs.into_iter().map(|job| (job.id, job)).collect();
    Ok(fitting.iter().map(|id| by_id.remove(id)).collect())
}
