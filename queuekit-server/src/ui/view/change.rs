//! How a number has changed, in words.

/// How a number has changed: `rose by 30 %`; none if there is nothing to compare with.
pub(crate) fn change_in_words(before: u64, after: u64) -> Option<String> {
    if before == 0 {
        return None;
    }
    let times = after as f64 / before as f64;
    let percent = ((times - 1.0) * 100.0).round().abs();
    Some(match times {
        _ if percent < LEAST => "stayed the same".to_owned(),
        ..1.0 => format!("fell by {percent} %"),
        ..MANY => format!("rose by {percent} %"),
        _ => format!("rose {times:.0} times over"),
    })
}

/// A smaller change is none, in percent.
const LEAST: f64 = 5.0;
/// A number that is this many times as large is hard to read in percent.
const MANY: f64 = 10.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_is_told_in_percent_if_it_is_neither_tiny_nor_huge() {
        for (before, after, told) in [
            (0, 9, None),
            (100, 96, Some("stayed the same")),
            (100, 95, Some("fell by 5 %")),
            (100, 0, Some("fell by 100 %")),
            (100, 104, Some("stayed the same")),
            (100, 130, Some("rose by 30 %")),
            (100, 999, Some("rose by 899 %")),
            (100, 1200, Some("rose 12 times over")),
        ] {
            assert_eq!(change_in_words(before, after).as_deref(), told, "{before} {after}");
        }
    }
}
