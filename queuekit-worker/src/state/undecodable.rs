//! The kinds whose payloads this worker could not read.

use std::cmp::Reverse;
use std::sync::{Mutex, PoisonError};

use queuekit_core::capability::UndecodableKind;
use queuekit_core::limits::BEAT_UNDECODABLE;
use queuekit_core::{Kind, Timestamp};

/// Those of which it parked a job lately, at most as many as a beat names.
#[derive(Default)]
pub(crate) struct UndecodableKinds(Mutex<Vec<UndecodableKind>>);

impl UndecodableKinds {
    /// A job of this kind is parked.
    pub(crate) fn add(&self, kind: &Kind, error: &str, now: Timestamp) {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match kinds.iter_mut().find(|known| known.kind == *kind) {
            Some(known) => known.repeat(error, now),
            None => {
                kinds.sort_by_key(|known| Reverse(known.last));
                // Bounded, because anybody may enqueue jobs of kinds that a handler takes all of.
                kinds.truncate(BEAT_UNDECODABLE - 1);
                kinds.push(UndecodableKind::new(kind.clone(), error, now));
            }
        }
    }

    /// Those that its beat names now.
    pub(crate) fn lately(&self, now: Timestamp) -> Vec<UndecodableKind> {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        kinds.retain(|known| !known.is_forgotten(now));
        kinds.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_that_were_parked_last_are_kept() {
        let at = |second: usize| Timestamp::from_millis(second as i64 * 1000);
        let kind = |number: usize| Kind::new(format!("kind-{number}")).unwrap();
        let kinds = UndecodableKinds::default();
        for number in 0..BEAT_UNDECODABLE {
            kinds.add(&kind(number), "at name", at(number));
        }
        let end = BEAT_UNDECODABLE;
        kinds.add(&kind(0), "at name", at(end));
        kinds.add(&kind(end), "at name", at(end));
        let lately = kinds.lately(at(end));
        assert_eq!(lately.len(), BEAT_UNDECODABLE);
        let has = |number: usize| lately.iter().find(|known| known.kind == kind(number));
        assert_eq!(has(0).map(|known| known.times), Some(2));
        assert!(has(end).is_some() && has(1).is_none(), "{lately:?}");
        assert!(kinds.lately(at(100_000)).is_empty());
    }
}
