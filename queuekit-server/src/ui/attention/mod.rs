//! What needs attention: the dashboard shows it in a browser, and `queuekit top` in a terminal.

mod found;
mod seen;

pub(crate) use found::{Found, LAG, Place, Remedy, Urgency, is_new, is_silent, reasons};
pub(crate) use seen::{Consumer, Due, Seen, Worker};
