//! What errors of one group have in common: the first line without its variable parts.

use std::fmt;

use crate::job::storable;
use crate::limits::SIGNATURE_BYTES;

/// The version of the rules by which [`Signature::of`] masks; it goes up with each change of them.
pub const SIGNATURE_VERSION: u8 = 1;

/// What is shown for an error whose first line is blank.
const NO_TEXT: &str = "(no text)";

/// The first line of an error, with numbers, hexadecimal, UUIDs, quoted text and paths masked;
/// at most 200 bytes.
///
/// ```
/// use queuekit_core::Signature;
///
/// let signature = Signature::of("HTTP 503 from https://api.example/v1/users/42 after 30.1 s");
/// assert_eq!(signature.as_str(), "HTTP <n> from <path> after <n> s");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Signature {
    version: u8,
    text: String,
}

impl Signature {
    /// The signature of an error, by the rules of [`SIGNATURE_VERSION`].
    pub fn of(error: &str) -> Self {
        let line = error.split('\n').next().unwrap_or_default();
        Self { version: SIGNATURE_VERSION, text: masked(line) }
    }

    /// The masked text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The version of the rules that made it.
    pub fn version(&self) -> u8 {
        self.version
    }

    /// Version and text, for stores: signatures of two versions never meet in one group.
    pub fn to_stored(&self) -> String {
        format!("{} {}", self.version, self.text)
    }

    /// Reads what [`to_stored`](Self::to_stored) wrote; none if it cannot be read.
    pub fn from_stored(stored: &str) -> Option<Self> {
        let (version, text) = stored.split_once(' ')?;
        Some(Self { version: version.parse().ok()?, text: text.to_owned() })
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Masks a line in one pass. What it writes has no digit and no pair of quotes, and is left as it
/// is by a second pass.
fn masked(line: &str) -> String {
    cut(Mask::of(line).text)
}

struct Mask<'a> {
    /// What is left to read.
    rest: &'a str,
    text: String,
    /// Quotes that nothing closes from here on: the rest is not searched for them again.
    unclosed: String,
}

impl<'a> Mask<'a> {
    /// Reads as much of the line as its signature shows: a listing masks thousands of long lines.
    fn of(line: &'a str) -> Self {
        let text = String::with_capacity(line.len().min(256));
        let mut mask = Self { rest: line, text, unclosed: String::new() };
        while let Some(next) = mask.rest.chars().next().filter(|_| !mask.is_full()) {
            match next {
                _ if is_blank(next) => mask.blank(next),
                '\'' | '"' | '`' => mask.quote(next),
                _ if is_word(next) => mask.word(),
                _ => mask.copy(next),
            }
        }
        mask
    }

    /// Whether what comes next would be cut off: text is only added.
    fn is_full(&self) -> bool {
        self.text.len() > SIGNATURE_BYTES
    }

    /// Many blanks are one.
    fn blank(&mut self, blank: char) {
        self.skip(blank.len_utf8());
        if !self.text.is_empty() && !self.text.ends_with(' ') {
            self.text.push(' ');
        }
    }

    /// Masks what is quoted. A quote that nothing closes is copied, as is an apostrophe.
    fn quote(&mut self, quote: char) {
        let after = &self.rest[1..];
        let is_apostrophe = is_apostrophe(quote, self.text.chars().next_back(), after);
        if is_apostrophe || self.unclosed.contains(quote) {
            return self.copy(quote);
        }
        match closing_quote(quote, after) {
            Some(at) => self.replace(1 + at + 1, "<text>"),
            None => {
                self.unclosed.push(quote);
                self.copy(quote);
            }
        }
    }

    /// Masks a path, or the numbers in a run of characters that paths are made of.
    fn word(&mut self) {
        let is_in_word = |c: char| is_word(c) || !c.is_ascii();
        let ascii = self.rest.find(|c| !is_word(c)).unwrap_or(self.rest.len());
        // Behind a mask nothing is a path: the mask may have been the beginning of a word.
        if !self.text.ends_with('>') {
            let end = if self.rest[..ascii].contains("://") {
                self.rest.find(|c| is_blank(c) || "\"'`<>()[]{},;".contains(c))
            } else if is_path(&self.rest[..ascii]) {
                self.rest.find(|c| !is_in_word(c))
            } else {
                Some(0)
            };
            let path = &self.rest[..end.unwrap_or(self.rest.len())];
            let path = path.trim_end_matches(['.', ':']).len();
            if path > 1 {
                return self.replace(path, "<path>");
            }
        }
        let end = self.rest.len() - ascii;
        while self.rest.len() > end && !self.is_full() {
            self.segment();
        }
    }

