//! Reading jobs, page by page (contract R8.2).

use std::collections::HashMap;
use std::ops::Bound::{Excluded, Included, Unbounded};

use serde::{Deserialize, Serialize};

use super::queue::QueueTable;
use super::tables::Tables;
use crate::backend::{AnswerBytes, Examined, JobFilter, Page, TimeRange};
use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::job::{Job, JobId, State, Status, StatusSet};
use crate::lifecycle::Record;
use crate::limits::PAGE_EXAMINED;
use crate::names::{PartitionKey, QueueName};
use crate::queue::Order;

/// Where a page ended: the last job that it examined, by its place in its section.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Position {
    queue: QueueName,
    section: usize,
    place: Place,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Place {
    /// Running and ended jobs.
    Time(Timestamp, u64),
    /// Waiting jobs in serving order.
    Serving(u8, Timestamp, u64),
    /// Blocked jobs, and all that wait in a fair queue.
    Key(Option<PartitionKey>, u64),
}

type Entries<'a> = Box<dyn Iterator<Item = (Place, JobId)> + 'a>;

impl Tables {
    pub(super) fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        let position = filter.position()?.map(position_of).transpose()?;
        let mut page = Page { examined: Examined::of(filter), ..Page::default() };
        let mut bytes = AnswerBytes::default();
        let mut last = None;
        let mut frontiers = Frontiers::default();
        for (name, queue) in self.queues_from(filter, position.as_ref()) {
            let after = position.as_ref().filter(|position| position.queue == *name);
            let first = after.map_or(0, |position| position.section);
            for (section, statuses) in StatusSet::SECTIONS.into_iter().enumerate().skip(first) {
                if !statuses.meets(filter.statuses) {
                    continue;
                }
                let after = after.filter(|after| after.section == section);
                let after = after.map(|after| &after.place);
                for (place, id) in queue.section(statuses, after, filter.finished) {
                    page.examined.look();
                    if let Some(record) = self.jobs.get(&id) {
                        let status = self.status(record, queue, &mut frontiers);
                        if statuses.contains(status) {
                            let matches = record.is_listed_by(filter, status);
                            let job = matches.then(|| record.view(status, self.now));
                            if job.as_ref().is_none_or(|job| bytes.admit(job.bytes())) {
                                page.examined.saw(id);
                                page.items.extend(job);
                            }
                        }
                    }
                    if !bytes.is_full() {
                        last = Some(Position { queue: name.clone(), section, place });
                    }
                    let is_long = page.items.len() == filter.limit.get() || page.examined.is_full();
                    if is_long || bytes.is_full() || page.examined.is_late() {
                        let position = serde_json::to_vec(&last).map_err(unreadable)?;
                        page.next = Some(filter.cursor_at(&position));
                        return Ok(page);
                    }
                }
            }
        }
        Ok(page)
    }

    pub(super) fn get_job(&self, id: JobId) -> Option<Job> {
        let record = self.jobs.get(&id)?;
        let queue = self.queues.get(&record.queue)?;
        let status = self.status(record, queue, &mut Frontiers::default());
        Some(record.view(status, self.now))
    }

    pub(super) fn status(
        &self,
        record: &Record,
        queue: &QueueTable,
        frontiers: &mut Frontiers,
    ) -> Status {
        let waits = record.state == State::Pending;
        let blocked = match &record.partition_key {
            Some(key) if waits => frontiers.of(queue, &record.queue, key, self.now) < record.seq,
            _ => false,
        };
        record.status(blocked, self.now)
    }

    fn queues_from<'a>(
        &'a self,
        filter: &'a JobFilter,
        position: Option<&'a Position>,
    ) -> impl Iterator<Item = (&'a QueueName, &'a QueueTable)> {
        self.queues
            .iter()
            .filter(move |(name, _)| filter.queue.as_ref().is_none_or(|only| only == *name))
            .filter(move |(name, _)| position.is_none_or(|position| **name >= position.queue))
    }
}

/// The last unblocked sequence of each key, found once per read.
#[derive(Default)]
pub(super) struct Frontiers(HashMap<(QueueName, PartitionKey), u64>);

impl Frontiers {
    /// 0, below every sequence, if all are blocked.
    pub(super) fn of(
        &mut self,
        queue: &QueueTable,
        name: &QueueName,
        key: &PartitionKey,
        now: Timestamp,
    ) -> u64 {
        let partition = queue.partitions.get(key);
        *self.0.entry((name.clone(), key.clone())).or_insert_with(|| {
            partition.and_then(|keyed| keyed.frontier(&queue.settings, now)).unwrap_or(0)
        })
    }
}

