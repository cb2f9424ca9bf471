//! Errors of handlers.

use std::error::Error as StdError;
use std::fmt;
use std::time::Duration;

/// What a handler returns.
pub type JobResult<T = ()> = Result<T, JobError>;

type Cause = Box<dyn StdError + Send + Sync>;

/// Why a run did not succeed, and what happens to its job.
///
/// `?` turns any error, and any text, into a retry. This type can therefore not implement `Error`
/// itself.
///
/// ```
/// use queuekit::{JobError, JobResult};
///
/// async fn parse(text: String) -> JobResult<u32> {
///     if text.is_empty() {
///         return Err(JobError::fatal("nothing to parse"));
///     }
///     Ok(text.parse()?)
/// }
/// ```
pub struct JobError {
    pub(crate) then: Then,
    cause: Option<Cause>,
}

/// What happens to the job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    Retry,
    RetryAfter(Duration),
    Fatal,
    Snooze(Duration),
    Sleep(Duration),
    Cancel,
    Undecodable,
}

impl JobError {
    /// Retries the job after the delay of the retry policy, or dead-letters it if this was its
    /// final attempt.
    pub fn retry(cause: impl Into<Cause>) -> Self {
        Self::because(Then::Retry, cause)
    }

    /// Retries the job after this delay (at most 30 days), or dead-letters it if this was its final
    /// attempt.
    pub fn retry_after(cause: impl Into<Cause>, delay: Duration) -> Self {
        Self::because(Then::RetryAfter(delay), cause)
    }

    /// Dead-letters the job immediately, because no retry can help.
    pub fn fatal(cause: impl Into<Cause>) -> Self {
        Self::because(Then::Fatal, cause)
    }

    /// Runs the job again after this delay (at most 30 days), and spends no attempt.
    pub fn snooze(delay: Duration) -> Self {
        Self { then: Then::Snooze(delay), cause: None }
    }

    /// Runs the job again after this delay, because it sleeps (contract R13.10).
    pub(crate) fn sleep(delay: Duration) -> Self {
        Self { then: Then::Sleep(delay), cause: None }
    }

    /// Releases the job for a worker that can read its payload, and spends no attempt (contract
    /// R13.8). The job is dead once that was so for 7 days.
    ///
    /// A worker does this itself if [`Payload::decode`](queuekit_core::Payload::decode) fails. It
    /// is for handlers that read a part of the payload, or all of it, themselves.
    pub fn undecodable(cause: impl Into<Cause>) -> Self {
        Self::because(Then::Undecodable, cause)
    }

    /// Cancels the job.
    pub fn cancel() -> Self {
        Self { then: Then::Cancel, cause: None }
    }

    /// Whether this is [`JobError::cancel`].
    pub fn is_cancel(&self) -> bool {
        self.then == Then::Cancel
    }

    /// Whether this is [`JobError::fatal`].
    pub fn is_fatal(&self) -> bool {
        self.then == Then::Fatal
    }

    /// Whether this is [`JobError::undecodable`].
    pub fn is_undecodable(&self) -> bool {
        self.then == Then::Undecodable
    }

    fn because(then: Then, cause: impl Into<Cause>) -> Self {
        Self { then, cause: Some(cause.into()) }
    }
}

impl<E: Into<Cause>> From<E> for JobError {
    fn from(cause: E) -> Self {
        Self::retry(cause)
    }
}

/// The text that is stored: the cause and what caused it, outermost first.
impl fmt::Display for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(cause) = &self.cause else {
            return match self.then {
                Then::Snooze(delay) => write!(f, "snoozed for {delay:?}"),
                Then::Sleep(delay) => write!(f, "sleeps for {delay:?}"),
                _ => f.write_str("cancelled"),
            };
        };
        let mut shown = cause.to_string();
        f.write_str(&shown)?;
        let mut deeper = cause.source();
        while let Some(cause) = deeper {
            // Many errors repeat their source in their own text.
            let text = cause.to_string();
            if !shown.contains(&text) {
                write!(f, ": {text}")?;
            }
            shown = text;
            deeper = cause.source();
        }
        Ok(())
    }
}

impl fmt::Debug for JobError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "JobError({:?}: {self})", self.then)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> JobResult<u32> {
        Ok(text.parse::<u32>()?)
    }

    #[test]
    fn a_question_mark_on_any_error_means_retry() {
        let error = parse("x").unwrap_err();
        assert_eq!(error.then, Then::Retry);
        assert_eq!(error.to_string(), "invalid digit found in string");
        assert_eq!(JobError::from("no route").to_string(), "no route");
    }

    #[test]
    fn the_text_names_the_whole_chain_once() {
        let io = std::io::Error::other(parse("x").unwrap_err().to_string());
        let outer =
            queuekit_core::Error::new(queuekit_core::ErrorKind::Unavailable, "down").caused_by(io);
        let text = JobError::retry(outer).to_string();
        assert_eq!(text, "down: invalid digit found in string");
    }
}
