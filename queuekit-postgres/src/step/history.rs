//! Rows of history (contract R8.5).

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use queuekit_core::history::{
    HistoryQuery, RUN_NUMBERS, Resolution, Runs, RunsAdded, RunsRow, TotalsRow,
};
use queuekit_core::queue::Totals;
use queuekit_core::{Kind, QueueName, Timestamp};
use tokio_postgres::Row;

use super::fold;
use crate::column_names::columns;
use crate::error::Outcome;
use crate::params::params;
use crate::row::unsigned;
use crate::session::Session;
use crate::statements::Sql;

/// The number of the lock of pairs.
const PAIRS_LOCK: i32 = -2;
/// How often it is noted that a pair was added to.
const RENEWED: Duration = Duration::from_secs(3600);
/// The most rows that one step removes of each sort.
const STEP: i64 = 1000;

columns! {
    struct TotalsColumns { at, queue, read_at, enqueued, completed, failed, dead, cancelled }
}

columns! {
    struct RunsColumns { at, queue, kind, numbers }
}

/// Under the lock of folding, so that the counters of queues are nobody else's.
pub(crate) async fn record_totals(session: &Session<'_>) -> Outcome<bool> {
    let now = session.now().await?;
    let minute = Resolution::Minute.start_of(now).as_millis();
    if is_recorded(session, minute).await? {
        return Ok(false);
    }
    session.begin_settling().await?;
    fold::hold(session).await?;
    // Guard: the process that held the lock before may have recorded this minute.
    let is_first = !is_recorded(session, minute).await?;
    if is_first {
        let (numbers, starts) = times(now);
        let now = now.as_millis();
        let params = params![now, minute, numbers, starts];
        session.query(Sql::HistoryRecord, params).await?;
    }
    session.commit().await?;
    Ok(is_first)
}

async fn is_recorded(session: &Session<'_>, minute: i64) -> Outcome<bool> {
    let rows = session.query(Sql::HistoryIsRecorded, params![minute]).await?;
    Ok(rows.first().map_or(Ok(false), |row| row.try_get("recorded"))?)
}

/// The number of each resolution, and the beginning of its row at this time.
fn times(now: Timestamp) -> (Vec<i16>, Vec<i64>) {
    let numbers = Resolution::ALL.iter().map(|of| number(*of));
    (numbers.collect(), Resolution::ALL.iter().map(|of| of.start_of(now).as_millis()).collect())
}

fn number(resolution: Resolution) -> i16 {
    i16::try_from(resolution.number()).unwrap_or(i16::MAX)
}

pub(crate) async fn add_runs(
    session: &Session<'_>,
    added: &[RunsAdded],
    most: usize,
) -> Outcome<()> {
    let now = session.now().await?;
    session.begin_settling().await?;
    let apart = kept_apart(session, added, most, now).await?;
    let mut sums = BTreeMap::<(&str, &str), Runs>::new();
    for RunsAdded { queue, kind, runs } in added {
        let pair = (queue.as_str(), kind.as_ref().map_or("", Kind::as_str));
        let is_apart = apart.contains(&(pair.0.to_owned(), pair.1.to_owned()));
        sums.entry(if is_apart { pair } else { (pair.0, "") }).or_default().merge(runs);
    }
    let (queues, kinds): (Vec<&str>, Vec<&str>) = sums.keys().copied().unzip();
    let numbers = sums.values().flat_map(|runs| runs.to_numbers());
    let numbers: Vec<i64> = numbers.map(|number| number as i64).collect();
    let (resolutions, starts) = times(now);
    let width = i32::try_from(RUN_NUMBERS).unwrap_or(i32::MAX);
    let params = params![resolutions, starts, queues, kinds, numbers, width];
    session.query(Sql::HistoryRunsAdd, params).await?;
    session.commit().await
}

/// The pairs of queue and kind that have rows of their own; more are admitted up to the limit.
async fn kept_apart(
    session: &Session<'_>,
    added: &[RunsAdded],
    most: usize,
    now: Timestamp,
) -> Outcome<BTreeSet<(String, String)>> {
    let pairs = added.iter().filter_map(|of| Some((of.queue.as_str(), of.kind.as_ref()?.as_str())));
    let pairs: BTreeSet<(&str, &str)> = pairs.collect();
    let mut apart = known(session, &pairs).await?;
    let (old, now) = (now.minus(RENEWED).as_millis(), now.as_millis());
    let renewed: BTreeSet<(&str, &str)> = apart
        .iter()
        .filter(|(_, last)| **last < old)
        .map(|((queue, kind), _)| (queue.as_str(), kind.as_str()))
        .collect();
    if !renewed.is_empty() {
        let (queues, kinds): (Vec<&str>, Vec<&str>) = renewed.into_iter().unzip();
        let params = params![queues, kinds, now];
        session.query(Sql::HistoryPairsRenew, params).await?;
    }
    let is_new =
        |pair: &&(&str, &str)| !apart.contains_key(&(pair.0.to_owned(), pair.1.to_owned()));
    let new: Vec<(&str, &str)> = pairs.iter().filter(is_new).copied().collect();
    if !new.is_empty() {
        // Guard: of two that admit pairs at once, the second sees those of the first.
        session.lock(PAIRS_LOCK).await?;
        let (queues, kinds): (Vec<&str>, Vec<&str>) = new.into_iter().unzip();
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        let params = params![queues, kinds, now, most];
        session.query(Sql::HistoryPairsAdd, params).await?;
        apart = known(session, &pairs).await?;
    }
    Ok(apart.into_keys().collect())
}

