//! The right to run a job for a while.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use bytes::Bytes;

use crate::clock::Timestamp;
use crate::error::{Error, ErrorKind, Result};
use crate::job::{JobId, Metadata, Priority};
use crate::limits::TTL;
use crate::names::{Kind, PartitionKey, QueueName};

/// A leased job: the token that settles it, and what a worker needs to run it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Lease {
    /// Settles, extends and reports.
    pub token: LeaseToken,
    /// Picks the handler.
    pub kind: Kind,
    /// Byte for byte as enqueued.
    pub payload: Bytes,
    /// Which attempt this is, 1 for the first.
    pub attempt: u32,
    /// How many attempts it may have.
    pub max_attempts: u32,
    /// How often the job was released.
    pub releases: u32,
    /// Its priority.
    pub priority: Priority,
    /// The timeout of this run.
    pub timeout: Duration,
    /// The time left until the deadline.
    pub deadline_in: Option<Duration>,
    /// Store time of the enqueue, for display.
    pub created_at: Timestamp,
    /// When it became due, for display.
    pub scheduled_at: Timestamp,
    /// Its partition key.
    pub partition_key: Option<PartitionKey>,
    /// The metadata of the job.
    pub metadata: Metadata,
}

impl Lease {
    /// A lease with only its token, kind and payload; stores set the rest.
    pub fn new(token: LeaseToken, kind: Kind, payload: Bytes) -> Self {
        Self {
            token,
            kind,
            payload,
            attempt: 1,
            max_attempts: 1,
            releases: 0,
            priority: Priority::NORMAL,
            timeout: Duration::ZERO,
            deadline_in: None,
            created_at: Timestamp::default(),
            scheduled_at: Timestamp::default(),
            partition_key: None,
            metadata: Metadata::default(),
        }
    }

    /// The id of the job.
    pub fn id(&self) -> JobId {
        self.token.id
    }

    /// The bytes that count towards those of an answer (contract R8.9).
    pub fn bytes(&self) -> usize {
        self.payload.len() + self.metadata.bytes()
    }
}

/// Proof of one lease of one job (contract R3.1); over HTTP its text form is opaque.
// Exhaustive: its text has exactly these parts.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct LeaseToken {
    /// The queue of the job.
    pub queue: QueueName,
    /// The job.
    pub id: JobId,
    /// Rises with every lease of the job: the number to pass on to other systems as a fence.
    pub lease_seq: u64,
    /// Shown by no read API and no log.
    pub nonce: Nonce,
}

impl LeaseToken {
    /// Whether the id belongs to the queue (contract R2.4). A store grants no other token.
    pub fn is_coherent(&self) -> bool {
        self.id.belongs_to(&self.queue)
    }

    /// The lease as one opaque text, which the tokens of the HTTP API contain. It is a secret.
    pub fn to_secret_string(&self) -> String {
        let mut text = format!("{}~{}~{}~", self.queue, self.id, self.lease_seq);
        for byte in self.nonce.0 {
            text.push_str(&format!("{byte:02x}"));
        }
        text
    }
}

/// Reads what [`LeaseToken::to_secret_string`] wrote; the error does not repeat the text.
impl FromStr for LeaseToken {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parse = || {
            let mut parts = text.split('~');
            let queue = QueueName::new(parts.next()?).ok()?;
            let id: JobId = parts.next()?.parse().ok()?;
            let lease_seq = parts.next()?.parse().ok()?;
            let nonce = u128::from_str_radix(parts.next()?, 16).ok()?.to_be_bytes();
            let whole = parts.next().is_none() && id.belongs_to(&queue);
            whole.then_some(Self { queue, id, lease_seq, nonce: Nonce(nonce) })
        };
        parse().ok_or_else(|| Error::invalid("token", "a token from a reserve", "another text"))
    }
}

/// Without the nonce, so that a log cannot be used to settle a job.
impl fmt::Debug for LeaseToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}#{}", self.queue, self.id, self.lease_seq)
    }
}

/// 128 random bits, drawn for each reserve call (contract R3.1).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Nonce([u8; 16]);

impl Nonce {
    /// Draws one from the operating system.
    ///
    /// # Errors
    /// `Unavailable` if the system has no randomness to give.
    pub fn draw() -> Result<Self> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| {
            let message = format!("cannot get random bytes from the system for a lease: {error}");
            Error::new(ErrorKind::Unavailable, message)
        })?;
        Ok(Self(bytes))
    }

    /// The bytes, for stores.
    pub fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }

    /// A nonce that was stored.
    pub fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Nonce {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("..")
    }
}

/// How long a lease lives without being extended: 1 s..=12 h (default 30 s).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeaseTtl(Duration);

impl LeaseTtl {
    /// A lease of this length.
    ///
    /// # Errors
    /// `Invalid` outside 1 s..=12 h.
    pub fn new(ttl: Duration) -> Result<Self> {
        if (TTL.0..=TTL.1).contains(&ttl) {
            return Ok(Self(ttl));
        }
        Err(Error::invalid("ttl", "1 s..=12 h", format!("{ttl:?}")))
    }

    /// For tests of stores and workers only: any length.
    #[doc(hidden)]
    pub fn for_tests(ttl: Duration) -> Self {
        Self(ttl)
    }

    /// The length.
    pub fn get(self) -> Duration {
        self.0
    }
}

impl Default for LeaseTtl {
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> LeaseToken {
        let queue = QueueName::default();
        let id = JobId::generate(&queue, Timestamp::default());
        LeaseToken { queue, id, lease_seq: 7, nonce: Nonce([0xab; 16]) }
    }

    #[test]
    fn r3_1_a_token_survives_its_text_form_and_debug_hides_the_nonce() {
        let token = token();
        assert_eq!(token.to_secret_string().parse::<LeaseToken>().unwrap(), token);
        assert!(!format!("{token:?} {:?}", token.nonce).contains("abab"), "{token:?}");
        for bad in ["", "a~b", "default~x~1~00", &format!("{}~", token.to_secret_string())] {
            assert!(bad.parse::<LeaseToken>().is_err(), "{bad}");
        }
    }

    #[test]
    fn r12_a_ttl_is_1_s_to_12_h() {
        let ttl = |millis| LeaseTtl::new(Duration::from_millis(millis));
        assert!(ttl(999).is_err() && ttl(1000).is_ok());
        assert!(ttl(43_200_000).is_ok() && ttl(43_200_001).is_err());
    }
}
