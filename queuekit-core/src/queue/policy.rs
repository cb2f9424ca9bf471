//! What partition keys do, and the order in which a queue serves.

use crate::words::words;

/// What a head that is scheduled, failed or released does to the later jobs of its key.
// Exhaustive: a store has to act on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOnWait {
    /// They wait for it.
    #[default]
    Block,
    /// They pass it.
    Skip,
}

words!(KeyOnWait "key_on_wait" { Block = "block", Skip = "skip" });

/// What a head that died does to the later jobs of its key.
// Exhaustive: a store has to act on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOnDead {
    /// The next one goes.
    #[default]
    Continue,
    /// They wait until it is retried, deleted or pruned.
    Hold,
}

words!(KeyOnDead "key_on_dead" { Continue = "continue", Hold = "hold" });

/// In which order a queue serves its jobs.
// Exhaustive: a store has to act on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By priority, then time, then sequence (R7.1).
    #[default]
    Strict,
    /// Partition keys in turn (R7.4).
    Fair,
}

words!(Order "order" { Strict = "strict", Fair = "fair" });
