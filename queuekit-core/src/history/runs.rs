//! What runs of one queue and kind were like.

use super::Histogram;
use super::histogram::BUCKETS;
use crate::error::{Error, Result};
use crate::limits::HISTORY_ADDED;
use crate::names::{Kind, QueueName};

/// How many numbers [`Runs`] are.
pub const RUN_NUMBERS: usize = OUTCOMES + 2 * BUCKETS;
const OUTCOMES: usize = 6;
/// Largest number that one call adds, so that sums never overflow.
const MOST: u64 = u32::MAX as u64;

/// Runs that ended, by outcome, and how long they waited and took.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Those that completed their job.
    pub completed: u64,
    /// Those that failed, and whose job is retried.
    pub failed: u64,
    /// Those whose job died of them.
    pub dead: u64,
    /// Those that released their job.
    pub released: u64,
    /// Those that ended because their job was cancelled.
    pub cancelled: u64,
    /// Those whose lease no longer held: they changed nothing.
    pub lost: u64,
    /// From due to leased.
    pub wait: Histogram,
    /// From the start of the handler to its end.
    pub run: Histogram,
}

impl Runs {
    /// Adds others.
    pub fn merge(&mut self, other: &Self) {
        let (mine, others) = (self.to_numbers(), other.to_numbers());
        let mut sums = [0; RUN_NUMBERS];
        for (sum, (a, b)) in sums.iter_mut().zip(mine.into_iter().zip(others)) {
            *sum = a.saturating_add(b);
        }
        *self = Self::from_numbers(&sums);
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// All numbers, in an order that never changes: the outcomes, the waits, the runs.
    pub fn to_numbers(&self) -> [u64; RUN_NUMBERS] {
        let Self { completed, failed, dead, released, cancelled, lost, wait, run } = self;
        let mut numbers = [0; RUN_NUMBERS];
        numbers[..OUTCOMES]
            .copy_from_slice(&[*completed, *failed, *dead, *released, *cancelled, *lost]);
        numbers[OUTCOMES..OUTCOMES + BUCKETS].copy_from_slice(wait.buckets());
        numbers[OUTCOMES + BUCKETS..].copy_from_slice(run.buckets());
        numbers
    }

    /// Reads what [`to_numbers`](Self::to_numbers) gave; numbers that are missing are 0.
    pub fn from_numbers(numbers: &[u64]) -> Self {
        let at = |at: usize| numbers.get(at).copied().unwrap_or_default();
        let histogram =
            |from: usize| Histogram::of(std::array::from_fn(|bucket| at(from + bucket)));
        Self {
            completed: at(0),
            failed: at(1),
            dead: at(2),
            released: at(3),
            cancelled: at(4),
            lost: at(5),
            wait: histogram(OUTCOMES),
            run: histogram(OUTCOMES + BUCKETS),
        }
    }

    /// The numbers as one text, without the zeros at its end, for stores that keep text.
    pub fn to_text(&self) -> String {
        let numbers = self.to_numbers();
        let used = numbers.iter().rposition(|number| *number > 0).map_or(0, |last| last + 1);
        let words: Vec<_> = numbers[..used].iter().map(u64::to_string).collect();
        words.join(" ")
    }

    /// Reads what [`to_text`](Self::to_text) wrote; none if it cannot be read.
    pub fn from_text(text: &str) -> Option<Self> {
        let numbers: Option<Vec<u64>> =
            text.split_ascii_whitespace().map(|word| word.parse().ok()).collect();
        Some(Self::from_numbers(&numbers?))
    }
}

/// What a worker adds.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunsAdded {
    /// The queue.
    pub queue: QueueName,
    /// The kind; none for all that have no histograms of their own.
    pub kind: Option<Kind>,
    /// The runs since the last call.
    pub runs: Runs,
}

/// Checks a call of `add_runs`, and sums what it adds by queue and kind.
///
/// # Errors
/// `Invalid` for more than 1,000 items, or a number above 2^32 - 1.
pub fn checked_runs(added: &[RunsAdded]) -> Result<Vec<RunsAdded>> {
    if added.len() > HISTORY_ADDED {
        let limit = format!("at most {HISTORY_ADDED} items");
        return Err(Error::invalid("runs per call", limit, added.len()));
    }
    let mut sums = std::collections::BTreeMap::<_, Runs>::new();
    for (item, RunsAdded { queue, kind, runs }) in added.iter().enumerate() {
        if let Some(number) = runs.to_numbers().into_iter().find(|number| *number > MOST) {
            return Err(Error::invalid("runs", format!("at most {MOST}"), number).at_item(item));
        }
        sums.entry((queue.clone(), kind.clone())).or_default().merge(runs);
    }
    let sums = sums.into_iter().filter(|(_, runs)| !runs.is_empty());
    Ok(sums.map(|((queue, kind), runs)| RunsAdded { queue, kind, runs }).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn some() -> Runs {
        let mut runs = Runs { completed: 1, failed: 2, dead: 3, ..Runs::default() };
        (runs.released, runs.cancelled, runs.lost) = (4, 5, 6);
        runs.wait.add(Duration::ZERO);
        runs.run.add(Duration::from_millis(3));
        runs
    }

    /// These are stored: their order changes with no version.
    #[test]
    fn r8_5_runs_are_read_as_they_were_written() {
        let text = format!("1 2 3 4 5 6 1 {}0 0 1", "0 ".repeat(23));
        assert_eq!(some().to_text(), text);
        assert_eq!(Runs::from_text(&text), Some(some()));
        assert_eq!(Runs::from_text(""), Some(Runs::default()));
        assert_eq!(Runs::from_text("1 x"), None);
        assert_eq!(Runs::from_numbers(&some().to_numbers()), some());
        let most = Runs::from_numbers(&[u64::MAX; RUN_NUMBERS]);
        assert_eq!(Runs::from_text(&most.to_text()), Some(most));
    }

    #[test]
    fn r8_5_a_call_is_summed_and_bounded() {
        let item = |kind: Option<&str>, runs| RunsAdded {
            queue: QueueName::default(),
            kind: kind.map(|kind| Kind::new(kind).unwrap()),
            runs,
        };
        let sums = checked_runs(&[
            item(Some("a"), some()),
            item(None, some()),
            item(Some("b"), Runs::default()),
            item(Some("a"), some()),
        ]);
        let mut twice = some();
        twice.merge(&some());
        assert_eq!(sums.unwrap(), [item(None, some()), item(Some("a"), twice)]);
        assert!(checked_runs(&vec![item(None, some()); HISTORY_ADDED + 1]).is_err());
        let large = Runs { lost: MOST + 1, ..Runs::default() };
        assert!(checked_runs(&[item(None, large)]).is_err());
    }
}
