//! Settling one batch and reserving the next in one step.

use std::fmt::Debug;

use async_trait::async_trait;

use crate::backend::{Ack, AckOutcome, Nack, NackOutcome, Reserve, Reserved};
use crate::error::Result;

/// Saves a round trip or a commit per batch. If a store lacks it, the worker makes separate
/// calls.
#[async_trait]
pub trait Exchange: Debug + Send + Sync {
    /// Does what `ack`, `nack` and `reserve` do, in this order.
    ///
    /// # Errors
    /// Those of the three if nothing took effect, or `Indeterminate`. If only the
    /// reserve failed, the answer has the outcomes of what took effect, and no lease.
    async fn exchange(&self, settlement: &Settlement, request: &Reserve) -> Result<Exchanged>;
}

/// Outcomes to record.
// Exhaustive: a store that ignores a part of it must not compile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Settlement {
    /// Successes.
    pub acks: Vec<Ack>,
    /// Failures, releases, cancellations.
    pub nacks: Vec<Nack>,
}

impl Settlement {
    /// Whether there is nothing to record.
    pub fn is_empty(&self) -> bool {
        self.acks.is_empty() && self.nacks.is_empty()
    }

    /// How many outcomes there are to record.
    pub fn len(&self) -> usize {
        self.acks.len() + self.nacks.len()
    }
}

/// The outcomes and the new leases.
// Exhaustive: a store that leaves a part out must not compile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Exchanged {
    /// An outcome per ack.
    pub acks: Vec<AckOutcome>,
    /// An outcome per nack.
    pub nacks: Vec<NackOutcome>,
    /// The new leases.
    pub reserved: Reserved,
}
