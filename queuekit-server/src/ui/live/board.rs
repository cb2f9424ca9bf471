//! What is shown to all viewers: read once a second for all of them, and not at all for none.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use queuekit::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use super::extras::Extras;
use crate::api::{App, Figures};
use crate::web::Problem;

/// The pause between two looks at a store that does not answer. While it answers, the figures set
/// the pace: each reading of them is shown as soon as it is there.
const PAUSE: Duration = Duration::from_secs(1);
/// Readings continue for this long after the last look: a viewer looks at each reading.
const SEEN_FOR: Duration = Duration::from_millis(2500);
/// A page that is opened does not show an older reading, unless the store is away.
const FRESH: Duration = Duration::from_millis(2500);

/// The latest reading, which a task renews while there are viewers.
pub(in crate::ui) struct Board(Arc<Shared>);

struct Shared {
    app: App,
    latest: watch::Sender<Option<(Instant, Arc<Snapshot>)>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    until: Option<Instant>,
    /// A task reads.
    is_read: bool,
}

/// What was read at one moment.
#[derive(Clone)]
pub(in crate::ui) struct Snapshot {
    /// The last figures that could be read; none if there never were any.
    pub(in crate::ui) figures: Option<Arc<Figures>>,
    /// When they were read, by the clock of this server.
    pub(in crate::ui) read_at: Timestamp,
    /// Set while the store does not answer.
    pub(in crate::ui) outage: Option<Outage>,
    pub(in crate::ui) extras: Extras,
}

/// Why there are no newer figures.
#[derive(Clone)]
pub(in crate::ui) struct Outage {
    pub(in crate::ui) since: Timestamp,
    pub(in crate::ui) detail: String,
}

impl Board {
    pub(in crate::ui) fn new(app: App) -> Self {
        Self(Arc::new(Shared { app, latest: watch::Sender::new(None), seen: Mutex::default() }))
    }

    /// A reading of the last seconds.
    pub(in crate::ui) async fn now(&self) -> Arc<Snapshot> {
        self.next(|(at, _)| at.elapsed() < FRESH).await
    }

    /// The next reading after this one.
    pub(super) async fn after(&self, seen: Option<&Arc<Snapshot>>) -> Arc<Snapshot> {
        let is_new = |(at, latest): &(Instant, Arc<Snapshot>)| {
            at.elapsed() < FRESH && seen.is_none_or(|seen| !Arc::ptr_eq(seen, latest))
        };
        self.next(is_new).await
    }

    async fn next(&self, is_wanted: impl Fn(&(Instant, Arc<Snapshot>)) -> bool) -> Arc<Snapshot> {
        let mut readings = self.0.latest.subscribe();
        loop {
            self.0.keep_reading();
            if let Some(reading) = readings.borrow_and_update().as_ref().filter(|r| is_wanted(r)) {
                return Arc::clone(&reading.1);
            }
            // The store may take longer than readings continue without a look.
            let _ = tokio::time::timeout(PAUSE, readings.changed()).await;
        }
    }
}

impl Shared {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep_reading(self: &Arc<Self>) {
        let mut seen = self.seen();
        seen.until = Some(Instant::now() + SEEN_FOR);
        if !std::mem::replace(&mut seen.is_read, true) {
            tokio::spawn(keep_reading(Arc::clone(self)));
        }
    }

    /// Whether there are viewers. If there are none, this task ends, and the next viewer starts
    /// another.
    fn is_seen(&self) -> bool {
        let mut seen = self.seen();
        let is_seen = seen.until.is_some_and(|until| Instant::now() < until);
        seen.is_read = is_seen && !self.app.stopping().is_cancelled();
        seen.is_read
    }

    /// Reads the next figures after these, which are kept for all routes, and one of the other
    /// things.
    async fn read(&self, before: Option<Arc<Snapshot>>, seen: Option<&Arc<Figures>>) -> Snapshot {
        let now = self.app.now();
        let figures = self.app.figures_after(seen).await;
        let mut extras = before.as_ref().map(|last| last.extras.clone()).unwrap_or_default();
        match figures {
            Ok(figures) => {
                extras.read_next(&self.app, &figures).await;
                Snapshot { figures: Some(figures), read_at: self.app.now(), outage: None, extras }
            }
            Err(error) => {
                let outage = before.as_ref().and_then(|last| last.outage.clone());
                let since = outage.map_or(now, |outage| outage.since);
                // Said as to callers of the API: the text of the driver is for the log.
                let detail = Problem::from(error).detail().to_owned();
                Snapshot {
                    figures: before.as_ref().and_then(|last| last.figures.clone()),
                    read_at: before.as_ref().map_or(now, |last| last.read_at),
                    outage: Some(Outage { since, detail }),
                    extras,
                }
            }
        }
    }
}

