//! Layers of tower around handlers.

use std::error::Error as StdError;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll};

use futures_util::future::{BoxFuture, FutureExt, TryFutureExt};
use queuekit_core::Bytes;
use tower_layer::Layer;
use tower_service::Service;

use super::middleware::{Middleware, Next};
use crate::run::ctx::Ctx;
use crate::run::job_error::{JobError, JobResult};

type Cause = Box<dyn StdError + Send + Sync>;

/// One run, on its way through the layers to its handler.
#[derive(Debug)]
pub struct JobRequest {
    ctx: Ctx,
    next: Next,
}

impl JobRequest {
    /// The run: its job, attempt, metadata and payload.
    pub fn ctx(&self) -> &Ctx {
        &self.ctx
    }
}

/// The service that the innermost layer wraps: it runs the job.
#[derive(Clone, Copy, Debug)]
pub struct JobService(());

impl Service<JobRequest> for JobService {
    type Response = Option<Bytes>;
    type Error = RunFailed;
    type Future = BoxFuture<'static, Result<Option<Bytes>, RunFailed>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), RunFailed>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: JobRequest) -> Self::Future {
        request.next.run(request.ctx).map_err(RunFailed).boxed()
    }
}

/// A [`JobError`] on its way back through the layers. If a layer returns this error, also in a box,
/// the decision of the handler stays in force.
#[derive(Debug)]
pub struct RunFailed(JobError);

impl RunFailed {
    /// What the handler answered.
    pub fn job_error(&self) -> &JobError {
        &self.0
    }
}

impl fmt::Display for RunFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StdError for RunFailed {}

/// A service made of layers, as middleware.
pub(crate) struct Layered<S>(Mutex<S>);

impl<S> Layered<S> {
    pub(crate) fn new<L: Layer<JobService, Service = S>>(layer: &L) -> Self {
        Self(Mutex::new(layer.layer(JobService(()))))
    }
}

impl<S> Middleware for Layered<S>
where
    S: Service<JobRequest, Response = Option<Bytes>> + Clone + Send + 'static,
    S::Error: Into<Cause>,
    S::Future: Send,
{
    fn call<'a>(&'a self, ctx: Ctx, next: Next) -> BoxFuture<'a, JobResult<Option<Bytes>>> {
        // Every run has a clone, so that runs wait for room side by side.
        let mut service = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move {
            poll_fn(|cx| service.poll_ready(cx)).await.map_err(job_error)?;
            service.call(JobRequest { ctx, next }).await.map_err(job_error)
        })
    }
}

/// What a handler said of its job, or a retry for an error of a layer's own.
fn job_error(error: impl Into<Cause>) -> JobError {
    match error.into().downcast::<RunFailed>() {
        Ok(failed) => failed.0,
        Err(error) => JobError::retry(error),
    }
}
