//! The layout of what is stored, for tests that look at it.

use std::ops::Range;

use crate::layout::{self, LOG, QUEUE};
use crate::scripts;

/// A record: its name, and the place of each field.
pub type Record = (&'static str, Vec<(&'static str, Range<usize>)>);

/// A script on a queue with these pieces of lua/lib/, as it is sent to a server.
pub fn script(pieces: &[&str], text: &'static str) -> String {
    scripts::of_test(pieces, text)
}

/// A script with numbers instead of the names of the layout.
pub fn inline(lua: &str) -> String {
    layout::lua::inline(lua)
}

/// All records.
pub fn records() -> Vec<Record> {
    layout::records().into_iter().map(|record| (record.name, record.fields)).collect()
}

/// The parts by which the keys of a queue end, in the order in which scripts take them.
pub fn queue_parts() -> &'static [&'static str] {
    QUEUE.parts
}

/// Those of the log of events.
pub fn log_parts() -> &'static [&'static str] {
    LOG.parts
}