async fn keep_reading(shared: Arc<Shared>) {
    let stopping = shared.app.stopping().clone();
    // A viewer who returns after a while gets the latest figures, without waiting for new ones.
    let mut seen = None;
    while shared.is_seen() {
        let before = shared.latest.borrow().as_ref().map(|(_, last)| Arc::clone(last));
        let next = shared.read(before, seen.as_ref()).await;
        let is_away = next.outage.is_some();
        seen.clone_from(&next.figures);
        shared.latest.send_replace(Some((Instant::now(), Arc::new(next))));
        if is_away {
            stopping.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use queuekit::memory::{MemoryStore, Operation, When};
    use queuekit::store::Backend;
    use queuekit::{Client, JobDraft};

    use super::*;
    use crate::api::test_app::{app_of, client_counting};

    async fn counted() -> (Arc<Board>, Arc<AtomicUsize>) {
        let store: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let (client, calls) = client_counting(&store);
        client.enqueue(JobDraft::new("t", "1")).await.unwrap();
        calls.store(0, Ordering::SeqCst);
        (Arc::new(Board::new(app_of(client))), calls)
    }

    /// The calls of the store in this many seconds with this many viewers.
    async fn calls_in(seconds: u32, viewers: usize) -> usize {
        let (board, calls) = counted().await;
        let looks = Arc::new(AtomicBool::new(true));
        for _ in 0..viewers {
            let (board, looks) = (Arc::clone(&board), Arc::clone(&looks));
            tokio::spawn(async move {
                let mut seen = None;
                while looks.load(Ordering::SeqCst) {
                    seen = Some(board.after(seen.as_ref()).await);
                }
            });
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
        let before = calls.load(Ordering::SeqCst);
        tokio::time::sleep(PAUSE * seconds).await;
        let made = calls.load(Ordering::SeqCst) - before;
        looks.store(false, Ordering::SeqCst);
        tokio::time::sleep(SEEN_FOR + PAUSE * 4).await;
        let ended = calls.load(Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(600)).await;
        assert_eq!(calls.load(Ordering::SeqCst), ended, "nobody looks any more");
        made
    }

    /// Guard: pages that each ask the store have taken databases down.
    #[tokio::test(start_paused = true)]
    async fn s6_any_number_of_viewers_costs_three_calls_a_second_and_none_costs_none() {
        const SECONDS: u32 = 60;
        assert_eq!(calls_in(SECONDS, 0).await, 0);
        let one = calls_in(SECONDS, 1).await;
        let most = 3 * SECONDS as usize;
        assert!((most / 3..=most).contains(&one), "{one}");
        let fifty = calls_in(SECONDS, 50).await;
        assert!((most / 3..=most).contains(&fifty), "{fifty}");
    }

    /// Guard: a pause of the board after that of the figures would make it two seconds.
    #[tokio::test(start_paused = true)]
    async fn what_has_changed_is_shown_with_the_next_figures() {
        let client = Client::new(MemoryStore::new());
        let app = app_of(client.clone());
        let begun = app.figures().await.is_ok();
        tokio::time::sleep(PAUSE * 9 / 10).await;
        let board = Board::new(app);
        let mut last = board.now().await;
        assert!(begun && last.outage.is_none());
        for jobs in 1..=10 {
            client.enqueue(JobDraft::new("t", "1")).await.unwrap();
            let changed = Instant::now();
            let count = |of: &Snapshot| {
                of.figures.as_ref().unwrap().queues.first().map_or(0, |queue| queue.totals.enqueued)
            };
            while count(&last) < jobs {
                last = board.after(Some(&last)).await;
            }
            assert!(changed.elapsed() <= PAUSE * 11 / 10, "{:?}", changed.elapsed());
            tokio::time::sleep(PAUSE * 37 / 100).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_figures_stay_while_the_store_is_away_and_new_ones_come_when_it_is_back() {
        let store = Arc::new(MemoryStore::new());
        let client = Client::new(Arc::clone(&store));
        client.enqueue(JobDraft::new("t", "1")).await.unwrap();
        let board = Board::new(app_of(client));
        let first = board.now().await;
        assert!(first.outage.is_none());
        for nth in 1..=6 {
            store.faults().fail(Operation::ListQueues, nth, When::Before);
        }
        let mut last = Arc::clone(&first);
        while last.outage.is_none() {
            last = board.after(Some(&last)).await;
        }
        let (since, read_at) = (last.outage.as_ref().unwrap().since, last.read_at);
        assert_eq!(last.figures.as_ref().unwrap().queues.len(), 1, "what was there stays");
        let next = board.after(Some(&last)).await;
        let outage = next.outage.as_ref().unwrap();
        assert_eq!((outage.since, next.read_at), (since, read_at));
        assert!(!outage.detail.is_empty());
        let mut last = Arc::clone(&next);
        while last.outage.is_some() {
            last = board.after(Some(&last)).await;
        }
        let (old, new) = (next.figures.as_ref().unwrap(), last.figures.as_ref().unwrap());
        assert!(!Arc::ptr_eq(old, new), "it heals by itself");
    }
}
