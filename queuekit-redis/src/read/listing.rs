//! Reading jobs, page by page (contract R8.2).

use std::collections::HashMap;
use std::mem::take;
use std::ops::Bound;
use std::time::{Duration, Instant};

use queuekit_core::backend::{AnswerBytes, Examined};
use queuekit_core::{
    Cursor, Job, JobFilter, JobId, Kind, Page, QueueName, Result, StatusSet, Timestamp,
};
use redis::Value;

use super::position::{Position, section_name};
use crate::RedisStore;
use crate::codec::{UNREADABLE_KIND, View, array_of, bytes_of, job_id, number_of};
use crate::error::unreadable;
use crate::repeat::Call;
use crate::scripts::Lua;

/// The most jobs that the first script of a page reads, unless the page has room for more.
const FIRST: usize = 50;
/// The most jobs that one script reads.
const SLICE: usize = 200;
/// The most scripts that one page runs. Each section of each queue takes at least one, so this
/// bounds the number of queues too.
const SCRIPTS: usize = 250;
/// A script that reads large jobs whole ends with the job that reaches this size.
const SCRIPT_BYTES: u64 = 1024 * 1024;

/// A job that a script has looked at.
struct Head {
    place: Vec<u8>,
    /// Its id, if it belongs to the section and does not match the filter.
    other: Option<JobId>,
    /// The bytes of what is left out.
    left_out: u64,
    /// What the script has read of it: not its payload and the like if they are large.
    job: Option<Job>,
}

/// The jobs that one script has read.
struct Slice {
    jobs: Vec<Head>,
    /// The place where it ended; none at the end of the section.
    end: Option<Vec<u8>>,
}

/// One page in the making.
struct Pager<'f> {
    store: &'f RedisStore,
    filter: &'f JobFilter,
    items: Vec<Job>,
    examined: Examined,
    /// How many jobs the next script reads: the more, the longer it has looked for what matches.
    slice: usize,
    /// How many scripts it has run.
    scripts: usize,
    bytes: AnswerBytes,
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
            examined: Examined::of(filter),
            slice: filter.limit.get().clamp(FIRST, SLICE),
            scripts: 0,
            bytes: AnswerBytes::default(),
            begun: Instant::now(),
        };
        let mut queues = match &filter.queue {
            Some(queue) => vec![queue.clone()],
            None => {
                let from = position.as_ref().map(|position| &position.queue);
                // The page ends at the last of them, if not before.
                self.queues_from(from.map_or(Bound::Unbounded, Bound::Included), SCRIPTS + 1)
                    .await?
            }
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
                    return Ok(pager.page(Some(filter.cursor_at(&bytes))));
                }
            }
        }
        Ok(pager.page(None))
    }

    async fn slice(
        &self,
        time: Duration,
        queue: &QueueName,
        statuses: StatusSet,
        after: Vec<u8>,
        most: usize,
        filter: &JobFilter,
    ) -> Result<Slice> {
        let bound = |at: Option<Timestamp>| {
            at.map(|at| at.as_millis().to_string().into_bytes()).unwrap_or_default()
        };
        let most = most.to_string().into_bytes();
        let section = section_name(statuses).into();
        let (from, to) = (bound(filter.finished.from), bound(filter.finished.to));
        let args = [section, after, most, from, to, text_of(filter)];
        let read = self.on_queue_within(time, "list_jobs", Call::Read, Lua::List, queue, args);
        let answer = read.await?;
        let broken = || unreadable("a page of jobs");
        let mut parts = array_of(answer).ok_or_else(broken)?.into_iter();
        let now = parts.next().and_then(number_of).ok_or_else(broken)?;
        let now = Timestamp::from_millis(now);
        let end = parts.next().and_then(bytes_of).ok_or_else(broken)?;
        let mut jobs = Vec::with_capacity(parts.len() / (View::VALUES + 2));
        while let Some(place) = parts.next() {
            let place = bytes_of(place).ok_or_else(broken)?;
            let left_out = parts.next().ok_or_else(broken)?;
            if matches!(&left_out, Value::BulkString(mark) if mark == b"-") {
                let id = parts.next().and_then(bytes_of).and_then(|id| job_id(&id));
                let other = Some(id.ok_or_else(broken)?);
                jobs.push(Head { place, other, left_out: 0, job: None });
                continue;
            }
            let left_out = number_of(left_out).and_then(|bytes| u64::try_from(bytes).ok());
            let left_out = left_out.ok_or_else(broken)?;
            let job = View::read(&mut parts).ok_or_else(broken)?.job(queue.clone(), now);
            jobs.push(Head { place, other: None, left_out, job });
        }
        Ok(Slice { jobs, end: Some(end).filter(|end| !end.is_empty()) })
    }
}

