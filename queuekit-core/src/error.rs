//! The one error type, with kinds a caller can act on.

use std::convert::Infallible;
use std::error::Error as StdError;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// `std::result::Result` with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What failed, on what, and what to do about it (contract R10.1).
///
/// One pointer wide; cloning is cheap enough to hand one failure to every caller of a merged flush.
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    operation: Option<&'static str>,
    subject: Option<String>,
    message: String,
    got: Option<String>,
    source: Option<Arc<dyn StdError + Send + Sync>>,
    held_up: bool,
    too_many: bool,
}

/// What a caller can do about an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The input breaks a limit; nothing was stored. Fix the input.
    Invalid {
        /// Position in the batch, where the call was a batch.
        item: Option<usize>,
        /// The field that breaks the limit.
        field: &'static str,
        /// The limit, in words with units.
        limit: String,
    },
    /// No such job, queue or worker.
    NotFound,
    /// The job's or queue's present state forbids this.
    Conflict,
    /// The lease no longer holds: the job was reclaimed, settled, dead-lettered or deleted.
    LeaseLost,
    /// The queue is at its `max_pending`; nothing was stored.
    QueueFull {
        /// How long to wait before trying again.
        retry_after: Duration,
    },
    /// The store has no room; nothing was stored.
    StorageFull,
    /// This store, version or build cannot do this.
    Unsupported,
    /// The store cannot be reached or is too busy; certainly not applied.
    Unavailable,
    /// It is unknown whether the call took effect; repeating it is safe.
    Indeterminate,
    /// Stored bytes cannot be read.
    Corrupt,
    /// The store was closed by this process.
    Closed,
}

impl ErrorKind {
    /// The stable snake_case name used over HTTP, in logs and in metrics.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Invalid { .. } => "invalid",
            Self::NotFound => "not_found",
            Self::Conflict => "conflict",
            Self::LeaseLost => "lease_lost",
            Self::QueueFull { .. } => "queue_full",
            Self::StorageFull => "storage_full",
            Self::Unsupported => "unsupported",
            Self::Unavailable => "unavailable",
            Self::Indeterminate => "indeterminate",
            Self::Corrupt => "corrupt",
            Self::Closed => "closed",
        }
    }

    /// Whether the same call may succeed later with nothing changed by the caller.
    pub const fn is_retryable(&self) -> bool {
        match self {
            Self::QueueFull { .. }
            | Self::StorageFull
            | Self::Unavailable
            | Self::Indeterminate => true,
            Self::Invalid { .. }
            | Self::NotFound
            | Self::Conflict
            | Self::LeaseLost
            | Self::Unsupported
            | Self::Corrupt
            | Self::Closed => false,
        }
    }
}

