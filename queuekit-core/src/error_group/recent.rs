//! When errors of a group occurred lately (contract R8.11).

use std::fmt::Write as _;

use crate::clock::Timestamp;

const HOUR_MS: i64 = 3_600_000;
const DAY_MS: i64 = 24 * HOUR_MS;
/// Hours that are counted one by one, and days.
const HOURS: usize = 24;
const DAYS: usize = 7;

/// How many errors of a group occurred in each of the last 24 hours, and on each of the last 7
/// days. Hours and days begin as those of UTC do.
///
/// ```
/// use queuekit_core::{RecentErrors, Timestamp};
///
/// let noon = Timestamp::from_millis(12 * 3_600_000);
/// let mut recent = RecentErrors::default();
/// recent.add(2, noon);
/// recent.roll(Timestamp::from_millis(13 * 3_600_000));
/// assert_eq!(recent.hours()[22..], [2, 0]);
/// assert_eq!((recent.in_hour(), recent.in_24_hours(), recent.in_7_days()), (0, 2, 2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecentErrors {
    /// When the last hour began: that of the latest time that was counted or rolled to.
    at: Timestamp,
    hours: [u64; HOURS],
    days: [u64; DAYS],
}

impl RecentErrors {
    /// By hour, the oldest first; the last is the current hour.
    pub fn hours(&self) -> [u64; 24] {
        self.hours
    }

    /// By day, the oldest first; the last is the current day.
    pub fn days(&self) -> [u64; 7] {
        self.days
    }

    /// In the current hour.
    pub fn in_hour(&self) -> u64 {
        self.hours[HOURS - 1]
    }

    /// In the current hour and the 23 before.
    pub fn in_24_hours(&self) -> u64 {
        self.hours.iter().sum()
    }

    /// On the current day and the 6 before.
    pub fn in_7_days(&self) -> u64 {
        self.days.iter().sum()
    }

    /// Counts errors of this time; those that are too old for an hour or a day are not in it.
    pub fn add(&mut self, errors: u64, at: Timestamp) {
        self.roll(at);
        count(&mut self.hours, errors, units(HOUR_MS, at, self.at));
        count(&mut self.days, errors, units(DAY_MS, at, self.at));
    }

    /// Adds what was counted apart, of any times.
    pub fn merge(&mut self, mut other: Self) {
        self.roll(other.at);
        other.roll(self.at);
        let sum = |own: &mut [u64], others: &[u64]| {
            own.iter_mut().zip(others).for_each(|(own, other)| *own = own.saturating_add(*other));
        };
        sum(&mut self.hours, &other.hours);
        sum(&mut self.days, &other.days);
    }

    /// Forgets the hours and days that are over at this time. It never goes back.
    pub fn roll(&mut self, to: Timestamp) {
        let to = hour_of(to);
        if to > self.at {
            shift(&mut self.hours, units(HOUR_MS, self.at, to));
            shift(&mut self.days, units(DAY_MS, self.at, to));
            self.at = to;
        }
    }

    /// The numbers as a text, for stores: those of hours and those of days, the latest first and
    /// without the zeros at the end: `2,0,1;3`. The time is not in it: a store has that of the
    /// group's last error, and rolls to it before it writes.
    pub fn to_stored(&self) -> String {
        let mut text = String::new();
        write(&mut text, &self.hours);
        text.push(';');
        write(&mut text, &self.days);
        text
    }

    /// Reads what [`to_stored`](Self::to_stored) wrote, of a group whose last error was at this
    /// time. What is no number is none.
    pub fn from_stored(stored: &str, last: Timestamp) -> Self {
        let mut recent = Self { at: hour_of(last), ..Self::default() };
        let (hours, days) = stored.split_once(';').unwrap_or_default();
        read(&mut recent.hours, hours);
        read(&mut recent.days, days);
        recent
    }
}

/// When the hour of this time began. Two reads within it are equal.
fn hour_of(at: Timestamp) -> Timestamp {
    Timestamp::from_millis(at.as_millis().div_euclid(HOUR_MS) * HOUR_MS)
}

/// How many units later the second time is.
fn units(unit_ms: i64, from: Timestamp, to: Timestamp) -> usize {
    let unit = |at: Timestamp| at.as_millis().div_euclid(unit_ms);
    usize::try_from(unit(to) - unit(from)).unwrap_or(usize::MAX)
}

