//! Texts on the screen. Those of jobs come from other programs: everything that is drawn passes
//! through here.

use std::fmt::Display;
use std::time::Duration;

use queuekit::Timestamp;
use queuekit::queues::Count;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cli::format::{on_a_line, relative, span};
use crate::wire::Time;

/// The text on one line of at most this width, without characters that control the terminal.
pub(super) fn cut(text: impl Display, width: usize) -> String {
    let text = on_a_line(&text.to_string());
    if text.width() <= width {
        return text;
    }
    let mut shown = String::new();
    let mut used = 0;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        if used + 1 > width {
            break;
        }
        shown.push(letter);
    }
    if width > 0 { shown + "…" } else { shown }
}

/// The same, filled up to this width.
pub(super) fn padded(text: impl Display, width: usize, to_the_right: bool) -> String {
    let text = cut(text, width);
    let space = " ".repeat(width.saturating_sub(text.width()));
    if to_the_right { space + &text } else { text + &space }
}

/// The lines of a text, each broken where it is wider than this.
pub(super) fn wrapped(text: &str, width: usize) -> Vec<String> {
    text.split('\n').flat_map(|line| broken(&on_a_line(line), width.max(2))).collect()
}

/// Breaks between words, or within a word that is too long for a line.
fn broken(line: &str, width: usize) -> Vec<String> {
    let (mut lines, mut current) = (Vec::new(), String::new());
    for letter in line.chars() {
        if current.width() + letter.width().unwrap_or(0) > width {
            if letter == ' ' {
                lines.push(std::mem::take(&mut current));
                continue;
            }
            let space = current.rfind(' ').filter(|at| !current[..*at].trim().is_empty());
            let rest = space.map_or_else(String::new, |at| current.split_off(at + 1));
            lines.push(std::mem::replace(&mut current, rest).trim_end().to_owned());
        }
        current.push(letter);
    }
    lines.push(current);
    lines
}

/// Time relative to now, in whole seconds: tenths would flicker.
pub(super) fn ago(at: Timestamp, now: Timestamp) -> String {
    let ms = now.as_millis() - at.as_millis();
    match ms / 1000 {
        0 => "now".to_owned(),
        seconds => {
            relative(Time(Timestamp::from_millis(-seconds * 1000)), Timestamp::from_millis(0))
        }
    }
}

/// A duration in whole seconds.
pub(super) fn seconds(duration: Duration) -> String {
    match duration.as_secs() {
        0 => "<1s".to_owned(),
        seconds => span(Duration::from_secs(seconds)),
    }
}

/// `12,345`
pub(super) fn number(value: u64) -> String {
    let digits = value.to_string();
    let mut shown = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            shown.push(',');
        }
        shown.push(digit);
    }
    shown
}

/// `12,345`, or `~12,345` if the store estimates it.
pub(super) fn count(count: Count) -> String {
    let about = if count.exact { "" } else { "~" };
    format!("{about}{}", number(count.value))
}

/// The same in at most six columns: `9,876`, `12.3k`, `~1.23M`.
pub(super) fn brief_count(count: Count) -> String {
    let about = if count.exact { "" } else { "~" };
    let scaled = |unit: u64, letter: char| {
        let (whole, rest) = (count.value / unit, count.value % unit);
        // Cut, not rounded: 999,999 is not a million.
        match whole {
            0..10 => format!("{about}{whole}.{:02}{letter}", rest * 100 / unit),
            10..100 => format!("{about}{whole}.{}{letter}", rest * 10 / unit),
            _ => format!("{about}{whole}{letter}"),
        }
    };
    match count.value {
        0..10_000 => self::count(count),
        10_000..1_000_000 => scaled(1000, 'k'),
        1_000_000..1_000_000_000 => scaled(1_000_000, 'M'),
        _ => scaled(1_000_000_000, 'G'),
    }
}

/// A bar for each value, up to the largest; a dot for 0.
pub(super) fn bars(values: &[u64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let most = values.iter().max().copied().unwrap_or(0).max(1);
    let bar = |value: &u64| {
        let eighths = (u128::from(*value) * 8).div_ceil(u128::from(most));
        let at = usize::try_from(eighths).ok()?.checked_sub(1)?;
        BARS.get(at).copied()
    };
    values.iter().map(|value| bar(value).unwrap_or('·')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_by_the_columns_that_it_takes() {
        assert_eq!(cut("emails", 6), "emails");
        assert_eq!(cut("emails", 5), "emai…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("a", 0), "");
        assert_eq!(padded("日", 4, true), "  日");
    }

    #[test]
    fn times_are_in_whole_seconds() {
        let now = Timestamp::from_millis(1_000_000);
        let at = |ms: i64| ago(Timestamp::from_millis(1_000_000 + ms), now);
        assert_eq!(
            [at(-999), at(999), at(-1999), at(61_500)],
            ["now", "now", "1s ago", "in 1m 1s"]
        );
        assert_eq!(seconds(Duration::from_millis(999)), "<1s");
        assert_eq!(seconds(Duration::from_millis(95_900)), "1m 35s");
    }

    #[test]
    fn a_number_in_a_table_takes_six_columns_at_most() {
        let brief = |value: u64| brief_count(Count { value, exact: true });
        assert_eq!([brief(0), brief(9_876), brief(12_345)], ["0", "9,876", "12.3k"]);
        assert_eq!([brief(999_999), brief(1_234_567)], ["999k", "1.23M"]);
        assert_eq!([brief(12_345_678), brief(5_000_000_000)], ["12.3M", "5.00G"]);
        assert_eq!(brief_count(Count { value: 1_009_999, exact: false }), "~1.00M");
    }

    #[test]
    fn a_bar_is_as_high_as_its_value_and_only_none_is_not_seen() {
        assert_eq!(bars(&[0, 1, 4, 8, 1000, 0]), "·▁▁▁█·");
        assert_eq!(bars(&[0, 1, 4, 8]), "·▁▄█");
        assert_eq!(bars(&[0, 0]), "··");
        assert_eq!(bars(&[u64::MAX, 1]), "█▁");
    }

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        assert_eq!(cut("a\u{1b}[2J\u{202e}b\nc\u{200b}", 20), "a[2Jb␤c");
        assert_eq!(wrapped("a\u{1b}[2J\nb\u{9b}c", 3), ["a[2", "J", "bc"]);
    }

    #[test]
    fn long_lines_are_broken_between_words_if_possible_and_nothing_is_lost() {
        assert_eq!(wrapped("abcdef\n\n日本", 3), ["abc", "def", "", "日", "本"]);
        assert_eq!(wrapped("  one two three", 9), ["  one two", "three"]);
        assert_eq!(wrapped("  onetwothree", 5), ["  one", "twoth", "ree"]);
    }
}
