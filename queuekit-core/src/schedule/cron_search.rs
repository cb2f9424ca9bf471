//! The search for the times of a cron pattern in a time zone.
//!
//! croner searches a wall clock that never changes. Changes of the clock are handled here: between
//! two of them the wall clock is regular, and the search goes from one to the next. croner's own
//! search in a zone walks through a gap second by second, and many zones have a gap every year. An
//! expression whose times all fall into gaps kept a core busy for seconds.

use croner::JobType;
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{SignedDuration, Timestamp};

/// The times of a pattern in a zone.
pub(super) struct Search<'a> {
    pub(super) pattern: &'a croner::Cron,
    pub(super) zone: &'a TimeZone,
}

impl Search<'_> {
    /// The first time after a whole second.
    pub(super) fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        match self.pattern.determine_job_type() {
            JobType::FixedTime => {
                let mut civil = self.zone.to_datetime(after);
                loop {
                    civil = self.next_civil(civil, false)?;
                    if let Some(time) = self.instant(civil).filter(|time| *time > after) {
                        return Some(time);
                    }
                }
            }
            JobType::IntervalWildcard => self.next_from(after.checked_add(SECOND).ok()?),
        }
    }

    /// The last time at a whole second or before it.
    pub(super) fn last_until(&self, until: Timestamp) -> Option<Timestamp> {
        match self.pattern.determine_job_type() {
            JobType::FixedTime => {
                // A time that the clock shows again has run before, later on the wall clock.
                let mut civil = self.zone.to_datetime(until).checked_add(CHANGE).ok()?;
                let mut is_inclusive = true;
                loop {
                    civil = self.previous_civil(civil, is_inclusive)?;
                    is_inclusive = false;
                    if let Some(time) = self.instant(civil).filter(|time| *time <= until) {
                        return Some(time);
                    }
                }
            }
            JobType::IntervalWildcard => self.previous_from(until),
        }
    }

    /// When one time of day is: of two, at the first; in a gap, at its end, if that is a day of the
    /// pattern.
    fn instant(&self, civil: DateTime) -> Option<Timestamp> {
        match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset }
            | AmbiguousOffset::Fold { before: offset, .. } => offset.to_timestamp(civil).ok(),
            AmbiguousOffset::Gap { after, .. } => {
                let before_end = after.to_timestamp(civil).ok()?;
                let end = self.zone.following(before_end).next()?.timestamp();
                let same_time = self.zone.to_datetime(end).date().to_datetime(civil.time());
                self.pattern.is_time_matching(&same_time).ok()?.then_some(end)
            }
        }
    }

    /// The first time from an instant on, of a pattern that has many in a day: those in a gap are
    /// left out, and those that the clock shows twice are two.
    fn next_from(&self, mut from: Timestamp) -> Option<Timestamp> {
        loop {
            let offset = self.zone.to_offset(from);
            let change = self.zone.following(from).next();
            let civil = offset.to_datetime(from);
            let next = self.next_civil(civil, true);
            let time = next.and_then(|next| offset.to_timestamp(next).ok());
            let Some(change) = change else { return time };
            let end = change.timestamp();
            if time.is_some_and(|time| time < end) {
                return time;
            }
            // If the clock goes back behind where the search began, what comes then is new.
            let is_new = change.offset().to_datetime(end) < civil;
            from = match time {
                _ if is_new => end,
                Some(time) => end.max(time.checked_sub(ZONES).ok()?),
                None => return None,
            };
        }
    }

    /// The last time until an instant, of such a pattern.
    fn previous_from(&self, mut until: Timestamp) -> Option<Timestamp> {
        loop {
            let offset = self.zone.to_offset(until);
            let change = self.zone.preceding(until.checked_add(SECOND).ok()?).next();
            let civil = offset.to_datetime(until);
            let previous = self.previous_civil(civil, true);
            let time = previous.and_then(|previous| offset.to_timestamp(previous).ok());
            let Some(change) = change else { return time };
            let start = change.timestamp();
            if time.is_some_and(|time| time >= start) {
                return time;
            }
            let end = start.checked_sub(SECOND).ok()?;
            let is_new = self.zone.to_datetime(end) > civil;
            until = match time {
                _ if is_new => end,
                Some(time) => end.min(time.checked_add(ZONES).ok()?),
                None => return None,
            };
        }
    }

    fn next_civil(&self, civil: DateTime, is_inclusive: bool) -> Option<DateTime> {
        self.pattern.find_next_occurrence(&civil, is_inclusive).ok()
    }

    fn previous_civil(&self, civil: DateTime, is_inclusive: bool) -> Option<DateTime> {
        self.pattern.find_previous_occurrence(&civil, is_inclusive).ok()
    }
}