    /// Masks what begins here: a UUID, hexadecimal, or the numbers in a run of letters and digits.
    fn segment(&mut self) {
        let segment = self.rest.find(|c: char| !c.is_ascii_alphanumeric());
        let segment = &self.rest[..segment.unwrap_or(self.rest.len())];
        if segment.is_empty() {
            self.rest.chars().next().into_iter().for_each(|c| self.copy(c));
        } else if let Some(uuid) = uuid(self.rest) {
            self.replace(uuid, "<uuid>");
        } else if is_hex(segment) {
            self.replace(segment.len(), "<hex>");
        } else {
            let end = self.rest.len() - segment.len();
            while self.rest.len() > end && !self.is_full() {
                match number(self.rest) {
                    0 => self.rest.chars().next().into_iter().for_each(|c| self.copy(c)),
                    digits => self.replace(digits, "<n>"),
                }
            }
        }
    }

    fn copy(&mut self, c: char) {
        self.text.push(c);
        self.skip(c.len_utf8());
    }

    fn replace(&mut self, bytes: usize, mask: &str) {
        self.text.push_str(mask);
        self.skip(bytes);
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = &self.rest[bytes..];
    }
}

fn is_blank(c: char) -> bool {
    c == ' ' || c.is_control()
}

/// The characters of words and paths.
fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_./\\:@~+-".contains(c)
}

/// Whether this quote is an apostrophe: it stands between letters or digits, or their masks.
fn is_apostrophe(quote: char, before: Option<char>, after: &str) -> bool {
    let is_letter = |c: char, mask| c.is_ascii_alphanumeric() || !c.is_ascii() || c == mask;
    quote == '\''
        && before.is_some_and(|c| is_letter(c, '>'))
        && after.chars().next().is_some_and(|c| is_letter(c, '<'))
}

/// Where the quote is closed.
fn closing_quote(quote: char, text: &str) -> Option<usize> {
    let mut quotes = text.match_indices(quote).map(|(at, _)| at);
    quotes.find(|at| !is_apostrophe(quote, text[..*at].chars().next_back(), &text[at + 1..]))
}

/// Whether a word begins as a path does.
fn is_path(word: &str) -> bool {
    let is_drive = word.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    ["/", "./", "../", "~/"].iter().any(|start| word.starts_with(start))
        || (is_drive && word[1..].starts_with(":\\"))
}

/// The length of the UUID at the beginning; without a digit it is none.
fn uuid(text: &str) -> Option<usize> {
    let uuid = text.get(..36)?;
    let is_uuid = uuid.bytes().enumerate().all(|(at, byte)| match at {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    });
    let ends = !text[36..].starts_with(|c: char| c.is_ascii_alphanumeric());
    (is_uuid && ends && uuid.bytes().any(|byte| byte.is_ascii_digit())).then_some(36)
}

