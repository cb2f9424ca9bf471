//! The place where a page of jobs ended, and which cursors are valid (contract R8.2).

use std::ops::Range;

use queuekit_core::{Error, ErrorKind, QueueName, Result, Status, StatusSet};
use serde::{Deserialize, Serialize};

use crate::layout::{PLACE, SCORED, TAGGED};

/// The last job a page looked at, by its place in its section.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Position {
    pub(super) queue: QueueName,
    pub(super) section: usize,
    /// The place in the form of lua/list.lua; empty for the beginning of the section.
    pub(super) place: Vec<u8>,
}

impl Position {
    pub(super) fn write(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| {
            Error::new(ErrorKind::Corrupt, "the page's cursor cannot be written").caused_by(error)
        })
    }

    /// Reads a cursor. Refuses one that no page has returned and the script could not read.
    pub(super) fn read(bytes: &[u8]) -> Result<Self> {
        let refused = || Error::invalid("cursor", "the cursor of a page", "an altered one");
        let position: Self =
            serde_json::from_slice(bytes).map_err(|error| refused().caused_by(error))?;
        let is_place = |section: &StatusSet| is_place(section_name(*section), &position.place);
        match StatusSet::SECTIONS.get(position.section).is_some_and(is_place) {
            true => Ok(position),
            false => Err(refused()),
        }
    }
}

/// Whether the script can read the place: its numbers are numbers.
fn is_place(section: &str, place: &[u8]) -> bool {
    let digits = |at: Range<usize>, digit: fn(&u8) -> bool| {
        place.get(at).is_some_and(|digits| digits.iter().all(digit))
    };
    let is_hex = |digit: &u8| digit.is_ascii_digit() || (b'a'..=b'f').contains(digit);
    match (section, place.first()) {
        (_, None) => true,
        ("waiting" | "keyed", Some(b'p')) => {
            let from = TAGGED.head.end;
            place.len() == from + PLACE.head.end
                && digits(from + PLACE.order.start..from + PLACE.order.end, is_hex)
        }
        ("waiting" | "keyed", letter) => letter == Some(&b'k'),
        _ => digits(SCORED.score, u8::is_ascii_digit),
    }
}

/// The section with the jobs that can have these statuses.
pub(super) fn section_name(statuses: StatusSet) -> &'static str {
    let of = |status| statuses.contains(status);
    match () {
        () if of(Status::Running) => "leased",
        () if of(Status::Dead) => "dead",
        () if of(Status::Cancelled) => "cancelled",
        () if of(Status::Completed) => "completed",
        () if of(Status::Blocked) => "keyed",
        () => "waiting",
    }
}
