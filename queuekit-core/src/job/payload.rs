//! Payloads: the typed data of jobs.

use std::cmp::Ordering;
use std::fmt::Display;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{JobDraft, Metadata};
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

    /// The version of the type. A job has that of the type that it was enqueued with, in the
    /// metadata [`payload_version`](PAYLOAD_VERSION), which is left out if it is 1.
    const VERSION: u32 = 1;

    /// Turns the JSON of an older version into that of [`VERSION`](Self::VERSION), which is then
    /// decoded. Without this function, it is decoded as it is.
    ///
    /// A worker that cannot upgrade a payload, or that meets one of a newer version, leaves its job
    /// to a worker that can (contract R13.8).
    ///
    /// ```
    /// use queuekit::{Payload, UpgradeError};
    /// use serde::{Deserialize, Serialize};
    /// use serde_json::{Value, json};
    ///
    /// #[derive(Serialize, Deserialize)]
    /// struct Greet {
    ///     names: Vec<String>, // version 1 had one `name`
    /// }
    ///
    /// impl Payload for Greet {
    ///     const KIND: &'static str = "greet";
    ///     const VERSION: u32 = 2;
    ///
    ///     fn upgrade(version: u32, mut value: Value) -> Result<Value, UpgradeError> {
    ///         if version < 2 {
    ///             value["names"] = json!([value["name"].take()]);
    ///         }
    ///         Ok(value)
    ///     }
    /// }
    /// ```
    ///
    /// # Errors
    /// Any, such as a text, if the value is not what that version wrote.
    fn upgrade(version: u32, value: Value) -> std::result::Result<Value, UpgradeError> {
        let _ = version;
        Ok(value)
    }

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

    /// Decodes stored bytes of a version: an older one by [`upgrade`](Self::upgrade), that of this
    /// type by [`decode`](Self::decode). A type that is not JSON and has older versions replaces
    /// this.
    ///
    /// # Errors
    /// `Corrupt`, as [`decode`](Self::decode); also if the version is newer than that of this type,
    /// or if it cannot be upgraded.
    fn decode_version(version: u32, bytes: &[u8]) -> Result<Self> {
        let name = format_args!("payload of {}", Self::KIND);
        let corrupt = |message| Error::new(ErrorKind::Corrupt, message);
        match version.cmp(&Self::VERSION) {
            Ordering::Equal => Self::decode(bytes),
            Ordering::Greater => Err(corrupt(format!(
                "{name} has version {version}, and this program reads up to {}",
                Self::VERSION
            ))),
            Ordering::Less => {
                let value = json(bytes, name)?;
                let value = Self::upgrade(version, value).map_err(|error| {
                    corrupt(format!("{name} of version {version} cannot be upgraded: {error}"))
                })?;
                placed(value, format_args!("{name}, upgraded from version {version},"))
            }
        }
    }
}

/// Why a payload of an older version cannot be upgraded.
pub type UpgradeError = Box<dyn std::error::Error + Send + Sync>;

/// The name under which metadata has the version of a payload, unless it is 1.
pub const PAYLOAD_VERSION: &str = "payload_version";

impl Metadata {
    /// The version of the payload that it travels with.
    ///
    /// # Errors
    /// `Corrupt` if it is not a number from 1 on.
    pub fn payload_version(&self) -> Result<u32> {
        let Some(text) = self.get(PAYLOAD_VERSION) else {
            return Ok(1);
        };
        text.parse().ok().filter(|version| *version > 0).ok_or_else(|| {
            let message = format!("metadata {PAYLOAD_VERSION} must be a number from 1 on: {text}");
            Error::new(ErrorKind::Corrupt, message)
        })
    }

    /// That of a new payload of this type.
    pub(crate) fn of_payload<P: Payload>() -> Self {
        const { assert!(P::VERSION > 0, "the first `Payload::VERSION` of a kind is 1") };
        let version = (P::VERSION > 1).then(|| (PAYLOAD_VERSION, P::VERSION.to_string()));
        version.into_iter().collect()
    }

    /// Other metadata for the same payload: its version stays, unless another is given.
    pub(crate) fn replace(&mut self, mut by: Self) {
        if let Some(version) = self.remove(PAYLOAD_VERSION)
            && by.get(PAYLOAD_VERSION).is_none()
        {
            by.insert(PAYLOAD_VERSION, version);
        }
        *self = by;
    }
}

