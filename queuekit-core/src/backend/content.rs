//! Terms of a filter that only the content of a job shows (contract R8.8).

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::job::{JobId, Metadata};
use crate::json_path::scalar_at;
use crate::limits::{TERM_BYTES, TERM_SEGMENTS};

/// The first digits of ids.
#[derive(Clone, PartialEq, Eq)]
pub struct IdPrefix(String);

/// A name of metadata, and its value: `tenant:acme`.
#[derive(Clone, PartialEq, Eq)]
pub struct MetadataTerm {
    name: String,
    value: String,
}

/// The path of a scalar in a JSON payload, and its text: `user.id:7`.
///
/// A segment names a member of an object, or counts the items of an array from 0. The text of a
/// string is the string itself; that of a number, of `true`, `false` and `null` is what the payload
/// has.
#[derive(Clone, PartialEq, Eq)]
pub struct PayloadTerm {
    path: Vec<String>,
    value: String,
}

impl IdPrefix {
    /// Whether an id begins with these digits.
    pub fn matches(&self, id: JobId) -> bool {
        digits(&id.to_string()).starts_with(&self.0)
    }
}

impl MetadataTerm {
    /// Whether the metadata has this value of this name.
    pub fn matches(&self, metadata: &Metadata) -> bool {
        metadata.get(&self.name) == Some(self.value.as_str())
    }
}

impl PayloadTerm {
    /// Whether the payload is JSON, and has a scalar of this text there.
    pub fn matches(&self, payload: &[u8]) -> bool {
        scalar_at(payload, &self.path).is_some_and(|text| text == self.value)
    }
}

impl FromStr for IdPrefix {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let prefix = digits(text);
        let are_digits = prefix.bytes().all(|byte| byte.is_ascii_hexdigit());
        if are_digits && (2..=32).contains(&prefix.len()) {
            return Ok(Self(prefix));
        }
        Err(Error::invalid("id", "2 to 32 hexadecimal digits, the first of an id", "another text"))
    }
}

impl FromStr for MetadataTerm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (name, value) = split("metadata", text)?;
        Ok(Self { name, value })
    }
}

impl FromStr for PayloadTerm {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let (path, value) = split("payload", text)?;
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        if path.len() > TERM_SEGMENTS || path.iter().any(String::is_empty) {
            let limit = format!("a path of 1..={TERM_SEGMENTS} names, joined by dots");
            return Err(Error::invalid("payload", limit, "another path"));
        }
        Ok(Self { path, value })
    }
}

/// Splits `NAME:VALUE`.
fn split(field: &'static str, text: &str) -> Result<(String, String)> {
    let limit = || format!("NAME:VALUE, of at most {TERM_BYTES} bytes each");
    match text.split_once(':') {
        Some((name, value)) if [name, value].iter().all(|part| part.len() <= TERM_BYTES) => {
            Ok((name.to_owned(), value.to_owned()))
        }
        _ => Err(Error::invalid(field, limit(), "another text")),
    }
}

fn digits(id: &str) -> String {
    id.chars().filter(|letter| *letter != '-').map(|letter| letter.to_ascii_lowercase()).collect()
}

impl fmt::Display for IdPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for MetadataTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.value)
    }
}

impl fmt::Display for PayloadTerm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.join("."), self.value)
    }
}

/// Shown and parsed as its text.
macro_rules! a_text {
    ($($term:ty),*) => {$(
        impl fmt::Debug for $term {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl TryFrom<&str> for $term {
            type Error = Error;

            fn try_from(text: &str) -> Result<Self> {
                text.parse()
            }
        }

        impl TryFrom<String> for $term {
            type Error = Error;

            fn try_from(text: String) -> Result<Self> {
                text.parse()
            }
        }
    )*};
}

a_text! { IdPrefix, MetadataTerm, PayloadTerm }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r8_8_an_id_prefix_is_hexadecimal_and_dashes_do_not_count() {
        let id: JobId = "0199c3a0-0000-7000-8000-000000000000".parse().unwrap();
        for prefix in ["01", "0199C3", "0199c3a000007", "0199c3a0-0000-7", &id.to_string()] {
            assert!(prefix.parse::<IdPrefix>().unwrap().matches(id), "{prefix}");
        }
        assert!(!"0199c4".parse::<IdPrefix>().unwrap().matches(id));
        for wrong in ["", "0", "0199g", &"0".repeat(33)] {
            assert!(wrong.parse::<IdPrefix>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn r8_8_terms_are_a_name_and_a_value() {
        let metadata = Metadata::from([("tenant", "acme:eu"), ("empty", "")]);
        for (term, matches) in [
            ("tenant:acme:eu", true),
            ("tenant:acme", false),
            ("empty:", true),
            ("missing:", false),
        ] {
            assert_eq!(term.parse::<MetadataTerm>().unwrap().matches(&metadata), matches, "{term}");
        }
        let long = format!("n:{}", "x".repeat(TERM_BYTES + 1));
        for wrong in ["tenant", &long] {
            assert!(wrong.parse::<MetadataTerm>().is_err(), "{wrong}");
        }
        for wrong in ["a..b:1", ":1", ".a:1", &format!("{}a:1", "a.".repeat(TERM_SEGMENTS))] {
            assert!(wrong.parse::<PayloadTerm>().is_err(), "{wrong}");
        }
        let term: PayloadTerm = "a.b:c:d".parse().unwrap();
        assert_eq!(term.to_string(), "a.b:c:d");
        assert!(term.matches(br#"{"a":{"b":"c:d"}}"#));
    }
}
