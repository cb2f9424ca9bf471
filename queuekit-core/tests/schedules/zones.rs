//! R15.3: what cron expressions mean where clocks are changed, told by six zones, and by a scan of
//! every minute of two years that knows nothing of cron.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp as Instant, ToSpan};
use queuekit_core::Timestamp;
use queuekit_core::schedule::Cron;

const ZONES: [&str; 6] = [
    "Europe/Berlin",
    "America/New_York",
    "America/Havana",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Asia/Kolkata",
];

fn at(text: &str) -> Timestamp {
    Timestamp::from_millis(text.parse::<Instant>().unwrap().as_millisecond())
}

/// The occurrences from an instant up to another.
fn between(cron: &Cron, from: &str, to: &str) -> Vec<Timestamp> {
    let to = at(to);
    let next = |after: Timestamp| cron.next_after(after).filter(|next| *next < to);
    let before = Timestamp::from_millis(at(from).as_millis() - 1);
    std::iter::successors(next(before), |last| next(*last)).collect()
}

fn told(expression: &str, zone: &str, from: &str, to: &str) -> Vec<String> {
    let zone_of = TimeZone::get(zone).unwrap();
    let local = |at: &Timestamp| {
        let at = Instant::from_millisecond(at.as_millis()).unwrap().to_zoned(zone_of.clone());
        at.strftime("%d %H:%M %:z").to_string()
    };
    between(&Cron::new(expression, zone).unwrap(), from, to).iter().map(local).collect()
}

#[test]
fn r15_3_one_time_of_day_in_the_gap_runs_at_its_end() {
    let spring = |expression| {
        told(expression, "Europe/Berlin", "2026-03-28T12:00:00Z", "2026-03-29T12:00:00Z")
    };
    assert_eq!(spring("30 2 * * *"), ["29 03:00 +02:00"]);
    assert_eq!(spring("15 3 * * *"), ["29 03:15 +02:00"]);
    assert_eq!(spring("*/30 2 * * *"), Vec::<String>::new(), "the gap is left out");
    let half =
        told("15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00Z", "2026-10-04T00:00:00Z");
    assert_eq!(half, ["04 02:30 +11:00"], "a gap of half an hour");
    let midnight =
        told("0 0 * * *", "America/Havana", "2026-03-07T12:00:00Z", "2026-03-09T12:00:00Z");
    assert_eq!(midnight, ["08 01:00 -04:00", "09 00:00 -04:00"], "a day without midnight");
}

#[test]
fn r15_3_one_time_of_day_that_comes_twice_runs_the_first_time() {
    let autumn =
        |expression, zone| told(expression, zone, "2026-10-24T22:00:00Z", "2026-10-25T12:00:00Z");
    assert_eq!(autumn("30 2 * * *", "Europe/Berlin"), ["25 02:30 +02:00"]);
    let each = autumn("*/30 2 * * *", "Europe/Berlin");
    let both = ["25 02:00 +02:00", "25 02:30 +02:00", "25 02:00 +01:00", "25 02:30 +01:00"];
    assert_eq!(each, both, "both hours run");
    let new_york =
        told("30 1 * * *", "America/New_York", "2026-11-01T00:00:00Z", "2026-11-01T12:00:00Z");
    assert_eq!(new_york, ["01 01:30 -04:00"]);
}

