//! Reading jobs, page by page (contract R8.2).

use queuekit_core::backend::{AnswerBytes, Examined, JobErrors, Listed};
use queuekit_core::{
    Error, ErrorKind, Job, JobFilter, Page, QueueName, Result, State, Status, StatusSet, TimeRange,
    Timestamp,
};
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};

use super::status::Frontiers;
use crate::column_names::columns;
use crate::row::{PLAIN, Record};
use crate::statements::*;
use crate::step::{QueueRow, Step};

/// Entries of an index that are read at once.
const SLICE: usize = 500;

/// The most queues that one page looks into, whether they have jobs or not.
const QUEUES: usize = 500;

/// Where a page ended: the last job it looked at, by its place in its section; or the first queue
/// that it did not look into.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Position {
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

columns! {
    struct TimeColumns { key, at, seq }
    struct ServingColumns { key, rank, scheduled_at, seq }
    struct LaneColumns { key, lane, seq }
}

impl Step<'_> {
    pub(crate) fn list_jobs(&mut self, filter: &JobFilter) -> Result<Page<Job>> {
        let position = filter.position()?.map(position_of).transpose()?;
        let mut pager = Pager {
            filter,
            items: Vec::new(),
            examined: Examined::of(filter),
            bytes: AnswerBytes::default(),
            last: None,
            frontiers: Frontiers::default(),
        };
        let mut queues = self.listed_queues(filter, position.as_ref())?;
        let beyond = (queues.len() > QUEUES).then(|| queues.pop()).flatten();
        for queue in queues {
            let after = position.as_ref().filter(|position| position.queue == queue.name);
            let first = after.map_or(0, |position| position.section);
            for (section, statuses) in StatusSet::SECTIONS.into_iter().enumerate().skip(first) {
                if !statuses.meets(filter.statuses) {
                    continue;
                }
                let after = after.filter(|after| after.section == section);
                let after = after.and_then(|after| after.place.clone());
                if self.list_section(&queue, section, statuses, after, &mut pager)? {
                    let last = pager.last.take();
                    return pager.page(last);
                }
            }
        }
        pager.page(beyond.map(|queue| Position { queue: queue.name, section: 0, place: None }))
    }

    /// The queues that the page may look into, and one more.
    fn listed_queues(
        &mut self,
        filter: &JobFilter,
        position: Option<&Position>,
    ) -> Result<Vec<QueueRow>> {
        let from = position.map_or("", |position| position.queue.as_str());
        let Some(name) = &filter.queue else {
            return self.queues_from(from, true, QUEUES + 1);
        };
        let queue = self.queue_row(name)?.filter(|queue| queue.name.as_str() >= from);
        Ok(queue.into_iter().collect())
    }

    /// Adds the jobs of a section to the page. Returns whether the page is full.
    fn list_section(
        &mut self,
        queue: &QueueRow,
        section: usize,
        statuses: StatusSet,
        mut after: Option<Place>,
        pager: &mut Pager<'_>,
    ) -> Result<bool> {
        loop {
            let slice = self.slice(queue, statuses, after.as_ref(), pager.filter.finished)?;
            let is_last = slice.len() < SLICE;
            for (key, place) in slice {
                pager.examined.look();
                if let Some(record) = self.job_of_key(key)? {
                    let status = self.status(&record, &mut pager.frontiers)?;
                    if statuses.contains(status) {
                        if self.matches(pager.filter, &record, status)? {
                            let job = self.view(&record, status)?;
                            if !pager.bytes.admit(job.bytes()) {
                                return Ok(true);
                            }
                            pager.items.push(job);
                        }
                        pager.examined.saw(record.id);
                    }
                }
                let (queue, place) = (queue.name.clone(), place);
                pager.last = Some(Position { queue, section, place: Some(place.clone()) });
                if pager.is_full() {
                    return Ok(true);
                }
                after = Some(place);
            }
            if is_last {
                return Ok(false);
            }
        }
    }

    /// The next jobs that can have these statuses, in their order, after a place.
    fn slice(
        &self,
        queue: &QueueRow,
        statuses: StatusSet,
        after: Option<&Place>,
        finished: TimeRange,
    ) -> Result<Vec<(i64, Place)>> {
        let time = |row: &Row<'_>, at: &TimeColumns| {
            Ok((row.get(at.key)?, Place::Time(row.get(at.at)?, row.get(at.seq)?)))
        };
        let ended = |state: State| {
            let (at, seq) = match after {
                Some(Place::Time(at, seq)) => (*at, *seq),
                _ => (finished.last().map_or(i64::MAX, Timestamp::as_millis), i64::MAX),
            };
            let from = finished.from.map_or(i64::MIN, Timestamp::as_millis);
            match state {
                State::Completed => {
                    self.rows(LIST_COMPLETED, params![queue.id, at, seq, SLICE, from], time)
                }
                _ => {
                    let after = params![queue.id, state as i64, at, seq, SLICE, from];
                    self.rows(LIST_ENDED, after, time)
                }
            }
        };
        // Not while some jobs without a key have no turn yet.
        let has_turns = queue.is_fair() && queue.moving.is_none();
        match () {
            () if statuses.contains(Status::Running) => {
                let (at, seq) = match after {
                    Some(Place::Time(at, seq)) => (*at, *seq),
                    _ => (i64::MIN, i64::MIN),
                };
                self.rows(LIST_LEASED, params![queue.id, at, seq, SLICE], time)
            }
            () if statuses.contains(Status::Dead) => ended(State::Dead),
            () if statuses.contains(Status::Cancelled) => ended(State::Cancelled),
            () if statuses.contains(Status::Completed) => ended(State::Completed),
            () if statuses.contains(Status::Blocked) || has_turns => {
                self.slice_by_lane(queue, after)
            }
            () => {
                let (rank, at, seq) = match after {
                    Some(Place::Serving(rank, at, seq)) => (*rank, *at, *seq),
                    _ => (-1, 0, 0),
                };
                let serving = |row: &Row<'_>, at: &ServingColumns| {
                    let (rank, due) = (row.get(at.rank)?, row.get(at.scheduled_at)?);
                    Ok((row.get(at.key)?, Place::Serving(rank, due, row.get(at.seq)?)))
                };
                self.rows(LIST_WAITING, params![queue.id, rank, at, seq, SLICE], serving)
            }
        }
    }

    /// The next jobs by key.
    fn slice_by_lane(&self, queue: &QueueRow, after: Option<&Place>) -> Result<Vec<(i64, Place)>> {
        let (lane, seq) = match after {
            Some(Place::Lane(lane, seq)) => (lane.as_str(), *seq),
            _ => (PLAIN, 0),
        };
        let read = |row: &Row<'_>, at: &LaneColumns| {
            let place = Place::Lane(row.get::<_, String>(at.lane)?, row.get(at.seq)?);
            Ok((row.get(at.key)?, place))
        };
        self.rows(LIST_LANES, params![queue.id, lane, seq, SLICE], read)
    }

    fn matches(&self, filter: &JobFilter, record: &Record, status: Status) -> Result<bool> {
        let listed = Listed {
            id: record.id,
            status,
            kind: &record.kind,
            partition_key: record.partition_key(),
            worker: record.worker.as_deref(),
            created_at: record.created_at,
            finished_at: record.finished_at,
        };
        if !filter.admits(&listed) || !filter.needs_error() {
            return Ok(filter.admits(&listed));
        }
        let last = self.value::<String>(LAST_FAILURE, [record.key])?;
        let errors = JobErrors { last: last.as_deref(), reason: record.reason.as_deref() };
        Ok(filter.admits_error(status, &record.kind, errors))
    }
}

impl Pager<'_> {
    /// The page, which ended at this position if there is more.
    fn page(self, end: Option<Position>) -> Result<Page<Job>> {
        let bytes = end.map(|end| serde_json::to_vec(&end)).transpose().map_err(unwritable)?;
        let next = bytes.map(|bytes| self.filter.cursor_at(&bytes));
        Ok(Page { items: self.items, next, examined: self.examined })
    }

    fn is_full(&self) -> bool {
        let is_long = self.items.len() == self.filter.limit.get() || self.examined.is_full();
        is_long || self.examined.is_late()
    }
}

fn position_of(bytes: &[u8]) -> Result<Position> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::invalid("cursor", "the cursor of a page", "an altered one").caused_by(error)
    })
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "the page's cursor cannot be written").caused_by(error)
}
