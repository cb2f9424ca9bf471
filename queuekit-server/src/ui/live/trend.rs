//! What each queue has done in each minute of the last hour, read bit by bit.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use queuekit::history::{HistoryPlace, HistoryQuery, Resolution, TotalsRow};
use queuekit::jobs::PageSize;
use queuekit::{QueueName, Timestamp};

use crate::api::App;
use crate::ui::attention::Growth;

/// Minutes that are shown.
const MINUTES: usize = 60;
/// The most queues that are remembered; others have no line.
const QUEUES: usize = 2000;

/// Totals by queue and minute.
#[derive(Clone, Default)]
pub(in crate::ui) struct Trend {
    queues: Arc<HashMap<QueueName, VecDeque<TotalsRow>>>,
    /// The last row that was read.
    last: Option<HistoryPlace>,
    /// The minute in which there was no further row to read.
    whole_at: Option<Timestamp>,
}

impl Trend {
    /// Reads the next page of rows, if there may be any that were not read yet. One call of the
    /// store.
    ///
    /// # Errors
    /// Those of the store.
    pub(super) async fn read_next(&mut self, app: &App, now: Timestamp) -> queuekit::Result<()> {
        let Some(history) = app.store().capabilities().history else { return Ok(()) };
        let current = Resolution::Minute.start_of(now);
        let has_current = self.last.as_ref().is_some_and(|last| last.at >= current);
        if has_current && self.whole_at == Some(current) {
            return Ok(());
        }
        let from = now.minus(Resolution::Minute.length() * (MINUTES as u32 + 1));
        let mut query = HistoryQuery::new(Resolution::Minute, from, now).limit(PageSize::MAX);
        query.after = self.last.clone().filter(|last| last.at >= from);
        let rows = history.list_totals(&query).await?;
        let is_whole = rows.len() < PageSize::MAX.get();
        self.whole_at = is_whole.then_some(current).or(self.whole_at);
        let queues = Arc::make_mut(&mut self.queues);
        for row in rows {
            self.last = Some(row.place());
            if queues.len() >= QUEUES && !queues.contains_key(&row.queue) {
                continue;
            }
            let minutes = queues.entry(row.queue.clone()).or_default();
            minutes.push_back(row);
            while minutes.front().is_some_and(|row| row.at < from) {
                minutes.pop_front();
            }
        }
        queues.retain(|_, minutes| minutes.back().is_some_and(|row| row.at >= from));
        Ok(())
    }

    /// Whether all rows are here but those of the last two minutes, which may still be written.
    pub(in crate::ui) fn is_whole(&self, now: Timestamp) -> bool {
        let late = now.minus(Resolution::Minute.length() * 2);
        self.queues.len() < QUEUES && self.whole_at.is_some_and(|at| at >= late)
    }

    /// The rows of a queue, oldest first.
    pub(in crate::ui) fn rows(&self, queue: &QueueName) -> Vec<TotalsRow> {
        self.queues.get(queue).into_iter().flatten().cloned().collect()
    }

    /// The jobs that a queue has completed in the last minutes that are over; none if they were not
    /// read yet.
    pub(in crate::ui) fn completed_lately(
        &self,
        queue: &QueueName,
        minutes: usize,
        now: Timestamp,
    ) -> Option<u64> {
        let of_hour = self.is_whole(now).then(|| self.completed(queue, now))?;
        Some(of_hour.iter().rev().take(minutes).sum())
    }

    /// How the backlog of a queue has grown in the last minutes; none if they were not read yet.
    pub(in crate::ui) fn growth(
        &self,
        queue: &QueueName,
        minutes: u32,
        now: Timestamp,
    ) -> Option<Growth> {
        let from = now.minus(Resolution::Minute.length() * minutes);
        let rows = self.queues.get(queue).filter(|_| self.is_whole(now))?;
        let first = rows.iter().rev().find(|row| row.at <= from)?;
        let last = rows.back()?;
        Some(Growth::of(last.totals.since(&first.totals), minutes.into()))
    }

