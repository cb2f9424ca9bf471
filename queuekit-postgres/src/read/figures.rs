//! The figures of queues (contract R8.3), without a scan of finished jobs.

use std::collections::HashMap;

use queuekit_core::backend::{PageSize, QueuePage};
use queuekit_core::limits::EXACT_COUNT;
use queuekit_core::queue::{Count, HealthInput, Queue, Totals, WorkerCounts, health};
use queuekit_core::{QueueName, State, Status, Timestamp};
use tokio_postgres::Row;
use uuid::Uuid;

use super::status::Frontiers;
use crate::column_names::columns;
use crate::counters::{Figures, figures};
use crate::error::Outcome;
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::unsigned;
use crate::session::Session;
use crate::statements::Sql;
use crate::step::Change;

/// Up to this many jobs are counted exactly.
const EXAMINED: i32 = EXACT_COUNT as i32;

/// What waits in a queue. Each count stops one above [`EXAMINED`].
struct Waiting {
    /// Since when the oldest job without a partition key is ready.
    oldest: Option<Timestamp>,
    /// Jobs without a key that are not due.
    later: i64,
    /// Those of them that have failed.
    failed: i64,
    keyed: i64,
    /// Jobs without a key that are due. None: those that the other counts leave.
    due: Option<i64>,
    expired: i64,
}

/// A page of queues by name, after this one.
pub(crate) async fn list_queues(
    session: &Session<'_>,
    after: Option<&QueueName>,
    limit: PageSize,
) -> Outcome<QueuePage> {
    session.begin_snapshot().await?;
    let from = after.map_or("", QueueName::as_str);
    let mut rows = queues::after(session, from, false, limit.get() + 1).await?;
    let is_last = rows.len() <= limit.get();
    rows.truncate(limit.get());
    let after = rows.last().filter(|_| !is_last).map(|row| row.name.clone());
    Ok(QueuePage { queues: shown(session, rows).await?, after })
}

/// The queues of these names.
pub(crate) async fn find_queues(session: &Session<'_>, names: &[QueueName]) -> Outcome<Vec<Queue>> {
    session.begin_snapshot().await?;
    let rows = queues::named(session, names).await?;
    shown(session, rows).await
}

async fn shown(session: &Session<'_>, mut rows: Vec<QueueRow>) -> Outcome<Vec<Queue>> {
    let now = session.now().await?;
    let workers = super::worker_counts(session).await?;
    rows.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    let ids = rows.iter().map(|row| row.id).collect();
    let figures: HashMap<i32, Figures> =
        figures(session, ids).await?.into_iter().map(|of| (of.queue, of)).collect();
    let busy = |row: &&QueueRow| {
        let counts = figures.get(&row.id).map(|of| of.counts).unwrap_or_default();
        counts[State::Pending as usize] > 0 || counts[State::Running as usize] > 0
    };
    let ids: Vec<i32> = rows.iter().filter(busy).map(|row| row.id).collect();
    let mut waiting: HashMap<i32, Waiting> = HashMap::new();
    let counted = session.query(Sql::Waiting, params![ids, EXAMINED + 1]).await?;
    let at = WaitingColumns::of(&counted)?;
    for row in &counted {
        waiting.insert(row.try_get(at.id)?, Waiting::read(row, &at)?);
    }
    let mut listed = Vec::with_capacity(rows.len());
    for row in rows {
        let waiting = waiting.remove(&row.id);
        // A removed queue exists only if a producer stored jobs in it at that moment.
        if !row.removed || waiting.is_some() {
            let figures = figures.get(&row.id);
            listed.push(queue(session, row, figures, waiting, &workers, now).await?);
        }
    }
    Ok(listed)
}

async fn queue(
    session: &Session<'_>,
    row: QueueRow,
    figures: Option<&Figures>,
    waiting: Option<Waiting>,
    workers: &WorkerCounts,
    now: Timestamp,
) -> Outcome<Queue> {
    let mut queue = Queue::empty(row.name.clone(), row.settings.clone(), now);
    let count = |state: State| figures.map_or(0, |of| unsigned(of.counts[state as usize]));
    let mut oldest = None;
    if let Some(waiting) = waiting {
        let pending = count(State::Pending).cast_signed();
        oldest = count_waiting(session, &row, &waiting, pending, &mut queue).await?;
        let expired = unsigned(waiting.expired);
        let bounded = |value| Count { value, exact: waiting.expired <= i64::from(EXAMINED) };
        queue.counts.set(Status::Expired, bounded(expired));
        queue.counts.set(Status::Running, bounded(count(State::Running).saturating_sub(expired)));
    }
    for status in [Status::Completed, Status::Dead, Status::Cancelled] {
        queue.counts.set(status, Count::exact(count(status.state())));
    }
    queue.workers = workers.serving(&row.name);
    queue.oldest_ready_age = oldest.map(|due| now.since(due));
    queue.totals = figures.map_or_else(Totals::default, |of| of.totals);
    queue.corrupt = figures.map_or(0, |of| unsigned(of.corrupt));
    queue.health = health(HealthInput {
        oldest_ready_age: queue.oldest_ready_age,
        last_ended: figures.map_or(0, |of| of.ends.ended()),
        last_dead: figures.map_or(0, |of| of.ends.dead()),
        has_live_worker: queue.workers > 0,
    });
    Ok(queue)
}

