//! The figures of queues and workers, read once for all who ask.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use queuekit::jobs::PageSize;
use queuekit::queues::Queue;
use queuekit::workers::WorkerInfo;
use queuekit::{Client, Error, ErrorKind, Result, Timestamp};
use tokio::sync::watch;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use super::page_length::PageLength;

/// The pause between two readings while anybody asks.
const PAUSE: Duration = Duration::from_secs(1);
/// A reading that takes long is followed by a pause that is this many times as long: figures take a
/// tenth of the store's time.
const PAUSES: u32 = 9;
/// The longest pause after a reading: older figures help nobody.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// The time that a reading may take before those who ask wait for it.
const GRACE: Duration = Duration::from_secs(1);
/// Readings continue for this long after the last scrape. Scrapes come more often.
const ASKED_FOR: Duration = Duration::from_secs(150);
/// How often a caller that waits for a reading asks for it again.
const RENEWED_EVERY: Duration = Duration::from_secs(1);
/// How long the store may take to answer a call: scrapers wait 10 s.
const STORE_TIMEOUT: Duration = Duration::from_secs(5);

/// The figures at one moment.
pub(crate) struct Figures {
    pub(crate) queues: Vec<Queue>,
    pub(crate) workers: Vec<WorkerInfo>,
    fingerprints: OnceLock<Vec<u64>>,
}

impl Figures {
    /// For each queue a number that changes when something other than time has changed.
    pub(crate) fn fingerprints(&self) -> &[u64] {
        self.fingerprints.get_or_init(|| self.queues.iter().map(fingerprint).collect())
    }
}

