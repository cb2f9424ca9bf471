//! The ticks of one process: they leave out for a while what could not be served.

use std::time::Duration;

use super::scheduler::Scheduler;
use super::tick::{Round, Served, Ticked};
use crate::backend::Backend;
use crate::capability::{ScheduleQuery, ScheduleRow, ScheduleRows};
use crate::clock::Timestamp;
use crate::error::Result;
use crate::names::ScheduleName;
use crate::retry::schedule_retry_after;

/// The most schedules that one tick reads.
const ROWS: usize = 1000;

/// Ticks again and again. A schedule that cannot be served, for example because its queue is full,
/// stays due, and may be large. It is tried again after 1 s, and if it keeps failing after up to
/// 8 s; until then this process does not read it.
#[derive(Debug, Default)]
pub struct Ticker {
    held: Option<Held>,
}

/// Schedules that could not be served: all that are due up to a place, because those that were
/// served are due later.
#[derive(Debug)]
struct Held {
    up_to: Place,
    until: Timestamp,
    wait: Duration,
}

impl Held {
    /// Also if the clock was set back, because the time to try again would be far away.
    fn is_over(&self, now: Timestamp) -> bool {
        self.until <= now || self.until.since(now) > self.wait
    }
}

/// By its next time and its name.
type Place = (Timestamp, ScheduleName);

impl Ticker {
    /// Runs [`Scheduler::tick`] on the schedules that are not left out; `None` if the store keeps
    /// no schedules.
    ///
    /// # Errors
    /// Those of [`Scheduler::tick`].
    pub async fn tick(&mut self, backend: &dyn Backend) -> Result<Option<Ticked>> {
        match backend.capabilities().schedules {
            Some(_) => self.tick_on(Scheduler::of(backend)).await.map(Some),
            None => Ok(None),
        }
    }

    pub(super) async fn tick_on(&mut self, scheduler: Scheduler<'_>) -> Result<Ticked> {
        // After an error, the next tick tries all.
        let mut held = self.held.take();
        let up_to = held.as_ref().map(|held| held.up_to.clone());
        let mut found = due(&scheduler, up_to).await?;
        let wait = held.as_ref().map(|held| held.wait);
        if held.as_ref().is_some_and(|held| held.is_over(found.now)) {
            held = None;
            found = due(&scheduler, None).await?;
        }
        let (mut round, mut run) = (Round::default(), Run::default());
        round.ticked.left_out = held.is_some();
        loop {
            round.ticked.look_again_in(found.next_due_in);
            let mut some_served = false;
            for row in &found.rows {
                let served = scheduler.serve_or_note(row, found.now, &mut round).await?;
                some_served |= served != Served::Failed;
                run.add(row, served);
            }
            match found.next.take() {
                // Schedules that cannot be served stay the earliest, so the tick reads past them.
                Some(next) if !some_served => {
                    found = scheduler.rows()?.find_schedules(&next).await?
                }
                next => {
                    round.ticked.more |= next.is_some();
                    break;
                }
            }
        }
        self.held = match held {
            Some(held) => Some(Held { up_to: run.end.unwrap_or(held.up_to), ..held }),
            None => run.end.filter(|_| run.has_failed).map(|up_to| {
                let wait = schedule_retry_after(wait);
                Held { up_to, until: found.now + wait, wait }
            }),
        };
        let again = self.held.as_ref().map(|held| held.until.since(found.now));
        round.ticked.look_again_in(again);
        Ok(round.ticked)
    }
}

impl Scheduler<'_> {
    /// Enqueues the occurrences that are due (R15.2), each exactly once, however many processes
    /// tick, are killed or are restarted. The first process that changes the schedule's row
    /// enqueues its jobs in the same step. All others find that the row has changed.
    ///
    /// # Errors
    /// `Unavailable`, `Indeterminate`, `Closed`. Occurrences that were not enqueued stay due for
    /// the next tick.
    pub async fn tick(&self) -> Result<Ticked> {
        Ticker::default().tick_on(*self).await
    }
}

async fn due(scheduler: &Scheduler<'_>, behind: Option<Place>) -> Result<ScheduleRows> {
    scheduler.rows()?.find_schedules(&ScheduleQuery::Due(behind, ROWS)).await
}

/// The schedules that a tick has tried, up to the first that is still to be served.
#[derive(Default)]
struct Run {
    end: Option<Place>,
    has_failed: bool,
    is_over: bool,
}