/// Sets the counts of waiting jobs. Returns since when the oldest is ready.
async fn count_waiting(
    session: &Session<'_>,
    row: &QueueRow,
    waiting: &Waiting,
    pending: i64,
    queue: &mut Queue,
) -> Outcome<Option<Timestamp>> {
    let mut counts = [0_i64; Status::ALL.len()];
    let mut oldest = waiting.oldest;
    let mut keyed_exact = true;
    if waiting.keyed > i64::from(EXAMINED) {
        let placed = session.query(Sql::Placed, params![row.id]).await?;
        let placed: i64 = placed.first().map_or(Ok(0), |row| row.try_get("jobs"))?;
        counts[Status::Ready as usize] += placed;
        let blocked = pending - waiting.due.unwrap_or_default() - waiting.later - placed;
        counts[Status::Blocked as usize] += blocked.max(0);
        keyed_exact = false;
    } else if waiting.keyed > 0 {
        let due = count_keyed(session, row.id, &mut counts).await?;
        oldest = oldest.into_iter().chain(due).min();
    }
    let plain = pending - counts.iter().sum::<i64>();
    let mut sizes = [waiting.due.unwrap_or(plain - waiting.later).max(0), waiting.later];
    let exact = fill_up(&mut sizes, plain) && keyed_exact;
    counts[Status::Ready as usize] += sizes[0];
    let is_split = waiting.failed <= i64::from(EXAMINED);
    let failed = match is_split {
        true => waiting.failed,
        false => sample_failed(session, row.id, sizes[1]).await?,
    };
    counts[Status::Failed as usize] += failed;
    counts[Status::Scheduled as usize] += sizes[1] - failed;
    for status in State::Pending.statuses().iter() {
        let value = unsigned(counts[status as usize]);
        let exact = exact && (is_split || matches!(status, Status::Ready | Status::Blocked));
        queue.counts.set(status, Count { value, exact });
    }
    Ok(oldest)
}

/// Estimates how many of `later` jobs that are not due have failed, by the share of the next ones.
async fn sample_failed(session: &Session<'_>, queue: i32, later: i64) -> Outcome<i64> {
    let counted = session.query(Sql::WaitingSample, params![queue, EXAMINED]).await?;
    let [jobs, failed] = match counted.first() {
        Some(row) => [row.try_get::<_, i64>("jobs")?, row.try_get("failed")?],
        None => [0, 0],
    };
    Ok(later * failed / jobs.max(1))
}

/// Looks at each job with a partition key. Returns since when the oldest of them is ready.
async fn count_keyed(
    session: &Session<'_>,
    queue: i32,
    counts: &mut [i64],
) -> Outcome<Option<Timestamp>> {
    let mut ids: Vec<Uuid> = Vec::new();
    for row in session.query(Sql::WaitingKeyed, params![queue, EXAMINED]).await? {
        ids.push(row.try_get("id")?);
    }
    let change = Change::read(session, ids.clone()).await?;
    let mut frontiers = Frontiers::default();
    let records = || ids.iter().filter_map(|id| change.record(crate::row::job_id(*id)));
    frontiers.learn(session, records()).await?;
    let mut oldest: Option<Timestamp> = None;
    for record in records() {
        let status = frontiers.status(record, change.now);
        counts[status as usize] += 1;
        if status == Status::Ready {
            oldest = oldest.into_iter().chain([record.scheduled_at]).min();
        }
    }
    Ok(oldest)
}

/// Corrects counts that stopped at a bound. If one count reached it, it becomes the whole less the
/// others. If several did, they share the rest, and the result is false: they are estimates.
fn fill_up(sizes: &mut [i64], whole: i64) -> bool {
    let (many, few): (Vec<_>, Vec<_>) =
        sizes.iter_mut().partition(|size| **size > i64::from(EXAMINED));
    let left = whole - few.into_iter().map(|size| *size).sum::<i64>();
    let exact = many.len() <= 1;
    let share = left.max(0) / (many.len() as i64).max(1);
    many.into_iter().for_each(|size| *size = share);
    exact
}

columns! {
    struct WaitingColumns { id, oldest, later, failed, keyed, due, expired }
}

impl Waiting {
    fn read(row: &Row, at: &WaitingColumns) -> Result<Self, tokio_postgres::Error> {
        Ok(Self {
            oldest: row.try_get::<_, Option<i64>>(at.oldest)?.map(Timestamp::from_millis),
            later: row.try_get(at.later)?,
            failed: row.try_get(at.failed)?,
            keyed: row.try_get(at.keyed)?,
            due: row.try_get(at.due)?,
            expired: row.try_get(at.expired)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_3_what_was_not_counted_to_its_end_is_what_the_others_leave() {
        let bound = i64::from(EXAMINED) + 1;
        let mut one = [5, bound];
        assert!(fill_up(&mut one, 1_000_000));
        assert_eq!(one, [5, 999_995]);
        let mut two = [bound, bound];
        assert!(!fill_up(&mut two, 1_000_000));
        assert_eq!(two, [500_000, 500_000]);
    }
}
