//! Lists of ended jobs by the time of their end, over all queues (contract R8.7).

mod ended_jobs;
mod merge;

use std::time::Instant;

pub use ended_jobs::{End, Ended, EndedJobs, EndsBefore};

use self::merge::Merge;
use super::search::{BEGIN_WITHIN, CANDIDATES, YIELD_BYTES, yield_now};
use super::{AnswerBytes, Examined, JobFilter, Page};
use crate::error::{Error, ErrorKind, Result};
use crate::job::Job;
use crate::limits::{RECENT_QUEUES, SEARCH_BYTES};
use crate::names::QueueName;

/// A page of a filter that asks for what is [`recent`](JobFilter::recent).
///
/// # Errors
/// `Invalid` for a cursor of another filter, and without a queue if the store has more than
/// [`RECENT_QUEUES`]; those of the store.
pub async fn recent(filter: &JobFilter, store: &dyn EndedJobs) -> Result<Page<Job>> {
    let place = filter.cursor_position()?.map(place_of).transpose()?;
    let queues = match &filter.queue {
        Some(queue) => vec![queue.clone()],
        None => all_queues(store).await?,
    };
    let merge = Merge::of(filter, queues, place.as_ref());
    let page = Page { examined: Examined::of(filter), ..Page::default() };
    let answer = AnswerBytes::default();
    let paging = Paging { filter, store, merge, page, answer, bytes: 0, last: place };
    paging.run().await
}

async fn all_queues(store: &dyn EndedJobs) -> Result<Vec<QueueName>> {
    let mut queues = store.queues(RECENT_QUEUES + 1).await?;
    queues.sort_unstable();
    if queues.len() <= RECENT_QUEUES {
        return Ok(queues);
    }
    let limit = format!("one queue, because the store has more than {RECENT_QUEUES}");
    Err(Error::invalid("queue", limit, "none"))
}

/// One page in the making.
struct Paging<'f> {
    filter: &'f JobFilter,
    store: &'f dyn EndedJobs,
    merge: Merge,
    page: Page<Job>,
    answer: AnswerBytes,
    /// The bytes of the jobs it has looked into.
    bytes: usize,
    /// The last end it looked at, on this page or the one before.
    last: Option<Ended>,
}

impl Paging<'_> {
    async fn run(mut self) -> Result<Page<Job>> {
        let begun = Instant::now();
        loop {
            let wanted = self.wanted();
            let ended = self.merge.next(self.store, wanted).await?;
            if ended.is_empty() {
                return Ok(self.page);
            }
            let mut rest = ended.as_slice();
            while !rest.is_empty() {
                let looked_at = self.look_at(rest).await?;
                rest = &rest[looked_at..];
                let is_late = begun.elapsed() >= BEGIN_WITHIN || self.page.examined.is_late();
                if self.is_full() || is_late {
                    let is_end = rest.is_empty() && self.merge.is_end();
                    return self.end(is_end);
                }
            }
        }
    }

    /// How many ends to read at once: as many as are missing, and more the longer it has looked
    /// for jobs that match.
    fn wanted(&self) -> usize {
        let missing = self.filter.limit.get().saturating_sub(self.page.items.len());
        let examined = self.page.examined;
        missing.max(examined.jobs()).min(CANDIDATES).min(examined.left())
    }

    /// Looks at the jobs of some of the first ends. Returns of how many.
    async fn look_at(&mut self, ended: &[Ended]) -> Result<usize> {
        let jobs = self.store.jobs(ended).await?;
        if jobs.is_empty() {
            let message = "the store answered none of the jobs that it was asked for";
            return Err(Error::new(ErrorKind::Corrupt, message).during("list_jobs"));
        }
        let (mut looked_at, mut unyielded) = (0, 0);
        for (ended, job) in ended.iter().zip(jobs) {
            let job = job.filter(|job| ended.is_of(job));
            let (is_here, bytes) = (job.is_some(), job.as_ref().map_or(0, Job::bytes));
            let matching = job.filter(|job| self.matches(job));
            if matching.is_some() && !self.answer.admit(bytes) {
                break;
            }
            looked_at += 1;
            self.bytes += bytes;
            self.page.examined.look();
            if is_here {
                self.page.examined.saw(ended.end.id);
            }
            self.page.items.extend(matching);
            self.last = Some(ended.clone());
            if self.is_full() {
                break;
            }
            unyielded += bytes;
            if self.filter.needs_content() && unyielded >= YIELD_BYTES {
                unyielded = 0;
                yield_now().await;
            }
        }
        Ok(looked_at)
    }

    fn matches(&self, job: &Job) -> bool {
        self.filter.admits_job(job) && self.filter.admits_content(job)
    }

    fn is_full(&self) -> bool {
        self.page.items.len() >= self.filter.limit.get()
            || self.page.examined.is_full()
            || self.answer.is_full()
            || self.bytes >= SEARCH_BYTES
    }

    fn end(mut self, is_end: bool) -> Result<Page<Job>> {
        if !is_end {
            let place = serde_json::to_vec(&self.last).map_err(|error| {
                let message = "the page's cursor cannot be written";
                Error::new(ErrorKind::Corrupt, message).caused_by(error)
            })?;
            self.page.next = Some(self.filter.cursor_at(&place));
        }
        Ok(self.page)
    }
}

