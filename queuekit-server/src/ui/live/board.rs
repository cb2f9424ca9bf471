//! What is shown to all viewers: read once a second for all of them, and not at all for none.

use std::collections::HashMap;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use queuekit::Timestamp;
use tokio::sync::watch;
use tokio::time::Instant;

use super::extras::Extras;
use super::watched::{Subject, Watched, Watching};
use crate::api::{App, Figures};
use crate::web::{Caller, Problem};

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
    watched: Arc<Watched>,
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
    /// How much needs attention, by the id of the caller that sees it.
    attention: Arc<Mutex<HashMap<String, u64>>>,
}

/// Why there are no newer figures.
#[derive(Clone)]
pub(in crate::ui) struct Outage {
    pub(in crate::ui) since: Timestamp,
    pub(in crate::ui) detail: String,
}

impl Snapshot {
    /// How much needs attention, counted once for each caller: every page says it, and a count
    /// looks at all queues.
    pub(in crate::ui) fn attention(&self, caller: &Caller, count: impl FnOnce() -> u64) -> u64 {
        let counts = || self.attention.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(counted) = counts().get(caller.id()) {
            return *counted;
        }
        let counted = count();
        counts().insert(caller.id().to_owned(), counted);
        counted
    }
}

impl Board {
    pub(in crate::ui) fn new(app: App) -> Self {
        let (latest, seen) = (watch::Sender::new(None), Mutex::default());
        Self(Arc::new(Shared { app, latest, seen, watched: Arc::default() }))
    }

    /// Has this read too, as long as its page is open.
    pub(super) fn watch(&self, subject: Subject, viewer: &Caller) -> Watching {
        self.0.watched.watch(subject, viewer.id())
    }

    /// A reading of the last seconds.
    pub(in crate::ui) async fn now(&self) -> Arc<Snapshot> {
        self.next(|(at, _)| at.elapsed() < FRESH).await
    }

    /// Completes when the store is known to be away.
    pub(in crate::ui) async fn outage(&self) -> Outage {
        let mut seen = Weak::new();
        loop {
            let now = self.after(&seen).await;
            if let Some(outage) = &now.outage {
                return outage.clone();
            }
            seen = Arc::downgrade(&now);
        }
    }

