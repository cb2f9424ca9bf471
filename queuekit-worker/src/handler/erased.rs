//! Handlers without their types, and what their results are stored as.

use std::marker::PhantomData;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use queuekit_core::{Bytes, Payload};
use serde::Serialize;

use super::execute::{Holder, execute};
use super::handler::{Handler, RawHandler};
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
        let job = P::decode(ctx.payload()).map_err(JobError::retry)?;
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

/// The bytes that are stored as a job's result; nothing for `()`.
fn encode<R: Serialize>(output: &R) -> JobResult<Option<Bytes>> {
    let unit = size_of::<R>() == 0 && {
        let mut start = [0; 4];
        let mut rest = &mut start[..];
        serde_json::to_writer(&mut rest, output).is_ok() && &start == b"null"
    };
    if unit {
        return Ok(None);
    }
    let json = serde_json::to_vec(output).map_err(|error| {
        JobError::retry(format!("the result cannot be written as JSON: {error}"))
    })?;
    Ok(Some(json.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Serialize)]
    enum One {
        Only,
    }

    #[test]
    fn unit_stores_nothing_and_everything_else_is_json() {
        let json = |bytes: Option<Bytes>| bytes.map(|b| String::from_utf8(b.to_vec()).unwrap());
        assert_eq!(json(encode(&()).unwrap()), None);
        assert_eq!(json(encode(&7).unwrap()).as_deref(), Some("7"));
        assert_eq!(json(encode(&None::<u8>).unwrap()).as_deref(), Some("null"));
        assert_eq!(json(encode(&One::Only).unwrap()).as_deref(), Some("\"Only\""));
    }
}
