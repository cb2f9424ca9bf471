//! Listing by what only the content of a job shows (contract R8.8).

use std::future::{Future, poll_fn};
use std::task::Poll;
use std::time::{Duration, Instant};

use super::{AnswerBytes, Examined, JobFilter, Page, PageSize};
use crate::error::Result;
use crate::job::Job;
use crate::limits::SEARCH_BYTES;

/// How many jobs are read at once, to look into them.
pub(super) const CANDIDATES: usize = 500;
/// A page begins to read no more after this time, so that a slow store ends a page early, and the
/// call in time (R10.2).
pub(super) const BEGIN_WITHIN: Duration = Duration::from_secs(1);

/// After this many bytes of jobs others of the runtime run: parsing takes about a millisecond.
pub(super) const YIELD_BYTES: usize = 128 * 1024;

/// A page of a filter. `list` answers pages of filters without terms on content: what it answers is
/// looked into here, outside of the store, so that no other call waits for it.
///
/// # Errors
/// Those of `list`, and of [`JobFilter::position`].
pub async fn search<L, P>(filter: &JobFilter, list: L) -> Result<Page<Job>>
where
    L: Fn(JobFilter) -> P,
    P: Future<Output = Result<Page<Job>>>,
{
    if !filter.needs_content() {
        return list(filter.clone()).await;
    }
    let begun = Instant::now();
    search_by(filter, list, || begun.elapsed()).await
}

async fn search_by<L, P>(
    filter: &JobFilter,
    list: L,
    elapsed: impl Fn() -> Duration,
) -> Result<Page<Job>>
where
    L: Fn(JobFilter) -> P,
    P: Future<Output = Result<Page<Job>>>,
{
    let mut search = Search::of(filter)?;
    while search.read_on(&list).await? && elapsed() < BEGIN_WITHIN && !search.is_late() {}
    Ok(search.page())
}

/// One page in the making.
struct Search<'f> {
    filter: &'f JobFilter,
    /// The filter without its terms on content.
    candidates: JobFilter,
    page: Page<Job>,
    answer: AnswerBytes,
    /// The bytes of the jobs it has looked into.
    bytes: usize,
    /// The store's position behind them.
    position: Option<Vec<u8>>,
    is_end: bool,
}

impl<'f> Search<'f> {
    fn of(filter: &'f JobFilter) -> Result<Self> {
        Ok(Self {
            filter,
            candidates: filter.without_content(),
            page: Page { examined: Examined::of(filter), ..Page::default() },
            answer: AnswerBytes::default(),
            bytes: 0,
            position: filter.position()?.map(<[u8]>::to_vec),
            is_end: false,
        })
    }

    /// Reads the next candidates. Returns whether the page has room for more.
    async fn read_on<L, P>(&mut self, list: &L) -> Result<bool>
    where
        L: Fn(JobFilter) -> P,
        P: Future<Output = Result<Page<Job>>>,
    {
        let mut most = CANDIDATES;
        loop {
            let found = list(self.ask(most)?).await?;
            let matching = self.matching(&found.items).await;
            match self.beyond(&found.items, &matching) {
                None => {
                    self.take(found, matching)?;
                    return Ok(most == CANDIDATES && !self.is_full());
                }
                Some(0) => return Ok(false),
                // A position is where a page ends: ask for one that ends before it.
                Some(at) => most = at,
            }
        }
    }

    /// Which jobs match. Others of the runtime run in between, however large the jobs are.
    async fn matching(&self, jobs: &[Job]) -> Vec<bool> {
        let (mut matching, mut bytes) = (Vec::with_capacity(jobs.len()), 0);
        for job in jobs {
            matching.push(self.filter.admits_content(job));
            bytes += job.bytes();
            if bytes >= YIELD_BYTES {
                bytes = 0;
                yield_now().await;
            }
        }
        matching
    }

    fn ask(&self, most: usize) -> Result<JobFilter> {
        let cursor = self.position.as_deref().map(|at| self.candidates.cursor_at(at));
        let left = self.page.examined.left();
        let mut ask = self.candidates.clone().after(cursor).examining(left);
        ask.limit = PageSize::new(most)?;
        Ok(ask)
    }

    /// The first job for which the page has no room.
    fn beyond(&self, jobs: &[Job], matching: &[bool]) -> Option<usize> {
        let (mut items, mut answer) = (self.page.items.len(), self.answer);
        jobs.iter().zip(matching).position(|(job, matches)| {
            let fits = !matches || (items < self.filter.limit.get() && answer.admit(job.bytes()));
            items += usize::from(*matches);
            !fits
        })
    }

