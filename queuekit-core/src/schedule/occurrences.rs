//! Decides which occurrences of a schedule run now: rules R15.3 to R15.5.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::Timing;
use crate::clock::Timestamp;
use crate::enum_words::words;
use crate::limits::{CATCH_UP, ON_TIME, SKIPPED_COUNTED};

/// Which missed occurrences run: those that are more than 10 s late (R15.4).
// Exhaustive: code that enqueues occurrences must act on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CatchUp {
    /// None of them runs.
    Skip,
    /// The latest one runs, unless one is on time.
    #[default]
    Once,
    /// The latest n run, at most 1,000.
    All(u32),
}

/// Whether an occurrence runs while the job of the last one has not ended (R15.5).
// Exhaustive: code that enqueues occurrences must act on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overlap {
    /// It runs.
    #[default]
    Allow,
    /// It is skipped.
    Skip,
}

words!(Overlap "overlap" { Allow = "allow", Skip = "skip" });

/// The start and the end of a schedule; both may be open.
// Exhaustive: a term is its two ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Term {
    /// No nominal time before this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<Timestamp>,
    /// No nominal time after this.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<Timestamp>,
}

impl Term {
    /// The first nominal time after an instant, within start and end.
    pub fn next_after(&self, timing: &Timing, after: Timestamp) -> Option<Timestamp> {
        // `next_after` excludes its bound, and an occurrence at `start` itself is allowed.
        let before_start = self.start.map(|start| start.minus(Duration::from_millis(1)));
        let next = timing.next_after(before_start.map_or(after, |start| start.max(after)))?;
        Some(next).filter(|next| self.end.is_none_or(|end| *next <= end))
    }

    /// The end, but at most `now`.
    fn until(&self, now: Timestamp) -> Timestamp {
        self.end.map_or(now, |end| end.min(now))
    }
}

/// The nominal times that run, in order. `due` is the first one that has not been handled yet, and
/// `now` the last possible one.
///
/// The search goes backwards from the latest one. So a schedule that no process has read for a year
/// costs no more than the occurrences that it catches up with.
pub fn owed(
    timing: &Timing,
    term: &Term,
    catch_up: CatchUp,
    due: Timestamp,
    now: Timestamp,
) -> Vec<Timestamp> {
    let mut run = Vec::new();
    let mut missed = 0;
    let mut until = term.until(now);
    // From the latest backwards: a schedule that is years late costs no more than the occurrences
    // that it may enqueue.
    while let Some(nominal) = timing.last_until(until).filter(|nominal| *nominal >= due) {
        if now.since(nominal) > ON_TIME {
            let most = match catch_up {
                CatchUp::Skip => 0,
                CatchUp::Once if run.is_empty() => 1,
                // An occurrence on time takes the place of the late one, so this admits no more.
                CatchUp::Once => missed,
                CatchUp::All(most) => most.min(CATCH_UP),
            };
            if missed >= most {
                break;
            }
            missed += 1;
        }
        run.push(nominal);
        until = nominal.minus(Duration::from_millis(1));
    }
    run.reverse();
    run
}

/// How many nominal times from `due` to `now` come before the ones that run, and so enqueue no job.
/// The latest [`SKIPPED_COUNTED`] are counted.
pub(super) fn skipped(
    timing: &Timing,
    term: &Term,
    due: Timestamp,
    now: Timestamp,
    run: &[Timestamp],
) -> u64 {
    let before = |at: Timestamp| at.minus(Duration::from_millis(1));
    let until = run.first().map_or(term.until(now), |first| before(*first));
    std::iter::successors(timing.last_until(until), |nominal| timing.last_until(before(*nominal)))
        .take_while(|nominal| *nominal >= due)
        .take(SKIPPED_COUNTED)
        .count() as u64
}

#[cfg(test)]
mod tests {
    use super::super::Interval;
    use super::*;

    const MINUTE: i64 = 60_000;