/// Which of these pairs are kept apart, and when they were last added to.
async fn known(
    session: &Session<'_>,
    pairs: &BTreeSet<(&str, &str)>,
) -> Outcome<BTreeMap<(String, String), i64>> {
    if pairs.is_empty() {
        return Ok(BTreeMap::new());
    }
    let (queues, kinds): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
    let rows = session.query(Sql::HistoryPairs, params![queues, kinds]).await?;
    let pair =
        |row: &Row| Ok(((row.try_get("queue")?, row.try_get("kind")?), row.try_get("last")?));
    rows.iter().map(pair).collect()
}

pub(crate) async fn list_totals(
    session: &Session<'_>,
    query: &HistoryQuery,
) -> Outcome<Vec<TotalsRow>> {
    let (resolution, limit) = (number(query.resolution), query.limit.get() as i64);
    let (from, to) = (query.begins().as_millis(), query.to.as_millis());
    let after = query.after.as_ref();
    let rows = match &query.queue {
        None => {
            let (at, of) =
                after.map_or((i64::MIN, ""), |after| (after.at.as_millis(), after.queue.as_str()));
            let params = params![resolution, from, to, at, of, limit];
            session.query(Sql::HistoryTotals, params).await?
        }
        Some(queue) => {
            let queue = queue.as_str();
            let from = after.map_or(from, |after| from.max(after.at.as_millis() + 1));
            let params = params![queue, resolution, from, to, limit];
            session.query(Sql::HistoryTotalsOfQueue, params).await?
        }
    };
    let at = TotalsColumns::of(&rows)?;
    let read: Result<Vec<_>, _> = rows.iter().map(|row| totals_row(row, &at)).collect();
    Ok(read?.into_iter().flatten().collect())
}

pub(crate) async fn list_runs(
    session: &Session<'_>,
    query: &HistoryQuery,
) -> Outcome<Vec<RunsRow>> {
    let (resolution, limit) = (number(query.resolution), query.limit.get() as i64);
    let (from, to) = (query.begins().as_millis(), query.to.as_millis());
    let (at, of, kind) = query.after.as_ref().map_or((i64::MIN, "", ""), |after| {
        (after.at.as_millis(), after.queue.as_str(), after.kind_text())
    });
    let rows = match &query.queue {
        None => {
            let params = params![resolution, from, to, at, of, kind, limit];
            session.query(Sql::HistoryRuns, params).await?
        }
        Some(queue) => {
            let queue = queue.as_str();
            let params = params![queue, resolution, from, to, at, kind, limit];
            session.query(Sql::HistoryRunsOfQueue, params).await?
        }
    };
    let at = RunsColumns::of(&rows)?;
    let read: Result<Vec<_>, _> = rows.iter().map(|row| runs_row(row, &at)).collect();
    Ok(read?.into_iter().flatten().collect())
}

/// Removes what is too old. Returns how many rows were removed, and whether there may be more.
pub(crate) async fn forget_history(session: &Session<'_>) -> Outcome<(u64, bool)> {
    let now = session.now().await?;
    let numbers: Vec<i16> = Resolution::ALL.iter().map(|of| number(*of)).collect();
    let oldest: Vec<i64> = Resolution::ALL.iter().map(|of| of.oldest(now).as_millis()).collect();
    let (mut removed, mut more) = (0, false);
    for sql in [Sql::HistoryTotalsForget, Sql::HistoryRunsForget] {
        let rows = session.query(sql, params![numbers, oldest, STEP]).await?;
        let gone: i64 = rows.first().map_or(Ok(0), |row| row.try_get("removed"))?;
        removed += unsigned(gone);
        more |= gone >= STEP;
    }
    let oldest = Resolution::Hour.oldest(now).as_millis();
    let rows = session.query(Sql::HistoryPairsForget, params![oldest]).await?;
    removed += unsigned(rows.first().map_or(Ok(0), |row| row.try_get("removed"))?);
    Ok((removed, more))
}

/// None if its queue cannot be read.
fn totals_row(row: &Row, at: &TotalsColumns) -> Result<Option<TotalsRow>, tokio_postgres::Error> {
    let queue = QueueName::new(row.try_get::<_, &str>(at.queue)?).ok();
    let number = |column| row.try_get(column).map(unsigned);
    let totals = Totals {
        enqueued: number(at.enqueued)?,
        completed: number(at.completed)?,
        failed: number(at.failed)?,
        dead: number(at.dead)?,
        cancelled: number(at.cancelled)?,
    };
    let time = |column| row.try_get(column).map(Timestamp::from_millis);
    let (at, read_at) = (time(at.at)?, time(at.read_at)?);
    Ok(queue.map(|queue| TotalsRow { queue, at, read_at, totals }))
}

/// None if its queue or kind cannot be read.
fn runs_row(row: &Row, at: &RunsColumns) -> Result<Option<RunsRow>, tokio_postgres::Error> {
    let queue = QueueName::new(row.try_get::<_, &str>(at.queue)?).ok();
    let kind: &str = row.try_get(at.kind)?;
    let kind = if kind.is_empty() { Some(None) } else { Kind::new(kind).ok().map(Some) };
    let numbers: Vec<i64> = row.try_get(at.numbers)?;
    let numbers: Vec<u64> = numbers.into_iter().map(unsigned).collect();
    let at = Timestamp::from_millis(row.try_get(at.at)?);
    let runs = Runs::from_numbers(&numbers);
    Ok(queue.zip(kind).map(|(queue, kind)| RunsRow { queue, kind, at, runs }))
}