/// `0x` and hexadecimal digits, or 8 of these and more, letters and digits among them.
fn is_hex(segment: &str) -> bool {
    let is_hex = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    if let Some(digits) = segment.strip_prefix("0x").or_else(|| segment.strip_prefix("0X")) {
        return !digits.is_empty() && is_hex(digits);
    }
    segment.len() >= 8
        && is_hex(segment)
        && segment.bytes().any(|byte| byte.is_ascii_digit())
        && segment.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// The length of the number at the beginning, with points and commas between its digits; 0 if there
/// is none.
fn number(text: &str) -> usize {
    let bytes = text.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let mut end = 0;
    while is_digit(end)
        || (end > 0 && matches!(bytes.get(end), Some(b'.' | b',')) && is_digit(end + 1))
    {
        end += 1;
    }
    end
}

/// The text within its bound; a quote at its cut could close one before it.
fn cut(mut text: String) -> String {
    if text.len() > SIGNATURE_BYTES {
        text = storable(&text, SIGNATURE_BYTES);
        text.truncate(text.trim_end_matches('\'').len());
    }
    text.truncate(text.trim_end_matches(' ').len());
    if text.is_empty() { NO_TEXT.to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// These are stored, in every language: a change of one is a new version.
    #[test]
    fn r8_4_signatures_of_version_1_are_these() {
        assert_eq!(SIGNATURE_VERSION, 1);
        for (error, signature) in [
            ("lease expired", "lease expired"),
            ("deadline", "deadline"),
            ("corrupt", "corrupt"),
            ("", "(no text)"),
            (" \t\r\nsecond line", "(no text)"),
            ("timeout\nat main.rs:3", "timeout"),
            ("  a \t b\r\n", "a b"),
            ("HTTP 503 after 30.1 s, 3 of 3,000", "HTTP <n> after <n> s, <n> of <n>"),
            ("v2 of worker17: 5ms, -1, 10.0.0.5:6379.", "v<n> of worker<n>: <n>ms, -<n>, <n>:<n>."),
            ("user 'Ada' said \"no\" to `x`", "user <text> said <text> to <text>"),
            ("can't open 'it's'", "can't open <text>"),
            ("an 'open quote", "an 'open quote"),
            ("job 019ab2c4-7d11-7000-8000-0123456789ab died", "job <uuid> died"),
            ("at 0x7fff5fbff8a0, sha deadbeef01", "at <hex>, sha <hex>"),
            ("deadbeef 12345678 abc123", "deadbeef <n> abc<n>"),
            ("open /var/lib/x.db: no such file", "open <path>: no such file"),
            ("C:\\Temp\\a1 and ~/a ./b ../c", "<path> and <path> <path> <path>"),
            ("GET https://h.example:8443/a?b=c&d=5.", "GET <path>."),
            ("read/write of src/main.rs:12", "read/write of src/main.rs:<n>"),
            ("/ and /home/\u{fc}n\u{ef}/1", "/ and <path>"),
            ("2026-11-25T22:07:22Z boom", "<n>-<n>-<n>T<n>:<n>:<n>Z boom"),
            ("Os { code: 2, message: \"No\" }", "Os { code: <n>, message: <text> }"),
            ("\u{0}\u{1b}[31mred", "[<n>mred"),
            ("\u{6587}\u{4ef6} 7 \u{4e0d}", "\u{6587}\u{4ef6} <n> \u{4e0d}"),
        ] {
            assert_eq!(Signature::of(error).as_str(), signature, "of {error:?}");
        }
    }

    #[test]
    fn r8_4_a_signature_is_bounded_after_masking() {
        assert_eq!(Signature::of(&"1 ".repeat(4_000)).as_str().len(), 199);
        assert_eq!(Signature::of(&"\u{e9}".repeat(4_000)).as_str().len(), 200);
        assert_eq!(Signature::of(&format!("a{}", "\u{e9}".repeat(4_000))).as_str().len(), 199);
        assert_eq!(
            Signature::of(&format!("'{}' failed", "x".repeat(4_000))).as_str(),
            "<text> failed"
        );
    }

    #[test]
    fn r8_4_a_signature_is_read_as_it_was_stored() {
        let signature = Signature::of("boom 5");
        assert_eq!(signature.to_stored(), "1 boom <n>");
        assert_eq!(Signature::from_stored("1 boom <n>"), Some(signature.clone()));
        let next = Signature::from_stored("2 boom <n>").unwrap();
        assert_eq!(next.version(), 2);
        assert_ne!(next, signature, "two versions are two groups");
        assert_eq!(Signature::from_stored("boom"), None);
    }

    /// Guard: a text that was masked has nothing to mask, so that signatures can be compared.
    #[test]
    fn r8_4_the_signature_of_a_signature_is_itself() {
        const PARTS: [&str; 32] = [
            "a",
            "b",
            "don't",
            "'",
            "\"",
            "`",
            " ",
            "\t",
            "/",
            "\\",
            ":",
            ".",
            ",",
            "-",
            "_",
            "~",
            "://",
            "0x",
            "1",
            "42",
            "deadbeef",
            "0199",
            "<",
            ">",
            "<n>",
            "\u{e9}",
            "C:\\",
            "(",
            "@",
            "019ab2c4-7d11-7000-8000-0123456789ab",
            "abcdefabcdef",
            "\u{fffd}",
        ];
        let mut rng = fastrand::Rng::with_seed(19);
        for _ in 0..30_000 {
            let length = if rng.u8(..) == 0 { rng.usize(100..300) } else { rng.usize(0..12) };
            let text: String = (0..length).map(|_| PARTS[rng.usize(..PARTS.len())]).collect();
            let once = Signature::of(&text);
            assert!(once.as_str().len() <= SIGNATURE_BYTES, "of {text:?}");
            assert!(!once.as_str().contains(|c: char| c.is_ascii_digit()), "of {text:?}");
            assert_eq!(Signature::of(once.as_str()), once, "of {text:?}");
        }
    }

    #[test]
    fn r8_4_no_more_is_masked_than_a_signature_shows() {
        for long in ["a ", "a", "1z", "a.", "-", "\u{e9}", "'x' ", "0x1 ", "/a "] {
            let text = long.repeat(10_000);
            let mask = Mask::of(&text);
            assert!(mask.rest.len() > text.len() / 2, "of {long:?}");
            assert_eq!(cut(mask.text), masked(&text[..2000]), "of {long:?}");
        }
    }

    #[test]
    fn r8_4_masking_takes_time_in_proportion_to_the_text() {
        for hard in ["'", "\"", "a'", "don't ", "/", "1,", "0x", "://", "\u{e9}", "a", "\u{85}'a"] {
            let text = hard.repeat(1_000_000 / hard.len());
            assert!(Signature::of(&text).as_str().len() <= SIGNATURE_BYTES);
        }
    }
}
