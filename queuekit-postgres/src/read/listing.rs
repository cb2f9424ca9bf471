//! Reading jobs, page by page (contract R8.2).

use std::collections::HashMap;

use queuekit_core::backend::{AnswerBytes, Examined, JobErrors, Listed};
use queuekit_core::{
    Error, ErrorKind, Job, JobFilter, JobId, Page, QueueName, Result, State, Status, StatusSet,
    TimeRange, Timestamp,
};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;

use super::last_errors::last_errors;
use super::status::Frontiers;
use super::view::{bytes_of, views};
use crate::column_names::columns;
use crate::error::{Outcome, unreadable};
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::{PLAIN, Record, job_id, job_uuid};
use crate::session::Session;
use crate::statements::Sql;
use crate::step::Change;

/// Entries of an index that are read at once.
const SLICE: usize = 500;

/// The most queues that one page looks into, whether they have jobs or not.
const QUEUES: usize = 500;

/// Where a page ended: the last job it looked at, by its place in its section; or the first queue
/// that it did not look into.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Position {
    queue: QueueName,
    section: usize,
    place: Option<Place>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Place {
    /// Running and ended jobs: the time, and the sequence within that time.
    Time(i64, i64),
    /// Waiting jobs in serving order: rank, when due, sequence.
    Serving(i64, i64, i64),
    /// Blocked jobs, and all waiting jobs of a fair queue: lane, sequence.
    Lane(String, i64),
}

/// A job that a page looks at.
struct Entry<'q> {
    queue: &'q QueueRow,
    section: usize,
    id: JobId,
    place: Place,
}

/// One page in the making.
struct Pager<'f> {
    filter: &'f JobFilter,
    items: Vec<Job>,
    examined: Examined,
    bytes: AnswerBytes,
    /// The last job that it looked at, and that does not have to come again.
    last: Option<Position>,
    frontiers: Frontiers,
}

/// A page, from the place where the last one ended.
pub(crate) async fn jobs(
    session: &Session<'_>,
    filter: &JobFilter,
    position: Option<&Position>,
) -> Outcome<Page<Job>> {
    session.begin_snapshot().await?;
    let mut pager = Pager {
        filter,
        items: Vec::new(),
        examined: Examined::of(filter),
        bytes: AnswerBytes::default(),
        last: None,
        frontiers: Frontiers::default(),
    };
    let mut queues = listed_queues(session, filter, position).await?;
    let beyond = (queues.len() > QUEUES).then(|| queues.pop()).flatten();
    let end = match pager.queues(session, &queues, position).await? {
        None => beyond.map(|queue| Position { queue: queue.name, section: 0, place: None }),
        end => end,
    };
    let bytes = end.map(|end| serde_json::to_vec(&end)).transpose().map_err(unwritable)?;
    let next = bytes.map(|bytes| filter.cursor_at(&bytes));
    Ok(Page { items: pager.items, next, examined: pager.examined })
}

/// The queues that the page may look into, and one more.
async fn listed_queues(
    session: &Session<'_>,
    filter: &JobFilter,
    position: Option<&Position>,
) -> Outcome<Vec<QueueRow>> {
    let from = position.map_or("", |position| position.queue.as_str());
    let Some(name) = &filter.queue else {
        return queues::after(session, from, true, QUEUES + 1).await;
    };
    let mut queues = queues::named(session, std::slice::from_ref(name)).await?;
    queues.retain(|queue| queue.name.as_str() >= from);
    Ok(queues)
}

