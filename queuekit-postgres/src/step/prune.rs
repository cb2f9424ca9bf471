//! Retention (contract R12), a bounded step at a time.

use queuekit_core::capability::UpkeepReport;
use queuekit_core::queue::Keep;
use queuekit_core::{State, Timestamp};
use uuid::Uuid;

use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::unsigned;
use crate::session::Session;
use crate::statements::Sql;

/// Jobs one step removes at most.
const STEP: usize = 1000;

/// Removes jobs beyond the retention of their queues, oldest first, and keys whose time is over.
pub(crate) async fn prune(session: &Session<'_>) -> Outcome<UpkeepReport> {
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
    forget_removed(session).await?;
    Ok(UpkeepReport {
        changed: removed as u64,
        more: removed == STEP || forgotten == STEP,
        ..UpkeepReport::default()
    })
}

/// Locked first and looked at then: what was stored before the lock is seen.
async fn forget_removed(session: &Session<'_>) -> Outcome<()> {
    session.begin().await?;
    let mut ids: Vec<i32> = Vec::new();
    for row in session.query(Sql::QueuesRemoved, params![]).await? {
        ids.push(row.try_get(0)?);
    }
    if !ids.is_empty() {
        session.query(Sql::QueuesForget, params![ids]).await?;
    }
    session.commit().await
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
    let mut old: Vec<(Uuid, i64)> = Vec::new();
    for row in rows {
        let finished_at = row.try_get(1)?;
        let age = now.since(Timestamp::from_millis(finished_at));
        if !kept.keep.lets_go(age, jobs, bytes) {
            break;
        }
        old.push((row.try_get(0)?, finished_at));
        jobs = jobs.saturating_sub(1);
        bytes = bytes.saturating_sub(unsigned(row.try_get(2)?));
    }
    if old.is_empty() {
        return Ok(0);
    }
    old.sort_unstable();
    let (ids, ended): (Vec<Uuid>, Vec<i64>) = old.into_iter().unzip();
    let rows = session.settle(Sql::Prune, params![ids, ended]).await?;
    let removed: i64 = rows.first().map_or(Ok(0), |row| row.try_get(0))?;
    Ok(usize::try_from(removed).unwrap_or(0))
}