impl JobDraft {
    /// A job with this payload.
    pub fn of<P: Payload>(payload: &P) -> Self {
        match payload.encode() {
            Ok(bytes) => {
                let draft = Self::new(P::KIND, bytes);
                P::defaults(draft.metadata(Metadata::of_payload::<P>()))
            }
            Err(error) => Self::invalid(error),
        }
    }
}

impl<P: Payload> From<P> for JobDraft {
    fn from(payload: P) -> Self {
        Self::of(&payload)
    }
}

/// What can be enqueued: a [`Payload`], or a [`JobDraft`].
///
/// Every type that converts into a draft is one. The trait has no methods: with it, the compiler
/// says what a type lacks that is no payload.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a job payload",
    label = "neither a payload nor a `JobDraft`",
    note = "derive `serde::Serialize`, `serde::Deserialize` and `queuekit::Payload`, the latter \
            with `#[payload(kind = \"..\")]`",
    note = "payloads are passed by value; `JobDraft::of(&payload)` makes a draft of a reference"
)]
pub trait IntoJob: Into<JobDraft> {}

#[diagnostic::do_not_recommend]
impl<T: Into<JobDraft>> IntoJob for T {}

/// The value of these bytes of JSON, which an error calls by this name.
pub(super) fn json<T: DeserializeOwned>(bytes: &[u8], name: impl Display) -> Result<T> {
    serde_json::from_slice(bytes).or_else(|_| {
        // Only what failed is parsed again, by the slower parser that knows where it is.
        placed(&mut serde_json::Deserializer::from_slice(bytes), name)
    })
}

/// Likewise of a parser; an error says where it is.
fn placed<'de, T, D>(parser: D, name: impl Display) -> Result<T>
where
    T: DeserializeOwned,
    D: serde::Deserializer<'de, Error = serde_json::Error>,
{
    serde_path_to_error::deserialize(parser).map_err(|error| {
        let place = match error.path().iter().next() {
            Some(_) => error.path().to_string(),
            None => "its top level".to_owned(),
        };
        let message = format!("{name} at {place}: {}", error.inner());
        Error::new(ErrorKind::Corrupt, message).caused_by(error)
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::event::EventDraft;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Greet {
        names: Vec<String>,
    }

    impl Payload for Greet {
        const KIND: &'static str = "greet";
        const VERSION: u32 = 3;

        fn upgrade(version: u32, mut value: Value) -> std::result::Result<Value, UpgradeError> {
            if version < 2 {
                value = json!({"name": value.as_str().ok_or("it is no text")?});
            }
            value["names"] = json!([value["name"].take()]);
            Ok(value)
        }
    }

    fn names(version: u32, bytes: &str) -> String {
        match Greet::decode_version(version, bytes.as_bytes()) {
            Ok(greet) => greet.names.join(","),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn r13_8_an_older_version_becomes_that_of_the_type() {
        assert_eq!(names(1, "\"Ada\""), "Ada");
        assert_eq!(names(2, "{\"name\": \"Ada\"}"), "Ada");
        assert_eq!(names(3, "{\"names\": [\"Ada\"]}"), "Ada");
        for (version, bytes, told) in [
            (1, "7", "version 1 cannot be upgraded: it is no text"),
            (2, "{", "payload of greet at "),
            (2, "{\"name\": 7}", "upgraded from version 2, at names[0]: invalid type"),
            (4, "{}", "payload of greet has version 4, and this program reads up to 3"),
        ] {
            let error = names(version, bytes);
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn r13_8_the_version_travels_with_the_payload() {
        let greet = Greet { names: Vec::new() };
        let job = JobDraft::of(&greet).metadata([("a", "b")]).build().unwrap();
        let of_job: Vec<_> = job.metadata().iter().collect();
        assert_eq!(of_job, [("a", "b"), (PAYLOAD_VERSION, "3")]);
        assert_eq!(job.metadata().payload_version().unwrap(), 3);
        let given = JobDraft::of(&greet).metadata([(PAYLOAD_VERSION, "2")]).build().unwrap();
        assert_eq!(given.metadata().payload_version().unwrap(), 2);
        let event = EventDraft::of(&greet).metadata([("a", "b")]).build().unwrap();
        assert_eq!(event.metadata().payload_version().unwrap(), 3);
        assert_eq!(Metadata::default().payload_version().unwrap(), 1);
        for wrong in ["", "0", "-1", "x", "4294967296"] {
            let metadata = Metadata::from([(PAYLOAD_VERSION, wrong)]);
            assert!(metadata.payload_version().is_err(), "{wrong:?}");
        }
    }
}