fn count(counts: &mut [u64], errors: u64, ago: usize) {
    // Guard: what is older than the first unit is not counted in another.
    if let Some(count) = counts.iter_mut().rev().nth(ago) {
        *count = count.saturating_add(errors);
    }
}

fn shift(counts: &mut [u64], by: usize) {
    let by = by.min(counts.len());
    counts.rotate_left(by);
    counts.iter_mut().rev().take(by).for_each(|count| *count = 0);
}

fn write(text: &mut String, counts: &[u64]) {
    let first = counts.iter().position(|count| *count > 0).unwrap_or(counts.len());
    for (at, count) in counts[first..].iter().rev().enumerate() {
        let comma = if at == 0 { "" } else { "," };
        // Writing to a String cannot fail.
        let _ = write!(text, "{comma}{count}");
    }
}

fn read(counts: &mut [u64], text: &str) {
    for (count, number) in counts.iter_mut().rev().zip(text.split(',')) {
        *count = number.parse().unwrap_or_default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: i64) -> Timestamp {
        Timestamp::from_millis(hours * HOUR_MS)
    }

    /// Guard: an hour ends at its last millisecond, and is forgotten after 24.
    #[test]
    fn r8_11_hours_and_days_roll_at_their_bounds() {
        let begun = at(480);
        let mut recent = RecentErrors::default();
        recent.add(3, begun);
        for (ms, hour, day, week) in [
            (HOUR_MS - 1, 3, 3, 3),
            (HOUR_MS, 0, 3, 3),
            (24 * HOUR_MS - 1, 0, 3, 3),
            (24 * HOUR_MS, 0, 0, 3),
            (7 * DAY_MS - 1, 0, 0, 3),
            (7 * DAY_MS, 0, 0, 0),
        ] {
            let mut later = recent;
            later.roll(Timestamp::from_millis(begun.as_millis() + ms));
            let sums = (later.in_hour(), later.in_24_hours(), later.in_7_days());
            assert_eq!(sums, (hour, day, week), "after {ms} ms");
        }
    }

    /// Guard: deltas are added up in any order, and a clock may be set back.
    #[test]
    fn r8_11_the_order_of_adding_does_not_matter() {
        let errors = [(1, at(500)), (2, at(499)), (4, at(477)), (8, at(476)), (16, at(300))];
        let mut forth = RecentErrors::default();
        errors.iter().for_each(|(errors, at)| forth.add(*errors, *at));
        let mut back = RecentErrors::default();
        errors.iter().rev().for_each(|(errors, at)| back.add(*errors, *at));
        assert_eq!(forth, back);
        assert_eq!((forth.in_hour(), forth.in_24_hours()), (1, 7));
        assert_eq!(forth.in_7_days(), 15);
        forth.roll(at(0));
        assert_eq!(forth, back);
        let mut parts = [RecentErrors::default(), RecentErrors::default()];
        let counted = errors.iter().enumerate();
        counted.for_each(|(nth, (errors, at))| parts[nth % 2].add(*errors, *at));
        let [mut merged, odd] = parts;
        merged.merge(odd);
        assert_eq!(merged, back);
    }

    #[test]
    fn r8_11_reads_of_one_hour_are_equal() {
        let end = at(501).as_millis() - 1;
        let read = |ms| {
            let mut recent = RecentErrors::from_stored("1;1", at(499));
            recent.roll(Timestamp::from_millis(ms));
            recent
        };
        assert_eq!(read(at(500).as_millis()), read(end));
        assert_ne!(read(end), read(end + 1));
    }

    #[test]
    fn r8_11_what_is_stored_is_read_again() {
        let mut recent = RecentErrors::from_stored("", at(500));
        assert_eq!(recent.to_stored(), ";");
        recent.add(2, at(500));
        recent.add(1, at(498));
        assert_eq!(recent.to_stored(), "2,0,1;3");
        assert_eq!(RecentErrors::from_stored("2,0,1;3", at(500)), recent);
        let wrong = RecentErrors::from_stored("x,1;-2", at(500));
        assert_eq!((wrong.in_24_hours(), wrong.in_7_days()), (1, 0));
        let many = RecentErrors::from_stored(&format!("{}1;", "1,".repeat(99)), at(500));
        assert_eq!(many.in_24_hours(), 24);
    }
}
