//! The pause of a queue.

use super::When;

/// Why a queue is paused, and until when.
#[derive(Clone, Debug)]
pub(crate) struct Pause {
    /// May be empty.
    pub(crate) reason: String,
    /// None if it lasts until the queue is resumed.
    pub(crate) end: Option<When>,
}
