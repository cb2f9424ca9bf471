//! Code around every handler of a worker.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use queuekit_core::Bytes;

use super::erased::Erased;
use crate::run::ctx::Ctx;
use crate::run::job_error::JobResult;

/// Code around every run of a worker. The first one added is the outermost.
///
/// ```
/// # use queuekit::{Client, memory::MemoryStore};
/// use queuekit::workers::{BoxFuture, Middleware, Next};
/// use queuekit::{Bytes, Ctx, JobResult, Worker};
///
/// struct Timing;
///
/// impl Middleware for Timing {
///     fn call<'a>(
///         &'a self,
///         ctx: Ctx,
///         next: Next,
///     ) -> BoxFuture<'a, JobResult<Option<Bytes>>> {
///         Box::pin(async move {
///             let start = std::time::Instant::now();
///             let kind = ctx.kind().clone();
///             let result = next.run(ctx).await;
///             println!("{kind} took {:?}", start.elapsed());
///             result
///         })
///     }
/// }
///
/// # let client = Client::new(MemoryStore::new());
/// let worker = Worker::new(client).middleware(Timing);
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a middleware",
    note = "write `impl Middleware for {Self}`, whose `call` awaits `next.run(ctx)`"
)]
pub trait Middleware: Send + Sync + 'static {
    /// Runs one job, usually by awaiting `next.run(ctx)`; the payload is `ctx.payload()`, the
    /// result the bytes that are stored.
    fn call<'a>(&'a self, ctx: Ctx, next: Next) -> BoxFuture<'a, JobResult<Option<Bytes>>>;
}

/// The rest of a run: the middleware after this one, then the handler.
pub struct Next {
    middleware: Arc<[Arc<dyn Middleware>]>,
    /// The first that has not been called.
    at: usize,
    handler: Arc<dyn Erased>,
}

impl Next {
    pub(crate) fn new(middleware: &Arc<[Arc<dyn Middleware>]>, handler: &Arc<dyn Erased>) -> Self {
        Self { middleware: Arc::clone(middleware), at: 0, handler: Arc::clone(handler) }
    }

    /// Runs the job.
    pub fn run(self, ctx: Ctx) -> BoxFuture<'static, JobResult<Option<Bytes>>> {
        Box::pin(async move {
            match self.middleware.get(self.at).map(Arc::clone) {
                Some(next) => next.call(ctx, Self { at: self.at + 1, ..self }).await,
                None => self.handler.call(ctx).await,
            }
        })
    }
}

impl fmt::Debug for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Next({} more, then the handler)", self.middleware.len() - self.at)
    }
}
