//! Patterns of names: `*` matches any text.

use std::str::FromStr;

use queuekit::store::limits::RESERVED_QUEUE_PREFIXES;
use serde::{Deserialize, Serialize};

/// Length of the longest name.
const LONGEST: usize = 128;

/// A pattern of names: `*` matches any text, also the empty one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct Glob(String);

impl Glob {
    /// Matches every name.
    pub(crate) fn any() -> Self {
        Self("*".to_owned())
    }

    /// The text with which every name begins that it matches.
    pub(super) fn prefix(&self) -> &str {
        self.0.split('*').next().unwrap_or_default()
    }

    /// Whether it matches one name only.
    pub(crate) fn is_name(&self) -> bool {
        !self.0.contains('*')
    }

    /// Whether only queuekit itself enqueues to the queues that it matches.
    pub(crate) fn is_reserved(&self) -> bool {
        RESERVED_QUEUE_PREFIXES.iter().any(|reserved| self.prefix().starts_with(reserved))
    }

    pub(crate) fn matches(&self, name: &str) -> bool {
        let mut parts = self.0.split('*');
        // `split` returns at least one part.
        let Some(mut rest) = parts.next().and_then(|first| name.strip_prefix(first)) else {
            return false;
        };
        let mut parts: Vec<&str> = parts.collect();
        let Some(last) = parts.pop() else { return rest.is_empty() };
        for part in parts {
            match rest.find(part) {
                Some(at) => rest = &rest[at + part.len()..],
                None => return false,
            }
        }
        rest.ends_with(last)
    }
}

impl FromStr for Glob {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"_.:-*".contains(&byte);
        if text.is_empty() || text.len() > LONGEST || !text.bytes().all(is_name) {
            return Err(format!(
                "a pattern must have 1 to {LONGEST} letters, digits, `_`, `.`, `:`, `-`, and `*` \
                 for any text"
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl TryFrom<String> for Glob {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Glob> for String {
    fn from(glob: Glob) -> Self {
        glob.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_and_everything_else_for_itself() {
        let matches = |glob: &str, name: &str| glob.parse::<Glob>().unwrap().matches(name);
        for (glob, name) in [
            ("*", ""),
            ("*", "a"),
            ("a", "a"),
            ("a*", "a"),
            ("a*b*c", "a-b-b-c"),
            ("*.mail", "acme.mail"),
            ("a*a", "aba"),
            ("a_b:c-*", "a_b:c-d"),
        ] {
            assert!(matches(glob, name), "{glob} {name}");
        }
        for (glob, name) in
            [("a", "ab"), ("a*a", "a"), ("a*b", "ab-"), ("*b", "b "), ("a.b", "aXb"), ("a", "A")]
        {
            assert!(!matches(glob, name), "{glob} {name}");
        }
        for wrong in ["", "a b", "a,b", "shop/*", "[ab]", "a?", &"a".repeat(129)] {
            assert!(wrong.parse::<Glob>().is_err(), "{wrong}");
        }
    }
}
