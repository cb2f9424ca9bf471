//! Reading jobs, page by page (contract R8.2).

use std::time::Instant;

use queuekit_core::backend::Listed;
use queuekit_core::{Job, JobFilter, Page, QueueName, Result, Status, StatusSet, Timestamp};

use super::position::Position;
use crate::RedisStore;
use crate::call::Call;
use crate::codec::{View, array_of, bytes_of, number_of};
use crate::error::unreadable;
use crate::scripts::Lua;

/// Jobs a page looks at, whether they match or not.
const EXAMINED: usize = 10_000;
/// Jobs that one script reads.
const SLICE: usize = 200;
/// Scripts a page runs: one for each section of each queue at least, so that it looks at a bounded
/// number of queues.
const SCRIPTS: usize = 400;

/// What one script has read.
struct Slice {
    jobs: Vec<(Vec<u8>, Option<Job>)>,
    /// Where it ended; none at the end of the section.
    end: Option<Vec<u8>>,
}

/// One page in the making.
struct Pager<'f> {
    store: &'f RedisStore,
    filter: &'f JobFilter,
    items: Vec<Job>,
    examined: usize,
    /// How many it has run.
    scripts: usize,
    begun: Instant,
}

impl RedisStore {
    pub(crate) async fn jobs_shown(&self, filter: &JobFilter) -> Result<Page<Job>> {
        self.list(filter).await.map_err(|error| error.during("list_jobs"))
    }

    async fn list(&self, filter: &JobFilter) -> Result<Page<Job>> {
        self.shared.check_open()?;
        let position = filter.position()?.map(Position::read).transpose()?;
        let mut pager = Pager {
            store: self,
            filter,
            items: Vec::new(),
            examined: 0,
            scripts: 0,
            begun: Instant::now(),
        };
        let mut queues = match &filter.queue {
            Some(queue) => vec![queue.clone()],
            None => self.all_queues().await?,
        };
        queues.retain(|queue| position.as_ref().is_none_or(|position| *queue >= position.queue));
        for queue in queues {
            let after = position.as_ref().filter(|position| position.queue == queue);
            let first = after.map_or(0, |position| position.section);
            for (section, statuses) in StatusSet::SECTIONS.into_iter().enumerate().skip(first) {
                if !statuses.meets(filter.statuses) {
                    continue;
                }
                let after = after.filter(|after| after.section == section);
                let after = after.map(|after| after.place.clone()).unwrap_or_default();
                if let Some(place) = pager.section(&queue, statuses, after).await? {
                    let bytes = Position { queue, section, place }.write()?;
                    return Ok(Page { items: pager.items, next: Some(filter.cursor_at(&bytes)) });
                }
            }
        }
        Ok(Page { items: pager.items, next: None })
    }

    async fn slice(
        &self,
        queue: &QueueName,
        statuses: StatusSet,
        after: Vec<u8>,
        most: usize,
    ) -> Result<Slice> {
        let args = [section_name(statuses).into(), after, most.to_string().into_bytes()];
        let answer = self.on_queue("list_jobs", Call::Read, Lua::List, queue, args).await?;
        let broken = || unreadable("a page of jobs");
        let mut parts = array_of(answer).ok_or_else(broken)?.into_iter();
        let now = parts.next().and_then(number_of).ok_or_else(broken)?;
        let now = Timestamp::from_millis(now);
        let end = parts.next().and_then(bytes_of).ok_or_else(broken)?;
        let mut jobs = Vec::with_capacity(parts.len() / (View::VALUES + 1));
        while let Some(place) = parts.next() {
            let place = bytes_of(place).ok_or_else(broken)?;
            let view = View::read(&mut parts).ok_or_else(broken)?;
            jobs.push((place, view.job(queue.clone(), now)));
        }
        Ok(Slice { jobs, end: Some(end).filter(|end| !end.is_empty()) })
    }
}

impl Pager<'_> {
    /// Adds the jobs of a section to the page; where the page ended, if it is full.
    async fn section(
        &mut self,
        queue: &QueueName,
        statuses: StatusSet,
        mut after: Vec<u8>,
    ) -> Result<Option<Vec<u8>>> {
        loop {
            if self.is_late() {
                return Ok(Some(after));
            }
            let most = SLICE.min(EXAMINED - self.examined);
            let slice = self.store.slice(queue, statuses, after, most).await?;
            self.scripts += 1;
            for (place, job) in slice.jobs {
                self.examined += 1;
                let wanted = |job: &Job| statuses.contains(job.status) && self.matches(job);
                self.items.extend(job.filter(wanted));
                if self.items.len() == self.filter.limit.get() || self.examined == EXAMINED {
                    return Ok(Some(place));
                }
            }
            match slice.end {
                Some(end) => after = end,
                None => return Ok(None),
            }
        }
    }

    /// It has looked at enough, or half of the call's time is over: the next page goes on.
    fn is_late(&self) -> bool {
        let half = self.store.shared.op_timeout / 2;
        self.scripts == SCRIPTS || (self.scripts > 0 && self.begun.elapsed() >= half)
    }

    fn matches(&self, job: &Job) -> bool {
        let listed = Listed {
            status: job.status,
            kind: job.kind.as_str(),
            partition_key: job.partition_key.as_ref().map(|key| key.as_str()),
            worker: job.worker.as_ref().map(|worker| worker.as_str()),
            created_at: job.created_at,
            finished_at: job.finished_at,
        };
        let last = job.errors.last().map(|failure| failure.error.as_str());
        let reason = job.reason.as_ref().map(|reason| reason.as_str());
        self.filter.admits(&listed) && self.filter.admits_error(job.status, [last, reason])
    }
}

/// Where the jobs stand that can have these statuses.
pub(super) fn section_name(statuses: StatusSet) -> &'static str {
    let of = |status| statuses.contains(status);
    match () {
        () if of(Status::Running) => "leased",
        () if of(Status::Dead) => "dead",
        () if of(Status::Cancelled) => "cancelled",
        () if of(Status::Completed) => "completed",
        () if of(Status::Blocked) => "keyed",
        () => "waiting",
    }
}