fn place_of(bytes: &[u8]) -> Result<Ended> {
    serde_json::from_slice(bytes).map_err(|error| {
        Error::invalid("cursor", "the cursor of a page", "an altered one").caused_by(error)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::time::Duration;

    use async_trait::async_trait;

    use super::*;
    use crate::backend::Backend;
    use crate::clock::Timestamp;
    use crate::job::{JobDraft, JobId, State};
    use crate::memory::MemoryStore;
    use crate::names::Kind;

    /// Queues with a job that ended every second, each queue so much before the one before it.
    #[derive(Debug, Default)]
    struct Ends {
        queues: usize,
        apart_ms: i64,
        /// How many sources were asked, and how many ends were read, by call.
        asked: Mutex<Vec<(usize, usize)>>,
        looked_at: Mutex<usize>,
        /// How many of the first jobs have ended once more when they are read.
        ended_again: usize,
    }

    const DAY_MS: i64 = 24 * 3600 * 1000;

    #[async_trait]
    impl EndedJobs for Ends {
        async fn queues(&self, most: usize) -> Result<Vec<QueueName>> {
            (0..self.queues.min(most)).map(|n| QueueName::new(format!("q{n:05}"))).collect()
        }

        async fn ends(&self, of: &[EndsBefore], most: usize) -> Result<Vec<Vec<End>>> {
            let ends = |of: &EndsBefore| -> Vec<End> {
                let number: i64 = of.queue.as_str()[1..].parse().unwrap();
                let newest = (DAY_MS - number * self.apart_ms).min(of.before.at.as_millis() - 1);
                let second = newest - newest.rem_euclid(1000);
                let is_completed = of.state == State::Completed;
                let most = if is_completed { most as i64 } else { 0 };
                (0..most)
                    .map(|back| Timestamp::from_millis(second - back * 1000))
                    .map(|at| End { at, seq: 0, id: JobId::generate(&of.queue, at) })
                    .collect()
            };
            let ends: Vec<_> = of.iter().map(ends).collect();
            self.asked.lock().unwrap().push((of.len(), ends.iter().map(Vec::len).sum()));
            Ok(ends)
        }

        async fn jobs(&self, ended: &[Ended]) -> Result<Vec<Option<Job>>> {
            let mut looked_at = self.looked_at.lock().unwrap();
            let job = |(number, Ended { queue, state, end }): (usize, &Ended)| {
                let kind = Kind::new("k").unwrap();
                let mut job = Job::pending(end.id, queue.clone(), kind, end.at);
                let later = Duration::from_secs(u64::from(number < self.ended_again));
                (job.state, job.status, job.finished_at) =
                    (*state, crate::job::Status::Completed, Some(end.at + later));
                Some(job)
            };
            let jobs = (*looked_at..).zip(ended).map(job).collect();
            *looked_at += ended.len();
            Ok(jobs)
        }
    }

    /// Guard: of a queue that has ended nothing for longer than what is on the page, only its last
    /// end is read.
    #[tokio::test]
    async fn r8_7_a_page_asks_only_the_queues_that_ended_something_lately() {
        // The last end of each queue is a second older than that of the one before it, or as old.
        for (apart_ms, sources, ends) in [(1000, 120, 800), (0, 100, 400)] {
            let store = Ends { queues: 1000, apart_ms, ..Ends::default() };
            let page = recent(&JobFilter::default().recent(), &store).await.unwrap();
            assert_eq!(page.items.len(), 100);
            let newest_first = |one: &Job, other: &Job| one.finished_at >= other.finished_at;
            assert!(page.items.is_sorted_by(newest_first));
            let asked = store.asked.into_inner().unwrap();
            assert_eq!(asked[0], (3000, 1000), "once the last end of each");
            let later = |of: fn(&(usize, usize)) -> usize| asked[1..].iter().map(of).sum::<usize>();
            assert!(asked.len() <= 4, "few steps: {asked:?}");
            assert!(later(|asked| asked.0) <= sources, "{asked:?}");
            assert!(later(|asked| asked.1) <= ends, "{asked:?}");
            assert_eq!(store.looked_at.into_inner().unwrap(), 100);
        }
    }

    /// Guard: an end is compared with its job as it is when it is read.
    #[tokio::test]
    async fn r8_7_a_job_that_ends_again_while_a_page_is_read_is_not_listed_by_its_earlier_end() {
        let store = Ends { queues: 1, ended_again: 3, ..Ends::default() };
        let page = recent(&JobFilter::default().recent().limit(10), &store).await.unwrap();
        let ends: Vec<_> = page.items.iter().map(|job| job.finished_at.unwrap()).collect();
        let unchanged = (3..13).map(|back| Timestamp::from_millis(DAY_MS - 1000 * back));
        assert_eq!(ends, unchanged.collect::<Vec<_>>());
    }

    /// Guard: a page looks at a bounded number of jobs, and reads their ends in few steps.
    #[tokio::test]
    async fn r8_7_a_page_that_finds_nothing_ends() {
        let store = Ends { queues: 1000, apart_ms: 0, ..Ends::default() };
        let filter = JobFilter::default().recent().kind("other");
        let page = recent(&filter, &store).await.unwrap();
        assert!(page.items.is_empty() && page.next.is_some());
        assert_eq!(page.examined.jobs(), 10_000);
        assert_eq!(store.looked_at.into_inner().unwrap(), 10_000);
        let asked = store.asked.into_inner().unwrap();
        assert!(asked.len() < 100, "{} steps", asked.len());
        assert!(asked.iter().map(|(_, ends)| ends).sum::<usize>() < 50_000, "{asked:?}");
    }

    /// Guard: the number of queues is looked at before their ends.
    #[tokio::test]
    async fn r8_7_more_than_1000_queues_need_one_to_be_named() {
        let store = MemoryStore::new();
        let job = |n: usize| JobDraft::new("k", "").queue(format!("q{n}")).build().unwrap();
        store.enqueue(&(0..1000).map(job).collect::<Vec<_>>()).await.unwrap();
        let all = JobFilter::default().recent();
        assert_eq!(store.list_jobs(&all).await.unwrap().items, []);
        store.enqueue(&[job(1000)]).await.unwrap();
        let refused = store.list_jobs(&all).await.unwrap_err();
        assert!(matches!(refused.kind(), ErrorKind::Invalid { field: "queue", .. }), "{refused}");
        assert!(store.list_jobs(&all.queue("q7")).await.is_ok());
    }

    /// Guard: a store that lists in another order must not answer such a filter.
    #[test]
    fn r8_7_a_store_that_does_not_know_the_filter_refuses_it() {
        let refused = JobFilter::default().recent().position().unwrap_err();
        assert_eq!(*refused.kind(), ErrorKind::Unsupported);
    }
}