impl Pager<'_> {
    /// Adds the jobs of a section to the page. Returns where the page ended, if it is full.
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
            let most = self.slice.min(self.examined.left());
            self.slice = SLICE.min(self.slice * 2);
            let left = self.time_left();
            let slice = self.store.slice(left, queue, statuses, after.clone(), most, self.filter);
            let slice = slice.await?;
            self.scripts += 1;
            let (mut matching, mut left_out) = (Vec::new(), 0);
            for head in slice.jobs {
                self.examined.look();
                let job = head.job.filter(|job| statuses.contains(job.status));
                let id = job.as_ref().map(|job| job.id).or(head.other);
                if let Some(job) = job.filter(|job| self.filter.admits_job(job)) {
                    let of_head = usize::try_from(head.left_out).unwrap_or(usize::MAX);
                    if !self.bytes.admit(job.bytes().saturating_add(of_head)) {
                        self.add(queue, statuses, matching).await?;
                        return Ok(Some(after));
                    }
                    left_out += head.left_out;
                    matching.push((job, head.left_out > 0));
                }
                id.into_iter().for_each(|id| self.examined.saw(id));
                let found = self.items.len() + matching.len();
                let is_long = found == self.filter.limit.get() || self.examined.is_full();
                if is_long || left_out >= SCRIPT_BYTES {
                    self.add(queue, statuses, take(&mut matching)).await?;
                    left_out = 0;
                    if self.is_full() || self.is_late() {
                        return Ok(Some(head.place));
                    }
                }
                after = head.place;
            }
            self.add(queue, statuses, matching).await?;
            match slice.end {
                Some(end) => after = end,
                None => return Ok(None),
            }
        }
    }

    /// Adds jobs that match to the page. Reads those whole of which something is left out: what has
    /// changed meanwhile and matches no more, is none of them.
    async fn add(
        &mut self,
        queue: &QueueName,
        statuses: StatusSet,
        matching: Vec<(Job, bool)>,
    ) -> Result<()> {
        let large = matching.iter().filter(|(_, is_head)| *is_head);
        let ids: Vec<JobId> = large.map(|(job, _)| job.id).collect();
        let mut whole = HashMap::new();
        if !ids.is_empty() {
            let left = self.time_left();
            let jobs = self.store.jobs_at(left, "list_jobs", queue, &ids).await?;
            whole.extend(jobs.into_iter().map(|shown| (shown.job.id, shown.job)));
            self.scripts += 1;
        }
        for (job, is_head) in matching {
            let job = if is_head { whole.remove(&job.id) } else { Some(job) };
            self.items.extend(job.filter(|job| self.wants(statuses, job)));
        }
        Ok(())
    }

    fn page(self, next: Option<Cursor>) -> Page<Job> {
        Page { items: self.items, next, examined: self.examined }
    }

    fn is_full(&self) -> bool {
        self.items.len() == self.filter.limit.get() || self.examined.is_full()
    }

    /// Whether the page has looked at enough, or its time or half of the call's time is over: then
    /// the next page continues.
    fn is_late(&self) -> bool {
        let is_over = || self.begun.elapsed() >= self.store.shared.op_timeout / 2;
        self.scripts >= SCRIPTS || self.scripts > 0 && (self.examined.is_late() || is_over())
    }

    /// What the whole call has left: its questions share op_timeout.
    fn time_left(&self) -> Duration {
        self.store.shared.op_timeout.saturating_sub(self.begun.elapsed())
    }

    /// Whether a job of a section belongs on the page.
    fn wants(&self, section: StatusSet, job: &Job) -> bool {
        section.contains(job.status) && self.filter.admits_job(job)
    }
}

/// A text that the data of each job that matches contains: a script that does not find it need not
/// read the job. A job that cannot be read is shown with a kind of its own.
fn text_of(filter: &JobFilter) -> Vec<u8> {
    let kind = filter.kind.as_ref().map(Kind::as_str).filter(|kind| *kind != UNREADABLE_KIND);
    // The space that follows it in the data.
    kind.map(|kind| format!("{kind} ").into_bytes()).unwrap_or_default()
}
