//! What runs a job.

use std::future::Future;

use queuekit_core::Bytes;
use serde::Serialize;

use crate::{Ctx, JobError, JobResult};

/// Runs jobs whose payload is a `P`.
///
/// Every `async fn(P, Ctx) -> Result<R, E>` is one if `E` converts into [`JobError`], and so is
/// every closure of that shape. State comes from [`Ctx::state`], or from a struct that implements
/// the trait:
///
/// ```
/// use queuekit_worker::{Ctx, Handler, JobResult};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Greet { name: String }
///
/// struct Greeter {
///     greeting: String,
/// }
///
/// impl Handler<Greet> for Greeter {
///     type Output = ();
///
///     async fn call(&self, job: Greet, _ctx: Ctx) -> JobResult {
///         println!("{}, {}!", self.greeting, job.name);
///         Ok(())
///     }
/// }
/// ```
///
/// When the compiler refuses one, it is mostly for one of these:
///
/// - "expected to take 2 arguments": the second one, `_ctx: Ctx`, is missing.
/// - "type annotations needed" at an `Ok(..)`: a closure does not say its error type. Write
///   `JobResult::Ok(..)`. Any error that converts into [`JobError`] will do, also `anyhow::Error`.
/// - "future cannot be sent between threads": it holds something that is not `Send`, such as an
///   `Rc` or the guard of a lock, across an `.await`.
/// - "`T: Serialize` is not satisfied": what it answers is stored as JSON; answer `()` for nothing.
///
/// A handler shares its thread with others: work that blocks for long belongs into
/// `tokio::task::spawn_blocking`. A job is run at least once, so a handler must stand being run
/// again; [`Ctx::lease_seq`] is the number to fence other systems with.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not handle jobs of payload `{P}`",
    label = "not a handler of `{P}`",
    note = "a handler is `async fn name(job: {P}, ctx: Ctx) -> JobResult`, or a closure of that \
            shape whose future is `Send`, or a type with `impl Handler<{P}>`",
    note = "the result must be a `JobResult<T>` whose `T` implements `serde::Serialize`"
)]
pub trait Handler<P>: Send + Sync + 'static {
    /// What a run produces: `()` stores no result, everything else is stored as JSON of at most
    /// 64 KiB.
    type Output: Serialize + Send;

    /// Runs one job.
    ///
    /// # Errors
    /// Whatever went wrong; the kind of [`JobError`] says what becomes of the job, and `?` on any
    /// error means that it is run again.
    fn call(&self, job: P, ctx: Ctx)
    -> impl Future<Output = Result<Self::Output, JobError>> + Send;
}

impl<P, F, Fut, R, E> Handler<P> for F
where
    F: Fn(P, Ctx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send,
    R: Serialize + Send,
    E: Into<JobError>,
{
    type Output = R;

    fn call(&self, job: P, ctx: Ctx) -> impl Future<Output = JobResult<R>> + Send {
        let run = self(job, ctx);
        async move { run.await.map_err(Into::into) }
    }
}

/// Runs jobs of one kind without knowing their type: bytes in, bytes out.
///
/// Every `async fn(Bytes, Ctx) -> JobResult<Option<Bytes>>` is one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not handle raw jobs",
    note = "a raw handler is `async fn name(payload: Bytes, ctx: Ctx) -> \
            JobResult<Option<Bytes>>`, or a closure of that shape whose future is `Send`"
)]
pub trait RawHandler: Send + Sync + 'static {
    /// Runs one job; the bytes it answers are stored as they are, at most 64 KiB.
    ///
    /// # Errors
    /// As [`Handler::call`].
    fn call(
        &self,
        payload: Bytes,
        ctx: Ctx,
    ) -> impl Future<Output = JobResult<Option<Bytes>>> + Send;
}

impl<F, Fut, E> RawHandler for F
where
    F: Fn(Bytes, Ctx) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Option<Bytes>, E>> + Send,
    E: Into<JobError>,
{
    fn call(
        &self,
        payload: Bytes,
        ctx: Ctx,
    ) -> impl Future<Output = JobResult<Option<Bytes>>> + Send {
        let run = self(payload, ctx);
        async move { run.await.map_err(Into::into) }
    }
}
