//! Times of a cron expression in a time zone.

use std::fmt;

use croner::parser::{CronParser, Seconds, Year};
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, Zoned};
use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::limits::{CRON_BYTES, ZONE_BYTES};

/// A cron expression and the time zone in which it is read; it has an occurrence at some time.
///
/// Five fields (minute, hour, day of month, month, day of week), or six with seconds before them,
/// or seven with a year behind. Names (`MON`, `JAN`), steps, lists, `L`, `W`, `#` and `@daily`
/// and the like are understood. Where the day of month and the day of week are both given, either
/// is enough, as in every cron.
///
/// Where clocks are put forward, what falls into the gap runs at its end if the expression names
/// one time of day, and does not run if it has a step, list or `*` in seconds, minutes or hours.
/// Where they are put back, one time of day runs the first time only, anything else both times
/// (the rules of Vixie cron).
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Cron {
    expression: String,
    zone: TimeZone,
    pattern: Box<croner::Cron>,
}

impl Cron {
    /// Parses an expression; `zone` is a name like `Europe/Berlin`, or `UTC`.
    ///
    /// # Errors
    /// `Invalid` if it is longer than 256 bytes or cannot be read, if no time ever matches it
    /// (`0 0 30 2 *`), or if there is no such zone; it says why.
    pub fn new(expression: &str, zone: &str) -> Result<Self> {
        within("cron", CRON_BYTES, expression)?;
        within("zone", ZONE_BYTES, zone)?;
        let parser = CronParser::builder().seconds(Seconds::Optional).year(Year::Optional).build();
        let refuse = |why: String| {
            let limit = "a cron expression like `30 2 * * *` (minute, hour, day, month, weekday)";
            Error::invalid("cron", limit, format!("{expression:?}: {why}"))
        };
        let pattern = parser.parse(expression).map_err(|error| refuse(error.to_string()))?;
        let limit = "the name of a time zone like `Europe/Berlin` or `UTC`";
        if OF_THE_MACHINE.iter().any(|own| own.eq_ignore_ascii_case(zone)) {
            let got = format!("{zone:?}, which is another one on other machines");
            return Err(Error::invalid("zone", limit, got));
        }
        let zone = TimeZone::get(zone)
            .map_err(|error| Error::invalid("zone", limit, format!("{zone:?}")).caused_by(error))?;
        let cron = Self { expression: expression.to_owned(), zone, pattern: Box::new(pattern) };
        match cron.next_after(BEGINNING) {
            Some(_) => Ok(cron),
            None => Err(refuse("no time ever matches it".to_owned())),
        }
    }

    /// The first occurrence after an instant, none if there is no other.
    pub fn next_after(&self, after: Timestamp) -> Option<Timestamp> {
        let next = self.pattern.find_next_occurrence(&self.second_of(after)?, false).ok()?;
        Some(timestamp(&next))
    }

    /// The last occurrence at an instant or before it, none if there was none.
    pub fn last_until(&self, until: Timestamp) -> Option<Timestamp> {
        let last = self.pattern.find_previous_occurrence(&self.second_of(until)?, true).ok()?;
        Some(timestamp(&last))
    }

    /// As it was given.
    pub fn expression(&self) -> &str {
        &self.expression
    }

    /// The name of its time zone.
    pub fn zone(&self) -> &str {
        self.zone.iana_name().unwrap_or("UTC")
    }

    /// What it says, in words.
    pub fn describe(&self) -> String {
        format!("{} ({})", self.pattern.describe().trim_end_matches('.'), self.zone())
    }

    /// Occurrences are whole seconds: none is between this one and `at`.
    fn second_of(&self, at: Timestamp) -> Option<Zoned> {
        let at = Instant::from_second(at.as_millis().div_euclid(1000)).ok()?;
        Some(at.to_zoned(self.zone.clone()))
    }
}

/// 1 January 2000: an expression that names years before is of no use to anybody.
const BEGINNING: Timestamp = Timestamp::from_millis(946_684_800_000);

/// Files beside those of the zones: whoever ticks would read another one.
const OF_THE_MACHINE: [&str; 2] = ["localtime", "posixrules"];

fn within(field: &'static str, bytes: usize, text: &str) -> Result<()> {
    if text.len() <= bytes {
        return Ok(());
    }
    Err(Error::invalid(field, format!("at most {bytes} bytes"), format!("{} bytes", text.len())))
}

fn timestamp(at: &Zoned) -> Timestamp {
    Timestamp::from_millis(at.timestamp().as_millisecond())
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

/// As it is stored.
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

    fn try_from(written: Written) -> Result<Self> {
        Self::new(&written.cron, &written.zone)
    }
}
