//! A duration for people.

use std::time::Duration;

const SECOND_MS: u128 = 1000;
const MINUTE_MS: u128 = 60 * SECOND_MS;
const HOUR_MS: u128 = 60 * MINUTE_MS;
const DAY_MS: u128 = 24 * HOUR_MS;

/// A duration in its two largest units: `1h 20m`, `3.2s`, `12ms`.
pub fn span(duration: Duration) -> String {
    let ms = duration.as_millis();
    let two = |large: u128, unit: char, small: u128, small_unit: char| match ms % large / small {
        0 => format!("{}{unit}", ms / large),
        rest => format!("{}{unit} {rest}{small_unit}", ms / large),
    };
    match ms {
        0..SECOND_MS => format!("{ms}ms"),
        SECOND_MS..MINUTE_MS => match ms % SECOND_MS / 100 {
            0 => format!("{}s", ms / SECOND_MS),
            tenths => format!("{}.{tenths}s", ms / SECOND_MS),
        },
        MINUTE_MS..HOUR_MS => two(MINUTE_MS, 'm', SECOND_MS, 's'),
        HOUR_MS..DAY_MS => two(HOUR_MS, 'h', MINUTE_MS, 'm'),
        _ => two(DAY_MS, 'd', HOUR_MS, 'h'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_has_its_two_largest_units() {
        for (ms, shown) in [
            (0, "0ms"),
            (999, "999ms"),
            (1000, "1s"),
            (3250, "3.2s"),
            (60_000, "1m"),
            (61_000, "1m 1s"),
            (4_800_000, "1h 20m"),
            (90_000_000, "1d 1h"),
        ] {
            assert_eq!(span(Duration::from_millis(ms)), shown);
        }
    }
}
