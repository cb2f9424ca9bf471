//! What becomes of what an application's code declares at each start.

use serde::Serialize;

use crate::digest;
use crate::error::{Error, ErrorKind, Result};

/// What became of a schedule or a subscription that the application's code declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declared {
    /// There was none of its name.
    Created,
    /// The code says something else than last time, and that holds now.
    Changed,
    /// The code says what it said last time; what an operator has changed since stays.
    Unchanged,
}

/// A declaration as it is compared with the last one: `beside` stands beside what is written.
pub(crate) fn digest_of(declaration: &impl Serialize, beside: &[u8]) -> Result<String> {
    let mut text = serde_json::to_vec(declaration).map_err(|error| {
        let message = "the declaration cannot be written as JSON; remove what JSON cannot \
                       represent";
        Error::new(ErrorKind::Corrupt, message).caused_by(error)
    })?;
    text.extend_from_slice(beside);
    Ok(digest::short(text))
}