/// Every UTC minute whose local time matches: what an expression with `*` or a step means.
#[test]
fn r15_3_expressions_with_steps_match_a_scan_of_every_minute() {
    type Matches = fn(DateTime) -> bool;
    let (from, to) = ("2024-01-01T00:00:00Z", "2026-01-01T00:00:00Z");
    let expressions: [(&str, Matches); 3] = [
        ("0 * * * *", |local| local.minute() == 0),
        ("*/7 1-3 * * *", |local| local.minute() % 7 == 0 && (1..=3).contains(&local.hour())),
        ("30 * 29 2 *", |local| (local.month(), local.day(), local.minute()) == (2, 29, 30)),
    ];
    for zone in ZONES {
        let zone_of = TimeZone::get(zone).unwrap();
        let mut scanned = vec![Vec::new(); expressions.len()];
        let mut minute: Instant = from.parse().unwrap();
        let end: Instant = to.parse().unwrap();
        while minute < end {
            let local = zone_of.to_datetime(minute);
            for ((_, matches), scanned) in expressions.iter().zip(&mut scanned) {
                if matches(local) {
                    scanned.push(Timestamp::from_millis(minute.as_millisecond()));
                }
            }
            minute = minute.checked_add(1.minute()).unwrap();
        }
        for ((expression, _), scanned) in expressions.iter().zip(scanned) {
            let cron = Cron::new(expression, zone).unwrap();
            assert!(between(&cron, from, to) == scanned, "{expression} in {zone}");
        }
    }
}

/// One time of day runs once each day, gap or not.
#[test]
fn r15_3_one_time_of_day_runs_once_a_day() {
    for zone in ZONES {
        for expression in ["30 2 * * *", "0 0 * * *", "45 1 * * *"] {
            let cron = Cron::new(expression, zone).unwrap();
            let days = between(&cron, "2024-01-01T06:00:00Z", "2030-12-31T06:00:00Z");
            let zone = TimeZone::get(zone).unwrap();
            let date = |at: &Timestamp| {
                let at = Instant::from_millisecond(at.as_millis()).unwrap();
                zone.to_datetime(at).date()
            };
            let dates: Vec<_> = days.iter().map(date).collect();
            let follow = dates.windows(2).all(|pair| pair[0].tomorrow().unwrap() == pair[1]);
            assert!(follow, "{expression} in {}", cron.zone());
        }
    }
}

#[test]
fn the_last_until_an_instant_is_the_one_before_the_next() {
    for zone in ZONES {
        for expression in ["30 2 * * *", "*/20 2 * * *", "0 12 L * *", "0 9 * * MON#1"] {
            let cron = Cron::new(expression, zone).unwrap();
            let found = between(&cron, "2025-01-01T00:00:00Z", "2027-01-01T00:00:00Z");
            for pair in found.windows(2) {
                let before = Timestamp::from_millis(pair[1].as_millis() - 1);
                assert_eq!(cron.last_until(before), Some(pair[0]), "{expression} in {zone}");
                assert_eq!(cron.last_until(pair[1]), Some(pair[1]), "{expression} in {zone}");
            }
        }
    }
}

/// A search for the 31st that is the first Monday of its month did not end before the year 5000.
#[test]
fn an_expression_is_searched_for_until_the_year_2199() {
    let last = Cron::new("0 0 0 1 1 * 2199", "UTC").unwrap();
    assert_eq!(last.next_after(at("2026-01-01T00:00:00Z")), Some(at("2199-01-01T00:00:00Z")));
    assert_eq!(last.next_after(at("2199-01-01T00:00:00Z")), None);
    for never in ["0 0 0 1 1 * 2200", "0 0 0 1 1 * 1999", "0 0 0 31 * +MON#1"] {
        let error = Cron::new(never, "UTC").unwrap_err().to_string();
        assert!(error.contains("no time ever matches it"), "{error}");
    }
    let daily = Cron::new("@daily", "UTC").unwrap().describe();
    assert!(!daily.contains("20"), "the years are not named: {daily}");
}

/// It was searched for when it was put. It is read by each page that lists it.
#[test]
fn a_stored_expression_is_read_without_a_search() {
    let stored = r#"{"cron": "0 0 30 2 *", "zone": "UTC"}"#;
    let read: Cron = serde_json::from_str(stored).unwrap();
    assert_eq!(read.next_after(at("2026-01-01T00:00:00Z")), None);
    assert!(serde_json::from_str::<Cron>(r#"{"cron": "61 * * * *", "zone": "UTC"}"#).is_err());
}