impl Run {
    fn add(&mut self, row: &ScheduleRow, served: Served) {
        self.is_over |= served == Served::InPart;
        if self.is_over {
            return;
        }
        self.has_failed |= served == Served::Failed;
        self.end = row.next_at.map(|at| (at, row.name.clone()));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::client::Client;
    use crate::clock::{Clock, ManualClock};
    use crate::job::JobDraft;
    use crate::memory::MemoryStore;
    use crate::queue::QueuePatch;
    use crate::schedule::{CatchUp, ScheduleDraft};

    const SECOND: Duration = Duration::from_secs(1);

    struct Stage {
        clock: ManualClock,
        store: Arc<MemoryStore>,
        client: Client,
        ticker: Ticker,
    }

    impl Stage {
        /// The queue `full` takes this many jobs; schedules of it and of `free` run each second.
        async fn with_room_for(jobs: u64) -> Self {
            let clock = ManualClock::default();
            let store = Arc::new(MemoryStore::with_clock(clock.clone()));
            let client = Client::shared(Arc::clone(&store) as _);
            let stage = Self { clock, store, client, ticker: Ticker::default() };
            let admin = stage.store.capabilities().admin.unwrap();
            let patch = QueuePatch::default().max_pending(Some(jobs));
            admin.configure(&"full".try_into().unwrap(), &patch).await.unwrap();
            stage
        }

        async fn put(&self, name: &str, queue: &str) {
            let job = JobDraft::new("t", "null").queue(queue);
            let draft = ScheduleDraft::every(name, SECOND, job).catch_up(CatchUp::All(1000));
            self.client.schedules().put(draft).await.unwrap();
        }

        /// Ticks this much later. Returns how many jobs came, and which schedules failed.
        async fn after(&mut self, time: Duration) -> (usize, Vec<String>) {
            self.clock.advance(time);
            let ticked = self.ticker.tick(&*self.store).await.unwrap().unwrap();
            let failed = ticked.failed.into_iter().map(|(name, _)| name.to_string()).collect();
            (ticked.enqueued, failed)
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[tokio::test]
    async fn r15_7_a_schedule_whose_queue_is_full_is_left_out_for_up_to_8_s() {
        let mut stage = Stage::with_room_for(0).await;
        stage.put("a", "full").await;
        stage.put("b", "full").await;
        assert_eq!(stage.after(SECOND).await, (0, names(&["a", "b"])));
        stage.put("c", "free").await;
        let moment = Duration::from_millis(1);
        for wait in [1, 2, 4, 8, 8] {
            let (jobs, failed) = stage.after(SECOND * wait - moment).await;
            assert_eq!(failed, names(&[]), "{wait} s are not over");
            assert_eq!(jobs, wait as usize - 1, "others are served meanwhile");
            assert_eq!(stage.after(moment).await, (1, names(&["a", "b"])), "{wait} s are over");
        }
        let all = QueuePatch::default().max_pending(None);
        let admin = stage.store.capabilities().admin.unwrap();
        admin.configure(&"full".try_into().unwrap(), &all).await.unwrap();
        let (jobs, failed) = stage.after(8 * SECOND).await;
        assert_eq!((jobs, failed), (8 + 2 * 32, names(&[])), "each second of both is enqueued");
    }

    #[tokio::test]
    async fn r15_7_a_clock_that_was_set_back_leaves_no_schedule_out() {
        let mut stage = Stage::with_room_for(0).await;
        stage.put("a", "full").await;
        assert_eq!(stage.after(100 * SECOND).await.1, names(&["a"]));
        assert_eq!(stage.after(Duration::ZERO).await.1, names(&[]));
        stage.clock.set(stage.clock.now().minus(50 * SECOND));
        assert_eq!(stage.after(Duration::ZERO).await.1, names(&["a"]));
    }

    #[tokio::test]
    async fn r15_7_a_schedule_that_owes_more_is_not_left_out_with_those_that_fail() {
        let mut stage = Stage::with_room_for(0).await;
        for (name, queue) in [("a", "full"), ("b", "free"), ("c", "full")] {
            stage.put(name, queue).await;
        }
        assert_eq!(stage.after(250 * SECOND).await, (100, names(&["a", "c"])));
        let none = Duration::ZERO;
        assert_eq!(stage.after(none).await.0, 100);
        assert_eq!(stage.after(none).await.0, 50);
        assert_eq!(stage.after(none).await, (0, names(&[])));
    }
}