impl Error {
    /// An error of this kind; the message says what failed and what to do.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            operation: None,
            subject: None,
            message: message.into(),
            got: None,
            source: None,
            held_up: false,
            too_many: false,
        }))
    }

    /// A field that breaks its limit.
    pub fn invalid(field: &'static str, limit: impl Into<String>, got: impl fmt::Display) -> Self {
        let limit = limit.into();
        let message = format!("{field} must be {limit}");
        let mut error = Self::new(ErrorKind::Invalid { item: None, field, limit }, message);
        error.0.got = Some(got.to_string());
        error
    }

    /// A store that has as many of these (`queues`, `workers`) as it may; the remedy says how to
    /// make room for one more.
    pub fn too_many(what: &'static str, most: usize, remedy: &str) -> Self {
        let limit = format!("at most {most} {what}");
        let message = format!("this store has its {most} {what}; {remedy}");
        let mut error = Self::new(ErrorKind::Invalid { item: None, field: what, limit }, message);
        error.0.too_many = true;
        error
    }

    /// Whether the store has as many as it may of what [`ErrorKind::Invalid`] names. The input is
    /// valid then, and may be accepted once there is room.
    pub fn is_too_many(&self) -> bool {
        self.0.too_many
    }

    /// The same error, about this operation.
    #[must_use]
    pub fn during(mut self, operation: &'static str) -> Self {
        self.0.operation.get_or_insert(operation);
        self
    }

    /// The same error, about this job, queue or worker.
    #[must_use]
    pub fn on(mut self, subject: impl fmt::Display) -> Self {
        self.0.subject.get_or_insert_with(|| subject.to_string());
        self
    }

    /// The same error, about the item at this position of a batch.
    #[must_use]
    pub fn at_item(mut self, position: usize) -> Self {
        if let ErrorKind::Invalid { item, .. } = &mut self.0.kind {
            *item = Some(position);
        }
        self
    }

    /// The same error, with what caused it.
    #[must_use]
    pub fn caused_by(mut self, source: impl StdError + Send + Sync + 'static) -> Self {
        self.0.source = Some(Arc::new(source));
        self
    }

    /// The same error, caused by an open transaction that holds what an item of the call needs;
    /// without that item it may go through.
    #[must_use]
    pub fn held_up(mut self) -> Self {
        self.0.held_up = true;
        self
    }

    /// Whether an open transaction holds what an item of the call needs.
    pub fn is_held_up(&self) -> bool {
        self.0.held_up
    }

    /// What a caller can do about it.
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Whether the same call may succeed later with nothing changed by the caller.
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable()
    }

    /// The value that breaks a limit, where known. It may be a secret, and the text of the error
    /// repeats it: show only the field and the limit to others.
    pub fn got(&self) -> Option<&str> {
        self.0.got.as_deref()
    }

    /// The same error without the value that breaks a limit, which may be a secret.
    #[must_use]
    pub fn without_got(mut self) -> Self {
        self.0.got = None;
        self
    }

    /// The operation that failed, where known.
    pub fn operation(&self) -> Option<&'static str> {
        self.0.operation
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(operation) = self.0.operation {
            write!(f, "{operation}: ")?;
        }
        if let Some(subject) = &self.0.subject {
            write!(f, "{subject}: ")?;
        }
        if let ErrorKind::Invalid { item: Some(item), .. } = self.0.kind {
            write!(f, "item {item}: ")?;
        }
        f.write_str(&self.0.message)?;
        match &self.0.got {
            Some(got) => write!(f, "; got {got}"),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Error({}: {self}", self.0.kind.as_str())?;
        if let Some(source) = &self.0.source {
            write!(f, ": {source}")?;
        }
        f.write_str(")")
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        self.0.source.as_ref().map(|source| &**source as &(dyn StdError + 'static))
    }
}

/// The value of an argument that may be parsed already, or be text to parse.
pub(crate) fn parsed<T, U>(value: T) -> Result<U>
where
    T: TryInto<U, Error: Into<Error>>,
{
    value.try_into().map_err(Into::into)
}

/// Reads a checked type with serde. Its errors are shown to the sender of the value and in logs, so
/// they name the limit and leave the value out.
pub(crate) fn read_checked<'de, D, V, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    V: Deserialize<'de>,
    T: TryFrom<V, Error = Error>,
{
    let refuse = |error: Error| serde::de::Error::custom(error.without_got());
    V::deserialize(from)?.try_into().map_err(refuse)
}

/// So that arguments may be given parsed or to be parsed.
impl From<Infallible> for Error {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::QueueName;

    #[test]
    fn a_value_that_breaks_its_limit_can_be_read_and_left_out() {
        let error = Error::invalid("queue", "a name", "hunter2").during("enqueue").at_item(3);
        assert_eq!(error.to_string(), "enqueue: item 3: queue must be a name; got hunter2");
        assert_eq!(error.got(), Some("hunter2"));
        let told = error.without_got();
        assert_eq!(told.to_string(), "enqueue: item 3: queue must be a name");
        assert_eq!(told.got(), None);
        assert_eq!(Error::new(ErrorKind::NotFound, "no such job").got(), None);
    }

    #[test]
    fn a_store_that_is_full_is_told_apart_from_a_list_that_is_too_long() {
        let full = Error::too_many("queues", 5, "remove unused ones");
        assert!(
            full.is_too_many() && !Error::invalid("queues", "at most 5 queues", 6).is_too_many()
        );
        let kind =
            ErrorKind::Invalid { item: None, field: "queues", limit: "at most 5 queues".into() };
        assert_eq!(*full.kind(), kind);
        let told = full.on("mail").during("enqueue").to_string();
        assert_eq!(told, "enqueue: mail: this store has its 5 queues; remove unused ones");
    }

    #[test]
    fn s9_what_serde_refuses_is_not_repeated() {
        let refused = [
            serde_json::from_str::<QueueName>(r#""hunter 2""#).unwrap_err(),
            serde_json::from_str::<crate::job::JobId>(r#""hunter 2""#).unwrap_err(),
            serde_json::from_str::<crate::event::EventPattern>(r#""hunter 2""#).unwrap_err(),
            serde_json::from_str::<crate::job::Priority>("77").unwrap_err(),
        ];
        for error in refused.map(|error| error.to_string()) {
            assert!(error.contains(" must be "), "{error}");
            assert!(!error.contains("hunter") && !error.contains("77"), "{error}");
        }
    }
}