    fn take(&mut self, found: Page<Job>, matching: Vec<bool>) -> Result<()> {
        self.page.examined.add(&found.examined);
        for (job, matches) in found.items.into_iter().zip(matching) {
            self.bytes += job.bytes();
            if matches && self.answer.admit(job.bytes()) {
                self.page.items.push(job);
            }
        }
        match found.next {
            Some(next) => {
                let filter = self.candidates.clone().after(Some(next));
                self.position = filter.position()?.map(<[u8]>::to_vec);
            }
            None => self.is_end = true,
        }
        Ok(())
    }

    fn is_full(&self) -> bool {
        let is_long = self.page.items.len() >= self.filter.limit.get();
        self.is_end || is_long || self.page.examined.is_full() || self.bytes >= SEARCH_BYTES
    }

    fn is_late(&self) -> bool {
        self.page.examined.is_late()
    }

    fn page(mut self) -> Page<Job> {
        let position = self.position.filter(|_| !self.is_end);
        self.page.next = position.map(|at| self.filter.cursor_at(&at));
        self.page
    }
}

/// Lets other tasks of the runtime run, whichever runtime it is.
pub(super) async fn yield_now() {
    let mut has_yielded = false;
    poll_fn(|context| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::pin::pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Context, Waker};

    use super::*;
    use crate::clock::Timestamp;
    use crate::job::JobId;
    use crate::names::{Kind, QueueName};

    fn job(payload: String) -> Job {
        let queue = QueueName::default();
        let id = JobId::generate(&queue, Timestamp::default());
        let mut job = Job::pending(id, queue, Kind::new("k").unwrap(), Timestamp::default());
        job.payload = payload.into();
        job
    }

    /// Guard: parsing gives way to other tasks, however much of it there is.
    #[test]
    fn r8_8_a_search_lets_others_run_between_large_jobs() {
        let large = || job(format!(r#"{{"text":"{}"}}"#, "x".repeat(YIELD_BYTES)));
        let filter = JobFilter::default().payload("text:y");
        let list =
            async |_| Ok(Page { items: (0..8).map(|_| large()).collect(), ..Page::default() });
        let mut searching = pin!(search(&filter, list));
        let mut context = Context::from_waker(Waker::noop());
        let polls = (0..).find(|_| searching.as_mut().poll(&mut context).is_ready());
        assert_eq!(polls, Some(8), "it lets others run after each of 8 jobs");
    }

    /// Guard: no read begins late, and a page that ends for that is continued.
    #[tokio::test]
    async fn r8_8_a_search_begins_no_read_after_a_second() {
        let clock = Cell::new(Duration::ZERO);
        let reads = Cell::new(0);
        let list = async |ask: JobFilter| {
            reads.set(reads.get() + 1);
            assert!(reads.get() <= 3, "it goes on for ever");
            clock.set(clock.get() + Duration::from_millis(400));
            Ok(Page { next: Some(ask.cursor_at(b"x")), ..Page::default() })
        };
        let filter = JobFilter::default().payload("text:y");
        let page = search_by(&filter, list, || clock.get()).await.unwrap();
        assert_eq!(reads.get(), 3, "at 0, 400 and 800 ms");
        assert!(page.items.is_empty() && page.next.is_some());
    }

    /// Guard: the bytes and the looks of all reads of a page count.
    #[tokio::test]
    async fn r8_8_a_search_ends_at_its_bytes_and_at_its_looks() {
        // Not JSON, so that it takes no time.
        let large = job("x".repeat(1024 * 1024));
        for (items, looks, reads) in [(vec![large; 8], 8, 8), (Vec::new(), 4000, 3)] {
            let calls = AtomicUsize::new(0);
            let list = async |ask: JobFilter| {
                calls.fetch_add(1, Ordering::Relaxed);
                let mut examined = Examined::of(&ask);
                (0..looks.min(examined.left())).for_each(|_| examined.look());
                Ok(Page { items: items.clone(), next: Some(ask.cursor_at(b"x")), examined })
            };
            let filter = JobFilter::default().payload("text:y");
            let page = search(&filter, list).await.unwrap();
            assert!(page.next.is_some(), "a page that ends early has a cursor");
            assert_eq!(calls.into_inner(), reads, "reads of {looks} jobs");
        }
    }
}
