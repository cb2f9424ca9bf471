//! Payloads: the typed data of jobs.

use std::fmt::Display;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::JobDraft;
use crate::error::{Error, ErrorKind, Result};

/// The payload of one kind of job.
///
/// Payloads are JSON, through serde, unless `encode` and `decode` are replaced. Every store keeps
/// the bytes unchanged.
///
/// ```
/// use queuekit::Payload;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize, Deserialize)]
/// struct Greet {
///     name: String,
/// }
///
/// impl Payload for Greet {
///     const KIND: &'static str = "greet";
/// }
/// ```
///
/// The crate `queuekit` derives the same: `#[derive(Payload)] #[payload(kind = "greet")]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a job payload",
    note = "derive `serde::Serialize`, `serde::Deserialize` and `queuekit::Payload`, the latter \
            with `#[payload(kind = \"..\")]`"
)]
pub trait Payload: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The kind: it picks the handler, in this process or in another language.
    const KIND: &'static str;

    /// The defaults of jobs of this kind, such as queue and timeout; a call can override them.
    fn defaults(draft: JobDraft) -> JobDraft {
        draft
    }

    /// The bytes that are stored.
    ///
    /// # Errors
    /// `Invalid` if the value cannot be written as JSON.
    fn encode(&self) -> Result<Bytes> {
        serde_json::to_vec(self).map(Bytes::from).map_err(|error| {
            let limit = "a value that serde_json can write".to_owned();
            let kind = ErrorKind::Invalid { item: None, field: "payload", limit };
            Error::new(kind, format!("payload of {} cannot be encoded: {error}", Self::KIND))
                .caused_by(error)
        })
    }

    /// Decodes stored bytes.
    ///
    /// # Errors
    /// `Corrupt`. The message names the place where the bytes do not fit the type.
    fn decode(bytes: &[u8]) -> Result<Self> {
        json(bytes, format_args!("payload of {}", Self::KIND))
    }
}

impl JobDraft {
    /// A job with this payload.
    pub fn of<P: Payload>(payload: &P) -> Self {
        match payload.encode() {
            Ok(bytes) => P::defaults(Self::new(P::KIND, bytes)),
            Err(error) => Self::invalid(error),
        }
    }
}

impl<P: Payload> From<P> for JobDraft {
    fn from(payload: P) -> Self {
        Self::of(&payload)
    }
}

/// The value of these bytes of JSON, which an error calls by this name.
pub(super) fn json<T: DeserializeOwned>(bytes: &[u8], name: impl Display) -> Result<T> {
    serde_json::from_slice(bytes).or_else(|_| {
        // Only what failed is parsed again, by the slower parser that knows where it is.
        let parser = &mut serde_json::Deserializer::from_slice(bytes);
        serde_path_to_error::deserialize(parser).map_err(|error| {
            let place = match error.path().iter().next() {
                Some(_) => error.path().to_string(),
                None => "its top level".to_owned(),
            };
            let message = format!("{name} at {place}: {}", error.inner());
            Error::new(ErrorKind::Corrupt, message).caused_by(error)
        })
    })
}
