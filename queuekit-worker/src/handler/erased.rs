//! Handlers without their types.

use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use queuekit_core::{Bytes, Payload};

use super::execute::{Holder, execute};
use super::handler::{Handler, RawHandler};
use super::result::encode;
use crate::run::ctx::Ctx;
use crate::run::job_error::{JobError, JobResult};

/// A handler whose types are forgotten.
pub(crate) trait Erased: Send + Sync {
    /// Runs one job in a task of its own.
    fn spawn(self: Arc<Self>, holder: Holder, ctx: Ctx);

    /// Runs one job, for middleware that wraps it.
    fn call<'a>(&'a self, ctx: Ctx) -> BoxFuture<'a, JobResult<Option<Bytes>>>;
}

/// A handler of payloads.
pub(crate) struct Typed<P, H> {
    handler: H,
    payload: PhantomData<fn(P)>,
}

impl<P: Payload, H: Handler<P>> Typed<P, H> {
    pub(crate) fn new(handler: H) -> Self {
        Self { handler, payload: PhantomData }
    }

    async fn run(&self, ctx: Ctx) -> JobResult<Option<Bytes>> {
        let job = decode(&ctx)?;
        let output = self.handler.call(job, ctx).await?;
        encode(&output)
    }
}

impl<P: Payload, H: Handler<P>> Erased for Typed<P, H> {
    fn spawn(self: Arc<Self>, holder: Holder, ctx: Ctx) {
        tokio::spawn(execute(holder, async move { self.run(ctx).await }));
    }

    fn call<'a>(&'a self, ctx: Ctx) -> BoxFuture<'a, JobResult<Option<Bytes>>> {
        Box::pin(self.run(ctx))
    }
}

/// The payload of a run, of whatever version (contract R13.8).
pub(super) fn decode<P: Payload>(ctx: &Ctx) -> JobResult<P> {
    let version = ctx.metadata().payload_version();
    let payload = version.and_then(|version| P::decode_version(version, ctx.payload()));
    payload.map_err(JobError::undecodable)
}

/// A handler of bytes.
pub(crate) struct Raw<H>(pub(crate) H);

impl<H: RawHandler> Erased for Raw<H> {
    fn spawn(self: Arc<Self>, holder: Holder, ctx: Ctx) {
        let run = async move { self.0.call(ctx.payload().clone(), ctx).await };
        tokio::spawn(execute(holder, run));
    }

    fn call<'a>(&'a self, ctx: Ctx) -> BoxFuture<'a, JobResult<Option<Bytes>>> {
        Box::pin(self.0.call(ctx.payload().clone(), ctx))
    }
}
