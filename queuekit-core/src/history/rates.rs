//! Rates: differences of totals.

use std::collections::BTreeMap;
use std::time::Duration;

use super::TotalsRow;
use crate::clock::Timestamp;
use crate::names::QueueName;
use crate::queue::Totals;

/// What happened in a queue between two readings of its totals.
// Exhaustive: two times and the difference between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    /// The queue.
    pub queue: QueueName,
    /// When the totals were read before.
    pub from: Timestamp,
    /// When they were read.
    pub to: Timestamp,
    /// The difference.
    pub change: Totals,
}

impl Rate {
    /// The time between the readings.
    pub fn elapsed(&self) -> Duration {
        self.to.since(self.from)
    }

    /// One of the numbers of its change, by second.
    pub fn per_second(&self, number: u64) -> f64 {
        number as f64 / self.elapsed().as_secs_f64().max(0.001)
    }
}

/// The differences between the readings of each queue, in the order of the rows; the first reading
/// of a queue has none. If a total is below the one before, the queue is a new one of that name,
/// and its totals count from 0.
pub fn rates(rows: &[TotalsRow]) -> Vec<Rate> {
    let mut last = BTreeMap::new();
    let mut rates = Vec::new();
    for TotalsRow { queue, at: _, read_at, totals } in rows {
        if let Some((from, before)) = last.insert(queue, (*read_at, totals)) {
            let change = totals.since(before);
            rates.push(Rate { queue: queue.clone(), from, to: *read_at, change });
        }
    }
    rates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_5_rates_are_differences_over_the_time_between_readings() {
        let row = |queue: &str, read_at, completed, enqueued| TotalsRow {
            queue: QueueName::new(queue).unwrap(),
            at: Timestamp::from_millis(0),
            read_at: Timestamp::from_millis(read_at),
            totals: Totals { completed, enqueued, ..Totals::default() },
        };
        let rows = [
            row("a", 1_000, 10, 10),
            row("b", 1_000, 7, 7),
            row("a", 61_000, 40, 50),
            // A new queue of that name: one total is below.
            row("b", 61_000, 2, 9),
            row("a", 181_000, 40, 50),
        ];
        let rates = rates(&rows);
        let seen: Vec<_> = rates
            .iter()
            .map(|rate| (rate.queue.as_str(), rate.change.completed, rate.change.enqueued))
            .collect();
        assert_eq!(seen, [("a", 30, 40), ("b", 2, 9), ("a", 0, 0)]);
        assert_eq!(rates[0].elapsed(), Duration::from_secs(60));
        assert!((rates[0].per_second(30) - 0.5).abs() < f64::EPSILON);
        assert_eq!(rates[2].elapsed(), Duration::from_secs(120));
    }
}
