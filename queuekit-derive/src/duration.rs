//! Durations as text.

use syn::{Error, Lit, Result};

/// The milliseconds of a number and its unit, such as `"30s"`.
pub(crate) fn millis(literal: &Lit) -> Result<u64> {
    // What is no text has no unit either.
    let value = match literal {
        Lit::Str(text) => text.value(),
        _ => String::new(),
    };
    let digits = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    let (number, unit) = value.split_at(digits);
    let unit_ms = match unit {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    };
    let number = number.parse::<u64>().ok();
    number.zip(unit_ms).and_then(|(number, unit)| number.checked_mul(unit)).ok_or_else(|| {
        let message = "a duration is a number and ms, s, m, h or d, such as \"30s\"";
        Error::new_spanned(literal, message)
    })
}

#[cfg(test)]
mod tests {
    use syn::parse_str;

    use super::*;

    #[test]
    fn a_duration_has_a_number_and_a_unit() {
        let read = |text: &str| millis(&parse_str(&format!("{text:?}")).unwrap());
        for (text, wanted) in [("0ms", 0), ("30s", 30_000), ("2m", 120_000), ("1d", 86_400_000)] {
            assert_eq!(read(text).unwrap(), wanted, "{text}");
        }
        for wrong in ["", "30", "s", "1.5s", "-1s", "1 s", "1w", "99999999999999999d"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
        let error = millis(&parse_str("30").unwrap()).unwrap_err();
        assert!(error.to_string().contains("such as \"30s\""), "{error}");
    }
}
