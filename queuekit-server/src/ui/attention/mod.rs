//! What needs attention: the dashboard shows it in a browser, and `queuekit top` in a terminal.

mod found;
mod growth;
mod queue;
mod seen;

pub(crate) use found::{Found, Place, Remedy, Urgency, is_new, is_silent};
pub(crate) use growth::Growth;
pub(crate) use queue::{LAG, reasons};
pub(crate) use seen::{Consumer, Due, Seen, SeenQueue, Worker};
