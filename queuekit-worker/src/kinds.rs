//! The handlers of a worker, by kind.

use std::collections::HashMap;
use std::marker::PhantomData;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use queuekit_core::{Bytes, Error, ErrorKind, Kind, Payload, Result, RetryPolicy};
use serde::Serialize;

use crate::execute::{Holder, execute};
use crate::{Ctx, Handler, JobError, JobResult, RawHandler};

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

    /// How long one run may take, in place of what each job says [the job's].
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// When a failed job of this kind runs again [the worker's].
    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = Some(policy);
        self
    }
}

/// Handlers by kind.
#[derive(Default)]
pub(crate) struct Kinds {
    by_kind: HashMap<Kind, usize>,
    handlers: Vec<(Arc<dyn Erased>, KindOptions)>,
}

impl Kinds {
    pub(crate) fn add(
        &mut self,
        kind: Kind,
        handler: Arc<dyn Erased>,
        options: KindOptions,
    ) -> Result<()> {
        if options.timeout.is_some_and(|timeout| timeout.is_zero()) {
            return Err(Error::invalid("timeout", "at least 1 ms", "0 ms").on(kind));
        }
        if self.by_kind.contains_key(&kind) {
            let error = ErrorKind::Conflict;
            let message = "two handlers for this kind; a worker has one handler per kind";
            return Err(Error::new(error, message).on(kind));
        }
        self.by_kind.insert(kind, self.handlers.len());
        self.handlers.push((handler, options));
        Ok(())
    }

    pub(crate) fn find(&self, kind: &Kind) -> Option<usize> {
        self.by_kind.get(kind).copied()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &Kind> {
        self.by_kind.keys()
    }

    pub(crate) fn handler(&self, handler: usize) -> &Arc<dyn Erased> {
        &self.handlers[handler].0
    }

    pub(crate) fn options(&self, handler: usize) -> &KindOptions {
        &self.handlers[handler].1
    }
}

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