impl Pager<'_> {
    /// Adds the jobs of queues to the page. Returns where the page ended, if it is full.
    async fn queues(
        &mut self,
        session: &Session<'_>,
        mut queues: &[QueueRow],
        position: Option<&Position>,
    ) -> Outcome<Option<Position>> {
        let mut within = position.and_then(|at| Some((at, at.place.clone()?)));
        while let Some(first) = queues.first() {
            // The page continues in the middle of a queue: read that queue alone, to its end.
            if let Some((at, place)) = within.take()
                && at.queue == first.name
            {
                let end = self.queue(session, first, at.section, place).await?;
                if end.is_some() {
                    return Ok(end);
                }
                queues = &queues[1..];
                continue;
            }
            let entries = first_of(session, queues, self.filter).await?;
            if let Some(end) = self.take(session, &entries).await? {
                return Ok(Some(end));
            }
            let Some(last) = entries.last().filter(|_| entries.len() == SLICE) else {
                return Ok(None);
            };
            let end = self.queue(session, last.queue, last.section, last.place.clone()).await?;
            if end.is_some() {
                return Ok(end);
            }
            let looked_into = queues.iter().position(|queue| queue.id == last.queue.id);
            queues = &queues[looked_into.map_or(queues.len(), |at| at + 1)..];
        }
        Ok(None)
    }

    /// Does the same for the rest of one queue, after a place in a section.
    async fn queue(
        &mut self,
        session: &Session<'_>,
        queue: &QueueRow,
        from: usize,
        place: Place,
    ) -> Outcome<Option<Position>> {
        let mut after = Some(place);
        for (section, statuses) in StatusSet::SECTIONS.into_iter().enumerate().skip(from) {
            let mut after = after.take();
            while statuses.meets(self.filter.statuses) {
                let slice =
                    slice(session, queue, statuses, after.as_ref(), self.filter.finished).await?;
                let is_full = slice.len() == SLICE;
                let entry = |(id, place)| Entry { queue, section, id, place };
                let entries: Vec<Entry<'_>> = slice.into_iter().map(entry).collect();
                let end = self.take(session, &entries).await?;
                if end.is_some() {
                    return Ok(end);
                }
                let Some(last) = entries.into_iter().next_back().filter(|_| is_full) else {
                    break;
                };
                after = Some(last.place);
            }
        }
        Ok(None)
    }

    /// Adds the jobs that match the filter. Returns where the page ended, if it is full.
    async fn take(
        &mut self,
        session: &Session<'_>,
        entries: &[Entry<'_>],
    ) -> Outcome<Option<Position>> {
        let ids = entries.iter().map(|entry| job_uuid(entry.id)).collect();
        let change = Change::read(session, ids).await?;
        let records = || entries.iter().filter_map(|entry| change.record(entry.id));
        self.frontiers.learn(session, records()).await?;
        let errors = match self.filter.needs_error() {
            true => last_errors(session, entries.iter().map(|entry| entry.id)).await?,
            false => HashMap::new(),
        };
        let (mut seen, mut shown) = (Vec::new(), Vec::new());
        let mut is_full = false;
        let mut looked_at = entries.len();
        for (at, Entry { queue, section, id, .. }) in entries.iter().enumerate() {
            self.examined.look();
            if let Some(record) = change.record(*id) {
                let status = self.frontiers.status(record, change.now);
                let is_here = StatusSet::SECTIONS[*section].contains(status);
                if is_here {
                    seen.push((at, *id));
                }
                let last = errors.get(id).map(String::as_str);
                if is_here && self.matches(record, status, last) {
                    shown.push((at, (record, status, queue.name.clone())));
                }
            }
            is_full = self.items.len() + shown.len() == self.filter.limit.get()
                || self.examined.is_full();
            if is_full {
                looked_at = at + 1;
                break;
            }
        }
        if !shown.is_empty() {
            let bytes = bytes_of(session, shown.iter().map(|(_, (record, ..))| record.id)).await?;
            let of = |id: &JobId| bytes.get(id).copied().unwrap_or_default();
            let mut fits =
                |(_, (record, ..)): &(_, (&Record, _, _))| self.bytes.admit(of(&record.id));
            if let Some(beyond) = shown.iter().position(|job| !fits(job)) {
                (is_full, looked_at) = (true, shown[beyond].0);
                shown.truncate(beyond);
            }
            let shown = shown.into_iter().map(|(_, job)| job).collect();
            self.items.extend(views(session, change.now, shown).await?);
        }
        seen.iter().filter(|(at, _)| *at < looked_at).for_each(|(_, id)| self.examined.saw(*id));
        if let Some(Entry { queue, section, place, .. }) = entries[..looked_at].last() {
            let (queue, place) = (queue.name.clone(), Some(place.clone()));
            self.last = Some(Position { queue, section: *section, place });
        }
        Ok(self.last.clone().filter(|_| is_full))
    }

    fn matches(&self, record: &Record, status: Status, last: Option<&str>) -> bool {
        let listed = Listed {
            id: record.id,
            status,
            kind: &record.kind,
            partition_key: record.partition_key(),
            worker: record.worker.as_deref(),
            created_at: record.created_at,
            finished_at: record.finished_at,
        };
        if !self.filter.admits(&listed) || !self.filter.needs_error() {
            return self.filter.admits(&listed);
        }
        let errors = JobErrors { last, reason: record.reason.as_deref() };
        self.filter.admits_error(status, &record.kind, errors)
    }
}