    fn owed_at(catch_up: CatchUp, due: i64, now: i64) -> Vec<i64> {
        let timing = Timing::Every(Interval::new(Duration::from_secs(60)).unwrap());
        let at = Timestamp::from_millis;
        let owed = owed(&timing, &Term::default(), catch_up, at(due), at(now));
        owed.into_iter().map(|nominal| nominal.as_millis() / MINUTE).collect()
    }

    #[test]
    fn r15_4_an_occurrence_on_time_runs_whatever_the_policy() {
        for catch_up in [CatchUp::Skip, CatchUp::Once, CatchUp::All(0)] {
            assert_eq!(owed_at(catch_up, 3 * MINUTE, 3 * MINUTE + 10_000), [3], "{catch_up:?}");
        }
    }

    #[test]
    fn r15_4_missed_ones_follow_the_policy() {
        let late = 9 * MINUTE + 30_000;
        assert!(owed_at(CatchUp::Skip, 3 * MINUTE, late).is_empty());
        assert_eq!(owed_at(CatchUp::Once, 3 * MINUTE, late), [9]);
        assert_eq!(owed_at(CatchUp::All(3), 3 * MINUTE, late), [7, 8, 9]);
        assert_eq!(owed_at(CatchUp::All(100), 3 * MINUTE, late), [3, 4, 5, 6, 7, 8, 9]);
    }

    #[test]
    fn r15_4_one_on_time_makes_up_for_those_that_were_missed() {
        let now = 9 * MINUTE + 5_000;
        assert_eq!(owed_at(CatchUp::Skip, 3 * MINUTE, now), [9]);
        assert_eq!(owed_at(CatchUp::Once, 3 * MINUTE, now), [9]);
        assert_eq!(owed_at(CatchUp::All(2), 3 * MINUTE, now), [7, 8, 9]);
    }

    #[test]
    fn r15_4_those_that_enqueue_no_job_are_counted() {
        let timing = Timing::Every(Interval::new(Duration::from_secs(60)).unwrap());
        let at = |minute: i64| Timestamp::from_millis(minute * MINUTE);
        let count = |run: &[Timestamp]| skipped(&timing, &Term::default(), at(3), at(9), run);
        assert_eq!(count(&[at(3), at(4)]), 0);
        assert_eq!(count(&[at(7), at(8), at(9)]), 4);
        assert_eq!(count(&[]), 7);
        let over = Term { start: None, end: Some(at(5)) };
        assert_eq!(skipped(&timing, &over, at(3), at(9), &[]), 3);
        let years = skipped(&timing, &Term::default(), at(3), at(9_000_000), &[]);
        assert_eq!(years, SKIPPED_COUNTED as u64);
    }

    #[test]
    fn a_term_bounds_the_nominal_times() {
        let timing = Timing::Every(Interval::new(Duration::from_secs(60)).unwrap());
        let at = |minute: i64| Timestamp::from_millis(minute * MINUTE);
        let term = Term { start: Some(at(5)), end: Some(at(7)) };
        assert_eq!(term.next_after(&timing, at(0)), Some(at(5)));
        assert_eq!(term.next_after(&timing, at(6)), Some(at(7)));
        assert_eq!(term.next_after(&timing, at(7)), None);
        assert_eq!(owed(&timing, &term, CatchUp::All(9), at(5), at(30)), [at(5), at(6), at(7)]);
    }

    #[test]
    fn a_term_may_reach_to_both_ends_of_time() {
        let timing = Timing::Every(Interval::new(Duration::from_secs(60)).unwrap());
        let [first, last] = [i64::MIN, i64::MAX].map(Timestamp::from_millis);
        let term = Term { start: Some(first), end: Some(last) };
        let at = |minute: i64| Timestamp::from_millis(minute * MINUTE);
        assert_eq!(term.next_after(&timing, at(0)), Some(at(1)));
        let over = Term { start: Some(first), end: Some(first) };
        assert_eq!(owed(&timing, &over, CatchUp::All(9), at(0), at(9)), []);
        assert_eq!(over.next_after(&timing, at(0)), None);
    }
}
