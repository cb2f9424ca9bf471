//! How the jobs of one kind are run.

use std::time::Duration;

use queuekit_core::RetryPolicy;

/// How the jobs of one kind are run.
#[derive(Clone, Debug, Default)]
#[must_use = "options change nothing until a handler is given with them"]
pub struct KindOptions {
    pub(crate) timeout: Option<Duration>,
    pub(crate) retry: Option<RetryPolicy>,
}

impl KindOptions {
    /// The jobs' own timeouts, and the worker's retry policy.
    pub fn new() -> Self {
        Self::default()
    }

    /// The longest time of one run, in place of each job's own timeout. Default: the job's.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// When a failed job of this kind runs again. Default: the worker's policy.
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }
}
