//! Which checkpoint a job takes (contract R13.10).

use crate::capability::CheckpointOutcome;
use crate::limits::{CHECKPOINTS, CHECKPOINTS_BYTES};

/// The checkpoints that a job has.
// Exhaustive: a store fills in all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Held {
    /// How many.
    pub count: usize,
    /// The bytes of their results.
    pub bytes: usize,
    /// Whether the result under the name that is to be stored is the same; `None` if there is none.
    pub same: Option<bool>,
}

/// What becomes of a checkpoint whose result has this number of bytes, if its lease holds. A store
/// writes it if it is `Stored` and there is none of its name.
pub fn checkpoint(held: Held, bytes: usize) -> CheckpointOutcome {
    match held.same {
        Some(true) => CheckpointOutcome::Stored,
        Some(false) => CheckpointOutcome::Conflict,
        None if held.count >= CHECKPOINTS || held.bytes + bytes > CHECKPOINTS_BYTES => {
            CheckpointOutcome::Full
        }
        None => CheckpointOutcome::Stored,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r13_10_a_job_has_64_checkpoints_and_1_mib_of_results() {
        let to = |count, bytes, new| checkpoint(Held { count, bytes, same: None }, new);
        assert_eq!(to(63, 0, 1), CheckpointOutcome::Stored);
        assert_eq!(to(64, 0, 1), CheckpointOutcome::Full);
        assert_eq!(to(1, CHECKPOINTS_BYTES - 5, 5), CheckpointOutcome::Stored);
        assert_eq!(to(1, CHECKPOINTS_BYTES - 5, 6), CheckpointOutcome::Full);
    }

    #[test]
    fn r13_10_a_name_keeps_its_first_result_also_when_the_job_is_full() {
        let to = |same| checkpoint(Held { count: CHECKPOINTS, bytes: 0, same: Some(same) }, 1);
        assert_eq!(to(true), CheckpointOutcome::Stored);
        assert_eq!(to(false), CheckpointOutcome::Conflict);
    }
}
