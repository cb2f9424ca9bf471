//! Reading jobs, page by page (contract R8.2).

use std::collections::HashMap;

use queuekit_core::backend::{AnswerBytes, Examined, JobErrors, Listed};
use queuekit_core::{
    Error, ErrorKind, Job, JobFilter, JobId, Page, QueueName, Result, Status, StatusSet,
};
use serde::{Deserialize, Serialize};

use super::entries::{Entry, Place, first_of, slice};
use super::last_errors::last_errors;
use super::status::Frontiers;
use super::view::{bytes_of, views};
use crate::error::Outcome;
use crate::queues::{self, QueueRow};
use crate::row::{Record, job_uuid};
use crate::session::Session;
use crate::step::Change;

/// The most entries of an index that a page reads first, unless it has room for more.
const FIRST: usize = 50;
/// The most entries of an index that are read at once.
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

/// One page in the making.
struct Pager<'f> {
    filter: &'f JobFilter,
    items: Vec<Job>,
    examined: Examined,
    bytes: AnswerBytes,
    /// The last job that it looked at, and that does not have to come again.
    last: Option<Position>,
    frontiers: Frontiers,
    /// How many entries it reads next: the more, the longer it has looked for what matches.
    slice: usize,
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
        slice: filter.limit.get().clamp(FIRST, SLICE),
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
            let most = self.next_slice();
            let entries = first_of(session, queues, self.filter, most).await?;
            if let Some(end) = self.take(session, &entries).await? {
                return Ok(Some(end));
            }
            let Some(last) = entries.last().filter(|_| entries.len() == most) else {
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
                let most = self.next_slice();
                let finished = self.filter.finished;
                let slice = slice(session, queue, statuses, after.as_ref(), finished, most).await?;
                let is_full = slice.len() == most;
                let entry = |(id, place, kind)| Entry { queue, section, id, place, kind };
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
        let wanted = entries.iter().filter(|entry| !self.is_of_other_kind(entry));
        let ids = wanted.map(|entry| job_uuid(entry.id)).collect();
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
        for (at, entry) in entries.iter().enumerate() {
            let Entry { queue, section, id, .. } = entry;
            self.examined.look();
            if self.is_of_other_kind(entry) {
                seen.push((at, *id));
            } else if let Some(record) = change.record(*id) {
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
        is_full |= self.examined.is_late();
        if let Some(Entry { queue, section, place, .. }) = entries[..looked_at].last() {
            let (queue, place) = (queue.name.clone(), Some(place.clone()));
            self.last = Some(Position { queue, section: *section, place });
        }
        Ok(self.last.clone().filter(|_| is_full))
    }

    /// Whether the index alone shows that the job does not match, so that it need not be read. It
    /// has ended, so it has the status that is listed there.
    fn is_of_other_kind(&self, entry: &Entry<'_>) -> bool {
        let asked = self.filter.kind.as_ref();
        asked.zip(entry.kind.as_ref()).is_some_and(|(asked, kind)| asked.as_str() != kind)
    }

    fn next_slice(&mut self) -> usize {
        let most = self.slice;
        self.slice = SLICE.min(2 * most);
        most
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

/// Where the last page ended, by the filter's cursor.
pub(crate) fn position(filter: &JobFilter) -> Result<Option<Position>> {
    filter.position().and_then(|bytes| bytes.map(position_of).transpose())
}

fn position_of(bytes: &[u8]) -> Result<Position> {
    let altered = || Error::invalid("cursor", "the cursor of a page", "an altered one");
    let position: Position =
        serde_json::from_slice(bytes).map_err(|error| altered().caused_by(error))?;
    match &position.place {
        // No lane has one, and Postgres takes no text with it.
        Some(Place::Lane(lane, _)) if lane.contains('\0') => Err(altered()),
        _ => Ok(position),
    }
}

fn unwritable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "the page's cursor cannot be written").caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_2_a_forged_place_that_postgres_cannot_read_is_an_altered_cursor() {
        let read = |lane: &str| {
            let json = format!(r#"{{"queue":"a","section":4,"place":{{"Lane":["{lane}",0]}}}}"#);
            position_of(json.as_bytes())
        };
        assert!(read("key").is_ok());
        assert!(read(r"k\u0000").unwrap_err().to_string().contains("an altered one"));
    }
}
