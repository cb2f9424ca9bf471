//! What one reserve may still do.

use super::{Record, Transition};
use crate::backend::Reserved;
use crate::limits::{DEAD_LETTERS_PER_RESERVE, reclaims_per_reserve};

/// What one reserve may still do, in all its queues together (contract R5.6, R5.7).
#[derive(Clone, Debug)]
pub struct Budget {
    limit: usize,
    reclaims: usize,
    dead_letters: usize,
}

impl Budget {
    /// The budget of a reserve of at most `limit` jobs.
    pub fn of(limit: usize) -> Self {
        let reclaims = reclaims_per_reserve(limit);
        Self { limit, reclaims, dead_letters: DEAD_LETTERS_PER_RESERVE }
    }

    /// How many expired leases it may still look at.
    pub fn reclaims(&self) -> usize {
        self.reclaims
    }

    /// Counts an expired lease; what becomes of its job, or none if that has to wait for the next
    /// reserve.
    pub fn reclaim(&mut self, record: &Record) -> Option<Transition> {
        self.reclaims = self.reclaims.checked_sub(1)?;
        let transition = if record.corrupt { Transition::Quarantine } else { record.on_expiry() };
        let dies = matches!(transition, Transition::Quarantine | Transition::ExpireDead);
        (!dies || self.dead_letter()).then_some(transition)
    }

    /// Counts a job that is dead-lettered; false if that has to wait for the next reserve.
    pub fn dead_letter(&mut self) -> bool {
        let left = self.dead_letters.checked_sub(1);
        self.dead_letters = left.unwrap_or_default();
        left.is_some()
    }

    /// Whether to look again at once: the batch was full, or the call only dead-lettered.
    pub fn more(&self, reserved: &Reserved) -> bool {
        let dead_lettered = self.dead_letters < DEAD_LETTERS_PER_RESERVE;
        let full = reserved.leases.len() == self.limit;
        full || self.dead_letters == 0 || (dead_lettered && reserved.leases.is_empty())
    }
}
