//! Retention (contract R12), a bounded step at a time.

use queuekit_core::capability::UpkeepReport;
use queuekit_core::queue::Keep;
use queuekit_core::{JobId, State, Timestamp};

use super::Change;
use crate::PostgresStore;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::{job_id, unsigned};
use crate::session::Session;
use crate::statements::Sql;

/// Jobs one step removes at most.
const STEP: usize = 1000;

/// Removes jobs beyond the retention of their queues, oldest first, and keys whose time is over.
pub(crate) async fn prune(store: &PostgresStore, session: &Session<'_>) -> Outcome<UpkeepReport> {
    let now = session.query(Sql::Now, params![]).await?;
    let now = now.first().ok_or_else(|| unreadable("the store's clock"))?.try_get(0)?;
    let now = Timestamp::from_millis(now);
    let mut removed = 0;
    for queue in queues::all(session).await? {
        if removed < STEP {
            removed += prune_queue(session, &queue, now, STEP - removed).await?;
        }
    }
    let forgotten = session.write(Sql::KeysForget, params![STEP as i32]).await?.len();
    session.write(Sql::Orphans, params![]).await?;
    let _ = store;
    Ok(UpkeepReport { changed: removed as u64, more: removed == STEP || forgotten == STEP })
}

async fn prune_queue(
    session: &Session<'_>,
    queue: &QueueRow,
    now: Timestamp,
    most: usize,
) -> Outcome<usize> {
    let figures = crate::read::figures(session, Some(vec![queue.id])).await?;
    let Some(figures) = figures.first() else {
        return Ok(0);
    };
    let count = |state: State| unsigned(figures.counts[state as usize]);
    let size = |state: State| unsigned(figures.sizes[state as usize]);
    let retention = queue.settings.retention;
    let done = Kept {
        keep: retention.done,
        jobs: count(State::Completed) + count(State::Cancelled),
        bytes: size(State::Completed) + size(State::Cancelled),
    };
    let mut removed = 0;
    if done.jobs > 0 {
        removed += remove_oldest(session, Sql::OldestDone, queue.id, &done, now, most).await?;
    }
    let dead = Kept { keep: retention.dead, jobs: count(State::Dead), bytes: size(State::Dead) };
    if dead.jobs > 0 && removed < most {
        let most = most - removed;
        removed += remove_oldest(session, Sql::OldestDead, queue.id, &dead, now, most).await?;
    }
    Ok(removed)
}

/// A group of ended jobs, and what is kept of it.
struct Kept {
    keep: Keep,
    jobs: u64,
    bytes: u64,
}

async fn remove_oldest(
    session: &Session<'_>,
    oldest: Sql,
    queue: i32,
    kept: &Kept,
    now: Timestamp,
    most: usize,
) -> Outcome<usize> {
    let rows = session.query(oldest, params![queue, most as i32]).await?;
    let (mut jobs, mut bytes) = (kept.jobs, kept.bytes);
    let mut ids: Vec<JobId> = Vec::new();
    for row in rows {
        let age = now.since(Timestamp::from_millis(row.try_get(1)?));
        if !kept.keep.lets_go(age, jobs, bytes) {
            break;
        }
        ids.push(job_id(row.try_get(0)?));
        jobs = jobs.saturating_sub(1);
        bytes = bytes.saturating_sub(unsigned(row.try_get(2)?));
    }
    if ids.is_empty() {
        return Ok(0);
    }
    session.begin_settling().await?;
    let removed = Change::prune(session, &ids).await?;
    session.commit().await?;
    Ok(removed)
}
