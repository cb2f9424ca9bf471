//! Reading jobs, page by page (contract R8.2).

use queuekit_core::backend::Listed;
use queuekit_core::{
    Error, ErrorKind, Job, JobFilter, JobId, Page, QueueName, Result, State, Status, StatusSet,
};
use serde::{Deserialize, Serialize};
use tokio_postgres::Row;

use super::status::Frontiers;
use super::view::views;
use crate::PostgresStore;
use crate::call::Call;
use crate::error::Outcome;
use crate::params::params;
use crate::queues::{self, QueueRow};
use crate::row::{PLAIN, Record, job_id, job_uuid};
use crate::session::Session;
use crate::statements::Sql;
use crate::step::Change;

/// Jobs a page looks at, whether they match or not.
const EXAMINED: usize = 10_000;
/// Entries of an index that are read at once.
const SLICE: usize = 500;

/// Where a page ended: the last job it looked at, by its place in its section.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Position {
    queue: QueueName,
    section: usize,
    place: Place,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Place {
    /// Running and ended jobs: when, and which of that time.
    Time(i64, i64),
    /// Waiting jobs in serving order: rank, when due, sequence.
    Serving(i64, i64, i64),
    /// Blocked jobs, and all that wait in a fair queue: lane, sequence.
    Lane(String, i64),
}

/// One page in the making.
struct Pager<'f> {
    filter: &'f JobFilter,
    items: Vec<Job>,
    examined: usize,
    frontiers: Frontiers,
}

impl PostgresStore {
    pub(crate) async fn jobs_shown(&self, filter: &JobFilter) -> Result<Page<Job>> {
        let position = filter.position().and_then(|bytes| bytes.map(position_of).transpose());
        let position = position.map_err(|error| error.during("list_jobs"))?;
        let input = (filter, position);
        let page = self.call("list_jobs", Call::Repeatable, input, |input, session| {
            Box::pin(async move {
                super::snapshot(session).await?;
                list(session, input.0, input.1.as_ref()).await
            })
        });
        page.await
    }
}

async fn list(
    session: &Session<'_>,
    filter: &JobFilter,
    position: Option<&Position>,
) -> Outcome<Page<Job>> {
    let mut pager =
        Pager { filter, items: Vec::new(), examined: 0, frontiers: Frontiers::default() };
    for queue in listed_queues(session, filter, position).await? {
        let after = position.filter(|position| position.queue == queue.name);
        let first = after.map_or(0, |position| position.section);
        for (section, statuses) in StatusSet::SECTIONS.into_iter().enumerate().skip(first) {
            if !statuses.meets(filter.statuses) {
                continue;
            }
            let after = after.filter(|after| after.section == section);
            let after = after.map(|after| after.place.clone());
            if let Some(place) = pager.section(session, &queue, statuses, after).await? {
                let position = Position { queue: queue.name, section, place };
                let bytes = serde_json::to_vec(&position).map_err(unwritable)?;
                let next = Some(filter.cursor_at(&bytes));
                return Ok(Page { items: pager.items, next });
            }
        }
    }
    Ok(Page { items: pager.items, next: None })
}

async fn listed_queues(
    session: &Session<'_>,
    filter: &JobFilter,
    position: Option<&Position>,
) -> Outcome<Vec<QueueRow>> {
    let mut queues = match &filter.queue {
        Some(name) => queues::named(session, std::slice::from_ref(name)).await?,
        None => queues::all(session).await?,
    };
    queues.retain(|queue| position.is_none_or(|position| queue.name >= position.queue));
    Ok(queues)
}

