//! What runs a job.

use std::future::Future;

use queuekit_core::Bytes;
use serde::Serialize;

use crate::run::ctx::Ctx;
use crate::run::job_error::{JobError, JobResult};

/// Runs jobs whose payload is a `P`.
///
/// Every `async fn(P, Ctx) -> Result<R, E>` is a handler if `E` converts into [`JobError`], and so
/// is every closure of that shape. A closure is cloned for each run, so that it may own what it
/// uses:
///
/// ```
/// # use queuekit::{Client, Payload, memory::MemoryStore};
/// use std::sync::Arc;
///
/// use queuekit::{Ctx, JobResult, Worker};
/// # #[derive(serde::Serialize, serde::Deserialize)]
/// # struct Greet { name: String }
/// # impl Payload for Greet { const KIND: &'static str = "greet"; }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> queuekit::Result<()> {
/// # let client = Client::new(MemoryStore::new());
/// # let id = client.enqueue(Greet { name: "Ada".into() }).await?;
/// let greeting: Arc<str> = "Hello".into();
/// let worker = Worker::new(client.clone()).handle(async move |job: Greet, _ctx: Ctx| {
///     JobResult::Ok(format!("{greeting}, {}!", job.name))
/// });
/// # worker.run_until_idle().await?;
/// # let job = client.jobs().get(id).await?;
/// # assert_eq!(job.and_then(|job| job.result).as_deref(), Some(&b"\"Hello, Ada!\""[..]));
/// # Ok(())
/// # }
/// ```
///
/// State also comes from [`Ctx::state`], or from a struct that implements the trait:
///
/// ```
/// use queuekit::{Ctx, Handler, JobResult};
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
/// If the compiler refuses a handler, the cause is mostly one of these:
///
/// - "expected to take 2 arguments": the second one, `_ctx: Ctx`, is missing.
/// - "type annotations needed" at an `Ok(..)`: a closure does not say its error type. Write
///   `JobResult::Ok(..)`. Any error that converts into [`JobError`] will do, also `anyhow::Error`.
/// - "future cannot be sent between threads": it holds something that is not `Send`, such as an
///   `Rc` or the guard of a lock, across an `.await`.
/// - "`T: Clone` is not satisfied": a closure owns something that cannot be cloned. Put it into an
///   `Arc`. Changes that a run makes to its own clone of the closure are lost.
/// - "`T: Serialize` is not satisfied": the result is stored as JSON; return `()` to store none.
///
/// A handler shares its thread with others, so long blocking work belongs in
/// `tokio::task::spawn_blocking`. A job runs at least once, so write handlers that can run twice.
/// Other systems can use [`Ctx::lease_seq`] as a fence.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not handle jobs of payload `{P}`",
    label = "not a handler of `{P}`",
    note = "a handler is `async fn name(job: {P}, ctx: Ctx) -> JobResult`, or a closure of that \
            shape that is `Clone` and whose future is `Send`, such as \
            `async move |job: {P}, ctx: Ctx| {{ .. }}`, or a type with `impl Handler<{P}>`",
    note = "the result must be a `JobResult<T>` whose `T` implements `serde::Serialize`"
)]
pub trait Handler<P>: Send + Sync + 'static {
    /// What a run produces: `()` stores no result, everything else is stored as JSON of at most
    /// 64 KiB.
    type Output: Serialize + Send;

    /// Runs one job.
    ///
    /// # Errors
    /// Any error. The kind of [`JobError`] decides what happens to the job; an error by `?` retries
    /// it.
    fn call(&self, job: P, ctx: Ctx)
    -> impl Future<Output = Result<Self::Output, JobError>> + Send;
}

impl<P, F, Fut, R, E> Handler<P> for F
where
    F: FnOnce(P, Ctx) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send,
    R: Serialize + Send,
    E: Into<JobError>,
{
    type Output = R;

    fn call(&self, job: P, ctx: Ctx) -> impl Future<Output = JobResult<R>> + Send {
        let run = self.clone()(job, ctx);
        async move { run.await.map_err(Into::into) }
    }
}

/// Runs jobs of one kind without knowing their type: bytes in, bytes out.
///
/// Every `async fn(Bytes, Ctx) -> JobResult<Option<Bytes>>` is one, and every closure of that
/// shape, as with [`Handler`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not handle raw jobs",
    note = "a raw handler is `async fn name(payload: Bytes, ctx: Ctx) -> \
            JobResult<Option<Bytes>>`, or a closure of that shape that is `Clone` and whose \
            future is `Send`"
)]
pub trait RawHandler: Send + Sync + 'static {
    /// Runs one job. The returned bytes are stored unchanged, at most 64 KiB.
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
    F: FnOnce(Bytes, Ctx) -> Fut + Clone + Send + Sync + 'static,
    Fut: Future<Output = Result<Option<Bytes>, E>> + Send,
    E: Into<JobError>,
{
    fn call(
        &self,
        payload: Bytes,
        ctx: Ctx,
    ) -> impl Future<Output = JobResult<Option<Bytes>>> + Send {
        let run = self.clone()(payload, ctx);
        async move { run.await.map_err(Into::into) }
    }
}