const SECOND: SignedDuration = SignedDuration::from_secs(1);
/// No clock changes by more.
const CHANGE: SignedDuration = SignedDuration::from_hours(24);
/// The clocks of two zones, or of one before and after a change, differ by less.
const ZONES: SignedDuration = SignedDuration::from_hours(48);

#[cfg(test)]
mod tests {
    use croner::parser::{CronParser, Seconds, Year};
    use jiff::Zoned;

    use super::*;

    const PATTERNS: [&str; 14] = [
        "* * * * *",
        "*/20 * * * * *",
        "*/7 1-3 * * *",
        "0 */2 * * *",
        "30 2 * * *",
        "0 0 * * *",
        "15,45 0-4 * * SUN",
        "59 59 23 * * *",
        "0 3 * * 1#1",
        "0 1 L * *",
        "30 1 25-31 3,10 *",
        "*/30 2 25-31 3,10 +7",
        "0 0 29 2 *",
        "0 12 15W * *",
    ];
    const ZONES_WITH_CHANGES: [&str; 8] = [
        "UTC",
        "Europe/Berlin",
        "America/New_York",
        "Australia/Lord_Howe",
        "Antarctica/Troll",
        "America/Sao_Paulo",
        "Asia/Kathmandu",
        "Africa/Casablanca",
    ];

    fn pattern(expression: &str) -> croner::Cron {
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Optional).build();
        parser.parse(expression).unwrap()
    }

    /// Guard: the same times as by a walk through each second of each change.
    #[test]
    fn r15_3_times_are_those_of_a_walk_through_every_change() {
        let mut seed = 1_u64;
        let mut random = |below: i64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            i64::try_from(seed >> 33).unwrap() % below
        };
        for zone in ZONES_WITH_CHANGES {
            let zone = TimeZone::get(zone).unwrap();
            // Around a change each, and one at any time.
            let first = Timestamp::from_second(1_000_000_000).unwrap();
            let changes = zone.following(first).take(24).map(|it| it.timestamp().as_second());
            let mut times: Vec<i64> = changes.collect();
            times.extend((0..24).map(|_| 1_000_000_000 + random(1_000_000_000)));
            for time in times {
                let expression = PATTERNS[usize::try_from(random(14)).unwrap()];
                let pattern = pattern(expression);
                let search = Search { pattern: &pattern, zone: &zone };
                let near = time + [0, -1, 1, 1800, -1800, 5400, -5400][random(7) as usize];
                let at = Timestamp::from_second(near + random(3) - 1).unwrap();
                let zoned: Zoned = at.to_zoned(zone.clone());
                let instant = |found: Result<Zoned, _>| found.ok().map(|it| it.timestamp());
                let next = instant(pattern.find_next_occurrence(&zoned, false));
                assert_eq!(search.next_after(at), next, "{expression} after {zoned}");
                let last = instant(pattern.find_previous_occurrence(&zoned, true));
                assert_eq!(search.last_until(at), last, "{expression} until {zoned}");
            }
        }
    }

    /// Guard: the search continues behind each gap, and ends.
    #[test]
    fn times_that_all_fall_into_gaps_never_come_or_come_once_a_year() {
        let zone = TimeZone::get("Antarctica/Troll").unwrap();
        let at = Timestamp::from_second(1_600_000_000).unwrap();
        let never = pattern("* * 1-2 25-31 3 +7 2020-2199");
        let search = Search { pattern: &never, zone: &zone };
        assert_eq!(search.next_after(at), None);
        assert_eq!(search.last_until(at), None);
        let yearly = pattern("0 0 1 25-31 3 +7 2020-2199");
        let search = Search { pattern: &yearly, zone: &zone };
        let times = std::iter::successors(Some(at), |at| search.next_after(*at));
        assert_eq!(times.skip(1).count(), 179);
    }
}
