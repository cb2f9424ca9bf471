//! How urgent a job is.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{Error, Result, read_checked};

/// 0..=31, higher first (contract R2.1); [`Priority::NORMAL`] by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(into = "u8")]
pub struct Priority(u8);

impl Priority {
    /// 0.
    pub const LOW: Self = Self(0);
    /// 10.
    pub const NORMAL: Self = Self(10);
    /// 20.
    pub const HIGH: Self = Self(20);
    /// 30.
    pub const CRITICAL: Self = Self(30);
    /// How many levels there are.
    pub const LEVELS: usize = 32;

    /// The priority of this level.
    ///
    /// # Errors
    /// `Invalid` above 31.
    pub fn new(level: u8) -> Result<Self> {
        if usize::from(level) < Self::LEVELS {
            return Ok(Self(level));
        }
        Err(Error::invalid("priority", "0..=31", level))
    }

    /// 0..=31.
    pub const fn level(self) -> u8 {
        self.0
    }
}

impl Default for Priority {
    fn default() -> Self {
        Self::NORMAL
    }
}

impl fmt::Display for Priority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Priority {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        read_checked::<D, u8, Self>(from)
    }
}

impl TryFrom<u8> for Priority {
    type Error = Error;

    fn try_from(level: u8) -> Result<Self> {
        Self::new(level)
    }
}

impl From<Priority> for u8 {
    fn from(priority: Priority) -> Self {
        priority.0
    }
}

/// A number, or `low`, `normal`, `high`, `critical`.
impl FromStr for Priority {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "low" => Ok(Self::LOW),
            "normal" => Ok(Self::NORMAL),
            "high" => Ok(Self::HIGH),
            "critical" => Ok(Self::CRITICAL),
            _ => text.parse().ok().and_then(|level| Self::new(level).ok()).ok_or_else(|| {
                let limit = "0..=31 or low, normal, high, critical";
                Error::invalid("priority", limit, format!("{text:?}"))
            }),
        }
    }
}
