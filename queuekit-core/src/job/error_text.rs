//! Text that no store can refuse.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::limits::ERROR_BYTES;

/// Error text as it is stored: NUL and invalid UTF-8 became U+FFFD, cut at 8 KiB (contract R4.6).
#[derive(Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(
    feature = "openapi",
    derive(utoipa::ToSchema),
    schema(description = "The text of an error, cut at 8 KiB.")
)]
#[serde(from = "String", into = "String")]
pub struct ErrorText(String);

impl ErrorText {
    /// The text of these bytes, whatever they are.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        // Four bytes more than the cut, so that the cut falls inside known characters.
        let enough = &bytes[..bytes.len().min(ERROR_BYTES + 4)];
        Self(storable(&String::from_utf8_lossy(enough), ERROR_BYTES))
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl<T: AsRef<str>> From<T> for ErrorText {
    fn from(text: T) -> Self {
        Self(storable(text.as_ref(), ERROR_BYTES))
    }
}

impl From<ErrorText> for String {
    fn from(text: ErrorText) -> Self {
        text.0
    }
}

impl fmt::Display for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for ErrorText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// Replaces NUL and cuts at a character boundary.
pub(crate) fn storable(text: &str, most_bytes: usize) -> String {
    let mut kept = String::with_capacity(text.len().min(most_bytes));
    for c in text.chars() {
        let c = if c == '\0' { char::REPLACEMENT_CHARACTER } else { c };
        if kept.len() + c.len_utf8() > most_bytes {
            break;
        }
        kept.push(c);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r4_6_text_is_made_storable() {
        assert_eq!(ErrorText::from("a\0b").as_str(), "a\u{fffd}b");
        assert_eq!(ErrorText::from_bytes(b"a\xff\xfeb").as_str(), "a\u{fffd}\u{fffd}b");
        let long = ErrorText::from("é".repeat(10_000));
        assert_eq!(long.as_str().len(), ERROR_BYTES);
        let odd = ErrorText::from(format!("a{}", "é".repeat(10_000)));
        assert_eq!(odd.as_str().len(), ERROR_BYTES - 1);
    }
}
