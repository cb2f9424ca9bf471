//! How many jobs each queue has completed in each minute of the last hour, read bit by bit.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use queuekit::history::{HistoryPlace, HistoryQuery, Resolution};
use queuekit::jobs::PageSize;
use queuekit::{QueueName, Timestamp};

use crate::api::App;

/// Minutes that are shown.
const MINUTES: usize = 60;
/// The most queues that are remembered; others have no line.
const QUEUES: usize = 2000;

/// Totals of completed jobs, by minute.
#[derive(Clone, Default)]
pub(in crate::ui) struct Trend {
    queues: Arc<HashMap<QueueName, VecDeque<(Timestamp, u64)>>>,
    /// The last row that was read.
    last: Option<HistoryPlace>,
}

impl Trend {
    /// Whether there may be rows that were not read yet.
    pub(super) fn is_behind(&self, now: Timestamp) -> bool {
        let current = Resolution::Minute.start_of(now);
        self.last.as_ref().is_none_or(|last| last.at < current)
    }

    /// Reads the next page of rows. One call of the store.
    pub(super) async fn read_next(&mut self, app: &App, now: Timestamp) -> queuekit::Result<()> {
        let Some(history) = app.store().capabilities().history else { return Ok(()) };
        let from = now.minus(Resolution::Minute.length() * (MINUTES as u32 + 1));
        let mut query = HistoryQuery::new(Resolution::Minute, from, now).limit(PageSize::MAX);
        query.after = self.last.clone().filter(|last| last.at >= from);
        let rows = history.list_totals(&query).await?;
        let queues = Arc::make_mut(&mut self.queues);
        for row in &rows {
            if queues.len() >= QUEUES && !queues.contains_key(&row.queue) {
                continue;
            }
            let minutes = queues.entry(row.queue.clone()).or_default();
            minutes.push_back((row.at, row.totals.completed));
            while minutes.front().is_some_and(|(at, _)| *at < from) {
                minutes.pop_front();
            }
        }
        if let Some(last) = rows.last() {
            self.last = Some(last.place());
        }
        queues.retain(|_, minutes| minutes.back().is_some_and(|(at, _)| *at >= from));
        Ok(())
    }

    /// The jobs that a queue has completed in each minute of the hour before, oldest first.
    pub(in crate::ui) fn completed(&self, queue: &QueueName, now: Timestamp) -> Vec<u64> {
        let mut values = vec![0; MINUTES];
        let Some(minutes) = self.queues.get(queue) else { return values };
        let length = Resolution::Minute.length();
        let begin = Resolution::Minute.start_of(now).minus(length * MINUTES as u32);
        for (before, (at, total)) in minutes.iter().zip(minutes.iter().skip(1)) {
            let minute = at.since(begin).as_secs() / length.as_secs();
            let place = usize::try_from(minute).ok().filter(|_| *at >= begin);
            if let Some(value) = place.and_then(|place| values.get_mut(place)) {
                // A smaller total is one of a new queue of that name.
                *value += total.checked_sub(before.1).unwrap_or(*total);
            }
        }
        values
    }
}
