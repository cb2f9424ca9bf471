//! Pages of listings.

use super::{Cursor, Examined};
use crate::names::QueueName;
use crate::queue::Queue;

/// One page of a listing.
// Exhaustive: a page is its items, where the next begins, and what it took.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// May be short or empty though more pages follow.
    pub items: Vec<T>,
    /// Where the next page begins; none at the end.
    pub next: Option<Cursor>,
    /// What it has looked at, whether it is on the page or not.
    pub examined: Examined,
}

impl<T> Default for Page<T> {
    fn default() -> Self {
        Self { items: Vec::new(), next: None, examined: Examined::default() }
    }
}

/// One page of queues.
// Exhaustive: a page is its items and where the next begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueuePage {
    /// By name; may be short or empty though more pages follow.
    pub queues: Vec<Queue>,
    /// The name after which the next page begins; none at the end.
    pub after: Option<QueueName>,
}
