//! Cron expressions in a time zone.

use std::fmt;
use std::ops::RangeInclusive;

use croner::CronComponent;
use croner::parser::{CronParser, Seconds, Year};
use jiff::Timestamp as Instant;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};

use super::cron_search::Search;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::limits::{CRON_BYTES, ZONE_BYTES};

/// A cron expression and its time zone. It matches at least one time in the years 2000 to 2199, and
/// times of other years do not count.
///
/// Five fields (minute, hour, day of month, month, day of week), or six with seconds in front, or
/// seven with a year at the end. Names (`MON`, `JAN`), steps, lists, `L`, `W`, `#`, and `@daily`
/// and the like are understood. If both the day of month and the day of week are given, either is
/// enough, as in every cron.
///
/// When clocks go forward, a time in the gap runs at the end of the gap if the expression names one
/// time of day. If it has a step, list or `*` in seconds, minutes or hours, times in the gap do not
/// run. When clocks go back, one time of day runs the first time only, and all others run both
/// times. These are the rules of Vixie cron.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Cron {
    expression: String,
    zone: TimeZone,
    pattern: Box<croner::Cron>,
}

impl Cron {
    /// Parses an expression. `zone` is a name such as `Europe/Berlin`, or `UTC`.
    ///
    /// # Errors
    /// `Invalid`, with the reason, if the expression is longer than 256 bytes, cannot be read or
    /// never matches (`0 0 30 2 *`), or if the zone does not exist.
    pub fn new(expression: &str, zone: &str) -> Result<Self> {
        let cron = Self::parse(expression, zone)?;
        match cron.next_after(BEGINNING) {
            Some(_) => Ok(cron),
            None => Err(refused(expression, "no time ever matches it")),
        }
    }

    /// Without the search for a time that matches.
    fn parse(expression: &str, zone: &str) -> Result<Self> {
        within("cron", CRON_BYTES, expression)?;
        within("zone", ZONE_BYTES, zone)?;
        let unreadable = |error: croner::errors::CronError| refused(expression, &error.to_string());
        let mut pattern = pattern(expression).map_err(unreadable)?;
        pattern.pattern.years = within_years(&pattern.pattern.years).map_err(unreadable)?;
        let limit = "the name of a time zone like `Europe/Berlin` or `UTC`";
        if OF_THE_MACHINE.iter().any(|own| own.eq_ignore_ascii_case(zone)) {
            let got = format!("{zone:?}, which differs from machine to machine");
            return Err(Error::invalid("zone", limit, got));
        }
        let zone = TimeZone::get(zone)
            .map_err(|error| Error::invalid("zone", limit, format!("{zone:?}")).caused_by(error))?;
        Ok(Self { expression: expression.to_owned(), zone, pattern: Box::new(pattern) })
    }

    /// The first occurrence after an instant; none if there is none.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        self.search().next_after(second_of(after)?).map(timestamp)
    }

    /// The last occurrence at an instant or before it; none if there was none.
    pub fn last_until(&self, until: Timestamp) -> Option<Timestamp> {
        self.search().last_until(second_of(until)?).map(timestamp)
    }

    fn search(&self) -> Search<'_> {
        Search { pattern: &self.pattern, zone: &self.zone }
    }

    /// The expression, as it was given.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The name of the time zone.
    pub fn zone(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// The times, in words.
    pub fn describe(&self) -> String {
        // `self.pattern` names all the years of the search.
        let words = pattern(&self.expression).map(|pattern| pattern.describe());
        let words = words.unwrap_or_else(|_| self.expression.clone());
        format!("{} ({})", words.trim_end_matches('.'), self.zone())
    }
}

/// 1 January 2000.
const BEGINNING: Timestamp = Timestamp::from_millis(946_684_800_000);
/// A search walks from day to day, and croner's ends in the year 5000: the 31st that is the first
/// Monday of its month took it 90 ms, which everybody could ask for again and again.
const YEARS: RangeInclusive<u16> = 2000..=2199;
/// croner's bit of a value that a field names.
const NAMED: u8 = 1;

/// Files next to those of the zones. Another machine would read another zone from them.
const OF_THE_MACHINE: [&str; 2] = ["localtime", "posixrules"];

fn pattern(expression: &str) -> Result<croner::Cron, croner::errors::CronError> {
    let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Optional).build();
    parser.parse(expression)
}

/// Those of the years that a search looks at.
fn within_years(years: &CronComponent) -> Result<CronComponent, croner::errors::CronError> {
    let (first, last) = (croner::YEAR_LOWER_LIMIT as u16, croner::YEAR_UPPER_LIMIT as u16);
    let mut within = CronComponent::new(first, last, 0, 0);
    for year in years.values().into_iter().filter(|year| YEARS.contains(year)) {
        within.set_bit(year, NAMED)?;
    }
    Ok(within)
}

fn refused(expression: &str, why: &str) -> Error {
    let limit = "a cron expression like `30 2 * * *` (minute, hour, day, month, weekday)";
    Error::invalid("cron", limit, format!("{expression:?}: {why}"))
}

fn within(field: &'static str, bytes: usize, text: &str) -> Result<()> {
    if text.len() <= bytes {
        return Ok(());
    }
    Err(Error::invalid(field, format!("at most {bytes} bytes"), format!("{} bytes", text.len())))
}

/// Occurrences are at whole seconds, so there is none between this one and `at`.
fn second_of(at: Timestamp) -> Option<Instant> {
    Instant::from_second(at.as_millis().div_euclid(1000)).ok()
}

fn timestamp(at: Instant) -> Timestamp {
    Timestamp::from_millis(at.as_millisecond())
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.expression, self.zone())
    }
}

impl PartialEq for Cron {
    fn eq(&self, other: &Self) -> bool {
        self.expression == other.expression && self.zone() == other.zone()
    }
}

impl Eq for Cron {}

/// The stored form.
#[derive(Serialize, Deserialize)]
struct Written {
    cron: String,
    zone: String,
}

impl From<Cron> for Written {
    fn from(cron: Cron) -> Self {
        Self { zone: cron.zone().to_owned(), cron: cron.expression }
    }
}

impl TryFrom<Written> for Cron {
    type Error = Error;

    /// What is stored was checked when it was put, and is read more often than that.
    fn try_from(written: Written) -> Result<Self> {
        Self::parse(&written.cron, &written.zone)
    }
}
