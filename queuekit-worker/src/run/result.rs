//! How a run ended, and what that means for its job: pure rules.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use queuekit_core::event::retry_of_delivery;
use queuekit_core::retry::{chance, no_handler_delay};
use queuekit_core::{
    Ack, BackendExt, Bytes, ErrorText, LeaseToken, Nack, NackKind, ReleaseCause, RetryPolicy,
    Undecodable,
};

use super::job_error::{JobError, JobResult, Then};
use super::run::{Flag, Run};

/// How a run ended, as it is reported to the store.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum RunResult {
    Done(Option<Bytes>),
    Failed {
        kind: NackKind,
        error: ErrorText,
        delay: Duration,
        cause: Option<ReleaseCause>,
        mark: Option<Box<Undecodable>>,
    },
}

impl RunResult {
    /// What the handler answered means this.
    pub(crate) fn of(run: &Run, answer: JobResult<Option<Bytes>>) -> Self {
        let answer = answer.and_then(|result| {
            if let Some(result) = &result {
                let limits = run.context.client.backend().capabilities().limits;
                limits.admit_result(result.len()).map_err(JobError::retry)?;
            }
            Ok(result)
        });
        match answer {
            Ok(result) => Self::Done(result),
            Err(error) => Self::of_error(run, &error),
        }
    }

    fn of_error(run: &Run, error: &JobError) -> Self {
        let text = error.to_string();
        match error.then {
            Then::Fatal => Self::failed(NackKind::Fatal, text, Duration::ZERO),
            Then::Cancel => Self::failed(NackKind::Cancelled, text, Duration::ZERO),
            _ if run.has(Flag::CancelRequested) => {
                Self::failed(NackKind::Cancelled, text, Duration::ZERO)
            }
            Then::Snooze(delay) => Self::release(Some(ReleaseCause::Snooze), text, delay),
            Then::Sleep(delay) => Self::release(Some(ReleaseCause::Sleep), text, delay),
            Then::Undecodable => Self::unmarked(run, text),
            Then::Retry | Then::RetryAfter(_) if run.has(Flag::TimedOut) => {
                Self::failed(NackKind::Retry, timed_out(run, &text), retry_delay(run))
            }
            // It was interrupted for no fault of its own.
            Then::Retry | Then::RetryAfter(_)
                if run.has(Flag::ShutDown) || run.has(Flag::Doubted) =>
            {
                let cause = run.has(Flag::ShutDown).then_some(ReleaseCause::Shutdown);
                Self::release(cause, text, Duration::ZERO)
            }
            Then::Retry => Self::failed(NackKind::Retry, text, retry_delay(run)),
            Then::RetryAfter(delay) => Self::failed(NackKind::Retry, text, delay),
        }
    }

    /// The handler has panicked.
    pub(crate) fn of_panic(run: &Run, panic: &(dyn Any + Send)) -> Self {
        Self::failed(NackKind::Retry, panic_text(panic), retry_delay(run))
    }

    /// The run continued long after it timed out.
    pub(crate) fn of_timeout(run: &Run) -> Self {
        let text = timed_out(run, "it was given up");
        Self::failed(NackKind::Retry, text, retry_delay(run))
    }

    /// The task ended early: something of the handler's panicked outside of its run, or the
    /// runtime shuts down.
    pub(crate) fn of_drop(run: &Run) -> Self {
        Self::failed(NackKind::Retry, "the run was dropped before it ended", retry_delay(run))
    }

    /// The worker shuts down.
    pub(crate) fn of_shutdown() -> Self {
        Self::release(Some(ReleaseCause::Shutdown), "the worker shut down", Duration::ZERO)
    }

    /// This worker has no handler for the kind.
    pub(crate) fn without_handler(releases: u32) -> Self {
        let cause = Some(ReleaseCause::UnknownKind);
        Self::release(cause, "no handler for this kind", no_handler_delay(releases))
    }

    /// The kind runs as many jobs as it may, and as many wait.
    pub(crate) fn over_limit(releases: u32) -> Self {
        let cause = Some(ReleaseCause::Throttle);
        Self::release(cause, "the kind is at its limit", no_handler_delay(releases))
    }

    /// Its payload could not be read, and nor could what the store knows of earlier such runs: the
    /// next one finds the mark of those unchanged.
    fn unmarked(run: &Run, text: String) -> Self {
        Self::release(Some(ReleaseCause::Undecodable), text, no_handler_delay(run.lease.releases))
    }