impl QueueTable {
    /// The jobs that can have these statuses, in their order, after a place.
    fn section(
        &self,
        statuses: StatusSet,
        after: Option<&Place>,
        finished: TimeRange,
    ) -> Entries<'_> {
        let time = match after {
            Some(Place::Time(at, seq)) => Some((*at, *seq)),
            _ => None,
        };
        let by_key = statuses.contains(Status::Blocked) || self.settings.order == Order::Fair;
        match () {
            () if statuses.contains(Status::Running) => {
                let from = time.map_or(Unbounded, Excluded);
                let entries = self.leased.range((from, Unbounded));
                Box::new(entries.map(|((at, seq), id)| (Place::Time(*at, *seq), *id)))
            }
            () if statuses.contains(Status::Dead) => newest_first(&self.dead, time, finished),
            () if statuses.contains(Status::Cancelled) => {
                newest_first(&self.cancelled, time, finished)
            }
            () if statuses.contains(Status::Completed) => {
                newest_first(&self.completed, time, finished)
            }
            () if by_key => self.waiting_by_key(after),
            () => self.waiting_in_serving_order(after),
        }
    }

    fn waiting_by_key(&self, after: Option<&Place>) -> Entries<'_> {
        let (key, seq) = match after {
            Some(Place::Key(key, seq)) => (key.clone(), *seq),
            _ => (None, 0),
        };
        let plain_from = if key.is_none() { seq } else { u64::MAX };
        let plain = self.plain_by_seq().range((Excluded(plain_from), Unbounded));
        let plain = plain.map(|(seq, id)| (Place::Key(None, *seq), *id));
        let first = key.clone().map_or(Unbounded, Included);
        let partitions = self.partitions.range((first, Unbounded));
        let keyed = partitions.flat_map(move |(each, partition)| {
            let from = if key.as_ref() == Some(each) { seq } else { 0 };
            let waiting = partition.waiting().range((Excluded(from), Unbounded));
            waiting.map(|(seq, waiting)| (Place::Key(Some(each.clone()), *seq), waiting.id))
        });
        Box::new(plain.chain(keyed))
    }

    /// Merges the jobs without a key and those with one, both in serving order.
    fn waiting_in_serving_order(&self, after: Option<&Place>) -> Entries<'_> {
        let (level, from) = match after {
            Some(Place::Serving(level, at, seq)) => (*level, Some((*at, *seq))),
            _ => (0, None),
        };
        let levels = self.levels.iter().rev().enumerate().skip(usize::from(level));
        let plain = levels.flat_map(move |(place, level_jobs)| {
            let place = place as u8;
            let from = from.filter(|_| place == level).map_or(Unbounded, Excluded);
            let jobs = level_jobs.range((from, Unbounded));
            jobs.map(move |((at, seq), id)| ((place, *at, *seq), *id))
        });
        let from = from.map_or(Unbounded, |(at, seq)| Excluded((level, at, seq)));
        let keyed = self.keyed.range((from, Unbounded)).map(|(place, (id, _))| (*place, *id));
        // The next job of each key is in both; the equal place shows this.
        let (mut plain, mut keyed) = (plain.peekable(), keyed.peekable());
        Box::new(std::iter::from_fn(move || {
            let next = match (plain.peek(), keyed.peek()) {
                (Some(one), Some(other)) if one.0 == other.0 => {
                    keyed.next();
                    plain.next()
                }
                (Some(one), Some(other)) if other.0 < one.0 => keyed.next(),
                (None, _) => keyed.next(),
                _ => plain.next(),
            };
            next.map(|((level, at, seq), id)| (Place::Serving(level, at, seq), id))
        }))
    }
}

fn newest_first(
    ended: &std::collections::BTreeMap<(Timestamp, u64), JobId>,
    after: Option<(Timestamp, u64)>,
    finished: TimeRange,
) -> Entries<'_> {
    let from = finished.from.map(|from| (from, 0));
    let to = after.or(finished.to.map(|to| (to, 0)));
    if from.is_some_and(|from| to.is_some_and(|to| from >= to)) {
        return Box::new(std::iter::empty());
    }
    let bounds = (from.map_or(Unbounded, Included), to.map_or(Unbounded, Excluded));
    let entries = ended.range(bounds).rev();
    Box::new(entries.map(|((at, seq), id)| (Place::Time(*at, *seq), *id)))
}

fn position_of(bytes: &[u8]) -> Result<Position> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::invalid("cursor", "the cursor of a page", "an altered one").caused_by(error)
    })
}

fn unreadable(error: serde_json::Error) -> Error {
    Error::new(ErrorKind::Corrupt, "the page's cursor cannot be written").caused_by(error)
}

/// How many jobs of the queue are served before this one; none if it takes too long to count.
pub(super) fn jobs_before(queue: &QueueTable, record: &Record, now: Timestamp) -> Option<u64> {
    if queue.settings.order == Order::Fair {
        return None;
    }
    let place = record.serving_place();
    let levels = queue.levels.iter().rev().enumerate();
    let due = levels.flat_map(|(level, jobs)| {
        let due = jobs.keys().take_while(|(at, _)| *at <= now);
        due.map(move |(at, seq)| (level as u8, *at, *seq))
    });
    let before = due.take(PAGE_EXAMINED).take_while(|each| *each < place).count();
    (before < PAGE_EXAMINED).then_some(before as u64)
}
