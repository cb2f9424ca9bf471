//! How long runs waited and took in each minute of the last hour, read bit by bit.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use queuekit::history::{HistoryPlace, HistoryQuery, Resolution, Runs, RunsRow};
use queuekit::jobs::PageSize;
use queuekit::{QueueName, Timestamp};

use crate::api::App;

/// Minutes that are shown.
const MINUTES: u32 = 60;
/// The most pairs of minute and queue. If there are more, nothing is remembered for an hour: the
/// charts of how long runs took then change only when a page is loaded.
const PAIRS: usize = 20_000;

/// Runs by minute and queue.
#[derive(Clone, Default)]
pub(in crate::ui) struct RunsTrend {
    minutes: Arc<Minutes>,
    pass: Pass,
    /// When the last pass began.
    whole_at: Option<Timestamp>,
    /// When there were too many pairs.
    gave_up_at: Option<Timestamp>,
}

type Minutes = BTreeMap<Timestamp, HashMap<QueueName, Runs>>;

/// What one pass has read so far. Workers add to the present minute, so that the next pass reads it
/// anew.
#[derive(Clone, Default)]
struct Pass {
    began: Option<Timestamp>,
    minutes: Minutes,
    after: Option<HistoryPlace>,
}

impl RunsTrend {
    /// Reads the next page of rows. One call of the store.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn read_next(&mut self, app: &App, now: Timestamp) -> queuekit::Result<()> {
        let Some(history) = app.store().capabilities().history else { return Ok(()) };
        let length = Resolution::Minute.length();
        if self.gave_up_at.is_some_and(|at| now.since(at) < length * MINUTES) {
            return Ok(());
        }
        let oldest = Resolution::Minute.start_of(now).minus(length * MINUTES);
        // The minute before too: a worker may have added to it late.
        let from = self.whole_at.map_or(oldest, |at| Resolution::Minute.start_of(at).minus(length));
        let mut query = HistoryQuery::new(Resolution::Minute, from.max(oldest), now);
        query.after = self.pass.after.clone();
        let rows = history.list_runs(&query).await?;
        self.pass.began.get_or_insert(now);
        self.pass.after = rows.last().map(RunsRow::place);
        let is_last = rows.len() < PageSize::MAX.get();
        for RunsRow { queue, at, runs, .. } in rows {
            self.pass.minutes.entry(at).or_default().entry(queue).or_default().merge(&runs);
        }
        if pairs(&self.pass.minutes) + pairs(&self.minutes) > PAIRS {
            *self = Self { gave_up_at: Some(now), ..Self::default() };
        } else if is_last {
            let Pass { began, minutes: read, .. } = std::mem::take(&mut self.pass);
            let minutes = Arc::make_mut(&mut self.minutes);
            minutes.retain(|at, _| *at >= oldest && *at < from);
            minutes.extend(read);
            self.whole_at = began;
        }
        Ok(())
    }

    /// Whether all rows are here but the latest ones.
    pub(in crate::ui) fn is_whole(&self, now: Timestamp) -> bool {
        let late = now.minus(Resolution::Minute.length());
        self.whole_at.is_some_and(|at| at >= late)
    }

    /// The runs of these queues, by minute.
    pub(in crate::ui) fn of(
        &self,
        is_wanted: impl Fn(&QueueName) -> bool,
    ) -> BTreeMap<Timestamp, Runs> {
        let mut found = BTreeMap::<Timestamp, Runs>::new();
        for (at, queues) in &*self.minutes {
            for (_, runs) in queues.iter().filter(|(queue, _)| is_wanted(queue)) {
                found.entry(*at).or_default().merge(runs);
            }
        }
        found
    }
}

fn pairs(minutes: &Minutes) -> usize {
    minutes.values().map(HashMap::len).sum()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queuekit::Client;
    use queuekit::memory::MemoryStore;
    use queuekit::store::history::RunsAdded;
    use queuekit::store::{Backend, Clock, Kind, ManualClock};

    use super::*;
    use crate::api::test_app::app_of;

    /// Guard: workers add to a minute that was read before.
    #[tokio::test]
    async fn runs_that_are_added_to_a_minute_later_are_counted_once() {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let app = app_of(Client::new(store.clone()));
        let add = async |queue: &str, kind: &str| {
            let (queue, kind) = (QueueName::new(queue).unwrap(), Some(Kind::new(kind).unwrap()));
            let runs = Runs { completed: 1, ..Runs::default() };
            let added = [RunsAdded { queue, kind, runs }];
            store.capabilities().history.unwrap().add_runs(&added).await.unwrap();
        };
        let mut trend = RunsTrend::default();
        let by_minute = |trend: &RunsTrend| -> Vec<u64> {
            trend.of(|queue| queue.as_str() == "a").values().map(|runs| runs.completed).collect()
        };
        for (minute, wanted) in [vec![3], vec![3, 3], vec![3, 3, 3]].into_iter().enumerate() {
            for kind in ["x", "y", "x"] {
                clock.advance(Duration::from_secs(10));
                add("a", kind).await;
                add("b", kind).await;
                trend.read_next(&app, clock.now()).await.unwrap();
            }
            assert!(trend.is_whole(clock.now()));
            assert_eq!(by_minute(&trend), wanted, "minute {minute}");
            clock.advance(Duration::from_secs(30));
        }
        clock.advance(Duration::from_secs(3600));
        assert!(!trend.is_whole(clock.now()), "nobody has looked for an hour");
        trend.read_next(&app, clock.now()).await.unwrap();
        assert!(by_minute(&trend).is_empty(), "they are older than an hour");
    }
}
