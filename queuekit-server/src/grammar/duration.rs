//! Durations and times as people write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use queuekit::store::{Clock, SystemClock};

/// A number and its unit: `500ms`, `10s`, `5m`, `1h`, `2d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

/// A time: RFC 3339, or a [`Span`] from now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instant(pub(crate) jiff::Timestamp);

/// A time: RFC 3339, or a [`Span`] ago.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Since(pub(crate) jiff::Timestamp);

/// A value, or the word `none`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OrNone<T>(pub(crate) Option<T>);

impl<T: FromStr<Err: fmt::Display>> FromStr for OrNone<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "none" {
            return Ok(Self(None));
        }
        text.parse().map(|value| Self(Some(value))).map_err(|error| format!("{error}; or none"))
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        let (number, unit) = text.split_at(digits);
        let unit_ms = match unit {
            "ms" => Some(1),
            "s" => Some(1000),
            "m" => Some(60_000),
            "h" => Some(3_600_000),
            "d" => Some(86_400_000),
            _ => None,
        };
        let ms = number.parse::<u64>().ok().zip(unit_ms).and_then(|(n, unit)| n.checked_mul(unit));
        match ms {
            Some(ms) => Ok(Self(Duration::from_millis(ms))),
            None if unit.is_empty() && !number.is_empty() => {
                Err(format!("a duration needs a unit; did you mean {number}s or {number}ms?"))
            }
            None => Err("a duration is a number and a unit: 500ms, 10s, 5m, 1h, 2d".to_owned()),
        }
    }
}

/// As it is read: in the largest unit of which it is a whole number.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.0.as_millis();
        let units = [(86_400_000, "d"), (3_600_000, "h"), (60_000, "m"), (1000, "s")];
        let whole = units.into_iter().find(|(unit, _)| ms > 0 && ms.is_multiple_of(*unit));
        let (unit, name) = whole.unwrap_or((1, "ms"));
        write!(f, "{}{name}", ms / unit)
    }
}

impl FromStr for Since {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(Span(span)) = text.parse() {
            let now = jiff::Timestamp::from_millisecond(SystemClock::default().now().as_millis());
            let then = now.and_then(|now| now.checked_sub(span));
            return then.map(Self).map_err(|_| "this time is too long ago".to_owned());
        }
        text.parse()
            .map(Self)
            .map_err(|_| "write a duration ago (10s, 5m, 1h, 2d) or a time (RFC 3339)".to_owned())
    }
}

impl FromStr for Instant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(Span(span)) = text.parse() {
            let now = jiff::Timestamp::from_millisecond(SystemClock::default().now().as_millis());
            let then = now.and_then(|now| now.checked_add(span));
            return then.map(Self).map_err(|_| "this time is too far away".to_owned());
        }
        text.parse().map(Self).map_err(|_| {
            "a time is RFC 3339, such as 2027-01-31T12:00:00Z, or a duration from now, such as 30d"
                .to_owned()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_a_number_and_its_unit() {
        for (text, ms) in
            [("0ms", 0), ("500ms", 500), ("10s", 10_000), ("5m", 300_000), ("1h", 3_600_000)]
        {
            assert_eq!(text.parse(), Ok(Span(Duration::from_millis(ms))), "{text}");
        }
        assert_eq!("2d".parse(), Ok(Span(Duration::from_secs(2 * 86_400))));
        for text in ["0ms", "999ms", "1001ms", "90s", "59m", "90m", "25h", "2d"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text, "it is written as read");
        }
        let near = "10".parse::<Span>().unwrap_err();
        assert!(near.contains("did you mean 10s"), "{near}");
        for wrong in ["", "s", "1.5s", "-1s", "1 s", "1w", "99999999999999999999s", "1s1"] {
            assert!(wrong.parse::<Span>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn an_instant_is_absolute_or_from_now() {
        let Instant(at) = "2027-01-31T12:00:00Z".parse().unwrap();
        assert_eq!(at.as_second(), 1_801_396_800);
        let now = SystemClock::default().now().as_millis();
        let Instant(soon) = "1h".parse().unwrap();
        assert!((now + 3_600_000..now + 3_660_000).contains(&soon.as_millisecond()));
        for wrong in ["tomorrow", "2027-01-31", "99999999999999d"] {
            assert!(wrong.parse::<Instant>().is_err(), "{wrong}");
        }
    }
}