/// A number that changes when something of a queue other than time has changed.
fn fingerprint(queue: &Queue) -> u64 {
    let mut still = queue.clone();
    (still.oldest_ready_age, still.as_of) = (None, Timestamp::default());
    let mut hasher = DefaultHasher::new();
    serde_json::to_vec(&still).unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// Figures that a task keeps fresh while there are requests for them. A request waits for the store
/// only if it is the first for a while, or if the store is slow.
pub(super) struct FiguresCache(Arc<Shared>);

struct Shared {
    client: Client,
    stopping: CancellationToken,
    latest: watch::Sender<Option<Reading>>,
    length: PageLength,
    asked: Mutex<Asked>,
}

#[derive(Default)]
struct Asked {
    /// Until when readings continue.
    until: Option<Instant>,
    /// A task reads.
    is_read: bool,
}

#[derive(Clone)]
struct Reading {
    figures: Result<Arc<Figures>>,
    fresh_until: Instant,
}

impl Reading {
    fn is_of(&self, seen: Option<&Arc<Figures>>) -> bool {
        seen.zip(self.figures.as_ref().ok()).is_some_and(|(seen, own)| Arc::ptr_eq(seen, own))
    }
}

impl FiguresCache {
    pub(super) fn new(client: Client, stopping: CancellationToken) -> Self {
        let (latest, asked) = (watch::Sender::new(None), Mutex::default());
        Self(Arc::new(Shared { client, stopping, latest, length: PageLength::default(), asked }))
    }

    /// How many queues the store answers for quickly.
    pub(super) fn page_length(&self) -> &PageLength {
        &self.0.length
    }

    /// # Errors
    /// Those of the store; `Unavailable` if it does not answer in time.
    pub(super) async fn get(&self) -> Result<Arc<Figures>> {
        self.get_after(None, ASKED_FOR).await
    }

    /// The next figures after these; readings continue for this long.
    pub(super) async fn get_after(
        &self,
        seen: Option<&Arc<Figures>>,
        time: Duration,
    ) -> Result<Arc<Figures>> {
        let mut readings = self.0.latest.subscribe();
        loop {
            // Readings end when nobody has asked for a while. A process that was suspended may find
            // that this time has passed, so a waiting caller asks again.
            self.keep_reading(time);
            let latest = readings.borrow_and_update().clone();
            let is_next =
                |reading: &Reading| Instant::now() < reading.fresh_until && !reading.is_of(seen);
            if let Some(reading) = latest.filter(is_next) {
                return reading.figures;
            }
            tokio::select! {
                // The sender is here: it cannot be gone.
                _ = readings.changed() => {}
                () = tokio::time::sleep(RENEWED_EVERY) => {}
                () = self.0.stopping.cancelled() => {
                    return Err(Error::new(ErrorKind::Closed, "the server is stopping"));
                }
            }
        }
    }

    fn keep_reading(&self, time: Duration) {
        let mut asked = self.0.asked();
        asked.until = asked.until.max(Some(Instant::now() + time));
        if !std::mem::replace(&mut asked.is_read, true) {
            tokio::spawn(keep_reading(Arc::clone(&self.0)));
        }
    }
}

impl Shared {
    fn asked(&self) -> MutexGuard<'_, Asked> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there are still requests. If there are none, this task ends, and the next request
    /// starts another.
    fn is_asked(&self) -> bool {
        let mut asked = self.asked();
        asked.is_read = asked.until.is_some_and(|until| Instant::now() < until);
        asked.is_read
    }

    async fn read(&self) -> Result<Arc<Figures>> {
        let reading = async {
            let queues = self.queues().await?;
            let workers = timeout(STORE_TIMEOUT, self.workers()).await.map_err(|_| silent())??;
            Ok(Arc::new(Figures { queues, workers, fingerprints: OnceLock::new() }))
        };
        // A panic must become an answer: callers would wait for a task that has ended.
        let panicked = |_| Err(Error::new(ErrorKind::Unavailable, "the store panicked"));
        AssertUnwindSafe(reading).catch_unwind().await.unwrap_or_else(panicked)
    }

    /// All queues, page by page. Each page that is answered keeps the last figures for a moment: a
    /// key with many jobs can make a reading of all queues long, but not make it fail.
    async fn queues(&self) -> Result<Vec<Queue>> {
        let (mut queues, mut after) = (Vec::new(), None);
        loop {
            let (store, most) = (self.client.backend(), PageSize::MAX.get());
            let page = self.length.list(&**store, after.as_ref(), most, STORE_TIMEOUT).await?;
            queues.extend(page.queues);
            after = page.after;
            if after.is_none() {
                return Ok(queues);
            }
            self.keep_last();
        }
    }

    async fn workers(&self) -> Result<Vec<WorkerInfo>> {
        match self.client.backend().capabilities().leases {
            Some(leases) => leases.all_workers().await,
            None => Ok(Vec::new()),
        }
    }

    fn keep_last(&self) {
        let until = Instant::now() + STORE_TIMEOUT + GRACE;
        self.latest.send_if_modified(|latest| {
            if let Some(Reading { figures: Ok(_), fresh_until }) = latest {
                *fresh_until = until.max(*fresh_until);
            }
            // Nobody waits for this.
            false
        });
    }
}

fn silent() -> Error {
    Error::new(ErrorKind::Unavailable, "the store does not answer")
}

async fn keep_reading(shared: Arc<Shared>) {
    while shared.is_asked() && !shared.stopping.is_cancelled() {
        let began = Instant::now();
        let figures = shared.read().await;
        // After an outage the figures come back soon: what the store did not answer in time says
        // nothing about how long it takes.
        let pauses = if figures.is_ok() { PAUSES } else { 1 };
        let pause = PAUSE.max((began.elapsed() * pauses).min(LONGEST_PAUSE));
        let fresh_until = Instant::now() + pause + GRACE;
        shared.latest.send_replace(Some(Reading { figures, fresh_until }));
        shared.stopping.run_until_cancelled(tokio::time::sleep(pause)).await;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use async_trait::async_trait;
    use queuekit::memory::MemoryStore;
    use queuekit::store::Backend;
    use queuekit::store::backend::QueuePage;
    use queuekit::{JobDraft, QueueName};
    use queuekit_conformance::{Layer, Wrapped};

    use super::*;
    use crate::api::test_app::client_counting;

    fn counted() -> (FiguresCache, Arc<AtomicUsize>) {
        let store: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let (client, calls) = client_counting(&store);
        (FiguresCache::new(client, CancellationToken::new()), calls)
    }

    /// Guard: dashboards and scrapes that ask the store have taken databases down.
    #[tokio::test(start_paused = true)]
    async fn who_asks_makes_no_call_of_the_store_and_two_are_made_a_second_for_all() {
        let (figures, calls) = counted();
        figures.get().await.unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), 2, "queues and workers, for the first who asks");
        for second in 0..60 {
            for _ in 0..100 {
                figures.get().await.unwrap();
            }
            assert_eq!(calls.load(Ordering::SeqCst), 2 + 2 * second);
            tokio::time::sleep(PAUSE).await;
            while calls.load(Ordering::SeqCst) < 2 + 2 * (second + 1) {
                tokio::task::yield_now().await;
            }
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_is_left_alone_when_nobody_asks_any_more_and_read_when_somebody_does_again() {
        let (figures, calls) = counted();
        figures.get().await.unwrap();
        tokio::time::sleep(ASKED_FOR + PAUSE * 2).await;
        let made = calls.load(Ordering::SeqCst);
        tokio::time::sleep(ASKED_FOR).await;
        assert_eq!(calls.load(Ordering::SeqCst), made);
        figures.get().await.unwrap();
        assert_eq!(calls.load(Ordering::SeqCst), made + 2, "not figures of minutes ago");
    }

    /// Answers nothing while it is away.
    #[derive(Debug)]
    struct Away {
        inner: Arc<dyn Backend>,
        is_away: Arc<AtomicBool>,
    }

    #[async_trait]
    impl Layer for Away {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.inner
        }

        async fn list_queues(
            &self,
            after: Option<&QueueName>,
            limit: PageSize,
        ) -> Result<QueuePage> {
            if self.is_away.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            self.inner.list_queues(after, limit).await
        }
    }

    /// Takes 200 ms for each queue that it shows.
    #[derive(Debug)]
    struct Slow(Arc<dyn Backend>);

    #[async_trait]
    impl Layer for Slow {
        fn inner(&self) -> &Arc<dyn Backend> {
            &self.0
        }

        async fn list_queues(
            &self,
            after: Option<&QueueName>,
            limit: PageSize,
        ) -> Result<QueuePage> {
            let page = self.0.list_queues(after, limit).await?;
            tokio::time::sleep(Duration::from_millis(200) * page.queues.len() as u32).await;
            Ok(page)
        }
    }

    /// Guard: a key with many large queues made each reading take longer than the store might take,
    /// and so made metrics, scale and the dashboard of all others fail.
    #[tokio::test(start_paused = true)]
    async fn s6_figures_stay_while_those_of_many_large_queues_are_read() {
        let store: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let client = Client::new(Wrapped(Slow(store)));
        for queue in 0..100 {
            client.enqueue(JobDraft::new("t", "1").queue(format!("q{queue}"))).await.unwrap();
        }
        let figures = FiguresCache::new(client.clone(), CancellationToken::new());
        assert_eq!(figures.get().await.unwrap().queues.len(), 100, "after 20 s");
        for _ in 0..300 {
            let begun = Instant::now();
            assert!(figures.get().await.is_ok());
            assert_eq!(begun.elapsed(), Duration::ZERO, "nobody waits for the store");
            tokio::time::sleep(PAUSE).await;
        }
        client.enqueue(JobDraft::new("t", "1").queue("new")).await.unwrap();
        tokio::time::sleep(LONGEST_PAUSE * 2).await;
        assert_eq!(figures.get().await.unwrap().queues.len(), 101);
    }

    /// Guard: the dashboard hung for everybody after the process had been stopped for a while.
    #[tokio::test(start_paused = true)]
    async fn who_waits_when_readings_end_has_them_begin_again() {
        let (figures, _) = counted();
        let last = figures.get_after(None, PAUSE / 2).await.unwrap();
        // The task pauses, and ends after it: nobody asks by then.
        let next = figures.get_after(Some(&last), PAUSE / 4);
        let next = tokio::time::timeout(PAUSE * 5, next).await;
        assert!(next.is_ok_and(|next| next.is_ok()));
    }

    /// Guard: a reading that was not answered says nothing about how long readings take.
    #[tokio::test(start_paused = true)]
    async fn figures_come_back_soon_after_the_store_does() {
        let is_away = Arc::new(AtomicBool::new(true));
        let store = Away { inner: Arc::new(MemoryStore::new()), is_away: Arc::clone(&is_away) };
        let client = Client::new(Wrapped(store));
        let figures = FiguresCache::new(client, CancellationToken::new());
        assert!(figures.get().await.is_err());
        is_away.store(false, Ordering::SeqCst);
        tokio::time::sleep(STORE_TIMEOUT + PAUSE).await;
        assert!(figures.get().await.is_ok());
    }
}
