//! Names and keys that cannot be built wrong.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;
use std::sync::{Arc, LazyLock};

use serde::{Deserialize, Deserializer, Serialize};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result, read_checked};
use crate::limits::{CONSUMER_BYTES, KEY_BYTES, NAME_BYTES, RESERVED_QUEUE_PREFIXES};

pub(crate) const NAME_RULE: &str = "[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}";

/// The name of a queue: `[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}`.
#[derive(Clone, Serialize)]
#[serde(into = "String")]
pub struct QueueName {
    name: Arc<str>,
    /// The first two bytes of SHA-256(name): the end of every job id of this queue (R2.4).
    tag: [u8; 2],
}

impl QueueName {
    /// Parses a queue's name.
    ///
    /// # Errors
    /// `Invalid` if it breaks the rule for names.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = checked_name("queue", name.as_ref())?;
        let digest = Sha256::digest(name.as_bytes());
        Ok(Self { name, tag: [digest[0], digest[1]] })
    }

    /// Whether only queuekit itself enqueues here (`event.*` and `queuekit.*`).
    pub fn is_reserved(&self) -> bool {
        RESERVED_QUEUE_PREFIXES.iter().any(|prefix| self.name.starts_with(prefix))
    }

    /// The two bytes every job id of this queue ends in (R2.4).
    pub fn id_tag(&self) -> [u8; 2] {
        self.tag
    }
}

/// The queue `default`.
impl Default for QueueName {
    #[expect(clippy::expect_used, reason = "a constant that a test parses")]
    fn default() -> Self {
        static DEFAULT: LazyLock<QueueName> =
            LazyLock::new(|| QueueName::new("default").expect("`default` is a name"));
        DEFAULT.clone()
    }
}

/// The kind of a job, which picks the handler. `[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}`.
#[derive(Clone, Serialize)]
#[serde(into = "String")]
pub struct Kind {
    name: Arc<str>,
}

impl Kind {
    /// Parses a kind's name.
    ///
    /// # Errors
    /// `Invalid` if it breaks the rule for names.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        Ok(Self { name: checked_name("kind", name.as_ref())? })
    }
}

/// The id of one worker process; two workers never share one, even under equal names.
#[derive(Clone, Serialize)]
#[serde(into = "String")]
pub struct WorkerId {
    name: Arc<str>,
}

impl WorkerId {
    /// Parses a worker's id as it was printed.
    ///
    /// # Errors
    /// `Invalid` if it breaks the rule for names.
    pub fn new(id: impl AsRef<str>) -> Result<Self> {
        Ok(Self { name: checked_name("worker", id.as_ref())? })
    }

    /// A new id for a worker of this name: the name and 12 random hex digits.
    ///
    /// # Errors
    /// `Invalid` if the name breaks the rule for names or has more than 115 bytes.
    pub fn incarnate(name: &str) -> Result<Self> {
        Self::new(format!("{name}-{:012x}", fastrand::u64(..1 << 48)))
    }
}

/// The name of a schedule: `[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}`.
#[derive(Clone, Serialize)]
#[serde(into = "String")]
pub struct ScheduleName {
    name: Arc<str>,
}

impl ScheduleName {
    /// Parses a schedule's name.
    ///
    /// # Errors
    /// `Invalid` if it breaks the rule for names.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        Ok(Self { name: checked_name("schedule", name.as_ref())? })
    }
}

/// The name of a checkpoint of a job: `[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}`.
#[derive(Clone, Serialize)]
#[serde(into = "String")]
pub struct CheckpointName {
    name: Arc<str>,
}

impl CheckpointName {
    /// Parses a checkpoint's name.
    ///
    /// # Errors
    /// `Invalid` if it breaks the rule for names.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        Ok(Self { name: checked_name("checkpoint", name.as_ref())? })
    }
}

/// The name of a consumer of events: like a queue's name, of at most 100 bytes.
#[derive(Clone, Serialize)]
#[serde(into = "String")]
pub struct ConsumerName {
    name: Arc<str>,
}

impl ConsumerName {
    /// Parses a consumer's name.
    ///
    /// # Errors
    /// `Invalid` if it breaks the rule for names, or has more than 100 bytes.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        let name = checked_name("consumer", name.as_ref())?;
        if name.len() > CONSUMER_BYTES {
            let got = format!("{} bytes", name.len());
            return Err(Error::invalid("consumer", "at most 100 bytes", got));
        }
        Ok(Self { name })
    }

    /// The queue of its deliveries: `event.` and its name.
    ///
    /// # Errors
    /// None: every consumer's name makes a queue's.
    pub fn queue(&self) -> Result<QueueName> {
        QueueName::new(format!("event.{}", self.name))
    }
}

/// A partition key: jobs of a queue that share it run in order, at most `per_key` at a time.
/// 1..=256 bytes, no NUL.
#[derive(Clone, Serialize)]
#[serde(into = "String")]
pub struct PartitionKey {
    name: Arc<str>,
}

