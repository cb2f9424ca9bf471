//! Declarations of an application's code, and their outcomes.

use serde::Serialize;

use crate::digest;
use crate::error::{Error, ErrorKind, Result};

/// The outcome of declaring a schedule or a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Declared {
    /// It was created.
    Created,
    /// The declaration has changed, and is in force now.
    Changed,
    /// The declaration has not changed, so changes by an operator persist.
    Unchanged,
}

/// A declaration as it is compared with the last one: `beside` is added to what is written.
pub(crate) fn digest_of(declaration: &impl Serialize, beside: &[u8]) -> Result<String> {
    let mut text = serde_json::to_vec(declaration).map_err(|error| {
        let message = "the declaration cannot be written as JSON; remove what JSON cannot \
                       represent";
        Error::new(ErrorKind::Corrupt, message).caused_by(error)
    })?;
    text.extend_from_slice(beside);
    Ok(digest::short(text))
}
