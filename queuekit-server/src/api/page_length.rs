//! How many queues the store is asked for at a time.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use queuekit::QueueName;
use queuekit::jobs::PageSize;
use queuekit::store::Backend;
use queuekit::store::backend::QueuePage;
use queuekit::{Error, ErrorKind, Result};
use tokio::time::{Instant, timeout};

/// The length of the first page.
const FIRST: usize = 8;
/// After an answer within this time, the next page is twice as long.
const QUICK: Duration = Duration::from_millis(250);
/// After an answer that took longer, the next page is half as long.
const SLOW: Duration = Duration::from_secs(1);

/// For how many queues the store answers quickly. Some queues cost thousands of times as much
/// as others, because jobs with partition keys are counted one by one: a page of many such queues
/// would take longer than any caller waits.
#[derive(Debug)]
pub(crate) struct PageLength(AtomicUsize);

impl Default for PageLength {
    fn default() -> Self {
        Self(AtomicUsize::new(FIRST))
    }
}

impl PageLength {
    /// How many queues to ask for next.
    pub(crate) fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    /// The next page of at most this many queues.
    ///
    /// # Errors
    /// Those of the store; `Unavailable` if it takes longer than this.
    pub(crate) async fn list(
        &self,
        store: &dyn Backend,
        after: Option<&QueueName>,
        most: usize,
        time: Duration,
    ) -> Result<QueuePage> {
        let size = PageSize::new(self.get().min(most))?;
        self.learn(size.get(), time, store.list_queues(after, size)).await
    }

    /// Makes this call, which is for this number of queues.
    ///
    /// # Errors
    /// Those of the call; `Unavailable` if it takes longer than this.
    pub(crate) async fn learn<T>(
        &self,
        queues: usize,
        time: Duration,
        call: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let begun = Instant::now();
        let answer = timeout(time, call).await;
        let length = self.get();
        let next = match begun.elapsed() {
            _ if answer.is_err() => 1,
            // A call for fewer says nothing of a longer page.
            took if took < QUICK && queues >= length => length * 2,
            took if took > SLOW => queues.min(length) / 2,
            _ => length,
        };
        self.0.store(next.clamp(1, PageSize::MAX.get()), Ordering::Relaxed);
        answer.unwrap_or_else(|_| {
            Err(Error::new(ErrorKind::Unavailable, "the store does not answer"))
        })
    }
}