columns! {
    struct EntryColumns { place, section, id, one, two, three, lane }
}

/// The first jobs of queues that can have these statuses, in their order.
async fn first_of<'q>(
    session: &Session<'_>,
    queues: &'q [QueueRow],
    filter: &JobFilter,
) -> Outcome<Vec<Entry<'q>>> {
    let (ids, fair): (Vec<i32>, Vec<bool>) =
        queues.iter().map(|queue| (queue.id, queue.is_fair())).unzip();
    let sections = (0_i32..).zip(StatusSet::SECTIONS).filter(|(_, of)| of.meets(filter.statuses));
    let sections: Vec<i32> = sections.map(|(section, _)| section).collect();
    let (from, last) = ended_within(filter.finished);
    let params = params![ids, fair, sections, SLICE as i32, from, last];
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
        entries.push(Entry { queue, section, id: job_id(row.try_get(at.id)?), place });
    }
    Ok(entries)
}

/// The next jobs that can have these statuses, in their order, after a place.
async fn slice(
    session: &Session<'_>,
    queue: &QueueRow,
    statuses: StatusSet,
    after: Option<&Place>,
    finished: TimeRange,
) -> Outcome<Vec<(JobId, Place)>> {
    let most = SLICE as i32;
    let time = |row: &Row| {
        let place = Place::Time(row.try_get("time")?, row.try_get("seq")?);
        Ok((job_id(row.try_get("id")?), place))
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
            read(session.query(Sql::ListDead, params).await?, time)
        }
        () if statuses.contains(Status::Cancelled) || statuses.contains(Status::Completed) => {
            let state = match statuses.contains(Status::Cancelled) {
                true => State::Cancelled,
                false => State::Completed,
            };
            let (queue, state, at, seq) = ended(state);
            let params = params![queue, state, at, seq, most, from];
            read(session.query(Sql::ListDone, params).await?, time)
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
                Ok((job_id(row.try_get("id")?), place))
            };
            read(session.query(Sql::ListLanes, params).await?, place)
        }
        () => waiting(session, queue, after).await,
    }
}

/// The next waiting jobs, in the order in which the queue serves them.
async fn waiting(
    session: &Session<'_>,
    queue: &QueueRow,
    after: Option<&Place>,
) -> Outcome<Vec<(JobId, Place)>> {
    let (rank, at, seq) = match after {
        Some(Place::Serving(rank, at, seq)) => (*rank, *at, *seq),
        _ => (-1, 0, 0),
    };
    let (rank, most) = (rank as i16, SLICE as i32);
    let params = params![queue.id, rank, at, seq, most];
    let place = |row: &Row| {
        let rank: i16 = row.try_get("rank")?;
        let (at, seq) = (row.try_get("at")?, row.try_get("seq")?);
        Ok((job_id(row.try_get("id")?), Place::Serving(i64::from(rank), at, seq)))
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
    place: impl Fn(&Row) -> std::result::Result<(JobId, Place), tokio_postgres::Error>,
) -> Outcome<Vec<(JobId, Place)>> {
    rows.iter().map(|row| Ok(place(row)?)).collect()
}

/// Where the last page ended, by the filter's cursor.
pub(crate) fn position(filter: &JobFilter) -> Result<Option<Position>> {
    filter.position().and_then(|bytes| bytes.map(position_of).transpose())
}

fn position_of(bytes: &[u8]) -> Result<Position> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::invalid("cursor", "the cursor of a page", "an altered one").caused_by(error)
    })
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "the page's cursor cannot be written").caused_by(error)
}