    /// The jobs that a queue has completed in each minute of the hour before, oldest first.
    pub(in crate::ui) fn completed(&self, queue: &QueueName, now: Timestamp) -> Vec<u64> {
        let mut values = vec![0; MINUTES];
        let Some(minutes) = self.queues.get(queue) else { return values };
        let length = Resolution::Minute.length();
        let begin = Resolution::Minute.start_of(now).minus(length * MINUTES as u32);
        for (before, row) in minutes.iter().zip(minutes.iter().skip(1)) {
            let minute = row.at.since(begin).as_secs() / length.as_secs();
            let place = usize::try_from(minute).ok().filter(|_| row.at >= begin);
            if let Some(value) = place.and_then(|place| values.get_mut(place)) {
                *value += row.totals.since(&before.totals).completed;
            }
        }
        values
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use queuekit::memory::MemoryStore;
    use queuekit::queues::Totals;
    use queuekit::store::{Ack, Backend, Clock, LeaseTtl, ManualClock, Reserve};
    use queuekit::workers::WorkerId;
    use queuekit::{Client, JobDraft};

    use super::*;
    use crate::api::test_app::app_of;

    /// Guard: a chart of a part of the rows would be wrong.
    #[tokio::test]
    async fn a_trend_is_whole_once_all_rows_of_the_hour_were_read() {
        const QUEUES: usize = 700;
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let client = Client::new(store.clone());
        for _ in 0..3 {
            let jobs = (0..QUEUES).map(|at| JobDraft::new("t", "1").queue(format!("q{at}")));
            client.enqueue_all(jobs).await.unwrap().ids().unwrap();
            assert!(store.capabilities().history.unwrap().record_totals().await.unwrap());
            clock.advance(Duration::from_secs(60));
        }
        let app = app_of(client);
        let (mut trend, mut reads) = (Trend::default(), 0);
        while !trend.is_whole(clock.now()) {
            trend.read_next(&app, clock.now()).await.unwrap();
            reads += 1;
        }
        assert_eq!(reads, (3 * QUEUES).div_ceil(1000));
        let rows = trend.rows(&QueueName::new("q0").unwrap());
        let enqueued: Vec<u64> = rows.iter().map(|row| row.totals.enqueued).collect();
        assert_eq!(enqueued, [1, 2, 3]);
        clock.advance(Duration::from_secs(180));
        assert!(!trend.is_whole(clock.now()), "later rows were not read");
    }

    /// Guard: the rate of a consumer is that of the last minutes alone.
    #[tokio::test]
    async fn what_was_completed_lately_is_counted_by_minutes() {
        let clock = ManualClock::default();
        let store = MemoryStore::with_clock(clock.clone());
        let client = Client::new(store.clone());
        let app = app_of(client.clone());
        let mut trend = Trend::default();
        let queue = QueueName::default();
        for jobs in [4_u64, 2, 1, 0] {
            for _ in 0..jobs {
                client.enqueue(JobDraft::new("t", "1")).await.unwrap();
                let lease = store.reserve(&request()).await.unwrap().leases.remove(0);
                client.ack(vec![Ack::new(lease.token)]).await.unwrap();
            }
            assert!(store.capabilities().history.unwrap().record_totals().await.unwrap());
            clock.advance(Duration::from_secs(60));
        }
        let lately = |trend: &Trend, minutes| trend.completed_lately(&queue, minutes, clock.now());
        assert_eq!(lately(&trend, 2), None, "nothing was read yet");
        trend.read_next(&app, clock.now()).await.unwrap();
        assert_eq!([2, 3, 60].map(|minutes| lately(&trend, minutes)), [1, 3, 3].map(Some));
        clock.advance(Duration::from_secs(1));
        client.enqueue_all((0..9).map(|_| JobDraft::new("t", "1"))).await.unwrap().ids().unwrap();
        assert!(store.capabilities().history.unwrap().record_totals().await.unwrap());
        trend.read_next(&app, clock.now()).await.unwrap();
        let growth = |minutes| trend.growth(&queue, minutes, clock.now());
        let more = |enqueued, minutes| {
            let change = Totals { enqueued, ..Totals::default() };
            Some(Growth::of(change, minutes))
        };
        assert_eq!([growth(1), growth(4)], [more(9, 1), more(9, 4)]);
        assert_eq!(growth(5), None, "nothing was counted before");
    }

    fn request() -> Reserve {
        let ttl = LeaseTtl::new(Duration::from_secs(10)).unwrap();
        Reserve::new(QueueName::default(), 1, ttl, WorkerId::new("w").unwrap()).unwrap()
    }
}
