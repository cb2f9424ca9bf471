//! The list of queues.

use askama::Template;

use super::{Pager, QueueTable, Shell};

/// The page `/ui/queues`.
#[derive(Clone, Debug, Template)]
#[template(path = "queues.html")]
pub(crate) struct Queues {
    pub(crate) shell: Shell,
    /// Only queues whose name contains this.
    pub(crate) search: String,
    /// The present order.
    pub(crate) order: &'static str,
    /// Orders to choose: address with the prefix, name, and whether it is the present one.
    pub(crate) orders: Vec<(String, &'static str, bool)>,
    pub(crate) table: QueueTable,
    pub(crate) pager: Pager,
}
