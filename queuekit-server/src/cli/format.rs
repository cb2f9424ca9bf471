//! Formatting of answers for people.

use std::time::Duration;

use queuekit::Timestamp;
use queuekit::store::capability::Durability;
pub(crate) use queuekit::store::span;
use queuekit::store::{Clock, SystemClock};

use crate::unseen::{self, is_unseen};
use crate::wire::Time;

/// Time relative to now: `3m ago`, or `in 3m`.
pub(crate) fn ago(at: Time) -> String {
    relative(at, SystemClock::default().now())
}

/// The same relative to another time.
pub(crate) fn relative(at: Time, now: Timestamp) -> String {
    let ms = now.as_millis() - at.0.as_millis();
    let span = span(Duration::from_millis(ms.unsigned_abs()));
    if ms < 0 { format!("in {span}") } else { format!("{span} ago") }
}

/// What a successful call survives, in words.
pub(crate) fn survived(durability: Durability) -> &'static str {
    match durability {
        Durability::Nothing => {
            "nothing: jobs are lost if the store's process ends (for memory:, this process)"
        }
        Durability::ProcessKill => "the end of the store's process, but not a power failure",
        Durability::PowerLoss => "a power failure",
    }
}

/// The first line of a text, cut at a number of characters.
pub(crate) fn brief(text: &str, letters: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    let mut shown: String = on_a_line(line).chars().take(letters).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown
}

/// The text without control characters, except line ends, and without changes of the writing
/// direction. Texts come from the programs that enqueue jobs, and must not control the terminal.
pub(crate) fn printable(text: &str) -> String {
    text.chars().filter(|letter| *letter == '\n' || !is_unseen(*letter)).collect()
}

/// The same on one line.
pub(crate) fn on_a_line(text: &str) -> String {
    let shown = |letter| if letter == '\n' { '␤' } else { letter };
    text.chars().map(shown).filter(|letter| !is_unseen(*letter)).collect()
}

/// The same JSON, with characters escaped that nobody would see. They occur in strings only, except
/// for white space between values, which stays.
pub(crate) fn escaped(json: &str) -> String {
    let mut shown = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '\n' | '\r' | '\t' => shown.push(letter),
            _ if is_unseen(letter) => shown.push_str(&unseen::escaped(letter)),
            _ => shown.push(letter),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_store_of_a_server_is_said_to_end_with_its_client() {
        let told = survived(Durability::Nothing);
        assert!(told.contains("the store's process ends (for memory:, this process)"), "{told}");
    }

    #[test]
    fn a_text_cannot_steer_the_terminal() {
        assert_eq!(brief("\u{1b}[2Jboo\nmore", 10), "[2Jboo…");
        assert_eq!(printable("a\u{7}\u{9b}b\nc\u{202e}"), "ab\nc");
        assert_eq!(on_a_line("a\nstatus\u{1b}"), "a␤status");
        assert_eq!(brief("all", 3), "all");
        assert_eq!(printable("a\u{61c}\u{200b}\u{feff}\u{e0041}b"), "ab");
    }

    #[test]
    fn json_cannot_steer_the_terminal_and_says_the_same() {
        let text = "a\u{9b}b\u{202e}\u{e0041}é";
        let json = serde_json::to_string(text).unwrap();
        let shown = escaped(&json);
        assert_eq!(shown, "\"a\\u009bb\\u202e\\udb40\\udc41é\"");
        assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        assert_eq!(escaped("{\"a\":\r\n\t[\"\\n\"]}"), "{\"a\":\r\n\t[\"\\n\"]}");
    }
}