    /// The next reading after this one, which nobody has to keep until then.
    pub(super) async fn after(&self, seen: &Weak<Snapshot>) -> Arc<Snapshot> {
        let is_new = |(at, latest): &(Instant, Arc<Snapshot>)| {
            at.elapsed() < FRESH && !ptr::eq(seen.as_ptr(), Arc::as_ptr(latest))
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
    /// things: each second one is for a page that is open, if it needs any.
    async fn read(&self, before: Option<Arc<Snapshot>>, seen: Option<&Arc<Figures>>) -> Snapshot {
        let now = self.app.now();
        let figures = self.app.figures_after(seen).await;
        let mut extras = before.as_ref().map(|last| last.extras.clone()).unwrap_or_default();
        match figures {
            Ok(figures) => {
                self.read_one(&mut extras, &figures).await;
                Snapshot {
                    figures: Some(figures),
                    read_at: self.app.now(),
                    outage: None,
                    extras,
                    attention: Arc::default(),
                }
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
                    attention: Arc::default(),
                }
            }
        }
    }
}

impl Shared {
    /// If it cannot be read, what is known stays: the figures tell of an outage.
    async fn read_one(&self, extras: &mut Extras, figures: &Figures) {
        let read = match extras.is_page_next() {
            true => self.watched.read_next(&self.app, figures).await,
            false => Ok(false),
        };
        let read = match read {
            Ok(false) => extras.read_next(&self.app, figures).await,
            read => read.map(drop),
        };
        if let Err(error) = read {
            tracing::debug!(%error, "a part of a page could not be read");
        }
    }
}

async fn keep_reading(shared: Arc<Shared>) {
    let stopping = shared.app.stopping().clone();
    // The first reading after a pause takes the latest figures, and waits for no new ones.
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
    use queuekit::{Client, JobDraft, JobId};

    use super::super::WatchedJob;
    use super::*;
    use crate::api::test_app::{app_counting, app_of, client_counting};

    async fn counted(jobs: usize) -> (Arc<Board>, Vec<JobId>, Arc<AtomicUsize>) {
        let store: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let (client, calls) = client_counting(&store);
        let drafts = (0..jobs.max(1)).map(|_| JobDraft::new("t", "1"));
        let ids = client.enqueue_all(drafts).await.unwrap().ids().unwrap();
        calls.store(0, Ordering::SeqCst);
        (Arc::new(Board::new(app_of(client))), ids, calls)
    }

    async fn after(board: &Board, last: &Arc<Snapshot>) -> Arc<Snapshot> {
        board.after(&Arc::downgrade(last)).await
    }

    /// The calls of the store in this many seconds with this many viewers, each of whom has the
    /// page of one of these jobs open.
    async fn calls_in(seconds: u32, viewers: usize, jobs: usize) -> usize {
        let (board, ids, calls) = counted(jobs).await;
        let looks = Arc::new(AtomicBool::new(true));
        for viewer in 0..viewers {
            let (board, looks) = (Arc::clone(&board), Arc::clone(&looks));
            let job = ids.get(viewer % jobs.max(1)).copied().filter(|_| jobs > 0);
            tokio::spawn(async move {
                let _watching = job.map(|job| board.watch(Subject::Job(job), &Caller::operator()));
                let mut seen = Weak::new();
                while looks.load(Ordering::SeqCst) {
                    seen = Arc::downgrade(&board.after(&seen).await);
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
        assert_eq!(calls_in(SECONDS, 0, 0).await, 0);
        let most = 3 * SECONDS as usize;
        for (viewers, jobs) in [(1, 0), (50, 0), (1, 1), (50, 1), (50, 50)] {
            let calls = calls_in(SECONDS, viewers, jobs).await;
            assert!((most / 3..=most).contains(&calls), "{viewers}, {jobs}: {calls}");
        }
    }

    /// Guard: what the store finds wrong costs it more than figures.
    #[tokio::test(start_paused = true)]
    async fn s6_the_store_is_asked_what_it_finds_wrong_once_a_minute() {
        let store: Arc<dyn Backend> = Arc::new(MemoryStore::new());
        let (app, calls) = app_counting("findings", &store);
        let board = Board::new(app);
        let (begun, mut last) = (Instant::now(), board.now().await);
        while begun.elapsed() < Duration::from_secs(600) {
            last = after(&board, &last).await;
        }
        let calls = calls.load(Ordering::SeqCst);
        assert!((8..=10).contains(&calls), "{calls} in 10 minutes");
        assert_eq!(last.extras.findings.len(), 1);
    }

    /// Guard: a job waits for its turn among those whose pages are open, and for nothing else.
    #[tokio::test(start_paused = true)]
    async fn jobs_whose_pages_are_open_are_read_in_turns_and_others_are_not() {
        let (board, ids, calls) = counted(3).await;
        let viewer = Caller::operator();
        let watching: Vec<Watching> =
            ids.iter().take(2).map(|id| board.watch(Subject::Job(*id), &viewer)).collect();
        let mut snapshot = board.now().await;
        let mut last: Vec<Option<Arc<WatchedJob>>> = vec![None; 2];
        for _ in 0..5 {
            // Each second reading has a job.
            for _ in 0..5 {
                snapshot = after(&board, &snapshot).await;
            }
            let now: Vec<_> = watching.iter().map(Watching::job).collect();
            for (now, last) in now.iter().zip(&last) {
                let now = now.as_ref().expect("it was read");
                assert!(last.as_ref().is_none_or(|last| !Arc::ptr_eq(now, last)), "it is read");
            }
            last = now;
        }
        let why = watching[0].job().unwrap().why.as_ref().unwrap().to_string();
        assert!(why.contains("no live worker"), "{why}");
        drop((watching, last));
        let figures = snapshot.figures.clone().unwrap();
        let before = calls.load(Ordering::SeqCst);
        assert!(!board.0.watched.read_next(&board.0.app, &figures).await.unwrap());
        assert_eq!(calls.load(Ordering::SeqCst), before, "nobody looks at them any more");
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
                last = after(&board, &last).await;
            }
            assert!(changed.elapsed() <= PAUSE * 11 / 10, "{:?}", changed.elapsed());
            tokio::time::sleep(PAUSE * 37 / 100).await;
        }
    }

    /// Guard: clients that read slowly had the reading of each second kept.
    #[tokio::test(start_paused = true)]
    async fn s6_a_viewer_that_waits_for_the_next_reading_keeps_no_earlier_one() {
        let (board, ..) = counted(1).await;
        let seen = Arc::downgrade(&board.now().await);
        assert!(seen.upgrade().is_some());
        let outage = tokio::spawn({
            let board = Arc::clone(&board);
            async move { board.outage().await }
        });
        for _ in 0..2 {
            let next = Arc::downgrade(&board.after(&seen).await);
            tokio::time::sleep(PAUSE * 3).await;
            assert!(seen.upgrade().is_none() && !ptr::eq(next.as_ptr(), seen.as_ptr()));
        }
        assert!(!outage.is_finished());
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
            last = after(&board, &last).await;
        }
        let (since, read_at) = (last.outage.as_ref().unwrap().since, last.read_at);
        assert_eq!(last.figures.as_ref().unwrap().queues.len(), 1, "what was there stays");
        let next = after(&board, &last).await;
        let outage = next.outage.as_ref().unwrap();
        assert_eq!((outage.since, next.read_at), (since, read_at));
        assert!(!outage.detail.is_empty());
        let mut last = Arc::clone(&next);
        while last.outage.is_some() {
            last = after(&board, &last).await;
        }
        let (old, new) = (next.figures.as_ref().unwrap(), last.figures.as_ref().unwrap());
        assert!(!Arc::ptr_eq(old, new), "it heals by itself");
    }
}
