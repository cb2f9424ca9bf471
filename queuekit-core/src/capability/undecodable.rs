//! Kinds whose payloads a worker cannot read.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::clock::Timestamp;
use crate::job::storable;
use crate::limits::BEAT_TEXT_BYTES;
use crate::names::Kind;

/// A kind of which a worker could not read every payload: it parked jobs (contract R13.8).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct UndecodableKind {
    /// The kind.
    pub kind: Kind,
    /// How often the worker parked a job of the kind, since `first`.
    pub times: u32,
    /// When it did so first, by the clock of the worker.
    pub first: Timestamp,
    /// When it did so last, by the clock of the worker.
    pub last: Timestamp,
    /// What it could not read last, cut at [`BEAT_TEXT_BYTES`].
    pub error: String,
}

/// A worker forgets a kind after this time without such a payload. A parked job is offered at least
/// once an hour, so by then none is left, or other workers get them.
const FORGOTTEN: Duration = Duration::from_secs(2 * 3600);

/// Bytes of its numbers and times, roughly.
const NUMBERS_BYTES: usize = 64;

impl UndecodableKind {
    /// A kind of which a worker parks the first job now.
    pub fn new(kind: Kind, error: &str, now: Timestamp) -> Self {
        let error = storable(error, BEAT_TEXT_BYTES);
        Self { kind, times: 1, first: now, last: now, error }
    }

    /// The worker parks another job of the kind.
    pub fn repeat(&mut self, error: &str, now: Timestamp) {
        self.times = self.times.saturating_add(1);
        self.last = now;
        self.error = storable(error, BEAT_TEXT_BYTES);
    }

    /// The bytes that count towards those of an answer (contract R8.9).
    pub(super) fn bytes(&self) -> usize {
        NUMBERS_BYTES + self.kind.as_str().len() + self.error.len()
    }

    /// Whether it was long ago.
    pub fn is_forgotten(&self, now: Timestamp) -> bool {
        now.since(self.last) >= FORGOTTEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Guard: a parked job is offered again within an hour, so a shorter memory would blink.
    #[test]
    fn r13_8_a_kind_is_forgotten_when_no_job_of_it_can_be_parked_any_more() {
        let start = Timestamp::default();
        let said = UndecodableKind::new(Kind::new("mail").unwrap(), "at body", start);
        let end = start + FORGOTTEN;
        assert!(!said.is_forgotten(end.minus(Duration::from_millis(1))) && said.is_forgotten(end));
        assert!(FORGOTTEN > crate::retry::undecodable_delay(u32::MAX));
    }
}
