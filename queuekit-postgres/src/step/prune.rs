//! Retention (contract R12), a bounded step at a time.

use std::collections::HashMap;

use queuekit_core::capability::UpkeepReport;
use queuekit_core::queue::Keep;
use queuekit_core::{State, Timestamp};
use uuid::Uuid;

use crate::counters::{self, Figures};
use crate::error::Outcome;
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::unsigned;
use crate::session::Session;
use crate::statements::Sql;

/// The most jobs that one step removes.
const STEP: usize = 1000;
/// The most queues that one step looks at, whether there is something to remove or not.
const QUEUES: usize = 1000;
/// The most queues from which one step removes jobs.
const PRUNED: usize = 50;

/// Removes jobs beyond the retention of their queues, oldest first, and keys whose time is over. It
/// looks at queues beyond the given one, by number. Returns the last queue it is done with, or 0 at
/// the end.
pub(crate) async fn prune(session: &Session<'_>, after: i32) -> Outcome<(i32, UpkeepReport)> {
    let now = session.now().await?;
    let queues = queues::beyond(session, after, QUEUES).await?;
    let old = old(session, &queues, now).await?;
    let mut removed = 0;
    let mut done_with = queues.last().filter(|_| queues.len() == QUEUES).map_or(0, |row| row.id);
    for (at, of) in old.iter().enumerate() {
        if at == PRUNED || removed == STEP {
            done_with = of.queue - 1;
            break;
        }
        removed += prune_queue(session, of, now, STEP - removed).await?;
        if removed == STEP {
            // The queue may have more to remove.
            done_with = of.queue - 1;
            break;
        }
    }
    let forgotten = session.write(Sql::KeysForget, params![STEP as i32]).await?.len();
    forget_removed(session).await?;
    let more = done_with != 0 || removed == STEP || forgotten == STEP;
    let report = UpkeepReport::new(removed as u64, more);
    Ok((done_with, report))
}

/// Locks first and looks then, so that jobs stored before the lock are seen.
async fn forget_removed(session: &Session<'_>) -> Outcome<()> {
    session.begin().await?;
    let mut ids: Vec<i32> = Vec::new();
    for row in session.query(Sql::QueuesRemoved, params![]).await? {
        ids.push(row.try_get("id")?);
    }
    if !ids.is_empty() {
        session.query(Sql::QueuesForget, params![ids]).await?;
    }
    session.commit().await
}

/// A queue whose oldest ended job is beyond retention.
struct Old {
    queue: i32,
    done: Option<Kept>,
    dead: Option<Kept>,
}

/// A group of ended jobs, and its retention.
struct Kept {
    keep: Keep,
    jobs: u64,
    bytes: u64,
}

impl Kept {
    /// Whether retention removes the oldest job of the group, which ended at `finished_at`, with
    /// these totals left.
    fn lets_go(&self, now: Timestamp, finished_at: i64, jobs: u64, bytes: u64) -> bool {
        let age = now.since(Timestamp::from_millis(finished_at));
        self.keep.lets_go(age, jobs, bytes)
    }
}

/// Those of the queues that have something to remove. It runs three statements, for any number of
/// queues.
async fn old(session: &Session<'_>, queues: &[QueueRow], now: Timestamp) -> Outcome<Vec<Old>> {
    let ids = queues.iter().map(|queue| queue.id).collect();
    let figures = counters::figures(session, ids).await?;
    let figures: HashMap<i32, Figures> = figures.into_iter().map(|of| (of.queue, of)).collect();
    let ended = [State::Completed, State::Cancelled, State::Dead];
    let has_ended = |of: &&Figures| ended.iter().any(|state| of.counts[*state as usize] > 0);
    let ids: Vec<i32> = figures.values().filter(has_ended).map(|of| of.queue).collect();
    let mut oldest: HashMap<i32, [Option<i64>; 2]> = HashMap::new();
    for row in session.query(Sql::OldestEnded, params![ids]).await? {
        let ended = [row.try_get("done_at")?, row.try_get("dead_at")?];
        oldest.insert(row.try_get("queue")?, ended);
    }
    let old = queues.iter().filter_map(|queue| {
        let ([done_at, dead_at], figures) = (oldest.get(&queue.id)?, figures.get(&queue.id)?);
        let kept = |keep: Keep, at: Option<i64>, states: &[State]| {
            let sum = |of: &[i64]| states.iter().map(|state| unsigned(of[*state as usize])).sum();
            let kept = Kept { keep, jobs: sum(&figures.counts), bytes: sum(&figures.sizes) };
            let old = kept.jobs > 0 && kept.lets_go(now, at?, kept.jobs, kept.bytes);
            old.then_some(kept)
        };
        let retention = queue.settings.retention;
        let done = kept(retention.done, *done_at, &[State::Completed, State::Cancelled]);
        let dead = kept(retention.dead, *dead_at, &[State::Dead]);
        (done.is_some() || dead.is_some()).then_some(Old { queue: queue.id, done, dead })
    });
    Ok(old.collect())
}

async fn prune_queue(
    session: &Session<'_>,
    old: &Old,
    now: Timestamp,
    most: usize,
) -> Outcome<usize> {
    let mut removed = 0;
    if let Some(done) = &old.done {
        removed += remove_oldest(session, Sql::OldestFinished, old.queue, done, now, most).await?;
    }
    if let Some(dead) = old.dead.as_ref().filter(|_| removed < most) {
        let most = most - removed;
        removed += remove_oldest(session, Sql::OldestDead, old.queue, dead, now, most).await?;
    }
    Ok(removed)
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
        let finished_at = row.try_get("finished_at")?;
        if !kept.lets_go(now, finished_at, jobs, bytes) {
            break;
        }
        old.push((row.try_get("id")?, finished_at));
        jobs = jobs.saturating_sub(1);
        bytes = bytes.saturating_sub(unsigned(row.try_get("size")?));
    }
    if old.is_empty() {
        return Ok(0);
    }
    old.sort_unstable();
    let (ids, ended): (Vec<Uuid>, Vec<i64>) = old.into_iter().unzip();
    let rows = session.settle(Sql::Prune, params![ids, ended]).await?;
    let removed: i64 = rows.first().map_or(Ok(0), |row| row.try_get("removed"))?;
    Ok(usize::try_from(removed).unwrap_or(0))
}
