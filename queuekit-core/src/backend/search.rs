//! Listing by what only the content of a job shows (contract R8.8).

use std::future::Future;
use std::time::{Duration, Instant};

use super::{AnswerBytes, Examined, JobFilter, Page, PageSize};
use crate::error::Result;
use crate::job::Job;
use crate::limits::SEARCH_BYTES;

/// How many jobs are read at once, to look into them.
const CANDIDATES: usize = 500;
/// A page begins to read no more after this time, so that a slow store ends a page early, and the
/// call in time (R10.2).
const BEGIN_WITHIN: Duration = Duration::from_secs(1);

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
    let mut search = Search::of(filter)?;
    while search.read_on(&list).await? && begun.elapsed() < BEGIN_WITHIN {}
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
            let matching: Vec<bool> =
                found.items.iter().map(|job| self.filter.admits_content(job)).collect();
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

    fn page(mut self) -> Page<Job> {
        let position = self.position.filter(|_| !self.is_end);
        self.page.next = position.map(|at| self.filter.cursor_at(&at));
        self.page
    }
}