    /// Whether the payload could not be read, and it is open what that means for the job.
    pub(crate) fn lacks_mark(&self) -> bool {
        let cause = Some(ReleaseCause::Undecodable);
        matches!(self, Self::Failed { cause: told, mark: None, .. } if *told == cause)
    }

    /// What it means that the payload could not be read, by what the store knows of earlier runs
    /// that could not read it either (contract R13.8).
    pub(crate) async fn parked(self, run: &Run) -> Self {
        let Self::Failed { error, .. } = &self else {
            return self;
        };
        let backend = run.context.client.backend();
        match backend.park(run.lease.token.clone(), error.as_str()).await {
            Ok(nack) => Self::Failed {
                kind: nack.kind,
                delay: nack.delay(),
                cause: nack.cause(),
                mark: nack.mark().cloned().map(Box::new),
                error: nack.error,
            },
            Err(error) => {
                tracing::warn!(job = %run.lease.id(), %error, "an unreadable job is not marked");
                self
            }
        }
    }

    /// It waited for its kind to have room, and is not started any more.
    pub(crate) fn not_started(run: &Run) -> Self {
        if run.has(Flag::CancelRequested) {
            return Self::failed(NackKind::Cancelled, "cancelled", Duration::ZERO);
        }
        Self::of_shutdown()
    }

    /// It came to its handler after its deadline.
    pub(crate) fn past_deadline() -> Self {
        Self::failed(NackKind::Fatal, "deadline", Duration::ZERO)
    }

    /// The store refuses this success for good: the attempt has failed.
    pub(crate) fn refused(run: &Run, error: &queuekit_core::Error) -> Self {
        let text = format!("the result could not be stored: {error}");
        Self::failed(NackKind::Retry, text, retry_delay(run))
    }

    fn release(cause: Option<ReleaseCause>, text: impl Into<ErrorText>, delay: Duration) -> Self {
        let (kind, error) = (NackKind::Release, text.into());
        Self::Failed { kind, error, delay, cause, mark: None }
    }

    fn failed(kind: NackKind, error: impl Into<ErrorText>, delay: Duration) -> Self {
        Self::Failed { kind, error: error.into(), delay, cause: None, mark: None }
    }

    /// The success to record, if it is one.
    pub(crate) fn ack(&self, lease: &LeaseToken) -> Option<Ack> {
        match self {
            Self::Done(result) => Some(Ack { lease: lease.clone(), result: result.clone() }),
            Self::Failed { .. } => None,
        }
    }

    /// The failure to record, if it is one.
    pub(crate) fn nack(&self, lease: &LeaseToken) -> Option<Nack> {
        match self {
            Self::Done(_) => None,
            Self::Failed { mark: Some(mark), delay, .. } => {
                Some(Nack::undecodable(lease.clone(), mark.as_ref().clone(), *delay))
            }
            Self::Failed { kind, error, delay, cause, mark: None } => {
                let nack = Nack::new(lease.clone(), *kind, error.as_str(), *delay);
                Some(match cause {
                    Some(cause) => nack.because(*cause),
                    None => nack,
                })
            }
        }
    }
}

fn timed_out(run: &Run, text: &str) -> String {
    format!("timed out after {:?}: {text}", run.timeout().unwrap_or_default())
}

/// The text of the error that a panic of a handler becomes.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("with a value that is not text");
    format!("the handler panicked: {text}")
}

/// By the policy of the subscription, of the kind, or of the worker.
fn retry_delay(run: &Run) -> Duration {
    let context = &run.context;
    let subscribed = retry_of_delivery(&run.lease.token.queue, &run.lease.metadata);
    let own = run.handler.and_then(|handler| context.options[handler].retry.as_ref());
    let policy = subscribed.as_ref().or(own).unwrap_or(&context.retry);
    let delay = |policy: &RetryPolicy| policy.delay(run.lease.attempt, chance());
    // The application's own function may panic like its handler.
    catch_unwind(AssertUnwindSafe(|| delay(policy))).unwrap_or_else(|_| {
        tracing::error!(kind = %run.lease.kind, "the retry policy panicked; using the default");
        delay(&RetryPolicy::DEFAULT)
    })
}
