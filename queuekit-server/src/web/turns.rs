//! Changes of the same name, one after another.

use std::hash::{BuildHasher, Hash, RandomState};
use std::sync::Arc;

use tokio::sync::{Mutex, OwnedMutexGuard};

/// Changes at once; two names may share a turn.
const TURNS: usize = 32;

/// A change holds its turn until the store has answered and the answer is counted. So what is
/// counted last is what is stored last.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    turns: [Arc<Mutex<()>>; TURNS],
    hasher: RandomState,
}

impl Turns {
    /// Waits until no other change of this name is in progress.
    pub(crate) async fn of<N: Hash + ?Sized>(&self, name: &N) -> OwnedMutexGuard<()> {
        let turn = self.hasher.hash_one(name) as usize % TURNS;
        Arc::clone(&self.turns[turn]).lock_owned().await
    }
}
