//! Patterns of event types.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result, read_checked};
use crate::names::Kind;

/// One type (`order.paid`), all types below a prefix (`order.*`), or all types (`*`).
// Exhaustive: a store has to match by each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum EventPattern {
    /// Every type.
    All,
    /// Types that begin with this text, which ends in a dot.
    Below(String),
    /// This type only.
    Only(Kind),
}

impl EventPattern {
    /// Whether the pattern matches this type.
    pub fn matches(&self, kind: &Kind) -> bool {
        match self {
            Self::All => true,
            Self::Below(prefix) => kind.as_str().starts_with(prefix.as_str()),
            Self::Only(only) => only == kind,
        }
    }

    /// Whether the pattern matches every type that the other one matches.
    pub fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::All, _) => true,
            (Self::Below(wide), Self::Below(narrow)) => narrow.starts_with(wide.as_str()),
            (_, Self::Only(kind)) => self.matches(kind),
            (Self::Below(_) | Self::Only(_), _) => false,
        }
    }
}

impl FromStr for EventPattern {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if text == "*" {
            return Ok(Self::All);
        }
        let refuse = |error: Error| {
            let limit = "a type like `order.paid`, or `order.*`, or `*`";
            Error::invalid("events", limit, format!("{text:?}")).caused_by(error)
        };
        match text.strip_suffix(".*") {
            Some(parts) => Kind::new(parts).map(|_| Self::Below(format!("{parts}."))),
            None => Kind::new(text).map(Self::Only),
        }
        .map_err(refuse)
    }
}

impl fmt::Display for EventPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Below(prefix) => write!(f, "{prefix}*"),
            Self::Only(kind) => fmt::Display::fmt(kind, f),
        }
    }
}

impl<'de> Deserialize<'de> for EventPattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        read_checked::<D, String, Self>(from)
    }
}

impl TryFrom<String> for EventPattern {
    type Error = Error;

    fn try_from(text: String) -> Result<Self> {
        text.parse()
    }
}

impl From<EventPattern> for String {
    fn from(pattern: EventPattern) -> Self {
        pattern.to_string()
    }
}
