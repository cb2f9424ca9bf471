//! Code around every handler of a worker.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use queuekit_core::Bytes;

use crate::kinds::Erased;
use crate::{Ctx, JobResult};

/// Wraps every run of a worker; the first one added is the outermost.
///
/// ```
/// use queuekit_worker::{BoxFuture, Bytes, Ctx, JobResult, Middleware, Next};
///
/// struct Timing;
///
/// impl Middleware for Timing {
///     fn call<'a>(
///         &'a self,
///         ctx: Ctx,
///         next: Next<'a>,
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
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a middleware",
    note = "write `impl Middleware for {Self}`, whose `call` awaits `next.run(ctx)`"
)]
pub trait Middleware: Send + Sync + 'static {
    /// Runs one job, usually by awaiting `next.run(ctx)`; the payload is `ctx.payload()`, the
    /// result the bytes that are stored.
    fn call<'a>(&'a self, ctx: Ctx, next: Next<'a>) -> BoxFuture<'a, JobResult<Option<Bytes>>>;
}

/// What a middleware wraps: those after it, then the handler.
pub struct Next<'a> {
    rest: &'a [Arc<dyn Middleware>],
    handler: &'a dyn Erased,
}

impl<'a> Next<'a> {
    pub(crate) fn new(rest: &'a [Arc<dyn Middleware>], handler: &'a dyn Erased) -> Self {
        Self { rest, handler }
    }

    /// Runs the job.
    pub fn run(self, ctx: Ctx) -> BoxFuture<'a, JobResult<Option<Bytes>>> {
        match self.rest.split_first() {
            Some((first, rest)) => first.call(ctx, Self { rest, ..self }),
            None => self.handler.call(ctx),
        }
    }
}

impl fmt::Debug for Next<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Next({} more, then the handler)", self.rest.len())
    }
}
