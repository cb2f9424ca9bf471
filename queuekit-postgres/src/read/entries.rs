//! The places of jobs in the indexes, in the order of listings (contract R8.2).

use queuekit_core::{JobFilter, JobId, State, Status, StatusSet, TimeRange, Timestamp};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;

use crate::column_names::columns;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::queues::QueueRow;
use crate::row::{PLAIN, job_id};
use crate::session::Session;
use crate::statements::Sql;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Place {
    /// Running and ended jobs: the time, and the sequence within that time.
    Time(i64, i64),
    /// Waiting jobs in serving order: rank, when due, sequence.
    Serving(i64, i64, i64),
    /// Blocked jobs, and all waiting jobs of a fair queue: lane, sequence.
    Lane(String, i64),
}

/// A job that a page looks at.
pub(super) struct Entry<'q> {
    pub(super) queue: &'q QueueRow,
    pub(super) section: usize,
    pub(super) id: JobId,
    pub(super) place: Place,
    /// Of jobs that have ended.
    pub(super) kind: Option<String>,
}

/// The id and the place of a job, and its kind if it has ended.
type Found = (JobId, Place, Option<String>);

columns! {
    struct EntryColumns { place, section, id, one, two, three, lane, kind }
}

/// The first jobs of queues that can have these statuses, in their order.
pub(super) async fn first_of<'q>(
    session: &Session<'_>,
    queues: &'q [QueueRow],
    filter: &JobFilter,
    most: usize,
) -> Outcome<Vec<Entry<'q>>> {
    let (ids, fair): (Vec<i32>, Vec<bool>) =
        queues.iter().map(|queue| (queue.id, queue.is_fair())).unzip();
    let sections = (0_i32..).zip(StatusSet::SECTIONS).filter(|(_, of)| of.meets(filter.statuses));
    let sections: Vec<i32> = sections.map(|(section, _)| section).collect();
    let (from, last) = ended_within(filter.finished);
    let most = most as i32;
    let params = params![ids, fair, sections, most, from, last];
    let mut entries = Vec::new();
    let rows = session.query(Sql::ListFirst, params).await?;
    let at = EntryColumns::of(&rows)?;
    for row in &rows {
        let place = usize::try_from(row.try_get::<_, i64>(at.place)? - 1).ok();
        let queue = place.and_then(|at| queues.get(at)).ok_or_else(|| unreadable("a listing"))?;
        let section = usize::try_from(row.try_get::<_, i32>(at.section)?).unwrap_or_default();
        let (one, two, three) =
            (row.try_get(at.one)?, row.try_get(at.two)?, row.try_get(at.three)?);
        let place = match section {
            1..=3 if !queue.is_fair() => Place::Serving(one, two, three),
            1..=4 => Place::Lane(row.try_get(at.lane)?, two),
            _ => Place::Time(one, two),
        };
        let (id, kind) = (job_id(row.try_get(at.id)?), row.try_get(at.kind)?);
        entries.push(Entry { queue, section, id, place, kind });
    }
    Ok(entries)
}

/// The next jobs that can have these statuses, in their order, after a place.
pub(super) async fn slice(
    session: &Session<'_>,
    queue: &QueueRow,
    statuses: StatusSet,
    after: Option<&Place>,
    finished: TimeRange,
    most: usize,
) -> Outcome<Vec<Found>> {
    let most = most as i32;
    let time = |row: &Row| {
        let place = Place::Time(row.try_get("time")?, row.try_get("seq")?);
        Ok((job_id(row.try_get("id")?), place, None))
    };
    let ended_at = |row: &Row| {
        let (id, place, _) = time(row)?;
        Ok((id, place, row.try_get("kind")?))
    };
    let (from, last) = ended_within(finished);
    // Ended jobs are listed from the newest, so a filter by time begins at its end.
    let newest = match after {
        Some(Place::Time(at, seq)) => (*at, *seq),
        _ => (last, i64::MAX),
    };
    let ended = |state: State| (queue.id, state as i16, newest.0, newest.1);
    match () {
        () if statuses.contains(Status::Running) => {
            let (at, seq) = match after {
                Some(Place::Time(at, seq)) => (*at, *seq),
                _ => (i64::MIN, i64::MIN),
            };
            let params = params![queue.id, at, seq, most];
            read(session.query(Sql::ListLeased, params).await?, time)
        }
        () if statuses.contains(Status::Dead) => {
            let params = params![queue.id, newest.0, newest.1, most, from];
            read(session.query(Sql::ListDead, params).await?, ended_at)
        }
        () if statuses.contains(Status::Cancelled) || statuses.contains(Status::Completed) => {
            let state = match statuses.contains(Status::Cancelled) {
                true => State::Cancelled,
                false => State::Completed,
            };
            let (queue, state, at, seq) = ended(state);
            let params = params![queue, state, at, seq, most, from];
            read(session.query(Sql::ListEnded, params).await?, ended_at)
        }
        // Whether a job is blocked depends on those before it of its partition key, so such jobs
        // are listed by lane. A fair queue serves its keys in turn and has no order across them.
        () if statuses.contains(Status::Blocked) || queue.is_fair() => {
            let (lane, seq) = match after {
                Some(Place::Lane(lane, seq)) => (lane.as_str(), *seq),
                _ => (PLAIN, i64::MIN),
            };
            let plain = !statuses.contains(Status::Blocked);
            let params = params![queue.id, lane, seq, most, plain];
            let place = |row: &Row| {
                let place = Place::Lane(row.try_get("lane")?, row.try_get("seq")?);
                Ok((job_id(row.try_get("id")?), place, None))
            };
            read(session.query(Sql::ListLanes, params).await?, place)
        }
        () => waiting(session, queue, after, most).await,
    }
}

/// The next waiting jobs, in the order in which the queue serves them.
async fn waiting(
    session: &Session<'_>,
    queue: &QueueRow,
    after: Option<&Place>,
    most: i32,
) -> Outcome<Vec<Found>> {
    let (rank, at, seq) = match after {
        Some(Place::Serving(rank, at, seq)) => (*rank, *at, *seq),
        _ => (-1, 0, 0),
    };
    let rank = rank as i16;
    let params = params![queue.id, rank, at, seq, most];
    let place = |row: &Row| {
        let rank: i16 = row.try_get("rank")?;
        let (at, seq) = (row.try_get("at")?, row.try_get("seq")?);
        Ok((job_id(row.try_get("id")?), Place::Serving(i64::from(rank), at, seq), None))
    };
    read(session.query(Sql::ListWaiting, params).await?, place)
}

/// The first and the last instant at which the jobs have ended, in ms.
fn ended_within(finished: TimeRange) -> (i64, i64) {
    let from = finished.from.map_or(i64::MIN, Timestamp::as_millis);
    (from, finished.last().map_or(i64::MAX, Timestamp::as_millis))
}

fn read(
    rows: Vec<Row>,
    found: impl Fn(&Row) -> Result<Found, tokio_postgres::Error>,
) -> Outcome<Vec<Found>> {
    rows.iter().map(|row| Ok(found(row)?)).collect()
}