impl PartitionKey {
    /// Parses a partition key.
    ///
    /// # Errors
    /// `Invalid` if it is empty, has more than 256 bytes or a NUL, which not every store can keep.
    pub fn new(key: impl AsRef<str>) -> Result<Self> {
        Ok(Self { name: checked_key("partition_key", key.as_ref())? })
    }
}

/// An idempotency key: of all jobs of a queue that share it, only one is stored. 1..=256 bytes, no
/// NUL.
#[derive(Clone, Serialize)]
#[serde(into = "String")]
pub struct IdempotencyKey {
    name: Arc<str>,
}

impl IdempotencyKey {
    /// Parses an idempotency key.
    ///
    /// # Errors
    /// `Invalid` if it is empty, has more than 256 bytes or a NUL, which not every store can keep.
    pub fn new(key: impl AsRef<str>) -> Result<Self> {
        Ok(Self { name: checked_key("idempotency_key", key.as_ref())? })
    }
}

fn checked_name(field: &'static str, name: &str) -> Result<Arc<str>> {
    let inner = |c: u8| c.is_ascii_alphanumeric() || b"_.:-".contains(&c);
    let valid = name.len() <= NAME_BYTES
        && name.as_bytes().first().is_some_and(u8::is_ascii_alphanumeric)
        && name.bytes().all(inner);
    if valid { Ok(name.into()) } else { Err(Error::invalid(field, NAME_RULE, excerpt(name))) }
}

fn checked_key(field: &'static str, key: &str) -> Result<Arc<str>> {
    let nul = key.contains('\0');
    if (1..=KEY_BYTES).contains(&key.len()) && !nul {
        return Ok(key.into());
    }
    let got = format!("{} bytes{}", key.len(), if nul { " with a NUL" } else { "" });
    Err(Error::invalid(field, format!("1..={KEY_BYTES} bytes without NUL"), got))
}

fn excerpt(name: &str) -> String {
    let short: String = name.chars().take(40).collect();
    let dots = if short.len() < name.len() { ".." } else { "" };
    format!("{short:?}{dots} ({} bytes)", name.len())
}

macro_rules! string_like {
    ($($type:ident)*) => {$(
        impl $type {
            /// The text.
            pub fn as_str(&self) -> &str {
                &self.name
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.name)
            }
        }

        impl fmt::Debug for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", self.as_str())
            }
        }

        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                // Most names that are compared are clones of one another, which a look at the
                // pointers shows.
                Arc::ptr_eq(&self.name, &other.name) || self.name == other.name
            }
        }

        impl Eq for $type {}

        impl PartialOrd for $type {
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $type {
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                if Arc::ptr_eq(&self.name, &other.name) {
                    return std::cmp::Ordering::Equal;
                }
                self.name.cmp(&other.name)
            }
        }

        impl std::hash::Hash for $type {
            fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
                self.as_str().hash(state);
            }
        }

        impl Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.name
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.name
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                read_checked::<D, String, Self>(from)
            }
        }

        impl FromStr for $type {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self> {
                Self::new(text)
            }
        }

        impl TryFrom<&str> for $type {
            type Error = Error;

            fn try_from(text: &str) -> Result<Self> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $type {
            type Error = Error;

            fn try_from(text: String) -> Result<Self> {
                Self::new(text)
            }
        }

        impl TryFrom<&String> for $type {
            type Error = Error;

            fn try_from(text: &String) -> Result<Self> {
                Self::new(text)
            }
        }

        impl From<&$type> for $type {
            fn from(same: &$type) -> Self {
                same.clone()
            }
        }

        impl From<$type> for String {
            fn from(name: $type) -> Self {
                name.name.as_ref().to_owned()
            }
        }
    )*};
}

string_like! {
    QueueName Kind WorkerId ScheduleName CheckpointName ConsumerName PartitionKey IdempotencyKey
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_obey_their_rule_on_both_sides_of_every_limit() {
        for good in ["a", "9", "a.b:c-d_E", &"x".repeat(128)] {
            assert!(QueueName::new(good).is_ok(), "{good}");
        }
        for bad in ["", ".a", "-a", "a b", "a{b}", "é", "a/b", "a\0", &"x".repeat(129)] {
            assert!(QueueName::new(bad).is_err(), "{bad}");
            assert!(Kind::new(bad).is_err(), "{bad}");
        }
        assert!(PartitionKey::new("k".repeat(256)).is_ok());
        assert!(PartitionKey::new("k".repeat(257)).is_err());
        assert!(IdempotencyKey::new("").is_err());
    }

    #[test]
    fn queue_tags_are_fixed_for_ever() {
        assert_eq!(QueueName::default().id_tag(), [0x37, 0xa8]);
    }
}
