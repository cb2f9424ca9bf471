//! Listings and figures, derived when they are asked for (R8).

use std::collections::{BTreeMap, BTreeSet};

use queuekit_core::backend::{AnswerBytes, Examined};
use queuekit_core::lifecycle::Record;
use queuekit_core::queue::{Count, Ends, HealthInput, Order, health};
use queuekit_core::{
    Error, Job, JobFilter, JobId, Page, PartitionKey, Queue, QueueName, Result, Status, StatusSet,
    Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::data::Data;

/// The position of a job in a listing, in the order of R8.2. A cursor is the position of the last
/// job shown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Position {
    queue: QueueName,
    section: usize,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Place {
    Serving(u8, Timestamp, u64),
    Key(Option<PartitionKey>, u64),
    Expiry(Timestamp, u64),
    NewestFirst(i64, i64),
}

impl Place {
    fn of(record: &Record, status: Status, order: Order) -> Self {
        let by_key = status == Status::Blocked || order == Order::Fair;
        match status {
            Status::Running | Status::Expired => Self::Expiry(record.lease_expires_at, record.seq),
            Status::Dead | Status::Cancelled | Status::Completed => {
                let at = record.finished_at.unwrap_or_default().as_millis();
                Self::NewestFirst(-at, -i64::try_from(record.end_seq).unwrap_or(i64::MAX))
            }
            _ if by_key => Self::Key(record.partition_key.clone(), record.seq),
            _ => {
                let (level, at, seq) = record.serving_place();
                Self::Serving(level, at, seq)
            }
        }
    }
}

impl Data {
    pub(crate) fn list_jobs(&self, filter: &JobFilter) -> Result<Page<Job>> {
        let after: Option<Position> = match filter.position()? {
            Some(bytes) => Some(serde_json::from_slice(bytes).map_err(|error| {
                let cursor = Error::invalid("cursor", "the text a page answered", "an altered one");
                cursor.caused_by(error)
            })?),
            None => None,
        };
        let mut found = BTreeMap::new();
        for name in self.queues.keys() {
            if filter.queue.as_ref().is_none_or(|only| only == name) {
                self.find(name, filter, after.as_ref(), &mut found);
            }
        }
        let mut page = Page { examined: Examined::of(filter), ..Page::default() };
        let (mut bytes, mut last) = (AnswerBytes::default(), None);
        for (position, (record, status)) in found {
            let is_late = last.is_some() && page.examined.is_late();
            let is_long = page.items.len() == filter.limit.get() || page.examined.is_full();
            let job = record.is_listed_by(filter, status).then(|| record.view(status, self.now));
            if is_long || is_late || job.as_ref().is_some_and(|job| !bytes.admit(job.bytes())) {
                // Names and numbers can always be written.
                let position = serde_json::to_vec(&last).unwrap_or_default();
                page.next = Some(filter.cursor_at(&position));
                break;
            }
            page.examined.look();
            page.examined.saw(record.id);
            page.items.extend(job);
            last = Some(position);
        }
        Ok(page)
    }

    fn find<'a>(
        &'a self,
        name: &'a QueueName,
        filter: &JobFilter,
        after: Option<&Position>,
        found: &mut BTreeMap<Position, (&'a Record, Status)>,
    ) {
        let Some(queue) = self.queues.get(name) else { return };
        for (record, status) in self.with_status(name) {
            let section = StatusSet::SECTIONS.iter().position(|it| it.contains(status));
            let position = Position {
                queue: name.clone(),
                section: section.unwrap_or_default(),
                place: Place::of(record, status, queue.settings.order),
            };
            let in_time = record.finished_at.is_none_or(|at| filter.finished.contains(at));
            let is_wanted = filter.statuses.contains(status) && in_time;
            if is_wanted && after.is_none_or(|after| position > *after) {
                found.insert(position, (record, status));
            }
        }
    }

    /// Every job of the queue, with the status that it shows now (R1.1).
    fn with_status(&self, name: &QueueName) -> impl Iterator<Item = (&Record, Status)> {
        let free: BTreeSet<JobId> = self.free(name).iter().map(|record| record.id).collect();
        self.of_queue(name)
            .map(move |record| (record, record.status(!free.contains(&record.id), self.now)))
    }

    pub(crate) fn status(&self, record: &Record) -> Status {
        let mut jobs = self.with_status(&record.queue);
        let found = jobs.find(|(other, _)| other.id == record.id);
        found.map_or(Status::Ready, |(_, status)| status)
    }

    pub(crate) fn get_job(&self, id: JobId) -> Option<Job> {
        let record = self.jobs.get(&id)?;
        Some(record.view(self.status(record), self.now))
    }

    pub(crate) fn figures(&self, name: &QueueName) -> Option<Queue> {
        let stored = self.queues.get(name)?;
        let mut queue = Queue::empty(name.clone(), stored.settings.clone().at(self.now), self.now);
        let mut oldest: Option<Timestamp> = None;
        for (record, status) in self.with_status(name) {
            let count = queue.counts.get(status).value + 1;
            queue.counts.set(status, Count::exact(count));
            if status == Status::Ready {
                oldest = Some(oldest.map_or(record.scheduled_at, |at| at.min(record.scheduled_at)));
            }
        }
        queue.totals = stored.totals;
        queue.workers = self.live_workers().filter(|beat| beat.serves_queue(name)).count() as u64;
        queue.oldest_ready_age = oldest.map(|at| self.now.since(at));
        let ends = Ends::from_bytes(&stored.ends);
        queue.health = health(HealthInput {
            oldest_ready_age: queue.oldest_ready_age,
            last_ended: ends.ended(),
            last_dead: ends.dead(),
            has_live_worker: queue.workers > 0,
        });
        Some(queue)
    }
}
