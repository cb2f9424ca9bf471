//! How a queue treats partition keys, and the order in which it serves jobs.

use crate::enum_words::words;

/// Whether a head that is scheduled, failed or released holds up the later jobs of its key.
// Exhaustive: a store has to act on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOnWait {
    /// They wait for it.
    #[default]
    Block,
    /// They may run before it.
    Skip,
}

words!(KeyOnWait "key_on_wait" { Block = "block", Skip = "skip" });

/// Whether a dead head holds up the later jobs of its key.
// Exhaustive: a store has to act on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum KeyOnDead {
    /// The next job runs.
    #[default]
    Continue,
    /// They wait until the dead job is retried, deleted or pruned.
    Hold,
}

words!(KeyOnDead "key_on_dead" { Continue = "continue", Hold = "hold" });

/// The order in which a queue serves its jobs.
// Exhaustive: a store has to act on each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Order {
    /// By priority, then time, then sequence (R7.1).
    #[default]
    Strict,
    /// Partition keys take turns (R7.4).
    Fair,
}

words!(Order "order" { Strict = "strict", Fair = "fair" });