impl Pager<'_> {
    /// Adds the jobs of a section to the page; where the page ended, if it is full.
    async fn section(
        &mut self,
        session: &Session<'_>,
        queue: &QueueRow,
        statuses: StatusSet,
        mut after: Option<Place>,
    ) -> Outcome<Option<Place>> {
        loop {
            let slice = slice(session, queue, statuses, after.as_ref()).await?;
            let is_last = slice.len() < SLICE;
            let ids = slice.iter().map(|(id, _)| job_uuid(*id)).collect();
            let change = Change::read(session, ids).await?;
            let records = || slice.iter().filter_map(|(id, _)| change.record(*id));
            self.frontiers.learn(session, records()).await?;
            let mut shown = Vec::new();
            let mut end = None;
            for (id, place) in &slice {
                self.examined += 1;
                if let Some(record) = change.record(*id) {
                    let status = self.frontiers.status(record, change.now);
                    if statuses.contains(status) && self.matches(record, status) {
                        shown.push((record, status, queue.name.clone()));
                    }
                }
                let full = self.items.len() + shown.len() == self.filter.limit.get();
                if full || self.examined == EXAMINED {
                    end = Some(place.clone());
                    break;
                }
            }
            if !shown.is_empty() {
                self.items.extend(views(session, change.now, shown).await?);
            }
            if end.is_some() || is_last {
                return Ok(end);
            }
            after = slice.into_iter().next_back().map(|(_, place)| place);
        }
    }

    fn matches(&self, record: &Record, status: Status) -> bool {
        let listed = Listed {
            status,
            kind: &record.kind,
            partition_key: record.partition_key(),
            worker: record.worker.as_deref(),
            created_at: record.created_at,
            finished_at: record.finished_at,
        };
        if !self.filter.admits(&listed) || self.filter.error_contains.is_none() {
            return self.filter.admits(&listed);
        }
        let failures = record.failures();
        let last = failures.last().map(|failure| failure.error.as_str());
        self.filter.admits_error(status, [last, record.reason.as_deref()])
    }
}

/// The next jobs that can have these statuses, in their order, after a place.
async fn slice(
    session: &Session<'_>,
    queue: &QueueRow,
    statuses: StatusSet,
    after: Option<&Place>,
) -> Outcome<Vec<(JobId, Place)>> {
    let most = SLICE as i32;
    let time =
        |row: &Row| Ok((job_id(row.try_get(0)?), Place::Time(row.try_get(1)?, row.try_get(2)?)));
    let newest = match after {
        Some(Place::Time(at, seq)) => (*at, *seq),
        _ => (i64::MAX, i64::MAX),
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
            let params = params![queue.id, newest.0, newest.1, most];
            read(session.query(Sql::ListDead, params).await?, time)
        }
        () if statuses.contains(Status::Cancelled) || statuses.contains(Status::Completed) => {
            let state = match statuses.contains(Status::Cancelled) {
                true => State::Cancelled,
                false => State::Completed,
            };
            let (queue, state, at, seq) = ended(state);
            let params = params![queue, state, at, seq, most];
            read(session.query(Sql::ListDone, params).await?, time)
        }
        () if statuses.contains(Status::Blocked) || queue.is_fair() => {
            let (lane, seq) = match after {
                Some(Place::Lane(lane, seq)) => (lane.as_str(), *seq),
                _ => (PLAIN, i64::MIN),
            };
            let plain = !statuses.contains(Status::Blocked);
            let params = params![queue.id, lane, seq, most, plain];
            let place = |row: &Row| {
                let place = Place::Lane(row.try_get(1)?, row.try_get(2)?);
                Ok((job_id(row.try_get(0)?), place))
            };
            read(session.query(Sql::ListLanes, params).await?, place)
        }
        () => {
            let (rank, at, seq) = match after {
                Some(Place::Serving(rank, at, seq)) => (*rank, *at, *seq),
                _ => (-1, 0, 0),
            };
            let rank = rank as i16;
            let params = params![queue.id, rank, at, seq, most];
            let place = |row: &Row| {
                let rank: i16 = row.try_get(1)?;
                let place = Place::Serving(i64::from(rank), row.try_get(2)?, row.try_get(3)?);
                Ok((job_id(row.try_get(0)?), place))
            };
            read(session.query(Sql::ListWaiting, params).await?, place)
        }
    }
}

fn read(
    rows: Vec<Row>,
    place: impl Fn(&Row) -> std::result::Result<(JobId, Place), tokio_postgres::Error>,
) -> Outcome<Vec<(JobId, Place)>> {
    rows.iter().map(|row| Ok(place(row)?)).collect()
}

fn position_of(bytes: &[u8]) -> Result<Position> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::invalid("cursor", "the text a page answered", "an altered one").caused_by(error)
    })
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "the page's cursor cannot be written").caused_by(error)
}
